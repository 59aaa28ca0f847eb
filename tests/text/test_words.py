"""Each door has its own words: a walk over every message of the library, and bad input through both doors."""

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import SirusClassifier, SirusRegressor, SirusSurvival
from pysirus._data.column import DataError
from pysirus._parameters.table import PARAMETERS

SOURCE = Path(pysirus.__file__).parent
# nobody comes here from the command line
PYTHON_ONLY = (
    "dask",
    "spark",
    "datasets",
    "plot",
    "stability",
    "rulefit",
    "node_harvest",
    "dask_cv",
    "spark_cv",
    "tree_based",
)
# worded by each door, or by the command line alone
TERMS = ("InPython", "InCommand", "Parameter", "Setting", "setting", "Learner", "Role", "Option")
OPTION = re.compile(r"(?<![-\w(])--[a-z][-a-z]*(?![-a-z]*:)")  # but for variables of a style sheet
NAMES = [name for name in PARAMETERS if "_" in name] + ["sample_weight", "fit_files", "groups=", "prepare=", "y["]
NAMES += [name for name in pysirus.__all__ if name.startswith("Sirus")]
PYTHON = re.compile("|".join([*map(re.escape, NAMES), r"\b(?:loss|weighting|device|cv|drop|kind)=", r"\bmodel\.\w+\("]))


def docstrings(tree):
    bodies = (node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)))
    return {id(node.body[0].value) for node in bodies if node.body and isinstance(node.body[0], ast.Expr)}


def texts(node):
    """The literal texts of an expression, but for those of terms and options."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) in TERMS:
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


def only_in_python(tree):
    """What is said of attributes, which only Python asks for."""
    raised = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call))
    calls = (call for call in raised if getattr(call.func, "id", "") == "AttributeError")
    return {id(node) for call in calls for node in ast.walk(call)}


@cache
def modules():
    places = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py"))]
    own = [place for place in places if place.parts[0] not in ("cli", "workbench")]  # which writes commands, to copy
    return [(place, ast.parse((SOURCE / place).read_text(encoding="utf-8"))) for place in own]


def test_no_message_of_the_library_names_an_option():
    found = []
    for place, tree in modules():
        skipped = docstrings(tree)
        named = [node for node in texts(tree) if id(node) not in skipped and OPTION.search(node.value)]
        found += [f"{place}:{node.lineno}: {node.value}" for node in named]
    assert found == []


def test_no_message_that_the_command_line_shows_has_words_of_python():
    found, n_sentences = [], 0
    for place, tree in modules():
        if {"_parameters", "parameters", *PYTHON_ONLY} & {*place.parts, place.stem}:
            continue
        skipped = docstrings(tree) | only_in_python(tree)
        said = [node for node in texts(tree) if node.value.count(" ") > 2 and id(node) not in skipped]
        n_sentences += len(said)
        found += [f"{place}:{node.lineno}: {node.value}" for node in said if PYTHON.search(node.value)]
    assert n_sentences > 200 and found == []


# ---------------------------------------------------------------------------------------------- through both doors

ROWS = 60


def table_of(**columns):
    rng = np.random.default_rng(0)
    made = {"a": rng.random(ROWS), "b": rng.random(ROWS), "w": np.ones(ROWS), "g": np.arange(ROWS) % 9}
    made |= {"y": made["a"] + (made["b"] > 0.5), "kind": np.where(made["a"] > 0.5, "yes", "no")}
    made |= {"t": 1 + np.arange(ROWS) % 9, "died": np.arange(ROWS) % 2}
    return pd.DataFrame(made | columns)


def some(values, **changed):
    values = np.array(values, dtype=object)
    for row, value in changed.items():
        values[int(row[1:])] = value
    return values


BAD = {
    "text as weights": (
        table_of(w=["x"] * ROWS),
        lambda d: SirusRegressor().fit(d[["a", "b"]], d["y"], sample_weight=d["w"]),
        ["--target", "y", "--sample-weight", "w"],
        "sample_weight must be numbers, found 'x'.",
        "Column 'w', the sample weights, must be numbers, found 'x'.",
    ),
    "a negative weight": (
        table_of(w=some(np.ones(ROWS), _3=-1)),
        lambda d: SirusRegressor().fit(d[["a", "b"]], d["y"], sample_weight=d["w"]),
        ["--target", "y", "--sample-weight", "w"],
        "sample_weight contains a negative weight: -1.0 in row 3.",
        "Column 'w', the sample weights, contains a negative weight: -1.0 in row 4.",
    ),
    "amounts of nothing": (
        table_of(y=np.zeros(ROWS)),
        lambda d: SirusRegressor(loss="gamma").fit(d[["a", "b"]], d["y"]),
        ["--target", "y", "--loss", "gamma"],
        "With loss='gamma' y must be above 0, found 0 in row 0. Drop these rows, model them apart, or use "
        "loss='poisson'.",
        "With --loss gamma column 'y', the target, must be above 0, found 0 in row 1. Drop these rows, model them "
        "apart, or use --loss poisson.",
    ),
    "a range that overflows": (
        table_of(y=np.linspace(-1e200, 1e200, ROWS)),
        lambda d: SirusRegressor().fit(d[["a", "b"]], d["y"]),
        ["--target", "y"],
        "The range of y is 2e+200",
        "The range of column 'y', the target, is 2e+200",
    ),
    "classes that are quantities": (
        table_of(),
        lambda d: SirusClassifier().fit(d[["a", "b"]], d["y"]),
        ["--target", "y", "--task", "classification"],
        "y holds numbers that are not whole",
        "column 'y', the target, holds numbers that are not whole",
    ),
    "too few rules": (
        table_of(),
        lambda d: SirusRegressor(n_rules=0).fit(d[["a", "b"]], d["y"]),
        ["--target", "y", "--rules", "0"],
        "n_rules must be a whole number of at least 1, got 0.",
        "--rules must be a whole number of at least 1, got 0.",
    ),
    "too many columns tried": (
        table_of(),
        lambda d: SirusRegressor(max_features=0).fit(d[["a", "b"]], d["y"]),
        ["--target", "y", "--max-features", "0"],
        "up to 1.0, 'sqrt' or 'log2' or None, got 0.",
        "up to 1.0, 'sqrt' or 'log2', got 0.",
    ),
    "stages of equal weights": (
        table_of(),
        lambda d: SirusClassifier(weighting="equal", n_stages=2).fit(d[["a", "b"]], d["kind"]),
        ["--target", "kind", "--weighting", "equal", "--stages", "2"],
        "n_stages must be 1 with weighting='equal':",
        "--stages must be 1 with --weighting equal:",
    ),
    "a required rule that cannot be read": (
        table_of(),
        lambda d: SirusRegressor(required_rules=["a < "]).fit(d[["a", "b"]], d["y"]),
        ["--target", "y", "--require", "a < "],
        "required_rules: cannot read the rule at character 5:",
        "--require: cannot read the rule at character 5:",
    ),
    "a forbidden condition that cannot be read": (
        table_of(),
        lambda d: SirusRegressor(forbidden=["a < "]).fit(d[["a", "b"]], d["y"]),
        ["--target", "y", "--forbid", "a < "],
        "forbidden: cannot read the rule at character 5:",
        "--forbid: cannot read the rule at character 5:",
    ),
    "an effect that does not go with it": (
        table_of(),
        lambda d: SirusClassifier(weighting="equal", required_rules=["+2 if a < 0.5"]).fit(d[["a", "b"]], d["kind"]),
        ["--target", "kind", "--weighting", "equal", "--require", "+2 if a < 0.5"],
        "is not allowed: with weighting='equal' rules have no effect of their own; use weighting='likelihood'.",
        "is not allowed: with --weighting equal rules have no effect of their own; use --weighting likelihood.",
    ),
    "a direction of several classes": (
        table_of(kind=np.array(["u", "v", "w"])[np.arange(ROWS) % 3]),
        lambda d: SirusClassifier(monotonic_cst={"a": 1}).fit(d[["a", "b"]], d["kind"]),
        ["--target", "kind", "--increasing", "a"],
        "monotonic_cst is for regression and two classes, and y has 3 classes:",
        "--increasing/--decreasing is for regression and two classes, and column 'kind', the target, has 3 classes:",
    ),
    "a class that is none": (
        table_of(),
        lambda d: SirusClassifier(class_weight={"yes": 1, "no": 2, "maybe": 3}).fit(d[["a", "b"]], d["kind"]),
        ["--target", "kind", "--class-weight", "yes=1,no=2,maybe=3"],
        "class_weight names 'maybe', which is not a class. Classes are 'no', 'yes'.",
        "--class-weight: 'maybe' is not a class. The classes are: no, yes.",
    ),
    "numbers written as text": (
        table_of(b=[f"{i},5" for i in range(ROWS)]),
        lambda d: SirusRegressor().fit(d[["a", "b"]], d["y"]),
        ["--target", "y", "--strict"],
        "or name it under categorical_features if its values are categories. Or try prepare=True:",
        "or name it under --categorical if its values are categories. Or try leaving --strict out:",
    ),
    "times of nothing": (
        table_of(t=np.zeros(ROWS)),
        lambda d: SirusSurvival().fit(d[["a", "b"]], d[["died", "t"]]),
        ["--time", "t", "--event", "died"],
        "The time column 't' must be above 0, found 0 in row 0",
        "The time column 't' must be above 0, found 0 in row 1",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_both_doors_complain_in_their_own_words(name, run, tmp_path):
    table, fit, options, python, typed = BAD[name]
    with pytest.raises(ValueError) as caught:
        fit(table)
    said = " ".join(str(caught.value).split())
    assert python in said and not OPTION.search(said)
    table.to_csv(tmp_path / "t.csv", sep=";", index=False)
    code, out, err = run(
        "fit", tmp_path / "t.csv", *options, "--drop", "t,died,g" if "--time" not in options else "g,y,kind"
    )
    said = " ".join(err.split())
    assert code in (1, 2) and not out and typed in said and "Traceback" not in said
    assert not PYTHON.search(said)


def test_warnings_of_both_doors_have_their_own_words(run, tmp_path):
    table = table_of(customer_id=np.arange(ROWS) * 7)
    with pytest.warns(UserWarning, match="Leave it out, unless"):
        SirusRegressor(n_trees=20).fit(table[["a", "b", "customer_id"]], table["y"])
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "y", "--drop", "w,g,kind,t,died", "--trees", 20, "--strict")
    _, _, err = run("fit", tmp_path / "t.csv", *options)
    assert "Leave it out (--drop customer_id), unless" in " ".join(err.split())


def test_rows_of_no_weight_are_counted():
    table = table_of(w=np.arange(ROWS) % 2, y=some(np.arange(ROWS), _7=np.nan).astype(float))
    with pytest.raises(DataError, match="nan in row 7"):
        SirusRegressor().fit(table[["a", "b"]], table["y"], sample_weight=table["w"])


def test_files_are_complained_of_by_their_columns_in_python_too(tmp_path):
    table_of(w=some(np.ones(ROWS), _3=-1).astype(float)).to_parquet(tmp_path / "t.parquet")
    drop = ["kind", "t", "died", "g"]
    with pytest.raises(ValueError, match=r"column 'w', the sample weights, contains a negative weight: -1\.0 in row 3"):
        SirusRegressor().fit_files(tmp_path / "t.parquet", "y", sample_weight="w", drop=drop)


@pytest.mark.parametrize("call", [lambda m: m.fit(1, 2, rows=3), lambda m: m.explain(), lambda m: m.predict(1, 2)])
@pytest.mark.parametrize("estimator", [SirusRegressor, SirusClassifier, SirusSurvival], ids=lambda e: e.__name__)
def test_python_itself_names_no_private_class(call, estimator):
    with pytest.raises(TypeError, match=r"^(fit|explain|predict)\(\) "):
        call(estimator())

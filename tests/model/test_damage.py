"""Damaged model files are refused at load, with the place of the fault; what is not refused works to the end.

Some hundred of the files that ``python -m damage`` makes by the thousand, and the faults that have a name.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import pysirus
import warm
from damage.__main__ import examine
from damage.mutants import golden_files, mutant
from pysirus import ModelFileError
from pysirus.report._sections import training_metrics
from sampled import FULL

GOLDEN = {path.stem: path for path in golden_files()}
SCHEMA = json.loads(files("pysirus").joinpath("model.schema.json").read_text(encoding="utf-8"))


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(GOLDEN[name].read_text(encoding="utf-8"))
    return document


def first(document: dict[str, Any]) -> dict[str, Any]:
    """The first condition of the first rule."""
    condition: dict[str, Any] = document["rules"][0]["conditions"][0]
    return condition


def first_label(document: dict[str, Any]) -> dict[str, Any]:
    """The first condition on a column of labels."""
    found = (c for rule in document["rules"] for c in rule["conditions"] if c["upper_cut"] and c["levels"])
    return next(found)


def slope_of(document: dict[str, Any]) -> dict[str, Any]:
    """The first slope."""
    return next(rule for rule in document["rules"] if rule.get("kind") == "slope")


def correct_shares(document):
    """A correction in a list of plain shares."""
    document.update(version=2, link="identity")
    document["rules"][-1].update(stage=2, inside=[0.1, -0.1, 0.0, 0.0], outside=[0.0, 0.0, 0.1, -0.1])


FAULTS: list[tuple[str, str, Any, str]] = [
    # an estimator and what its model has
    (
        "counts_tuned",
        "a path of an estimator that is not tuned",
        lambda d: d["estimator"].update(name="SirusRegressor", parameters={"loss": "poisson"}),
        r"tuning is there, and SirusRegressor is not tuned",
    ),
    # a column by number and by name
    (
        "numbers",
        "index of another",
        lambda d: first(d).update(index=1 - first(d)["index"]),
        r"is of column .* and says",
    ),
    ("numbers", "index beyond", lambda d: first(d).update(index=3), "index must be the number of a column, 0 to 2"),
    ("numbers", "index below", lambda d: first(d).update(index=-1), "index must be a whole number of at least 0"),
    ("numbers", "index real", lambda d: first(d).update(index=0.0), "index must be a whole number"),
    ("numbers", "feature unknown", lambda d: first(d).update(feature="z"), "says 'z'"),
    ("numbers", "split unknown", lambda d: d["rules"][0]["path"][0].update(feature="z"), "column of the rule's cond"),
    ("numbers", "no share", lambda d: first(d).pop("share"), "share"),
    ("numbers", "share null", lambda d: first(d).update(share=None), "share must be"),
    ("prepared", "columns of an array", lambda d: d.update(named=False), "named is false, so the columns"),
    ("rulefit", "term of another", lambda d: d["terms"][0].update(index=1), r"terms\[0\] is of column 1"),
    ("rulefit", "term of labels", lambda d: d["terms"][0].update(index=3, feature="colour"), "which is not numeric"),
    # numbers
    ("numbers", "weight NaN", lambda d: d["rules"][0].update(weight=float("nan")), "holds NaN"),
    ("numbers", "infinity", lambda d: d.update(intercept=float("-inf")), "holds -Infinity"),
    ("numbers", "weight text", lambda d: d["rules"][0].update(weight="0.5"), r"rules\[0\].weight must be a finite num"),
    ("numbers", "weight true", lambda d: d["rules"][0].update(weight=True), r"rules\[0\].weight must be a finite num"),
    ("numbers", "overflow", lambda d: d["rules"][0].update(weight=1e308), "their sum overflows"),
    (
        "numbers",
        "frequency",
        lambda d: d["rules"][0].update(frequency=1.1),
        "frequency must be .* at most 1, found 1.1",
    ),
    ("numbers", "count", lambda d: d["rules"][0].update(n_inside=-1), "n_inside must be a whole number of at least 0"),
    ("numbers", "count of rows", lambda d: d["rules"][1].update(n_inside=1), "an earlier rule of 150"),
    ("numbers", "share", lambda d: first(d).update(share=1.5), "share must be"),
    ("numbers", "giant integer", lambda d: d["facts"].update(n_rows=10**40), "a whole number of 41 digits"),
    ("numbers", "stage", lambda d: d["rules"][0].update(stage=0), "stage must be a whole number of at least 1"),
    ("node_harvest", "root", lambda d: d.update(root_weight=-1.0), "root_weight must be"),
    (
        "node_harvest",
        "negative",
        lambda d: d["rules"][0].update(weight=-1.0),
        "must not be negative in a weighted mean",
    ),
    ("counts", "mean zero", lambda d: d.update(mean=0.0), "mean must be above 0 for the link 'log'"),
    ("counts", "exponential", lambda d: d.update(intercept=1e6), "the exponential of their sum overflows"),
    # cuts and levels
    ("classes_bool", "no ascent", lambda d: first(d).update(lower=9.0, lower_cut=["quantile", 9]), "lower end below"),
    ("numbers", "cut gone", lambda d: first(d).update(lower_cut=None, upper_cut=None), "has no cut"),
    ("rulefit", "value", lambda d: d["rules"][0]["path"][0].update(value=3.0), "threshold is 3.0|does not go with"),
    ("polars", "level twice", lambda d: d["features"][3]["levels"].append("blue"), "holds 'blue' twice"),
    ("polars", "level of two types", lambda d: d["features"][3]["levels"].append(1), "mixes types"),
    ("polars", "level unknown", lambda d: first_label(d)["levels"].append("?"), "which is not a category of"),
    ("polars", "level missing", lambda d: first_label(d)["levels"].pop(), "between its two cuts|list of at least 1"),
    ("number_levels", "levels reversed", lambda d: first_label(d)["levels"].reverse(), "must be in order"),
    ("number_levels", "levels numeric", lambda d: d["features"][0]["levels"].append(1), "empty for a numeric"),
    # classes
    ("four_classes", "labels unsorted", lambda d: d["classes"].reverse(), "classes must be in order"),
    ("four_classes", "label twice", lambda d: d["classes"].__setitem__(1, "e"), "holds 'e' twice"),
    ("four_classes", "outputs", lambda d: d["rules"][0]["inside"].pop(), r"inside must be a list of 4 numbers"),
    ("four_classes", "shares", lambda d: d["rules"][0].update(inside=[0.5, 0.5, 0.5, 0.5]), "shares that sum to 1"),
    ("four_classes", "stage of shares", lambda d: correct_shares(d), "stage corrects shares"),
    ("four_classes", "label type", lambda d: d["facts"].update(label_type="<U99999999"), "label_type must be a type"),
    ("two_classes", "label cut", lambda d: d["facts"].update(label_type="<U1"), "does not hold the classes"),
    ("two_classes", "task", lambda d: d.update(task="regression"), "task is 'regression'"),
    ("two_classes", "kind", lambda d: d["estimator"].update(name="SirusRegressor", parameters={}), "is for regression"),
    # lists that belong together
    ("numbers", "column twice", lambda d: d["features"].append(d["features"][0]), "features holds 'a' twice"),
    ("numbers", "rule twice", lambda d: d["rules"].append(d["rules"][0]), r"rules\[4\] is in the list twice"),
    ("tuned", "path", lambda d: d["tuning"]["path"]["error"].pop(), "columns of unequal length"),
    ("tuned", "p0 rises", lambda d: d["tuning"]["path"]["p0"].reverse(), "p0 must fall"),
    ("tuned", "step", lambda d: d["tuning"].update(step=10**6), "step is beyond"),
    ("tuned", "size", lambda d: d["tuning"]["sizes"][1]["weights"].pop(), "must have 2 weights"),
    ("tuned", "sizes", lambda d: d["tuning"]["sizes"].pop(0), "must be of 1 rules"),
    ("tuned", "rules", lambda d: d["rules"][0].update(inside=9.0), r"rules\[0\] differs from tuning.rules\[0\]"),
    ("tuned", "weights", lambda d: d["rules"][0].update(weight=9.0), "must have the weights of tuning.sizes"),
    ("tuned", "none", lambda d: d.update(tuning=None), "SirusRegressorCV is tuned"),
    # sums over folds
    ("numbers", "rows", lambda d: d["moments"].update(rows="1 2 3"), "rows must be a line of 4 numbers, found 3"),
    ("numbers", "folds", lambda d: d["moments"]["pair"].pop(), "pair must be a list of 10 items, found 9"),
    (
        "numbers",
        "sum",
        lambda d: d["moments"].update(sum="nan " + d["moments"]["sum"].split(" ", 1)[1]),
        "something else",
    ),
    ("numbers", "centre", lambda d: d["moments"].update(centre=5.0), "the sums say"),
    ("numbers", "negative size", lambda d: d["moments"].update(size="-" + d["moments"]["size"]), "weight of each fold"),
    ("numbers", "moments", lambda d: d.update(moments=read("staged")["moments"]), "moments"),
    # what is not known
    (
        "numbers",
        "entry",
        lambda d: d["rules"][0].update(surprise=1),
        "the entry 'surprise', which this version does not",
    ),
    ("numbers", "parameter", lambda d: d["estimator"]["parameters"].update(surprise=1), "SirusRegressor does not take"),
    ("numbers", "fact", lambda d: d["facts"].pop("n_trees"), "facts lacks the entry 'n_trees'"),
    ("numbers", "fact text", lambda d: d["facts"].update(n_rows="many"), "facts.n_rows must be a whole number"),
    ("numbers", "surrogate", lambda d: d.update(target="\ud800"), "half a character"),
    ("numbers", "deep fact", lambda d: d["facts"].update(x=[[[[[[[[[1]]]]]]]]]), "more than 8 deep"),
    # slopes
    ("slopes_counts", "factor beyond", lambda d: slope_of(d).update(inside=1e11), r"rules\[3\] must have a factor"),
    ("slopes_counts", "factor of 0", lambda d: slope_of(d).update(inside=-600.0, weight=1.0), r"slope must be weight"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{name}: {what}" for name, what, _, _ in FAULTS])
def test_a_fault_is_named(fault, tmp_path):
    name, _, damage, message = fault
    document = read(name)
    damage(document)
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=message) as caught:
        pysirus.load(tmp_path / "m.json")
    assert "m.json' is a damaged pysirus model file: " in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"version": 1,', '"version": 1, "version": 1,', "the entry 'version' twice"),
        ('"mean": ', '"mean": 1e999, "_": ', "the number 1e999, which is too large"),
        ('"named": true', '"named": ' + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ('"n_rows": 150', '"n_rows": ' + "9" * 6000, "a whole number of 6000 digits"),
    ],
)
def test_text_that_other_readers_take_is_refused(old, new, message, tmp_path):
    text = GOLDEN["numbers"].read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "m.json").write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=message):
        pysirus.load(tmp_path / "m.json")


def test_some_hundred_damaged_files_are_refused_or_work():
    tally = examine(range(2000 if FULL else 60))
    assert not tally.failures, "\n".join(tally.failures)
    assert set(tally.outcomes) == {"ModelFileError", "works"}
    assert min(tally.outcomes.values()) >= 10


def test_what_the_schema_refuses_is_refused(tmp_path):
    validator = jsonschema.Draft202012Validator(SCHEMA)

    def valid(data: bytes) -> bool:
        """Whether the schema takes a file; what is no JSON is no matter of the schema."""
        try:
            return bool(validator.is_valid(json.loads(data)))
        except (ValueError, RecursionError):
            return True

    n_refused = 0
    for seed in range(1000, 1120):
        _, data, what = mutant(seed)
        (tmp_path / "m.json").write_bytes(data)
        try:
            pysirus.load(tmp_path / "m.json")
        except ModelFileError:
            if n_refused < 20 and "nest" not in what:  # the schema takes time; enough to know that it refuses
                n_refused += not valid(data)
        else:
            assert "nest" in what or valid(data), f"seed {seed}: {what}"
    assert n_refused >= 20


PEAK = """
import resource, sys, pysirus
pysirus.load(sys.argv[1])
for path in sys.argv[2:]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        pysirus.load(path)
    except pysirus.ModelFileError as error:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, error)
"""


def bombs() -> dict[str, dict[str, Any]]:
    """Small files that asked for gigabytes, the smallest first."""
    rows, folds, labels = read("numbers"), read("numbers"), read("two_classes")
    rows["moments"].update(rows=" ".join(["1"] * 15_000))
    folds["moments"].update(size=" ".join(["1"] * 3_000_000))
    labels["facts"]["label_type"] = "<U400000000"
    return {"labels": labels, "rows": rows, "folds": folds}


def test_sizes_are_checked_before_anything_is_allocated(tmp_path):
    paths = {name: tmp_path / f"{name}.json" for name in bombs()}
    for name, document in bombs().items():
        paths[name].write_text(json.dumps(document))
    command = [sys.executable, "-c", PEAK, str(GOLDEN["numbers"]), *map(str, paths.values())]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for line, path in zip(lines, paths.values(), strict=True):
        kilobytes, error = line.split(" ", 1)
        assert f"{path.name}' is a damaged" in error
        assert int(kilobytes) * 1024 < 20e6 + 4 * path.stat().st_size


def test_a_file_too_large_is_neither_read_nor_written(tmp_path, monkeypatch):
    model = pysirus.load(GOLDEN["numbers"])
    parse = sys.modules["pysirus._model.kinds"]
    monkeypatch.setattr(parse, "MAX_VALUES", 100)
    with pytest.raises(ModelFileError, match=r"some [\d,]+ values, more than the 100"):
        pysirus.load(GOLDEN["numbers"])
    with pytest.raises(ModelFileError, match=r"too large for a file: .*with_rules"):
        model.save(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_whole_numbers_without_a_point_are_numbers(tmp_path):
    """Other programs write 3.0 as 3."""
    document = json.loads(
        GOLDEN["numbers"].read_text(encoding="utf-8"),
        parse_float=lambda w: int(float(w)) if w.endswith(".0") else float(w),
    )
    (tmp_path / "m.json").write_text(json.dumps(document))
    X = np.linspace(-2, 4, 30).reshape(10, 3)
    again, model = pysirus.load(tmp_path / "m.json"), pysirus.load(GOLDEN["numbers"])
    assert again.model_ == model.model_
    assert np.array_equal(again.model_.raw_predict(X), model.model_.raw_predict(X))


def test_sums_far_from_the_target_have_no_training_metrics(tmp_path):
    """Their squares overflow, which a report once failed of."""
    document = read("numbers")
    document["moments"]["centre"] = 1e308
    (tmp_path / "m.json").write_text(json.dumps(document))
    model = pysirus.load(tmp_path / "m.json").model_
    assert training_metrics(model) is None and training_metrics(pysirus.load(GOLDEN["numbers"]).model_) is not None
    assert "</html>" in model.report()


def test_a_damaged_file_is_one_line_for_the_command(tmp_path):
    document = read("numbers")
    first(document).update(index=1 - first(document)["index"])
    path = Path(tmp_path / "m.json")
    path.write_text(json.dumps(document))
    run = subprocess.run([*warm.command(), "show", str(path)], capture_output=True, text=True)
    assert run.returncode not in (0, -6, -11)
    assert "is a damaged pysirus model file: rules[0].conditions[0] is of column" in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr

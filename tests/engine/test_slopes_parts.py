"""Slopes on rows in parts: the same terms, weights and printed slopes as in memory, to the bit."""

import numpy as np
import pandas as pd
import pytest

from parts import KINDS, assert_equal_models, assert_equal_tuning, fit_parts, response_of
from pysirus import SirusClassifierCV, SirusRegressor, SirusRegressorCV
from sampled import in_turns

pytestmark = pytest.mark.filterwarnings("ignore:Nothing was learned", "ignore:No rule of the full data")
SMALL = {"n_trees": 60, "random_state": 5, "slopes": True}
LIMITS = [[1, 1, 150], [60, 120], []]


def make_frame(n=200, seed=3):
    """Columns that rise, step and have few values, some missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"rise": rng.gamma(2, 10, n), "step": rng.normal(size=n).astype(np.float32), "few": rng.integers(0, 4, n)}
    )
    frame["holes"] = np.where(rng.random(n) < 0.2, np.nan, rng.uniform(-3, 5, n))
    y = 0.08 * frame["rise"] + (frame["step"] > 0.5) - 0.3 * frame["holes"].fillna(0) + 0.2 * rng.normal(size=n)
    return frame, y, rng


def make_response(kind, y, rng):
    """A response of some kind, with the options that it takes."""
    if kind in ("poisson", "gamma", "tweedie"):
        values = {"poisson": rng.poisson(np.exp(0.5 * y)), "gamma": np.exp(y), "tweedie": np.where(y > 1, np.exp(y), 0)}
        return SirusRegressor, pd.Series(values[kind], name="y"), None, {"loss": kind}
    return *response_of(kind, y, rng), {}


@pytest.mark.parametrize("kind, limits", in_turns([*KINDS, "poisson", "gamma", "tweedie"], LIMITS))
def test_parts_have_the_slopes_of_memory(kind, limits):
    frame, y, rng = make_frame()
    estimator, y, weights, options = make_response(kind, y, rng)
    options = {**SMALL, **options, "n_rules": 1, "n_stages": 5}
    expected = estimator(**options).fit(frame, y, sample_weight=weights)
    found = fit_parts(estimator(**options), frame, y, weights, limits)
    assert any(not term.is_binary for term in expected.selected_)
    assert_equal_models(found.model_, expected.model_)
    for one, other in zip(found.selected_, expected.selected_):
        assert (one.key, one.weight, one.frequency) == (other.key, other.weight, other.frequency)
        if not one.is_binary:
            names = ("lower", "upper", "mean", "slope", "inside", "n_inside")
            assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    assert np.array_equal(found.predict(frame), expected.predict(frame))


@pytest.mark.parametrize("kind, limits", in_turns(["numbers weighted", "two", "poisson"], LIMITS))
def test_parts_are_tuned_with_slopes_as_memory_is(kind, limits):
    frame, y, rng = make_frame()
    estimator, y, weights, options = make_response(kind, y, rng)
    tuned = SirusRegressorCV if estimator is SirusRegressor else SirusClassifierCV
    options = {**SMALL, **options, "slopes": "auto", "n_stages": "auto", "n_repeats": 1, "cv": 3, "max_rules": 5}
    expected = tuned(**options).fit(frame, y, sample_weight=weights)
    found = fit_parts(tuned(**options), frame, y, weights, limits)
    assert_equal_models(found.model_, expected.model_)
    assert_equal_tuning(found, expected)


@pytest.mark.parametrize("n_parts", [1, 7, 50])
def test_files_have_the_slopes_of_memory(tmp_path, n_parts):
    frame, y, _ = make_frame()
    frame = frame.assign(y=y)
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        frame.iloc[rows].to_parquet(tmp_path / f"{k:03}.parquet")
    options = {**SMALL, "n_rules": 1, "n_stages": 5}
    expected = SirusRegressor(**options).fit(frame.drop(columns="y"), frame["y"])
    found = SirusRegressor(**options).fit_files(str(tmp_path / "*.parquet"), "y")
    assert found.model_.text() == expected.model_.text()
    assert np.array_equal(found.predict(frame.drop(columns="y")), expected.predict(frame.drop(columns="y")))

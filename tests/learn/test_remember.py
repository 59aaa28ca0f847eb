"""What a fit remembers of its rows: marks, sums by bin and by rule, the values next to a number."""

import numpy as np
import pandas as pd
import pytest

from pysirus import SirusRegressor, _core


def test_the_mark_of_two_numbers_by_hand():
    one = int(np.float64(1.0).view(np.uint64))
    keys = [(row + 1) * 0x9E3779B97F4A7C15 % 2**64 for row in range(2)]
    expected = sum((bits >> 32) * (bits & 0xFFFFFFFF) for bits in (one ^ keys[0], 0 ^ keys[1])) % 2**64
    assert _core.mark_numbers(np.array([1.0, -0.0])) == (expected, 0.0, 1.0)


def test_marks_depend_on_values_and_places_and_add_up():
    values = np.random.default_rng(0).normal(size=1_000)
    values[::7] = np.nan
    whole = _core.mark_numbers(values)[0]
    parts = _core.mark_numbers(values[:300])[0] + _core.mark_numbers(values[300:], 300)[0]
    assert parts % 2**64 == whole
    for i in range(0, 999, 37):
        other = values.copy()
        other[[i, i + 1]] = other[[i + 1, i]]
        assert _core.mark_numbers(other)[0] != whole
        other = values.copy()
        other[i] = 0.5 if np.isnan(other[i]) else np.nextafter(other[i], np.inf)
        assert _core.mark_numbers(other)[0] != whole


@pytest.mark.parametrize("dtype", ["f4", "i8", "i2", "u1"])
def test_marks_and_brackets_are_those_of_the_same_numbers_in_any_type_and_place(dtype):
    values = np.random.default_rng(1).integers(0, 100, size=(500, 3)).astype(dtype)
    column = values[:, 1]
    assert _core.mark_numbers(column) == _core.mark_numbers(column.astype(np.float64))
    assert _core.find_brackets(column, [3.0, 40.5]) == _core.find_brackets(column.astype(np.float64), [3.0, 40.5])


@pytest.mark.parametrize("n_numbers", [1, 5, 30])
def test_brackets_are_the_nearest_values(n_numbers):
    rng = np.random.default_rng(n_numbers)
    values = rng.normal(size=200)
    values[::9] = np.nan
    numbers = sorted([*rng.normal(size=n_numbers - 1), values[1]])
    below, above = _core.find_brackets(values, numbers)
    for number, low, high in zip(numbers, below, above):
        assert low == max(values[values < number], default=-np.inf)
        assert high == min(values[values >= number], default=np.inf)


@pytest.mark.parametrize("n_bins", [[3, 2, 4], [40, 30, 5], [1]])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 6])
def test_sums_of_bins_and_rules_are_those_of_their_rows(n_bins, width):
    rng = np.random.default_rng(0)
    bins = np.array([rng.integers(0, n, 301) for n in n_bins], dtype=np.uint8)
    beside = rng.integers(-50, 50, size=(301, width)).astype(np.float64)  # so that sums are exact
    found = _core.sum_bins(bins, n_bins, beside, width)
    expected = [beside[bins[c] == b].sum(axis=0) for c, n in enumerate(n_bins) for b in range(n)]
    np.testing.assert_array_equal(found, expected)

    tables = np.full((1, 256, 2), 2**64 - 1, dtype=np.uint64)
    tables[0, 0] = 0  # no rule holds in the first bin, 70 in all others
    rows, sums = _core.sum_rules(bins, np.array([0], dtype=np.int32), tables, 70, beside)
    inside = bins[0] > 0
    np.testing.assert_array_equal(rows, [inside.sum()] * 70)
    np.testing.assert_array_equal(sums, [beside[inside].sum(axis=0)] * 70)


def test_bins_that_a_column_does_not_have_are_refused():
    with pytest.raises(ValueError, match="bin 5 is not from 0 to 4"):
        _core.sum_bins(np.full((1, 3), 5, dtype=np.uint8), [5], np.zeros((3, 2)), 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_remembers_what_its_rows_add_up_to(weighted):
    rng = np.random.default_rng(2)
    n = 400
    X = pd.DataFrame({"a": rng.normal(size=n), "c": rng.choice(["u", "v", "w"], n), "none": np.nan})
    X.loc[:30, "a"] = np.nan
    X.loc[20:50, "c"] = None
    y = X["a"].fillna(0) + (X["c"] == "u") + rng.normal(size=n)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    with pytest.warns(UserWarning, match="All values are missing"):
        model = SirusRegressor(n_trees=200, random_state=0).fit(X, y, sample_weight=weights)
    of_fit, of_rows = model.model_.reference, model.with_reference(X, y, sample_weight=weights).reference
    assert of_fit is not None and of_rows is not None
    np.testing.assert_allclose(of_fit.residuals, of_rows.residuals, rtol=1e-6)
    np.testing.assert_allclose(of_fit.error, of_rows.error, rtol=1e-6)
    for own, other in zip(of_fit.terms, of_rows.terms):
        np.testing.assert_allclose(own.residuals, other.residuals, rtol=1e-6, atol=1e-6)
    for column in of_fit.columns:
        assert column.sums[:, 0].sum() == pytest.approx(n, rel=1e-6)

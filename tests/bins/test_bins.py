"""Cuts by hand, cuts against NumPy, and values at the edges of their bins."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from given import bin_arrays
from pysirus import _core
from pysirus._bins.cuts import bin_table, find_cuts
from pysirus._data.column import Column
from pysirus._data.table import read_table
from pysirus._families.responses import IntegerRows, NumberResponse
from pysirus._runtime.sums import group_sums

FINITE = st.floats(-1e12, 1e12, allow_subnormal=False)


def cuts_of(values, weights=None, *, n_bins=10, discrete_limit=10):
    values = np.asarray(values)
    response = NumberResponse(np.zeros(len(values)), weights=weights)
    return find_cuts(Column("x", "numeric", values), IntegerRows(response), n_bins, discrete_limit)


def bins_of(values, cuts):
    out = np.empty(len(values), dtype=np.uint8)
    cuts.encode(Column("x", "numeric", np.asarray(values)), out)
    return out.tolist()


def test_cuts_of_many_values_are_the_deciles():
    cuts = cuts_of(np.arange(101.0))
    assert cuts.thresholds.tolist() == [10.0 * i for i in range(1, 10)]
    assert cuts.identities == tuple(("quantile", i) for i in range(1, 10))
    assert (cuts.n_cuts, cuts.n_bins, cuts.n_splits) == (9, 10, 9)


def test_equal_quantiles_are_merged_under_the_lowest_number():
    # 12 distinct values; 5 is what quantiles 4 to 7 say
    values = np.concatenate([np.arange(4.0), np.full(8, 5.0), np.arange(6.0, 13.0)])
    expected = np.quantile(values, np.arange(1, 10) / 10)
    cuts = cuts_of(values)
    numbers = [identity[1] for identity in cuts.identities]
    assert sorted(set(expected.tolist())) == cuts.thresholds.tolist()
    assert numbers == [1 + expected.tolist().index(t) for t in cuts.thresholds.tolist()]
    assert len(numbers) < 9


def test_a_quantile_equal_to_the_minimum_is_dropped():
    values = np.concatenate([np.zeros(35), np.arange(1.0, 66.0)])  # quantiles 1 to 3 are the minimum
    cuts = cuts_of(values)
    assert cuts.identities[0] == ("quantile", 4)
    assert cuts.thresholds[0] > 0
    assert len(cuts.thresholds) == 6


def test_a_discrete_column_is_cut_at_every_value_but_the_smallest():
    cuts = cuts_of([3.0, 1.0, 2.5, 1.0, 3.0])
    assert cuts.thresholds.tolist() == [2.5, 3.0]
    assert cuts.identities == (("value", 2.5), ("value", 3.0))
    assert bins_of([0.0, 1.0, 2.4, 2.5, 2.9, 3.0, 9.0], cuts) == [0, 0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("n_distinct, kind", [(10, "value"), (11, "quantile")])
def test_the_discrete_limit_is_ten_distinct_values(n_distinct, kind):
    cuts = cuts_of(np.tile(np.arange(float(n_distinct)), 7))
    assert {identity[0] for identity in cuts.identities} == {kind}


def test_a_late_distinct_value_is_seen():
    values = np.zeros(5000)
    values[-11:] = np.arange(11)
    assert {identity[0] for identity in cuts_of(values).identities} <= {"quantile"}
    values[-1] = 9.0
    assert cuts_of(values).n_cuts == 9


def test_a_constant_column_has_no_cut():
    assert cuts_of(np.full(50, 3.7)).n_cuts == 0
    assert cuts_of(np.full(50, np.nan)).n_splits == 0


def test_missing_values_have_the_last_bin():
    values = np.array([1.0, np.nan, 2.0, 3.0, np.nan])
    cuts = cuts_of(values)
    assert cuts.has_missing
    assert (cuts.n_cuts, cuts.n_bins, cuts.n_splits) == (2, 4, 5)
    assert bins_of(values, cuts) == [0, 3, 1, 2, 3]
    long = np.concatenate([np.arange(101.0), [np.nan] * 40])
    assert cuts_of(long).thresholds.tolist() == [10.0 * i for i in range(1, 10)]  # quantiles of what is known


def exact_quantile(ordered, i, n_bins):
    """Linear interpolation in fractions."""
    low, rest = divmod((len(ordered) - 1) * i, n_bins)
    a, b = Fraction(ordered[low]), Fraction(ordered[low + (rest > 0)])
    return float(a + (b - a) * Fraction(rest, n_bins))


@given(hnp.arrays(np.float64, st.integers(11, 80), elements=FINITE), st.integers(2, 30))
def test_cuts_are_the_interpolated_quantiles(values, n_bins):
    assume(len(np.unique(values)) > 10)
    cuts = cuts_of(values, n_bins=n_bins)
    ordered = np.sort(values).tolist()
    rounding = 4 * np.spacing(np.abs(values).max())
    for (_, i), threshold in zip(cuts.identities, cuts.thresholds):
        exact = exact_quantile(ordered, i, n_bins)
        assert abs(threshold - exact) <= rounding
        assert threshold == exact or (len(values) - 1) * i % n_bins  # a data value is met exactly
        assert abs(threshold - np.quantile(values, i / n_bins)) <= 100 * rounding
    assert (np.diff(cuts.thresholds) > 0).all()
    assert (cuts.thresholds > values.min()).all()
    assert (cuts.thresholds <= values.max()).all()


@given(hnp.arrays(np.int16, st.integers(11, 60)), st.data())
def test_integer_weights_are_repeated_rows(values, data):
    weights = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values))))
    assume(len(np.unique(values)) > 10)
    values = values.astype(float)
    weighted = cuts_of(values, weights.astype(float))
    repeated = cuts_of(np.repeat(values, weights))
    assert weighted.thresholds.tolist() == repeated.thresholds.tolist()
    assert weighted.identities == repeated.identities


def test_the_scale_of_fractional_weights_does_not_matter(rng):
    values, weights = rng.normal(size=200), rng.random(200)
    cuts = cuts_of(values, weights)
    assert np.allclose(cuts.thresholds, cuts_of(values, weights * 0.3).thresholds)
    heavy_right = cuts_of(values, np.where(values > 0, 1.5, 0.5))
    assert heavy_right.thresholds[4] > np.median(values)


@given(hnp.arrays(np.float64, st.integers(1, 40), elements=FINITE), st.sampled_from([3, 10, 40, 255]))
def test_bins_count_the_cuts_at_or_below(values, n_bins):
    cuts = cuts_of(values, n_bins=n_bins)
    tried = np.concatenate([values, cuts.thresholds, np.nextafter(cuts.thresholds, -np.inf)])
    assert bins_of(tried, cuts) == [int((cuts.thresholds <= x).sum()) for x in tried]


def test_a_value_on_a_cut_goes_right():
    cuts = cuts_of(np.arange(101.0))
    assert bins_of([9.999999, 10.0, 10.000001, -np.inf, np.inf, -5.0, 90.0, 1e300], cuts) == [0, 1, 1, 0, 9, 0, 9, 9]


def test_255_bins_fill_a_byte():
    cuts = cuts_of(np.arange(10_000.0), n_bins=255)
    assert cuts.n_bins == 255
    assert bins_of([0.0, 9_999.0], cuts) == [0, 254]
    with_missing = cuts_of(np.append(np.arange(10_000.0), np.nan), n_bins=255)
    assert bins_of([9_999.0, np.nan], with_missing) == [254, 255]


def test_extreme_values_have_finite_cuts():
    values = np.concatenate([-1.7e308 + 1e300 * np.arange(8), 1.7e308 - 1e300 * np.arange(8)])
    with np.errstate(over="raise"):
        cuts = cuts_of(values)
    assert np.isfinite(cuts.thresholds).all()
    tiny = np.arange(20) * 5e-324
    assert (np.diff(cuts_of(tiny).thresholds) > 0).all()


def test_float32_and_float64_agree(rng):
    values = rng.normal(size=300).astype(np.float32)
    narrow, wide = cuts_of(values), cuts_of(values.astype(np.float64))
    assert narrow.thresholds.tolist() == wide.thresholds.tolist()
    assert bins_of(values, narrow) == bins_of(values.astype(np.float64), wide)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint16, np.int64, np.uint64, np.float16])
def test_other_number_types_are_cut_as_their_values(rng, dtype):
    values = rng.integers(0, 100, size=400)
    expected, _ = bin_arrays(values[:, None].astype(float), np.zeros(400))
    binned, _ = bin_arrays(values[:, None].astype(dtype), np.zeros(400))
    assert binned.bins.tolist() == expected.bins.tolist()
    assert binned.cuts[0].identities == expected.cuts[0].identities


def test_integers_that_are_equal_as_float64_are_one_value():
    assert cuts_of(2**60 + np.arange(5)).idle == "constant"
    assert cuts_of(2**60 + 256 * np.arange(5)).thresholds.tolist() == [2.0**60 + 256 * i for i in range(1, 5)]


def test_no_cut_is_a_negative_zero():
    for values in ([-1.0, -0.0, 1.0], [*np.arange(-50.0, 0.0), -0.0, *np.arange(1.0, 51.0)]):
        cuts = cuts_of(values)
        assert 0.0 in cuts.thresholds
        assert not np.signbit(cuts.thresholds[cuts.thresholds == 0]).any()


@given(hnp.arrays(np.int16, st.integers(11, 60)), st.data())
def test_the_order_of_rows_does_not_matter_to_weights(values, data):
    weights = np.array(data.draw(st.lists(st.floats(0.01, 9.0), min_size=len(values), max_size=len(values))))
    order = np.array(data.draw(st.permutations(range(len(values)))))
    one, other = (
        bin_arrays(values[:, None], weights, weights)[0],
        bin_arrays(values[order, None], weights, weights[order])[0],
    )
    assert one.cuts[0].thresholds.tobytes() == other.cuts[0].thresholds.tobytes()
    assert one.cuts[0].shares.tobytes() == other.cuts[0].shares.tobytes()


def test_the_layout_of_a_table_does_not_matter(rng):
    X, y = np.round(rng.normal(size=(150, 4)), 1), rng.normal(size=150)
    expected, _ = bin_arrays(X, y)
    wide = np.zeros((300, 8))
    wide[::2, ::2] = X
    backwards = X[::-1, ::-1].copy()[::-1, ::-1]
    for same in (np.asfortranarray(X), wide[::2, ::2], backwards, X.tolist()):
        assert np.array_equal(bin_arrays(same, y)[0].bins, expected.bins)


def test_encode_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="entry per row"):
        _core.encode(np.zeros(3), np.zeros(1), 0, np.zeros(2, np.uint8))
    with pytest.raises(ValueError, match="at most 255 cuts"):
        _core.encode(np.zeros(3), np.arange(256.0), 0, np.zeros(3, np.uint8))


@pytest.mark.parametrize("n_cuts", [0, 1, 16, 17, 90, 255])
def test_bins_of_many_cuts_are_those_of_a_search(n_cuts, rng):
    cuts = np.unique(np.round(rng.normal(size=3000), 2))[:n_cuts]
    values = np.concatenate([cuts, rng.normal(size=500), [np.nan, np.inf, -np.inf, 0.0, -0.0]])
    bins = np.zeros(len(values), np.uint8)
    _core.encode(values, cuts, 255, bins)
    assert bins.tolist() == np.where(np.isnan(values), 255, np.searchsorted(cuts, values, side="right")).tolist()


@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 257, 1000])
def test_bins_are_counted_as_numpy_counts_them(rng, n_rows):
    bins = rng.integers(0, 256, size=(2, n_rows), dtype=np.uint8)
    assert _core.count_bins(bins[0]).tolist() == np.bincount(bins[0], minlength=256).tolist()
    few = bins.T[:, 0] % 5  # not in one piece
    assert group_sums(few, None, 7).tolist() == np.bincount(few, minlength=7).tolist()
    assert group_sums(few, np.ones(n_rows, np.int64), 7).tolist() == group_sums(few, None, 7).tolist()


def test_recoded_bins_are_those_of_the_table(rng):
    grid = rng.integers(0, 256, size=(3, 50), dtype=np.uint8)
    tables = rng.integers(0, 256, size=(3, 256), dtype=np.uint8)
    rows = np.flatnonzero(rng.random(50) < 0.8)
    bins = np.ones((4, len(rows)), np.uint8)
    _core.recode(grid, rows, tables, bins)
    assert np.array_equal(bins, [*(table[fine[rows]] for table, fine in zip(tables, grid)), np.ones(len(rows))])


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"rows": np.array([0, 5])}, "rows 5 is not from 0 to 4"),
        ({"rows": np.array([-1, 0])}, "rows -1 is not from 0 to 4"),
        ({"tables": np.zeros((1, 256), np.uint8)}, "a table of 256 bins for each column"),
        ({"tables": np.zeros((2, 255), np.uint8)}, "a table of 256 bins for each column"),
        ({"bins": np.zeros((1, 2), np.uint8)}, "entry per column and row"),
        ({"bins": np.zeros((2, 1), np.uint8)}, "entry per column and row"),
        ({"grid": np.zeros((2, 0), np.uint8)}, "rows 4 is not from 0 to -1"),
    ],
)
def test_recode_refuses_what_does_not_fit(changes, message):
    right = {"grid": np.zeros((2, 5), np.uint8), "rows": np.array([0, 4]), "tables": np.zeros((2, 256), np.uint8)}
    with pytest.raises(ValueError, match=message):
        _core.recode(**{**right, "bins": np.zeros((2, 2), np.uint8)} | changes)


def test_the_heavier_side_of_a_cut_is_known():
    binned, _ = bin_arrays(np.array([[0.0], [0.0], [1.0], [2.0]]), np.zeros(4))
    assert binned.cuts[0].less_is_heavier.tolist() == [True, True]  # a tie goes to the `<` side
    weighted, _ = bin_arrays(np.array([[0.0], [0.0], [1.0], [2.0]]), np.zeros(4), np.array([1.0, 1.0, 1.0, 4.0]))
    assert weighted.cuts[0].less_is_heavier.tolist() == [False, False]


columns = st.one_of(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=50),
    st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=50),
)


@given(columns, st.sampled_from(["f8", "f4", "i8", "i2"]), st.integers(1, 300), st.data())
def test_order_statistics_are_those_of_a_sort(values, dtype, copies, data):
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.repeat(np.clip(values, -3e4, 3e4) if dtype == "i2" else np.clip(values, -1e18, 1e18), copies)
        values = np.random.default_rng(copies).permutation(values).astype(dtype)
    ranks = sorted(data.draw(st.sets(st.integers(0, len(values) - 1), max_size=20)))
    found = _core.order_statistics(values, ranks)
    np.testing.assert_array_equal(found, np.sort(values)[ranks].astype(np.float64))


@pytest.mark.parametrize("kind", ["normal", "cauchy", "outlier", "sorted", "falling", "spike", "large"])
@pytest.mark.parametrize("step", [1, -3])
def test_order_statistics_of_long_columns(kind, step):
    rng = np.random.default_rng(0)
    n = 60_000
    values = {
        "normal": rng.normal(size=n),
        "cauchy": rng.standard_cauchy(n),
        "outlier": np.append(rng.normal(size=n - 1), 1e308),
        "sorted": np.arange(n) / 7,
        "falling": -np.arange(n) / 7,
        "spike": np.where(rng.random(n) < 0.95, 0.0, rng.normal(size=n)),
        "large": rng.uniform(-1, 1, n) * 1.7e308,
    }[kind][::step]
    ranks = np.unique(np.linspace(0, len(values) - 1, 60).astype(int))
    np.testing.assert_array_equal(_core.order_statistics(values, ranks.tolist()), np.sort(values)[ranks])


def test_order_statistics_leave_missing_values_out_and_refuse_ranks_beyond():
    values = np.array([3.0, np.nan, 1.0, 2.0])
    assert _core.order_statistics(values, [0, 2]).tolist() == [1.0, 3.0]
    for ranks in ([3], [-1], [1, 1], [2, 1]):
        with pytest.raises(ValueError, match="ranks must rise"):
            _core.order_statistics(values, ranks)


def test_threads_find_the_same_bins(rng):
    X = rng.normal(size=(25_000, 7)).astype(np.float32)
    X[::5, 2] = np.nan
    X[:, 3] = np.round(X[:, 3])
    table, response = read_table(X), NumberResponse(X[:, 0].astype(float))
    one, three = (bin_table(table, response, n_bins=10, discrete_limit=10, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.bins, three.bins)
    for a, b in zip(one.cuts, three.cuts):
        assert a.identities == b.identities and a.has_missing == b.has_missing
        np.testing.assert_array_equal(a.thresholds, b.thresholds)

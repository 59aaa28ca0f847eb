"""Cuts of a table in parts are those of the whole, bit for bit, however it is split and however little is stored."""

import operator
import pickle
from dataclasses import replace
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysirus._bins.cuts import bin_column, bin_table
from pysirus._data.column import Column, DataError
from pysirus._data.table import Table, read_table
from pysirus._families.responses import ClassResponse, IntegerRows, NumberResponse
from pysirus._runtime.sums import group_sums, product_sums
from pysirus.cli._streams import as_typed
from pysirus.engine.columns import (
    cuts_of_columns,
    has_quantiles,
    merge_summaries,
    narrowed,
    needs_zoom,
    neighbourhoods,
    quantile_error,
    refine,
    summarise_columns,
    summary_near,
    zoom_columns,
)
from pysirus.engine.summary import tally_of
from sampled import FULL

LEVELS = ["a", "b", "c", "d", "e", "f"]


def parts_of(table, response, splits):
    """The parts of a table, each with the scale of the whole."""
    scale = response.scale
    for rows in splits:
        part = response.take(rows)
        yield table.take(rows), replace(part, part_of=scale)


def fold(merge, answers, order):
    """Merge one by one, or as a tree."""
    answers = [pickle.loads(pickle.dumps(answer)) for answer in answers]
    if order == "left":
        return reduce(merge, answers)
    if order == "right":
        return reduce(lambda a, b: merge(b, a), reversed(answers))
    while len(answers) > 1:
        answers = [reduce(merge, answers[i : i + 2]) for i in range(0, len(answers), 2)]
    return answers[0]


def fit_cuts(parts, *, n_bins, discrete_limit, budget, order="left"):
    """The cuts of a table in parts, and how many passes they took."""
    parts = list(parts)
    summaries = fold(merge_summaries, [summarise_columns(t, r, budget=budget) for t, r in parts], order)
    n_passes = 1
    while plan := needs_zoom([summaries], n_bins, discrete_limit):
        plan = pickle.loads(pickle.dumps(plan))
        answer = fold(operator.add, [zoom_columns(t, r, plan) for t, r in parts], order)
        summaries = refine(summaries, plan, answer)
        n_passes += 1
        assert n_passes < 30
    assert quantile_error(summaries, n_bins=n_bins, discrete_limit=discrete_limit) == 0
    return cuts_of_columns(summaries, n_bins=n_bins, discrete_limit=discrete_limit), n_passes


def assert_equal(found, expected):
    assert found.column.name == expected.column.name
    assert found.column.kind == expected.column.kind
    assert found.column.levels == expected.column.levels
    assert found.column.order == expected.column.order
    assert found.identities == expected.identities
    assert found.thresholds.tobytes() == expected.thresholds.tobytes()
    assert found.levels == expected.levels
    assert list(map(type, found.levels)) == list(map(type, expected.levels))
    assert found.has_missing == expected.has_missing
    assert found.idle == expected.idle
    assert found.less_is_heavier.tolist() == expected.less_is_heavier.tolist()
    assert found.shares.tobytes() == expected.shares.tobytes()


def splits_of(rng, n_rows, n_parts, by=None):
    """Rows in parts of any size, some of them empty; ``by`` puts neighbours in value together."""
    order = rng.permutation(n_rows) if by is None else np.argsort(by, kind="stable")
    ends = np.sort(rng.integers(0, n_rows + 1, n_parts - 1))
    return [np.sort(rows) for rows in np.split(order, ends)]


def numbers(rng, n, kind):
    return {
        "normal": rng.normal(size=n),
        "rounded": np.round(rng.normal(size=n), 1),
        "few": rng.integers(0, 5, n) / 4 - 0.5,
        "constant": np.full(n, 2.5),
        "spike": np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
        "nearly constant": np.where(np.arange(n) < 0.97 * n, -1.0, np.arange(n)),
        "two spikes": np.where(rng.random(n) < 0.8, rng.choice([-1.0, 1.0], n), rng.standard_cauchy(n)),
        "tiny": rng.integers(-40, 40, n) * 5e-324,
        "huge": rng.uniform(-1, 1, n) * 1.7e308,
        "zeros": rng.choice([-0.0, 0.0, 1.0, -1.0], n),
    }[kind]


KINDS = [
    *("normal", "rounded", "few", "constant", "spike", "nearly constant", "two spikes", "tiny", "huge", "zeros"),
]


def any_table(rng, n, kinds, missing):
    """A frame with numbers of every width, booleans, labels and ordered labels."""
    columns = {}
    for j, kind in enumerate(kinds):
        columns[f"{kind}{j}"] = np.where(rng.random(n) < missing, np.nan, numbers(rng, n, kind))
    with np.errstate(over="ignore"):
        narrow = numbers(rng, n, "rounded").astype(np.float32)
    columns["float32"] = np.where(rng.random(n) < missing, np.float32(np.nan), narrow)
    columns["int8"] = rng.integers(-100, 100, n).astype(np.int8)
    columns["int64"] = 2**60 + rng.integers(0, 2000, n)  # neighbours are one float64
    columns["uint64"] = (2**63 + rng.integers(0, 2**62, n).astype(np.uint64)).astype(np.uint64)
    columns["bool"] = rng.random(n) < 0.3
    labels = rng.choice(np.array([*LEVELS, None], dtype=object), n, p=[(1 - missing) / 6] * 6 + [missing])
    columns["label"] = labels
    columns["ordered"] = pd.Categorical(labels, categories=[*LEVELS[::-1], "never"], ordered=True)
    columns["nothing"] = np.full(n, np.nan)
    columns["number labels"] = rng.integers(0, 4, n) / 2
    return read_table(pd.DataFrame(columns), categorical=["number labels"])


def any_response(rng, n, kind, weighting):
    weights = {
        "none": None,
        "whole": rng.integers(1, 5, n).astype(float),
        "large": rng.integers(1, 2**50, n).astype(float),
        "real": rng.random(n) + 1e-3,
        "uneven": np.exp(6 * rng.normal(size=n)),
    }[weighting]
    if kind == "number":
        return NumberResponse(np.round(rng.normal(size=n), 2), weights=weights)
    slots = rng.integers(0, kind, n).astype(np.uint8)
    return ClassResponse(slots, np.arange(kind), weights=weights)


@settings(max_examples=150 if FULL else 40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 400),
    n_parts=st.integers(1, 7),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    missing=st.sampled_from([0.0, 0.1, 0.9]),
    kind=st.sampled_from(["number", 2, 4]),
    weighting=st.sampled_from(["none", "whole", "large", "real", "uneven"]),
    budget=st.sampled_from([16, 20, 64, 65536]),
    n_bins=st.sampled_from([2, 10, 37, 255]),
    order=st.sampled_from(["left", "right", "tree"]),
    is_sorted=st.booleans(),
)
def test_cuts_of_parts_are_those_of_the_whole(
    seed, n_rows, n_parts, kinds, missing, kind, weighting, budget, n_bins, order, is_sorted
):
    rng = np.random.default_rng(seed)
    table, response = any_table(rng, n_rows, kinds, missing), any_response(rng, n_rows, kind, weighting)
    expected = bin_table(table, response, n_bins=n_bins, discrete_limit=10).cuts
    splits = splits_of(rng, n_rows, n_parts, table.columns[0].values if is_sorted else None)
    parts = parts_of(table, response, splits)
    found, _ = fit_cuts(parts, n_bins=n_bins, discrete_limit=10, budget=budget, order=order)
    for a, b in zip(found, expected, strict=True):
        assert_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighting", ["none", "whole", "real"])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_long_columns_need_two_passes(rng, dtype, weighting, is_sorted):
    n = 60_000
    names = ["normal", "spike", "two spikes", "rounded"]
    columns = tuple(Column(name, "numeric", numbers(rng, n, name).astype(dtype)) for name in names)
    table, response = Table(columns, n, tuple(names)), any_response(rng, n, "number", weighting)
    splits = splits_of(rng, n, 9, columns[0].values if is_sorted else None)
    for order in ("left", "tree"):
        parts = parts_of(table, response, splits)
        found, n_passes = fit_cuts(parts, n_bins=10, discrete_limit=10, budget=2048, order=order)
        assert n_passes == 2
        for a, column in zip(found, columns):
            out = np.empty(n, dtype=np.uint8)
            assert_equal(a, bin_column(column, IntegerRows(response), out, n_bins=10, discrete_limit=10))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(["none", "real"]), st.integers(1, 12))
def test_bounds_of_a_tally_are_true(seed, kind, weighting, n_parts):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 600))
    values, response = numbers(rng, n, kind), any_response(rng, n, "number", weighting)
    weights = response.moment_weights()
    splits = splits_of(rng, n, n_parts)
    tallies = [tally_of(values[rows], None if weights is None else weights[rows], 32) for rows in splits]
    tally = fold(lambda a, b: a + b, tallies, "tree")
    whole = tally_of(values, weights, 10**6)
    assert len(tally.values) <= 32
    assert tally.weight == whole.weight
    assert (tally.values[0], tally.values[-1]) == (values.min(), values.max())
    assert not tally.exact or len(whole.values) <= 32
    at = np.searchsorted(whole.values, tally.values)
    np.testing.assert_array_equal(whole.values[at], tally.values)
    assert (tally.below_min <= whole.below_min[at]).all() and (whole.below_min[at] <= tally.below_max).all()
    assert (tally.upto_min <= whole.upto_min[at]).all() and (whole.upto_min[at] <= tally.upto_max).all()
    targets = np.unique(rng.integers(0, whole.weight, 50))
    truth, off = whole.nearest(targets)
    assert not off.any()
    low, high = tally.brackets(targets)
    assert (tally.values[low] <= truth).all() and (truth <= tally.values[high]).all()
    near, errors = tally.nearest(targets)
    at = np.searchsorted(whole.values, near)
    off = np.maximum(np.maximum(whole.below_min[at] - targets, targets + 1 - whole.upto_min[at]), 0)
    assert (off <= errors).all()


def test_bounds_stay_narrow_over_many_parts(rng):
    values = rng.normal(size=200_000)
    tallies = [tally_of(part, None, 1024) for part in np.split(values, 100)]
    _, errors = reduce(lambda a, b: a + b, tallies).nearest(np.arange(1, 10) * 20_000)
    assert errors.max() <= len(values) * 4 / 384  # of 384 groups


def test_near_cuts_state_their_error(rng):
    n = 30_000
    values = rng.normal(size=n)
    table, response = Table((Column("x", "numeric", values),), n, None), any_response(rng, n, "number", "none")
    parts = [(t, r) for t, r in parts_of(table, response, splits_of(rng, n, 6))]
    summaries = fold(merge_summaries, [summarise_columns(t, r, budget=512) for t, r in parts], "left")
    error = quantile_error(summaries, n_bins=10, discrete_limit=10)
    cuts = cuts_of_columns(summaries, n_bins=10, discrete_limit=10)[0]
    assert 0 < error < 0.05
    assert cuts.shares is None  # only counting the rows can tell
    ranks = np.searchsorted(np.sort(values), cuts.thresholds) / n
    assert np.abs(ranks - np.arange(1, 10) / 10).max() <= error + 2 / n
    assert cuts.identities == tuple(("quantile", i) for i in range(1, 10))


def test_zooming_at_other_quantiles_is_refused(rng):
    table = Table((Column("x", "numeric", rng.normal(size=5000)),), 5000, None)
    response = any_response(rng, 5000, "number", "none")
    summaries = summarise_columns(table, response, budget=64)
    plan = needs_zoom([summaries], 10, 10)
    summaries = refine(summaries, plan, zoom_columns(table, response, plan))
    with pytest.raises(ValueError, match=r"Column 'x' was zoomed at the quantiles of another number of bins than 7"):
        cuts_of_columns(summaries, n_bins=7, discrete_limit=10)


def test_several_sets_of_rows_share_an_interval_for_each_quantile(rng):
    values = rng.normal(size=20_000)
    column = Column("x", "numeric", values)
    table, response = Table((column,), len(values), None), any_response(rng, len(values), "number", "none")
    sets = [np.flatnonzero(np.arange(len(values)) % 10 != k) for k in range(10)]
    parts = list(parts_of(table, response, sets))
    summaries = [summarise_columns(*part, budget=400) for part in parts]
    alone = [needs_zoom([own], 10, 10).columns[0] for own in summaries]
    plan = needs_zoom(summaries, 10, 10)
    (zoom,) = plan.columns
    assert len(zoom.lows) == 9
    for own in alone:  # each of its intervals is inside one of theirs
        at = np.searchsorted(zoom.lows, own.lows, side="right") - 1
        assert (zoom.lows[at] <= own.lows).all() and (own.highs <= zoom.highs[at]).all()
    for rows, part, own in zip(sets, parts, summaries):
        (cuts,) = cuts_of_columns(refine(own, plan, zoom_columns(*part, plan)), n_bins=10, discrete_limit=10)
        out = np.zeros(len(rows), np.uint8)
        assert_equal(cuts, bin_column(column.take(rows), IntegerRows(part[1]), out, n_bins=10, discrete_limit=10))


LIMITS = {"n_bins": 10, "discrete_limit": 10}


def near(column, rows, response, plan, budget, n_parts=3):
    """The summary of some rows of a column, found near the quantiles of all."""
    parts = list(parts_of(Table((column,), len(column.values), None), response, np.array_split(rows, n_parts)))
    found = [summary_near(own.columns[0], IntegerRows(r), plan.columns[0], budget) for own, r in parts]
    return fold(lambda a, b: a + b, found, "tree")


@pytest.mark.parametrize("weighting", ["none", "whole", "real"])
@pytest.mark.parametrize("kind", ["normal", "spike", "two spikes"])
@pytest.mark.parametrize("dtype, missing", [(np.float64, 0.0), (np.float32, 0.1)])
def test_quantiles_of_most_rows_are_near_those_of_all(rng, weighting, kind, dtype, missing):
    n = 30_000
    values = numbers(rng, n, kind).astype(dtype)
    values[rng.random(n) < missing] = np.nan
    column, response = Column("x", "numeric", values), any_response(rng, n, "number", weighting)
    plan = neighbourhoods(summarise_columns(Table((column,), n, None), response, budget=2048), **LIMITS)
    held_out = rng.integers(0, 10, n)
    for k in range(10):
        rows = np.flatnonzero(held_out != k)
        summary = near(column, rows, response, plan, 2048)
        assert has_quantiles(summary, **LIMITS) and summary.exact_windows()
        (found,) = cuts_of_columns([narrowed(summary, 10)], **LIMITS)
        ((_, own),) = parts_of(Table((column,), n, None), response, [rows])
        out = np.empty(len(rows), dtype=np.uint8)
        assert_equal(found, bin_column(column.take(rows), IntegerRows(own), out, **LIMITS))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(["none", "real"]), st.integers(2, 40))
def test_quantiles_that_are_said_to_be_near_are_so(seed, kind, weighting, n_bins):
    """Of any share of few rows: either they are told to be elsewhere, or windows hold them."""
    rng = np.random.default_rng(seed)
    n, limits = int(rng.integers(20, 600)), {"n_bins": n_bins, "discrete_limit": 5}
    column, response = Column("x", "numeric", numbers(rng, n, kind)), any_response(rng, n, "number", weighting)
    plan = neighbourhoods(summarise_columns(Table((column,), n, None), response, budget=16), **limits)
    if not plan.columns:
        return
    (zoom,) = plan.columns
    assert (zoom.lows <= zoom.highs).all() and (zoom.highs[:-1] < zoom.lows[1:]).all()
    rows = np.flatnonzero(np.append(True, rng.random(n - 1) < rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])))
    summary = near(column, rows, response, plan, 1 << 10, 1)
    if has_quantiles(summary, **limits):
        (found,) = cuts_of_columns([narrowed(summary, n_bins)], **limits)
        ((_, own),) = parts_of(Table((column,), n, None), response, [rows])
        out = np.empty(len(rows), dtype=np.uint8)
        assert_equal(found, bin_column(column.take(rows), IntegerRows(own), out, **limits))


def test_budgets_that_cannot_work_are_refused(rng):
    table = Table((Column("x", "numeric", rng.normal(size=500)),), 500, None)
    response = any_response(rng, 500, "number", "none")
    with pytest.raises(ValueError, match="budget must be at least 16, found 8"):
        summarise_columns(table, response, budget=8)
    with pytest.raises(ValueError, match="budget of 16 cannot count 100 values"):
        needs_zoom([summarise_columns(table, response, budget=16)], 10, 100)


# ------------------------------------------------------------------------------------------------- parts that disagree


def merged(*frames, **settings):
    tables = [read_table(frame, **settings) for frame in frames]
    n_rows = sum(table.n_rows for table in tables)
    scale = NumberResponse(np.arange(float(n_rows))).scale
    answers, start = [], 0
    for table in tables:
        y = np.arange(float(start), start + table.n_rows)
        answers.append(summarise_columns(table, NumberResponse(y, part_of=scale), budget=64))
        start += table.n_rows
    return reduce(merge_summaries, answers)


def test_numbers_in_one_part_and_labels_in_another_are_refused():
    with pytest.raises(DataError, match="Column 'c' holds labels and numbers in different parts"):
        merged(pd.DataFrame({"c": [1.0, 2.0]}), pd.DataFrame({"c": ["a", "b"]}))
    with pytest.raises(DataError, match="Column 'c' holds labels and ordered labels"):
        merged(pd.DataFrame({"c": ["a", "b"]}), pd.DataFrame({"c": pd.Categorical(["a", "b"], ordered=True)}))


def test_labels_of_two_types_are_refused():
    with pytest.raises(DataError, match=r"Column 'c' mixes types \(bool, str"):
        merged(pd.DataFrame({"c": [True, False]}), pd.DataFrame({"c": ["a", "b"]}))


def test_different_orders_are_refused():
    frames = [pd.DataFrame({"c": pd.Categorical(["a", "b"], categories=list(c), ordered=True)}) for c in ("ab", "ba")]
    with pytest.raises(DataError, match=r"Column 'c' has categories in different orders .*: a, b and b, a"):
        merged(*frames)


def test_levels_may_differ_between_parts_of_an_ordered_column():
    frames = [pd.DataFrame({"c": pd.Categorical(list(c), categories=list("zyx"), ordered=True)}) for c in ("xz", "yz")]
    cuts = cuts_of_columns(merged(*frames), n_bins=10, discrete_limit=10)[0]
    assert cuts.levels == ("z", "y", "x")


def test_more_than_255_levels_over_parts_are_refused():
    frames = [pd.DataFrame({"c": [f"{tag}{i}" for i in range(200)]}) for tag in "ab"]
    with pytest.raises(DataError, match="Column 'c' has 400 categories; at most 255 are supported"):
        merged(*frames)


def test_parts_with_other_columns_are_refused():
    with pytest.raises(DataError, match=r"different columns: a in one, b in another"):
        merged(pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"b": [1.0, 2.0]}))


@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], ["u", "v", "v"], pd.Categorical(list("vuv"), ordered=True)])
def test_a_part_that_is_all_missing_takes_the_kind_of_the_others(values):
    for dtype in (float, object, "str"):
        frames = [pd.DataFrame({"c": values}), pd.DataFrame({"c": pd.Series([None, None], dtype=dtype)})]
        for pair in (frames, frames[::-1]):
            cuts = cuts_of_columns(merged(*pair), n_bins=10, discrete_limit=10)[0]
            assert cuts.column.kind == read_table(frames[0]).columns[0].kind
            assert cuts.n_cuts == (2 if isinstance(values, list) and values[0] == 1.0 else 1)
            assert cuts.has_missing
            assert cuts.shares[-1] == 0.4


def test_whole_numbers_in_one_part_and_missing_in_another_are_one_column():
    cuts = cuts_of_columns(
        merged(pd.DataFrame({"c": [1, 2]}), pd.DataFrame({"c": [2.5, np.nan]})), n_bins=9, discrete_limit=9
    )
    assert cuts[0].thresholds.tolist() == [2.0, 2.5]
    assert cuts[0].column.values.dtype == np.float64


# ------------------------------------------------------------------------------------------------------------- sums


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_sums_by_group_are_exact(seed, n):
    rng = np.random.default_rng(seed)
    groups, weights = rng.integers(0, 4, n), rng.integers(1, 2**40 + 1, n)
    values = rng.choice([-(2**44), 2**44, 0, 1, -1, 12345678901234], n) // rng.integers(1, 9, n)
    sizes, products = group_sums(groups, weights, 4), product_sums(groups, weights, values, 4)
    for g in range(4):
        rows = [i for i in range(n) if groups[i] == g]
        assert int(sizes[g]) == sum(int(weights[i]) for i in rows)
        assert products[g] == sum(int(weights[i]) * int(values[i]) for i in rows)
        assert product_sums(groups, None, values, 4)[g] == sum(int(values[i]) for i in rows)


@pytest.mark.parametrize("budget", [1 << 16, 32])
def test_columns_that_are_likely_ids_are_said(budget):
    from pysirus._data.frame import warn_of_ids
    from pysirus.engine.columns import why_id

    n = 200
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "rownames": np.arange(1, n + 1),
            "customer_id": rng.permutation(10 * n)[:n],
            "count": rng.integers(0, 50, n),
            "measured": rng.normal(size=n),
            "gaps": np.where(np.arange(n) == 3, np.nan, np.arange(n)),
        }
    )
    parts = []
    for rows in (frame[:70], frame[70:]):
        table = read_table(rows, part=True)
        parts.append(summarise_columns(table, NumberResponse(np.zeros(len(rows)) + rows["measured"]), budget=budget))
    with pytest.warns(UserWarning) as caught:
        warn_of_ids(merge_summaries(*parts), why_id)
    (warning,) = caught
    said = str(warning.message)
    assert "column 'rownames' numbers the rows; column 'customer_id' has another number in every row" in said
    assert "Leave them out, unless the values mean something." in said
    assert "Leave them out (--drop rownames,customer_id), unless" in as_typed(warning.message)

"""The columns of parts in, the cuts of the whole table out: equal to those that `find_cuts` finds in memory.

Each part answers with one summary a column; summaries add up in any order. Where a column has more distinct values than
the budget of its tally, the parts are asked once more (rarely twice) about the neighbourhood of each quantile alone:

    summaries = reduce(merge_summaries, (summarise_columns(table, response) for table, response in parts))
    while plan := needs_zoom([summaries], n_bins, discrete_limit):
        answer = reduce(operator.add, (zoom_columns(table, response, plan) for table, response in parts))
        summaries = refine(summaries, plan, answer)
    cuts = cuts_of_columns(summaries, n_bins=n_bins, discrete_limit=discrete_limit)

Without the loop the cuts are near, and `quantile_error` says how near.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import (
    Between,
    Cuts,
    NumericCuts,
    between,
    idle_reason,
    level_cuts,
    order_levels,
    quantile_cuts,
    quantile_targets,
    value_cuts,
    with_sizes,
)
from pysirus._data.column import Column, DataError
from pysirus._data.frame import reason
from pysirus._data.table import Table
from pysirus._families.responses import IntegerRows, Response
from pysirus._runtime.console import check_cancelled
from pysirus.engine.summary import BUDGET, LEAST_BUDGET, ColumnSummary, Window, summary_of, tally_of


def summarise_columns(table: Table, response: Response, *, budget: int = BUDGET) -> tuple[ColumnSummary, ...]:
    """Summarise the columns of one part; ``budget`` is how many values a column may store, 24 bytes each."""
    if budget < LEAST_BUDGET:
        raise ValueError(f"budget must be at least {LEAST_BUDGET}, found {budget}.")
    rows = IntegerRows(response)
    return tuple(summary_of(column, rows, budget) for column in table.columns)


def merge_summaries(a: Sequence[ColumnSummary], b: Sequence[ColumnSummary]) -> tuple[ColumnSummary, ...]:
    """The summaries of two parts together."""
    names = [[summary.name for summary in part] for part in (a, b)]
    if names[0] != names[1]:
        raise DataError(
            f"The parts of the table have different columns: {', '.join(names[0][:8])} in one, "
            f"{', '.join(names[1][:8])} in another. All parts must have the same columns in the same order."
        )
    return tuple(x + y for x, y in zip(a, b))


def _order_statistics(summary: ColumnSummary, n_bins: int) -> tuple[NDArray[Any], NDArray[Any], int]:
    """The two order statistics of each quantile, or the nearest known, and the largest possible error in rank."""
    targets, windows = targets_of(summary, n_bins), summary.all_windows()
    found = np.zeros((2, len(targets.low)), dtype=summary.tally.values.dtype)
    largest = 0
    for k, window in enumerate(windows):
        here = targets.window == k
        for row, target in enumerate((targets.low, targets.high)):
            found[row, here], errors = window.tally.nearest(target[here])
            largest = max(largest, int(errors.max(initial=0)))
    return found[0], found[1], largest


def _bin_sizes(summary: ColumnSummary, thresholds: NDArray[np.float64], window: NDArray[np.intp]) -> NDArray[np.int64]:
    """The weight of each bin of known values, from exact windows; ``window`` is that of each threshold."""
    below = np.zeros(len(thresholds) + 2, dtype=np.int64)
    below[-1] = summary.known.weight
    for k, part in enumerate(summary.all_windows()):
        here = np.flatnonzero(window == k)
        below[here + 1] = part.below + part.tally.weight_below(thresholds[here])
    return np.diff(below)


def _numeric_cuts(
    summary: ColumnSummary, n_bins: int, discrete_limit: int
) -> tuple[NumericCuts, NDArray[np.int64] | None]:
    """The cuts of the known values of a column, and the weight of their bins where it is known."""
    if not summary.known.rows:
        return ((), np.zeros(0)), np.zeros(1, dtype=np.int64)
    if not summary.exceeds(discrete_limit):
        cuts = value_cuts(summary.tally.values)
        return cuts, _bin_sizes(summary, cuts[1], np.zeros(len(cuts[1]), dtype=np.intp))
    targets = targets_of(summary, n_bins)
    low, high, _ = _order_statistics(summary, n_bins)
    cuts = quantile_cuts(between(low, high, targets.place), float(summary.tally.values[0]))
    if not summary.exact_windows():
        return cuts, None
    chosen = [int(number) - 1 for _, number in cuts[0]]  # type: ignore[call-overload]
    return cuts, _bin_sizes(summary, cuts[1], targets.window[chosen])


def cuts_of(summary: ColumnSummary, *, n_bins: int, discrete_limit: int) -> Cuts:
    """The cuts of a column; without the sizes of their bins where only counting the rows could tell them."""
    all_missing = not summary.known.rows
    has_missing = summary.missing.rows > 0 and not all_missing
    sizes: NDArray[np.int64] | None
    if summary.kind == "numeric":
        (identities, thresholds), sizes = _numeric_cuts(summary, n_bins, discrete_limit)
        levels: tuple[Any, ...] = ()
        constant, empty = not summary.tally.exceeds(1), summary.tally.values[:0].copy()
    else:
        assert summary.level_sums is not None
        levels = order_levels(summary.kind, summary.levels, summary.level_sums)
        identities, thresholds = level_cuts(levels), np.zeros(0)
        position = {level: i for i, level in enumerate(summary.levels)}
        sizes = summary.level_sums.sizes[[position[level] for level in levels]] if levels else np.zeros(1, np.int64)
        constant, empty = True, np.zeros(0, dtype=np.int16)
    column = Column(summary.name, summary.kind, empty, summary.levels, summary.order, is_date=summary.is_date)
    idle = idle_reason(len(identities), has_missing=has_missing, all_missing=all_missing, constant=constant)
    cuts = Cuts(column, identities, thresholds, levels, has_missing, idle=idle)
    if sizes is None:
        return cuts
    if has_missing:
        return with_sizes(cuts, np.append(sizes, summary.missing.weight))
    return with_sizes(cuts, sizes + summary.missing.weight if all_missing else sizes)


def cuts_of_columns(summaries: Sequence[ColumnSummary], *, n_bins: int, discrete_limit: int) -> tuple[Cuts, ...]:
    """The cuts of every column; see `cuts_of`."""
    return tuple(cuts_of(summary, n_bins=n_bins, discrete_limit=discrete_limit) for summary in summaries)


def quantile_error(summaries: Sequence[ColumnSummary], *, n_bins: int, discrete_limit: int) -> float:
    """The largest possible error of a cut in rank, as a share of the known weight; 0 when all cuts are known."""
    errors = [
        _order_statistics(summary, n_bins)[2] / summary.known.weight
        for summary in summaries
        if is_open(summary, discrete_limit)
    ]
    return max(errors, default=0.0)


# --------------------------------------------------------------------------------------------------------------- ids


def why_id(summary: ColumnSummary) -> str | None:
    """Why a column is likely an id; None if it is not. Prepared tables set it aside, of parts it is said."""
    n_texts = len(summary.levels) if summary.kind != "numeric" and summary.free_text else None
    return reason(summary.name, summary.known.rows + summary.missing.rows, summary.numbering, n_texts)


# ----------------------------------------------------------------------------------------------------------------- zoom

# Summaries of columns in, where to look once more out; what was seen there makes their quantiles exact.
#
# A tally of very many values knows a quantile only to lie between two of them. One more pass looks at what is between
# them alone. Rows that a fold learns from have quantiles near those of all rows, which are known by then: there they
# are looked for at once, without a tally of all values.


FEW = 1 << 10  # distinct values of a column that any tally has room for
MARGIN = 6  # around a quantile of all rows, in standard errors of where that of some of them is


@dataclass(frozen=True)
class ColumnZoom:
    """Where to look once more: disjoint closed intervals of the values of one column, rising."""

    index: int
    lows: NDArray[Any]
    highs: NDArray[Any]
    budget: int  # of each interval

    def within(self, budget: int) -> ColumnZoom:
        """The same, for sets of rows whose tallies have this budget: ample, for a pass costs more than room."""
        return replace(self, budget=max(LEAST_BUDGET, (budget << 4) // len(self.lows)))


@dataclass(frozen=True)
class ZoomPlan:
    """What to ask every part in one more pass; small."""

    columns: tuple[ColumnZoom, ...]

    def without(self, columns: Container[int]) -> ZoomPlan:
        """The same but for some columns."""
        return ZoomPlan(tuple(zoom for zoom in self.columns if zoom.index not in columns))


@dataclass(frozen=True)
class ZoomAnswer:
    """What a part answers to a plan: its windows, column by column; ``a + b`` is the answer of both."""

    columns: tuple[tuple[Window, ...], ...]

    def __add__(self, other: ZoomAnswer) -> ZoomAnswer:
        return ZoomAnswer(
            tuple(tuple(x + y for x, y in zip(mine, theirs)) for mine, theirs in zip(self.columns, other.columns))
        )


@dataclass(frozen=True)
class Targets:
    """The two order statistics of each quantile, and the window that holds them."""

    window: NDArray[np.intp]
    low: NDArray[np.int64]  # counted from the first value of the window
    high: NDArray[np.int64]
    place: Between


def _find_targets(summary: ColumnSummary, n_bins: int) -> Targets | None:
    """The window that each order statistic is in, and its target there; None where one is in no window."""
    low, high, place = quantile_targets(summary.known.weight, summary.known.virtual_rows, n_bins)
    windows = summary.all_windows()
    below = np.array([window.below for window in windows])
    weight = np.array([window.tally.weight for window in windows])
    window = np.searchsorted(below, low, side="right") - 1
    if (window < 0).any() or (high >= (below + weight)[window]).any():
        return None
    return Targets(window, low - below[window], high - below[window], place)


def targets_of(summary: ColumnSummary, n_bins: int) -> Targets:
    """Where the order statistics are."""
    found = _find_targets(summary, n_bins)
    if found is None:
        raise ValueError(
            f"Column '{summary.name}' was zoomed at the quantiles of another number of bins than {n_bins}."
        )
    return found


def is_open(summary: ColumnSummary, discrete_limit: int) -> bool:
    """Whether the quantiles of a column are wanted and not known."""
    return summary.kind == "numeric" and not summary.exact_windows() and summary.exceeds(discrete_limit)


def _disjoint(low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Intervals by rising lows; those that overlap become one."""
    new = np.append(True, low[1:] > np.maximum.accumulate(high)[:-1])
    return low[new], np.maximum.reduceat(high, np.flatnonzero(new))


def _brackets(summary: ColumnSummary, n_bins: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The values between which each quantile surely is."""
    targets, windows = targets_of(summary, n_bins), summary.all_windows()
    lows, highs = [], []
    for k, window in enumerate(windows):
        here = targets.window == k
        lows.append(window.tally.values[window.tally.brackets(targets.low[here])[0]])
        highs.append(window.tally.values[window.tally.brackets(targets.high[here])[1]])
    return np.concatenate(lows), np.concatenate(highs)


def _column_zoom(index: int, sets: Sequence[ColumnSummary], n_bins: int) -> ColumnZoom:
    """Where each quantile may be in some set of rows: one interval for all of them, for their quantiles are near."""
    lows, highs = zip(*(_brackets(summary, n_bins) for summary in sets))
    low, high = _disjoint(np.minimum.reduce(lows), np.maximum.reduce(highs))
    # ample, for a pass costs more than room, and more with each pass, so that there is an end to them
    budget = max(summary.tally.budget << (summary.zooms + 3) for summary in sets) // len(low)
    return ColumnZoom(index, low, high, max(LEAST_BUDGET, budget))


def needs_zoom(sets: Sequence[Sequence[ColumnSummary]], n_bins: int, discrete_limit: int) -> ZoomPlan | None:
    """What one more pass over the parts should look at, for some sets of rows; None when all cuts are known."""
    columns = []
    for i, column in enumerate(zip(*sets)):
        if wanted := [summary for summary in column if is_open(summary, discrete_limit)]:
            columns.append(_column_zoom(i, wanted, n_bins))
    return ZoomPlan(tuple(columns)) if columns else None


def _zoom_column(column: Column, rows: IntegerRows, zoom: ColumnZoom) -> tuple[Window, ...]:
    check_cancelled()
    dtype, n_windows = zoom.lows.dtype, len(zoom.lows)
    if not column.is_numeric:  # nothing but missing values
        nothing = tally_of(np.zeros(0, dtype=dtype), None, zoom.budget)
        return (Window(0, nothing),) * n_windows
    values = np.ascontiguousarray(column.values).astype(dtype, copy=False)
    k = np.empty(len(values), dtype=np.uint8)  # lows at or below each value; all of them for NaN
    _core.encode(values, zoom.lows.astype(np.float64), n_windows, k)
    inside = np.flatnonzero((values <= np.append(zoom.lows[:1], zoom.highs)[k]) & (k > 0))
    # 2 j + 1 in window j, 2 j between the window before and it
    groups = 2 * k.astype(np.int16)
    groups[inside] -= 1
    below = np.cumsum(rows.sizes(groups, 2 * n_windows + 1))[: 2 * n_windows : 2].tolist()
    values, window = values[inside], k[inside]
    weights = None if rows.weights is None else rows.weights[inside]
    order = np.argsort(window, kind="stable")
    ends = np.searchsorted(window[order], np.arange(n_windows + 1), side="right")
    parts = (order[start:end] for start, end in pairwise(ends.tolist()))
    return tuple(
        Window(before, tally_of(values[part], None if weights is None else weights[part], zoom.budget))
        for before, part in zip(below, parts)
    )


def zoom_columns(table: Table, response: Response, plan: ZoomPlan) -> ZoomAnswer:
    """Answer a plan for one part."""
    rows = IntegerRows(response)
    return ZoomAnswer(tuple(_zoom_column(table.columns[zoom.index], rows, zoom) for zoom in plan.columns))


def refine(summaries: Sequence[ColumnSummary], plan: ZoomPlan, answer: ZoomAnswer) -> tuple[ColumnSummary, ...]:
    """The summaries with what a pass found; `needs_zoom` then says whether another one is needed."""
    refined = list(summaries)
    for zoom, windows in zip(plan.columns, answer.columns):
        before = refined[zoom.index]
        refined[zoom.index] = replace(before, windows=windows, zooms=before.zooms + 1)
    return tuple(refined)


def refine_column(
    summaries: Sequence[ColumnSummary], zoom: ColumnZoom, answer: ZoomAnswer, n_bins: int
) -> tuple[ColumnSummary, ...]:
    """The same for one column, of which only what the quantiles need is kept: there may be many sets of rows."""
    refined = list(refine(summaries, ZoomPlan((zoom,)), answer))
    refined[zoom.index] = narrowed(refined[zoom.index], n_bins)
    return tuple(refined)


def narrowed(summary: ColumnSummary, n_bins: int) -> ColumnSummary:
    """A summary, of whose windows only what the quantiles need is kept."""
    if not summary.known.rows:
        return summary
    targets = targets_of(summary, n_bins)
    windows = []
    for k, window in enumerate(summary.all_windows()):
        here, tally = targets.window == k, window.tally
        if len(tally.values):
            tally = tally.near(targets.low[here], targets.high[here])
        windows.append(replace(window, tally=tally))
    return replace(summary, windows=tuple(windows))


# ------------------------------------------------------------------------------------------------ most of these rows


def neighbourhoods(
    summaries: Sequence[ColumnSummary], n_bins: int, discrete_limit: int, share: float = 0.9
) -> ZoomPlan:
    """Where the quantiles of a share of the rows are, almost surely: around those of all of them.

    The quantile q of a share f of n rows, drawn at random, is about sqrt(n q (1 - q) (1 - f) / f) rows from that of
    all. The margin is six of these, and twice as wide where rows have weights, which add to it. Columns of few values
    are not in the plan.
    """
    columns = []
    for i, summary in enumerate(summaries):
        tally, known = summary.tally, summary.known
        few = tally.exact and len(tally.values) <= FEW
        if summary.kind != "numeric" or few or not summary.exceeds(discrete_limit):
            continue
        first, last, _ = quantile_targets(known.weight, known.virtual_rows, n_bins)
        q = np.arange(1, n_bins) / n_bins
        width = MARGIN * ((1 - share) / share) ** 0.5 * (1 if known.weight == known.rows else 2)
        margin = np.ceil(width * np.sqrt(q * (1 - q) / known.rows) * known.weight).astype(np.int64)
        before = np.minimum.accumulate((first - margin)[::-1])[::-1]  # rising, also where few rows have wide margins
        low = tally.values[tally.brackets(np.maximum(before, 0))[0]]
        high = tally.values[tally.brackets(np.minimum(last + margin, known.weight - 1))[1]]
        columns.append(ColumnZoom(i, *_disjoint(low, high), tally.budget))
    return ZoomPlan(tuple(columns))


def summary_near(column: Column, rows: IntegerRows, zoom: ColumnZoom, budget: int) -> ColumnSummary:
    """The summary of a column whose values are told apart in some intervals alone."""
    numeric = replace(column, values=column.values.astype(zoom.lows.dtype, copy=False)) if column.is_numeric else column
    summary = summary_of(numeric, rows, budget, extremes=True)
    return replace(summary, windows=_zoom_column(column, rows, zoom.within(budget)), zooms=1)


def has_quantiles(summary: ColumnSummary, n_bins: int, discrete_limit: int) -> bool:
    """Whether the cuts are quantiles, and a window has each order statistic that they lie between.

    There are too many values for a cut at each of them. Without known values there is nothing to look for.
    """
    many = sum(len(window.tally.values) for window in summary.windows) > summary.limit(discrete_limit)
    return not summary.known.rows or (many and _find_targets(summary, n_bins) is not None)

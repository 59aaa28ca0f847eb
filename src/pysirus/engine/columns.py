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

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import (
    Cuts,
    NumericCuts,
    between,
    idle_reason,
    level_cuts,
    order_levels,
    quantile_cuts,
    value_cuts,
    with_sizes,
)
from pysirus._data.column import Column, DataError
from pysirus._data.problems import reason, say_ids
from pysirus._data.table import Table
from pysirus._families.responses import IntegerRows, Response
from pysirus.engine.summary import BUDGET, LEAST_BUDGET, ColumnSummary, summary_of
from pysirus.engine.zoom import is_open, targets_of


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
    if not summary.tally.exceeds(discrete_limit):
        cuts = value_cuts(summary.tally.values)
        return cuts, _bin_sizes(summary, cuts[1], np.zeros(len(cuts[1]), dtype=np.intp))
    targets = targets_of(summary, n_bins)
    low, high, _ = _order_statistics(summary, n_bins)
    cuts = quantile_cuts(between(low, high, targets.share), float(summary.tally.values[0]))
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


def warn_of_ids(summaries: Sequence[ColumnSummary]) -> None:
    """Warn once of all columns that are likely ids."""
    say_ids([(own.name, why) for own in summaries if (why := why_id(own)) is not None])

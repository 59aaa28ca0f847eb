"""Numeric columns in bins in, what a straight line in each of them is made of out: range, mean, a number for each bin.

`column_lines` gives it for rows in memory. Where rows lie in parts, ask them for their `LineRanges`, then for their
`LineSums` within these; both add up, and `lines_of` makes of them the same numbers to the bit. Values are fixed-point
integers of 44 bits over the range, their sums are exact, and a mean is one division: no order of the rows matters.
Rows count with their sample weights; none of them weighs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned, Cuts, as_compared
from pysirus._data.table import Table
from pysirus._families.fixed_point import MOMENT_BITS, fixed_point, group_sums, product_sums
from pysirus._families.integer_rows import IntegerRows
from pysirus._families.responses import Response

LINE_BITS = 15
MOST = 2**LINE_BITS - 1

Values = Mapping[int, NDArray[Any]]  # numbers of some columns, by the number of the column; NaN: missing
LineValues = tuple[NDArray[np.int16] | None, ...]  # of each column those of its bins; None: it may not be a line


@dataclass(frozen=True)
class ColumnLine:
    """What a straight line in a column is made of, over the training rows."""

    lower: float  # the smallest known value
    upper: float  # the largest
    mean: float  # of the known values, by weight
    values: NDArray[np.int16]  # of each bin its mean, centred, in fixed point; of the missing bin the mean of all


def may_slope(cuts: Cuts) -> bool:
    """Whether a column may be a line: numbers, no dates, cut at quantiles, so with more values than a discrete one."""
    return (
        cuts.column.is_numeric and not cuts.column.is_date and cuts.n_cuts > 0 and cuts.identities[0][0] == "quantile"
    )


def column_lines(table: Table, binned: Binned, response: Response) -> tuple[ColumnLine | None, ...]:
    """The lines of a table in memory, None for each column that may not be one (`may_slope`)."""
    values = {i: table.columns[i].values for i, cuts in enumerate(binned.cuts) if may_slope(cuts)}
    ranges = line_ranges(values)
    return lines_of(binned.cuts, ranges, line_sums(values, binned.bins, binned.cuts, IntegerRows(response), ranges))


def line_values(lines: Sequence[ColumnLine | None], without: frozenset[int] = frozenset()) -> LineValues:
    """What a recipe is told of lines: those of all columns that may be one, but for some."""
    return tuple(None if own is None or i in without else own.values for i, own in enumerate(lines))


# ------------------------------------------------------------------------------------------------- sums that add up


@dataclass(frozen=True)
class LineRanges:
    """The least and the greatest known value of some columns; those of parts add up."""

    ends: Mapping[int, tuple[float, float]]  # of columns with known values

    def __add__(self, other: LineRanges) -> LineRanges:
        both = dict(self.ends)
        for i, (lower, upper) in other.ends.items():
            own = both.get(i, (lower, upper))
            both[i] = min(own[0], lower), max(own[1], upper)
        return LineRanges(both)


@dataclass(frozen=True)
class LineSums:
    """Weight and sum of the known values of some columns, by bin, in exact integers; those of parts add up."""

    sizes: Mapping[int, NDArray[np.int64]]
    sums: Mapping[int, NDArray[np.object_]]  # of fixed-point integers, which take more than 64 bits

    def __add__(self, other: LineSums) -> LineSums:
        return LineSums(
            {i: own + other.sizes[i] for i, own in self.sizes.items()},
            {i: own + other.sums[i] for i, own in self.sums.items()},
        )


def _known(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """The known numbers, and which are known; None where all are."""
    numbers = np.asarray(as_compared(values), dtype=np.float64)
    missing = np.isnan(numbers) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
    return (numbers[~missing], ~missing) if missing.any() else (numbers, None)


def line_ranges(values: Values) -> LineRanges:
    """The ranges of some columns."""
    known = {i: _known(own)[0] for i, own in values.items()}
    return LineRanges({i: (float(own.min()) + 0.0, float(own.max()) + 0.0) for i, own in known.items() if len(own)})


def line_sums(
    values: Values, bins: NDArray[np.uint8], cuts: Sequence[Cuts], rows: IntegerRows, ranges: LineRanges
) -> LineSums:
    """The sums of columns by bin, as integers within ranges that are those of all rows."""
    sizes, sums = {}, {}
    for i, (lower, upper) in ranges.ends.items():
        numbers, known = _known(values[i])
        own, weights, n_bins = bins[i], rows.weights, cuts[i].n_bins
        if known is not None:
            own, weights = own[known], None if weights is None else weights[known]
        integers = fixed_point(lower, upper, MOMENT_BITS).integers(numbers)
        sizes[i], sums[i] = group_sums(own, weights, n_bins), product_sums(own, weights, integers, n_bins)
    return LineSums(sizes, sums)


def lines_of(cuts: Sequence[Cuts], ranges: LineRanges, sums: LineSums) -> tuple[ColumnLine | None, ...]:
    """The line of each column from the sums of all rows; None where it may not be one."""
    return tuple(
        _line_of(own, *ranges.ends[i], sums.sizes[i], sums.sums[i]) if i in ranges.ends and may_slope(own) else None
        for i, own in enumerate(cuts)
    )


def _line_of(cuts: Cuts, lower: float, upper: float, sizes: NDArray[np.int64], sums: NDArray[np.object_]) -> ColumnLine:
    """A line from exact sums. Empty bins, which no row of any tree is in, have a zero."""
    scale = fixed_point(lower, upper, MOMENT_BITS)
    used = sizes > 0
    means = np.array([int(total) / int(size) for total, size in zip(sums[used], sizes[used])])
    mean = int(sums.sum()) / int(sizes.sum())
    to_bins = fixed_point(float(means.min()), float(means.max()), LINE_BITS)
    numbers = np.zeros(cuts.n_bins)
    numbers[used] = to_bins.integers(means)
    if cuts.has_missing:
        numbers[-1] = to_bins.integers(np.array([mean]))[0]
    middle = scale.centre + float(np.ldexp(mean, -scale.exponent))
    return ColumnLine(lower, upper, min(max(middle, lower), upper), np.clip(numbers, -MOST, MOST).astype(np.int16))

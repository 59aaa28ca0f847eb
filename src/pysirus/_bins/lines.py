"""Numeric columns in bins in, what a straight line in each of them is made of out: range, mean, a number for each bin.

Rows in bins have the places of their numbers beside them (`NumberGrid`). `line_sums` adds them up by bin; those
of parts add up, and `lines_of` makes of them the same numbers to the bit: sums are exact, and a mean is one division.
Rows count with their sample weights; none of them weighs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import NO_PLACE, Binned, Cuts, Grids, NumberGrid, as_compared, grids_of
from pysirus._data.table import Table
from pysirus._families.responses import IntegerRows
from pysirus._runtime.sums import fixed_point, group_sums, product_sums

LINE_BITS = 15
MOST = 2**LINE_BITS - 1

LineValues = tuple[NDArray[np.int16] | None, ...]  # of each column those of its bins; None: it may not be a line


@dataclass(frozen=True)
class ColumnLine:
    """What a straight line in a column is made of, over the training rows."""

    lower: float  # the smallest known value
    upper: float  # the largest
    mean: float  # of the known values, by weight
    rows: int  # with a known value
    known: float  # their share of the weight
    values: NDArray[np.int16]  # of each bin its mean, centred, in fixed point; of the missing bin the mean of all


Lines = Mapping[int, ColumnLine]  # by the number of the column


def may_slope(cuts: Cuts) -> bool:
    """Whether a column may be a line: numbers, no dates, cut at quantiles, so with more values than a discrete one."""
    return (
        cuts.column.is_numeric and not cuts.column.is_date and cuts.n_cuts > 0 and cuts.identities[0][0] == "quantile"
    )


def range_of(values: NDArray[Any]) -> tuple[float, float] | None:
    """The least and the greatest known number; None where there is none."""
    numbers = np.asarray(as_compared(values), dtype=np.float64)
    known = numbers[~np.isnan(numbers)] if values.dtype.kind == "f" else numbers
    return (float(known.min()) + 0.0, float(known.max()) + 0.0) if len(known) else None


def with_grids(binned: Binned, table: Table, columns: Collection[int], grids: Grids | None = None) -> Binned:
    """Rows in bins, beside which stand the places of the numbers of some columns: on grids of theirs, or on others'."""
    if grids is None:
        ends = {i: range_of(table.columns[i].values) for i in columns}
        grids = {i: NumberGrid(0, *own) for i, own in ends.items() if own is not None}
    grids = grids_of({i: (own.lower, own.upper) for i, own in grids.items()}, len(binned.bins))
    bins = np.concatenate([binned.bins, np.empty((2 * len(grids), binned.bins.shape[1]), dtype=np.uint8)])
    for i, own in grids.items():
        own.write(as_compared(table.columns[i].values), bins)
    return replace(binned, bins=bins, grids=grids)


def line_values(lines: Lines, n_columns: int, columns: Collection[int]) -> LineValues:
    """What a recipe is told of lines: those of some columns; nothing where there are none."""
    found = tuple(lines[i].values if i in columns and i in lines else None for i in range(n_columns))
    return found if any(own is not None for own in found) else ()


# ------------------------------------------------------------------------------------------------- sums that add up


@dataclass(frozen=True)
class PlaceSums:
    """The places of the numbers of a column, in exact integers; those of parts add up."""

    least: int  # of the places of known numbers
    greatest: int
    sizes: NDArray[np.int64]  # the weight of known numbers in each bin
    sums: NDArray[np.object_]  # of their places, which take more than 64 bits
    rows: int  # with a known number
    weight: int  # of all rows

    def __add__(self, other: PlaceSums) -> PlaceSums:
        ends = min(self.least, other.least), max(self.greatest, other.greatest)
        sums = self.sizes + other.sizes, self.sums + other.sums
        return PlaceSums(*ends, *sums, self.rows + other.rows, self.weight + other.weight)


@dataclass(frozen=True)
class LineSums:
    """The same of several columns, by number."""

    columns: Mapping[int, PlaceSums]

    def __add__(self, other: LineSums) -> LineSums:
        return LineSums({i: own + other.columns[i] for i, own in self.columns.items()})


def line_sums(binned: Binned, rows: IntegerRows) -> LineSums:
    """The places of all columns on grids, by bin."""
    weight = rows.count().weight
    found = {}
    for i, grid in binned.grids.items():
        places, bins, weights, n_bins = grid.read(binned.bins), binned.bins[i], rows.weights, binned.cuts[i].n_bins
        known = places != NO_PLACE
        places, bins = places[known].astype(np.int64), bins[known]
        weights = None if weights is None else weights[known]
        ends = (int(places.min()), int(places.max())) if len(places) else (NO_PLACE, -1)
        sizes, sums = group_sums(bins, weights, n_bins), product_sums(bins, weights, places, n_bins)
        found[i] = PlaceSums(*ends, sizes, sums, len(places), weight)
    return LineSums(found)


def lines_of(cuts: Sequence[Cuts], grids: Grids, sums: LineSums) -> dict[int, ColumnLine]:
    """The lines of columns from the sums of all rows; none of one whose known values are all the same."""
    every = sums.columns.items()
    return {i: _line_of(cuts[i], grids[i], own) for i, own in every if own.least < own.greatest}


def _line_of(cuts: Cuts, grid: NumberGrid, found: PlaceSums) -> ColumnLine:
    """A line from exact sums. Empty bins, which no row of any tree is in, have a zero."""
    used = found.sizes > 0
    means = np.array([int(total) / int(size) for total, size in zip(found.sums[used], found.sizes[used])])
    known = int(found.sizes.sum())
    mean = int(found.sums.sum()) / known
    to_bins = fixed_point(float(means.min()), float(means.max()), LINE_BITS)
    numbers = np.zeros(cuts.n_bins)
    numbers[used] = to_bins.integers(means)
    if cuts.has_missing:
        numbers[-1] = to_bins.integers(np.array([mean]))[0]
    lower, upper = grid.number(found.least), grid.number(found.greatest)
    values = np.clip(numbers, -MOST, MOST).astype(np.int16)
    middle = min(max(grid.number(mean), lower), upper)
    return ColumnLine(lower, upper, middle, found.rows, known / found.weight, values)

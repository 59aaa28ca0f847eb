"""Numeric columns in, what rules and slopes say of them out: short numbers for cuts, and what a line is made of.

The largest value below a cut and the smallest at or above it are its bracket: any number between them splits the
training rows as the cut does. The threshold that a rule shows and uses is the one with the fewest significant digits;
among those, the one closest to the cut; if two are equally close, the smaller. Zero is shorter than any other number. A
bracket between whole numbers has a whole number. Of dates the shortest is a plain day, then a full hour, and so on.

A line has a range, a mean, and a number for each bin. Rows in bins have the places of their numbers beside them
(`NumberGrid`). `line_sums` adds them up by bin; those of parts add up, and `lines_of` makes of them the same numbers to
the bit: sums are exact, and a mean is one division. Rows count with their sample weights; no weight is 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import NO_PLACE, Binned, Cuts, Grids, NumberGrid, as_compared, grids_of
from pysirus._data.column import readable
from pysirus._data.table import Table
from pysirus._families.responses import IntegerRows
from pysirus._runtime.sums import fixed_point, group_sums, product_sums

MAX_DIGITS = 17  # enough for every double
WAYS = (ROUND_FLOOR, ROUND_CEILING)
ROUNDED = tuple(tuple(Context(prec=digits, rounding=way) for way in WAYS) for digits in range(1, MAX_DIGITS + 1))
EXACTLY = Context(prec=1200)  # more than the digits of any double, or of the difference of two
PARTS_OF_DAY = (1, 24, 24 * 60, 86_400, 86_400_000, 86_400_000_000)  # days, hours, ... microseconds
Threshold = tuple[int, float]  # the number of a column, and a number in it


@dataclass(frozen=True)
class Bracket:
    """The largest value below a number, and the smallest at or above it; infinite where there is none."""

    below: float
    above: float

    def __add__(self, other: Bracket) -> Bracket:
        return Bracket(max(self.below, other.below), min(self.above, other.above))

    def __contains__(self, number: float) -> bool:
        return self.below < number <= self.above

    @property
    def is_finite(self) -> bool:
        """Whether there are values on both sides."""
        return isfinite(self.below) and isfinite(self.above)


@dataclass(frozen=True)
class Brackets:
    """The brackets around some numbers; ``a + b`` are those of the rows of both."""

    brackets: tuple[Bracket, ...]

    def __add__(self, other: Brackets) -> Brackets:
        return Brackets(tuple(a + b for a, b in zip(self.brackets, other.brackets)))


def find_brackets(table: Table, places: Sequence[Threshold]) -> Brackets:
    """The brackets around some numbers in the known values of their columns."""
    found: dict[Threshold, Bracket] = {}
    for index in dict.fromkeys(index for index, _ in places):
        own = [place for place in places if place[0] == index]
        for place, bracket in zip(own, _brackets_in(table.columns[index].values, [number for _, number in own])):
            found[place] = bracket
    return Brackets(tuple(found[place] for place in places))


def _brackets_in(values: NDArray[Any], numbers: Sequence[float]) -> list[Bracket]:
    rising = sorted(set(numbers))
    found = dict(zip(rising, zip(*_core.find_brackets(readable(values), rising))))  # as doubles, as bins compare them
    return [Bracket(found[number][0] + 0.0, found[number][1] + 0.0) for number in numbers]


def shortest_in(bracket: Bracket, cut: float) -> float:
    """The shortest number in a bracket, of several the nearest to the cut, which is in the bracket."""
    if cut not in bracket or not bracket.is_finite:
        return cut
    if 0.0 in bracket:
        return 0.0
    whole = bracket.below.is_integer() and bracket.above.is_integer()
    exact = Decimal(cut)
    for contexts in ROUNDED:
        sides = [context.plus(exact) for context in contexts]
        if whole:
            sides = [side.to_integral_value(way) for side, way in zip(sides, WAYS)]
        if near := [side for side in sides if float(side) in bracket]:
            # of two as near the first, which is the smaller
            return float(min(near, key=lambda side: EXACTLY.subtract(side, exact).copy_abs())) + 0.0
    return cut


def shortest_date_in(bracket: Bracket, cut: float) -> float:
    """The same of dates, in days: the nearest plain day, or the nearest full hour, minute, second or part of it."""
    if cut not in bracket or not bracket.is_finite:
        return cut
    exact = Fraction(cut)
    for parts in PARTS_OF_DAY:
        whole = int(exact * parts // 1)
        if near := [side for side in (whole, whole + 1) if side / parts in bracket]:
            return min(near, key=lambda side: abs(Fraction(side, parts) - exact)) / parts + 0.0
    return cut


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
    """Sums over rows of the places that the values of each column have on its grid, by bin."""
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

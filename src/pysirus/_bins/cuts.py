"""Columns in, cut points and uint8 bins out (the paper's quantile discretisation; docs/method.md, "Bins").

Bin ``b`` holds the values with exactly ``b`` cuts at or below them, so cut ``c`` sends bins ``0..c`` to its ``<`` side.
Missing values, where the training column has some, are in a last bin of their own.

A cut is identified by what it means, not by its position: ``("quantile", i)``, ``("value", v)`` or ``("levels",
{...})``. Two models fitted on two samples compare by it.

Ordered categories keep their order in the bins. Others are sorted by mean target; for two classes by the proportion of
the second, for more by the first principal component of the class proportions. All from exact sums, so that parts of a
table add up to it.

Slopes read numbers and not bins. They stand beside the bins as places on a grid over the range of a column: whole
numbers from 0 to 2**15, of which a range has at least 2**14. A place takes two bytes, so rows in memory and in parts,
held-out rows too, have the same values, and their sums are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from math import ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._data.column import Column, ColumnKind, ColumnMark, mark_of_column
from pysirus._data.table import Table
from pysirus._families.responses import Count, IntegerRows, Response
from pysirus._runtime import changed
from pysirus._runtime.console import cancellable_pool, check_cancelled
from pysirus._runtime.sums import MOMENT_BITS, FixedPoint, fixed_point

# Means are compared as shares of (about) the range of the response, rounded so that equal ones are equal. A response of
# 44 bits is off by up to 3e-14 of its range: of 10,000 pairs of equal means of decimal numbers, 40 differed at twelve
# decimals and 8 at ten.
MEAN_DECIMALS = 10
SHARE_DECIMALS = 12
EQUAL_VARIANCES = 1e-9  # relative; rounding moves equal ones 1e-15 apart, and axes by at most 1e-6 where it does not
LEAST_LOADING = 1e-6  # of a class on an axis; below it the class does not move


@dataclass(frozen=True)
class LevelSums:
    """Weight and summed response of each level of a column."""

    sizes: NDArray[np.int64]  # weight of each level
    sums: NDArray[Any]  # [level, output] weight of each class; of numbers [level, 1] weight times response
    by_class: bool

    def scores(self) -> NDArray[np.float64]:
        """The sort key of the levels, all of which must have positive weight."""
        if not self.by_class:
            means = (total / size for total, size in zip(self.sums[:, 0].tolist(), self.sizes.tolist()))
            return np.array([round(ldexp(mean, -MOMENT_BITS - 1), MEAN_DECIMALS) for mean in means])
        shares = self.sums / self.sizes[:, None]
        if shares.shape[1] == 2:
            return np.asarray(np.round(shares[:, 1], SHARE_DECIMALS))
        centred = shares - np.average(shares, axis=0, weights=self.sizes)
        covariance = (centred * self.sizes[:, None]).T @ centred
        return np.asarray(np.round(centred @ principal_axis(covariance), SHARE_DECIMALS))


def principal_axis(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The direction of the largest variance, in which the first class that takes part rises.

    Where several directions are as good (pure levels of equal size), the one in which that class rises most: an answer
    that depends neither on the scale of the sums nor on the library that solves for it.
    """
    variances, axes = np.linalg.eigh(covariance)
    leading = axes[:, variances >= variances[-1] - EQUAL_VARIANCES * abs(variances[-1])]
    projection = leading @ leading.T
    first = int(np.argmax(np.diag(projection) > LEAST_LOADING**2))
    return np.asarray(projection[:, first] / np.sqrt(projection[first, first]))


def level_sums(column: Column, rows: IntegerRows) -> LevelSums:
    """The exact sums of the levels of a column."""
    groups = column.values.astype(np.intp) + 1  # the missing first
    sizes, sums = rows.sums(groups, len(column.levels) + 1)
    return LevelSums(sizes[1:], sums[1:], rows.response.by_class)


def order_levels(kind: ColumnKind, levels: tuple[Any, ...], sums: LevelSums) -> tuple[Any, ...]:
    """The levels in the order of their bins: those that occur, of an ordered column all that it is said to have."""
    present = np.flatnonzero(sums.sizes > 0).tolist()
    if kind == "ordered" or not present:
        return levels if present else ()
    scores = LevelSums(sums.sizes[present], sums.sums[present], sums.by_class).scores().tolist()
    return tuple(levels[i] for _, i in sorted(zip(scores, present)))  # levels come sorted


CutIdentity = tuple[str, Hashable]
NumericCuts = tuple[tuple[CutIdentity, ...], NDArray[np.float64]]  # and the thresholds
ALL_MISSING = "all missing"
THREADED_ROWS = 20_000  # below, what a column takes is mostly Python, one thread at a time
TOGETHER = 8  # columns that are copied together: a cache line has as many doubles
MOST_TOGETHER = 1 << 21  # values of them: 16 MB
PIECE = 1 << 12  # rows of them, which stay in the cache of a core
SORTED_ROWS = 1 << 12  # up to here sorting a column once is cheaper than asking it three questions


@dataclass(frozen=True)
class Cuts:
    """The cut points of one column."""

    column: Column
    identities: tuple[CutIdentity, ...]
    thresholds: NDArray[np.float64]  # of a numeric column, rising; empty for categories
    levels: tuple[Any, ...] = ()  # of a categorical column, in the order of their bins
    has_missing: bool = False
    less_is_heavier: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    idle: str = ""  # why there are no cuts, where there are none
    shares: NDArray[np.float64] | None = None  # of the training weight in each bin

    @property
    def n_cuts(self) -> int:
        """Number of cuts between known values."""
        return len(self.identities)

    @property
    def n_bins(self) -> int:
        """Number of bins, that of the missing values included."""
        return self.n_cuts + 1 + self.has_missing

    @property
    def n_splits(self) -> int:
        """Each cut; with missing values each cut twice (missing right, missing left) and missing apart."""
        return 2 * self.n_cuts + 1 if self.has_missing else self.n_cuts

    def sorted_levels(self, first: int, end: int | None) -> tuple[Any, ...]:
        """The levels of some bins in the column's own order, in which they are read."""
        chosen = set(self.levels[first:end])
        return tuple(level for level in self.column.levels if level in chosen)

    @property
    def usual_bin(self) -> int:
        """The bin of a value that no cut can judge: at each cut, the side with more training weight."""
        return int(np.count_nonzero(~self.less_is_heavier))

    def encode(self, column: Column, out: NDArray[np.uint8]) -> None:
        """Write the bin of each value of the training column, or of another one like it."""
        missing_bin = self.n_cuts + 1 if self.has_missing else self.usual_bin
        if column.is_numeric:
            _core.encode(column.values, self.thresholds, missing_bin, out)
            return
        # codes -> position of the level; -2 (never seen) and -1 (missing) pick the last two entries
        position = {level: i for i, level in enumerate(self.levels)}
        known = [position.get(level, self.usual_bin) for level in column.levels]
        table = np.array([*known, self.usual_bin, missing_bin], dtype=np.uint8)
        np.take(table, column.values, out=out, mode="wrap")


def as_compared(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as bins compare them: 64-bit integers as float64, in which neighbours beyond 2**53 are equal."""
    return values.astype(np.float64) if values.dtype.kind in "iu" and values.dtype.itemsize == 8 else values


def _distinct(ordered: NDArray[Any] | None, values: NDArray[Any], limit: int) -> NDArray[Any] | None:
    """The sorted distinct values, or None when there are more than ``limit``."""
    if ordered is not None:
        first = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        return ordered[np.append(0, first)] if len(first) < limit else None
    if len(np.unique(values[: 100 * (limit + 1)])) > limit:
        return None
    distinct = np.unique(values)
    return distinct if len(distinct) <= limit else None


class Between(NamedTuple):
    """Where each quantile lies between two order statistics."""

    is_left: NDArray[np.bool_]  # nearer to the lower one
    left: NDArray[np.float64]  # in halves of the gap from the lower one on, at most 1
    right: NDArray[np.float64]  # back from the upper one


@lru_cache(maxsize=64)
def quantile_targets(
    weight: int, virtual_rows: int, n_bins: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Between]:
    """The two order statistics around each quantile, and its position between them.

    An order statistic is known by its target: it is the first value at which the weight up to it exceeds the target.
    """
    ranks = [divmod((virtual_rows - 1) * i, n_bins) for i in range(1, n_bins)]
    low = [rank * weight // virtual_rows for rank, _ in ranks]
    high = [min(rank + 1, virtual_rows - 1) * weight // virtual_rows for rank, _ in ranks]
    share = np.array([r / n_bins for _, r in ranks])
    place = Between(share < 0.5, 2 * np.minimum(share, 0.5), 2 * np.minimum(1 - share, 0.5))
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64), place


def between(a: NDArray[Any], b: NDArray[Any], place: Between) -> NDArray[np.float64]:
    """Linear interpolation by NumPy's two formulas, with half the gap so that it cannot overflow."""
    a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    half_gap = b / 2 - a / 2
    interpolated = np.where(place.is_left, a + half_gap * place.left, b - half_gap * place.right)
    return np.where(a == b, a, interpolated)


def _quantiles(
    ordered: NDArray[Any] | None, values: NDArray[Any], weights: NDArray[np.int64] | None, count: Count, n_bins: int
) -> NDArray[np.float64]:
    """The empirical quantiles i/n_bins; a quantile that falls on a data value is that value."""
    low, high, place = quantile_targets(count.weight, count.virtual_rows, n_bins)
    if weights is not None:
        order = np.argsort(values)
        upto = np.cumsum(weights[order])
        first, last = (values[order[np.searchsorted(upto, target, side="right")]] for target in (low, high))
        return between(first, last, place)
    if ordered is None:
        ranks = np.unique(np.concatenate([low, high]))
        found = _core.order_statistics(values, ranks.tolist())
        return between(found[np.searchsorted(ranks, low)], found[np.searchsorted(ranks, high)], place)
    return between(ordered[low], ordered[high], place)


def value_cuts(distinct: NDArray[Any]) -> NumericCuts:
    """Cuts at every value of a discrete column but the smallest."""
    thresholds = distinct[1:].astype(np.float64) + 0.0  # no -0.0: it is the same value
    return tuple(("value", v) for v in thresholds.tolist()), thresholds


def quantile_cuts(quantiles: NDArray[np.float64], least: float) -> NumericCuts:
    """Cuts at the quantiles above the minimum, equal ones merged."""
    new = (quantiles > least) & np.append(True, quantiles[1:] > quantiles[:-1])
    return tuple(("quantile", i + 1) for i in np.flatnonzero(new).tolist()), quantiles[new] + 0.0


def _numeric_cuts(
    values: NDArray[Any], weights: NDArray[np.int64] | None, count: Count, n_bins: int, discrete_limit: int
) -> NumericCuts:
    """The cuts of the known values of a numeric column."""
    if len(values) == 0:
        return (), np.zeros(0)
    ordered = np.sort(values) if len(values) <= SORTED_ROWS else None
    distinct = _distinct(ordered, values, discrete_limit)
    if distinct is not None:
        return value_cuts(distinct)
    quantiles = _quantiles(ordered, values, weights, count, n_bins)
    return quantile_cuts(quantiles, float(values.min() if ordered is None else ordered[0]))


def level_cuts(levels: tuple[Any, ...]) -> tuple[CutIdentity, ...]:
    """The cuts between levels in the order of their bins."""
    return tuple(("levels", frozenset(levels[: k + 1])) for k in range(len(levels) - 1))


def idle_reason(n_cuts: int, *, has_missing: bool, all_missing: bool, constant: bool) -> str:
    """Why a column has no cuts; empty where it has some."""
    if all_missing:
        return ALL_MISSING
    if n_cuts or has_missing:
        return ""
    return "constant" if constant else "nearly constant: no quantile is above the minimum"


def find_cuts(column: Column, rows: IntegerRows, n_bins: int, discrete_limit: int) -> Cuts:
    """The cut points of a column on the training sample."""
    missing = column.missing()
    all_missing = missing is not None and bool(missing.all())
    levels: tuple[Any, ...] = ()
    thresholds = np.zeros(0)
    constant = True
    if column.is_numeric:
        known = None if missing is None else ~missing
        values, weights = as_compared(column.values), rows.weights
        if known is not None:
            values, weights = values[known], None if weights is None else weights[known]
        identities, thresholds = _numeric_cuts(values, weights, rows.count(known), n_bins, discrete_limit)
        constant = bool(identities) or bool((values == values[:1]).all())
    else:
        levels = order_levels(column.kind, column.levels, level_sums(column, rows))
        identities = level_cuts(levels)
    has_missing = missing is not None and not all_missing
    idle = idle_reason(len(identities), has_missing=has_missing, all_missing=all_missing, constant=constant)
    return Cuts(column.without_values(), identities, thresholds, levels, has_missing, idle=idle)


def with_sizes(cuts: Cuts, sizes: NDArray[np.int64]) -> Cuts:
    """Add the proportion of the training weight in each bin, and the heavier side of each cut."""
    upto = np.cumsum(sizes[: cuts.n_cuts + 1])
    heavier = np.asarray(upto[:-1] * 2 >= upto[-1])
    return changed(cuts, less_is_heavier=heavier, shares=np.asarray(sizes / sizes.sum()))


@dataclass(frozen=True)
class Binned:
    """A table in bins: what the core works on."""

    bins: NDArray[np.uint8]  # [feature, row]
    cuts: tuple[Cuts, ...]
    # Rules that were given and not grown: by what they read, the row of ``bins``, after those of the features, that is
    # 1 where they hold. Their cuts need not be among those of the features, and no tree looks at these rows.
    given: Mapping[Hashable, int] = field(default_factory=dict)
    # Columns whose numbers are known beside their bins, in two rows each after all others.
    grids: Grids = field(default_factory=dict)
    marks: tuple[ColumnMark, ...] = ()  # of the columns that rows in memory were made of

    @cached_property
    def n_bins(self) -> NDArray[np.int32]:
        """Bins of each feature."""
        return np.array([c.n_bins for c in self.cuts], dtype=np.int32)

    @cached_property
    def has_missing(self) -> NDArray[np.uint8]:
        """Which features have a bin of missing values."""
        return np.array([c.has_missing for c in self.cuts], dtype=np.uint8)

    @cached_property
    def split_offset(self) -> list[int]:
        """The first split number of each feature, and the number of splits."""
        return [0, *accumulate(c.n_splits for c in self.cuts)]

    def without_rows(self) -> Binned:
        """The same bins of no row."""
        return changed(self, bins=np.empty((len(self.bins), 0), dtype=np.uint8))


def bin_column(column: Column, rows: IntegerRows, out: NDArray[np.uint8], *, n_bins: int, discrete_limit: int) -> Cuts:
    """Find the cuts of a column and encode it into ``out``."""
    cuts = find_cuts(column, rows, n_bins, discrete_limit)
    cuts.encode(column, out)
    return with_sizes(cuts, rows.sizes(out, cuts.n_bins))


def _in_one_piece(columns: Sequence[Column], n_rows: int) -> Iterator[Column]:
    """Columns one after the other, each in one piece; it is overwritten when a later one is asked for.

    In a table that lies row by row a cache line has the values of several columns: these are read together, some rows
    at a time. Each column on its own took nearly twice as long, and so did new memory for each.
    """
    memory = np.empty((max(1, min(TOGETHER, MOST_TOGETHER // max(1, n_rows))), n_rows))
    for first in range(0, len(columns), len(memory)):
        some = columns[first : first + len(memory)]
        pieces = [own.view(column.values.dtype)[:n_rows] for own, column in zip(memory, some)]
        for row in range(0, n_rows, PIECE):
            for own, column in zip(pieces, some):
                own[row : row + PIECE] = column.values[row : row + PIECE]
        yield from (changed(column, values=own) for column, own in zip(some, pieces))


def bin_table(
    table: Table,
    response: Response,
    *,
    n_bins: int,
    discrete_limit: int,
    n_threads: int = 1,
    continuous: Collection[str] = (),
) -> Binned:
    """Find the cuts of every column and encode the table, ``n_threads`` columns at a time.

    Columns that are known to be ``continuous`` have cuts at quantiles, however few values these rows have.
    """
    bins = np.empty((table.n_columns, table.n_rows), dtype=np.uint8)
    rows = IntegerRows(response)

    def work(own: slice) -> list[tuple[Cuts, ColumnMark]]:
        found = []
        for column, out in zip(_in_one_piece(table.columns[own], table.n_rows), bins[own]):
            check_cancelled()
            limit = 0 if column.name in continuous else discrete_limit
            cuts = bin_column(column, rows, out, n_bins=n_bins, discrete_limit=limit)
            found.append((cuts, mark_of_column(column, 0)))
        return found

    if n_threads == 1 or table.n_rows < THREADED_ROWS:
        found = work(slice(None))
    else:
        share = -(-table.n_columns // n_threads)
        with cancellable_pool(n_threads) as pool:
            shares = [slice(first, first + share) for first in range(0, table.n_columns, share)]
            found = [*chain.from_iterable(pool.map(work, shares))]
    return Binned(bins, tuple(cuts for cuts, _ in found), marks=tuple(mark for _, mark in found))


GRID_BITS = 14
MIDDLE: int = 2**GRID_BITS  # the place of the middle of the range
NO_PLACE = 0xFFFF  # of a missing number
MOST_EXPONENT = 400  # of the power of two that two places are apart


@dataclass(frozen=True)
class NumberGrid:
    """Places over the range of the training values of a column."""

    row: int  # of the bins, that has the upper bytes; the lower ones follow
    lower: float  # the smallest known value
    upper: float  # the largest

    @cached_property
    def fixed(self) -> FixedPoint:
        """How places stand for numbers, measured from the middle."""
        return fixed_point(self.lower, self.upper, GRID_BITS)

    @property
    def unit(self) -> float:
        """How far two places are apart: a power of two."""
        return float(np.ldexp(1.0, -self.fixed.exponent))

    def places(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """The place of each number; one beyond the range has that of its end."""
        numbers = np.clip(np.asarray(values, dtype=np.float64), self.lower, self.upper)
        known = ~np.isnan(numbers)
        found = np.full(len(numbers), NO_PLACE, dtype=np.int32)
        found[known] = self.fixed.integers(numbers[known]) + MIDDLE
        return found

    def place(self, value: float) -> int:
        """The place of a number."""
        held = min(max(value, self.lower), self.upper)
        return round(ldexp(held - self.fixed.centre, self.fixed.exponent)) + MIDDLE

    @cached_property
    def ends(self) -> dict[int, float]:
        """The places of the ends of the range."""
        return {self.place(self.upper): self.upper, self.place(self.lower): self.lower}

    def number(self, place: float) -> float:
        """The number at a place; that of an end is the end."""
        if place in self.ends:
            return self.ends[int(place)]
        found = self.fixed.centre + ldexp(place - MIDDLE, -self.fixed.exponent)
        return min(max(found, self.lower), self.upper)

    def write(self, values: NDArray[Any], bins: NDArray[np.uint8]) -> None:
        """Write the places of numbers into their two rows of the bins."""
        bins[self.row], bins[self.row + 1] = divmod(self.places(values), 256)

    def read(self, bins: NDArray[np.uint8]) -> NDArray[np.int32]:
        """The places of rows in bins."""
        return np.asarray(bins[self.row].astype(np.int32) << 8 | bins[self.row + 1])


Grids = Mapping[int, NumberGrid]  # by the number of the column


def grids_of(ends: Mapping[int, tuple[float, float]], first_row: int) -> dict[int, NumberGrid]:
    """Grids over the ranges of some columns, in rows of the bins from ``first_row`` on.

    A range so large, or so small, that products of its numbers are none has no grid.
    """
    usable = [i for i in sorted(ends) if abs(NumberGrid(0, *ends[i]).fixed.exponent) < MOST_EXPONENT]
    return {i: NumberGrid(first_row + 2 * k, *ends[i]) for k, i in enumerate(usable)}

"""One column of one part in, a summary of it out; those of all parts add up to that of the column, for its quantiles.

A tally stores some of the values, sorted, and for each of them bounds of the weight below it and of the weight up to
it. While all distinct values fit in its budget all are stored and the bounds meet: it is exact. Beyond, neighbours are
grouped: it keeps about half a budget of values at equal distances in weight, and those that are heavy themselves. The
bounds are always true, so the error of an answer is known, and `brackets` says between which values the true answer
lies: a second look at the data, there alone, finds it.

Dropping a value makes no error at the values that stay; adding two tallies widens the bounds of a value of one by what
the other holds between two of its values. KLL sketches, as in Apache DataSketches, were looked at: they draw random
numbers, so their answers change from run to run, and their rows have no weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import LevelSums, as_compared, level_sums
from pysirus._data.column import Column, ColumnKind, DataError, check_same_type
from pysirus._data.frame import Numbering, numbering_of
from pysirus._data.table import check_levels
from pysirus._families.responses import Count, IntegerRows
from pysirus._learn.constraints import whole_order
from pysirus._runtime.console import check_cancelled
from pysirus._text.message import Parameter

BUDGET = 1 << 16
LEAST_BUDGET = 16


@dataclass(frozen=True)
class Tally:
    """Values and bounds of their ranks, in integer weights; ``a + b`` is the tally of both their rows.

    An order statistic is known by its target, a weight: it is the first value at which the weight up to it exceeds the
    target.
    """

    values: NDArray[Any]  # rising, in the type of the column; always the least and the greatest
    below_min: NDArray[np.int64]  # the weight of smaller values is at least ...
    below_max: NDArray[np.int64]  # ... and at most
    upto_min: NDArray[np.int64]  # the weight of values up to this one is at least ...
    upto_max: NDArray[np.int64]  # ... and at most
    exact: bool  # every value is here
    budget: int

    @property
    def weight(self) -> int:
        """The weight of all values; exact."""
        return int(self.upto_max[-1]) if len(self.values) else 0

    def exceeds(self, limit: int) -> bool:
        """Whether there are more distinct values than ``limit``."""
        if self.exact:
            return len(self.values) > limit
        if self.budget < limit:  # it is known to have more than its budget, no more than that
            raise ValueError(f"A summary with a budget of {self.budget} cannot count {limit} values.")
        return True

    def astype(self, dtype: np.dtype[Any]) -> Tally:
        """The tally in another type of numbers; values that become equal are one."""
        if dtype == self.values.dtype:
            return self
        values = self.values.astype(dtype)
        first, last = _runs(values)
        below = _same(self.below_min, self.below_max, first)
        upto = _same(self.upto_min, self.upto_max, last)
        return Tally(values[first], *below, *upto, self.exact, self.budget)

    def __add__(self, other: Tally) -> Tally:
        if not len(self.values) or not len(other.values):
            dtype = np.promote_types(self.values.dtype, other.values.dtype)
            return (self if len(self.values) else other).astype(dtype)
        dtype = np.promote_types(self.values.dtype, other.values.dtype)
        a, b = self.astype(dtype), other.astype(dtype)
        values = np.concatenate([a.values, b.values])
        order = np.argsort(values, kind="stable")  # two sorted runs: a merge
        values = values[order]
        first, last = _runs(values)
        if a.exact and b.exact:
            weights = np.concatenate([a.upto_min - a.below_min, b.upto_min - b.below_min])
            upto = np.cumsum(weights[order])[last]
            below = np.append(0, upto[:-1])
            return grouped(Tally(values[first], below, below, upto, upto, True, self.budget))
        end = np.cumsum(order < len(a.values), dtype=np.intp)[last]  # the values of one up to each value of both
        below_min, below_max, upto_min, upto_max = map(np.add, a._bounds_at(end), b._bounds_at(last + 1 - end))
        return grouped(Tally(values[first], below_min, below_max, upto_min, upto_max, False, self.budget))

    def _bounds_at(self, end: NDArray[np.intp]) -> tuple[NDArray[np.int64], ...]:
        """The four bounds at rising values, stored or not, by how many stored ones are up to each of them."""
        first = np.append(0, end[:-1])
        stored = end > first
        at = np.minimum(first, len(self.values) - 1)
        # between two stored values: at least what is up to the one before, at most what is below the one after
        before, after = np.append(0, self.upto_min), np.append(self.below_max, self.weight)
        return (
            np.where(stored, self.below_min[at], before[first]),
            after[first],
            before[end],
            np.where(stored, self.upto_max[at], after[end]),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # a few bytes each and thousands of them in an answer: as arrays, each would travel on its own
        arrays = [self.values, self.below_min, self.upto_min]
        if not self.exact:
            arrays += [self.below_max, self.upto_max]
        return _unpack, (self.values.dtype.str, self.budget, *(array.tobytes() for array in arrays))

    def brackets(self, targets: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of the stored values between which (both included) each order statistic surely is."""
        low = np.searchsorted(self.below_max, targets, side="right") - 1
        return low, np.searchsorted(self.upto_min, targets, side="right")

    def nearest(self, targets: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The stored value that is surely nearest to each order statistic, and its largest possible error in rank."""
        # value k is off by below_max[k] - target or by target + 1 - upto_min[k]: one rises with k, the other falls
        after = np.searchsorted(self.below_max + self.upto_min, 2 * targets + 1)
        tried = np.stack([np.maximum(after - 1, 0), np.minimum(after, len(self.values) - 1)])
        errors = np.maximum(np.maximum(self.below_max[tried] - targets, targets + 1 - self.upto_min[tried]), 0)
        best = np.argmin(errors, axis=0)
        row = np.arange(len(targets))
        return self.values[tried[best, row]], errors[best, row]

    def near(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Tally:
        """What brackets of pairs of order statistics, and the weight below what is between them, are found from.

        It has not every value, so it cannot be added to another.
        """
        end = len(self.values)
        # between the two of a pair there may be values: rows of little weight
        change = np.zeros(end + 1, dtype=np.intp)
        np.add.at(change, np.maximum(self.brackets(first)[0] - 1, 0), 1)
        np.add.at(change, np.minimum(self.brackets(last)[1] + 1, end), -1)
        kept = np.cumsum(change[:end]) > 0
        kept[[0, -1]] = True
        keep = np.flatnonzero(kept)
        below = _same(self.below_min, self.below_max, keep)
        upto = _same(self.upto_min, self.upto_max, keep)
        return Tally(self.values[keep], *below, *upto, self.exact, self.budget)

    def weight_below(self, thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
        """The weight of the values below each threshold, of an exact tally."""
        at = np.searchsorted(self.values.astype(np.float64), thresholds)
        return np.append(0, self.upto_min)[at]


def _unpack(
    dtype: str, budget: int, values: bytes, below: bytes, upto: bytes, below_max: bytes = b"", upto_max: bytes = b""
) -> Tally:
    """A tally that was packed for its way to another process; of one that is exact the bounds meet."""
    low = [np.frombuffer(part, np.int64) for part in (below, upto)]
    high = [np.frombuffer(part, np.int64) for part in (below_max, upto_max)] if below_max else low
    return Tally(np.frombuffer(values, dtype), low[0], high[0], low[1], high[1], not below_max, budget)


def _runs(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first and the last position of each run of equal values."""
    if not len(values):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    change = np.flatnonzero(values[1:] != values[:-1])
    return np.append(0, change + 1), np.append(change, len(values) - 1)


def _same(
    low: NDArray[np.int64], high: NDArray[np.int64], at: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two bounds at some positions; one array where they are one, which then is stored once."""
    chosen = low[at]
    return chosen, chosen if high is low else high[at]


def tally_of(values: NDArray[Any], weights: NDArray[np.int64] | None, budget: int) -> Tally:
    """The tally of known values; without weights each counts one."""
    if weights is None:
        ordered = np.sort(values)  # faster than a binary search of every value among the groups of another tally
        first, last = _runs(ordered)
        below, upto = first.astype(np.int64), last.astype(np.int64) + 1
    else:
        order = np.argsort(values)
        ordered = values[order]
        first, last = _runs(ordered)
        upto = np.cumsum(weights[order])[last]
        below = np.append(0, upto[:-1])[: len(first)]
    distinct = ordered[first] + ordered.dtype.type(0)  # -0.0 is 0.0
    return grouped(Tally(distinct, below, below, upto, upto, True, budget))


def extremes_of(values: NDArray[Any], weight: int, budget: int) -> Tally:
    """The tally of many known values that stores the least and the greatest alone."""
    ends = np.unique(values[[values.argmin(), values.argmax()]]) + values.dtype.type(0) if len(values) else values
    # the weight below the greatest, and that up to the least, may be any
    none, some, every = np.zeros(len(ends), np.int64), np.array([0, weight]), np.full(len(ends), weight)
    return Tally(ends, none, some[: len(ends)], some[2 - len(ends) :], every, False, budget)


def grouped(tally: Tally) -> Tally:
    """The tally with at most about half its budget of values, if it has more than its budget."""
    if len(tally.values) <= tally.budget:
        return tally
    # of each group of neighbours the value that is known best: of parts that are added one by one, the values of the
    # first stay, and bounds stay as narrow as they were
    doubt = tally.below_max - tally.below_min
    middle = tally.below_min + doubt // 2
    group = middle // (tally.weight // (3 * tally.budget // 8) + 1)
    first, last = _runs(group)
    if not tally.exact:
        doubt = doubt + (tally.upto_max - tally.upto_min)
        best = np.flatnonzero(doubt == np.repeat(np.minimum.reduceat(doubt, first), last - first + 1))
        first = best[_runs(group[best])[0]]
    heavy = np.flatnonzero(tally.upto_min - tally.below_max > tally.weight // (tally.budget // 8))
    kept = np.zeros(len(group), dtype=bool)
    kept[first] = kept[heavy] = kept[[0, -1]] = True
    keep = np.flatnonzero(kept)
    below = _same(tally.below_min, tally.below_max, keep)
    upto = _same(tally.upto_min, tally.upto_max, keep)
    return Tally(tally.values[keep], *below, *upto, False, tally.budget)


KINDS: tuple[ColumnKind, ...] = ("numeric", "categorical", "ordered")
KIND_NAMES = {"numeric": "numbers", "categorical": "labels", "ordered": "ordered labels"}


@dataclass(frozen=True)
class Window:
    """The neighbourhood of some quantiles: the weight of the values before it, and a tally of those in it."""

    below: int
    tally: Tally

    def __add__(self, other: Window) -> Window:
        return Window(self.below + other.below, self.tally + other.tally)


@dataclass(frozen=True)
class ColumnSummary:
    """What the cuts of a column are made of; ``a + b`` is the summary of both their rows."""

    name: str
    kind: ColumnKind
    known: Count
    missing: Count
    tally: Tally  # of a numeric column
    windows: tuple[Window, ...] = ()  # after a zoom; those of parts are at the same quantiles
    zooms: int = 0
    levels: tuple[Any, ...] = ()  # of labels, those that occur
    order: tuple[Any, ...] = ()  # of ordered labels, all
    level_sums: LevelSums | None = None
    free_text: bool = False  # whether the labels are text that nobody called labels
    is_date: bool = False  # whether the numbers are moments
    numbering: Numbering | None = None  # of whole numbers
    continuous: bool = False  # whether cuts are at quantiles, however few values there are

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        kind, order = _common_kind(self, other)
        merged = replace(
            self,
            kind=kind,
            known=self.known + other.known,
            missing=self.missing + other.missing,
            tally=self.tally + other.tally,
            windows=tuple(map(add, self.windows, other.windows)),
            order=order,
            free_text=self.free_text or other.free_text,
            numbering=_both(self.numbering, other.numbering),
        )
        return merged if kind == "numeric" else _with_merged_levels(merged, self, other)

    def limit(self, discrete_limit: int) -> int:
        """How many values it may have that are cuts themselves."""
        return 0 if self.continuous else discrete_limit

    def exceeds(self, discrete_limit: int) -> bool:
        """Whether its cuts are at quantiles."""
        return self.tally.exceeds(self.limit(discrete_limit))

    def exact_windows(self) -> bool:
        """Whether the quantiles are known."""
        return all(window.tally.exact for window in self.all_windows())

    def all_windows(self) -> tuple[Window, ...]:
        """The windows of the last zoom; before any, one for all values."""
        return self.windows or (Window(0, self.tally),)


def summary_of(column: Column, rows: IntegerRows, budget: int, *, extremes: bool = False) -> ColumnSummary:
    """The summary of a column whose tally stores at most ``budget`` values, or the extremes of very many alone."""
    check_cancelled()
    missing = column.missing()
    known = None if missing is None else ~missing
    n_missing = Count() if missing is None else rows.count(missing)
    if not column.is_numeric:
        nothing = tally_of(np.zeros(0, dtype=np.bool_), None, budget)  # a type that gives way to any other
        sums = level_sums(column, rows)
        summary = ColumnSummary(column.name, column.kind, rows.count(known), n_missing, nothing)
        return replace(summary, levels=column.levels, order=column.order, level_sums=sums, free_text=column.free_text)
    values, weights = as_compared(column.values), rows.weights
    if known is not None:
        values, weights = values[known], None if weights is None else weights[known]
    count = rows.count(known)
    tally = extremes_of(values, count.weight, budget) if extremes else tally_of(values, weights, budget)
    summary = ColumnSummary(column.name, "numeric", count, n_missing, tally, is_date=column.is_date)
    return replace(summary, numbering=numbering_of(column.values))


def _both(a: Numbering | None, b: Numbering | None) -> Numbering | None:
    return None if a is None or b is None else a + b


def _common_kind(a: ColumnSummary, b: ColumnSummary) -> tuple[ColumnKind, tuple[Any, ...]]:
    """The kind of two parts of a column, and its order; a part without known values takes that of the other."""
    if not a.known.rows or not b.known.rows:
        sure = [part for part in (a, b) if part.known.rows] or sorted((a, b), key=lambda part: KINDS.index(part.kind))
        return sure[-1].kind, sure[-1].order
    if a.kind != b.kind:
        found = " and ".join(sorted((KIND_NAMES[a.kind], KIND_NAMES[b.kind])))
        raise DataError(
            f"Column '{a.name}' holds {found} in different parts of the table. Convert it to one type in all parts, "
            f"or name it under {Parameter('categorical_features')} if its values are categories."
        )
    if a.order != b.order:
        raise DataError(
            f"Column '{a.name}' has categories in different orders in different parts of the table: "
            f"{', '.join(map(str, a.order[:8]))} and {', '.join(map(str, b.order[:8]))}. All parts must have the "
            "same categories in the same order."
        )
    return a.kind, a.order


def _with_merged_levels(merged: ColumnSummary, a: ColumnSummary, b: ColumnSummary) -> ColumnSummary:
    parts = [(part.levels, part.level_sums) for part in (a, b) if part.level_sums is not None]
    found = {level for levels, _ in parts for level in levels}
    check_levels(merged.name, len(found))
    check_same_type(f"Column '{merged.name}'", sorted(found, key=repr))
    levels = tuple(level for level in merged.order if level in found) if merged.order else tuple(sorted(found))
    position = {level: i for i, level in enumerate(levels)}
    every = [_spread(sums, [position[level] for level in own], len(levels)) for own, sums in parts]
    sizes, sums = (np.sum(own, axis=0) for own in ([a.sizes for a in every], [a.sums for a in every]))
    total = replace(every[0], sizes=sizes, sums=sums)
    return replace(merged, levels=levels, level_sums=total)


def _spread(found: LevelSums, at: Sequence[int], n_levels: int) -> LevelSums:
    """The same of more levels, among which these have some places."""
    sizes, sums = (np.zeros((n_levels, *own.shape[1:]), own.dtype) for own in (found.sizes, found.sums))
    sizes[at], sums[at] = found.sizes, found.sums
    return replace(found, sizes=sizes, sums=sums)


def order_summaries(summaries: Sequence[ColumnSummary], directions: Mapping[int, int]) -> tuple[ColumnSummary, ...]:
    """The columns, those with a direction in their whole order: levels that do not occur stand at their place."""
    return tuple(_in_whole_order(s) if i in directions else s for i, s in enumerate(summaries))


def _in_whole_order(summary: ColumnSummary) -> ColumnSummary:
    found = summary.level_sums
    if found is None:
        return summary
    order = whole_order(summary)
    padded = _spread(found, [order.index(level) for level in summary.levels], len(order))
    return replace(summary, kind="ordered", levels=order, order=order, level_sums=padded)

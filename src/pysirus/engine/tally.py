"""The numbers of one column of one part in, a summary that adds up over parts out: what is needed for quantiles.

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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
            raise ValueError(f"A tally with a budget of {self.budget} cannot count {limit} values.")
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

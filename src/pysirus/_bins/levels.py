"""A column of labels in, its levels in the order of their bins out (docs/method.md, "Bins").

Ordered categories keep their order. Others are sorted by mean response; for two classes by the proportion of the
second, for more by the first principal component of the class proportions. All from exact sums, so that parts of a
table add up to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import Column, ColumnKind
from pysirus._families.response.fixed_point import MOMENT_BITS
from pysirus._families.response.integer_rows import IntegerRows

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

"""Rows in, exact sums by group out: integers, the same in any order of the rows and in any split into parts.

Weights and responses are those of ``Response.moment_weights`` and ``moment_values``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._response import Response, Scale

HALF_BITS = 31
BLOCK_ROWS = 1 << 22  # so many halves of 31 bits sum up exactly in the 53 bits of a float64
VALUE_BITS = 22  # half of a response; times a weight of 40 bits it fits in 64


@dataclass(frozen=True)
class Count:
    """How much some rows count: two disjoint sets of rows add up."""

    rows: int = 0
    weight: int = 0  # sum of the integer weights
    virtual_rows: int = 0  # what they amount to: whole weights are repeated rows, others are scaled to a mean of one

    def __add__(self, other: Count) -> Count:
        return Count(self.rows + other.rows, self.weight + other.weight, self.virtual_rows + other.virtual_rows)


@dataclass(frozen=True)
class IntegerRows:
    """The rows of a response in integers, made once for all columns."""

    response: Response

    @cached_property
    def scale(self) -> Scale:
        """What fixes the integers."""
        return self.response.scale

    @cached_property
    def weights(self) -> NDArray[np.int64] | None:
        """Integer weights; None where every row counts one."""
        return self.response.moment_weights()

    @cached_property
    def values(self) -> NDArray[np.int64] | None:
        """Integer responses; None for classes."""
        return self.response.moment_values()

    def count(self, mask: NDArray[np.bool_] | None = None) -> Count:
        """How much the rows of a mask count; None for all of them."""
        rows = self.response.n_rows if mask is None else int(np.count_nonzero(mask))
        if self.weights is None:
            return Count(rows, rows, rows)
        weight = int((self.weights if mask is None else self.weights[mask]).sum())
        if not self.scale.whole:
            return Count(rows, weight, rows)
        exponent = self.scale.moment_weight_exponent
        return Count(rows, weight, weight >> exponent if exponent >= 0 else weight << -exponent)

    def sizes(self, groups: NDArray[Any], n_groups: int) -> NDArray[np.int64]:
        """The weight of each group of rows."""
        return group_sums(groups, self.weights, n_groups)


def _half_sums(
    groups: NDArray[Any], integers: NDArray[np.int64], n_groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sums of the high and of the low 31 bits of integers below 2**62 in size."""
    sums = np.zeros((2, n_groups), dtype=np.int64)
    for start in range(0, len(integers), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        for row, half in enumerate((integers[rows] >> HALF_BITS, integers[rows] & ((1 << HALF_BITS) - 1))):
            sums[row] += np.bincount(groups[rows], half, n_groups).astype(np.int64)
    return sums[0], sums[1]


def group_sums(groups: NDArray[Any], integers: NDArray[np.int64] | None, n_groups: int) -> NDArray[np.int64]:
    """Exact sums of integers by group, below 2**63 in size; None counts rows."""
    if integers is None:
        return np.bincount(groups, minlength=n_groups)
    high, low = _half_sums(groups, integers, n_groups)
    return (high << HALF_BITS) + low


def product_sums(
    groups: NDArray[Any], weights: NDArray[np.int64] | None, values: NDArray[np.int64], n_groups: int
) -> NDArray[np.object_]:
    """Exact sums of weight times value by group, as Python integers: they need more than 64 bits."""
    sums = np.zeros(n_groups, dtype=object)
    for part, shift in ((values & ((1 << VALUE_BITS) - 1), 0), (values >> VALUE_BITS, VALUE_BITS)):
        high, low = _half_sums(groups, part if weights is None else part * weights, n_groups)
        sums += ((high.astype(object) << HALF_BITS) + low.astype(object)) << shift
    return sums

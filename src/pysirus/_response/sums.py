"""Rows in, exact sums by group out: integers, the same in any order of the rows and in any split into parts.

Weights and responses are those of ``Response.moment_weights`` and ``moment_values``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._response.response import Response, Scale

HALF_BITS = 31
BLOCK_ROWS = 1 << 16  # stays in the cache; so many halves of 31 bits sum up exactly in the 53 bits of a float64
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
            repeats = self.response.repeats if self.scale.repeated else None
            return Count(rows, weight, rows if repeats is None else int(repeats[... if mask is None else mask].sum()))
        exponent = self.scale.moment_weight_exponent
        return Count(rows, weight, weight >> exponent if exponent >= 0 else weight << -exponent)

    def sizes(self, groups: NDArray[Any], n_groups: int) -> NDArray[np.int64]:
        """The weight of each group of rows."""
        return group_sums(groups, self.weights, n_groups)


def _halves(integers: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The low bits of integers and the rest."""
    return integers & ((1 << bits) - 1), integers >> bits


def _blocks(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK_ROWS) for start in range(0, n_rows, BLOCK_ROWS))


def group_sums(groups: NDArray[Any], integers: NDArray[np.int64] | None, n_groups: int) -> NDArray[np.int64]:
    """Exact sums of integers by group, below 2**62 in size; None counts rows."""
    if integers is None:
        return np.bincount(groups, minlength=n_groups)
    sums = np.zeros((2, n_groups), dtype=np.int64)
    for rows in _blocks(len(groups)):
        for row, half in enumerate(_halves(integers[rows], HALF_BITS)):
            sums[row] += np.bincount(groups[rows], half, n_groups).astype(np.int64)
    return np.asarray(sums[0] + (sums[1] << HALF_BITS))


def product_sums(
    groups: NDArray[Any], weights: NDArray[np.int64] | None, values: NDArray[np.int64], n_groups: int
) -> NDArray[np.object_]:
    """Exact sums of weight times value by group, as Python integers: they need more than 64 bits."""
    shifts = (0, VALUE_BITS) if weights is None else (0, HALF_BITS, VALUE_BITS, VALUE_BITS + HALF_BITS)
    sums = np.zeros((len(shifts), n_groups), dtype=np.int64)
    for rows in _blocks(len(groups)):
        pieces: tuple[NDArray[np.int64], ...] = _halves(values[rows], VALUE_BITS)
        if weights is not None:
            pieces = tuple(half for piece in pieces for half in _halves(piece * weights[rows], HALF_BITS))
        for row, piece in enumerate(pieces):
            sums[row] += np.bincount(groups[rows], piece, n_groups).astype(np.int64)
    return np.asarray(sum(row.astype(object) << shift for row, shift in zip(sums, shifts)))

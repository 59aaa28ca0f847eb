"""Real numbers in, integers and their exact sums by group out: the same in any order of the rows and in any shard.

The forest works with 20 bits, which is more than the choice of a cut can feel. Rule outputs and the Gram matrix work
with 44 bits, which is more than a reader can see; their sums take 128 bits in the core (docs/method.md, "Integers").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOREST_BITS = 20
MOMENT_BITS = 44
WEIGHT_BITS = 20
MOMENT_WEIGHT_BITS = 40
HALF_BITS = 31
BLOCK_ROWS = 1 << 16  # stays in the cache; this many halves of 31 bits sum up exactly in the 53 bits of a float64
VALUE_BITS = 22  # half of a response; times a weight of 40 bits it fits in 64


@dataclass(frozen=True)
class FixedPoint:
    """Real numbers as ``integer * 2**-exponent + centre``."""

    centre: float
    exponent: int

    def integers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The nearest integers."""
        return np.rint(np.ldexp(values - self.centre, self.exponent)).astype(np.int64)

    def restore(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the integers as sums of deviations from the centre, in real units."""
        return np.ldexp(sums, -self.exponent)


def fixed_point(low: float, high: float, bits: int) -> FixedPoint:
    """Centre at the middle of the range; scale by the largest power of two that keeps the size below 2**bits."""
    centre = low / 2 + high / 2
    size = max(high - centre, centre - low)
    return FixedPoint(centre, bits - int(np.frexp(size)[1]) if size > 0 else 0)


def all_whole(weights: NDArray[np.float64]) -> bool:
    """Whether every weight is a whole number; floats from 2**53 on cannot but be whole, which says nothing."""
    return bool(((weights == np.rint(weights)) & (weights < 2**53)).all())


@dataclass(frozen=True)
class Scale:
    """What fixes the integers of a response: the same for every row, in whichever part of a table it lies."""

    n_rows: int
    low: float = 0.0  # of the numbers
    high: float = 0.0
    heaviest: float = 1.0  # the largest weight
    whole: bool = True  # whether every weight is a whole number
    repeated: bool = True  # whether every weight was one before class weights
    given: float = 1.0  # the largest weight before class weights

    @property
    def forest_values(self) -> FixedPoint:
        """The response as the forest sees it."""
        return fixed_point(self.low, self.high, FOREST_BITS)

    @property
    def moment_values(self) -> FixedPoint:
        """The response as rule outputs and weights see it."""
        return fixed_point(self.low, self.high, MOMENT_BITS)

    @property
    def moment_weight_exponent(self) -> int:
        """Weights are multiplied by this power of two, so that integer weights stay what they are."""
        bits = min(MOMENT_WEIGHT_BITS, 62 - int(np.ceil(np.log2(max(2, self.n_rows)))))
        return bits - int(np.frexp(self.heaviest)[1])


# --------------------------------------------------------------------------------------------------------- exact sums


def _halves(integers: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The low bits of integers and the rest."""
    return integers & ((1 << bits) - 1), integers >> bits


def _blocks(n_rows: int) -> Iterator[slice]:
    """Slices of at most ``BLOCK_ROWS`` rows."""
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

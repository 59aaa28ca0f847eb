"""Real numbers in, integers out: sums of integers are the same in any order and in any shard.

The forest works with 20 bits, which is more than the choice of a cut can feel. Rule outputs and the Gram matrix work
with 44 bits, which is more than a reader can see; their sums take 128 bits in the core (docs/method.md, "Integers").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FOREST_BITS = 20
MOMENT_BITS = 44
WEIGHT_BITS = 20
MOMENT_WEIGHT_BITS = 40


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

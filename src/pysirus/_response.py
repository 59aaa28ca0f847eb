"""A response and its weights in, integers out: sums of integers are the same in any order and in any shard.

The forest works with 20 bits, which is more than the choice of a cut can feel (spec, section 2). Rule outputs and the
Gram matrix work with 44 bits, which is more than a reader can see; their sums take 128 bits in the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOREST_BITS = 20
MOMENT_BITS = 44
WEIGHT_BITS = 20
MOMENT_WEIGHT_BITS = 40


@dataclass(frozen=True)
class FixedPoint:
    """Real numbers as ``integers * 2**-exponent + centre``."""

    integers: NDArray[np.int64]
    centre: float
    exponent: int

    def restore(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the integers as sums of deviations from the centre, in real units."""
        return np.ldexp(sums, -self.exponent)


def to_fixed_point(values: NDArray[np.float64], bits: int) -> FixedPoint:
    """Centre at the middle of the range; scale by the largest power of two that keeps the size below 2**bits."""
    low, high = float(values.min()), float(values.max())
    centre = low / 2 + high / 2
    size = max(high - centre, centre - low)
    exponent = bits - int(np.frexp(size)[1]) if size > 0 else 0
    return FixedPoint(np.rint(np.ldexp(values - centre, exponent)).astype(np.int64), centre, exponent)


@dataclass(frozen=True)
class Response:
    """What the rows answer: a number each (regression) or a class each, and how much each row counts."""

    values: NDArray[np.float64] | None
    slots: NDArray[np.uint8] | None
    n_slots: int
    weights: NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        rows = self.values if self.values is not None else self.slots
        assert rows is not None
        return len(rows)

    @property
    def is_constant(self) -> bool:
        """Whether every row answers the same."""
        rows: NDArray[Any] | None = self.values if self.values is not None else self.slots
        return rows is None or bool((rows == rows[0]).all())

    def forest_values(self) -> NDArray[np.int32] | None:
        """The response as the forest sees it."""
        return None if self.values is None else to_fixed_point(self.values, FOREST_BITS).integers.astype(np.int32)

    def forest_weights(self) -> NDArray[np.int32] | None:
        """Weights relative to the largest: their scale does not matter to the forest."""
        if self.weights is None:
            return None
        # count * weight * value summed over all rows must stay below 2**63
        bits = min(WEIGHT_BITS, 62 - FOREST_BITS - int(np.ceil(np.log2(max(2, 2 * self.n_rows)))))
        relative = np.rint(np.ldexp(self.weights / self.weights.max(), bits))
        weights: NDArray[np.int32] = np.maximum(relative, 1).astype(np.int32)
        return weights

    def moment_values(self) -> FixedPoint | None:
        """The response as rule outputs and weights see it."""
        return None if self.values is None else to_fixed_point(self.values, MOMENT_BITS)

    def moment_weights(self) -> NDArray[np.int64] | None:
        """Weights times a power of two, so that integer weights stay what they are."""
        if self.weights is None:
            return None
        bits = min(MOMENT_WEIGHT_BITS, 62 - int(np.ceil(np.log2(max(2, self.n_rows)))))
        exponent = bits - int(np.frexp(self.weights.max())[1])
        return np.maximum(np.rint(np.ldexp(self.weights, exponent)), 1).astype(np.int64)

    def take(self, rows: NDArray[np.intp]) -> Response:
        """The response of some rows."""

        def part(array: NDArray[Any] | None) -> Any:
            return None if array is None else array[rows]

        return Response(part(self.values), part(self.slots), self.n_slots, part(self.weights))

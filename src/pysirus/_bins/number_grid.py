"""Numbers of a column in, their places on a grid over its range out: what a slope reads of training rows.

A place is a whole number from 0 to 2**15; a range has at least 2**14 of them. It takes two bytes, which stand beside
the bins, so rows in memory and in parts, held-out rows too, have the same values, and their sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.fixed_point import FixedPoint, fixed_point

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
        return round(math.ldexp(held - self.fixed.centre, self.fixed.exponent)) + MIDDLE

    @cached_property
    def ends(self) -> dict[int, float]:
        """The places of the ends of the range."""
        return {self.place(self.upper): self.upper, self.place(self.lower): self.lower}

    def number(self, place: float) -> float:
        """The number at a place; that of an end is the end."""
        if place in self.ends:
            return self.ends[int(place)]
        found = self.fixed.centre + math.ldexp(place - MIDDLE, -self.fixed.exponent)
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

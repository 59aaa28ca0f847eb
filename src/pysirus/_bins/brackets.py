"""A cut and the values of its column in, the shortest number that splits the rows in the same way out.

The largest value below a cut and the smallest at or above it are its bracket: any number between them splits the
training rows as the cut does. The threshold that a rule shows and uses is the one with the fewest significant digits;
among those, the one closest to the cut; if two are equally close, the smaller. Zero is shorter than any other number. A
bracket between whole numbers has a whole number. Of dates the shortest is a plain day, then a full hour, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from numpy.typing import NDArray

from pysirus import _core
from pysirus._data.column import readable
from pysirus._data.table import Table

MAX_DIGITS = 17  # enough for every double
WAYS = (ROUND_FLOOR, ROUND_CEILING)
ROUNDED = tuple(tuple(Context(prec=digits, rounding=way) for way in WAYS) for digits in range(1, MAX_DIGITS + 1))
EXACTLY = Context(prec=1200)  # more than the digits of any double, or of the difference of two
PARTS_OF_DAY = (1, 24, 24 * 60, 86_400, 86_400_000, 86_400_000_000)  # days, hours, ... microseconds
Threshold = tuple[int, float]  # the number of a column, and a number in it


@dataclass(frozen=True)
class Bracket:
    """The largest value below a number, and the smallest at or above it; infinite where there is none."""

    below: float
    above: float

    def __add__(self, other: Bracket) -> Bracket:
        return Bracket(max(self.below, other.below), min(self.above, other.above))

    def __contains__(self, number: float) -> bool:
        return self.below < number <= self.above

    @property
    def is_finite(self) -> bool:
        """Whether there are values on both sides."""
        return isfinite(self.below) and isfinite(self.above)


@dataclass(frozen=True)
class Brackets:
    """The brackets around some numbers; ``a + b`` are those of the rows of both."""

    brackets: tuple[Bracket, ...]

    def __add__(self, other: Brackets) -> Brackets:
        return Brackets(tuple(a + b for a, b in zip(self.brackets, other.brackets)))


def find_brackets(table: Table, places: Sequence[Threshold]) -> Brackets:
    """The brackets around some numbers in the known values of their columns."""
    found: dict[Threshold, Bracket] = {}
    for index in dict.fromkeys(index for index, _ in places):
        own = [place for place in places if place[0] == index]
        for place, bracket in zip(own, _brackets_in(table.columns[index].values, [number for _, number in own])):
            found[place] = bracket
    return Brackets(tuple(found[place] for place in places))


def _brackets_in(values: NDArray[Any], numbers: Sequence[float]) -> list[Bracket]:
    rising = sorted(set(numbers))
    found = dict(zip(rising, zip(*_core.find_brackets(readable(values), rising))))  # as doubles, as bins compare them
    return [Bracket(found[number][0] + 0.0, found[number][1] + 0.0) for number in numbers]


def shortest_in(bracket: Bracket, cut: float) -> float:
    """The shortest number in a bracket, of several the nearest to the cut, which is in the bracket."""
    if cut not in bracket or not bracket.is_finite:
        return cut
    if 0.0 in bracket:
        return 0.0
    whole = bracket.below.is_integer() and bracket.above.is_integer()
    exact = Decimal(cut)
    for contexts in ROUNDED:
        sides = [context.plus(exact) for context in contexts]
        if whole:
            sides = [side.to_integral_value(way) for side, way in zip(sides, WAYS)]
        if near := [side for side in sides if float(side) in bracket]:
            # of two as near the first, which is the smaller
            return float(min(near, key=lambda side: EXACTLY.subtract(side, exact).copy_abs())) + 0.0
    return cut


def shortest_date_in(bracket: Bracket, cut: float) -> float:
    """The same of dates, in days: the nearest plain day, or the nearest full hour, minute, second or part of it."""
    if cut not in bracket or not bracket.is_finite:
        return cut
    exact = Fraction(cut)
    for parts in PARTS_OF_DAY:
        whole = int(exact * parts // 1)
        if near := [side for side in (whole, whole + 1) if side / parts in bracket]:
            return min(near, key=lambda side: abs(Fraction(side, parts) - exact)) / parts + 0.0
    return cut

"""Numbers in, sums out that are the same on every machine and in any order; real numbers as integers; powers of ten.

A product of matrices by ``@`` is added up by BLAS, in an order that depends on the processor and on the number of
threads; its last digits too. NumPy's own sums have one order everywhere. Its powers, exponentials and logarithms depend
on the processor as well: the core has ``exp`` and ``log``.

Integers add up exactly. The forest works with 20 bits, which is more than the choice of a cut can feel. Rule outputs
and the Gram matrix work with 44 bits, which is more than a reader can see; their sums take 128 bits in the core
(docs/method.md, "Integers").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core

Floats = NDArray[np.float64]

PRODUCTS = 1 << 16  # of numbers that are held at a time: they stay in the cache


def times(matrix: NDArray[Any], vector: Floats) -> Floats:
    """``matrix @ vector``, over the last axis."""
    return np.asarray(np.add.reduce(matrix * vector, axis=-1))


def weighted_sum(weights: NDArray[Any], values: NDArray[Any]) -> Any:
    """``weights @ values``, over the first axis."""
    return np.add.reduce((weights if values.ndim == 1 else weights[:, None]) * values, axis=0)


def cross_products(a: Floats, b: Floats) -> Floats:
    """``a.T @ b`` of two matrices of the same rows."""
    step = max(1, PRODUCTS // max(1, b.size))  # columns of a
    parts = (a[:, first : first + step, None] * b[:, None] for first in range(0, a.shape[1], step))
    return np.concatenate([np.add.reduce(part, axis=0) for part in parts])


def scores_of(values: NDArray[Any], base: Floats, steps: Floats, bounds: Floats | None = None) -> Floats:
    """``base + values @ steps``: what terms of whole values, [row, term], add up to, [row, score]; of rules yes or no.

    ``bounds`` are those of the values of each term, 1 where none are given.

    By BLAS all the same, which is fast: base and steps are first rounded to multiples of a power of two, so small that
    nothing is lost but the last digit, and so large that every sum of them is exact, in whatever order.
    """
    largest = np.abs(steps) if bounds is None else np.abs(steps) * bounds[:, None]
    _, exponent = np.frexp(np.abs(base) + largest.sum(axis=0))
    unit = exponent - 52
    base, steps = (np.ldexp(np.rint(np.ldexp(numbers, -unit)), unit) for numbers in (base, steps))
    return np.asarray(base + values @ steps)


def powers_of_ten(first: int, last: int, n: int) -> Floats:
    """``n`` powers of ten with evenly spaced exponents, as `numpy.logspace` returns."""
    context = Context(prec=28)
    exponents = [context.divide(Decimal(first * (n - 1 - k) + last * k), Decimal(n - 1)) for k in range(n)]
    return np.array([float(context.power(Decimal(10), exponent)) for exponent in exponents])


# -------------------------------------------------------------------------------------------------------- exact sums

UNIT = 1074  # sums are whole multiples of 2**-UNIT, as all finite numbers are
LOW_BITS = 27  # of the 53 of a number; the 26 above them are summed apart
TOGETHER = 16  # exponents whose sums are added up before they become Python's integers
BLOCK = 1 << 17  # numbers that are looked at together; so many halves add up exactly in the 53 bits of a float64


@dataclass(frozen=True)
class ExactSums:
    """Sums of numbers without rounding, so the same in any order and in any split; None where one is not finite."""

    units: tuple[int | None, ...]

    @classmethod
    def of(cls, values: NDArray[Any]) -> ExactSums:
        """The sum of each column, [row, column]."""
        total = cls((0,) * values.shape[1])
        step = max(1, BLOCK // max(1, values.shape[1]))
        for start in range(0, len(values), step):
            total += _sum_block(np.ascontiguousarray(values[start : start + step], dtype=np.float64))
        return total

    def __add__(self, other: ExactSums) -> ExactSums:
        both = zip(self.units, other.units)
        return ExactSums(tuple(None if a is None or b is None else a + b for a, b in both))

    def __len__(self) -> int:
        return len(self.units)

    @property
    def floats(self) -> Floats:
        """The sums, rounded once."""
        return np.array([_rounded(own) for own in self.units])

    @property
    def fractions(self) -> list[Fraction] | None:
        """The sums as they are; None where one of them is not finite."""
        if None in self.units:
            return None
        return [Fraction(own or 0, 1 << UNIT) for own in self.units]


def _rounded(units: int | None) -> float:
    if units is None:
        return float("nan")
    try:
        return units / (1 << UNIT)
    except OverflowError:
        return float("inf") if units > 0 else float("-inf")


def _sum_block(values: Floats) -> ExactSums:
    """The sums of the columns of a block: mantissas of one exponent are summed, in two halves."""
    n_columns = values.shape[1]
    bits = values.view(np.int64)
    exponent = (bits >> 52) & 0x7FF
    infinite = (exponent == 0x7FF).any(axis=0)
    mantissa = (bits & ((1 << 52) - 1)) + ((exponent > 0).astype(np.int64) << 52)
    mantissa = np.where(bits < 0, -mantissa, mantissa)
    exponent = np.maximum(exponent, 1) - 1  # the smallest numbers have the same unit as those above them
    first = int(exponent.min())
    n_groups = (int(exponent.max()) - first) // TOGETHER + 1
    place = ((exponent - first) * n_columns + np.arange(n_columns)).ravel()
    total = [0] * n_columns
    for half, shift in ((mantissa >> LOW_BITS, LOW_BITS), (mantissa & ((1 << LOW_BITS) - 1), 0)):
        sums = np.bincount(place, half.ravel(), n_groups * TOGETHER * n_columns).astype(np.int64)
        shifted = sums.reshape(n_groups, TOGETHER, n_columns) << np.arange(TOGETHER)[:, None]
        for group, own in enumerate(shifted.sum(axis=1).tolist()):
            for column, units in enumerate(own):
                if units:
                    total[column] += units << (first + group * TOGETHER + shift)
    return ExactSums(tuple(None if bad else own for own, bad in zip(total, infinite.tolist())))


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
    if integers is None and groups.dtype == np.uint8:  # NumPy makes long integers of them first
        return _core.count_bins(np.ascontiguousarray(groups))[:n_groups]
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

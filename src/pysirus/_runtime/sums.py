"""Numbers in, sums of their products out, the same on every machine; exact sums, the same in any order; powers of ten.

A product of matrices by ``@`` is added up by BLAS, in an order that depends on the processor and on the number of
threads; its last digits too. NumPy's own sums have one order everywhere. Its powers, exponentials and logarithms depend
on the processor as well: the core has ``exp`` and ``log``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def times(matrix: NDArray[Any], vector: Floats) -> Floats:
    """``matrix @ vector``, over the last axis."""
    return np.asarray(np.add.reduce(matrix * vector, axis=-1))


def weighted_sum(weights: NDArray[Any], values: NDArray[Any]) -> Any:
    """``weights @ values``, over the first axis."""
    return np.add.reduce((weights if values.ndim == 1 else weights[:, None]) * values, axis=0)


def cross_products(a: Floats, b: Floats) -> Floats:
    """``a.T @ b`` of two matrices of the same rows."""
    return np.stack([weighted_sum(column, b) for column in a.T])


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

"""Numbers in, sums of their products out, the same on every machine; and powers of ten.

A product of matrices by ``@`` is added up by BLAS, in an order that depends on the processor and on the number of
threads; its last digits too. NumPy's own sums have one order everywhere. Its powers, exponentials and logarithms depend
on the processor as well: the core has ``exp`` and ``log``.
"""

from __future__ import annotations

from decimal import Context, Decimal
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

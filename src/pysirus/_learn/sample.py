"""Rules on the training rows in, those that say something new there out.

The paper's post-treatment drops a rule that is a combination of earlier ones over the whole input space. On a sample,
rules can agree without that: where `limit < 4622` and `rating < 263` part the same rows, the data cannot tell one from
the other. So a rule is dropped as well when its indicator is a combination of the constant and of the kept indicators
*on the training rows*: when the Gram matrix of the indicators, integers that add up over parts, is singular with it.

    rows        1 2 3 4 5 6
    x < 3       1 1 0 0 0 0
    z < 7       1 1 0 0 0 0     dropped: the same rows
    z >= 9      0 0 0 0 1 1
    3 <= x, z   0 0 1 1 0 0     dropped: one minus the other two
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core

PRIME = 2**61 - 1
LARGEST = 2**30  # numerators and denominators of this size are known by their remainder


def independent_columns(gram: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which columns of a Gram matrix are no combinations of those before them; exact."""
    kept, coefficients = _core.independent_columns(np.ascontiguousarray(gram, dtype=np.int64))
    kept = kept.astype(bool)
    for i in np.flatnonzero(~kept).tolist():
        if not _is_combination(gram, i, coefficients[i].tolist()):  # a chance of about 1 in 2**50
            return _eliminate(gram)
    return np.asarray(kept)


def _is_combination(gram: NDArray[np.int64], column: int, remainders: list[int]) -> bool:
    """Whether the coefficients with these remainders make up a column: then the difference has length zero."""
    difference = {column: Fraction(-1)}
    for j, remainder in enumerate(remainders):
        if remainder:
            found = _fraction_of(remainder)
            if found is None:
                return False
            difference[j] = found
    return sum(a * b * int(gram[i, j]) for i, a in difference.items() for j, b in difference.items()) == 0


def _fraction_of(remainder: int) -> Fraction | None:
    """The fraction of small numerator and denominator with a remainder modulo the prime (Wang's algorithm)."""
    before, after, sign_before, sign_after = PRIME, remainder, 0, 1
    while after > LARGEST:
        quotient = before // after
        before, after = after, before - quotient * after
        sign_before, sign_after = sign_after, sign_before - quotient * sign_after
    return Fraction(after, sign_after) if 0 < abs(sign_after) <= LARGEST else None


def _eliminate(gram: NDArray[Any]) -> NDArray[np.bool_]:
    """The same by elimination in fractions: slow, and never in doubt."""
    kept: list[int] = []
    rows: list[list[Fraction]] = []
    for i in range(len(gram)):
        row = [Fraction(int(value)) for value in gram[i]]
        for pivot, other in zip(kept, rows):
            factor = row[pivot] / other[pivot]
            row = [a - factor * b for a, b in zip(row, other)]
        if row[i]:
            kept.append(i)
            rows.append(row)
    return np.isin(np.arange(len(gram)), kept)

"""Groups of rows and integers in, exact sums by group out: the same in any order of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

HALF_BITS = 31
BLOCK_ROWS = 1 << 16  # stays in the cache; this many halves of 31 bits sum up exactly in the 53 bits of a float64
VALUE_BITS = 22  # half of a response; times a weight of 40 bits it fits in 64


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

"""Predicted rows in, sums over all of them out: in blocks of fixed size, so that no array of all rows is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 1 << 16  # rows that are looked at together: their predictions for every size take some memory

Floats = NDArray[np.float64]
Metrics = Mapping[str, tuple[float, float | None]]  # by name: the number and its standard error
Piece = Sequence[NDArray[Any] | None]  # arrays of the same rows; the first is there, others may be missing


class Predicted(NamedTuple):
    """Rows that were not learned from: what was predicted [row, output], the truth, and the weights of the rows."""

    values: Floats
    truth: NDArray[Any]  # numbers, codes of classes, or events and times
    weights: Floats | None
    folds: NDArray[np.intp] | None = None  # [row]


def all_folds(parts: Sequence[Predicted]) -> Predicted:
    """The rows of all folds together."""
    weights = None if parts[0].weights is None else np.concatenate([np.asarray(part.weights) for part in parts])
    folds = np.repeat(np.arange(len(parts)), [len(part.truth) for part in parts])
    values, truth = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "truth"))
    return Predicted(values, truth, weights, folds)


def blocks_of(n_rows: int) -> Iterator[slice]:
    """Rows in blocks, the last of which may be shorter."""
    return (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))


def sums_of(pieces: Sequence[Piece], terms: Callable[..., Sequence[Floats]]) -> list[float]:
    """The sum over all rows of each of the terms, which are computed from the arrays of a block."""
    found = [
        [float(term.sum()) for term in terms(*(None if array is None else array[rows] for array in piece))]
        for piece in pieces
        for rows in blocks_of(len(_first(piece)))
    ]
    return [math.fsum(blocks) for blocks in zip(*found)]


def _first(piece: Piece) -> NDArray[Any]:
    assert piece[0] is not None
    return piece[0]


def weights_or_ones(weights: Floats | None, like: NDArray[Any]) -> Floats:
    """The weights of some rows; one each where there are none."""
    return np.ones(len(like)) if weights is None else weights


def spread_of(pieces: Sequence[tuple[Floats, Floats | None]]) -> tuple[float, float]:
    """The total weight of numbers with weights, and the weighted sum of squares about their mean."""

    def first(y: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        w = weights_or_ones(weights, y)
        return w, w * y

    total, weighted = sums_of(pieces, first)
    mean = weighted / total
    (squares,) = sums_of(pieces, lambda y, weights: (weights_or_ones(weights, y) * (y - mean) ** 2,))
    return total, squares

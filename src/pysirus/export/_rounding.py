"""Points in, whole points out, rounded together so that their total loses least.

Rounding each part to the nearest whole number lets errors add up. Here the mean square of the error of the total is
made small: parts are moved up or down by one, alone and in pairs, as long as that helps. The mean is over rows, which
enter only by how often two parts are given together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
LEAST_GAIN = 1e-9  # of the mean square, in squared points; less may be a rounding error of its own
MOST_PAIRED = 100  # parts that are moved in pairs too


def joint_shares(shares: Matrix) -> Matrix:
    """How often the start (always) and any two parts are given together, if independently: [1 + n, 1 + n]."""
    q = np.concatenate([[1.0], shares])
    together = np.outer(q, q)
    np.fill_diagonal(together, q)
    return together


def observed_shares(given: NDArray[np.bool_]) -> Matrix:
    """The same from rows [row, part]."""
    parts = np.column_stack([np.ones(len(given)), given]).astype(np.float64)
    return np.asarray(parts.T @ parts / len(given))


def round_together(points: Matrix, together: Matrix) -> NDArray[np.int64]:
    """Whole numbers near ``points``, the start first, with a small mean square of the error of their total.

    No part becomes negative; the start may.
    """
    n = len(points)
    whole = np.rint(points)
    moves = _moves(n)
    curvature = np.einsum("mi,ij,mj->m", moves, together, moves)
    while True:
        gain = 2 * moves @ (together @ (whole - points)) + curvature
        gain[((whole + moves)[:, 1:] < 0).any(axis=1)] = np.inf
        best = int(gain.argmin())
        if gain[best] >= -LEAST_GAIN:
            return whole.astype(np.int64)
        whole += moves[best]


def _moves(n: int) -> Matrix:
    """One up, one down and, of lists that are not too long, any two of these at once: [move, part]."""
    ones = np.concatenate([np.eye(n), -np.eye(n)])
    if n > MOST_PAIRED:
        return ones
    first, second = np.triu_indices(2 * n, 1)
    return np.concatenate([ones, ones[first] + ones[second]])

"""Nodes in, their weights out: Node harvest's quadratic program (Meinshausen 2010), solved by PIQP.

Minimise the squared error of the weighted sum of node means over weights >= 0 such that the weights of the nodes that
hold a training row sum to one, for every training row. The root, which holds them all, makes that possible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from sklearn.exceptions import ConvergenceWarning

from pysirus._warn import warn_user

Array = NDArray[np.float64]
LEAST_SHARE = 0.01  # nodes below this share of the largest weight are dropped
RANK_TOLERANCE = 1e-9
FEASIBLE = 1e-5


def harvest_weights(inside: NDArray[np.bool_], means: Array, y: Array, row_weights: Array) -> Array:
    """The weights of nodes; ``inside[row, node]``, the root first."""
    deviation = float(np.sqrt(np.average((y - means[0]) ** 2, weights=row_weights)))
    # in units of the response's deviation from the root's mean: the weights do not depend on them
    fitted = inside * ((means - means[0]) / deviation) * np.sqrt(row_weights / row_weights.mean())[:, None]
    wanted = (y - means[0]) / deviation * np.sqrt(row_weights / row_weights.mean())
    weights = _solve(fitted.T @ fitted, -fitted.T @ wanted, _independent_rows(inside))
    weights[weights < LEAST_SHARE * weights.max()] = 0.0
    return weights


def _independent_rows(inside: NDArray[np.bool_]) -> Array:
    """Rows that span all rows: a constraint that others imply is left out, for a solver of full rank."""
    _, first = np.unique(np.packbits(inside, axis=1), axis=0, return_index=True)
    patterns = inside[np.sort(first)].astype(np.float64)
    triangle, order = qr(patterns.T, mode="r", pivoting=True, check_finite=False)
    size = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(size > RANK_TOLERANCE * size[0]))
    return np.asarray(patterns[np.sort(order[:rank])])


def _solve(quadratic: Array, linear: Array, rows: Array) -> Array:
    try:
        import piqp
    except ImportError as error:
        raise ImportError(
            "Node harvest solves a quadratic program with PIQP, which is not installed: pip install pysirus[compare]"
        ) from error
    n_nodes, ones = len(linear), np.ones(len(rows))
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.setup(quadratic, linear, A=rows, b=ones, x_l=np.zeros(n_nodes), x_u=np.full(n_nodes, np.inf))
    status = solver.solve()
    weights: Array = np.maximum(np.array(solver.result.x), 0.0)
    gap = float(np.abs(rows @ weights - 1).max())
    if not gap < FEASIBLE:
        raise RuntimeError(
            f"The quadratic program was not solved ({status}): node weights miss their sum by {gap:.2g}."
        )
    if status != piqp.PIQP_SOLVED:
        warn_user(f"The quadratic program ended early ({status}).", ConvergenceWarning)
    return weights

"""A name in, a table to measure on out: shipped data, or numbers made from a seed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus import datasets


class Problem(NamedTuple):
    """A regression problem."""

    name: str
    X: NDArray[Any]
    y: NDArray[np.float64]


def shipped(name: str) -> Problem:
    """A dataset of the paper; missing values become the median, for rivals that take none."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return Problem(name, X, y)


def made_up(n_rows: int, n_columns: int, dtype: Any = np.float32, seed: int = 0) -> Problem:
    """Normal columns, a response of three of them and noise; filled in place, so that nothing else is held."""
    random = np.random.default_rng(seed)
    X = np.empty((n_rows, n_columns), dtype=dtype)
    for column in range(n_columns):
        X[:, column] = random.standard_normal(n_rows, dtype=np.float32)
    y = X[:, 0] + 2.0 * (X[:, 1] > 0) * X[:, 2] + random.standard_normal(n_rows, dtype=np.float32)
    return Problem(f"{n_rows:,} x {n_columns}", X, y.astype(np.float64))

"""Results on disk in, one figure with its standard error out, by table, method and quantity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from studies import results
from studies.classes.methods import METHODS
from studies.classes.problems import TABLES
from studies.results import Figures, Store, Study, standard_error

__all__ = ["Figures", "Study", "paired", "read", "standard_error"]


def paired(first: Figures, second: Figures, quantity: str) -> NDArray[np.float64]:
    """First minus second, fold by fold, in the repetitions that both have."""
    common = sorted(first.by_repetition.keys() & second.by_repetition.keys())
    parts = [
        np.subtract(first.by_repetition[r][quantity], second.by_repetition[r][quantity]).astype(float) for r in common
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def read(store: Store) -> dict[tuple[str, str], Figures]:
    """All results of this study that are there."""
    return results.read(store, list(TABLES), list(METHODS))

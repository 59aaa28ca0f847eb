"""Results on disk in, one figure with its standard error out, by table, method and quantity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.classes.cells import Store
from studies.classes.methods import METHODS
from studies.classes.problems import TABLES


@dataclass(frozen=True)
class Figures:
    """What a method reached on a table, over all repetitions that are there."""

    about: Mapping[str, Any]
    by_repetition: Mapping[str, Mapping[str, Any]]  # repetition -> quantity -> a figure a fold, or one for all folds

    def values(self, quantity: str) -> NDArray[np.float64]:
        """Every figure of a quantity, repetition after repetition; empty where the method has none."""
        found = [np.atleast_1d(r[quantity]) for _, r in sorted(self.by_repetition.items()) if quantity in r]
        return np.concatenate(found).astype(float) if found else np.empty(0)

    def mean(self, quantity: str) -> float | None:
        """Over folds, or over repetitions where a figure takes all folds together."""
        values = self.values(quantity)
        return float(values.mean()) if len(values) else None

    def error(self, quantity: str) -> float | None:
        """Standard error of the mean over folds, as if folds were independent; None for one figure alone."""
        return standard_error(self.values(quantity))

    @property
    def n_repetitions(self) -> int:
        """How often all folds were run."""
        return len(self.by_repetition)


Study = Mapping[tuple[str, str], Figures]  # (table, method)


def standard_error(values: NDArray[np.float64]) -> float | None:
    """Of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def paired(first: Figures, second: Figures, quantity: str) -> NDArray[np.float64]:
    """First minus second, fold by fold, in the repetitions that both have."""
    common = sorted(first.by_repetition.keys() & second.by_repetition.keys())
    parts = [
        np.subtract(first.by_repetition[r][quantity], second.by_repetition[r][quantity]).astype(float) for r in common
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def read(store: Store) -> dict[tuple[str, str], Figures]:
    """All results that are there, whatever the versions: the page says which they are."""
    found = {}
    for table in TABLES:
        for method in METHODS:
            document = store.read(table, method)
            if document is not None:
                results = {r: kept["result"] for r, kept in document["repetitions"].items()}
                found[table, method] = Figures(document["about"], results)
    return found

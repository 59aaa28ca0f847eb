"""A table, a method and a repetition in; errors of five folds, sizes and stability out.

The error of a fold is the squared error of its held-out rows over that of the mean of its training rows. Methods choose
whatever they choose inside the training rows, so errors are nested. Lists of terms are compared between the folds,
which share three quarters of their training rows, and between two disjoint halves of the rows, by key (which columns
are cut where, or that a column has a slope) and by column.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from pysirus import stability
from studies.results import Result
from studies.slopes.methods import METHODS, Method
from studies.sources import Problem

N_FOLDS = 5
DIGITS = 5


def samples(n_rows: int, n_splits: int, repetition: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and held-out rows."""
    return list(KFold(n_splits, shuffle=True, random_state=repetition).split(np.empty(n_rows)))


def _columns(model: Any) -> set[str]:
    return {name for term in model.rules_ for name in term.features}


def _shared(lists: Sequence[Iterable[Any]]) -> float:
    """The mean Dice-Sorensen index over pairs."""
    return round(float(np.mean([stability(list(a), list(b)) for a, b in combinations(lists, 2)])), DIGITS)


def _fit(method: Method, problem: Problem, rows: NDArray[np.intp], seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.make(seed).fit(problem.X.iloc[rows], problem.y[rows])


def _error(model: Any, problem: Problem, train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = np.asarray(model.predict(problem.X.iloc[test]), dtype=float)
    left, constant = problem.y[test] - predicted, problem.y[test] - problem.y[train].mean()
    return round(float((left**2).sum() / (constant**2).sum()), DIGITS)


def measure(problem: Problem, name: str, repetition: int) -> Result:
    """What a method reaches on the folds of a repetition and, where it has terms, on a pair of halves."""
    method, seed = METHODS[name], repetition
    folds = samples(len(problem.y), N_FOLDS, repetition)
    fitted = [_fit(method, problem, train, seed) for train, _ in folds]
    result: Result = {"error": [_error(model, problem, *fold) for model, fold in zip(fitted, folds)]}
    if not method.has_terms:
        return result
    result |= {
        "size": [len(model.rules_) for model in fitted],
        "slopes": [sum(term.kind == "Slope" for term in model.rules_) for model in fitted],
        "folds": _shared([model.rules_ for model in fitted]),
        "folds_columns": _shared([_columns(model) for model in fitted]),
    }
    if not method.with_halves:
        return result
    halves = samples(len(problem.y), 2, repetition)
    halved = [_fit(method, problem, train, seed) for train, _ in halves]
    return {
        **result,
        "half_error": [_error(model, problem, *half) for model, half in zip(halved, halves)],
        "halves": _shared([model.rules_ for model in halved]),
        "halves_columns": _shared([_columns(model) for model in halved]),
    }

"""Probabilities of held-out rows in, figures out; and one repetition of ten folds of a method on a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from pysirus import stability
from studies.classes.methods import Method, fit, n_rules
from studies.classes.problems import Problem

N_FOLDS = 10
N_BINS = 10
SMALLEST = np.finfo(np.float64).eps  # a probability of zero counts as this in the log loss, as in scikit-learn
DIGITS = 5
Result = dict[str, Any]  # of a repetition: a list with a figure a fold, or one figure for all folds together
Array = NDArray[np.float64]


def folds(problem: Problem, repetition: int, n_folds: int = N_FOLDS) -> Iterator[tuple[Any, Any]]:
    """Training and held-out rows, the same for every method."""
    return StratifiedKFold(n_folds, shuffle=True, random_state=repetition).split(problem.X, problem.y)


def aligned(probabilities: Array, known: Any, classes: Any) -> Array:
    """A column for every class of the table, zero for one that the training rows did not have."""
    table = np.zeros((len(probabilities), len(classes)))
    table[:, np.searchsorted(classes, known)] = probabilities
    return table


def auc(truth: NDArray[np.bool_], p: Array) -> float:
    """Of two classes, of the second; of several, the mean over classes of one against the rest."""
    columns = [1] if p.shape[1] == 2 else np.flatnonzero(truth.any(axis=0))  # a class without held-out rows has none
    return float(np.mean([roc_auc_score(truth[:, c], p[:, c]) for c in columns]))


def log_loss(truth: NDArray[np.bool_], p: Array) -> float:
    """Minus the mean log probability of the class that was true."""
    return float(-np.log(np.clip(p[truth], SMALLEST, None)).mean())


def brier(truth: NDArray[np.bool_], p: Array) -> float:
    """Mean squared error of the probability: of the second class of two, summed over classes of several."""
    squares = (p - truth) ** 2
    return float((squares[:, 1] if p.shape[1] == 2 else squares.sum(axis=1)).mean())


def accuracy(truth: NDArray[np.bool_], p: Array) -> float:
    """Share of rows whose most probable class is the true one."""
    return float(truth[np.arange(len(p)), p.argmax(axis=1)].mean())


def balanced_accuracy(truth: NDArray[np.bool_], p: Array) -> float:
    """Mean over classes of the share of their rows that is found."""
    hits = truth[np.arange(len(p)), p.argmax(axis=1)]
    return float(np.mean([hits[column].mean() for column in truth.T if column.any()]))


def calibration_error(truth: NDArray[np.bool_], p: Array) -> float:
    """Expected calibration error: mean gap of probability and share in ten bins of equal count.

    Of two classes the probability is that of the second; of several it is that of the most probable class. Rows of
    equal probability share their outcomes: where a bin ends among them, the order of the table would decide otherwise.
    """
    if p.shape[1] == 2:
        said, true = p[:, 1], truth[:, 1]
    else:
        said, true = p.max(axis=1), truth[np.arange(len(p)), p.argmax(axis=1)]
    _, group, counts = np.unique(said.round(12), return_inverse=True, return_counts=True)
    share = (np.bincount(group, true) / counts)[group]
    order = np.argsort(said, kind="stable")
    gaps = [abs((said[part] - share[part]).sum()) for part in np.array_split(order, N_BINS)]
    return float(np.sum(gaps) / len(said))


BY_FOLD = {
    "auc": auc,
    "log_loss": log_loss,
    "brier": brier,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
}


def repetition_of(problem: Problem, method: Method, repetition: int, n_folds: int = N_FOLDS) -> Result:
    """All figures of a method in one repetition of the folds."""
    classes = problem.classes
    truth = problem.y[:, None] == classes
    p = np.empty(truth.shape)
    result: Result = {name: [] for name in BY_FOLD}
    models = []
    for k, (train, test) in enumerate(folds(problem, repetition, n_folds)):
        model = fit(method, problem.X.iloc[train], problem.y[train], n_folds * repetition + k)
        p[test] = aligned(model.predict_proba(problem.X.iloc[test]), model.classes_, classes)
        for name, measure in BY_FOLD.items():
            result[name].append(round(measure(truth[test], p[test]), DIGITS))
        models.append(model)
    result["calibration_error"] = round(calibration_error(truth, p), DIGITS)
    sizes = [n_rules(model) for model in models]
    if None not in sizes:
        result["rules"] = sizes
    if all(hasattr(model, "rules_") for model in models):
        result["stability"] = round(stability(models), DIGITS)
    return result

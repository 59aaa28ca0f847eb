"""Predictions of held-out rows in, figures out; and one repetition of five folds of a method on a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance
from sklearn.model_selection import KFold, StratifiedKFold

from pysirus import stability
from pysirus._families.row_metrics import censoring, count_pairs, integrated_brier_score
from studies.responses.methods import Method, fit
from studies.responses.problems import Problem
from studies.results import Result

N_FOLDS = 5
MANY = 100_000  # rows from which on the first fold of one repetition is enough
N_BINS = 10
N_TIMES = 50
DIGITS = 5
Array = NDArray[np.float64]


def folds(problem: Problem, repetition: int) -> Iterator[tuple[Any, Any]]:
    """Training and held-out rows, the same for every method; events are spread over the folds."""
    if problem.kind == "survival":
        return StratifiedKFold(N_FOLDS, shuffle=True, random_state=repetition).split(problem.X, problem.y["event"])
    return KFold(N_FOLDS, shuffle=True, random_state=repetition).split(problem.X)


def n_folds(problem: Problem) -> int:
    """How many folds are held out in turn."""
    return 1 if len(problem.X) >= MANY else N_FOLDS


def calibration(y: Array, predicted: Array, weights: Array) -> list[list[float]]:
    """Predicted and observed mean of ten groups of equal weight, from the lowest prediction to the highest."""
    order = np.argsort(predicted, kind="stable")
    middle = np.cumsum(weights[order]) - weights[order] / 2
    group = (middle / weights.sum() * N_BINS).astype(int)
    pairs = []
    for k in range(N_BINS):
        rows = order[group == k]
        if len(rows):
            pairs.append([float(np.average(v[rows], weights=weights[rows])) for v in (predicted, y)])
    return pairs


def survival_times(problem: Problem) -> Array:
    """Times from the first tenth to nine tenths of the observed ones: where every fold has rows at risk."""
    return np.unique(np.quantile(problem.y["time"], np.linspace(0.1, 0.9, N_TIMES)))


def _survival_figures(model: Any, problem: Problem, train: Any, test: Any) -> dict[str, float]:
    X, y = problem.X.iloc[test], problem.y[test]
    times = survival_times(problem)
    best = getattr(model, "best_estimator_", model)
    survival = np.array([function(times) for function in best.predict_survival_function(X)])
    known = censoring(problem.y["time"][train], problem.y["event"][train])
    brier = integrated_brier_score(y["time"], y["event"], survival, times, known)
    return {"concordance": count_pairs(y["time"], y["event"], best.predict(X)).concordance, "brier": brier}


@dataclass(frozen=True)
class Fold:
    """What a method made of one fold."""

    figures: dict[str, float]
    test: NDArray[np.intp]
    predicted: Array | None  # of the held-out rows; None for survival
    model: Any | None  # where it has rules


def fold_of(problem: Problem, method: Method, repetition: int, k: int) -> Fold:
    """Fit on the other folds, judge on this one."""
    train, test = list(folds(problem, repetition))[k]
    y, weights = problem.y[train], problem.weights[train]
    model = fit(method, problem.kind, problem.X.iloc[train], y, weights, N_FOLDS * repetition + k)
    kept = model if hasattr(model, "rules_") else None
    if problem.kind == "survival":
        return Fold(_survival_figures(model, problem, train, test), test, None, kept)
    predicted = np.asarray(model.predict(problem.X.iloc[test])).ravel()
    deviance = mean_poisson_deviance if problem.kind == "counts" else mean_gamma_deviance
    figure = deviance(problem.y[test], predicted, sample_weight=problem.weights[test])
    return Fold({"deviance": figure}, test, predicted, kept)


def together(problem: Problem, every: Sequence[Fold]) -> Result:
    """The folds of a repetition, with what takes all of them."""
    result: Result = {name: [round(float(fold.figures[name]), DIGITS) for fold in every] for name in every[0].figures}
    if problem.kind != "survival":
        rows = np.concatenate([fold.test for fold in every])
        predicted = np.concatenate([fold.predicted for fold in every if fold.predicted is not None])
        pairs = calibration(problem.y[rows], predicted, problem.weights[rows])
        result["calibration"] = [[float(f"{v:.4g}") for v in pair] for pair in pairs]
    models = [fold.model for fold in every if fold.model is not None]
    if len(models) == len(every):
        result["rules"] = [len(model.rules_) for model in models]
        if len(models) > 1:
            result["stability"] = round(stability(models), DIGITS)
    return result


def repetition_of(problem: Problem, method: Method, repetition: int) -> Result:
    """All figures of a method in one repetition of the folds."""
    return together(problem, [fold_of(problem, method, repetition, k) for k in range(n_folds(problem))])

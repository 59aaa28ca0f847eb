"""Predictions of held-out rows in, figures and groups of probabilities out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._kind.figures import class_figures, number_figures, survival_figures
from pysirus._model.held_out import MOST_BINS, MOST_CLASSES, Bins, Figures, HeldOut, bins_of

BINS_OF_SEVERAL = 50  # for each of more than two classes

Floats = NDArray[np.float64]


class Predicted(NamedTuple):
    """All held-out rows of a repetition: what was predicted [row, output], the truth, and the weights of the rows."""

    values: Floats
    truth: NDArray[Any]  # numbers, codes of classes, or events and times
    weights: Floats | None
    folds: NDArray[np.intp] | None = None  # [row]


def all_folds(parts: Sequence[Predicted]) -> Predicted:
    """The held-out rows of all folds together."""
    weights = None if parts[0].weights is None else np.concatenate([np.asarray(part.weights) for part in parts])
    folds = np.repeat(np.arange(len(parts)), [len(part.truth) for part in parts])
    values, truth = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "truth"))
    return Predicted(values, truth, weights, folds)


def figures_of(predicted: Predicted, by_class: bool) -> Figures:
    """The figures of some rows."""
    if by_class:
        return class_figures(predicted.values, predicted.truth, predicted.weights)
    if predicted.truth.dtype.names is not None:
        return survival_figures(predicted.values[:, 0], predicted.truth, predicted.weights, predicted.folds)
    return number_figures(predicted.values[:, 0], predicted.truth, predicted.weights)


def held_out_of(repetitions: Sequence[Predicted], *, by_class: bool, n_rules: int, n_folds: int) -> HeldOut:
    """Figures averaged over repetitions; groups of probabilities over all of them."""
    every = [figures_of(predicted, by_class) for predicted in repetitions]
    figures = {name: _average([figures[name] for figures in every]) for name in every[0]}
    found = HeldOut(n_rules, n_folds, len(repetitions), figures, variance=_variance(repetitions[0]))
    n_classes = repetitions[0].values.shape[1] if by_class else 0
    if n_classes < 2 or n_classes > MOST_CLASSES:
        return found
    values, truth = (np.concatenate([getattr(p, name) for p in repetitions]) for name in ("values", "truth"))
    weights = np.concatenate([np.ones(len(p.truth)) if p.weights is None else p.weights for p in repetitions])
    weights /= len(repetitions)
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (truth, values.argmax(axis=1)), weights)
    return replace(found, bins=_bins(values, truth, weights), confusion=confusion)


def _variance(predicted: Predicted) -> float | None:
    """That of the truth, where it is numbers."""
    truth, weights = predicted.truth, predicted.weights
    if truth.dtype.kind != "f":
        return None
    mean = np.average(truth, weights=weights)
    variance = float(np.average((truth - mean) ** 2, weights=weights))
    return variance if np.isfinite(variance) else None


def _bins(values: Floats, truth: NDArray[Any], weights: Floats) -> tuple[Bins, ...]:
    n_classes = values.shape[1]
    codes, most = ([1], MOST_BINS) if n_classes == 2 else (range(n_classes), BINS_OF_SEVERAL)
    return tuple(bins_of(k, values[:, k], truth == k, weights, most) for k in codes)


def _average(pairs: Sequence[tuple[float, float | None]]) -> tuple[float, float | None]:
    """The mean over repetitions; they have the same rows, so the standard error does not fall with their number."""
    errors = [error for _, error in pairs if error is not None]
    return float(np.mean([value for value, _ in pairs])), float(np.mean(errors)) if errors else None

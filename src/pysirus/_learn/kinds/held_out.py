"""Predictions of held-out rows in, figures and groups of probabilities out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.metrics.rows import Predicted, all_folds, spread_of, weights_or_ones
from pysirus._learn.kinds.kind import Kind
from pysirus._model.held_out import MOST_BINS, MOST_CLASSES, Bins, HeldOut, bins_of

BINS_OF_SEVERAL = 50  # for each of more than two classes

Floats = NDArray[np.float64]


def held_out_of(repetitions: Sequence[Sequence[Predicted]], kind: Kind, n_rules: int) -> HeldOut:
    """Figures of the folds of some repetitions, averaged; groups of probabilities over all of them."""
    every = [kind.metrics(folds) for folds in repetitions]
    figures = {name: _average([figures[name] for figures in every]) for name in every[0]}
    n_folds = len(repetitions[0])
    found = HeldOut(n_rules, n_folds, len(repetitions), figures, variance=_variance(repetitions[0]))
    n_classes = repetitions[0][0].values.shape[1]  # 1 where numbers are predicted
    if n_classes < 2 or n_classes > MOST_CLASSES:
        return found
    rows = all_folds([fold for folds in repetitions for fold in folds])
    weights = weights_or_ones(rows.weights, rows.truth) / len(repetitions)
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (rows.truth, rows.values.argmax(axis=1)), weights)
    return replace(found, bins=_bins(rows.values, rows.truth, weights), confusion=confusion)


def _variance(folds: Sequence[Predicted]) -> float | None:
    """That of the truth, where it is numbers."""
    if folds[0].truth.dtype.kind != "f":
        return None
    total, squares = spread_of([(fold.truth, fold.weights) for fold in folds])
    return squares / total if np.isfinite(squares / total) else None


def _bins(values: Floats, truth: NDArray[Any], weights: Floats) -> tuple[Bins, ...]:
    n_classes = values.shape[1]
    codes, most = ([1], MOST_BINS) if n_classes == 2 else (range(n_classes), BINS_OF_SEVERAL)
    return tuple(bins_of(k, values[:, k], truth == k, weights, most) for k in codes)


def _average(pairs: Sequence[tuple[float, float | None]]) -> tuple[float, float | None]:
    """The mean over repetitions; they have the same rows, so the standard error does not fall with their number."""
    errors = [error for _, error in pairs if error is not None]
    return float(np.mean([value for value, _ in pairs])), float(np.mean(errors)) if errors else None

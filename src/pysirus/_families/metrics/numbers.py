"""Predicted and true numbers in, metrics and their standard errors over rows out, block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pysirus._families.losses import Loss
from pysirus._families.metrics.rows import Metrics, Predicted, spread_of, sums_of, weights_or_ones

Floats = NDArray[np.float64]
Numbers = tuple[Floats, Floats, Floats | None]  # predicted, true, weights


def number_metrics(folds: Sequence[Predicted], loss: Loss | None = None) -> Metrics:
    """Of numbers by R²; of counts and amounts, whose loss is given, by its deviance."""
    pieces = [(fold.values[:, 0], fold.truth, fold.weights) for fold in folds]
    squared, se = _mean_loss(pieces, lambda predicted, y: (y - predicted) ** 2)
    absolute = _mean_loss(pieces, lambda predicted, y: np.abs(y - predicted))
    root = math.sqrt(squared)
    sizes = {"rmse": (root, se / (2 * root) if root > 0 else 0.0), "mae": absolute}
    truths = [(y, weights) for _, y, weights in pieces]
    if loss is None:
        total, squares = spread_of(truths)
        return _shares("r2", "unexplained_variance", (squared, se), squares / total, sizes)
    own = _mean_loss(pieces, lambda predicted, y: loss.deviances_of_means(y, predicted))
    constant = deviance_about_mean(loss, truths)
    return _shares("d2", "unexplained_deviance", own, constant, {"mean_deviance": own, **sizes})


def _shares(explained: str, unexplained: str, own: tuple[float, float], constant: float, others: Metrics) -> Metrics:
    """Metrics between the share of the constant's loss that is explained and the share that is not."""
    if not constant > 0:
        return dict(others)
    share, se = own[0] / constant, own[1] / constant
    return {explained: (1 - share, se), **others, unexplained: (share, se)}


def _mean_loss(pieces: Sequence[Numbers], loss: Callable[[Floats, Floats], Floats]) -> tuple[float, float]:
    """The weighted mean of what each row loses, and its standard error over rows."""

    def first(predicted: Floats, y: Floats, weights: Floats | None) -> tuple[Floats, ...]:
        w = weights_or_ones(weights, y)
        return w, w * loss(predicted, y)

    total, lost = sums_of(pieces, first)
    mean = lost / total

    def second(predicted: Floats, y: Floats, weights: Floats | None) -> tuple[Floats, ...]:
        return (weights_or_ones(weights, y) ** 2 * (loss(predicted, y) - mean) ** 2,)

    return mean, math.sqrt(sums_of(pieces, second)[0]) / total


def deviance_about_mean(loss: Loss, pieces: Sequence[tuple[Floats, Floats | None]]) -> float:
    """The mean deviance of counts or amounts about their mean, which is the constant that fits them best."""

    def first(y: Floats, weights: Floats | None) -> tuple[Floats, ...]:
        w = weights_or_ones(weights, y)
        return w, w * y

    total, weighted = sums_of(pieces, first)
    mean = np.array([weighted / total])

    def second(y: Floats, weights: Floats | None) -> tuple[Floats, ...]:
        return (weights_or_ones(weights, y) * loss.deviances_of_means(y, np.broadcast_to(mean, y.shape)),)

    return sums_of(pieces, second)[0] / total

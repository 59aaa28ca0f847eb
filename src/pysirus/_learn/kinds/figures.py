"""Predictions and the truth in, figures and their standard errors out.

Standard errors are those of means over rows (of an AUC by DeLong's placements), so they say how much the figure would
move with other rows, not with another fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._learn.kinds.blocks import spread_of, sums_of, weights_or_ones
from pysirus._learn.kinds.gain import gamma_loss, poisson_loss
from pysirus._model.held_out import Figures
from pysirus._sums import weighted_sum
from pysirus._weights.survival_error import count_pairs

Floats = NDArray[np.float64]
Numbers = tuple[Floats, Floats, Floats | None]  # predicted, true, weights

CALIBRATION_BINS = 10  # of equal weight
LEAST_PROBABILITY = 1e-15  # in a log loss, so that one certain mistake is not infinite


def class_figures(probabilities: Floats, codes: NDArray[np.integer], weights: Floats | None) -> Figures:
    """Of probabilities [row, class] and the true classes."""
    n_rows, n_classes = probabilities.shape
    w = np.ones(n_rows) if weights is None else weights
    member = codes[:, None] == np.arange(n_classes)
    hits = (probabilities.argmax(axis=1) == codes).astype(np.float64)
    own = np.clip(probabilities[np.arange(n_rows), codes], LEAST_PROBABILITY, 1.0)
    squares = (probabilities - member) ** 2
    figures: dict[str, tuple[float, float | None]] = {
        "accuracy": _mean(hits, w),
        "balanced_accuracy": _balanced(hits, codes, w, n_classes),
    }
    areas = [auc_of(probabilities[:, k], member[:, k], w) for k in ([1] if n_classes == 2 else range(n_classes))]
    known = [area for area in areas if area is not None]
    if known:
        spread = known[0][1] if len(known) == 1 else None
        figures["auc"] = (float(np.mean([area for area, _ in known])), spread)
    figures["log_loss"] = _mean(-_core.log(own), w)
    figures["brier"] = _mean(squares[:, 1] if n_classes == 2 else squares.sum(axis=1), w)
    figures["calibration_error"] = (calibration_error(probabilities, codes, w), None)
    return figures


def figures_of_numbers(pieces: Sequence[Numbers], loss: str | None = None) -> Figures:
    """Of predicted numbers, true numbers and weights, in pieces."""
    squared, se = _mean_loss(pieces, _squared)
    absolute = _mean_loss(pieces, lambda predicted, y: np.abs(y - predicted))
    root = math.sqrt(squared)
    sizes = {"rmse": (root, se / (2 * root) if root > 0 else 0.0), "mae": absolute}
    if loss is None:
        total, squares = spread_of([(y, weights) for _, y, weights in pieces])
        return _shares("r2", "unexplained_variance", (squared, se), squares / total, sizes)
    own = _mean_loss(pieces, lambda predicted, y: deviances(loss, predicted, y))
    constant = deviance_about_mean(loss, [(y, weights) for _, y, weights in pieces])
    return _shares("d2", "unexplained_deviance", own, constant, {"mean_deviance": own, **sizes})


def _shares(
    explained: str, unexplained: str, own: tuple[float, float], constant: float, others: Figures
) -> dict[str, tuple[float, float | None]]:
    """Figures between the share of the constant's loss that is explained and the share that is not."""
    if not constant > 0:
        return dict(others)
    share, se = own[0] / constant, own[1] / constant
    return {explained: (1 - share, se), **others, unexplained: (share, se)}


def _squared(predicted: Floats, y: Floats) -> Floats:
    return np.asarray((y - predicted) ** 2)


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


def deviances(loss: str, predicted: Floats, y: Floats) -> Floats:
    """The deviance of each count or amount."""
    half = poisson_loss if loss == "poisson" else gamma_loss
    return 2 * half(predicted[:, None], y)


def deviance_about_mean(loss: str, pieces: Sequence[tuple[Floats, Floats | None]]) -> float:
    """The mean deviance of counts or amounts about their mean, which is the constant that fits them best."""

    def first(y: Floats, weights: Floats | None) -> tuple[Floats, ...]:
        w = weights_or_ones(weights, y)
        return w, w * y

    total, weighted = sums_of(pieces, first)
    mean = np.array([weighted / total])

    def second(y: Floats, weights: Floats | None) -> tuple[Floats, ...]:
        return (weights_or_ones(weights, y) * deviances(loss, np.broadcast_to(mean, y.shape), y),)

    return sums_of(pieces, second)[0] / total


def survival_figures(
    scores: Floats, truth: NDArray[Any], weights: Floats | None, folds: NDArray[np.intp] | None = None
) -> Figures:
    """Of scores, and events and times; pairs are compared within folds."""
    pairs = count_pairs(truth["time"], truth["event"], np.round(scores, 12), weights, folds)
    return {"concordance": (pairs.concordance, None)}


def _mean(values: Floats, weights: Floats) -> tuple[float, float]:
    """A weighted mean and its standard error."""
    total = float(weights.sum())
    mean = float(weighted_sum(weights, values)) / total
    return mean, float(np.sqrt(weighted_sum(weights**2, (values - mean) ** 2))) / total


def _balanced(hits: Floats, codes: NDArray[np.integer], weights: Floats, n_classes: int) -> tuple[float, float]:
    """The mean over classes of the share of their rows that is predicted right; classes without rows are left out."""
    pairs = [_mean(hits[codes == k], weights[codes == k]) for k in range(n_classes) if (codes == k).any()]
    mean, spread = (np.array(values) for values in zip(*pairs))
    return float(mean.mean()), float(np.sqrt((spread**2).sum())) / len(pairs)


def auc_of(scores: Floats, member: NDArray[np.bool_], weights: Floats) -> tuple[float, float] | None:
    """The chance that a member scores above another row, ties counting half, and its standard error."""
    if member.all() or not member.any():
        return None
    above = _placements(scores[member], scores[~member], weights[~member])
    below = 1 - _placements(scores[~member], scores[member], weights[member])
    area, first = _mean(above, weights[member])
    return area, float(np.hypot(first, _mean(below, weights[~member])[1]))


def _placements(scores: Floats, others: Floats, weights: Floats) -> Floats:
    """The share of other rows below each score, ties counting half."""
    scores, others = np.round(scores, 12), np.round(others, 12)
    order = np.argsort(others, kind="stable")
    cumulated = np.concatenate([[0.0], np.cumsum(weights[order])])
    left = np.searchsorted(others[order], scores, side="left")
    right = np.searchsorted(others[order], scores, side="right")
    return np.asarray((cumulated[left] + cumulated[right]) / 2 / cumulated[-1])


def calibration_error(probabilities: Floats, codes: NDArray[np.integer], weights: Floats) -> float:
    """How far probabilities are from what came true, on average over ten groups of equal weight.

    Of two classes it is the probability of the second; of more that of the predicted class.
    """
    n_classes = probabilities.shape[1]
    if n_classes == 2:
        claimed, came = probabilities[:, 1], codes == 1
    else:
        claimed, came = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    order = np.argsort(claimed, kind="stable")
    mass = weights[order]
    group = np.minimum((CALIBRATION_BINS * (np.cumsum(mass) - mass / 2) / mass.sum()).astype(np.intp), 9)
    gaps = np.bincount(group, mass * (claimed[order] - came[order]), CALIBRATION_BINS)
    return float(np.abs(gaps).sum() / mass.sum())

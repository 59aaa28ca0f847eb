"""Predictions and the truth in, figures and their standard errors out.

Standard errors are those of means over rows (of an AUC by DeLong's placements), so they say how much the figure would
move with other rows, not with another fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._kind.blocks import spread_of, sums_of, weights_or_ones
from pysirus._model.held_out import Figures
from pysirus._sums import weighted_sum
from pysirus._weights.survival_error import count_pairs

Floats = NDArray[np.float64]

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


def number_figures(predicted: Floats, y: Floats, weights: Floats | None) -> Figures:
    """Of predicted and true numbers."""
    return figures_of_numbers([(predicted, y, weights)])


def figures_of_numbers(pieces: Sequence[tuple[Floats, Floats, Floats | None]]) -> Figures:
    """Of predicted numbers, true numbers and weights, in pieces."""

    def first(predicted: Floats, y: Floats, weights: Floats | None) -> tuple[Floats, ...]:
        w, error = weights_or_ones(weights, y), y - predicted
        return w, w * error**2, w * np.abs(error)

    total, squares, sizes = sums_of(pieces, first)
    squared, absolute = squares / total, sizes / total

    def second(predicted: Floats, y: Floats, weights: Floats | None) -> tuple[Floats, ...]:
        w, error = weights_or_ones(weights, y), y - predicted
        return w**2 * (error**2 - squared) ** 2, w**2 * (np.abs(error) - absolute) ** 2

    se, absolute_se = (math.sqrt(own) / total for own in sums_of(pieces, second))
    variance = spread_of([(y, weights) for _, y, weights in pieces])[1] / total
    root = math.sqrt(squared)
    figures: dict[str, tuple[float, float | None]] = {}
    if variance > 0:
        unexplained = squared / variance
        figures["r2"] = (1 - unexplained, se / variance)
    figures |= {"rmse": (root, se / (2 * root) if root > 0 else 0.0), "mae": (absolute, absolute_se)}
    if variance > 0:
        figures["unexplained_variance"] = (unexplained, se / variance)
    return figures


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

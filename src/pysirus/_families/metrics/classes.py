"""Probabilities and true classes in, metrics and their standard errors out.

Standard errors are those of means over rows (of an AUC by DeLong's placements), so they say how much the metric would
move with other rows, not with another fit.

The AUC is there in two forms. That of one set of rows has a standard error. That of folds merges them: rows that a few
rules put together have equal scores, so a fold is first reduced to its distinct scores and what each of them weighs in
members and others of a class; then folds are merged, which costs no sorting of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.metrics.rows import Metrics, Predicted, weights_or_ones
from pysirus._sums import weighted_sum

Floats = NDArray[np.float64]

CALIBRATION_BINS = 10  # of equal weight
DIGITS = 12  # scores that agree to this many digits are equal: sums of the same shares in another order
LEAST_PROBABILITY = 1e-15  # in a log loss, so that one certain mistake is not infinite


def log_losses(probabilities: Floats, codes: NDArray[Any]) -> Floats:
    """Minus the logarithm of the probability of each row's class."""
    own = probabilities[np.arange(len(codes)), codes]
    return np.asarray(-_core.log(np.clip(own, LEAST_PROBABILITY, 1.0)))


def class_squares(probabilities: Floats, codes: NDArray[Any]) -> Floats:
    """Squared errors of probabilities [row, class]."""
    return np.asarray((probabilities - (codes[:, None] == np.arange(probabilities.shape[1]))) ** 2)


def brier_losses(probabilities: Floats, codes: NDArray[Any]) -> Floats:
    """Squared errors of probabilities, summed over classes."""
    return np.asarray(class_squares(probabilities, codes).sum(axis=1))


def class_metrics(rows: Predicted) -> Metrics:
    """Of probabilities [row, class] and the codes of the true classes."""
    probabilities, codes, w = rows.values, rows.truth, weights_or_ones(rows.weights, rows.truth)
    n_classes = probabilities.shape[1]
    member = codes[:, None] == np.arange(n_classes)
    hits = (probabilities.argmax(axis=1) == codes).astype(np.float64)
    metrics: dict[str, tuple[float, float | None]] = {
        "accuracy": _mean(hits, w),
        "balanced_accuracy": _balanced(hits, codes, w, n_classes),
    }
    areas = [auc_of(probabilities[:, k], member[:, k], w) for k in ([1] if n_classes == 2 else range(n_classes))]
    known = [area for area in areas if area is not None]
    if known:
        spread = known[0][1] if len(known) == 1 else None
        metrics["auc"] = (float(np.mean([area for area, _ in known])), spread)
    squares = class_squares(probabilities, codes)
    metrics["log_loss"] = _mean(log_losses(probabilities, codes), w)
    metrics["brier"] = _mean(squares[:, 1] if n_classes == 2 else squares.sum(axis=1), w)
    metrics["calibration_error"] = (calibration_error(probabilities, codes, w), None)
    return metrics


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
    scores, others = np.round(scores, DIGITS), np.round(others, DIGITS)
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


@dataclass(frozen=True)
class Ranks:
    """Distinct scores, rising, and the weight of members and of others that have them."""

    scores: NDArray[np.float64]
    members: NDArray[np.float64]
    others: NDArray[np.float64]


def rank(scores: NDArray[np.float64], member: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> Ranks:
    """Reduce rows to their distinct scores."""
    distinct, place = np.unique(np.round(scores, DIGITS), return_inverse=True)
    mass = np.ones(len(scores)) if weights is None else weights
    return Ranks(distinct, _sums(place, mass * member, len(distinct)), _sums(place, mass * ~member, len(distinct)))


def _sums(place: NDArray[np.intp], mass: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(place, mass, n), dtype=np.float64)


def merge(folds: Sequence[Ranks]) -> Ranks:
    """The ranks of several folds together."""
    distinct, place = np.unique(np.concatenate([fold.scores for fold in folds]), return_inverse=True)
    members = _sums(place, np.concatenate([fold.members for fold in folds]), len(distinct))
    return Ranks(distinct, members, _sums(place, np.concatenate([fold.others for fold in folds]), len(distinct)))


def merged_auc(ranks: Ranks) -> float | None:
    """The chance that a member scores above another row, ties counting half; None when one side is empty."""
    n_members, n_others = ranks.members.sum(), ranks.others.sum()
    if n_members <= 0 or n_others <= 0:
        return None
    below = np.cumsum(ranks.others) - ranks.others / 2
    return float(weighted_sum(ranks.members, below) / (n_members * n_others))

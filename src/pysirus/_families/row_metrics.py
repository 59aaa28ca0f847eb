"""Predictions and targets in, metrics and their standard errors out: for regression and for classes.

Standard errors are those of means over rows (of an AUC by DeLong's placements), so they say how much the metric would
move with other rows, not with another fit.

The AUC is there in two forms. That of one set of rows has a standard error. That of folds merges them: rows that a few
rules put together have equal scores, so a fold is first reduced to its distinct scores and the weight of each in
members and others of a class; then folds are merged, which costs no sorting of rows.

Sums over rows are taken in blocks of fixed size, so that no array of all rows is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.links import Loss
from pysirus._runtime.sums import weighted_sum

BLOCK_ROWS = 1 << 16  # rows that are looked at together: their predictions for every size take some memory

Floats = NDArray[np.float64]
Metrics = Mapping[str, tuple[float, float | None]]  # by name: the number and its standard error
Piece = Sequence[NDArray[Any] | None]  # arrays of the same rows; the first is there, others may be missing


class Predicted(NamedTuple):
    """Rows that were not learned from: what was predicted [row, output], the truth, and the weights of the rows."""

    values: Floats
    truth: NDArray[Any]  # numbers, codes of classes, or events and times
    weights: Floats | None
    folds: NDArray[np.intp] | None = None  # [row]


def all_folds(parts: Sequence[Predicted]) -> Predicted:
    """The rows of all folds together."""
    weights = None if parts[0].weights is None else np.concatenate([np.asarray(part.weights) for part in parts])
    folds = np.repeat(np.arange(len(parts)), [len(part.truth) for part in parts])
    values, truth = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "truth"))
    return Predicted(values, truth, weights, folds)


def blocks_of(n_rows: int) -> Iterator[slice]:
    """Rows in blocks, the last of which may be shorter."""
    return (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))


def sums_of(pieces: Sequence[Piece], terms: Callable[..., Sequence[Floats]]) -> list[float]:
    """The sum over all rows of each of the terms, which are computed from the arrays of a block."""
    found = [
        [float(term.sum()) for term in terms(*(None if array is None else array[rows] for array in piece))]
        for piece in pieces
        for rows in blocks_of(len(_first(piece)))
    ]
    return [math.fsum(blocks) for blocks in zip(*found)]


def _first(piece: Piece) -> NDArray[Any]:
    assert piece[0] is not None
    return piece[0]


def weights_or_ones(weights: Floats | None, like: NDArray[Any]) -> Floats:
    """The weights of some rows; one each where there are none."""
    return np.ones(len(like)) if weights is None else weights


def spread_of(pieces: Sequence[tuple[Floats, Floats | None]]) -> tuple[float, float]:
    """The total weight of numbers with weights, and the weighted sum of squares about their mean."""

    def first(y: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        w = weights_or_ones(weights, y)
        return w, w * y

    total, weighted = sums_of(pieces, first)
    mean = weighted / total
    (squares,) = sums_of(pieces, lambda y, weights: (weights_or_ones(weights, y) * (y - mean) ** 2,))
    return total, squares


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


def class_metrics(rows: Predicted, chosen: NDArray[Any] | None = None) -> Metrics:
    """Of probabilities [row, class] and the codes of the true classes; ``chosen`` are those decided for instead."""
    probabilities, codes, w = rows.values, rows.truth, weights_or_ones(rows.weights, rows.truth)
    n_classes = probabilities.shape[1]
    member = codes[:, None] == np.arange(n_classes)
    hits = ((probabilities.argmax(axis=1) if chosen is None else chosen) == codes).astype(np.float64)
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


# ----------------------------------------------------------------------------------------------------- survival metrics

# Scores or survival functions and what happened in, errors out: concordance, integrated Brier score.
#
# Scores of different folds do not compare, as each is relative to a hazard of its own: pairs are counted within folds.


Flags = NDArray[np.bool_]

SCORE_DIGITS = 12  # scores are compared after rounding: the order of a sum changes its last digits


@dataclass(frozen=True)
class Pairs:
    """Weights of pairs of rows whose order in time is known; those of several folds add up."""

    right: float = 0.0  # the higher score has the earlier event
    tied: float = 0.0  # equal scores
    all: float = 0.0

    def __add__(self, other: Pairs) -> Pairs:
        return Pairs(self.right + other.right, self.tied + other.tied, self.all + other.all)

    @property
    def concordance(self) -> float:
        """Harrell's C: the share in the right order, ties half; one half where no pair can be compared."""
        return (self.right + self.tied / 2) / self.all if self.all > 0 else 0.5

    @property
    def error(self) -> float:
        """2 (1 - C): 0 is perfect, 1 no better than a constant."""
        return 2 * (1 - self.concordance)


def count_pairs(
    times: Floats,
    events: Flags,
    scores: Floats,
    weights: Floats | None = None,
    folds: NDArray[np.integer] | None = None,
) -> Pairs:
    """Pairs of rows of which the one with the event goes first, within each fold.

    Two rows compare where the earlier time is an event, or where times are equal and one of them is. A pair weighs the
    product of its rows' weights.
    """
    time = np.asarray(times, dtype=np.float64)
    event = np.asarray(events, dtype=bool).astype(np.uint8)
    score = np.asarray(scores, dtype=np.float64).reshape(len(time))
    weight = None if weights is None else np.asarray(weights, dtype=np.float64)
    every = np.arange(len(time))
    groups = [every] if folds is None else [every[folds == fold] for fold in np.unique(folds)]
    total = Pairs()
    for rows in groups:
        own = None if weight is None else weight[rows]
        total += Pairs(*_core.concordance(time[rows], event[rows], score[rows], own))
    return total


def survival_metrics(rows: Predicted) -> Metrics:
    """Of scores, and events and times; pairs are compared within folds."""
    scores, truth = np.round(rows.values[:, 0], SCORE_DIGITS), rows.truth
    return {
        "concordance": (count_pairs(truth["time"], truth["event"], scores, rows.weights, rows.folds).concordance, None)
    }


@dataclass(frozen=True)
class Censoring:
    """The probability of not being censored yet: Kaplan and Meier's curve with events and censoring swapped."""

    times: Floats  # rising
    curve: Floats  # from each time on; 1 before the first

    def after(self, times: Floats) -> Floats:
        """The probability of being censored later than some times."""
        return self._at(np.searchsorted(self.times, times, side="right"))

    def before(self, times: Floats) -> Floats:
        """The probability of being censored at some times or later."""
        return self._at(np.searchsorted(self.times, times, side="left"))

    def _at(self, places: NDArray[np.intp]) -> Floats:
        return np.concatenate([[1.0], self.curve])[places]


def censoring(times: Floats, events: Flags, weights: Floats | None = None) -> Censoring:
    """The curve of the rows given, which are those of training. At equal times events come before censoring."""
    events = np.asarray(events, dtype=bool)
    distinct, place = np.unique(np.asarray(times, dtype=np.float64), return_inverse=True)
    weight = np.ones(len(place)) if weights is None else np.asarray(weights, dtype=np.float64)
    lost, ended = (np.bincount(place, weight * flag, minlength=len(distinct)) for flag in (~events, events))
    at_risk = np.cumsum((lost + ended)[::-1])[::-1] - ended
    share = np.divide(lost, at_risk, out=np.zeros(len(distinct)), where=lost > 0)
    return Censoring(distinct, np.cumprod(np.clip(1 - share, 0.0, 1.0)))


def brier_scores(
    times: Floats, events: Flags, survival: Floats, at: Floats, censored: Censoring, weights: Floats | None = None
) -> Floats:
    """Brier scores of predicted survival [row, time] at the times ``at``, censoring made up for by its inverse weight.

    Graf, Schmoor, Sauerbrei and Schumacher (1999). Rows that are censored before a time say nothing about it. So do
    rows at times that the censoring curve gives no chance, which are left out.
    """
    times, at = np.asarray(times, dtype=np.float64), np.asarray(at, dtype=np.float64)
    events = np.asarray(events, dtype=bool)
    had = events[:, None] & (times[:, None] <= at)
    free = times[:, None] > at
    chance = np.where(had, censored.before(times)[:, None], censored.after(at)[None, :])
    counts = np.divide(1.0, chance, out=np.zeros(chance.shape), where=(had | free) & (chance > 0))
    errors = counts * np.where(free, 1 - survival, survival) ** 2
    return np.asarray(np.average(errors, axis=0, weights=weights))


def integrated_brier_score(
    times: Floats, events: Flags, survival: Floats, at: Floats, censored: Censoring, weights: Floats | None = None
) -> float:
    """The mean Brier score over the time from the first to the last of ``at``, by trapezoids."""
    at = np.asarray(at, dtype=np.float64)
    scores = brier_scores(times, events, survival, at, censored, weights)
    if len(at) < 2 or at[-1] <= at[0]:
        return float(scores[0])
    return float(((scores[1:] + scores[:-1]) / 2 * np.diff(at)).sum() / (at[-1] - at[0]))

"""Predictions and targets in, metrics and their standard errors out: what they have in common, and those of numbers.

Rows are first reduced to a *tally*, which adds up over rows in several places: exact sums, and of classes how much
rows of each predicted probability weigh. A metric of the same rows is then the same number wherever they lie. Standard
errors are those of means over rows (of an AUC by DeLong's placements), so they say how much the metric would move with
other rows, not with another fit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.links import Loss
from pysirus._runtime.sums import ExactSums

BLOCK_ROWS = 1 << 16  # rows that are looked at together: their predictions for every size take some memory

Floats = NDArray[np.float64]
Metrics = Mapping[str, tuple[float, float | None]]  # by name: the number and its standard error


class Predicted(NamedTuple):
    """Rows that were not learned from: what was predicted [row, output], the truth, and the weights of the rows."""

    values: Floats
    truth: NDArray[Any]  # numbers, codes of classes, or events and times
    weights: Floats | None


@dataclass(frozen=True)
class Yardstick:
    """What must be the same for all rows whose tallies add up."""

    n_rows: int
    heaviest: float = 1.0  # the largest weight
    centre: float = 0.0  # a number near the mean of numbers, from which they are measured

    @classmethod
    def of(cls, folds: Sequence[Predicted]) -> Yardstick:
        """That of rows that are all here."""
        n_rows = sum(len(fold.truth) for fold in folds)
        heaviest = max((1.0 if f.weights is None else float(f.weights.max()) for f in folds if len(f.truth)), default=1)
        if folds[0].truth.dtype.kind != "f":
            return cls(n_rows, heaviest)
        truths = ((fold.truth, weights_or_ones(fold.weights, fold.truth)) for fold in folds)
        mass, moment = reduce(add, (ExactSums.of(np.stack([w, w * y], axis=1)) for y, w in truths)).floats.tolist()
        return cls(n_rows, heaviest, moment / mass if mass > 0 and math.isfinite(moment / mass) else 0.0)

    def exponents(self) -> tuple[int, int]:
        """Weights and their squares become integers by these powers of two, so small that all of them add up."""
        bits = min(40, 54 - math.ceil(math.log2(max(2, self.n_rows))))
        own = math.frexp(self.heaviest)[1]
        return bits - own, bits - 2 * own


class Tally(ABC):
    """What metrics of rows are computed from, which adds up over rows in several places, and over folds."""

    @abstractmethod
    def __add__(self, other: Any) -> Any: ...

    @abstractmethod
    def metrics(self) -> Metrics:
        """By name."""

    @property
    def variance(self) -> float | None:
        """That of the truth; None where it is no number, or not finite."""
        return None

    @property
    def areas(self) -> tuple[Any, ...]:
        """Of classes the ladders of the second of two, of more of each."""
        return ()

    @property
    def confused(self) -> Floats | None:
        """Of classes the weight of rows, [true, predicted]; of very many none."""
        return None


def blocks_of(n_rows: int) -> Iterator[slice]:
    """Rows in blocks, the last of which may be shorter."""
    return (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))


def weights_or_ones(weights: Floats | None, like: NDArray[Any]) -> Floats:
    """The weights of some rows; one each where there are none."""
    return np.ones(len(like)) if weights is None else weights


def loss_columns(w: Floats, losses: Floats) -> list[Floats]:
    """What the mean of the losses of rows and its standard error are computed from, beside the weights."""
    lost = w * losses
    return [lost, w * lost, lost * lost]


def mean_loss(mass: Sequence[Fraction], lost: Sequence[Fraction]) -> tuple[float, float]:
    """The weighted mean of what each row loses, and its standard error over rows."""
    (weight, squares), (first, crossed, second) = mass, lost
    mean = first / weight
    return float(mean), root(second - 2 * mean * crossed + mean * mean * squares) / float(weight)


def root(square: Fraction) -> float:
    """The square root of an exact sum of squares, which products of rounded numbers may leave below zero."""
    return math.sqrt(max(float(square), 0.0))


# ---------------------------------------------------------------------------------------------------------- numbers


@dataclass(frozen=True)
class Truths:
    """Exact sums of numbers with weights, measured from a centre: weights, deviations, their squares, deviances."""

    centre: float
    sums: ExactSums

    @classmethod
    def of(cls, y: Floats, weights: Floats | None, centre: float, loss: Loss | None = None) -> Truths:
        """Those of some rows; deviances of a loss where it is given."""
        w = weights_or_ones(weights, y)
        with np.errstate(over="ignore", invalid="ignore"):
            off = w * (y - centre)
            columns = [w, off, off * (y - centre)]
            if loss is not None:
                columns.append(w * loss.deviances_of_means(y, np.full(len(y), centre)))
        return cls(centre, ExactSums.of(np.stack(columns, axis=1)))

    def __add__(self, other: Truths) -> Truths:
        return replace(self, sums=self.sums + other.sums)


def _about_mean(truths: Sequence[Truths]) -> tuple[Fraction, Fraction, Fraction] | None:
    """The total weight, the mean, and the sum of squares about it; None where numbers are too large for that."""
    every = [(Fraction(own.centre), own.sums.fractions) for own in truths]
    if any(sums is None for _, sums in every):
        return None
    known = [(centre, sums) for centre, sums in every if sums is not None]
    total = sum((sums[0] for _, sums in known), Fraction(0))
    if not total:
        return None
    mean = sum((centre * sums[0] + sums[1] for centre, sums in known), Fraction(0)) / total
    squares = [s[2] - 2 * (mean - centre) * s[1] + (mean - centre) ** 2 * s[0] for centre, s in known]
    return total, mean, max(sum(squares, Fraction(0)), Fraction(0))


def spread_of(truths: Sequence[Truths]) -> tuple[float, float]:
    """The total weight of numbers, and the weighted sum of squares about their mean."""
    found = _about_mean(truths)
    return (math.nan, math.nan) if found is None else (float(found[0]), float(found[2]))


def deviance_about_mean(loss: Loss, truths: Sequence[Truths]) -> float:
    """The deviance of counts or amounts about their mean, which is the constant that fits them best.

    The deviance about another constant differs by ``a + b y``, whatever y is: two of them tell a and b.
    """
    found = _about_mean(truths)
    if found is None:
        return math.nan
    total, mean = Fraction(0), float(found[1])
    for own in truths:
        sums, centre = own.sums.fractions, own.centre
        assert sums is not None
        if centre != mean and centre > 0:
            at = np.array([centre, 2 * centre])
            gaps = loss.deviances_of_means(at, np.full(2, mean)) - loss.deviances_of_means(at, np.full(2, centre))
            start, step = float(gaps[0]), float(gaps[1] - gaps[0]) / centre
            total += Fraction(start) * sums[0] + Fraction(step) * sums[1]
        total += sums[3]
    return max(float(total), 0.0)


@dataclass(frozen=True)
class NumberTally(Tally):
    """Rows that are predicted by a number each: exact sums of what they lose, and of the numbers."""

    loss: Loss | None  # of counts and amounts
    truths: Truths
    lost: ExactSums  # weights and their squares; of squared and absolute errors, and of deviances, three sums each

    @classmethod
    def of(cls, rows: Predicted, loss: Loss | None, like: Yardstick) -> NumberTally:
        """That of some rows."""
        y, predicted, w = rows.truth, rows.values[:, 0], weights_or_ones(rows.weights, rows.truth)
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = y - predicted
            losses = [gaps * gaps, np.abs(gaps), *([] if loss is None else [loss.deviances_of_means(y, predicted)])]
            columns = [w, w * w, *(column for own in losses for column in loss_columns(w, own))]
        truths = Truths.of(y, rows.weights, like.centre, loss)
        return cls(loss, truths, ExactSums.of(np.stack(columns, axis=1)))

    def __add__(self, other: NumberTally) -> NumberTally:
        return replace(self, truths=self.truths + other.truths, lost=self.lost + other.lost)

    @property
    def variance(self) -> float | None:
        """That of the truth; None where it is not finite."""
        total, squares = spread_of([self.truths])
        return squares / total if np.isfinite(squares / total) else None

    def metrics(self) -> Metrics:
        """Of numbers by R²; of counts and amounts by the deviance."""
        squared, absolute, *deviance = self._means()
        size = math.sqrt(squared[0])
        sizes = {"rmse": (size, squared[1] / (2 * size) if size > 0 else 0.0), "mae": absolute}
        total, squares = spread_of([self.truths])
        if self.loss is None:
            return _shares("r2", "unexplained_variance", squared, squares / total, sizes)
        constant = deviance_about_mean(self.loss, [self.truths]) / total
        own = deviance[0]
        return _shares("d2", "unexplained_deviance", own, constant, {"mean_deviance": own, **sizes})

    def _means(self) -> list[tuple[float, float]]:
        n_losses = 2 if self.loss is None else 3
        sums = self.lost.fractions
        if sums is None:  # of which some are beyond all numbers
            floats = self.lost.floats
            return [(float(floats[2 + 3 * k] / floats[0]), math.nan) for k in range(n_losses)]
        return [mean_loss(sums[:2], sums[2 + 3 * k : 5 + 3 * k]) for k in range(n_losses)]


def _shares(explained: str, unexplained: str, own: tuple[float, float], constant: float, others: Metrics) -> Metrics:
    """Metrics between the share of the constant's loss that is explained and the share that is not."""
    if not constant > 0:
        return dict(others)
    share, se = own[0] / constant, own[1] / constant
    return {explained: (1 - share, se), **others, unexplained: (share, se)}


# --------------------------------------------------------------------------------------------------------- survival
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


@dataclass(frozen=True)
class PairTally(Tally):
    """Of scores, and events and times: pairs are compared within folds, whose tallies add up."""

    pairs: Pairs

    @classmethod
    def of(cls, rows: Predicted) -> PairTally:
        """Those of a fold."""
        scores, truth = np.round(rows.values[:, 0], SCORE_DIGITS), rows.truth
        return cls(count_pairs(truth["time"], truth["event"], scores, rows.weights))

    def __add__(self, other: PairTally) -> PairTally:
        return PairTally(self.pairs + other.pairs)

    def metrics(self) -> Metrics:
        """The concordance."""
        return {"concordance": (self.pairs.concordance, None)}


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

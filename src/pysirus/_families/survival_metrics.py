"""Scores or survival functions and what happened in, errors out: concordance, integrated Brier score.

Scores of different folds do not compare, as each is relative to a hazard of its own: pairs are counted within folds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.row_metrics import Metrics, Predicted

Floats = NDArray[np.float64]
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

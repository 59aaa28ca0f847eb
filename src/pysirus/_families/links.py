"""Scores in, predictions out; what a score loses against a target; what effects that rules are given are measured on.

A link says what the sum of a model's weighted outputs stands for (docs/method.md, "Links"). The identity: the sum is
the prediction. ``softmax``: one score per class, and probabilities that are proportional to their exponentials; with
two classes the difference of the scores is the log-odds of the second. ``log``: the logarithm of a positive mean.
``hazard``: the logarithm of a hazard relative to that of an average row, which is the prediction. Exponentials,
losses and their slopes are the core's (cpp/weights/losses.hpp), so that a prediction has the same bits on every
machine.

Scores and targets are arrays [row, score]: numbers, 1 for the second of two classes, or 1 in the column of the class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pysirus import _core

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """What a score loses against a response."""

    name: str  # as the core has it
    power: float = 0.0  # of Tweedie's: the variance is the mean to this power

    @property
    def is_several(self) -> bool:
        """Whether there is a score for each class, of which only differences matter."""
        return self.name == "softmax"

    @property
    def is_of_classes(self) -> bool:
        """Whether means are probabilities."""
        return self.name in ("logistic", "softmax")

    def means(self, scores: Floats) -> Floats:
        """What scores stand for: probabilities, means of counts or amounts, or the scores themselves."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if self.is_several:
            return self.slopes(np.zeros_like(scores), scores)
        return _core.mean_of_scores(self.name, scores.ravel(), self.power).reshape(scores.shape)

    def slopes(self, y: Floats, scores: Floats) -> Floats:
        """The slope of the loss of each row in its scores."""
        return _core.loss_of_rows(self.name, _plain(scores), _plain(y), self.power)[1]

    def residuals(self, y: Floats, scores: Floats, constant: Floats) -> Floats:
        """What scores leave unexplained: minus the slope; of Tweedie's in the unit of the response, by the constant."""
        slopes = -self.slopes(y, scores)
        return np.asarray(slopes * _core.exp((self.power - 1) * constant) if self.name == "tweedie" else slopes)

    def deviances(self, y: Floats, scores: Floats) -> Floats:
        """Twice the loss of each row, less that of a score that knows its response."""
        return _core.deviance_of_rows(self.name, _plain(scores), _plain(y), self.power)

    def deviances_of_means(self, y: Floats, means: Floats) -> Floats:
        """The same told by the mean, one number a row: of the squared error the squared error itself."""
        return _core.deviance_of_means(self.name, _plain(means), _plain(y), self.power)

    def slopes_at(self, means: Floats, weight: Floats, total: Floats) -> tuple[Floats, Floats]:
        """Slope and curvature in one score of rows that share a mean: of their weight and weighted sum of responses."""
        return _core.slopes_at_means(self.name, _plain(means), _plain(weight), _plain(total), self.power)


def _plain(array: Floats) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float64)


SQUARED, LOGISTIC, SOFTMAX, POISSON, GAMMA = map(Loss, ("squared", "logistic", "softmax", "poisson", "gamma"))
COX = Loss("cox")  # which is no sum over rows: the core has its likelihood apart


Link = Literal["identity", "softmax", "log", "hazard"]
LINKS: tuple[Link, ...] = get_args(Link)

# How predictions follow from the sums of a list, for programs in other languages: the sum is the prediction, or its
# exponential is; the sums are probabilities of classes, or scores whose softmax they are, and the largest decides; one
# sum is the log-odds of the positive class of two. A language that can write these can write every family.
Form = Literal["sum", "exp", "shares", "softmax", "odds"]


def _same(scores: Floats) -> Floats:
    return scores


def _exp(scores: Floats) -> Floats:
    return _core.exp(np.ascontiguousarray(scores).ravel()).reshape(scores.shape)


def _softmax(scores: Floats) -> Floats:
    if scores.shape[1] == 1:
        return np.ones_like(scores)
    return SOFTMAX.means(scores)


INVERSE: dict[Link, Callable[[Floats], Floats]] = {
    "identity": _same,
    "softmax": _softmax,
    "log": _exp,
    "hazard": _same,
}


def log_odds(scores: Floats) -> Floats:
    """Of two classes the log-odds of the second, [...]; of more the scores themselves, [..., class]."""
    return np.asarray(scores[..., 1] - scores[..., 0]) if scores.shape[-1] == 2 else scores


@dataclass(frozen=True)
class EffectScale:
    """What rules add to or multiply, and the most that may be added to a score."""

    name: str
    largest: float
    multiplies: bool = False


ON_NUMBERS, ON_ODDS = EffectScale("the prediction", 1e100), EffectScale("log-odds", 100.0)
ON_MEAN, ON_HAZARD = EffectScale("the prediction", 100.0, True), EffectScale("the hazard", 100.0, True)

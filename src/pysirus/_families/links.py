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

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._text.format import decimals_for, format_number, format_outputs, one_line

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

    def losses(self, y: Floats, scores: Floats) -> Floats:
        """The loss of each row."""
        return _core.loss_of_rows(self.name, _plain(scores), _plain(y), self.power)[0]

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


# What a family reads of a term. Of any term that is what it adds, of a fitted rule also what the data say of it.


class Part(Protocol):
    """A term of a list, with its weight."""

    @property
    def weight(self) -> float | None: ...
    @property
    def inside(self) -> Any: ...
    @property
    def added(self) -> tuple[list[float], list[float]]: ...
    def contributions(self, values: Any, /) -> Any: ...
    def average_output(self, mean: Any, /) -> Any: ...


class RulePart(Part, Protocol):
    """A fitted rule: its outputs, what the data say inside and outside, and how many rows are there."""

    def average_output(self, mean: Any, /) -> NDArray[np.float64]: ...
    def added_from(self, average: Any, /) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @property
    def outside(self) -> Any: ...
    @property
    def means(self) -> tuple[Any, Any]: ...
    @property
    def n_inside(self) -> int | None: ...
    @property
    def n_outside(self) -> int | None: ...
    @property
    def survival(self) -> Any: ...
    @property
    def event_texts(self) -> Any: ...


LABELS = (24, 14, 8)  # characters of a class in a line of the default view
FOLD = "…"  # stands for the middle of a long name


def fold_middle(text: str, longest: int | None) -> str:
    """A text cut to ``longest`` characters by leaving out its middle."""
    if longest is None or len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}{FOLD}{text[len(text) - tail :]}"


def fold_labels(classes: Sequence[Any] | None, longest: int | None) -> tuple[Any, ...] | None:
    """Classes as they are named in a line; numbers stay numbers."""
    if classes is None or longest is None:
        return None if classes is None else tuple(classes)
    return tuple(fold_middle(one_line(label), longest) if isinstance(label, str) else label for label in classes)


NOT_REACHED = "not reached"
# names of columns that say in what their times are measured
UNITS = ["second", "minute", "hour", "day", "week", "month", "year", "cycle", "kilometre", "kilometer", "mile"]


@dataclass(frozen=True)
class Outcome:
    """Events and the median time to them.

    Attributes
    ----------
    n_events : int
        Rows with an event.
    median : float or None
        The time at which half of the rows had one (Kaplan and Meier); None where it is not reached.
    """

    n_events: int
    median: float | None


def unit_of(name: str) -> str:
    """The unit that a column of times is named after, with a space before it; else nothing."""
    return f" {name}" if name.lower().removesuffix("s") in UNITS else ""


def median_text(median: float | None) -> str:
    """A median with three digits, or that it is not reached."""
    return NOT_REACHED if median is None else f"{median:.{decimals_for([median], 0.0)}f}"


def median_texts(sides: Sequence[Outcome], unit: str = "") -> tuple[str, str]:
    """Medians inside and outside as text: ``median 3.1 years``, ``9.8``; one that is not reached is said so."""
    inside, outside = (side.median for side in sides)
    if inside is None or outside is None:
        first, second = map(median_text, (inside, outside))
    else:
        first, second = format_outputs(inside, outside, None)
    return f"median {first}{unit if inside is not None else ''}", second


def format_factors(logs: Iterable[float]) -> tuple[str, ...]:
    """By what factors logarithms multiply, as text."""
    return tuple(f"×{format_number(math.exp(min(float(value), 700.0)), 3)}" for value in logs)

"""Classes: a score for each, probabilities by softmax; of two all is about the log-odds of the positive one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.base import Family, Task, start_texts
from pysirus._families.class_metrics import LEAST_WEIGHT, Decision, log_losses
from pysirus._families.links import (
    LABELS,
    ON_ODDS,
    EffectScale,
    Floats,
    Form,
    Link,
    RulePart,
    fold_labels,
    fold_middle,
    log_odds,
)
from pysirus._families.target import ClassTarget
from pysirus._parameters import label_number
from pysirus._text.format import format_label, format_outputs, format_percents, format_shares, one_line, signed

Self = TypeVar("Self", bound="ClassFamily")
MOST_NAMED = 4  # classes whose points are named in a line
SHARE_ERROR = 1e-6  # class proportions sum to one


@dataclass(frozen=True)
class ClassFamily(ClassTarget, Family):
    """One of several classes for each row."""

    task: ClassVar[Task] = "classification"
    score_metric: ClassVar[str] = "accuracy"
    edit_metric: ClassVar[str] = "log_loss"
    predicts: ClassVar[str] = "classes"
    effect_scale: ClassVar[EffectScale | None] = ON_ODDS

    labels: tuple[Any, ...] = ()
    spoken_of: Any = None  # of two classes the label of one, where it was said
    class_weight: Any = None  # for the fit
    decides_by: Decision | None = None  # where it is not the most likely class

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels."""
        return self.labels

    def misfit(self, values: Floats, truth: Any) -> Floats:
        """What is missing of the probability of the true class."""
        return np.asarray(1 - values[np.arange(len(values)), truth])

    @property
    def positive_class(self) -> Any:
        """The class that was said to be spoken of."""
        return self.spoken_of

    @property
    def positive(self) -> int:
        """The number of the class that is spoken of: the last where nothing is said."""
        return len(self.labels) - 1 if self.spoken_of is None else label_number(self.spoken_of, self.labels) or 0

    def speaking_of(self: Self, label: Any) -> Self:
        """Of another class."""
        return self if label is None else replace(self, spoken_of=self.labels[label_number(label, self.labels) or 0])

    def of_last(self: Self) -> Self:
        """The family that speaks of the last class, as it does where no positive class is named."""
        return replace(self, spoken_of=None)

    def deciding_by(self: Self, decision: Decision | None) -> Self:
        """The family that decides so."""
        return replace(self, decides_by=decision)

    @property
    def decision_weights(self) -> tuple[float, ...]:
        """What the probability of each class is multiplied by before the largest decides."""
        return (1.0,) * len(self.labels) if self.decides_by is None else self.decides_by.weights

    @property
    def decision_text(self) -> str:
        """How a class is decided for, in words; empty where it is the most likely one."""
        if self.decides_by is None:
            return ""
        if len(self.labels) == 2:
            k = self.positive
            said = f"{self.label_text(k)} above a probability of {self.decides_by.cutoff(k):.4g}"
        else:
            pairs = zip(self.labels, self.decides_by.costs or self.decides_by.weights)
            said = "largest probability times cost, " + ", ".join(f"{label} {cost:g}" for label, cost in pairs)
        return one_line(f"{said} ({self.decides_by.how()})")

    def winning_margins(self, k: int) -> tuple[Floats, Floats]:
        """Differences of what decides."""
        factors, addends = np.array([self.deciding(j) for j in range(len(self.labels))]).T
        mix = np.delete(np.diag(factors)[k] - np.diag(factors), k, axis=0)
        return mix, np.delete(addends[k] - addends, k)

    def choose(self, probabilities: Floats) -> NDArray[np.int64]:
        """The number of the class that is decided for in each row."""
        weighted = probabilities if self.decides_by is None else probabilities * np.asarray(self.decides_by.weights)
        return np.asarray(weighted.argmax(axis=1))

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each class."""
        return (len(self.labels),)

    def variance(self, of_numbers: float | None) -> Floats:
        """That of belonging to each class."""
        shares = np.asarray(self.mean, dtype=np.float64)
        return np.asarray(shares * (1 - shares))

    @property
    def output_words(self) -> str:
        """A number for each class."""
        return f"a list of {len(self.labels)} numbers, one for each class"

    def output_fault(self, output: Any) -> str:
        """Means of classes are shares."""
        if min(output) < -SHARE_ERROR or max(output) > 1 + SHARE_ERROR:
            return "must be shares from 0 to 1"
        total = sum(output)
        return "" if abs(total - 1) <= SHARE_ERROR else f"must be shares that sum to 1, found {total:.6g}"

    def residual_fault(self, output: Any) -> str:
        """Mean residuals of classes sum to zero."""
        if max(map(abs, output)) > 1 + SHARE_ERROR:
            return "must be residuals from -1 to 1"
        total = sum(output)
        return "" if abs(total) <= SHARE_ERROR else f"must be residuals that sum to 0, found {total:.6g}"

    def watched(self, truth: NDArray[Any]) -> Floats:
        """1 for the class of a row and 0 for the others; of two classes the second."""
        n = len(self.labels)
        return np.asarray(truth[:, None] == np.arange(1 if n == 2 else 0, n), dtype=np.float64)

    def told_mean(self, means: Floats, rule: RulePart) -> float:
        """The share of the class that stands for the rule."""
        shares = np.array([1 - means[0], means[0]]) if len(self.labels) == 2 else means
        return float(shares[self.shown_class(rule)])

    def residuals(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """The same less the probabilities."""
        known = self.watched(truth)
        return np.asarray(known - values[:, -known.shape[1] :])

    @property
    def shares(self) -> tuple[float, ...]:
        """Those of the classes among the training rows."""
        assert isinstance(self.mean, tuple)
        return self.mean

    @property
    def spoken_labels(self) -> tuple[Any, ...]:
        """All classes."""
        return self.labels

    @property
    def labels_of_sums(self) -> tuple[Any, ...]:
        """All classes."""
        return self.labels

    @property
    def kind_text(self) -> str:
        """How many classes."""
        return f"{len(self.labels)} classes"

    @property
    def sum_name(self) -> str:
        """Probabilities."""
        return "the probabilities of the classes"

    def prediction_texts(self, values: Floats) -> list[str]:
        """Percents."""
        return [f"{100 * p:.1f}%" for p in values]

    def prediction_text(self, value: float) -> str:
        """A percent."""
        return f"{100 * value:.1f}%"

    def prediction_header(self, k: int) -> str:
        """The probability of a class."""
        return f"probability of {format_label(self.labels[k])}"

    def of_class(self, values: Floats, k: int) -> Floats:
        """The values of class k, of [..., class]."""
        return np.asarray(values[..., k])

    def scale_of(self, k: int) -> str:
        """The probability."""
        return self.prediction_of(k)

    def prediction_of(self, k: int) -> str:
        """The probability."""
        return f"probability of {self.labels[k]}"

    def output_of(self, k: int) -> str:
        """The proportion."""
        return f"proportion of {self.labels[k]}"

    def label_text(self, k: int, longest: int | None = None) -> str:
        """A label as it is read in a sentence."""
        return fold_middle(format_label(self.labels[k]), longest)

    def head_pairs(self, start: Floats) -> list[tuple[str, str]]:
        """The share of each class."""
        return [(f"share of {label}", f"{100 * share:.1f}%") for label, share in zip(self.labels, self.shares)]

    def _named_starts(self, what: str, intercept: Any) -> str:
        values = zip(self.labels, start_texts(intercept))
        named = (f"{one_line(format_label(label))} {value}" for label, value in values)
        return f"{what} before the rules: {', '.join(named)}"


@dataclass(frozen=True)
class Multinomial(ClassFamily):
    """More than two classes, or one; before the fit any number of them."""

    name: ClassVar[str] = "multinomial"
    link: ClassVar[Link] = "softmax"
    error_name: ClassVar[str] = "unexplained deviance"
    row_loss_name: ClassVar[str] = "log loss"
    form: ClassVar[Form] = "softmax"
    sum_word: ClassVar[str] = "score"
    start_name: ClassVar[str] = "scores at the start"

    def deciding(self, k: int) -> tuple[float, float]:
        """The logarithm of a weight is added to a score."""
        return 1.0, math.log(max(self.decision_weights[k], LEAST_WEIGHT))

    def row_loss(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """The logarithmic loss."""
        return log_losses(values, truth)

    def decision(self, scores: Floats) -> Floats:
        """A score for each class."""
        return scores

    @staticmethod
    def as_output(scores: Floats) -> tuple[float, ...]:
        """The scores of all classes, which sum to zero; of two there is one, their difference."""
        if len(scores) == 1:
            return -float(scores[0]) / 2, float(scores[0]) / 2
        return tuple((scores - scores.mean()).tolist())

    @property
    def score_of_mean(self) -> tuple[float, ...]:
        """Scores with sum zero."""
        logs = _core.log(np.asarray(self.mean, dtype=np.float64))
        return tuple((logs - logs.mean()).tolist())

    def contributions(self, values: Floats) -> Floats:
        """Less their mean: only differences between classes matter."""
        return np.asarray(values - values.mean(axis=-1, keepdims=True))

    def points_of(self, values: Floats, k: int) -> Floats:
        """Less the mean of all classes, as they are told."""
        return self.of_class(self.contributions(values), k)

    def scale_of(self, k: int) -> str:
        """The score."""
        return f"score of {self.labels[k]}"

    @property
    def effect_name(self) -> str:
        """Effects are measured in the score of a class."""
        return "score of the class"

    @property
    def sum_name(self) -> str:
        """Scores."""
        return "the scores of the classes"

    @property
    def scale(self) -> str:
        """The score of a class."""
        return "score"

    def shown_class(self, rule: RulePart) -> int:
        """The class whose score moves most."""
        if len(self.labels) < 2:
            return 0
        return int(np.abs(np.asarray(rule.inside) - np.asarray(rule.outside)).argmax())

    def outputs(self, rule: RulePart, *, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """The shares of the class that stands for the rule."""
        k = self.shown_class(rule)
        first, second = self._shares_inside(rule, k)
        return f"{self.label_text(k, longest)} {first}", second

    def _shares_inside(self, rule: RulePart, k: int) -> tuple[str, str]:
        inside, outside = rule.means
        first, second = format_percents(inside[k], outside[k])
        return first, second

    def points_texts(self, points: Sequence[float]) -> tuple[str, str]:
        """With a sign."""
        decimals = 2 if max(map(abs, points)) >= 0.01 else 4
        first, second = (signed(value, decimals) for value in points)
        return first, second

    def head(self, start: Floats) -> str:
        """The shares of the classes."""
        shares = one_line(format_shares(self.shares, fold_labels(self.labels, LABELS[1]) or (), decimals=1))
        points = "; points add to the score of a class" if len(self.labels) > 2 else ""
        return f"{one_line(self.target)} on average: {shares}{points}"

    def head_pairs(self, start: Floats) -> list[tuple[str, str]]:
        """The shares and the scores at the start; what is equal for all classes changes no probability."""
        return [*super().head_pairs(start), ("scores at the start", self.sum_text(start - np.mean(start)))]

    def mean_texts(self, rule: RulePart) -> tuple[str, str]:
        """The shares of all classes."""
        inside, outside = rule.means
        return format_outputs(inside, outside, self.labels)

    def sum_text(self, values: Floats) -> str:
        """The largest changes first."""
        if values.size == 1:
            return super().sum_text(values)
        order = np.argsort(-np.abs(values), kind="stable")
        texts = [f"{format_label(self.labels[k])} {values[k]:+.2f}" for k in order[:MOST_NAMED]]
        return ", ".join(texts) + (", ..." if len(values) > MOST_NAMED else "")

    def start_line(self, intercept: Any) -> str:
        """The intercept of each class."""
        return self._named_starts("scores", intercept)


@dataclass(frozen=True)
class Binomial(Multinomial):
    """Two classes: points are log-odds of the positive one."""

    name: ClassVar[str] = "binomial"
    form: ClassVar[Form] = "odds"

    def decision(self, scores: Floats) -> Floats:
        """The log-odds of the second class."""
        return log_odds(scores)

    def odds(self, scores: Floats) -> Floats:
        """The log-odds of the positive class."""
        return self.decision(scores) if self.positive == 1 else -self.decision(scores)

    @property
    def spoken_labels(self) -> tuple[Any, ...]:
        """The positive class, which stands for both."""
        return (self.labels[self.positive],)

    @property
    def labels_of_sums(self) -> tuple[Any, ...]:
        """None: one sum decides between both."""
        return ()

    @property
    def names_of_sums(self) -> list[str]:
        """The log-odds of the positive class."""
        return [self.scale_of(self.positive)]

    def contributions(self, values: Floats) -> Floats:
        """Log-odds."""
        return self.odds(values)[..., None]

    def of_class(self, values: Floats, k: int) -> Floats:
        """The log-odds of the class."""
        return np.asarray(values[..., k] - values[..., 1 - k])

    def points_of(self, values: Floats, k: int) -> Floats:
        """The log-odds of the class."""
        return self.of_class(values, k)

    def scale_of(self, k: int) -> str:
        """The log-odds."""
        return f"log-odds of {self.labels[k]}"

    @property
    def effect_name(self) -> str:
        """Effects are measured in log-odds."""
        return "log-odds of the class"

    @property
    def sum_name(self) -> str:
        """The log-odds."""
        return f"the log-odds of {format_label(self.labels[self.positive])}"

    @property
    def points_names(self) -> list[str]:
        """The log-odds."""
        return ["log-odds"]

    @property
    def scale(self) -> str:
        """The log-odds."""
        return f"log-odds of {one_line(self.label_text(self.positive))}"

    def shown_class(self, rule: RulePart) -> int:
        """The class whose output is shown for a rule: the positive one."""
        return self.positive

    def outputs(self, rule: RulePart, *, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """The shares of the positive class, whose name the head says."""
        return super().outputs(rule, longest=longest) if named else self._shares_inside(rule, self.positive)

    def head_pairs(self, start: Floats) -> list[tuple[str, str]]:
        """The share of the positive class, and the log-odds at the start."""
        share = f"{100 * self.shares[self.positive]:.1f}%"
        own = format_label(self.labels[self.positive])
        return [(f"share of {own}", share), ("its log-odds at the start", self.sum_text(start))]

    def mean_texts(self, rule: RulePart) -> tuple[str, str]:
        """The shares of the positive class."""
        return self.outputs(rule, named=False)

    def head(self, start: Floats) -> str:
        """The share of the positive class, and from which log-odds on the points add up."""
        own = self.labels[self.positive]
        said = (
            f"{one_line(self.target)} = {own}" if isinstance(own, (bool, np.bool_)) else self.label_text(self.positive)
        )
        share = f"probability of {one_line(said)}: {100 * self.shares[self.positive]:.1f}% on average"
        return f"{share}; points are log-odds of {one_line(said)}, from {signed(float(start), 2)} on"

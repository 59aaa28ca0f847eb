"""Numbers, counts and positive amounts: what a prediction is in the unit of the target, and how far off it is.

Of numbers the score is the prediction and the error the unexplained variance. ``Gaussian`` predicts the sum of weighted
outputs; ``WeightedMean`` (Node harvest) the weighted mean of the outputs of the rules that apply, and of the root,
which always does.

Of counts and positive amounts the score is the logarithm of the mean, rules multiply it, and the error is a deviance.
The variance is the mean (Poisson: counts), its square (gamma: positive amounts), or a power between 1 and 2 (Tweedie:
amounts that may be exactly zero, such as the claims of a policy, a Poisson number of gamma amounts).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from pysirus import _core
from pysirus._data.column import DataError, first_row
from pysirus._families.base import Base, Family, start_texts
from pysirus._families.links import (
    GAMMA,
    ON_MEAN,
    POISSON,
    SQUARED,
    EffectScale,
    Floats,
    Form,
    Link,
    Loss,
    Part,
    RulePart,
    format_factors,
)
from pysirus._families.target import NumberTarget
from pysirus._text.format import decimals_for, format_number, format_pair, one_line
from pysirus._text.message import TARGET, row_named, setting


@dataclass(frozen=True)
class Gaussian(NumberTarget, Family):
    """A number for each row."""

    name: ClassVar[str] = "gaussian"
    loss: ClassVar[Loss] = SQUARED
    error_name: ClassVar[str] = "unexplained variance"
    row_loss_name: ClassVar[str] = "squared error"
    score_metric: ClassVar[str] = "r2"
    edit_metric: ClassVar[str] = "unexplained_variance"
    is_least_squares: ClassVar[bool] = True
    start_name: ClassVar[str] = "intercept"
    number_names: ClassVar[tuple[str, ...]] = ()

    @property
    def scale(self) -> str:
        """The unit of the target."""
        return self.target

    @property
    def sum_name(self) -> str:
        """The target itself."""
        return self.target

    @property
    def points_names(self) -> list[str]:
        """The target."""
        return [self.target]

    @property
    def adds_name(self) -> str:
        """What a rule adds stands after `then` and `else`."""
        return ""

    def outputs(self, rule: RulePart, *, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """What the rule adds: some rules of a list in stages answer means and others residuals."""
        return self.added_texts(rule)

    def points_texts(self, points: Sequence[float]) -> tuple[str, str]:
        """With a sign, and as many digits as tell them apart."""
        return format_pair(points[0], points[1], signed=True)

    def plain_head(self, intercept: Any) -> str:
        """The mean and the intercept."""
        assert not isinstance(self.mean, tuple)
        decimals = decimals_for([self.mean, intercept], 0.0)
        return f"mean {one_line(self.target)} = {self.mean:.{decimals}f}    intercept = {intercept:.{decimals}f}"

    def head(self, start: Floats) -> str:
        """A sum."""
        return f"{one_line(self.target)} = {format_number(float(start), 4)} + what each rule adds"

    def head_pairs(self, start: Floats) -> list[tuple[str, str]]:
        """A sum."""
        return [(self.target, f"{format_number(float(start), 4)} + what each rule adds")]

    def plain_pairs(self, intercept: Any) -> list[tuple[str, str]]:
        """The mean and the intercept."""
        assert not isinstance(self.mean, tuple)
        decimals = decimals_for([self.mean, intercept], 0.0)
        return [(f"mean {self.target}", f"{self.mean:.{decimals}f}"), ("intercept", f"{intercept:.{decimals}f}")]

    def numbers(self, rule: RulePart) -> tuple[str, ...]:
        """What a rule adds stands after `then` and `else`."""
        return ()


@dataclass(frozen=True)
class WeightedMean(Gaussian):
    """The mean of ``inside`` over the rules that hold and of ``mean``, by weight; ``mean`` where no weight is there.

    Two sums are added up: deviations from the mean by weight, and the weights.
    """

    aggregation: ClassVar[str] = "mean"
    measured_from: ClassVar[Base] = "mean"

    root: float = 0.0

    @property
    def root_weight(self) -> float:
        """The weight of the mean of all rows."""
        return self.root

    def start(self, intercept: Any) -> list[float]:
        """No deviation, and the weight of the root."""
        return [0.0, self.root]

    def sides(self, term: Part) -> tuple[list[float], list[float]]:
        """A deviation and a weight where the rule holds, nothing elsewhere."""
        weight, gap = term.weight or 0.0, float(np.asarray(term.inside)) - float(np.asarray(self.mean))
        return [weight * gap, weight], [0.0, 0.0]

    def combine(self, sums: Floats) -> Floats:
        """The mean and the deviation from it."""
        total, weight = sums.T
        deviation = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
        return np.asarray(float(np.asarray(self.mean)) + deviation)

    def explained_from(self, intercept: Any) -> float:
        """The mean."""
        return float(np.asarray(self.mean))

    def explained(self, terms: Sequence[Part], values: Floats) -> tuple[Floats, Floats]:
        """Deviations from the mean by the share of the weight that each rule has among those that hold."""
        fired = values > 0
        weights = np.array([rule.weight or 0.0 for rule in terms])
        gaps = np.array([float(np.asarray(rule.inside)) - float(np.asarray(self.mean)) for rule in terms])
        total = self.root + fired @ weights
        share = fired * weights / np.where(total > 0, total, 1.0)[:, None]
        return share * gaps, np.zeros(len(terms))

    def plain_head(self, intercept: Any) -> str:
        """The mean and its weight."""
        assert not isinstance(self.mean, tuple)
        mean = f"{self.mean:.{decimals_for([self.mean, 0.0], 0.0)}f}"
        return f"mean {one_line(self.target)} = {mean}    its weight = {format_number(self.root, 3)}"

    def plain_pairs(self, intercept: Any) -> list[tuple[str, str]]:
        """The mean and its weight."""
        return [super().plain_pairs(intercept)[0], ("its weight", format_number(self.root, 2))]


Self = TypeVar("Self", bound="LogMean")


@dataclass(frozen=True)
class LogMean(NumberTarget, Family):
    """A positive mean for each row."""

    link: ClassVar[Link] = "log"
    error_name: ClassVar[str] = "unexplained deviance"
    score_metric: ClassVar[str] = "d2"
    edit_metric: ClassVar[str] = "unexplained_deviance"
    effect_scale: ClassVar[EffectScale | None] = ON_MEAN
    largest_score: ClassVar[float] = 700.0  # its exponential is a number still
    form: ClassVar[Form] = "exp"
    sum_word: ClassVar[str] = "score"

    takes_zero: ClassVar[bool] = True
    advice: ClassVar[str] = ""  # where a value is refused

    @classmethod
    def from_facts(cls: type[Self], target: str, mean: Any, facts: Mapping[str, Any]) -> Self:
        """The family of a model, from what it remembers."""
        return cls(target, mean)

    @property
    def facts(self) -> dict[str, Any]:
        """What a model remembers of its family."""
        return {"loss": self.name}

    def score_at(self, prediction: float) -> float:
        """Its logarithm."""
        return math.log(prediction) if prediction > 0 else -math.inf

    def check(self, values: Floats) -> None:
        """Reject what the loss is not for."""
        bad = values < 0 if self.takes_zero else values <= 0
        if bad.any():
            row, wanted = first_row(bad), "at least 0" if self.takes_zero else "above 0"
            found = f"{values[row]:g} in {row_named(row)}"
            raise DataError(f"With {setting('loss', self.name)} {TARGET} must be {wanted}, found {found}.{self.advice}")

    def check_range(self, low: float, high: float) -> None:
        """Not all may be 0."""
        if high == 0:
            raise DataError(f"{TARGET} is 0 in every row: there is no rate to learn. Check the target column.")

    def mean_fault(self, mean: Any) -> str:
        """It has a logarithm."""
        return "" if mean > 0 else "must be above 0 for the link 'log'"

    @property
    def deviance_loss(self) -> Loss:
        """Its loss."""
        return self.loss

    def scores_of(self, means: Floats) -> Floats:
        """Logarithms."""
        return _core.log(means.ravel()).reshape(means.shape)

    @property
    def residual_power(self) -> float:
        """That of its variance."""
        return self.variance_power

    least_value: ClassVar[float] = 0.0

    @property
    def variance_power(self) -> float:
        """The variance is taken to be the mean to this power, but for a factor."""
        return 1.0

    def spread(self, values: Floats) -> Floats:
        """The standard deviation that the loss takes for granted, but for a factor."""
        return np.asarray(np.maximum(values, 1e-300) ** (self.variance_power / 2))

    @property
    def score_of_mean(self) -> float:
        """The logarithm."""
        return float(_core.log(np.array([self.mean]))[0])

    @property
    def scale(self) -> str:
        """The logarithm."""
        return f"logarithm of {one_line(self.target)}"

    @property
    def effect_name(self) -> str:
        """Effects are measured in the logarithm: there they add up."""
        return "logarithm of the prediction"

    @property
    def sum_name(self) -> str:
        """The logarithm, with the name as it is."""
        return f"the logarithm of {self.target}"

    @property
    def points_names(self) -> list[str]:
        """The logarithm."""
        return ["log"]

    def points_texts(self, points: Sequence[float]) -> tuple[str, str]:
        """Factors of the prediction."""
        first, second = format_factors(points)
        return first, second

    def head(self, start: Floats) -> str:
        """The mean, which rules multiply."""
        assert not isinstance(self.mean, tuple)
        target = one_line(self.target)
        return f"mean {target} = {self.mean:.{decimals_for([self.mean], 0.0)}f}; each rule multiplies {target}"

    def head_pairs(self, start: Floats) -> list[tuple[str, str]]:
        """The mean and the start."""
        assert not isinstance(self.mean, tuple)
        return [(f"mean {self.target}", format_number(self.mean, 3)), ("score at the start", f"{float(start):+.2f}")]

    def start_line(self, intercept: Any) -> str:
        """The intercept."""
        return f"logarithm of {one_line(self.target)} {start_texts(intercept)[0]} before the rules"


@dataclass(frozen=True)
class Poisson(LogMean):
    """A count for each row, or a count by unit of exposure."""

    name: ClassVar[str] = "poisson"
    loss: ClassVar[Loss] = POISSON


@dataclass(frozen=True)
class Gamma(LogMean):
    """An amount above zero for each row."""

    name: ClassVar[str] = "gamma"
    takes_zero: ClassVar[bool] = False
    advice: ClassVar[str] = f" Drop these rows, model them apart, or use {setting('loss', 'poisson')}."
    loss: ClassVar[Loss] = GAMMA

    @property
    def variance_power(self) -> float:
        """The standard deviation is a share of the mean."""
        return 2.0


@dataclass(frozen=True)
class Tweedie(LogMean):
    """An amount of at least zero for each row."""

    name: ClassVar[str] = "tweedie"

    power: float = 1.5

    @property
    def loss(self) -> Loss:
        """Of its power."""
        return Loss(self.name, self.power)

    @property
    def variance_power(self) -> float:
        """Its power."""
        return self.power

    @classmethod
    def from_facts(cls, target: str, mean: Any, facts: Mapping[str, Any]) -> Tweedie:
        """With its power."""
        return cls(target, mean, float(facts.get("power", cls.power)))

    @property
    def facts(self) -> dict[str, Any]:
        """Its power too."""
        return {**super().facts, "power": self.power}

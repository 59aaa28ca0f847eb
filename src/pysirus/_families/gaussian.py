"""Regression by squared error: the prediction is in the unit of the target, the error is the unexplained variance.

``Gaussian`` predicts the sum of weighted outputs. ``WeightedMean`` (Node harvest) predicts the weighted mean of the
outputs of the rules that apply, and of the root, which always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pysirus._families.base import Base, Family
from pysirus._families.links import SQUARED, Floats, Loss
from pysirus._families.outputs import Part, RulePart
from pysirus._families.target import NumberTarget
from pysirus._text.format import decimals_for, format_number, format_pair, one_line


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

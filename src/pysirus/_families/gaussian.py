"""Numbers: the sum is the prediction, in the unit of the target, and the error is the unexplained variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pysirus._families.base import Family
from pysirus._families.links import Floats
from pysirus._families.losses import SQUARED, Loss
from pysirus._families.part import RulePart
from pysirus._families.target import NumberTarget
from pysirus._format import decimals_for, format_number, format_pair
from pysirus._plain import one_line


@dataclass(frozen=True)
class Gaussian(NumberTarget, Family):
    """A number for each row."""

    name: ClassVar[str] = "gaussian"
    loss: ClassVar[Loss] = SQUARED
    error_name: ClassVar[str] = "unexplained variance"
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

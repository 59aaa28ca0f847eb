"""Counts and positive amounts: the score is the logarithm of the mean, rules multiply, and deviance judges."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pysirus._families.base import Family, start_texts
from pysirus._families.links import Floats, Form, Link
from pysirus._families.losses import GAMMA, POISSON, Loss
from pysirus._format import decimals_for, format_number
from pysirus._plain import one_line
from pysirus._terms.outcome import format_factors


@dataclass(frozen=True)
class LogMean(Family):
    """A positive mean for each row."""

    link: ClassVar[Link] = "log"
    error_name: ClassVar[str] = "unexplained deviance"
    score_metric: ClassVar[str] = "d2"
    edit_metric: ClassVar[str] = "unexplained_deviance"
    largest_score: ClassVar[float] = 700.0  # its exponential is a number still
    form: ClassVar[Form] = "exp"
    sum_word: ClassVar[str] = "score"

    def mean_fault(self, mean: Any) -> str:
        """It has a logarithm."""
        return "" if mean > 0 else "must be above 0 for the link 'log'"

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """Whose likelihood weighs rules, and whose deviance judges them."""

    @property
    def deviance_loss(self) -> Loss:
        """Its loss."""
        return self.loss

    @property
    def scale(self) -> str:
        """The logarithm."""
        return f"logarithm of {one_line(self.target)}"

    @property
    def effect_name(self) -> str:
        """The logarithm."""
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
    loss: ClassVar[Loss] = GAMMA

"""A column in, its part of a prediction out: the linear term, a second kind of term beside the rule.

A term is ``weight * x`` with ``x`` held within its limits (winsorised), so that a value far out cannot run away with
the prediction (Friedman and Popescu 2008, section 5).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._data.column import Column
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.term import BinValues, Builder, Numbers, Term
from pysirus._text.format import apart, format_date, format_number, format_threshold

STEPS = 40  # in which a line is shown


@dataclass(frozen=True)
class LinearTerm(Term):
    """A numeric column times a weight.

    Attributes
    ----------
    feature : str
        Name of the column.
    weight : float
        Change of the prediction per unit of the column.
    lower, upper : float
        Values are clipped to these limits.
    missing : float
        Replaces a missing value: the mean of the clipped training column.
    """

    kind: ClassVar[str] = "LinearTerm"
    is_binary: ClassVar[bool] = False
    frequency: ClassVar[float] = float("nan")  # it comes from no tree
    inside: ClassVar[float] = 1.0
    outside: ClassVar[float] = 0.0

    feature: str
    weight: float
    lower: float
    upper: float
    missing: float
    index: int = field(default=0, compare=False)
    is_date: bool = field(default=False, compare=False, repr=False)

    @property
    def centre(self) -> float:
        """What is taken from a value: nothing."""
        return 0.0

    @property
    def key(self) -> Hashable:
        """The column that it reads."""
        return "linear", self.feature

    @property
    def columns(self) -> tuple[int, ...]:
        """The number of its feature."""
        return (self.index,)

    def factor(self, index: int, column: Column) -> NDArray[np.float64]:
        """The column within its limits, missing values filled in."""
        held = np.clip(column.values.astype(np.float64), self.lower, self.upper)
        return np.where(np.isnan(held), self.missing, held)

    @property
    def value_ends(self) -> tuple[float, float]:
        """Its limits."""
        return self.lower, self.upper

    def between(self, values: NDArray[np.float64], inside: Any, outside: Any) -> NDArray[np.float64]:
        """Its value times what a unit has; at 0 there is nothing."""
        return np.asarray(values * inside)

    def bin_values(self, binned: Binned) -> BinValues:
        """None: its weight comes from the rows themselves, not from bins."""
        raise NotImplementedError("A linear term of RuleFit has no values of bins.")

    def build(self, into: Builder, inside: Numbers, outside: Numbers) -> None:
        """Add the column times its weight; there is nothing at the value 0."""
        into.line(self, inside)

    def with_names(self, names: Mapping[int, str]) -> LinearTerm:
        """The term of a column of another name."""
        return replace(self, feature=names[self.index])

    @property
    def condition_text(self) -> str:
        """The column that it is linear in."""
        return f"linear in {apart(self.feature)}"

    def folded(self, width: int) -> str:
        """The same, whole."""
        return self.condition_text

    def steps_on(self, index: int) -> set[float]:
        """Where its line is shown."""
        return set(np.linspace(self.lower, self.upper, STEPS + 1).tolist()) if index == self.index else set()

    def outputs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Its output in each row is its value."""
        return values

    def contributions(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What it adds in each row."""
        return self.weight * values

    @property
    def added(self) -> tuple[list[float], list[float]]:
        """What it adds at the values 1 and 0."""
        return [self.weight], [0.0]

    def average_output(self, mean: object) -> float:
        """The mean of its values over the training rows."""
        return self.missing

    @property
    def gap(self) -> float:
        """How far its values are apart at most."""
        return self.upper - self.lower

    def __str__(self) -> str:
        ends = (self.lower, self.upper)
        limits = " to ".join(format_date(end) if self.is_date else format_threshold(end, rounded=True) for end in ends)
        return f"{format_number(self.weight, 3)} * {apart(self.feature)}, within {limits}"


Part = FittedTerm | LinearTerm  # what the sums of a model are made of

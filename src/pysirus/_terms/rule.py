"""Rules as data: cut identities and thresholds, never text.

Rules compare by what they read, in cut identities, so that rules of two fits on two samples compare although their
thresholds differ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned, CutIdentity
from pysirus._data.column import UNSEEN, Column
from pysirus._data.table import Table
from pysirus._terms.effect import Effect
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.term import BinValues, Builder, Numbers, Term
from pysirus._terms.words import (
    Sides,
    condition_words,
    exact_text,
    fold_conditions,
    fold_line,
    join_conditions,
    set_text,
)

Asking = TypeVar("Asking", bound="Rule")


@dataclass(frozen=True)
class Split:
    """One side of one cut: a step of a path.

    Attributes
    ----------
    feature : str
        Name of the column.
    op : {"<", ">=", "in", "not in", "known", "missing"}
        The side taken.
    value : float, tuple of levels, or None
        The threshold, or the categories on the ``<`` side of a categorical cut.
    cut : tuple
        The identity of the cut, comparable between fits.
    missing : bool or None
        Whether missing values go to this side; None if the training column had none.
    """

    feature: str
    op: str
    value: Any
    cut: CutIdentity
    missing: bool | None = None


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature: a half-open interval or a set of levels.

    Attributes
    ----------
    feature : str
        Name of the column.
    lower, upper : float or None
        ``lower <= x < upper``; None means unbounded. Both are None for categorical columns.
    levels : tuple or None
        The categories that satisfy the condition; None for a numeric column.
    missing : bool or None
        Whether missing values satisfy it; None if the training column had none.
    only_missing : bool
        True for the condition ``x is missing``, which no known value satisfies.
    unseen : bool
        Whether values not seen in training satisfy it: unseen categories, and missing values where training had none.
        They go to the side with more of the training data.
    lower_cut, upper_cut : tuple or None
        Identities of the two cuts.
    share : float or None
        Proportion of the training weight that satisfies it.
    column_levels : tuple
        All categories of the column in training; empty where they are not known.
    is_date : bool
        Whether the limits are dates, in days from 1970-01-01.
    """

    feature: str
    lower: float | None = None
    upper: float | None = None
    levels: tuple[Any, ...] | None = None
    missing: bool | None = None
    only_missing: bool = False
    unseen: bool = False
    lower_cut: CutIdentity | None = None
    upper_cut: CutIdentity | None = None
    index: int = field(default=0, compare=False)
    share: float | None = field(default=None, compare=False)
    column_levels: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    is_date: bool = field(default=False, compare=False, repr=False)

    @property
    def key(self) -> Hashable:
        """What the condition reads, in cut identities."""
        return (self.feature, self.lower_cut, self.upper_cut, bool(self.missing), not self.only_missing)

    def with_share(self, share: float) -> Condition:
        """The condition with its share of the training weight; values it cannot judge go where most of that is."""
        return replace(self, share=share, unseen=share >= 0.5)

    def holds(self, column: Column) -> NDArray[np.bool_]:
        """Evaluate the condition on a column."""
        values = column.values
        if column.is_numeric:
            values = values.astype(np.float64, copy=False)  # or NumPy would round the threshold to float32
            inside = np.full(len(values), not self.only_missing)
            with np.errstate(invalid="ignore"):
                if self.lower is not None:
                    inside &= values >= self.lower
                if self.upper is not None:
                    inside &= values < self.upper
            inside[np.isnan(values)] = self.unseen if self.missing is None else self.missing
            return inside
        wanted = set(self.levels or ())
        answers = [not self.only_missing and level in wanted for level in column.levels]
        table = np.array([*answers, self.unseen, self.unseen if self.missing is None else self.missing], dtype=bool)
        codes = np.where(values == UNSEEN, len(column.levels), np.where(values == -1, len(column.levels) + 1, values))
        return np.asarray(table[codes])

    def holds_in(self, binned: Binned) -> NDArray[np.bool_]:
        """Which bins of its feature satisfy a condition of a rule that came from these bins."""
        cuts = binned.cuts[self.index]
        position = {identity: i for i, identity in enumerate(cuts.identities)}
        bins = np.arange(256)
        inside = np.full(256, not self.only_missing)
        if self.lower_cut is not None:
            inside &= bins > position[self.lower_cut]
        if self.upper_cut is not None:
            inside &= bins <= position[self.upper_cut]
        if cuts.has_missing:
            inside[cuts.n_cuts + 1] = bool(self.missing)
        return inside

    def __str__(self) -> str:
        return condition_words(self)


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Term):
    """What a rule asks: whether all conditions hold.

    The rules of a model are of this class, and have what was learned of them besides: outputs, weight, support and
    the other attributes of ``FittedTerm``.

    Attributes
    ----------
    conditions : tuple of Condition
        One per feature.
    path : tuple of Split
        The splits it came from.
    """

    kind: ClassVar[str] = "Rule"

    conditions: tuple[Condition, ...] = ()
    path: tuple[Split, ...] = ()

    @cached_property
    def key(self) -> Hashable:
        """What the rule reads, in cut identities."""
        return frozenset(condition.key for condition in self.conditions)

    @property
    def columns(self) -> tuple[int, ...]:
        """The numbers of the features that it asks about."""
        return tuple(condition.index for condition in self.conditions)

    def map_conditions(self: Asking, change: Callable[[Condition], Condition]) -> Asking:
        """The rule with each of its conditions changed."""
        return replace(self, conditions=tuple(map(change, self.conditions)))

    def with_effect(self, effect: str | Effect) -> FittedRule:
        """The rule with what it adds where it holds."""
        return FittedRule(self.conditions, self.path).with_effect(effect)

    def factor(self, index: int, column: Column) -> NDArray[np.bool_]:
        """Where the condition on a feature holds."""
        return next(condition for condition in self.conditions if condition.index == index).holds(column)

    def bin_values(self, binned: Binned) -> BinValues:
        """The bins in which each condition holds."""
        return [(condition.index, condition.holds_in(binned)) for condition in self.conditions]

    def build(self, into: Builder, inside: Numbers, outside: Numbers) -> None:
        """Add one thing where all conditions hold, another elsewhere."""
        into.branch(self.conditions, inside, outside)

    def values(self, table: Table) -> NDArray[np.float64]:
        """1 in the rows that are inside, else 0."""
        return self.holds(table).astype(np.float64)

    def fired(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Where all conditions hold."""
        return values > 0

    def steps_on(self, index: int) -> set[float]:
        """The thresholds on a feature."""
        return {end for c in self.conditions if c.index == index for end in (c.lower, c.upper) if end is not None}

    def holds(self, table: Table) -> NDArray[np.bool_]:
        """Which rows of a table are inside."""
        inside = np.ones(table.n_rows, dtype=bool)
        for condition in self.conditions:
            inside &= condition.holds(table.columns[condition.index])
        return inside

    @property
    def condition_text(self) -> str:
        """The conditions alone, whole, as the parser reads them back."""
        return join_conditions(self.conditions, [str(condition) for condition in self.conditions])

    @property
    def set_text(self) -> str:
        """The same with levels as the sets that they are."""
        return join_conditions(self.conditions, [set_text(condition) for condition in self.conditions])

    @property
    def exact_text(self) -> str:
        """The same, read in one way only: with all digits, and in quotes what could be taken for something else."""
        return join_conditions(self.conditions, [exact_text(condition) for condition in self.conditions])

    def fold(self, width: int) -> str:
        """The conditions for display: long sets and names are shortened."""
        return fold_conditions(self.conditions, width)

    def sentence(self, sides: Sides, width: int | None, after: str = "") -> str:
        """The rule with what it answers, in one line."""
        return fold_line(self.conditions, sides, width, after)


@dataclass(frozen=True, eq=False, repr=False)
class FittedRule(FittedTerm, Rule):
    """A rule of a model, or a candidate for one: if all conditions hold then one output, else another."""

    def outputs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Its output in each row, that of inside or outside as it is."""
        inside, outside = np.asarray(self.inside), np.asarray(self.outside)
        return np.where(values.reshape(-1, *(1 for _ in inside.shape)) > 0, inside, outside)

    @property
    def file_text(self) -> str:
        """The rule as model files of every version describe it: levels as sets, numbers to six digits."""
        return self.line(join_conditions(self.conditions, [set_text(c, rounded=True) for c in self.conditions]))

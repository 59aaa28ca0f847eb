"""Paths in, rules out as data: cut identities and thresholds, never text.

Rules of two fits on two samples compare by cut identities, although their thresholds differ. A path is the set of
splits that leads to a node; its rule merges the splits on one feature: ``{x < 5, x < 3}`` reads ``x < 3``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned, CutIdentity, Cuts
from pysirus._data.column import UNSEEN, Column
from pysirus._data.table import Table
from pysirus._forest.forest import Paths, SplitSide, decode, merge_sides
from pysirus._runtime import changed
from pysirus._terms.fitted import Effect, FittedTerm
from pysirus._terms.term import BOTH_WAYS, BinValues, Builder, Numbers, Term
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
    """One side of a cut, that is, one step of a path.

    Attributes
    ----------
    feature : str
        Name of the column.
    op : {"<", ">=", "in", "not in", "known", "missing"}
        The side of the cut.
    value : float, tuple of categories, or None
        The threshold, or for a categorical cut the categories on the ``<`` side.
    cut : tuple
        The identity of the cut, comparable between fits.
    missing : bool or None
        Whether missing values go to this side; None if the training column had none.

    Examples
    --------
    >>> from pysirus import Split
    >>> Split("temp", "<", 66.0, (6,)).value
    66.0
    """

    feature: str
    op: str
    value: Any
    cut: CutIdentity
    missing: bool | None = None


@dataclass(frozen=True)
class Condition:
    """A condition on one feature: a half-open interval or a set of categories.

    Attributes
    ----------
    feature : str
        Name of the column.
    lower, upper : float or None
        ``lower <= x < upper``; None means unbounded. Both are None for categorical columns.
    levels : tuple or None
        The categories that satisfy the condition; None for a numeric column.
    missing : bool or None
        Whether missing values satisfy the condition; None if the training column had none.
    only_missing : bool
        True for the condition ``x is missing``, which only missing values satisfy.
    unseen : bool
        Whether values that did not occur in training satisfy the condition: new categories, and missing values if the
        training column had none. They go to the side with more training rows, by weight.
    lower_cut, upper_cut : tuple or None
        The identities of the two cuts, which are comparable between fits.
    share : float or None
        The proportion of the training rows, by weight, that satisfy the condition.
    column_levels : tuple
        All categories of the training column; empty if they are not known.
    is_date : bool
        Whether the limits are dates, in days since 1970-01-01.

    Examples
    --------
    >>> from pysirus import Condition
    >>> print(Condition("temp", lower=50.0, upper=66.0))
    50 <= temp < 66
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

    @property
    def shape(self) -> Hashable:
        """What it asks of which feature, its cuts aside."""
        return (self.feature, self.lower_cut is not None, self.upper_cut is not None, self.only_missing)

    def is_near(self, other: Condition) -> bool:
        """Whether it asks the same of the same feature, with cuts at most one quantile away."""
        alike = self.shape == other.shape and bool(self.missing) == bool(other.missing)
        return alike and _near(self.lower_cut, other.lower_cut) and _near(self.upper_cut, other.upper_cut)

    @property
    def side(self) -> int:
        """1 where larger known values satisfy it, -1 where smaller ones do, 0 where all do or none, 2 in between."""
        if self.lower_cut is not None and self.upper_cut is not None:
            return BOTH_WAYS
        return int(self.lower_cut is not None) - int(self.upper_cut is not None)

    def with_share(self, share: float) -> Condition:
        """The condition with its share of the training weight; values it cannot place go where most of that is."""
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

    @property
    def opposite(self) -> Condition | None:
        """What holds where this does not, where that is one condition too."""
        if self.only_missing or (self.lower is not None and self.upper is not None):
            return None
        rest = tuple(level for level in self.column_levels if level not in (self.levels or ()))
        if (self.levels is not None and not rest) or (
            self.levels is None and self.lower is None and self.upper is None
        ):
            return None
        return replace(
            self,
            lower=self.upper,
            upper=self.lower,
            levels=None if self.levels is None else rest,
            missing=None if self.missing is None else not self.missing,
            unseen=not self.unseen,
            lower_cut=self.upper_cut,
            upper_cut=self.lower_cut,
        )

    def holds_in(self, binned: Binned) -> NDArray[np.bool_]:
        """Which bins of its feature satisfy a condition of a rule that came from these bins."""
        cuts = binned.cuts[self.index]
        inside = np.zeros(256, dtype=bool)
        if not self.only_missing:
            first, end = (
                None if cut is None else cuts.identities.index(cut) + 1 for cut in (self.lower_cut, self.upper_cut)
            )
            inside[first:end] = True
        if cuts.has_missing:
            inside[cuts.n_cuts + 1] = bool(self.missing)
        return inside

    def __str__(self) -> str:
        return condition_words(self)


def _near(first: CutIdentity | None, second: CutIdentity | None) -> bool:
    """Whether two cuts are the same or neighbouring quantiles.

    Cuts at values and between categories have to be the same: a step there may pass any share of the rows.
    """
    if first is None or second is None or first == second:
        return first == second
    (kind, i), (other, j) = first, second
    return kind == other == "quantile" and isinstance(i, int) and isinstance(j, int) and abs(i - j) <= 1


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Term):
    """The conditions of a rule, which applies to the rows that satisfy all of them.

    The rules of a fitted model are instances of a subclass, which adds the outputs ``inside`` and ``outside``, the
    ``weight``, the ``frequency`` and the numbers of rows.

    Attributes
    ----------
    conditions : tuple of Condition
        One per feature.
    path : tuple of Split
        The splits that the rule comes from.

    Examples
    --------
    >>> from pysirus import SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> rule = SirusRegressor(random_state=0).fit(*load_ozone(return_X_y=True, as_frame=True)).rules_[0]
    >>> rule.condition_text, round(rule.inside, 1), rule.n_inside
    ('temp < 66', 7.0, 198)
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

    @property
    def features(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(condition.feature for condition in self.conditions)

    @property
    def shape(self) -> Hashable:
        """Its features, and on which side of a cut of each it lies."""
        return frozenset(condition.shape for condition in self.conditions)

    def is_near(self, other: Term) -> bool:
        """Whether the other asks the same of the same features, with cuts at most one quantile away."""
        if not isinstance(other, Rule) or self.shape != other.shape:
            return False
        of = {condition.feature: condition for condition in other.conditions}
        return all(condition.is_near(of[condition.feature]) for condition in self.conditions)

    def map_conditions(self: Asking, change: Callable[[Condition], Condition]) -> Asking:
        """The rule with each of its conditions changed."""
        return changed(self, conditions=tuple(map(change, self.conditions)))

    def with_effect(self, effect: str | Effect) -> FittedRule:
        """The rule with what it adds where it holds."""
        return FittedRule(self.conditions, self.path).with_effect(effect)

    def directions(self) -> dict[int, int]:
        """The sides of its conditions."""
        return {condition.index: condition.side for condition in self.conditions}

    def factor(self, index: int, column: Column) -> NDArray[np.bool_]:
        """Where the condition on a feature holds."""
        return next(condition for condition in self.conditions if condition.index == index).holds(column)

    def bin_values(self, binned: Binned) -> BinValues:
        """The bins in which each condition holds."""
        if binned.given and self.key in binned.given:
            return [(binned.given[self.key], np.arange(256) == 1)]
        return [(condition.index, condition.holds_in(binned)) for condition in self.conditions]

    def build(self, into: Builder, inside: Numbers, outside: Numbers) -> None:
        """Add one thing where all conditions hold, another elsewhere."""
        into.branch(self.conditions, inside, outside)

    def values(self, table: Table) -> NDArray[np.float64]:
        """1 in the rows that are inside, else 0."""
        return self.holds(table).astype(np.float64)

    def between(self, values: NDArray[np.float64], inside: Any, outside: Any) -> NDArray[np.float64]:
        """One of the two, as it is."""
        return np.asarray(np.where(values > 0, inside, outside))

    def fired(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Where all conditions hold."""
        return values > 0

    def steps_on(self, index: int) -> set[float]:
        """The thresholds on a feature."""
        return {end for c in self.conditions if c.index == index for end in (c.lower, c.upper) if end is not None}

    def holds(self, table: Table) -> NDArray[np.bool_]:
        """Which rows of a table the rule applies to."""
        inside = np.ones(table.n_rows, dtype=bool)
        for condition in self.conditions:
            inside &= condition.holds(table.columns[condition.index])
        return inside

    @property
    def condition_text(self) -> str:
        """The conditions as text, in the grammar that ``required_rules`` and ``without`` take."""
        return join_conditions(self.conditions, [str(condition) for condition in self.conditions])

    def said(self, holds: bool) -> str:
        """The conditions, or where they do not hold the opposite of the one that there is."""
        if holds:
            return self.condition_text
        opposite = self.conditions[0].opposite if len(self.conditions) == 1 else None
        return f"not ({self.condition_text})" if opposite is None else str(opposite)

    @property
    def set_text(self) -> str:
        """The same with categories always as sets."""
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


def _split_of(side: SplitSide, cuts: Cuts) -> Split:
    missing = side.missing_inside if cuts.has_missing else None
    if side.cut is None:
        return Split(cuts.column.name, "known" if side.less else "missing", None, ("missing", None), missing)
    if cuts.column.is_numeric:
        value: Any = float(cuts.thresholds[side.cut])
        op = "<" if side.less else ">="
    else:
        value, op = cuts.sorted_levels(0, side.cut + 1), "in" if side.less else "not in"
    return Split(cuts.column.name, op, value, cuts.identities[side.cut], missing)


def _condition_of(sides: Sequence[SplitSide], cuts: Cuts, index: int) -> Condition:
    """The condition that several splits on one feature amount to."""
    lower, upper, only_missing, missing_inside = merge_sides(sides)
    missing = missing_inside if cuts.has_missing else None
    if lower is not None and upper is not None and lower >= upper:
        only_missing = True  # `x < 5 or missing`, then `x >= 5 or missing`
    if only_missing:
        lower = upper = None  # it reads `is missing`, however it came about
    unseen = all(s.less == (True if s.cut is None else bool(cuts.less_is_heavier[s.cut])) for s in sides)
    values: dict[str, Any] = {}
    if cuts.column.is_numeric:
        values["lower"] = None if lower is None else float(cuts.thresholds[lower])
        values["upper"] = None if upper is None else float(cuts.thresholds[upper])
    else:
        values["levels"] = cuts.sorted_levels(0 if lower is None else lower + 1, None if upper is None else upper + 1)
    share = None
    if cuts.shares is not None:
        first, last = 0 if lower is None else lower + 1, cuts.n_cuts if upper is None else upper
        inside = float(cuts.shares[first : last + 1].sum()) if not only_missing else 0.0
        share = inside + (float(cuts.shares[cuts.n_cuts + 1]) if missing else 0.0)
    return Condition(
        feature=cuts.column.name,
        missing=missing,
        only_missing=only_missing,
        unseen=unseen,
        lower_cut=None if lower is None else cuts.identities[lower],
        upper_cut=None if upper is None else cuts.identities[upper],
        index=index,
        share=share,
        column_levels=cuts.column.levels,
        is_date=cuts.column.is_date,
        **values,
    )


def rule_of_sides(sides: Sequence[SplitSide], cuts: Sequence[Cuts], frequency: float) -> FittedTerm:
    """The rule that the splits of a path say."""
    columns = dict.fromkeys(side.feature for side in sides)
    conditions = tuple(_condition_of([side for side in sides if side.feature == f], cuts[f], f) for f in columns)
    return FittedRule(conditions, tuple(_split_of(side, cuts[side.feature]) for side in sides), frequency=frequency)


def rule_of(codes: Sequence[int], binned: Binned, frequency: float) -> FittedTerm:
    """The rule that a path says."""
    return rule_of_sides([decode(code, binned) for code in codes if code >= 0], binned.cuts, frequency)


def rules_of(paths: Paths, kept: Iterable[int], binned: Binned) -> list[FittedTerm]:
    """The rules of some paths, by position."""
    frequencies = paths.frequencies
    return [rule_of(paths.codes[i].tolist(), binned, float(frequencies[i])) for i in kept]

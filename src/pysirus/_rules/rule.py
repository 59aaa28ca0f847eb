"""Paths in, rules out: what a path says, as data. A rule holds cut identities and thresholds, never text.

A path is the set of splits that leads to a node of a tree; its rule merges the splits on one feature into one condition
(``{x < 5, x < 3}`` reads ``x < 3``). Rules compare by what they read, in cut identities, so that rules of two fits on
two samples compare although their thresholds differ.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned, CutIdentity, Cuts
from pysirus._data.column import UNSEEN, Column
from pysirus._data.table import Table
from pysirus._format import (
    format_levels,
    format_number,
    format_outputs,
    format_threshold,
    html_table,
    make_frame,
    text_table,
)
from pysirus._plain import one_line
from pysirus._rules.effect import Effect, read_effect
from pysirus._rules.outcome import Outcome, format_factors, median_texts


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

    @property
    def key(self) -> Hashable:
        """What the condition reads, in cut identities."""
        return (self.feature, self.lower_cut, self.upper_cut, bool(self.missing), not self.only_missing)

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

    def __str__(self) -> str:
        if self.only_missing:
            return one_line(f"{self.feature} is missing")
        text = self._known_text()
        if text is None:
            return one_line(f"{self.feature} is known")
        return one_line(f"{text} or missing" if self.missing else text)

    def _known_text(self) -> str | None:
        """What it says of known values; None if it takes them all."""
        if self.levels is not None and self.upper_cut is None and self.lower_cut is None:
            return None
        if self.levels is not None:
            return f"{self.feature} in {format_levels(self.levels)}"
        if self.lower is None and self.upper is None:
            return None
        if self.upper is None:
            return f"{self.feature} >= {format_threshold(self.lower)}"
        if self.lower is None:
            return f"{self.feature} < {format_threshold(self.upper)}"
        return f"{format_threshold(self.lower)} <= {self.feature} < {format_threshold(self.upper)}"


@dataclass(frozen=True, eq=False)
class Rule:
    """If all conditions hold then one output, else another.

    Attributes
    ----------
    conditions : tuple of Condition
        One per feature.
    path : tuple of Split
        The splits it came from.
    frequency : float
        Proportion of the forest's trees that contain the path.
    inside, outside : float, tuple of float, or None
        Mean target (class proportions) of the training rows inside and outside the rule; None for a candidate.
    n_inside, n_outside : int or None
        Training rows inside and outside.
    weight : float or None
        Weight in the model.
    stage : int
        1 for a rule about the target, 2 or more for a correction, whose outputs are mean residuals of the earlier
        stages (their prediction shrunk by a factor of 0.85).
    observed : tuple of two outputs, or None
        Of a correction of a score: the mean target (class proportions) inside and outside, which its outputs are not.
    given : bool
        Whether somebody gave the rule, rather than the forest. Its frequency is 1: it is in every list.
    effect : Effect or None
        What somebody says that a given rule adds where it holds. Its outputs are this and nothing, its weight is 1, and
        ``observed`` has the mean target.
    survival : tuple of two Outcome, or None
        Of times to an event: events and median time of the training rows inside and outside.
    """

    conditions: tuple[Condition, ...]
    path: tuple[Split, ...] = ()
    frequency: float = float("nan")
    inside: float | tuple[float, ...] | None = None
    outside: float | tuple[float, ...] | None = None
    n_inside: int | None = None
    n_outside: int | None = None
    weight: float | None = None
    classes: tuple[Any, ...] | None = None
    stage: int = 1
    observed: tuple[Any, Any] | None = None
    given: bool = False
    effect: Effect | None = None
    survival: tuple[Outcome, Outcome] | None = None

    @property
    def frequency_text(self) -> str:
        """How often its path occurs, or that it was given, and its effect too."""
        if self.effect is not None:
            return "given, fixed"
        return "given" if self.given else format_number(self.frequency, 3)

    def with_effect(self, effect: str | Effect) -> Rule:
        """The rule with what it adds: ``"+2"``, ``"-0.5 for good"`` or, as a factor, ``"×1.5"``."""
        return replace(self, effect=read_effect(effect) if isinstance(effect, str) else effect)

    @property
    def means(self) -> tuple[Any, Any]:
        """What the data say: the mean target (class proportions) of the rows inside and outside."""
        return (self.inside, self.outside) if self.observed is None else self.observed

    @cached_property
    def key(self) -> Hashable:
        """What the rule reads, in cut identities."""
        return frozenset(condition.key for condition in self.conditions)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Rule) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __getstate__(self) -> dict[str, Any]:
        # `key` holds hashes of text, which differ between processes
        return {name: value for name, value in self.__dict__.items() if name != "key"}

    def holds(self, table: Table) -> NDArray[np.bool_]:
        """Which rows of a table are inside."""
        inside = np.ones(table.n_rows, dtype=bool)
        for condition in self.conditions:
            inside &= condition.holds(table.columns[condition.index])
        return inside

    @property
    def condition_text(self) -> str:
        """The conditions alone."""
        if len(self.conditions) > 1:  # "or missing" binds to its own condition
            return " & ".join(f"({c})" if c.missing and not c.only_missing else str(c) for c in self.conditions)
        return str(self.conditions[0]) if self.conditions else "always"

    @property
    def text(self) -> str:
        """What is said of the rule where it is asked for: the conditions, and its effect if that is fixed."""
        return self.condition_text if self.effect is None else one_line(f"{self.effect} if {self.condition_text}")

    @property
    def output_texts(self) -> tuple[str, str]:
        """What it answers inside and outside, as text: means, or of a correction of numbers residuals with a sign.

        A fixed effect on numbers is one too.
        """
        if self.survival is not None:
            return median_texts(self.survival)
        if self.effect is not None and isinstance(self.inside, float) and isinstance(self.outside, float):
            return format_outputs(self.inside, self.outside, None, signed=True)
        inside, outside = self.means
        assert inside is not None and outside is not None
        return format_outputs(inside, outside, self.classes, signed=self.stage > 1 and self.observed is None)

    def __str__(self) -> str:
        if self.effect is not None:
            return self.text
        if self.inside is None or self.outside is None:
            return f"if {self.condition_text}"
        inside, outside = self.output_texts
        return one_line(f"if {self.condition_text} then {inside} else {outside}{self._hazard_text()}")

    @property
    def event_texts(self) -> tuple[str, str]:
        """Events and rows at risk inside and outside, of a survival model: ``192 of 310``."""
        if self.survival is None:
            return "", ""
        rows = (self.n_inside, self.n_outside)
        inside, outside = (f"{side.n_events} of {n}" for side, n in zip(self.survival, rows))
        return inside, outside

    def _hazard_text(self) -> str:
        """By what factors a rule of a survival model multiplies the hazard, inside and outside."""
        if self.survival is None or not self.weight:
            return ""
        sides = [self.weight * float(np.asarray(side)) for side in (self.inside, self.outside)]
        return f" (hazard {' / '.join(format_factors(sides))})"

    def __repr__(self) -> str:
        return f"<Rule: {self}>"


class Reading(Protocol):
    """How the rules of a model are read whose weighted sum is a score: what the data say, and what a rule adds."""

    @property
    def adds_name(self) -> str: ...

    def outputs(self, rule: Rule, *, named: bool = True) -> tuple[str, str]: ...
    def adds(self, rule: Rule) -> str: ...
    def added(self, rule: Rule) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...


class RuleSet(Sequence[Rule]):
    """A list of rules that prints as a table.

    Two rule sets are equal if they have equal rules in the same order. The ``reading`` of a model with scores prints
    what each rule adds in place of its weight.
    """

    def __init__(self, rules: Sequence[Rule] = (), reading: Reading | None = None) -> None:
        self._rules = tuple(rules)
        self.reading = reading

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> RuleSet: ...
    def __getitem__(self, index: int | slice) -> Rule | RuleSet:
        return RuleSet(self._rules[index], self.reading) if isinstance(index, slice) else self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __eq__(self, other: object) -> bool:
        return self._rules == tuple(other) if isinstance(other, (RuleSet, list, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rules)

    def _rows(self, named: bool = True) -> tuple[list[str], list[list[str]]]:
        columns = {
            "stage": [str(rule.stage) for rule in self],
            "frequency": [rule.frequency_text for rule in self],
            "rule": [self.rule_text(rule, named) for rule in self],
        }
        if all(rule.stage == 1 for rule in self):
            del columns["stage"]
        if any(rule.weight is not None for rule in self):
            if self.reading is None:
                columns["weight"] = [format_number(rule.weight or 0.0, 3) for rule in self]
            else:
                columns[self.reading.adds_name] = [self.reading.adds(rule) for rule in self]
        if any(rule.survival is not None for rule in self):
            columns["events"] = [" / ".join(rule.event_texts) for rule in self]
        return list(columns), [list(row) for row in zip(*columns.values())]

    def output_texts(self, rule: Rule, named: bool = True) -> tuple[str, str]:
        """What a rule answers, or what the data say of it, inside and outside."""
        return rule.output_texts if self.reading is None else self.reading.outputs(rule, named=named)

    def rule_text(self, rule: Rule, named: bool = True) -> str:
        """A rule as one line."""
        if rule.effect is not None or rule.inside is None or rule.outside is None:
            return str(rule)
        inside, outside = self.output_texts(rule, named)
        return one_line(f"if {rule.condition_text} then {inside} else {outside}")

    def text(self, *, named: bool = True) -> str:
        """The table; a heading may have named the class that it is about."""
        return text_table(*self._rows(named)) if len(self) else "(no rules)"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, *, named: bool = True) -> str:
        """The same table for a notebook."""
        return html_table(*self._rows(named)) if len(self) else "<p>(no rules)</p>"

    def to_frame(self, backend: str | None = None) -> Any:
        """The rules as a data frame, one row per rule.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``rule``, ``frequency``, ``inside``, ``outside``, ``n_inside``, ``n_outside``, ``weight``,
            ``stage``, and ``effect`` where one is fixed. Where the sum of the rules is a score, then also
            ``mean_inside`` and ``mean_outside`` (what the data say; the outputs of corrections are residuals),
            ``adds_inside`` and ``adds_outside`` (points). Of times to an event ``median_inside``, ``events_inside``
            and so on in place of means.
        """
        data: dict[str, list[Any]] = {"rule": [rule.condition_text for rule in self]}
        for name in ("frequency", "inside", "outside", "n_inside", "n_outside", "weight", "stage"):
            column = [getattr(rule, name) for rule in self]
            data[name] = [list(v) if isinstance(v, tuple) else v for v in column]
        if any(rule.effect is not None for rule in self):
            data["effect"] = [None if rule.effect is None else str(rule.effect) for rule in self]
        if self.reading is not None:
            for i, side in enumerate(("inside", "outside")):
                if any(rule.survival is not None for rule in self):
                    outcomes = [rule.survival[i] for rule in self if rule.survival is not None]
                    data[f"median_{side}"] = [own.median for own in outcomes]
                    data[f"events_{side}"] = [own.n_events for own in outcomes]
                else:
                    data[f"mean_{side}"] = [np.asarray(rule.means[i]).tolist() for rule in self]
                data[f"adds_{side}"] = [self.reading.added(rule)[i].tolist() for rule in self]
        return make_frame(data, backend)


# ------------------------------------------------------------------------------------------------- paths into rules


class SplitSide(NamedTuple):
    """A code of a path, taken apart: feature number, cut number (None: missing apart), side, where missing go."""

    feature: int
    cut: int | None
    less: bool
    missing_left: bool

    @property
    def missing_inside(self) -> bool:
        """Whether missing values go to this side."""
        return self.missing_left == self.less


def decode(code: int, binned: Binned) -> SplitSide:
    """Take a code ``2 * split + side`` apart."""
    split, side = divmod(int(code), 2)
    feature = bisect_right(binned.split_offset, split) - 1
    local, n_cuts = split - binned.split_offset[feature], binned.cuts[feature].n_cuts
    if local == 2 * n_cuts and binned.cuts[feature].has_missing:
        return SplitSide(feature, None, side == 0, False)
    return SplitSide(feature, local % n_cuts, side == 0, local >= n_cuts)


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


def merge_sides(sides: Sequence[SplitSide], cuts: Cuts, index: int) -> Condition:
    """The condition that several splits on one feature amount to."""
    lower = max((s.cut for s in sides if s.cut is not None and not s.less), default=None)
    upper = min((s.cut for s in sides if s.cut is not None and s.less), default=None)
    missing = all(s.missing_inside for s in sides) if cuts.has_missing else None
    only_missing = any(s.cut is None and not s.less for s in sides)
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
        **values,
    )


def rule_of_sides(sides: Sequence[SplitSide], cuts: Sequence[Cuts], frequency: float) -> Rule:
    """The rule that the splits of a path say."""
    by_feature: dict[int, list[SplitSide]] = {}
    for side in sides:
        by_feature.setdefault(side.feature, []).append(side)
    conditions = tuple(merge_sides(group, cuts[f], f) for f, group in by_feature.items())
    return Rule(conditions, tuple(_split_of(side, cuts[side.feature]) for side in sides), frequency)


def rule_of(codes: Sequence[int], binned: Binned, frequency: float) -> Rule:
    """The rule that a path says."""
    return rule_of_sides([decode(code, binned) for code in codes if code >= 0], binned.cuts, frequency)


def with_weights(rules: Sequence[Rule], weights: Sequence[float]) -> RuleSet:
    """The rules with these weights."""
    return RuleSet([replace(rule, weight=float(weight)) for rule, weight in zip(rules, weights)])

"""Rules as data: cut identities and thresholds, never text.

Rules compare by what they read, in cut identities, so that rules of two fits on two samples compare although their
thresholds differ.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import CutIdentity
from pysirus._data.column import UNSEEN, Column
from pysirus._data.table import Table
from pysirus._format import (
    format_label,
    format_number,
    format_outputs,
    format_percents,
    html_table,
    make_frame,
    text_table,
)
from pysirus._plain import one_line
from pysirus._terms.effect import Effect, read_effect
from pysirus._terms.outcome import Outcome, format_factors, median_texts
from pysirus._terms.words import (
    LINE,
    condition_words,
    exact_text,
    fold_conditions,
    fold_labels,
    fold_line,
    join_conditions,
    set_text,
)


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
        return condition_words(self)


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

    @property
    def file_text(self) -> str:
        """The rule as model files of every version describe it: levels as sets, numbers to six digits."""
        return self.line(join_conditions(self.conditions, [set_text(c, rounded=True) for c in self.conditions]))

    def folded(self, width: int = LINE) -> str:
        """``text`` for display, at most ``width`` characters: long sets and names are shortened."""
        head = "" if self.effect is None else one_line(f"{self.effect} if ")
        return head + fold_conditions(self.conditions, width - len(head))

    @property
    def text(self) -> str:
        """What is said of the rule where it is asked for: the conditions, and its effect if that is fixed."""
        return self.condition_text if self.effect is None else one_line(f"{self.effect} if {self.condition_text}")

    @property
    def output_texts(self) -> tuple[str, str]:
        """What it answers inside and outside, as text: means, or of a correction of numbers residuals with a sign.

        A fixed effect on numbers is one too.
        """
        return self._output_texts(self.classes)

    def _output_texts(self, classes: Sequence[Any] | None) -> tuple[str, str]:
        if self.survival is not None:
            return median_texts(self.survival)
        if self.effect is not None and isinstance(self.inside, float) and isinstance(self.outside, float):
            return format_outputs(self.inside, self.outside, None, signed=True)
        inside, outside = self.means
        assert inside is not None and outside is not None
        return format_outputs(inside, outside, classes, signed=self.stage > 1 and self.observed is None)

    def _sides(self, longest: int | None = None) -> tuple[str, str] | None:
        """Its outputs as text, class names cut to ``longest`` characters; None for a candidate."""
        if self.inside is None or self.effect is not None:
            return None
        return self._output_texts(fold_labels(self.classes, longest))

    def line(self, conditions: str) -> str:
        """The rule in one line, with these words for its conditions."""
        if self.effect is not None:
            return one_line(f"{self.effect} if {conditions}")
        sides = self._sides()
        answer = "" if sides is None else one_line(f" then {sides[0]} else {sides[1]}{self._hazard_text()}")
        return f"if {conditions}{answer}"

    def __str__(self) -> str:
        head = "" if self.effect is None else one_line(f"{self.effect} ")
        return head + fold_line(self.conditions, self._sides, LINE - len(head), self._hazard_text())

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

    def outputs(self, rule: Rule, *, named: bool = True, longest: int | None = None) -> tuple[str, str]: ...
    def adds(self, rule: Rule) -> str: ...
    def added(self, rule: Rule) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...


class RuleSet(Sequence[Rule]):
    """A list of rules that prints as a table.

    Two rule sets are equal if they have equal rules in the same order. The ``reading`` of a model with scores prints
    what each rule adds in place of its weight.

    Rules that a model shows are numbered from 1. One of weight 0 that nobody gave is not shown and has no number, so a
    rule has the same number in ``selected_``, in ``rules_`` and in a slice of either.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        reading: Reading | None = None,
        numbers: Sequence[int | None] | None = None,
        *,
        shown: int | None = None,
    ) -> None:
        self._rules = tuple(rules)
        self.reading = reading
        self.numbers = tuple(_count_shown(self._rules) if numbers is None else numbers)
        self.shown = shown  # the number of the class whose shares are printed, where it is said

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> RuleSet: ...
    def __getitem__(self, index: int | slice) -> Rule | RuleSet:
        if isinstance(index, slice):
            return RuleSet(self._rules[index], self.reading, self.numbers[index], shown=self.shown)
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __eq__(self, other: object) -> bool:
        return self._rules == tuple(other) if isinstance(other, (RuleSet, list, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rules)

    def _rows(self, named: bool, full: bool) -> tuple[list[str], list[list[str]]]:
        columns = {
            "#": ["" if number is None else str(number) for number in self.numbers],
            "stage": [str(rule.stage) for rule in self],
            "frequency": [rule.frequency_text for rule in self],
            "rule": [""] * len(self),
        }
        if all(rule.stage == 1 for rule in self):
            del columns["stage"]
        if any(rule.weight is not None for rule in self):
            if self.reading is None:
                columns["weight"] = [format_number(rule.weight or 0.0, 3) for rule in self]
            elif self.reading.adds_name:
                columns[self.reading.adds_name] = [self.reading.adds(rule) for rule in self]
        if any(rule.survival is not None for rule in self):
            columns["events"] = [" / ".join(rule.event_texts) for rule in self]
        others = sum(2 + max(map(len, [name, *own])) for name, own in columns.items() if name != "rule")
        width = None if full else LINE - others
        columns["rule"] = [self.rule_text(rule, named, width) for rule in self]
        return list(columns), [list(row) for row in zip(*columns.values())]

    def output_texts(self, rule: Rule, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """A rule's outputs, or the means in the data, inside and outside; labels cut to ``longest`` characters."""
        if self.reading is not None:
            return self.reading.outputs(rule, named=named, longest=longest)
        labels = fold_labels(rule.classes, longest)
        if self.shown is not None and labels and isinstance(rule.inside, tuple) and isinstance(rule.outside, tuple):
            texts = format_percents(rule.inside[self.shown], rule.outside[self.shown])
            return f"{format_label(labels[self.shown])} {texts[0]}", texts[1]
        return replace(rule, classes=labels).output_texts

    def rule_text(self, rule: Rule, named: bool = True, width: int | None = None) -> str:
        """A rule as one line, whole or folded to a width."""
        head = "" if rule.effect is None else one_line(f"{rule.effect} ")

        def sides(longest: int | None) -> tuple[str, str] | None:
            if rule.inside is None or rule.effect is not None:
                return None
            return self.output_texts(rule, named, longest)

        return head + fold_line(rule.conditions, sides, None if width is None else width - len(head))

    def text(self, *, named: bool = True, full: bool = False) -> str:
        """The rules as a table, in lines of at most 120 characters.

        Parameters
        ----------
        named : bool, default=True
            Whether to name the class that the proportions are of; a heading may have said it.
        full : bool, default=False
            Whether to print long names and sets of levels whole.

        Returns
        -------
        text : str
        """
        return text_table(*self._rows(named, full)) if len(self) else "(no rules)"

    @property
    def is_folded(self) -> bool:
        """Whether the table leaves something out that ``text(full=True)`` says."""
        return self.text() != self.text(full=True)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, *, named: bool = True) -> str:
        """The same table for a notebook."""
        return html_table(*self._rows(named, False)) if len(self) else "<p>(no rules)</p>"

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
            ``stage``, and ``effect`` where one is fixed. Of numbers in stages then also ``adds_inside`` and
            ``adds_outside``. Where the sum of the rules is a score, also ``mean_inside`` and ``mean_outside`` (what the
            data say; the outputs of corrections are residuals), ``adds_inside`` and ``adds_outside`` (points). Of times
            to an event ``median_inside``, ``events_inside`` and so on in place of means.
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
                elif self.reading.adds_name:
                    data[f"mean_{side}"] = [np.asarray(rule.means[i]).tolist() for rule in self]
                data[f"adds_{side}"] = [self.reading.added(rule)[i].tolist() for rule in self]
        return make_frame(data, backend)


def _count_shown(rules: Sequence[Rule]) -> list[int | None]:
    """The numbers of rules, from 1; those of weight 0 that nobody gave have none."""
    count = itertools.count(1)
    return [next(count) if rule.weight != 0 or rule.given else None for rule in rules]


def with_weights(rules: Sequence[Rule], weights: Sequence[float]) -> RuleSet:
    """The rules with these weights."""
    return RuleSet([replace(rule, weight=float(weight)) for rule, weight in zip(rules, weights)])

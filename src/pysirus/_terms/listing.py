"""Terms of a model in, a list out that prints as a table, for a notebook, as a data frame; texts in, rules out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from pysirus._bins.cuts import CutIdentity, Cuts
from pysirus._data.column import ColumnKind
from pysirus._data.table import Feature
from pysirus._families.links import fold_labels
from pysirus._runtime import changed
from pysirus._terms.fitted import Effect, FittedTerm, Reading
from pysirus._terms.lexicon import Lexicon, RuleTextError
from pysirus._terms.parse import Ask, parse_rule
from pysirus._terms.rule import Condition, FittedRule, Rule
from pysirus._terms.slope import FittedSlope
from pysirus._terms.words import LINE
from pysirus._text.format import (
    format_date,
    format_label,
    format_number,
    format_percents,
    format_threshold,
    html_lines,
    html_table,
    make_frame,
    text_table,
)

SIDES = ("inside", "outside")


class RuleSet(Sequence[FittedTerm]):
    """A rule list that prints as a table.

    Two rule sets are equal if they have equal rules in the same order. In models with scores, the table shows what each
    rule adds instead of its weight.

    Rules are numbered from 1. Rules with weight 0 have no number and are hidden unless they are required, so that a
    rule has the same number in ``selected_``, in ``rules_`` and in a slice of either.

    Examples
    --------
    >>> from pysirus import SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=5, random_state=0).fit(X, y)
    >>> print(model.rules_)
    #  frequency  rule                                          weight       rows
    1      0.284  if temp < 66 then 7.0 else 19.0                0.242  198 (60%)
    2      0.170  if ibt < 189 then 7.4 else 18.3                0.314  197 (60%)
    3     0.0631  if temp >= 66 & vis < 150 then 20.3 else 7.3   0.479  114 (35%)
    4     0.0619  if vh < 5840 then 9.5 else 20.2                0.236  260 (79%)
    >>> model.rules_[0] in model.rules_, len(model.rules_.to_frame("pandas"))
    (True, 4)
    """

    def __init__(
        self,
        rules: Sequence[FittedTerm] = (),
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
    def __getitem__(self, index: int) -> FittedTerm: ...
    @overload
    def __getitem__(self, index: slice) -> RuleSet: ...
    def __getitem__(self, index: int | slice) -> FittedTerm | RuleSet:
        if isinstance(index, slice):
            return RuleSet(self._rules[index], self.reading, self.numbers[index], shown=self.shown)
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[FittedTerm]:
        return iter(self._rules)

    def __eq__(self, other: object) -> bool:
        return self._rules == tuple(other) if isinstance(other, (RuleSet, list, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rules)

    def cells(self) -> dict[str, list[str]]:
        """What a table of the rules has, by the names of its columns; its column ``rule`` is empty."""
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
                columns[self.reading.adds_name] = [rule.adds_by(self.reading) for rule in self]
        if any(events := [" / ".join(f"{side.n_events:,}" for side in rule.survival or ()) for rule in self]):
            columns["events"] = events
        return columns | self.support()

    def support(self) -> dict[str, list[str]]:
        """The rows that each rule covers, and in how many folds it returned, by the names of their columns."""
        columns = {
            "rows": [rule.support_text for rule in self],
            "returned": [rule.returned_text for rule in self],
        }
        return {name: texts for name, texts in columns.items() if any(texts)}

    def _rows(self, named: bool, full: bool) -> tuple[list[str], list[list[str]]]:
        columns = self.cells()
        others = sum(2 + max(map(len, [name, *own])) for name, own in columns.items() if name != "rule")
        width = None if full else LINE - others
        columns["rule"] = [self.rule_text(rule, named, width) for rule in self]
        return list(columns), [list(row) for row in zip(*columns.values())]

    def output_texts(self, rule: FittedTerm, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """A rule's outputs, or the means in the data, inside and outside; labels cut to ``longest`` characters."""
        labels, k = fold_labels(rule.classes, longest), self.shown
        shares = [side for side in (rule.inside, rule.outside) if isinstance(side, tuple)]
        if self.reading is None and k is not None and labels and len(shares) == 2:
            texts = format_percents(*(side[k] for side in shares))
            return f"{format_label(labels[k])} {texts[0]}", texts[1]
        return rule.read_by(self.reading, named=named, longest=longest)

    def rule_text(self, rule: FittedTerm, named: bool = True, width: int | None = None) -> str:
        """A rule as one line, whole or folded to a width."""
        head = rule.effect_text

        def sides(longest: int | None) -> tuple[str, str] | None:
            return self.output_texts(rule, named, longest) if rule.has_sides else None

        return head + rule.sentence(sides, None if width is None else width - len(head))

    def text(self, *, named: bool = True, full: bool = False) -> str:
        """The rules as a table, in lines of at most 120 characters.

        Parameters
        ----------
        named : bool, default=True
            Whether to name the class that the proportions refer to.
        full : bool, default=False
            Whether to print long names and sets of categories in full.

        Returns
        -------
        text : str
        """
        notes = ["", *self.notes] if self.notes else []
        return "\n".join([text_table(*self._rows(named, full)), *notes]) if len(self) else "(no rules)"

    @property
    def notes(self) -> list[str]:
        """What is said once below the list, of the kinds of terms that it has."""
        return list(dict.fromkeys(rule.note for rule in self if rule.note))

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
        """The table as HTML, for notebooks."""
        notes = "".join(map(html_lines, self.notes))
        return html_table(*self._rows(named, False)) + notes if len(self) else "<p>(no rules)</p>"

    def to_frame(self, backend: str | None = None) -> Any:
        """The rules as a data frame, one row per rule.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the data frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``rule``, ``frequency``, ``inside``, ``outside``, ``n_inside``, ``n_outside``, ``share_inside``,
            ``weight`` and ``stage``, and more for some models:

            - fixed effects: ``effect``
            - tuned lists: ``n_returned`` and ``n_folds``, the folds that selected the rule and their total number
            - stages in regression: ``adds_inside`` and ``adds_outside``
            - scores: also ``mean_inside`` and ``mean_outside``, the means in the data
            - survival: ``median_inside``, ``events_inside`` and so on instead of means
            - slopes, which have no outputs: ``per_unit`` (what a unit adds to the score), ``lower`` and ``upper`` (the
              range), and ``zero_at`` (the mean, where the slope adds nothing)
        """
        data: dict[str, list[Any]] = {"rule": [rule.condition_text for rule in self]}
        for name in ("frequency", "inside", "outside", "n_inside", "n_outside", "share_inside", "weight", "stage"):
            column = [getattr(rule, name) if rule.is_binary or name not in SIDES else None for rule in self]
            data[name] = [list(v) if isinstance(v, tuple) else v for v in column]
        if any(rule.effect is not None for rule in self):
            data["effect"] = [None if rule.effect is None else str(rule.effect) for rule in self]
        if any(rule.returned is not None for rule in self):
            for i, name in enumerate(("n_returned", "n_folds")):
                data[name] = [None if rule.returned is None else rule.returned[i] for rule in self]
        if self.reading is not None:
            for i, side in enumerate(SIDES):
                data |= self._side_columns(self.reading, i, side)
        lines = [rule.line_values for rule in self]
        for name in next((list(own) for own in lines if own), []):
            data[name] = [np.asarray(own[name]).tolist() if own else None for own in lines]
        return make_frame(data, backend)

    def _side_columns(self, reading: Reading, i: int, side: str) -> dict[str, list[Any]]:
        """What the data say on a side of each rule, and what it adds there."""
        data: dict[str, list[Any]] = {}
        outcomes = [(rule.survival or (None, None))[i] for rule in self]
        if any(own is not None for own in outcomes):
            data[f"median_{side}"] = [None if own is None else own.median for own in outcomes]
            data[f"events_{side}"] = [None if own is None else own.n_events for own in outcomes]
        elif reading.adds_name:
            means = ((rule.means[i] if rule.is_binary else None) for rule in self)
            data[f"mean_{side}"] = [None if own is None else np.asarray(own).tolist() for own in means]
        data[f"adds_{side}"] = [reading.added(rule)[i].tolist() if rule.is_binary else None for rule in self]
        return data


def _count_shown(rules: Sequence[FittedTerm]) -> list[int | None]:
    """The numbers of rules, from 1; those of weight 0 that nobody gave have none."""
    count = itertools.count(1)
    return [next(count) if rule.weight != 0 or rule.given else None for rule in rules]


def with_weights(rules: Sequence[FittedTerm], weights: Sequence[float]) -> RuleSet:
    """The rules with these weights."""
    return RuleSet([changed(rule, weight=float(weight)) for rule, weight in zip(rules, weights)])


# ---------------------------------------------------------------------------------------------------------------- texts

# What a text asks in, a rule out: thresholds and levels become cuts, those that are known keep their identity.
#
# A number that prints like a known threshold is that threshold, unless two print so. Any other is a cut of its own.


@dataclass(frozen=True)
class CutColumn:
    """A column that rules may name, and the cuts that others have made in it."""

    name: str
    kind: ColumnKind
    levels: tuple[Any, ...] = ()
    thresholds: tuple[tuple[float, CutIdentity], ...] = ()
    left_sets: frozenset[frozenset[Any]] = frozenset()  # levels on the left of a cut
    has_missing: bool = False
    is_date: bool = False


def columns_of_cuts(cuts: Sequence[Cuts]) -> list[CutColumn]:
    """The columns of training, with all their cuts."""
    return [
        CutColumn(
            own.column.name,
            own.column.kind,
            own.column.levels,
            tuple(zip(own.thresholds.tolist(), own.identities)),
            frozenset(frozenset(own.levels[: k + 1]) for k in range(len(own.levels) - 1)),
            own.has_missing,
            own.column.is_date,
        )
        for own in cuts
    ]


def columns_of_rules(features: Sequence[Feature], rules: Iterable[FittedTerm]) -> list[CutColumn]:
    """The columns of a model, with the cuts of its rules."""
    thresholds: list[dict[float, CutIdentity]] = [{} for _ in features]
    left_sets: list[set[Any]] = [set() for _ in features]
    gaps = [False] * len(features)
    for condition in (condition for rule in rules for condition in rule.conditions):
        gaps[condition.index] |= condition.missing is not None
        ends = ((condition.lower, condition.lower_cut), (condition.upper, condition.upper_cut))
        for value, cut in ends:
            if cut is not None and value is not None:
                thresholds[condition.index][value] = cut
            elif cut is not None:
                left_sets[condition.index].add(cut[1])
    return [
        CutColumn(f.name, f.kind, f.levels, tuple(own.items()), frozenset(sets), gap, f.is_date)
        for f, own, sets, gap in zip(features, thresholds, left_sets, gaps)
    ]


def read_rule(text: str, columns: Sequence[CutColumn]) -> FittedTerm:
    """The rule that a text says, without outputs."""
    return read_rules([text], columns)[0]


def read_rules(texts: Iterable[str], columns: Sequence[CutColumn]) -> list[FittedTerm]:
    """The rules that some texts say, without outputs."""
    lexicon = Lexicon(columns)
    return [_read(text, columns, lexicon) for text in texts]


def _read(text: str, columns: Sequence[CutColumn], lexicon: Lexicon) -> FittedTerm:
    effect, found = parse_rule(text, lexicon)
    if found[0].is_slope:
        return _slope(found[0], columns, text, effect)
    asks: dict[int, Ask] = {}
    for ask in found:
        before = asks.get(ask.column)
        asks[ask.column] = ask if before is None else _both(before, ask, text, columns[ask.column].name)
    return FittedRule(tuple(_condition(ask, columns[i], i, text) for i, ask in asks.items()), effect=effect)


def _slope(ask: Ask, columns: Sequence[CutColumn], text: str, effect: Effect | None) -> FittedSlope:
    """The slope of a column, of which nothing else is known."""
    column = columns[ask.column]
    if column.kind != "numeric" or column.is_date:
        kind = "holds dates" if column.is_date else "has categories"
        raise RuleTextError(text, ask.at, f"a slope needs a numeric column, and '{column.name}' {kind}")
    return FittedSlope(column.name, ask.column, effect=effect)


def rule_on(rule: Rule, columns: Sequence[CutColumn], numbers: Sequence[int]) -> FittedTerm:
    """What a rule of another model says of the columns of these numbers, in their cuts."""
    conditions = []
    for own, index in zip(rule.conditions, numbers):
        levels = own.levels if own.lower_cut is not None or own.upper_cut is not None else None
        ask = Ask(index, 0, own.lower, own.upper, levels, bool(own.missing), own.only_missing)
        conditions.append(_condition(ask, columns[index], index, rule.condition_text))
    return FittedRule(tuple(conditions), effect=rule.effect if isinstance(rule, FittedTerm) else None)


def _both(first: Ask, second: Ask, text: str, name: str) -> Ask:
    """Two conditions on one column, which must be the two ends of an interval."""
    ends = {(first.lower is None, first.upper is None), (second.lower is None, second.upper is None)}
    if ends != {(True, False), (False, True)} or first.missing != second.missing:
        raise RuleTextError(text, second.at, f"'{name}' has a condition already, and they are no interval together")
    lower, upper = (first, second) if first.lower is not None else (second, first)
    return replace(first, lower=lower.lower, upper=upper.upper)


def _condition(ask: Ask, column: CutColumn, index: int, text: str) -> Condition:
    missing = True if ask.missing else False if column.has_missing else None
    if ask.only_missing:
        levels = _in_order(column) if column.kind != "numeric" else None
        return Condition(
            column.name, levels=levels, missing=True, only_missing=True, index=index, column_levels=levels or ()
        )
    if column.kind == "numeric":
        values = _interval(ask, column, text)
        is_all = ask.lower is None and ask.upper is None
    else:
        values, is_all = _levels(ask, column, text), ask.levels is None
    if is_all:  # `is known`
        missing = False
    values |= {"column_levels": _in_order(column), "is_date": column.is_date}
    return Condition(column.name, missing=missing, index=index, **values)


def _interval(ask: Ask, column: CutColumn, text: str) -> dict[str, Any]:
    """Ends and their cuts; a number that prints like a known threshold is that one."""
    (lower, lower_cut), (upper, upper_cut) = (_end(value, ask, column, text) for value in (ask.lower, ask.upper))
    if lower is not None and upper is not None and not lower < upper:
        raise RuleTextError(text, ask.at, f"no value of '{column.name}' is in this interval")
    if lower_cut is not None and upper_cut is not None and lower_cut[0] != upper_cut[0]:
        lower_cut, upper_cut = ("value", lower), ("value", upper)
    return {"lower": lower, "upper": upper, "lower_cut": lower_cut, "upper_cut": upper_cut}


def _end(value: float | None, ask: Ask, column: CutColumn, text: str) -> tuple[float | None, CutIdentity | None]:
    """A threshold and its cut."""
    if value is None:
        return None, None
    value = value + 0.0  # no -0.0
    known = dict(column.thresholds)
    if value in known:
        return value, known[value]
    as_text = format_date if column.is_date else format_threshold
    alike = sorted(own for own in known if as_text(own) == as_text(value))
    if len(alike) > 1:
        said = f"two thresholds of '{column.name}' print as {as_text(value)}: {alike[0]!r} and {alike[1]!r}"
        raise RuleTextError(text, ask.at, f"{said}. Write all digits of the one that is meant")
    return (alike[0], known[alike[0]]) if alike else (value, ("value", value))


def _levels(ask: Ask, column: CutColumn, text: str) -> dict[str, Any]:
    """Levels in the column's order, and the cuts between which they stand."""
    if ask.levels is None:
        return {"levels": _in_order(column)}
    chosen, every = frozenset(ask.levels), frozenset(column.levels)
    if len(ask.levels) > len(chosen):
        raise RuleTextError(text, ask.at, f"a category of '{column.name}' stands twice in this set")
    if not chosen:
        raise RuleTextError(text, ask.at, f"these are all categories of '{column.name}': none is left")
    if chosen == every:
        raise RuleTextError(text, ask.at, f"these are all categories of '{column.name}': the condition is always true")
    lower, upper = _sides(chosen, column)
    if column.kind == "ordered" and lower is None and upper is None:
        raise RuleTextError(
            text, ask.at, f"the categories of '{column.name}' have an order, and these are no neighbours"
        )
    if lower is None and upper is None:
        upper = chosen
    return {
        "levels": tuple(level for level in _in_order(column) if level in chosen),
        "lower_cut": None if lower is None else ("levels", lower),
        "upper_cut": None if upper is None else ("levels", upper),
    }


def _in_order(column: CutColumn) -> tuple[Any, ...]:
    """The levels as rules list them."""
    return column.levels if column.kind == "ordered" else tuple(sorted(column.levels))


def _sides(chosen: frozenset[Any], column: CutColumn) -> tuple[frozenset[Any] | None, frozenset[Any] | None]:
    """The sets left of the lower and of the upper cut, where known cuts, or the order, make up these levels."""
    every = frozenset(column.levels)
    if column.kind == "ordered":
        left_sets = [frozenset(column.levels[: k + 1]) for k in range(len(column.levels) - 1)]
    else:
        left_sets = sorted(column.left_sets, key=lambda levels: (len(levels), sorted(map(str, levels))))
    if chosen in left_sets:
        return None, chosen
    if every - chosen in left_sets:
        return every - chosen, None
    for lower in left_sets:
        for upper in left_sets:
            if lower < upper and upper - lower == chosen:
                return lower, upper
    return None, None

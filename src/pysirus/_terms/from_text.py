"""What a text asks in, a rule out: thresholds and levels become cuts, those that are known keep their identity.

A number that prints like a known threshold is that threshold, unless two print so. Any other is a cut of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysirus._bins.cuts import CutIdentity, Cuts
from pysirus._data.column import ColumnKind
from pysirus._data.table import Feature
from pysirus._terms.fitted import Effect, FittedTerm
from pysirus._terms.lexicon import Lexicon, RuleTextError
from pysirus._terms.parse import Ask, parse_rule
from pysirus._terms.rule import Condition, FittedRule, Rule
from pysirus._terms.slope import FittedSlope
from pysirus._text.format import (
    format_date,
    format_threshold,
)


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

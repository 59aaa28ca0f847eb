"""A model in, the cells of its rule table out, as the paper prints it: frequency, rule, weight.

A list with corrections has their stage in front.
"""

from __future__ import annotations

from dataclasses import dataclass

from pysirus._format import decimals_for, format_levels, format_number, format_threshold
from pysirus._model.model import Model
from pysirus._rules.rule import Condition, Rule


@dataclass(frozen=True)
class ConditionText:
    """A condition around its feature: ``3 <= ``, ``x``, `` < 5 or missing``, and whether it takes brackets."""

    head: str
    feature: str
    tail: str
    bracket: bool = False

    def __str__(self) -> str:
        text = f"{self.head}{self.feature}{self.tail}"
        return f"({text})" if self.bracket else text


@dataclass(frozen=True)
class RuleRow:
    """One rule as text, without markup."""

    frequency: str
    conditions: tuple[ConditionText, ...]
    inside: str
    outside: str
    weight: str
    stage: str = ""  # empty where no rule of the list is a correction


def _condition(condition: Condition, alone: bool) -> ConditionText:
    bracket = bool(condition.missing) and not condition.only_missing and not alone
    tail = " or missing" if condition.missing else ""
    if condition.only_missing:
        return ConditionText("", condition.feature, " is missing")
    if condition.levels is not None and (condition.lower_cut is not None or condition.upper_cut is not None):
        return ConditionText("", condition.feature, f" in {format_levels(condition.levels)}{tail}", bracket)
    if condition.levels is not None or (condition.lower is None and condition.upper is None):
        return ConditionText("", condition.feature, " is known")
    if condition.upper is None:
        return ConditionText("", condition.feature, f" >= {format_threshold(condition.lower)}{tail}", bracket)
    head = "" if condition.lower is None else f"{format_threshold(condition.lower)} <= "
    return ConditionText(head, condition.feature, f" < {format_threshold(condition.upper)}{tail}", bracket)


def _row(rule: Rule, staged: bool) -> RuleRow:
    assert rule.inside is not None and rule.outside is not None
    inside, outside = rule.output_texts
    return RuleRow(
        frequency=format_number(rule.frequency, 2),
        conditions=tuple(_condition(c, len(rule.conditions) == 1) for c in rule.conditions),
        inside=inside,
        outside=outside,
        weight=format_number(rule.weight or 0.0, 2),
        stage=str(rule.stage) if staged else "",
    )


def is_staged(model: Model) -> bool:
    """Whether some rules correct others."""
    return any(rule.stage > 1 for rule in model.rules)


def rule_rows(model: Model) -> list[RuleRow]:
    """The rules as text."""
    staged = is_staged(model)
    return [_row(rule, staged) for rule in model.rules]


def head_pairs(model: Model) -> list[tuple[str, str]]:
    """What stands above the table: the mean and the intercept, or the share of each class."""
    if isinstance(model.mean, tuple):
        return [(f"share of {c}", f"{100 * s:.1f}%") for c, s in zip(model.classes or (), model.mean)]
    assert not isinstance(model.intercept, tuple)
    decimals = decimals_for([model.mean, model.intercept], 0.0)
    if model.aggregation == "mean":
        return [
            (f"mean {model.target}", f"{model.mean:.{decimals}f}"),
            ("its weight", format_number(model.root_weight, 2)),
        ]
    return [
        (f"mean {model.target}", f"{model.mean:.{decimals}f}"),
        ("intercept", f"{model.intercept:.{decimals}f}"),
    ]

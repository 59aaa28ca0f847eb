"""Rules that somebody gives, as text or as rules, in; rules on the columns of a table, without outputs, out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pysirus._constraints.read import number_of
from pysirus._parameters import ParameterError
from pysirus._rules.read import KnownColumn, read_rule, rule_on
from pysirus._rules.rule import Rule


def as_rules(given: Any, columns: Sequence[KnownColumn], parameter: str) -> list[Rule]:
    """The rules that are given: one, or several, as text or as rules."""
    if given is None:
        return []
    items = [given] if isinstance(given, (str, Rule)) else list(given) if isinstance(given, Iterable) else None
    if items is None or not all(isinstance(item, (str, Rule)) for item in items):
        raise ParameterError(f"{parameter} must be a list of rules, as text such as 'age < 25' or Rule, got {given!r}.")
    return [
        read_rule(item, columns) if isinstance(item, str) else _on_columns(item, columns, parameter) for item in items
    ]


def _on_columns(rule: Rule, columns: Sequence[KnownColumn], parameter: str) -> Rule:
    """A rule of another model on the columns of this table: by what it says."""
    names = [column.name for column in columns]
    if not rule.conditions:
        raise ParameterError(f"{parameter} has a rule without conditions, which holds everywhere.")
    return rule_on(rule, columns, [number_of(condition.feature, names, parameter) for condition in rule.conditions])

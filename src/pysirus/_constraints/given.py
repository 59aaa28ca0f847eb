"""Rules that somebody gives, as text or as rules, in; rules on the columns of a table, without outputs, out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pysirus._bins.cuts import Cuts
from pysirus._constraints.constraints import Constraints
from pysirus._constraints.read import Known, as_columns, listed, number_of
from pysirus._message import Parameter
from pysirus._parameters import ParameterError
from pysirus._terms.read import KnownColumn, columns_of_cuts, read_rules, rule_on
from pysirus._terms.rule import Rule
from pysirus._terms.text_error import RuleTextError


def as_rules(given: Any, columns: Sequence[KnownColumn], parameter: str) -> list[Rule]:
    """The rules that are given: one, or several, as text or as rules."""
    if given is None:
        return []
    items = [given] if isinstance(given, (str, Rule)) else list(given) if isinstance(given, Iterable) else None
    if items is None or not all(isinstance(item, (str, Rule)) for item in items):
        wanted = "a list of rules, as text such as 'age < 25' or Rule"
        raise ParameterError(f"{Parameter(parameter)} must be {wanted}, got {given!r}.")
    try:
        read = iter(read_rules((item for item in items if isinstance(item, str)), columns))
    except RuleTextError as error:
        raise RuleTextError(error.text, error.position, error.problem, Parameter(parameter)) from None
    return [next(read) if isinstance(item, str) else _on_columns(item, columns, parameter) for item in items]


def _on_columns(rule: Rule, columns: Sequence[KnownColumn], parameter: str) -> Rule:
    """A rule of another model on the columns of this table: by what it says."""
    names = [column.name for column in columns]
    if not rule.conditions:
        raise ParameterError(f"{Parameter(parameter)} has a rule without conditions, which holds everywhere.")
    return rule_on(rule, columns, [number_of(condition.feature, names, parameter) for condition in rule.conditions])


def read_given(known: Known, constraints: Constraints, cuts: Sequence[Cuts]) -> tuple[Constraints, tuple[Rule, ...]]:
    """The constraints with conditions that are forbidden, and the rules that are required, in the cuts of training."""
    if known.forbidden is None and known.required_rules is None:
        return constraints, ()
    columns = columns_of_cuts(cuts)
    names = [column.name for column in columns]
    conditions = [item for item in listed(known.forbidden) if as_columns(item, names) is None]
    forbidden = tuple(as_rules(conditions, columns, "forbidden"))
    if fixed := next((rule for rule in forbidden if rule.effect is not None), None):
        raise ParameterError(
            f"{Parameter('forbidden')}: '{fixed.text}' has an effect. Give the conditions alone: "
            f"'{fixed.condition_text}'."
        )
    constraints = replace(constraints, forbidden=forbidden) if forbidden else constraints
    required = as_rules(known.required_rules, columns, "required_rules")
    required = [about_class(rule, known.positive_class) for rule in required]
    return constraints, tuple(replace(rule, frequency=1.0, given=True) for rule in required)


def about_class(rule: Rule, positive: Any) -> Rule:
    """A rule whose effect, where it has one and names no class, is about the positive one, where that is said."""
    if rule.effect is None or rule.effect.is_factor or rule.effect.label is not None or positive is None:
        return rule
    return replace(rule, effect=replace(rule.effect, label=positive))


def rows_of_given(required: Sequence[Rule]) -> list[Rule]:
    """What must be known of every row: where required rules hold, and where each of their conditions does."""
    singles = [Rule((condition,)) for rule in required for condition in rule.conditions]
    return list(dict.fromkeys([*required, *singles]))

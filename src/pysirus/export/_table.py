"""A model in, the cells of its rule table out, as the paper prints it, with numbers: frequency, rule, weight, rows.

A list with corrections has their stage in front. A model with a link has, instead of the weight, what a rule adds to
the score where it holds and elsewhere; of two classes the positive one is named once, above the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.linear import LinearTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition
from pysirus._terms.words import condition_parts
from pysirus._text.format import format_number
from pysirus.export._addends import Branch, Line


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

    number: str
    frequency: str
    conditions: tuple[ConditionText, ...]
    inside: str
    outside: str
    numbers: tuple[str, ...]  # what stands right of the rule, under the names of ``number_names``
    stage: str = ""  # empty where no rule of the list is a correction
    line: str = ""  # of a slope, in place of conditions and outputs


def _condition(condition: Condition, alone: bool) -> ConditionText:
    bracket = bool(condition.missing) and not condition.only_missing and not alone
    return ConditionText(*condition_parts(condition), bracket)


def rule_rows(model: Model) -> list[RuleRow]:
    """The rules as text."""
    staged, shown, names = model.is_staged, model.rules, number_names(model)
    support = list(zip(*shown.support().values())) or [()] * len(shown)

    def row(number: int, rule: FittedTerm) -> RuleRow:
        assert rule.inside is not None and rule.outside is not None
        read = shown.reading
        stage = str(rule.stage) if staged else ""
        often = rule.frequency_text if rule.given else format_number(rule.frequency, 2)
        if rule.line_values:
            own = support[number - 1]
            told = [""] * (len(names) - len(own))
            told[:1] = [format_number(rule.weight or 0.0, 2) if read is None else rule.adds_by(read)] if told else []
            numbers = [*told, *own]
            return RuleRow(str(number), often, (), "", "", tuple(numbers), stage, shown.rule_text(rule, named=False))
        inside, outside = shown.output_texts(rule) if read is None else model.family.mean_texts(rule)
        return RuleRow(
            number=str(number),
            frequency=often,
            conditions=tuple(_condition(c, len(rule.conditions) == 1) for c in rule.conditions),
            inside=inside,
            outside=outside,
            numbers=(
                *((format_number(rule.weight or 0.0, 2),) if read is None else model.family.numbers(rule)),
                *support[number - 1],
            ),
            stage=stage,
        )

    return [row(number, rule) for number, rule in enumerate(shown, start=1)]


def number_names(model: Model) -> tuple[str, ...]:
    """What stands right of the rules."""
    shown = model.rules
    return (*(("weight",) if shown.reading is None else model.family.number_names), *shown.support())


def rule_lines(rules: Iterable[FittedTerm], model: Model) -> list[str]:
    """Rules in a line each, for the comments of a program."""
    read, family = model.read(RuleSet()), model.family  # once: it asks all rules of the model

    def line(rule: FittedTerm) -> str:
        if rule.line_values:
            ends = f": adds {rule.adds_by(family)}" if family.is_scored else ""
            return read.rule_text(rule) + ends
        if rule.effect is not None:
            return f"{rule.text} ({rule.frequency_text})"
        if not family.is_scored:
            return read.rule_text(rule)
        inside, outside = family.mean_texts(rule)
        points = " else ".join(map(family.sum_text, family.added(rule)))
        return f"if {rule.condition_text} then {inside} else {outside}: adds {points}"

    return [line(rule) for rule in rules]


def part_lines(addends: Iterable[Branch | Line], model: Model) -> list[str]:
    """The same of what a program adds up; a linear term in its own words."""
    terms = [own.term if isinstance(own, Line) else own.rule for own in addends]
    return [str(own) if isinstance(own, LinearTerm) else rule_lines([own], model)[0] for own in terms]


def link_lines(model: Model) -> list[str]:
    """What the numbers of a model with a link mean, for the comments of a program."""
    return [", ".join(f"{name} = {value}" for name, value in head_pairs(model))] if model.family.is_scored else []


def head_pairs(model: Model) -> list[tuple[str, str]]:
    """What stands above the table: the mean and the intercept, or the share of each class; where the score starts."""
    if model.rules.reading is not None:
        return model.family.head_pairs(model.average_score)
    return model.family.plain_pairs(model.intercept)

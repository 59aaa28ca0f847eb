"""A model in, what every format writes out: from where sums start, what is added to each, and what they stand for.

A prediction is read from one sum or several (``Family.form`` says how). Each starts somewhere, and every addend adds
its part to each of them, in the order of the model. A format writes each kind of addend by one function of its own.

The cells of the rule table are those of the paper, with numbers: frequency, rule, weight, rows. A list with corrections
has their stage in front. A model with a link has, instead of the weight, what a rule adds to the score where it holds
and elsewhere; of two classes the positive one is named once, above the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pysirus._families.base import Family
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition
from pysirus._terms.term import HeldColumn, LinearTerm
from pysirus._terms.words import condition_parts
from pysirus._text.format import format_number
from pysirus.export._conditions import Test, resolve

Numbers = tuple[float, ...]  # one for each sum


@dataclass(frozen=True)
class Branch:
    """Adds one thing where all tests pass and another elsewhere: a rule."""

    rule: FittedTerm
    tests: tuple[Test, ...]
    inside: Numbers
    outside: Numbers

    def size(self, k: int) -> float:
        """The most that it adds to sum ``k``, without its sign."""
        return max(abs(self.inside[k]), abs(self.outside[k]))


@dataclass(frozen=True)
class Line:
    """Adds a column, held within limits and less its centre, times a slope; ``missing`` replaces a missing value."""

    term: FittedTerm | LinearTerm
    feature: str
    index: int
    lower: float
    upper: float
    missing: float
    centre: float
    slopes: Numbers

    def size(self, k: int) -> float:
        """The most that it adds to sum ``k``, without its sign."""
        return abs(self.slopes[k]) * max(abs(own - self.centre) for own in (self.lower, self.upper, self.missing))


Addend = Branch | Line


@dataclass(frozen=True)
class Listing:
    """What a model adds up.

    Where ``weights`` is there (Node harvest), what is added to the start is divided by ``root`` plus the weights of the
    branches that hold, and left out where that is zero.
    """

    start: Numbers
    addends: tuple[Addend, ...]
    root: float = 0.0
    weights: Numbers | None = None

    @property
    def branches(self) -> list[Branch]:
        """The rules among the addends, which stand before the lines."""
        return [own for own in self.addends if isinstance(own, Branch)]

    @property
    def lines(self) -> list[Line]:
        """Slopes and linear terms."""
        return [own for own in self.addends if isinstance(own, Line)]

    @property
    def size(self) -> float:
        """The largest sum that any row can have, without its sign."""
        return max(abs(start) + sum(own.size(k) for own in self.addends) for k, start in enumerate(self.start))


class _Addends:
    """What the terms of a model are built of, in their order."""

    term: Any  # which is being built

    def __init__(self, model: Model) -> None:
        self._model = model
        self.branches: list[Branch] = []
        self.lines: list[Line] = []

    def branch(self, conditions: Sequence[Condition], inside: Sequence[float], outside: Sequence[float]) -> None:
        """A rule, with its conditions as tests."""
        tests = tuple(resolve(condition, self._model) for condition in conditions)
        self.branches.append(Branch(self.term, tests, tuple(inside), tuple(outside)))

    def line(self, column: HeldColumn, slopes: Sequence[float]) -> None:
        """A column times a slope."""
        limits = column.lower, column.upper, column.missing, column.centre
        self.lines.append(Line(self.term, column.feature, column.index, *limits, tuple(slopes)))


def listing_of(model: Model) -> Listing:
    """What a model adds up; what rules add to a score is measured from their average, as ``Model.added`` says it."""
    family = model.family
    found = _Addends(model)
    for rule in model.rules:
        found.term = rule
        rule.build(found, *map(_numbers, family.added(rule) if family.is_scored else family.sides(rule)))
    for term in model.terms:
        found.term = term
        term.build(found, *family.sides(term))
    if family.adds_up:
        start = model.average_score if family.is_scored else model.intercept
        return Listing(_numbers(start), (*found.branches, *found.lines))
    weights = tuple(own.inside[1] for own in found.branches)  # the second sum is what the first is divided by
    first = tuple(replace(own, inside=own.inside[:1], outside=own.outside[:1]) for own in found.branches)
    return Listing(_numbers(model.mean), first, family.root_weight, weights)


def terms_of(model: Model) -> list[Addend]:
    """The values of the terms that predictions depend on, each as what it would add with a weight of 1."""
    values: list[Addend] = []
    for term in model.watched_terms:
        found = _Addends(model)
        found.term = term
        term.build(found, (1.0,), (0.0,))
        values += [*found.branches, *found.lines]
    return values


def _numbers(values: Any) -> Numbers:
    return tuple(np.atleast_1d(np.asarray(values, dtype=np.float64)).tolist())


def of_second(model: Model) -> Model:
    """The model whose score is that of the second of two classes, for formats that show no score."""
    return replace(model, family=model.family.of_last())


@dataclass(frozen=True)
class Pair:
    """Two classes as one score decides between them: the positive one where it is high, the other elsewhere."""

    positive: int
    other: int
    cutoff: float = 0.0  # the score above which the positive one is decided for

    @property
    def sign(self) -> str:
        """How a score compares with the cut-off where the positive class is predicted; ties go to the first class."""
        return ">" if self.positive == 1 else ">="


def pair_of(family: Family) -> Pair:
    """The two classes of a family with one score."""
    positive, other = family.positive, 1 - family.positive
    return Pair(positive, other, family.deciding(other)[1] - family.deciding(positive)[1])


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

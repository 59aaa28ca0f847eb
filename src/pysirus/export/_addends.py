"""A model in, what every format writes out: from where sums start, what is added to each, and what they stand for.

A prediction is read from one sum or several (``Family.form`` says how). Each starts somewhere, and every addend adds
its part to each of them, in the order of the model. A format writes each kind of addend by one function of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pysirus._families.base import Family
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Condition
from pysirus._terms.term import HeldColumn, LinearTerm
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

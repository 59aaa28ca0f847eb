"""A model in, what every format writes out: from where sums start, what is added to each, and what they stand for.

A prediction is read from one sum or several (``Family.form`` says how). Each starts somewhere, and every addend adds
its part to each of them, in the order of the model. A format writes each kind of addend by one function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pysirus._families.base import Family
from pysirus._model.model import Model
from pysirus._terms.linear import LinearTerm
from pysirus._terms.rule import FittedRule
from pysirus.export._conditions import Test, resolve

Numbers = tuple[float, ...]  # one for each sum


@dataclass(frozen=True)
class Branch:
    """Adds one thing where all tests pass and another elsewhere: a rule."""

    rule: FittedRule
    tests: tuple[Test, ...]
    inside: Numbers
    outside: Numbers

    def size(self, k: int) -> float:
        """The most that it adds to sum ``k``, without its sign."""
        return max(abs(self.inside[k]), abs(self.outside[k]))


@dataclass(frozen=True)
class Line:
    """Adds a column, held within limits, times a slope: a linear term. ``missing`` replaces a missing value."""

    feature: str
    index: int
    lower: float
    upper: float
    missing: float
    slopes: Numbers

    def size(self, k: int) -> float:
        """The most that it adds to sum ``k``, without its sign."""
        return abs(self.slopes[k]) * max(abs(self.lower), abs(self.upper), abs(self.missing))


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
        """The rules among the addends, which stand before the linear terms."""
        return [own for own in self.addends if isinstance(own, Branch)]

    @property
    def size(self) -> float:
        """The largest sum that any row can have, without its sign."""
        return max(abs(start) + sum(own.size(k) for own in self.addends) for k, start in enumerate(self.start))


def listing_of(model: Model) -> Listing:
    """What a model adds up; what rules add to a score is measured from their average, as ``Model.added`` says it."""
    family = model.family
    addends = tuple(ADDENDS[type(term)](term, model) for term in (*model.rules, *model.terms))
    if family.adds_up:
        return Listing(_numbers(model.average_score if family.is_scored else model.intercept), addends)
    branches = [own for own in addends if isinstance(own, Branch)]
    weights = tuple(own.inside[1] for own in branches)  # the second sum is what the first is divided by
    first = tuple(replace(own, inside=own.inside[:1], outside=own.outside[:1]) for own in branches)
    return Listing(_numbers(model.mean), first, family.root_weight, weights)


def _numbers(values: Any) -> Numbers:
    return tuple(np.atleast_1d(np.asarray(values, dtype=np.float64)).tolist())


def _branch(rule: FittedRule, model: Model) -> Branch:
    tests = tuple(resolve(condition, model) for condition in rule.conditions)
    sides = model.family.added(rule) if model.family.is_scored else model.family.sides(rule)
    return Branch(rule, tests, *map(_numbers, sides))


def _line(term: LinearTerm, model: Model) -> Line:
    return Line(term.feature, term.index, term.lower, term.upper, term.missing, (term.weight,))


# what each kind of term adds; a new kind is one entry here, and in each format a function if it is a new kind of addend
ADDENDS: dict[type, Callable[[Any, Model], Addend]] = {FittedRule: _branch, LinearTerm: _line}


def of_second(model: Model) -> Model:
    """The model whose score is that of the second of two classes, for formats that show no score."""
    return replace(model, family=model.family.of_last())


@dataclass(frozen=True)
class Pair:
    """Two classes as one score decides between them: the positive one where it is high, the other elsewhere."""

    positive: int
    other: int

    @property
    def sign(self) -> str:
        """How a score compares with 0 where the positive class is predicted; ties go to the first class."""
        return ">" if self.positive == 1 else ">="


def pair_of(family: Family) -> Pair:
    """The two classes of a family with one score."""
    return Pair(family.positive, 1 - family.positive)

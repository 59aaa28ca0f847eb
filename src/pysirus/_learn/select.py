"""Paths in, a short list of independent rules out (the paper's rule selection and post-treatment).

A path is dropped when its rule is a linear combination of the constant and the rules kept before it, over the whole
input space; by default also where that holds on the training rows alone (``sample``). ``_learn/keep.py`` asks both.
With u(j,c) = 1 where x_j < c, and m_j = 1 where x_j is missing, a rule is a product over its features of

    u(j,high) - u(j,low)        an absent high reads 1, an absent low reads 0

and the monomials with one factor per feature are linearly independent. So each rule is a sparse integer vector, and one
step of exact elimination answers the question for any depth. In two dimensions, with a = u(1,c) and b = u(2,d):

    if x_1 <  c              a
    if x_1 >= c              1 - a              dropped: spanned by 1 and a
    if x_1 <  c & x_2 <  d   a b
    if x_1 <  c & x_2 >= d   a - a b            dropped: spanned by a and a b
    if x_1 >= c & x_2 <  d   b - a b            kept: b is new
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import gcd

import numpy as np

from pysirus._bins.cuts import Binned, Cuts
from pysirus._forest.forest import Paths
from pysirus._terms.from_path import SplitSide, decode
from pysirus._terms.rule import Condition, Rule

Atom = tuple[int, int]  # feature, cut; cut -1 is "missing"
Monomial = tuple[Atom, ...]
Vector = dict[Monomial, int]
ONE: Monomial = ()
MISSING = -1
MAX_CUTS = 256


def _factor(feature: int, sides: Sequence[SplitSide], has_missing: bool) -> dict[Monomial, int]:
    """The indicator of one feature's condition in the basis 1, u(j,c), m_j."""
    lower = max((s.cut for s in sides if s.cut is not None and not s.less), default=None)
    upper = min((s.cut for s in sides if s.cut is not None and s.less), default=None)
    only_missing = any(s.cut is None and not s.less for s in sides)
    missing = has_missing and all(s.missing_inside for s in sides)
    terms: dict[Monomial, int] = {}

    def add(monomial: Monomial, coefficient: int) -> None:
        terms[monomial] = terms.get(monomial, 0) + coefficient

    if not only_missing and (lower is None or upper is None or lower < upper):
        if upper is not None:
            add(((feature, upper),), 1)
        else:
            add(ONE, 1)
            if has_missing:
                add(((feature, MISSING),), -1)
        if lower is not None:
            add(((feature, lower),), -1)
    if missing:
        add(((feature, MISSING),), 1)
    return {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}


def rule_vector(codes: Iterable[int], binned: Binned) -> Vector:
    """The rule of a path as a sparse integer vector over monomials."""
    by_feature: dict[int, list[SplitSide]] = {}
    for code in codes:
        if code >= 0:
            side = decode(code, binned)
            by_feature.setdefault(side.feature, []).append(side)
    vector: Vector = {ONE: 1}
    for feature, sides in sorted(by_feature.items()):
        factor = _factor(feature, sides, binned.cuts[feature].has_missing)
        # monomials of different features: no two products are the same
        vector = {m + n: c * d for m, c in vector.items() for n, d in factor.items()}
    return vector


def condition_vector(rule: Rule, binned: Binned) -> Vector:
    """The same of a rule that was given. Cuts that its features do not have are numbered after those they have."""
    vector: Vector = {ONE: 1}
    for condition in sorted(rule.conditions, key=lambda condition: condition.index):
        factor = _condition_factor(condition, binned.cuts[condition.index])
        vector = {m + n: c * d for m, c in vector.items() for n, d in factor.items()}
    return vector


def _condition_factor(condition: Condition, cuts: Cuts) -> dict[Monomial, int]:
    """The indicator of a condition in the basis 1, u(j,c), m_j: of levels the sum over runs of neighbouring bins."""
    terms: dict[Monomial, int] = {}

    def add(cut: int | None, coefficient: int) -> None:
        monomial: Monomial = ONE if cut is None else ((condition.index, cut),)
        terms[monomial] = terms.get(monomial, 0) + coefficient

    def up_to(cut: int | None, coefficient: int) -> None:
        """The known values left of a cut, or all."""
        add(cut, coefficient)
        if cut is None and cuts.has_missing:
            add(MISSING, -coefficient)

    if not condition.only_missing and condition.levels is None:
        up_to(None if condition.upper is None else _place(condition.upper, cuts), 1)
        if condition.lower is not None:
            up_to(_place(condition.lower, cuts), -1)
    elif not condition.only_missing:
        for k, level in enumerate(cuts.levels):
            if level in (condition.levels or ()):
                up_to(k if k < cuts.n_cuts else None, 1)
                if k > 0:
                    up_to(k - 1, -1)
    if cuts.has_missing and condition.missing:
        add(MISSING, 1)
    return {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}


def _place(threshold: float, cuts: Cuts) -> int:
    """The number of a cut; one that is not there has the bits of its threshold for a number."""
    k = int(np.searchsorted(cuts.thresholds, threshold))
    if k < cuts.n_cuts and cuts.thresholds[k] == threshold:
        return k
    return MAX_CUTS + int(np.float64(threshold).view(np.uint64))


def _rank(monomial: Monomial) -> tuple[int, Monomial]:
    return len(monomial), monomial


@dataclass
class Span:
    """The span of the constant and the vectors added so far, in echelon form."""

    rows: dict[Monomial, Vector] = field(default_factory=lambda: {ONE: {ONE: 1}})

    def reduce(self, vector: Vector) -> Vector:
        """Eliminate the highest monomial while it is the pivot of a row; empty when the span contains the vector."""
        rest = dict(vector)
        while rest:
            pivot = max(rest, key=_rank)
            row = self.rows.get(pivot)
            if row is None:
                break
            common = gcd(rest[pivot], row[pivot])
            ours, theirs = row[pivot] // common, rest[pivot] // common
            rest = {monomial: ours * coefficient for monomial, coefficient in rest.items()}
            for monomial, coefficient in row.items():
                if value := rest.get(monomial, 0) - theirs * coefficient:
                    rest[monomial] = value
                else:
                    rest.pop(monomial, None)
        return rest

    def add(self, vector: Vector) -> bool:
        """Add a vector; False when the span contained it already."""
        rest = self.reduce(vector)
        if not rest:
            return False
        self.rows[max(rest, key=_rank)] = rest
        return True


def independent_paths(
    paths: Paths, binned: Binned, p0: float | None, span: Span, permit: Callable[[int], bool] | None = None
) -> Iterator[tuple[int, Vector]]:
    """Walk down the paths while above ``p0``; positions and vectors of those outside ``span``, which takes them in.

    A path that ``permit`` refuses is as if it were not there.
    """
    for i, (codes, frequency) in enumerate(zip(paths.codes, paths.frequencies)):
        if p0 is not None and frequency <= p0:
            return
        if permit is not None and not permit(i):
            continue
        vector = rule_vector(codes.tolist(), binned)
        if span.add(vector):
            yield i, vector


def select(
    paths: Paths, binned: Binned, *, p0: float | None = None, n_rules: int | None = None, span: Span | None = None
) -> list[int]:
    """Positions of the paths that the paper's post-treatment keeps: above ``p0``, ``n_rules`` at most."""
    walk = independent_paths(paths, binned, p0, Span() if span is None else span)
    return [position for position, _ in islice(walk, n_rules)]

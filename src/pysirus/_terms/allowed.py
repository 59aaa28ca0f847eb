"""Rules in, which of them a list may hold out: those that obey what is known, and those that none before them spans.

What is known is the direction of columns, and which columns stand together. Weights are not negative, so the prediction
rises in a column where every rule does. A rule does when its condition on the column has one side (``x < c`` or
``x >= c``, whatever else it asks) and its outputs go the right way. Both can be read off each line of a list. The
guarantee is for known values: a missing one has no place in an order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned, Cuts
from pysirus._forest.forest import ANY, InteractionConstraint, SplitSide, decode, merge_sides
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Condition
from pysirus._terms.term import BOTH_WAYS
from pysirus._text.format import apart, in_quotes

WORDS = {1: "increasing", -1: "decreasing"}


def gap_of(rule: FittedTerm) -> float:
    """What a rule adds where it holds, beyond what it adds elsewhere: of two classes on the log-odds of the second."""
    inside, outside = np.asarray(rule.inside, dtype=np.float64), np.asarray(rule.outside, dtype=np.float64)
    return float(inside - outside if inside.ndim == 0 else (inside[1] - inside[0]) - (outside[1] - outside[0]))


def side_of(condition: Condition) -> int:
    """1 where larger known values satisfy a condition, -1 where smaller ones do, 0 where all do or none."""
    return condition.side


@dataclass(frozen=True)
class Constraints:
    """What every rule of a list obeys."""

    directions: dict[int, int] = field(default_factory=dict)  # of columns, by number: 1 rises, -1 falls
    together: InteractionConstraint = ANY
    forbidden: tuple[FittedTerm, ...] = ()  # conditions that no rule asks together, and slopes that no list has
    of_first: bool = False  # directions are about the first of two classes, and not about the second

    def gap(self, rule: FittedTerm) -> float:
        """What a rule adds where it holds, beyond what it adds elsewhere, to what directions are about."""
        return -gap_of(rule) if self.of_first else gap_of(rule)

    def allows_form(self, rule: FittedTerm) -> bool:
        """Whether the conditions of a rule satisfy the constraints, whatever its outputs will be."""
        if not self.together.allows(rule.columns):
            return False
        if self._forbidden_in(rule):
            return False
        return all(side != BOTH_WAYS for i, side in rule.directions().items() if i in self.directions)

    def allows_slope(self, index: int) -> bool:
        """Whether a column may have a slope: neither it nor its slope is forbidden."""
        return self.together.allows((index,)) and index not in self._forbidden_slopes

    @cached_property
    def _forbidden_slopes(self) -> dict[int, FittedTerm]:
        return {index: term for term in self.forbidden if not term.is_binary for index in term.columns}

    @cached_property
    def _forbidden_by_keys(self) -> dict[frozenset[Hashable], FittedTerm]:
        return {_keys(rule): rule for rule in reversed(self.forbidden) if rule.is_binary}

    def _forbidden_in(self, rule: FittedTerm) -> list[FittedTerm]:
        """What a rule holds of what is forbidden: looked up part by part, or one by one where it has many parts."""
        if not self.forbidden:
            return []
        if not rule.is_binary:
            return [self._forbidden_slopes[index] for index in rule.columns if index in self._forbidden_slopes]
        own, known = _keys(rule), self._forbidden_by_keys
        if 2 ** len(own) > len(known):
            return [forbidden for keys, forbidden in known.items() if keys <= own]
        parts = (frozenset(part) for n in range(len(own) + 1) for part in combinations(own, n))
        return [known[part] for part in parts if part in known]

    def steers(self, rule: FittedTerm) -> bool:
        """Whether the outputs of a rule matter: it reads a column with a direction."""
        return any(i in self.directions and side for i, side in rule.directions().items())

    def allows(self, rule: FittedTerm) -> bool:
        """Whether a rule obeys."""
        return not self.faults(rule)

    def faults(self, rule: FittedTerm) -> list[str]:
        """What a rule breaks, in words; nothing where it obeys."""
        found = []
        names = rule.features
        if not self.together.allows(rule.columns):
            found.append(f"{_listed(names)} {'may not stand in one rule' if len(names) > 1 else 'is forbidden'}")
        found += [f"'{forbidden.condition_text}' is forbidden" for forbidden in self._forbidden_in(rule)]
        for name, (index, side) in zip(names, rule.directions().items()):
            wanted = self.directions.get(index, 0)
            if wanted and side == BOTH_WAYS:
                found.append(f"its condition on '{name}' has two sides, so it rises and falls")
            elif wanted and self.gap(rule) * side * wanted < 0:
                goes = "falls" if wanted > 0 else "rises"
                found.append(f"it {goes} with '{name}', and must be {WORDS[wanted]}")
        return found

    def text(self, names: Sequence[str]) -> str:
        """What is obeyed, in a line."""
        names, parts = list(map(apart, names)), []
        for direction, word in WORDS.items():
            if own := [names[i] for i, found in self.directions.items() if found == direction]:
                parts.append(f"{word} in {', '.join(own)}")
        together = self.together
        if together.most is not None:
            parts.append("no interactions" if together.most == 1 else f"at most {together.most} columns in a rule")
        if together.groups:
            groups = [f"{{{', '.join(names[i] for i in sorted(group))}}}" for group in together.groups]
            parts.append(f"interactions within {', '.join(groups)}")
        never = sorted(" with ".join(names[i] for i in sorted(group)) for group in together.apart)
        parts += [f"never {own}" for own in [*never, *(rule.condition_text for rule in self.forbidden)]]
        return "; ".join(parts)


def _keys(rule: FittedTerm) -> frozenset[Hashable]:
    """What the conditions of a rule ask: either side of their cuts, with missing values or without."""
    return frozenset((c.index, frozenset((c.lower_cut, c.upper_cut)), c.only_missing) for c in rule.conditions)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(in_quotes, names))


# ----------------------------------------------------------------------------------------------------- post-treatment

# Rules in, which of them are linear combinations of those before out: exact (the post-treatment of the paper).
#
# Over the whole input space a rule is a sparse integer vector, and a ``Span`` takes in those that are new. With
# u(j,c) = 1 where x_j < c, and m_j = 1 where x_j is missing, a rule is a product over its features of
#
#     u(j,high) - u(j,low)        an absent high reads 1, an absent low reads 0
#
# and the monomials with one factor per feature are linearly independent. So one step of exact elimination answers the
# question for any depth. In two dimensions, with a = u(1,c) and b = u(2,d):
#
#     if x_1 <  c              a
#     if x_1 >= c              1 - a              dropped: spanned by 1 and a
#     if x_1 <  c & x_2 <  d   a b
#     if x_1 <  c & x_2 >= d   a - a b            dropped: spanned by a and a b
#     if x_1 >= c & x_2 <  d   b - a b            kept: b is new
#
# On the training rows rules can agree without that: where `limit < 4622` and `rating < 263` part the same rows, the
# data cannot tell one from the other. A rule is a combination of the constant and of others *there* when the Gram
# matrix of their indicators, integers that add up over parts, is singular with it (``independent_columns``).
#
#     rows        1 2 3 4 5 6
#     x < 3       1 1 0 0 0 0
#     z < 7       1 1 0 0 0 0     dropped: the same rows
#     z >= 9      0 0 0 0 1 1
#     3 <= x, z   0 0 1 1 0 0     dropped: one minus the other two


Atom = tuple[int, int]  # feature, cut; cut -1 is "missing"
Monomial = tuple[Atom, ...]
Vector = dict[Monomial, int]
ONE: Monomial = ()
MISSING = -1
MAX_CUTS = 256
PRIME = 2**61 - 1
LARGEST = 2**30  # numerators and denominators of this size are known by their remainder


# ---------------------------------------------------------------------------------------- over the whole input space


def _factor(feature: int, sides: Sequence[SplitSide], has_missing: bool) -> dict[Monomial, int]:
    """The indicator of one feature's condition in the basis 1, u(j,c), m_j."""
    lower, upper, only_missing, missing_inside = merge_sides(sides)
    terms: dict[Monomial, int] = {}
    if not only_missing and (lower is None or upper is None or lower < upper):
        terms[ONE if upper is None else ((feature, upper),)] = 1
        if lower is not None:
            terms[((feature, lower),)] = -1
    if has_missing and missing_inside != (ONE in terms):  # the constant has missing values too
        terms[((feature, MISSING),)] = 1 if missing_inside else -1
    return terms


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


def condition_vector(rule: FittedTerm, binned: Binned) -> Vector:
    """A rule that was given, as such a vector. Cuts that its features lack are numbered after those that they have."""
    vector: Vector = {ONE: 1}
    for condition in sorted(rule.conditions, key=lambda condition: condition.index):
        factor = _condition_factor(condition, binned.cuts[condition.index])
        vector = {m + n: c * d for m, c in vector.items() for n, d in factor.items()}
    return vector


def _condition_factor(condition: Condition, cuts: Cuts) -> dict[Monomial, int]:
    """The indicator of a condition in the basis 1, u(j,c), m_j; categories are runs of neighbouring bins, added up."""
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

    def add(self, vector: Vector) -> bool:
        """Add a vector; False when the span contained it already.

        The highest monomial is eliminated while it is the pivot of a row. What is left is a new row.
        """
        rest = vector
        while rest:
            pivot = max(rest, key=_rank)
            row = self.rows.get(pivot)
            if row is None:
                self.rows[pivot] = rest
                return True
            common = gcd(rest[pivot], row[pivot])
            ours, theirs = row[pivot] // common, rest[pivot] // common
            rest = {monomial: ours * coefficient for monomial, coefficient in rest.items()}
            for monomial, coefficient in row.items():
                if value := rest.get(monomial, 0) - theirs * coefficient:
                    rest[monomial] = value
                else:
                    rest.pop(monomial, None)
        return False


# ----------------------------------------------------------------------------------------------- on the training rows


def independent_columns(gram: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which columns of a Gram matrix are no combinations of those before them; exact."""
    kept, coefficients = _core.independent_columns(np.ascontiguousarray(gram, dtype=np.int64))
    kept = kept.astype(bool)
    for i in np.flatnonzero(~kept).tolist():
        if not _is_combination(gram, i, coefficients[i].tolist()):  # a chance of about 1 in 2**50
            return _eliminate(gram)
    return np.asarray(kept)


def _is_combination(gram: NDArray[np.int64], column: int, remainders: list[int]) -> bool:
    """Whether the coefficients with these remainders make up a column: then the difference has length zero."""
    fractions = {column: (-1, 1)}
    for j, remainder in enumerate(remainders):
        if remainder:
            found = _fraction_of(remainder)
            if found is None:
                return False
            fractions[j] = found
    common = lcm(*(denominator for _, denominator in fractions.values()))
    difference = [numerator * (common // denominator) for numerator, denominator in fractions.values()]
    own: list[list[int]] = gram[np.ix_([*fractions], [*fractions])].tolist()
    return sum(a * b * product for a, row in zip(difference, own) for b, product in zip(difference, row)) == 0


def _fraction_of(remainder: int) -> tuple[int, int] | None:
    """Numerator and denominator, both small, with a remainder modulo the prime (Wang's algorithm)."""
    before, after, sign_before, sign_after = PRIME, remainder, 0, 1
    while after > LARGEST:
        quotient = before // after
        before, after = after, before - quotient * after
        sign_before, sign_after = sign_after, sign_before - quotient * sign_after
    return (after, sign_after) if 0 < abs(sign_after) <= LARGEST else None


def _eliminate(gram: NDArray[Any]) -> NDArray[np.bool_]:
    """The same by elimination in fractions: slow, and never in doubt."""
    kept: list[int] = []
    rows: list[list[Fraction]] = []
    for i in range(len(gram)):
        row = [Fraction(int(value)) for value in gram[i]]
        for pivot, other in zip(kept, rows):
            factor = row[pivot] / other[pivot]
            row = [a - factor * b for a, b in zip(row, other)]
        if row[i]:
            kept.append(i)
            rows.append(row)
    return np.isin(np.arange(len(gram)), kept)

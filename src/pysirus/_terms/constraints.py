"""Rules in, whether each obeys what is known out: the direction of columns, and which columns stand together.

Weights are not negative, so the prediction rises in a column where every rule does. A rule does when its condition on
the column has one side (``x < c`` or ``x >= c``, whatever else it asks) and its outputs go the right way. Both can be
read off each line of a list. The guarantee is for known values: a missing one has no place in an order.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from pysirus._forest.forest import ANY, InteractionConstraint
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

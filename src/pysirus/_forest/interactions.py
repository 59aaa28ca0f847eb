"""Columns in, whether they may stand in one path out: how many of them, in which groups, and which never."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from operator import and_
from typing import Any

MOST_GROUPS = 10_000


@dataclass(frozen=True)
class InteractionConstraint:
    """Which columns, by number, may stand in one rule; by default any."""

    most: int | None = None  # of them in one rule
    groups: tuple[frozenset[int], ...] = ()  # those of a rule lie in one of these
    apart: frozenset[frozenset[int]] = frozenset()  # pairs not in one rule, single columns in none

    @property
    def is_limited(self) -> bool:
        """Whether anything is ruled out."""
        return self.most is not None or bool(self.groups) or bool(self.apart)

    def allows(self, columns: Collection[int]) -> bool:
        """Whether these columns may stand in one rule."""
        own = set(columns)
        if self.most is not None and len(own) > self.most:
            return False
        if self.groups and not reduce(and_, (self._groups_of.get(column, 0) for column in own), -1):
            return False
        if len(self.apart) < len(own) ** 2:
            return not any(found <= own for found in self.apart)
        return not any(frozenset(found) in self.apart for found in [*combinations(own, 1), *combinations(own, 2)])

    @cached_property
    def _groups_of(self) -> dict[int, int]:
        """A bit for each group that a column is in."""
        places: dict[int, list[int]] = {}
        for g, group in enumerate(self.groups):
            for column in group:
                places.setdefault(column, []).append(g)
        return {column: sum(1 << g for g in own) for column, own in places.items()}

    def for_core(self, n_columns: int) -> dict[str, Any]:
        """The same as the core takes it: a bit a group, and a matrix of pairs; nothing where nothing is ruled out."""
        told: dict[str, Any] = {}
        if self.most is not None:
            told["most_together"] = self.most
        if self.groups:
            n_words = -(-len(self.groups) // 64)
            bits = [self._groups_of.get(column, 0) for column in range(n_columns)]
            told["groups"] = [own >> 64 * word & (1 << 64) - 1 for own in bits for word in range(n_words)]
        if self.apart:
            told["apart"] = [int(frozenset((a, b)) in self.apart) for a in range(n_columns) for b in range(n_columns)]
        return told


ANY = InteractionConstraint()

"""A part of the rows in bins, and what can be asked of it: sums of nodes, moments of rules, sizes of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._crew import go_on
from pysirus._families.response.integer_rows import IntegerRows
from pysirus._families.response.response import Response
from pysirus._forest.forest import Recipe, plan_of, rows_of
from pysirus._terms.term import Term
from pysirus._weights.likelihood import Patterns, rule_patterns
from pysirus._weights.moments import MomentSums, moment_sums
from pysirus.engine.marks import Marks

BLOCK = 64  # trees that the core grows side by side


@dataclass(frozen=True)
class Shard:
    """Rows in bins: what a holder keeps of a part."""

    bins: NDArray[np.uint8]  # [feature, row]
    response: Response  # with the scale of all rows
    first_row: int  # its number among all rows
    marks: Marks = field(default_factory=dict)  # of the part that it was made of


@dataclass(frozen=True)
class NodeSums:
    """What does the next level of these trees need to know?"""

    shape: Binned  # cuts, no rows
    recipe: Recipe
    first_tree: int
    splits: NDArray[np.int32]  # [tree, node]: the levels above

    @property
    def n_threads(self) -> int:
        """How many threads share the trees."""
        return self.recipe.n_threads

    def plan(self, response: Response) -> _core.Plan:
        """What the core must know of the trees."""
        return plan_of(self.shape, response, self.recipe)

    def __call__(self, shard: Shard) -> NDArray[np.int64]:
        rows = rows_of(Binned(shard.bins, self.shape.cuts), shard.response, shard.first_row)
        plan, recipe = self.plan(shard.response), self.recipe
        # several threads share the trees, and see an interrupt themselves; one goes from block to block
        size = BLOCK if recipe.n_threads == 1 else max(1, len(self.splits))
        found = []
        for start in range(0, len(self.splits), size):
            go_on()
            first, splits = self.first_tree + start, self.splits[start : start + size]
            found.append(_core.level_sums(plan, rows, first, splits, recipe.n_threads, recipe.kernel))
        return np.concatenate(found)


@dataclass(frozen=True)
class CountOtherValues(NodeSums):
    """How many rows of these nodes, whose best split gains nothing, answer other values than the node's?"""

    nodes: NDArray[np.int64]  # tree, node, a value per column

    def __call__(self, shard: Shard) -> NDArray[np.int64]:
        rows = rows_of(Binned(shard.bins, self.shape.cuts), shard.response, shard.first_row)
        plan, recipe = self.plan(shard.response), self.recipe
        return _core.count_other_values(plan, rows, self.first_tree, self.splits, self.nodes, recipe.n_threads)


@dataclass(frozen=True)
class RuleMoments:
    """How often do these rules and their pairs hold, and with which response?"""

    rules: Sequence[Term]
    shape: Binned
    seed: int

    def __call__(self, shard: Shard) -> MomentSums:
        binned = replace(self.shape, bins=shard.bins)
        return moment_sums(self.rules, binned, shard.response, self.seed, shard.first_row)


@dataclass(frozen=True)
class RulePatterns:
    """Which of these rules hold together, and with which response?"""

    rules: Sequence[Term]
    shape: Binned
    seed: int

    def __call__(self, shard: Shard) -> Patterns:
        binned = replace(self.shape, bins=shard.bins)
        return rule_patterns(self.rules, binned, shard.response, self.seed, shard.first_row)


@dataclass(frozen=True)
class BinSizes:
    """The weight of each bin, and a digest of each column: columns that are the same everywhere have equal digests."""

    sizes: tuple[NDArray[np.int64], ...]
    digests: tuple[int, ...]

    def __add__(self, other: BinSizes) -> BinSizes:
        sizes = tuple(a + b for a, b in zip(self.sizes, other.sizes))
        return BinSizes(sizes, tuple(a + b for a, b in zip(self.digests, other.digests)))


@dataclass(frozen=True)
class SizeQuestion:
    """How much weight is in each bin, and which columns are the same?"""

    n_bins: Sequence[int]

    def __call__(self, shard: Shard) -> BinSizes:
        rows = IntegerRows(shard.response)
        key = shard.first_row.to_bytes(8, "little")
        return BinSizes(
            tuple(rows.sizes(bins, n_bins) for bins, n_bins in zip(shard.bins, self.n_bins)),
            tuple(int.from_bytes(blake2b(bins, digest_size=16, key=key).digest(), "little") for bins in shard.bins),
        )

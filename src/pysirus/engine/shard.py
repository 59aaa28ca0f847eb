"""Rows in bins, in shards, in; a forest out, and the sums of nodes, the moments of rules and the sizes of bins.

A forest grows level by level: the sums of all shards, then the splits; or their rows go to a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._bins.numeric import LineSums, line_sums
from pysirus._data.column import MASK
from pysirus._families.responses import IntegerRows, Response
from pysirus._forest.forest import GrowingForest, Recipe, plan_of, rows_of
from pysirus._forest.gpu_setup import RowArrays, RowSource, arrays_of
from pysirus._learn.training import Extremes, Residual, Rounding
from pysirus._runtime.console import check_cancelled
from pysirus._runtime.sums import Scale
from pysirus._terms.term import Term
from pysirus._weights.likelihood import Patterns, rule_patterns
from pysirus._weights.moments import MomentSums, moment_sums
from pysirus.engine.parts import (
    Answer,
    ChangeDetector,
    Fingerprinted,
    Fingerprints,
    ShardDataset,
    changed,
    check_unchanged,
    sum_of,
    sum_of_some,
    total_of,
)

BLOCK = 64  # trees that the core grows side by side


@dataclass(frozen=True)
class Shard:
    """Rows in bins: what a holder keeps of a part."""

    bins: NDArray[np.uint8]  # [feature, row]
    response: Response  # with the scale of all rows
    first_row: int  # its number among all rows
    fingerprints: Fingerprints = field(default_factory=dict)  # of the part that it was made of


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
            check_cancelled()
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
class OfRules:
    """What asks about some rules and the rows of a shard."""

    rules: Sequence[Term]
    shape: Binned
    seed: int

    def given(self, shard: Shard) -> tuple[Sequence[Term], Binned, Response, int, int]:
        """Rules, bins, response, seed, and the number of the first row."""
        return self.rules, replace(self.shape, bins=shard.bins), shard.response, self.seed, shard.first_row


class RuleMoments(OfRules):
    """How often do these rules and their pairs hold, and with which response?"""

    def __call__(self, shard: Shard) -> MomentSums:
        return moment_sums(*self.given(shard))


class RulePatterns(OfRules):
    """Which of these rules hold together, and with which response?"""

    def __call__(self, shard: Shard) -> Patterns:
        return rule_patterns(*self.given(shard))


@dataclass(frozen=True)
class BinSizes:
    """The weight of each bin, and a digest of each column: columns that are the same everywhere have equal digests."""

    sizes: tuple[NDArray[np.int64], ...]
    digests: tuple[int, ...]

    def __add__(self, other: BinSizes) -> BinSizes:
        sizes = tuple(a + b for a, b in zip(self.sizes, other.sizes))
        return BinSizes(sizes, tuple(a + b for a, b in zip(self.digests, other.digests)))


@dataclass(frozen=True)
class SizeQuery:
    """How much weight is in each bin, and which columns are the same?"""

    n_bins: Sequence[int]

    def __call__(self, shard: Shard) -> BinSizes:
        rows = IntegerRows(shard.response)
        key = shard.first_row.to_bytes(8, "little")
        return BinSizes(
            tuple(rows.sizes(bins, n_bins) for bins, n_bins in zip(shard.bins, self.n_bins)),
            tuple(int.from_bytes(blake2b(bins, digest_size=16, key=key).digest(), "little") for bins in shard.bins),
        )


@dataclass(frozen=True)
class LineQuery:
    """Where on the grids of their columns do numbers lie, by bin?"""

    shape: Binned

    def __call__(self, shard: Shard) -> LineSums:
        return line_sums(replace(self.shape, bins=shard.bins), IntegerRows(shard.response))


WATCHED_ROWS = 2_000_000_000  # rows times trees between two signs of progress: some seconds


class ShardForest(GrowingForest):
    """A forest on rows that lie in several places: split for split the one of all rows together."""

    def __init__(
        self,
        shards: ShardDataset,
        shape: Binned,
        response: Response,
        recipe: Recipe,
        sum_bytes: int,
        first_tree: int = 0,
    ) -> None:
        super().__init__(recipe, first_tree)
        self._shards = shards
        self._shape = shape
        self._asked = replace(recipe, lines=())  # sums of rows know nothing of lines
        self._plan = plan_of(shape, response, recipe)
        self._trees_a_pass = trees_a_pass(shape, response.n_outputs, recipe, sum_bytes)
        self.watched = min(self.watched, max(1, WATCHED_ROWS // (BLOCK * response.scale.n_rows)) * BLOCK)

    def _splits(self, first_tree: int, n_trees: int, lines: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        found = []
        for start in range(0, n_trees, self._trees_a_pass):
            end = min(start + self._trees_a_pass, n_trees)
            own = None if lines is None else lines[start:end]
            found.append(self._grow_block(first_tree + start, end - start, own))
        return np.concatenate(found)

    def _grow_block(self, first_tree: int, n_trees: int, lines: NDArray[np.int32] | None) -> NDArray[np.int32]:
        splits = np.zeros((n_trees, 0), dtype=np.int32)
        for depth in range(self._recipe.max_depth):
            sums = self._shards.map_reduce(NodeSums(self._shape, self._asked, first_tree, splits))
            found, without_gain = _core.search(self._plan, first_tree, splits, sums, None if depth else lines)
            if len(without_gain):
                # no split gains anything: a node of one answer is left alone, others are split all the same
                query = CountOtherValues(self._shape, self._asked, first_tree, splits, without_gain)
                others = self._shards.map_reduce(query)
                tree, node = without_gain[others == 0, :2].T
                found[tree, node - splits.shape[1]] = -1
            splits = np.concatenate([splits, found], axis=1)
        return splits


def trees_a_pass(shape: Binned, n_outputs: int, recipe: Recipe, sum_bytes: int) -> int:
    """How many trees have room for their sums: whole blocks of the core, at least one."""
    widest = np.sort(shape.n_bins)[::-1][: recipe.n_candidates(len(shape.cuts))]
    n_nodes = 1 << (recipe.max_depth - 1)
    per_tree = 8 * n_nodes * (1 + int(widest.sum()) * (1 + n_outputs))
    return max(1, sum_bytes // (BLOCK * per_tree)) * BLOCK


# -------------------------------------------------------------------------------------------------------------- a GPU


@dataclass(frozen=True)
class RowsBetween:
    """What does the forest read of the rows from one number up to another? Pieces, each with its first row."""

    first: int
    end: int
    n_features: int

    def __call__(self, shard: Shard) -> list[tuple[int, RowArrays]]:
        start = shard.first_row
        first, end = max(self.first, start), min(self.end, start + shard.response.n_rows)
        if first >= end:
            return []
        own = shard.response.take(np.arange(first - start, end - start))
        return [(first, arrays_of(shard.bins[: self.n_features, first - start : end - start], own))]


def _weighted(shard: Shard) -> int:
    """Whether its rows have weights."""
    return int(shard.response.weights is not None)


def in_shards(shards: ShardDataset, shape: Binned, response: Response) -> RowSource:
    """The rows of shards, read when they are asked for."""

    def read(first: int, end: int) -> RowArrays:
        found = shards.map_reduce(RowsBetween(first, end, len(shape.cuts)))
        pieces = [piece for _, piece in sorted(found, key=lambda piece: piece[0])]
        if len(pieces) == 1:
            return pieces[0]
        return RowArrays._make(
            None if arrays[0] is None else np.concatenate(arrays, axis=-1) for arrays in zip(*pieces)
        )

    return RowSource(response.scale.n_rows, bool(shards.map_reduce(_weighted)), read)


# ---------------------------------------------------------------------------------------------------------------- views

# Shards in, the same out: seen in another way (some of their rows, other bins, another response), or verified.
#
# A view is a small object that is sent along with a query, so rows are looked at where they lie and nothing is kept.
# Shards that a worker lost are made again, maybe of other rows: each answer of verified ones is counted.


View = Callable[[Shard], Shard | None]  # None where no row is seen


@dataclass(frozen=True)
class MappedQuery:
    """A query to shards as they are seen."""

    view: View
    query: Callable[[Shard], Any]

    @property
    def n_threads(self) -> int:
        """How many threads the query takes itself."""
        return getattr(self.query, "n_threads", 1)

    def look(self, shard: Shard) -> Shard | None:
        """A shard as it is seen, through all views that are one upon the other."""
        seen = self.view(shard)
        return self.query.look(seen) if seen is not None and isinstance(self.query, MappedQuery) else seen

    def answer(self, seen: Shard | None) -> Any:
        """What a shard answers that is seen."""
        if seen is None:
            return None
        return self.query.answer(seen) if isinstance(self.query, MappedQuery) else self.query(seen)

    def __call__(self, shard: Shard) -> Any:
        return self.answer(self.look(shard))


@dataclass(frozen=True)
class MappedShards:
    """Shards as they are seen; they belong to someone else."""

    shards: ShardDataset
    view: View

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        answer: Answer = self.shards.map_reduce(MappedQuery(self.view, query))
        return answer

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class ResidualExtremes:
    """How far do these residuals reach?"""

    residual: Residual
    shape: Binned

    def __call__(self, shard: Shard) -> Extremes:
        return Extremes.of(self.residual.raw(replace(self.shape, bins=shard.bins), shard.response))


@dataclass(frozen=True)
class OnResiduals:
    """Rows with their residuals as response."""

    residual: Residual
    shape: Binned
    rounding: Rounding
    scale: Scale

    def __call__(self, shard: Shard) -> Shard:
        binned = replace(self.shape, bins=shard.bins)
        return replace(shard, response=self.residual.of_rows(binned, shard.response, self.rounding, self.scale))


# ----------------------------------------------------------------------------------------------------------- verified


@dataclass(frozen=True)
class WithFingerprints(Generic[Answer]):
    """A query whose answer tells too what the shards were made of."""

    query: Callable[[Shard], Answer]

    def __call__(self, shard: Shard) -> Fingerprinted[Answer]:
        return Fingerprinted(self.query(shard), shard.fingerprints)


@dataclass(frozen=True)
class Counted(Generic[Answer]):
    """An answer, and one number for the fingerprints of the shards that gave it."""

    answer: Answer | None
    total: int

    def __add__(self, other: Counted[Answer]) -> Counted[Answer]:
        return Counted(sum_of_some([self.answer, other.answer]), (self.total + other.total) & MASK)


@dataclass(frozen=True)
class _Counting(Generic[Answer]):
    query: Callable[[Shard], Answer | None]

    def __call__(self, shard: Shard) -> Counted[Answer]:
        return Counted(self.query(shard), total_of(shard.fingerprints))


def nothing(shard: Shard) -> int:
    """Asks nothing of a shard."""
    return 0


class VerifiedShards:
    """Shards that must stay what they were made of."""

    def __init__(self, shards: ShardDataset, fingerprints: Fingerprints, names: Sequence[str], advice: str) -> None:
        self._shards, self._fingerprints, self._names, self._advice = shards, fingerprints, names, advice
        self._total = total_of(fingerprints)

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        counted: Counted[Any] = self._shards.map_reduce(_Counting(query))
        if counted.total != self._total:
            fingerprinted: Fingerprinted[int] = self._shards.map_reduce(WithFingerprints(nothing))
            check_unchanged(self._fingerprints, fingerprinted.fingerprints, self._names, self._advice)
            raise changed("A part of the rows", "it was read again and was another", self._advice)
        answer: Answer = sum_of([counted.answer])
        return answer

    def close(self) -> None:
        """Let go of the rows."""
        self._shards.close()


def ask_first(
    shards: ShardDataset, detector: ChangeDetector, query: Callable[[Shard], Answer]
) -> tuple[VerifiedShards, Answer]:
    """Ask shards that a pass over checked rows has just made; from then on they must stay what they were made of."""
    fingerprinted: Fingerprinted[Answer] = shards.map_reduce(WithFingerprints(query))
    answer = detector(fingerprinted)
    return VerifiedShards(shards, fingerprinted.fingerprints, detector.names, detector.advice), answer

"""Shards in, a forest out: level by level, the sums of all shards, then the splits; or their rows for a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._device.rows import RowArrays, RowSource, arrays_of
from pysirus._families.response.response import Response
from pysirus._forest.forest import GrowingForest, Recipe, plan_of
from pysirus.engine.parts import ShardHolder
from pysirus.engine.shard import BLOCK, CountOtherValues, NodeSums, Shard

WATCHED_ROWS = 2_000_000_000  # rows times trees between two signs of progress: some seconds


class ShardForest(GrowingForest):
    """A forest on rows that lie in several places: split for split the one of all rows together."""

    def __init__(
        self,
        shards: ShardHolder,
        shape: Binned,
        response: Response,
        recipe: Recipe,
        sum_bytes: int,
        first_tree: int = 0,
    ) -> None:
        super().__init__(first_tree)
        self._shards = shards
        self._shape = shape
        self._recipe = recipe
        self._plan = plan_of(shape, response, recipe)
        self._trees_a_pass = trees_a_pass(shape, response.n_outputs, recipe, sum_bytes)
        self.watched = min(self.watched, max(1, WATCHED_ROWS // (BLOCK * response.scale.n_rows)) * BLOCK)

    def _splits(self, first_tree: int, n_trees: int) -> NDArray[np.int32]:
        end = first_tree + n_trees
        firsts = range(first_tree, end, self._trees_a_pass)
        return np.concatenate([self._grow_block(first, min(self._trees_a_pass, end - first)) for first in firsts])

    def _grow_block(self, first_tree: int, n_trees: int) -> NDArray[np.int32]:
        splits = np.zeros((n_trees, 0), dtype=np.int32)
        for _ in range(self._recipe.max_depth):
            sums = self._shards.ask(NodeSums(self._shape, self._recipe, first_tree, splits))
            found, without_gain = _core.search(self._plan, first_tree, splits, sums)
            if len(without_gain):
                # no split gains anything: a node of one answer is left alone, others are split all the same
                question = CountOtherValues(self._shape, self._recipe, first_tree, splits, without_gain)
                others = self._shards.ask(question)
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


def in_shards(shards: ShardHolder, shape: Binned, response: Response) -> RowSource:
    """The rows of shards, read when they are asked for."""

    def read(first: int, end: int) -> RowArrays:
        found = shards.ask(RowsBetween(first, end, len(shape.cuts)))
        pieces = [piece for _, piece in sorted(found, key=lambda piece: piece[0])]
        if len(pieces) == 1:
            return pieces[0]
        return RowArrays._make(
            None if arrays[0] is None else np.concatenate(arrays, axis=-1) for arrays in zip(*pieces)
        )

    return RowSource(response.scale.n_rows, bool(shards.ask(_weighted)), read)

"""Rows in, a forest grown on an accelerator out: split for split the one that the core grows."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._device import kernels
from pysirus._device.kernels import Rows, Sums
from pysirus._device.platform import Accelerator
from pysirus._device.room import Blocks, Most, Need, blocks_of
from pysirus._device.rows import RowSource, in_memory
from pysirus._device.search import Found, Table, search
from pysirus._device.shape import Shape, columns_of, digits_of
from pysirus._families.response.response import Response
from pysirus._forest.forest import GrowingForest, Recipe, poisson_thresholds

_ONE_AT_A_TIME = Lock()  # forests of several threads share the GPU, and each reckons with all that is free


class RowBlock:
    """Some rows of the table: on the accelerator, or sent to it whenever they are needed."""

    def __init__(self, first_row: int, forest: DeviceForest) -> None:
        self.first_row = first_row
        self._forest = forest
        self._rows = self._send() if forest.blocks.keep_rows else None
        self._matrix: Any = None

    def _send(self) -> Rows:
        source, size = self._forest.source, self._forest.blocks.n_rows
        end = min(source.n_rows, self.first_row + size)
        rows = Rows(*source.read(self.first_row, end).padded(size), np.int64(end - self.first_row))
        sent: Rows = self._forest.card.put(rows)
        return sent

    def load(self) -> tuple[Any, Any]:
        """Its bins, and its matrix."""
        forest = self._forest
        rows = self._send() if self._rows is None else self._rows
        if self._matrix is not None:
            return rows.bins, self._matrix
        matrix = kernels.encode(rows, *forest.cells, forest.shape)
        if forest.blocks.keep_matrix:
            self._matrix = matrix
        return rows.bins, matrix


class DeviceForest(GrowingForest):
    """A forest grown on an accelerator."""

    def __init__(
        self,
        binned: Binned,
        response: Response,
        recipe: Recipe,
        card: Accelerator,
        first_tree: int = 0,
        room: int | None = None,
        most: Most | None = None,
        source: RowSource | None = None,
    ) -> None:
        super().__init__(first_tree)
        self.source = in_memory(binned, response) if source is None else source
        self.card = card
        self._recipe = recipe
        self._room, self._most = room, most or Most()
        groups, self._columns = columns_of(binned)
        digits = digits_of(response, self.source.weighted)
        self.shape = Shape(
            groups=groups,
            n_slots=response.n_outputs,
            size_digits=digits.size,
            sum_digits=digits.sum,
            value_digits=digits.value,
            weighted=self.source.weighted,
        )
        self._max_features = recipe.n_candidates(len(binned.cuts))
        self._n_nodes = (1 << recipe.max_depth) - 1
        self.thresholds = tuple(poisson_thresholds(recipe.max_samples).tolist())
        self._rows: list[RowBlock] | None = None

    def _splits(self, first_tree: int, n_trees: int) -> NDArray[np.int32]:
        with _ONE_AT_A_TIME, self.card.computing():
            if self._rows is None or n_trees > self.blocks.n_asked:
                self._load(n_trees)
            together = self.blocks.trees_together(n_trees)
            firsts = range(first_tree, first_tree + n_trees, together)
            found = [self._grow_block(first, together) for first in firsts]  # asked for, not waited for
            splits = np.concatenate([np.stack([*map(np.asarray, block)], axis=1) for block in found])[:n_trees]
        return np.ascontiguousarray(splits, dtype=np.int32)

    # ------------------------------------------------------------------------------------------------------ the table

    def _load(self, n_trees: int) -> None:
        """Put the table where it has room."""
        self._rows = None
        columns, put = self._columns, self.card.put
        room = self.card.free_bytes() if self._room is None else self._room
        self.blocks: Blocks = blocks_of(
            Need(self.shape, self._recipe.max_depth), self.source.n_rows, n_trees, room, self._most
        )
        self.table = Table(*map(put, (columns.feature, columns.number, columns.cut, columns.other)))
        self.cells = (put(columns.cell_feature), put(columns.cell_bin))
        self._zero = put(np.int64(0))
        self._rows = [RowBlock(first, self) for first in range(0, self.source.n_rows, self.blocks.n_rows)]

    # -------------------------------------------------------------------------------------------------------- growing

    def _grow_block(self, first_tree: int, n_trees: int) -> list[Any]:
        """The splits of each node in heap order."""
        shape, put = self.shape, self.card.put
        keys, *nodes = kernels.start_trees(
            put(np.uint64(self._recipe.seed)),
            put(np.uint64(first_tree)),
            n_trees,
            self._n_nodes,
            shape.n_features,
            self._max_features,
        )
        found: list[Found] = []
        sums: list[Sums] = []
        counts: dict[int, Any] = {}
        for depth in range(self._recipe.max_depth):
            sums = self._level_sums(depth, keys, found, sums, counts)
            for node, own in enumerate(sums, start=len(found)):
                parent = found[(node - 1) // 2].split if node else put(np.zeros(n_trees, dtype=np.int32))
                asked = (np.int32(node), *nodes, parent, self._min_node_size)
                found.append(search(own, *asked, self.table, self._zero, shape))
        return [own.split for own in found]

    @property
    def _min_node_size(self) -> Any:
        return np.int64(self._recipe.min_node_size)

    def _draw(self, keys: Any, first_row: Any) -> Any:
        """How often each row of a block of rows stands in each tree's sample."""
        if not self._recipe.in_blocks:
            return kernels.draw_counts(keys, first_row, self.blocks.n_rows, self.thresholds)
        return kernels.draw_in_blocks(keys, first_row, self.blocks.n_rows, self.card.put(self._recipe.block_thresholds))

    def _level_sums(
        self, depth: int, keys: Any, found: list[Found], above: list[Sums], counts: dict[int, Any]
    ) -> list[Sums]:
        """The sums of every node of a level: of left children over the rows, of right ones what is left."""
        assert self._rows is not None
        first = (1 << depth) - 1
        asked = [0] if depth == 0 else list(range(first, 2 * first + 1, 2))
        sums: dict[int, Sums] = {}
        for rows in self._rows:
            bins, matrix = rows.load()
            drawn = counts.get(rows.first_row)
            if drawn is None:
                row = self.card.put(np.uint32(rows.first_row & 0xFFFFFFFF))
                drawn = self._draw(keys, row)
                if self.blocks.keep_counts:
                    counts[rows.first_row] = drawn
            for node in asked:
                inside = drawn if node == 0 else _inside(drawn, bins, found, node)
                part = kernels.sums_of(kernels.multiply(matrix, inside), self.shape)
                sums[node] = kernels.add(sums[node], part) if node in sums else part
        if depth == 0:
            return [sums[0]]
        pairs = ((sums[node], kernels.subtract(above[(node - 1) // 2 - first // 2], sums[node])) for node in asked)
        return [own for pair in pairs for own in pair]


def _inside(drawn: Any, bins: Any, found: list[Found], node: int) -> Any:
    """The counts of the rows that come to a node."""
    routes, sides = [], []
    while node:
        routes.append(found[(node - 1) // 2].route)
        sides.append(node % 2 == 1)
        node = (node - 1) // 2
    return kernels.mask_counts(drawn, bins, tuple(routes), np.array(sides))

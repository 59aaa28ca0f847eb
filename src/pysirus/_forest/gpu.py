"""Rows in, a forest grown on a GPU out: split for split the one that the core grows.

Rows and trees go through the GPU in blocks, which are as large as its free memory allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._families.responses import Response
from pysirus._forest import gpu_kernels
from pysirus._forest.forest import GrowingForest, Recipe, has_lines, plan_of, poisson_thresholds
from pysirus._forest.gpu_kernels import MAX_ROWS, Found, Rows, Sums, Table, search
from pysirus._forest.gpu_setup import (
    CPU,
    Accelerator,
    DeviceError,
    RowSource,
    Shape,
    accelerator,
    bin_sums,
    columns_of,
    digits_of,
    in_memory,
)

TILE = 64  # rows of a block come in multiples of it
FEW_ROWS = 500_000  # with more of them compiling takes less time than the rows that fill up
GOOD_ROWS, GOOD_TREES = 1 << 16, 1 << 10  # of blocks, where there is room for them
FEWEST_TREES = 64
# Trees of a block. JAX tries several ways to multiply before it takes one, on matrices of this size: with 10,000 trees
# and a million rows that takes 36 s, with these 5 s, and growing takes 6% longer (docs/accelerator.md).
TREES = 1_024
OFTEN = 4  # times as many where the matrix is made again for every block of trees


@dataclass(frozen=True)
class BlockLimits:
    """The largest blocks that are made, whatever the room."""

    rows: int = MAX_ROWS
    trees: int = TREES


@dataclass(frozen=True)
class Blocks:
    """How much is done at once, and what stays on the accelerator meanwhile."""

    n_asked: int  # trees that the room was made for
    n_rows: int  # of a block
    n_trees: int  # of a block, at most
    keep_rows: bool  # the bins of all blocks
    keep_matrix: bool  # the matrices of all blocks
    keep_counts: bool  # the counts of all blocks, from level to level

    def trees_together(self, n_trees: int) -> int:
        """Trees of a block where this many are asked for: blocks of one size."""
        n_blocks = -(-n_trees // self.n_trees)
        return _up(-(-n_trees // n_blocks), 16)


@dataclass(frozen=True)
class BlockShape:
    """Bytes for trees of a depth."""

    shape: Shape
    max_depth: int

    @property
    def row(self) -> int:
        """Of a table row: its bins, response and weight."""
        return self.shape.n_features + 4 * self.shape.n_slots + 4

    @property
    def matrix(self) -> int:
        """Of a table row in the matrix."""
        return self.shape.n_rows

    @property
    def tree(self) -> int:
        """Of a tree: the sums of its nodes, of a level and the one before, and what the search needs."""
        shape = self.shape
        sums = 8 * (1 + shape.n_slots) * (shape.n_cells + 1) + 32 * shape.n_slots
        kept = (1 << self.max_depth) + 2
        return (
            kept * sums
            + 8 * shape.n_rows
            + shape.n_features * (1 << self.max_depth)
            + 8 * shape.n_splits * (4 + 2 * shape.n_slots)
        )


def blocks_of(need: BlockShape, n_rows: int, n_trees: int, room: int, most: BlockLimits) -> Blocks:
    """The largest blocks that have room: the whole table if it can be, else blocks of its rows."""
    blocks = _blocks(need, n_rows, n_trees, room, most)
    if blocks.keep_matrix or n_trees <= most.trees:
        return blocks
    return _blocks(need, n_rows, n_trees, room, replace(most, trees=OFTEN * most.trees))


def _blocks(need: BlockShape, n_rows: int, n_trees: int, room: int, most: BlockLimits) -> Blocks:
    most_trees = min(most.trees, _up(n_trees, 16))
    keep_rows = n_rows * need.row <= room // 2
    left = room - (n_rows + TILE) * need.row if keep_rows else room
    size, trees = _largest(need, n_rows, most_trees, left, most.rows)
    rows = -(-n_rows // size) * size
    left -= _working(need, size, trees)
    keep_matrix = keep_rows and (rows == size or rows * need.matrix <= left)
    left -= rows * need.matrix if keep_matrix else 0
    keep_counts = rows == size or rows * trees <= left
    return Blocks(n_trees, size, trees, keep_rows, keep_matrix, keep_counts)


def _largest(need: BlockShape, n_rows: int, most: int, room: int, most_rows: int) -> tuple[int, int]:
    """Rows and trees of a block: many trees rather than many rows, so that making the matrix is worth its while."""
    fewest_blocks = -(-n_rows // most_rows)
    for least, smallest in ((min(most, GOOD_TREES), GOOD_ROWS), (min(most, FEWEST_TREES), TILE)):
        n_blocks = fewest_blocks
        while True:
            size = _round_rows(-(-n_rows // n_blocks))
            trees = (room - size * (need.row + 2 * need.matrix)) // (3 * size + need.tree) // 16 * 16
            if trees >= least:
                return size, min(trees, most)
            if size <= smallest:
                break
            n_blocks *= 2
    shape, wanted = need.shape, _working(need, size, least)
    raise DeviceError(
        f"The GPU has room for {room / 2**20:,.0f} MiB, and {wanted / 2**20:,.0f} MiB are needed for {least} trees on "
        f"{size} rows of {shape.n_features} columns ({shape.n_cells} cuts, {shape.n_slots} sums each): use "
        f"{CPU}, or fewer columns, bins or classes."
    )


def _working(need: BlockShape, n_rows: int, n_trees: int) -> int:
    """Bytes for one block of rows and one of trees: matrix (twice while it is made), counts, masked ones, sums."""
    return n_rows * (need.row + 2 * need.matrix + 3 * n_trees) + n_trees * need.tree


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


def _round_rows(n_rows: int) -> int:
    """Rows with padding: few different numbers, so that folds of a table share their compiled code."""
    return _up(n_rows, TILE if n_rows >= FEW_ROWS else max(TILE, 1 << max(0, n_rows.bit_length() - 8)))


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
        sent: Rows = self._forest.gpu.put(rows)
        return sent

    def load(self) -> tuple[Any, Any]:
        """Its bins, and its matrix."""
        forest = self._forest
        rows = self._send() if self._rows is None else self._rows
        if self._matrix is not None:
            return rows.bins, self._matrix
        matrix = gpu_kernels.encode(rows, *forest.cells, forest.shape)
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
        gpu: Accelerator,
        first_tree: int = 0,
        room: int | None = None,
        most: BlockLimits | None = None,
        source: RowSource | None = None,
    ) -> None:
        super().__init__(recipe, first_tree)
        self.source = in_memory(binned, response) if source is None else source
        self.gpu = gpu
        self._room, self._most = room, most or BlockLimits()
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
        self._plan = plan_of(binned, response, recipe) if has_lines(recipe) else None
        self._bins = binned.n_bins.tolist(), binned.has_missing.tolist()

    def _splits(self, first_tree: int, n_trees: int, lines: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        with _ONE_AT_A_TIME, self.gpu.computing():
            if self._rows is None or n_trees > self.blocks.n_asked:
                self._load(n_trees)
            together = self.blocks.trees_together(n_trees)
            firsts = range(first_tree, first_tree + n_trees, together)
            found = [self._grow_block(first, together) for first in firsts]  # asked for, not waited for
            splits = np.concatenate([np.stack([*map(np.asarray, block)], axis=1) for block, _ in found])[:n_trees]
            if lines is not None:
                for first, (_, roots) in zip(firsts, found):
                    self._find_lines(first, roots, lines[first - first_tree :][:together])
        return np.ascontiguousarray(splits, dtype=np.int32)

    def _find_lines(self, first_tree: int, roots: Sums, lines: NDArray[np.int32]) -> None:
        """The columns whose lines win trees, from the sums of their roots: few numbers, which the core compares."""
        cells, total = np.asarray(roots.cells)[:, :, : len(lines)], np.asarray(roots.total)[:, : len(lines)]
        sums = bin_sums(cells, total, self._columns, *self._bins)
        drawn = np.ascontiguousarray(np.asarray(roots.drawn)[: len(lines)], dtype=np.int64)
        assert self._plan is not None
        _core.root_lines(self._plan, first_tree, drawn, sums, lines)

    # ------------------------------------------------------------------------------------------------------ the table

    def _load(self, n_trees: int) -> None:
        """Put the table where it has room."""
        self._rows = None
        columns, put = self._columns, self.gpu.put
        room = self.gpu.free_bytes() if self._room is None else self._room
        self.blocks: Blocks = blocks_of(
            BlockShape(self.shape, self._recipe.max_depth), self.source.n_rows, n_trees, room, self._most
        )
        self.table = Table(*map(put, (columns.feature, columns.number, columns.cut, columns.other)))
        self.cells = (put(columns.cell_feature), put(columns.cell_bin))
        self._zero = put(np.int64(0))
        self._rows = [RowBlock(first, self) for first in range(0, self.source.n_rows, self.blocks.n_rows)]

    # -------------------------------------------------------------------------------------------------------- growing

    def _grow_block(self, first_tree: int, n_trees: int) -> tuple[list[Any], Sums]:
        """The splits of each node in heap order, and the sums of the roots."""
        shape, put = self.shape, self.gpu.put
        keys, *nodes = gpu_kernels.start_trees(
            put(np.uint64(self._recipe.seed)),
            put(np.uint64(first_tree)),
            n_trees,
            self._n_nodes,
            shape.n_features,
            self._max_features,
        )
        found: list[Found] = []
        sums: list[Sums] = []
        roots: list[Sums] = []
        counts: dict[int, Any] = {}
        for depth in range(self._recipe.max_depth):
            sums = self._level_sums(depth, keys, found, sums, counts)
            roots = roots or sums
            for node, own in enumerate(sums, start=len(found)):
                parent = found[(node - 1) // 2].split if node else put(np.zeros(n_trees, dtype=np.int32))
                asked = (np.int32(node), *nodes, parent, self._min_node_size)
                found.append(search(own, *asked, self.table, self._zero, shape))
        return [own.split for own in found], roots[0]

    @property
    def _min_node_size(self) -> Any:
        return np.int64(self._recipe.min_node_size)

    def _draw(self, keys: Any, first_row: Any) -> Any:
        """How often each row of a block of rows stands in each tree's sample."""
        if not self._recipe.in_blocks:
            return gpu_kernels.draw_counts(keys, first_row, self.blocks.n_rows, self.thresholds)
        return gpu_kernels.draw_in_blocks(
            keys, first_row, self.blocks.n_rows, self.gpu.put(self._recipe.block_thresholds)
        )

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
                row = self.gpu.put(np.uint32(rows.first_row & 0xFFFFFFFF))
                drawn = self._draw(keys, row)
                if self.blocks.keep_counts:
                    counts[rows.first_row] = drawn
            for node in asked:
                inside = drawn if node == 0 else _inside(drawn, bins, found, node)
                part = gpu_kernels.sums_of(gpu_kernels.multiply(matrix, inside), self.shape)
                sums[node] = gpu_kernels.add(sums[node], part) if node in sums else part
        if depth == 0:
            return [sums[0]]
        pairs = ((sums[node], gpu_kernels.subtract(above[(node - 1) // 2 - first // 2], sums[node])) for node in asked)
        return [own for pair in pairs for own in pair]


def _inside(drawn: Any, bins: Any, found: list[Found], node: int) -> Any:
    """The counts of the rows that come to a node."""
    routes, sides = [], []
    while node:
        routes.append(found[(node - 1) // 2].route)
        sides.append(node % 2 == 1)
        node = (node - 1) // 2
    return gpu_kernels.mask_counts(drawn, bins, tuple(routes), np.array(sides))


def device_forest(
    binned: Binned,
    response: Response,
    recipe: Recipe,
    first_tree: int,
    source: RowSource | None = None,
    most_bytes: int | None = None,
) -> DeviceForest:
    """A forest to be grown on the GPU, on rows in memory or on those of a source, some bytes of them at a time."""
    most = BlockLimits()
    if most_bytes is not None:
        a_row = len(binned.cuts) + 4 * response.n_outputs + 4
        most = BlockLimits(rows=max(1, min(most.rows, most_bytes // a_row)))
    return DeviceForest(binned, response, recipe, accelerator(), first_tree, most=most, source=source)

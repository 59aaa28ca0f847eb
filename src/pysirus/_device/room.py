"""A shape, numbers of rows and trees, and free memory in; blocks of rows and of trees out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pysirus._device.kernels import MAX_ROWS
from pysirus._device.platform import CPU, DeviceError
from pysirus._device.shape import Shape

TILE = 64  # rows of a block come in multiples of it
FEW_ROWS = 500_000  # with more of them compiling takes less time than the rows that fill up
GOOD_ROWS, GOOD_TREES = 1 << 16, 1 << 10  # of blocks, where there is room for them
FEWEST_TREES = 64
# Trees of a block. JAX tries several ways to multiply before it takes one, on matrices of this size: with 10,000 trees
# and a million rows that takes 36 s, with these 5 s, and growing takes 6% longer (docs/accelerator.md).
TREES = 1_024
OFTEN = 4  # times as many where the matrix is made again for every block of trees


@dataclass(frozen=True)
class Most:
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
class Need:
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


def blocks_of(need: Need, n_rows: int, n_trees: int, room: int, most: Most) -> Blocks:
    """The largest blocks that have room: the whole table if it can be, else blocks of its rows."""
    blocks = _blocks(need, n_rows, n_trees, room, most)
    if blocks.keep_matrix or n_trees <= most.trees:
        return blocks
    return _blocks(need, n_rows, n_trees, room, replace(most, trees=OFTEN * most.trees))


def _blocks(need: Need, n_rows: int, n_trees: int, room: int, most: Most) -> Blocks:
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


def _largest(need: Need, n_rows: int, most: int, room: int, most_rows: int) -> tuple[int, int]:
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


def _working(need: Need, n_rows: int, n_trees: int) -> int:
    """Bytes for one block of rows and one of trees: matrix (twice while it is made), counts, masked ones, sums."""
    return n_rows * (need.row + 2 * need.matrix + 3 * n_trees) + n_trees * need.tree


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


def _round_rows(n_rows: int) -> int:
    """Rows with padding: few different numbers, so that folds of a table share their compiled code."""
    return _up(n_rows, TILE if n_rows >= FEW_ROWS else max(TILE, 1 << max(0, n_rows.bit_length() - 8)))

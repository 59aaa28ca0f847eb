"""Rows in bins in, exact sums of nodes out: draws, masks and one product of bytes for each level of a block of trees.

All of it is integers. Digits are no larger than 64 and counts no larger than 16, so a product over up to `MAX_ROWS`
rows fits its 32-bit sums whatever was drawn; digits are joined to 64-bit sums after it.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from pysirus._forest.forest import BLOCK_ROWS
from pysirus._forest.gpu_setup import DIGIT, Group, Shape

# JAX tries its own ways to multiply, compiled for the occasion, beside those of the vendor's library. That takes 4 s,
# and on the shapes here the library wins (docs/accelerator.md).
LIBRARY_ALONE = {"xla_gpu_enable_triton_gemm": False}
MAX_ROWS = (2**31 - 1) // (64 * 16) // 128 * 128  # of a product
GOLDEN_32 = np.uint32(0x9E3779B9)
GOLDEN_64 = np.uint64(0x9E3779B97F4A7C15)


class Rows(NamedTuple):
    """A block of rows on the accelerator; values or codes, with weights or without."""

    bins: Array  # [feature, row]
    values: Array | None  # [column, row]
    codes: Array | None
    weights: Array | None
    n_rows: Array  # that are there; the others fill up the block


class Sums(NamedTuple):
    """What a level knows of a node in each of a block of trees; sums of rows in several blocks add up."""

    cells: Array  # [1 + slot, cell, tree]: size and sums
    total: Array  # [1 + slot, tree]: those of the whole node
    drawn: Array  # [tree]: rows, as often as they were drawn
    values: Array  # [slot, tree]: drawn numbers, without weights
    squares: Array  # [2, slot, tree]: their squares in two parts, the second in units of 2**21


class Route(NamedTuple):
    """The split of a node in each of a block of trees: bins up to `cut`, and bin `other`, go left."""

    feature: Array
    cut: Array
    other: Array


# -------------------------------------------------------------------------------------------------------------- draws


def mix64(x: Array) -> Array:
    """The finaliser of SplitMix64, as in cpp/forest/random.hpp."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def row_bits(low: Array, high: Array, row: Array) -> Array:
    """32 bits for a tree and a row, or for a node and a feature."""
    x = low + row * GOLDEN_32
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x21F0AAAD)
    x = x + high
    x = x ^ (x >> np.uint32(15))
    x = x * np.uint32(0x735A2D97)
    return x ^ (x >> np.uint32(15))


def halves(key: Array) -> tuple[Array, Array]:
    """The lower and the upper 32 bits."""
    return key.astype(jnp.uint32), (key >> np.uint64(32)).astype(jnp.uint32)


def tree_keys(seed: Array, first_tree: Array, n_trees: int) -> Array:
    """The keys of trees first_tree, first_tree + 1, ..."""
    tree = first_tree + jnp.arange(n_trees, dtype=jnp.uint64)
    return mix64(mix64(seed + GOLDEN_64) + (tree + np.uint64(1)) * GOLDEN_64)


def node_keys(keys: Array, n_nodes: int) -> Array:
    """The keys of nodes in heap order, [node, tree]."""
    node = jnp.arange(1, n_nodes + 1, dtype=jnp.uint64)
    return mix64(keys[None, :] ^ mix64(node * GOLDEN_64)[:, None])


def draw_candidates(keys: Array, n_features: int, max_features: int) -> Array:
    """Which features a node tries, [feature, ...]: Floyd's method, all nodes side by side."""
    if max_features == n_features:
        return jnp.ones((n_features, *keys.shape), dtype=bool)
    feature = jnp.arange(n_features, dtype=jnp.int32).reshape(-1, *[1] * keys.ndim)

    def step(last: Array, chosen: Array) -> Array:
        index = last.astype(jnp.uint64)
        bits, bound = mix64(keys + (index + np.uint64(1)) * GOLDEN_64), index + np.uint64(1)
        low = (bits & np.uint64(0xFFFFFFFF)) * bound >> np.uint64(32)  # the upper half of the product
        drawn = ((bits >> np.uint64(32)) * bound + low >> np.uint64(32)).astype(jnp.int32)
        taken = jnp.take_along_axis(chosen, drawn[None], axis=0)[0]
        return chosen | (feature == jnp.where(taken, last, drawn)[None])

    none = jnp.zeros((n_features, *keys.shape), dtype=bool)
    return lax.fori_loop(np.int32(n_features - max_features), np.int32(n_features), step, none)


@partial(jax.jit, static_argnums=(2, 3, 4, 5))
def start_trees(
    seed: Array, first_tree: Array, n_trees: int, n_nodes: int, n_features: int, max_features: int
) -> tuple[Array, Array, Array]:
    """Keys of a block of trees, [tree], keys of their nodes, [node, tree], and candidates, [feature, node, tree]."""
    keys = tree_keys(seed, first_tree, n_trees)
    nodes = node_keys(keys, n_nodes)
    return keys, nodes, draw_candidates(nodes, n_features, max_features)


@partial(jax.jit, static_argnums=(2, 3))
def draw_counts(keys: Array, first_row: Array, n_rows: int, thresholds: tuple[int, ...]) -> Array:
    """How often each row stands in each tree's sample, [tree, row]."""
    low, high = halves(keys)
    row = first_row + jnp.arange(n_rows, dtype=jnp.uint32)
    bits = row_bits(low[:, None], high[:, None], row[None, :])
    counts = jnp.zeros(bits.shape, dtype=jnp.int32)
    for threshold in thresholds:
        counts = counts + (bits >= np.uint32(threshold)).astype(jnp.int32)
    return counts.astype(jnp.int8)


@partial(jax.jit, static_argnums=2)
def draw_in_blocks(keys: Array, first_row: Array, n_rows: int, thresholds: Array) -> Array:
    """The same where blocks of rows draw: each draw of a block adds one to one of its rows."""
    n_trees, n_blocks = keys.shape[0], n_rows // BLOCK_ROWS + 2  # what is loaded may begin and end within a block
    block = (first_row // np.uint32(BLOCK_ROWS)).astype(jnp.uint64) + jnp.arange(n_blocks, dtype=jnp.uint64)
    own = mix64(~keys[:, None] ^ mix64((block + np.uint64(1)) * GOLDEN_64)[None, :])
    bits = (mix64(own + GOLDEN_64) >> np.uint64(32)).astype(jnp.uint32)
    n_draws = jnp.searchsorted(thresholds, bits, side="right").astype(jnp.int32)
    tree, place = jnp.arange(n_trees)[:, None], jnp.arange(n_blocks)[None, :] * BLOCK_ROWS

    def draw(i: Array, counts: Array) -> Array:
        word = mix64(own + (i // 8 + 2).astype(jnp.uint64) * GOLDEN_64)
        row = (word >> (8 * (i % 8)).astype(jnp.uint64) & np.uint64(0xFF)).astype(jnp.int32)
        return counts.at[tree, place + row].add((i < n_draws).astype(jnp.int8))

    none = jnp.zeros((n_trees, n_blocks * BLOCK_ROWS), dtype=jnp.int8)
    counts = lax.fori_loop(np.int32(0), n_draws.max(), draw, none)
    return lax.dynamic_slice_in_dim(counts, (first_row % np.uint32(BLOCK_ROWS)).astype(jnp.int32), n_rows, axis=1)


@jax.jit
def mask_counts(counts: Array, bins: Array, routes: tuple[Route, ...], left: Array) -> Array:
    """The counts of the rows that come to a node: those that go the way of its path at each split above it."""
    inside = None
    for i, route in enumerate(routes):
        bin_ = bins[route.feature]
        goes_left = (bin_ <= route.cut[:, None]) | (bin_ == route.other[:, None])
        here = goes_left == left[i]
        inside = here if inside is None else inside & here
    return jnp.where(inside, counts, np.int8(0))


# ----------------------------------------------------------------------------------------------------------- products


def to_digits(numbers: Array, n: int) -> list[Array]:
    """Digits from -64 to 63 to the base 128, the lowest first; the last one may be 64."""
    rest, digits = numbers, []
    for _ in range(n - 1):
        low = ((rest + 64) & 127) - 64
        digits.append(low.astype(jnp.int8))
        rest = (rest - low) >> np.int64(DIGIT)
    return [*digits, rest.astype(jnp.int8)]


def _planes(rows: Rows, shape: Shape) -> tuple[list[Array], list[Array]]:
    """What each row adds to its cells, and to its node alone; rows that fill up a block add nothing."""
    there = (jnp.arange(rows.bins.shape[1]) < rows.n_rows).astype(jnp.int64)
    sizes = there if rows.weights is None else there * rows.weights
    planes = to_digits(sizes, shape.size_digits) if shape.size_digits else []
    totals = [there.astype(jnp.int8)]
    if rows.codes is not None:
        for slot in range(shape.n_slots):
            planes += to_digits(jnp.where(rows.codes == slot, sizes, 0), shape.sum_digits)
        return planes, totals
    assert rows.values is not None
    columns = there * rows.values.astype(jnp.int64)
    for column in columns:
        planes += to_digits(sizes * column, shape.sum_digits)
        if shape.weighted:
            totals += to_digits(column, shape.value_digits)
        totals += to_digits(column * column, 2 * shape.value_digits)
    return planes, totals


@partial(jax.jit, static_argnums=3)
def encode(rows: Rows, cell_feature: Array, cell_bin: Array, shape: Shape) -> Array:
    """The matrix of a block of rows: [row of the matrix, table row]."""
    planes, totals = _planes(rows, shape)
    inside = rows.bins[cell_feature] == cell_bin[:, None]
    cells = [jnp.where(inside, plane, np.int8(0)) for plane in planes]
    used = shape.n_planes * shape.n_cells + shape.n_totals
    empty = jnp.zeros((shape.n_rows - used, rows.bins.shape[1]), dtype=jnp.int8)
    return jnp.concatenate([*cells, jnp.stack([*planes, *totals]), empty])


def multiply(matrix: Array, counts: Array) -> Array:
    """Rows of the matrix times counts: [row of the matrix, tree]. By itself, so that nothing is fused into it."""
    product: Array = _product(matrix.shape, counts.shape)(matrix, counts)
    return product


@lru_cache(maxsize=256)
def _product(matrix: tuple[int, ...], counts: tuple[int, ...]) -> Any:
    """The product of two shapes, compiled."""

    def contract(a: Array, b: Array) -> Array:
        return lax.dot_general(a, b, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32)

    lowered = jax.jit(contract).lower(*(jax.ShapeDtypeStruct(shape, jnp.int8) for shape in (matrix, counts)))
    try:
        return lowered.compile(LIBRARY_ALONE)
    except Exception:  # a JAX that does not know the option any more: of whichever type it is
        return lowered.compile()


def join(digits: Array) -> Array:
    """Numbers from sums of their digits, [digit, ...]."""
    number = digits[0].astype(jnp.int64)
    for k in range(1, digits.shape[0]):
        number = number + (digits[k].astype(jnp.int64) << np.int64(DIGIT * k))
    return number


def _join_slots(planes: Array, shape: Shape) -> Array:
    """Sizes and sums from planes, [1 + slot, ...]."""
    sums = [
        join(planes[shape.size_digits + slot * shape.sum_digits :][: shape.sum_digits]) for slot in range(shape.n_slots)
    ]
    size = join(planes[: shape.size_digits]) if shape.size_digits else sum(sums[1:], start=sums[0])
    return jnp.stack([size, *sums])


@partial(jax.jit, static_argnums=1)
def sums_of(product: Array, shape: Shape) -> Sums:
    """The sums of a node over a block of rows."""
    n_trees, n_cells, n_planes = product.shape[1], shape.n_cells, shape.n_planes
    cells = product[: n_planes * n_cells].reshape(n_planes, n_cells, n_trees)
    rest = product[n_planes * n_cells :]
    totals, own = rest[:n_planes], rest[n_planes + 1 : shape.n_totals]
    total = _join_slots(totals, shape)
    values, squares = total[1:], jnp.zeros((2, shape.n_slots, n_trees), dtype=jnp.int64)
    if shape.value_digits:
        own = own.reshape(shape.n_slots, -1, n_trees).swapaxes(0, 1)
        if shape.weighted:
            values = join(own[: shape.value_digits])
            own = own[shape.value_digits :]
        squares = jnp.stack([join(own[: shape.value_digits]), join(own[shape.value_digits :])])
    return Sums(_join_slots(cells, shape), total, rest[n_planes].astype(jnp.int64), values, squares)


@partial(jax.jit, donate_argnums=0)
def add(a: Sums, b: Sums) -> Sums:
    """The sums of the rows of both."""
    return jax.tree.map(jnp.add, a, b)


@jax.jit
def subtract(a: Sums, b: Sums) -> Sums:
    """The sums of the rows of one that are not in the other."""
    return jax.tree.map(jnp.subtract, a, b)


# --------------------------------------------------------------------------------------------------------------- search

# The sums of a node in, its split out, in each of a block of trees: `best_split` of cpp/forest/reference.hpp.
#
# The decrease of a split is computed in double precision from exact integers, in the core's order of operations. A
# compiler may fuse a product and a sum, which rounds once instead of twice. So every product that is added to something
# passes through its bits, exclusive-or'ed with a zero that the compiler does not know: it can only take the rounded
# number.


LAST_BITS = np.int64(31)
LAST = np.int64(2**31 - 1)  # no table has more splits
UNROLLED = 16  # cuts or slots that are compiled one by one; more of them are a loop


class Table(NamedTuple):
    """The splits that are tried, on the accelerator; `Columns` has the words."""

    feature: Array
    number: Array
    cut: Array
    other: Array


class Found(NamedTuple):
    """The split of a node in each tree, and who goes left."""

    split: Array  # -1: none
    route: Route


def rounded(x: Array, zero: Array) -> Array:
    """The number itself, rounded to double precision: nothing can be fused over it."""
    return lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int64) ^ zero, jnp.float64)


def score_of(node: Array, left: Array, zero: Array) -> Array:
    """The decrease in variance of a split times the node's size squared; -1 where one side is empty."""
    size_left, size_right = left[0], node[0] - left[0]
    n_left, n_right = size_left.astype(jnp.float64), size_right.astype(jnp.float64)

    def square(k: Array | int) -> Array:
        right = (node[k] - left[k]).astype(jnp.float64)
        d = rounded(left[k].astype(jnp.float64) * n_right, zero) - rounded(right * n_left, zero)
        return rounded(d * d, zero)

    score = square(1)
    if left.shape[0] <= UNROLLED:
        for k in range(2, left.shape[0]):
            score = score + square(k)
    else:
        score = lax.fori_loop(2, left.shape[0], lambda k, score: score + square(k), score)
    separates = (size_left > 0) & (size_right > 0)
    return jnp.where(separates, score / jnp.where(separates, n_left * n_right, 1.0), -1.0)


def _upto(cells: Array) -> Array:
    """Running sums over the second axis."""
    if cells.shape[1] > UNROLLED:
        return jnp.cumsum(cells, axis=1)
    sums = [cells[:, 0]]
    for cut in range(1, cells.shape[1]):
        sums.append(sums[-1] + cells[:, cut])
    return jnp.stack(sums, axis=1)


def _left_sides(group: Group, cells: Array, node: Array) -> list[Array]:
    """Size and sums of the left side of each split of a group, in the order in which they are offered."""
    n_slots, _, n_trees = cells.shape
    p, n_cuts, sides = group.n_features, group.n_cuts, []
    missing = cells[:, n_cuts * p :]
    if n_cuts:
        left = _upto(cells[:, : n_cuts * p].reshape(n_slots, n_cuts, p, n_trees))
        if group.has_missing:
            left = jnp.stack([left, left + missing[:, None]], axis=2)
        sides.append(left.reshape(n_slots, -1, n_trees))
    if group.has_missing:
        sides.append(node[:, None] - missing)
    return sides


def _is_constant(sums: Sums, shape: Shape) -> Array:
    """Whether all drawn rows of a node answer the same."""
    if not shape.value_digits:
        return jnp.any(sums.total[1:] == sums.total[0], axis=0)
    # all numbers are v where their sum is n v and the sum of their squares n v v: then that of (number - v)^2 is zero
    n = jnp.maximum(sums.drawn, 1)
    v = sums.values // n
    half = np.int64(DIGIT * shape.value_digits)
    low = sums.squares[0] - n * ((v * v) & ((np.int64(1) << half) - 1))
    high = sums.squares[1] - n * ((v * v) >> half)
    same = (low >> half == -high) & (low == (low >> half) << half)
    return jnp.all((v * n == sums.values) & same, axis=0)


@partial(jax.jit, static_argnums=8)
def search(
    sums: Sums,
    node: Array,
    keys: Array,
    candidates: Array,
    parent: Array,
    min_node_size: Array,
    table: Table,
    zero: Array,
    shape: Shape,
) -> Found:
    """The best split of a node in each tree; between features that are equally good a draw decides.

    `keys` and `candidates` are those of all nodes, `parent` is the split above; the root has one that is not -1.
    """
    keys, candidates, exists = keys[node], candidates[:, node], parent >= 0
    sides, first = [], 0
    for group in shape.groups:
        sides += _left_sides(group, sums.cells[:, first : first + group.n_cells], sums.total)
        first += group.n_cells
    score = score_of(sums.total[:, None], jnp.concatenate(sides, axis=1), zero)
    tried = (table.number >= 0)[:, None] & candidates[table.feature]
    score = jnp.where(tried, score, -1.0)
    largest = jnp.max(score, axis=0)
    # of equals the one whose feature drew the largest number, and of that feature the first: one number orders both
    low, high = halves(keys)
    ties = row_bits(low[None], high[None], table.feature[:, None].astype(jnp.uint32)).astype(jnp.int64)
    place = jnp.arange(shape.n_splits, dtype=jnp.int64)[:, None]
    rank = jnp.max(jnp.where(score == largest, (ties << LAST_BITS) | (LAST - place), np.int64(-1)), axis=0)
    best = (LAST - (rank & LAST)).astype(jnp.int32)
    splits = exists & (largest >= 0.0) & (sums.drawn > min_node_size) & ~_is_constant(sums, shape)
    route = Route(table.feature[best], table.cut[best], table.other[best])
    return Found(jnp.where(splits, table.number[best], np.int32(-1)), route)

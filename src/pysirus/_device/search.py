"""The sums of a node in, its split out, in each of a block of trees: `best_split` of cpp/forest/reference.hpp.

The decrease of a split is computed in double precision from exact integers, in the core's order of operations. A
compiler may fuse a product and a sum, which rounds once instead of twice. So every product that is added to something
passes through its bits, exclusive-or'ed with a zero that the compiler does not know: it can only take the rounded
number.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from pysirus._device.kernels import Route, Sums, halves, row_bits
from pysirus._device.shape import DIGIT, Group, Shape

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

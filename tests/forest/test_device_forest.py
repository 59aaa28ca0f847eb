"""An accelerator grows the trees of the core, split for split; here on JAX's CPU, which runs the same code."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="the accelerator's code is JAX: pip install jax runs it on the CPU")

import oracle
from given import column_lines
from problems import grow, make_problem
from pysirus._bins.cuts import Binned, bin_table
from pysirus._data.table import read_table
from pysirus._families.responses import ClassResponse, NumberResponse, Response, VectorResponse
from pysirus._forest.forest import Forest, Recipe
from pysirus._forest.gpu import BlockLimits, BlockShape, DeviceForest, blocks_of
from pysirus._forest.gpu_kernels import score_of
from pysirus._forest.gpu_setup import TEST_PLATFORM, DeviceError, Group, Shape, accelerator
from sampled import FULL, ON_ENGINES, few

RNG = np.random.default_rng(7)
N_ROWS = 250
X = RNG.normal(size=(N_ROWS, 5))
X[:, 1] = np.round(X[:, 1])
X[:, 4] = X[:, 0] > 0  # parts the same rows as a cut of another column might
GAPS = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
Y = X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=N_ROWS) / 4
WEIGHTS = RNG.exponential(size=N_ROWS)
CLASSES = np.digitize(Y, [-1, 1]).astype(np.uint8)


@pytest.fixture(autouse=True)
def on_jax_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TEST_PLATFORM, "cpu")


def binned_of(table: object, response: Response) -> Binned:
    return bin_table(read_table(table), response, n_bins=10, discrete_limit=10)


def both(table, response, *, n_trees=60, most=None, room=None, **recipe) -> tuple[np.ndarray, DeviceForest]:
    """The splits of the core, after a comparison with those of the accelerator, which grew them."""
    binned, recipe = binned_of(table, response), Recipe(seed=3, **recipe)
    core = Forest(binned, response, recipe).grow(n_trees)
    forest = DeviceForest(binned, response, recipe, accelerator(), most=most, room=room)
    assert np.array_equal(forest.grow(n_trees), core)
    return core, forest


@pytest.mark.engines
@ON_ENGINES
def test_card_grows_the_trees_of_three_classes_with_missing_values() -> None:
    splits, _ = both(GAPS[:, [0, 2, 4]], ClassResponse(CLASSES, np.arange(3)), min_node_size=1, max_samples=0.05)
    assert (splits[:, 0] >= 0).any() and (splits[:, 1:] < 0).any()  # some nodes hold one class


@pytest.mark.engines
@ON_ENGINES
def test_card_grows_the_trees_of_vectors_and_categories_in_blocks_of_rows_and_trees() -> None:
    """Nodes of few rows are full of ties, and many of them are constant."""
    pa = pytest.importorskip("pyarrow")
    places = np.array(["north", "south", "east", "west"])[RNG.integers(0, 4, N_ROWS)]
    few = np.clip(X[:, 1], -1, 2)
    table = pa.table({"place": places, "a": few, "b": few + 0.0, "c": X[:, 4]})
    response = VectorResponse(np.column_stack([np.round(Y), X[:, 4]]))
    blocks = BlockLimits(rows=100, trees=32)
    splits, forest = both(table, response, most=blocks, max_depth=2, max_samples=0.1, min_node_size=1)
    assert forest.blocks.n_rows == 128 and forest.blocks.trees_together(60) == 32
    assert (splits[:, 0] >= 0).all() and (splits[:, 1:] < 0).any()


def test_card_grows_the_trees_that_draw_few_rows() -> None:
    rows = RNG.integers(0, N_ROWS, 1100)
    response = NumberResponse(Y[rows])
    blocks = BlockLimits(rows=300, trees=32)  # which begin within blocks that draw
    splits, forest = both(X[rows], response, most=blocks, max_samples=0.06, in_blocks=True)
    assert len(forest._rows) > 2 and (splits[:, 0] >= 0).all()


@pytest.mark.skipif(not FULL, reason="every kind costs a compilation: make test-full")
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "classes", "vectors", "extreme"])
@pytest.mark.parametrize("depth", [1, 4])
def test_card_grows_the_trees_of_every_kind(kind: str, weights: bool, depth: int) -> None:
    response = {
        "numbers": NumberResponse(Y, weights=WEIGHTS if weights else None),
        "classes": ClassResponse(CLASSES, np.arange(3), weights=WEIGHTS if weights else None),
        "vectors": VectorResponse(X[:, :3] + Y[:, None], weights=WEIGHTS if weights else None),
        "extreme": NumberResponse(np.where(Y > 0, 1.0, -1.0), weights=WEIGHTS if weights else None),
    }[kind]
    both(GAPS, response, max_depth=depth)


def test_card_and_core_grow_the_trees_of_the_oracle() -> None:
    """What both grow is also what the oracle in Python grows, whose trees share no code with either."""
    problem = make_problem(N_ROWS, [3, 3], max_depth=2, max_features=2, min_node_size=5)
    assert np.array_equal(grow(problem, 3), oracle.grow(problem, 0, 3))


# -------------------------------------------------------------------------------------------------------------- scores


def test_scores_are_rounded_like_those_of_the_core() -> None:
    """Beyond 53 bits a fused multiply-add would round otherwise; NumPy fuses nothing."""
    rng = np.random.default_rng(0)
    size = rng.integers(2**22, 2**23, 5000)
    left = rng.integers(1, size)
    sums, part = rng.integers(-(2**43), 2**43, (2, 2, 5000))
    node, side = np.vstack([size, sums]), np.vstack([left, part])
    n_left, n_right = left.astype(float), (size - left).astype(float)
    expected = np.zeros(5000)
    for k in (1, 2):
        d = side[k].astype(float) * n_right - (node[k] - side[k]).astype(float) * n_left
        expected = expected + d * d
    expected /= n_left * n_right
    import jax

    with accelerator().computing():
        found = np.asarray(jax.jit(score_of)(node, side, np.int64(0)))
    assert np.array_equal(found, expected)


# --------------------------------------------------------------------------------------------------------------- room

NEED = BlockShape(Shape((Group(100, 9, False),), 1, 1, 3, 3, False), max_depth=2)


def test_room_for_everything_keeps_everything_on_the_card() -> None:
    blocks = blocks_of(NEED, 1_000_000, 10_000, 80 << 30, BlockLimits())
    assert blocks.n_rows == 1_000_000 and blocks.trees_together(10_000) == 1008  # ten blocks
    assert blocks.keep_rows and blocks.keep_matrix and blocks.keep_counts


def test_little_room_makes_blocks_of_rows_and_trees() -> None:
    blocks = blocks_of(NEED, 100_000_000, 10_000, 8 << 30, BlockLimits())
    assert not blocks.keep_rows and not blocks.keep_matrix and not blocks.keep_counts
    assert blocks.n_rows < 2_000_000 and blocks.n_trees > 1024  # or the matrix would be made for few trees


def test_too_little_room_names_the_shortfall() -> None:
    with pytest.raises(DeviceError, match=r"The GPU has room for 10 MiB, and \d+ MiB are needed for 64 trees"):
        blocks_of(NEED, 1000, 1000, 10 << 20, BlockLimits())


@pytest.mark.parametrize("max_features, weighted", few([(2, True), (2, False), (None, False), (None, True)], 2))
def test_card_counts_the_lines_that_the_core_counts(max_features, weighted) -> None:
    rng = np.random.default_rng(4)
    table = rng.normal(size=(300, 5))
    table[::7, 1], table[:, 4] = np.nan, rng.integers(0, 3, 300)
    weights = rng.uniform(0.5, 2, 300) if weighted else None
    response = NumberResponse(table[:, 0] + (table[:, 2] > 0) + 0.2 * rng.normal(size=300), weights=weights)
    binned = binned_of(table, response)
    found = column_lines(read_table(table), binned, response)
    lines = tuple(None if own is None else own.values for own in found)
    recipe = Recipe(seed=3, lines=lines, max_features=max_features or 5)
    expected = Forest(binned, response, recipe).grow_to(300).paths()
    own = DeviceForest(binned, response, recipe, accelerator()).grow_to(300).paths()
    assert np.array_equal(own.lines, expected.lines) and own.lines.sum() > 100
    assert np.array_equal(own.codes, expected.codes) and np.array_equal(own.counts, expected.counts)

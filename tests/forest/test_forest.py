"""A forest that can be continued: numbered trees, counted paths, the stopping rule, Ctrl-C."""

import signal
import subprocess
import textwrap
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
import warm
from given import bin_arrays
from pysirus import _core
from pysirus._forest.forest import Forest, Recipe, expected_stability


def forest_of(X, y, **recipe):
    binned, response = bin_arrays(X, y)
    return Forest(binned, response, Recipe(seed=3, **recipe))


def test_forest_of_4000_trees_begins_one_of_10000(machine):
    X, y = machine
    long = forest_of(X, y).grow(10_000)
    short = forest_of(X, y)
    first, rest = short.grow(4_000), short.grow(6_000)
    assert np.array_equal(long[:4_000], first)
    assert np.array_equal(long[4_000:], rest)
    whole = forest_of(X, y)
    whole.grow(10_000)
    assert np.array_equal(short.paths().codes, whole.paths().codes)
    assert np.array_equal(short.paths().counts, whole.paths().counts)


@given(st.integers(1, 4), st.integers(0, 2**32), st.integers(0, 30))
def test_path_counts_are_those_of_the_oracle(depth, seed, n_trees):
    rng = np.random.default_rng(seed)
    splits = rng.integers(-1, 6, (n_trees, 2**depth - 1)).astype(np.int32)
    counts = _core.PathCounts()
    half = n_trees // 2
    counts.add(np.ascontiguousarray(splits[:half]))
    counts.add(np.ascontiguousarray(splits[half:]))
    codes, numbers = counts.paths()
    found = {tuple(c for c in path if c >= 0): int(n) for path, n in zip(codes.tolist(), numbers)}
    assert found == dict(oracle.path_counts(splits))


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_path_counts_of_many_trees_are_those_of_the_oracle(seed, n_splits):
    """Few splits beside the trees are counted without hashing, more of them with it."""
    splits = np.random.default_rng(seed).integers(-1, n_splits, (60, 3)).astype(np.int32)
    counts = _core.PathCounts()
    counts.add(splits)
    codes, numbers = counts.paths()
    found = {tuple(c for c in path if c >= 0): int(n) for path, n in zip(codes.tolist(), numbers)}
    assert found == dict(oracle.path_counts(splits))


def test_path_counts_hold_many_paths():
    """More paths than the hash table starts with, all of them found again."""
    splits = np.arange(30_000, dtype=np.int32).reshape(-1, 3)
    counts = _core.PathCounts()
    counts.add(splits)
    counts.add(splits)
    codes, numbers = counts.paths()
    assert len(codes) == 6 * 10_000
    assert (numbers == 2).all()


def test_a_path_is_a_set_of_splits():
    """A then B is B then A."""
    splits = np.array([[0, 5, -1], [5, 0, -1]], dtype=np.int32)
    counts = _core.PathCounts()
    counts.add(splits)
    codes, numbers = counts.paths()
    assert dict(zip(map(tuple, codes.tolist()), numbers.tolist()))[(0, 10, -1, -1)] == 2


@given(st.integers(1, 4), st.integers(0, 2**32), st.integers(1, 60))
def test_paths_come_in_the_order_of_the_oracle(depth, seed, n_trees):
    splits = np.random.default_rng(seed).integers(-1, 5, (n_trees, 2**depth - 1)).astype(np.int32)
    counts = _core.PathCounts()
    counts.add(splits)
    codes, numbers = counts.paths()
    expected = oracle.order_paths(codes[::-1], numbers[::-1], n_trees)
    assert np.array_equal(codes, expected.codes)
    assert np.array_equal(numbers, expected.counts)


def test_paths_are_ordered_by_frequency_then_length_then_less_sides_then_place():
    codes = np.array([[3, -1], [2, -1], [1, -1], [0, 4], [0, 3], [0, -1], [6, 8]], dtype=np.int32)
    codes = np.hstack([codes, np.full((7, 2), -1, np.int32)])
    paths = oracle.order_paths(codes, np.array([5, 5, 5, 5, 5, 2, 9]), 10)
    assert [tuple(c for c in path if c >= 0) for path in paths.codes.tolist()] == [
        (6, 8),  # more frequent
        (2,),  # then shorter, `<` before `>=`
        (1,),
        (3,),
        (0, 4),
        (0, 3),
        (0,),
    ]
    assert paths.frequencies.tolist() == [0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.2]


# -------------------------------------------------------------------------------------------------- number of trees


@settings(max_examples=60)
@given(st.lists(st.integers(1, 500), min_size=2, max_size=150), st.sampled_from([500, 1000, 20_000]))
@example([500, 500, 3], 500)
def test_expected_stability_is_the_formula_of_the_paper(counts, n_trees):
    counts = np.array(counts)
    if len(np.unique(counts)) < 2:
        return
    assert expected_stability(counts, n_trees) == pytest.approx(oracle.expected_stability(counts, n_trees), abs=1e-9)


def test_forest_grows_until_stable(machine):
    X, y = machine
    forest = forest_of(X, y).grow_until_stable(0.05)
    assert forest.n_trees % 1000 == 0
    assert oracle.expected_stability(forest.paths().counts, forest.n_trees) >= 0.95
    shorter = forest_of(X, y)
    shorter.grow(forest.n_trees - 1000)
    assert oracle.expected_stability(shorter.paths().counts, shorter.n_trees) < 0.95
    assert forest_of(X, y).grow_until_stable(0.2).n_trees < forest.n_trees


def test_progress_is_told_trees_and_stability(machine):
    seen = []
    forest_of(*machine).grow_to(2500, lambda trees, stability: seen.append((trees, stability)))
    assert [trees for trees, _ in seen] == [1000, 2000, 2500]
    assert all(0 < stability <= 1 for _, stability in seen)


def test_ctrl_c_stops_a_long_forest(interrupts):
    script = textwrap.dedent(
        """
        import numpy as np
        from pysirus import SirusRegressor
        X = np.random.default_rng(0).normal(size=(200_000, 20))
        model = SirusRegressor(n_trees=1_000_000)
        print("growing", flush=True)
        try:
            model.fit(X, X[:, 0])
        except KeyboardInterrupt:
            print("stopped", flush=True)
        """
    )
    process = subprocess.Popen(warm.python(script), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "growing\n"
        time.sleep(1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        assert time.monotonic() - start < 10  # of hours; a second where nothing else runs
    finally:
        process.kill()
        process.wait()

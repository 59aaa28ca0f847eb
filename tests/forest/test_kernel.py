"""The kernel grows the oracle's trees: split for split, with every instruction set, any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from problems import SETS, grow, grow_in_parts, make_problem, problems
from pysirus._forest.forest import poisson_thresholds
from sampled import FULL, in_turns


@settings(max_examples=300 if FULL else 100)
@given(problems(), st.sampled_from(SETS), st.integers(0, 2**40))
def test_kernel_grows_the_trees_of_the_oracle(problem, instruction_set, first_tree):
    expected = oracle.grow(problem, first_tree, 3)
    assert grow(problem, 3, first_tree, 1, instruction_set).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "weights, n_rows, n_outputs", in_turns([False, True], [1023, 1024, 1025, 3583, 3584, 3585, 7169], [0, 3])
)
def test_kernel_grows_the_trees_of_the_oracle_at_chunk_limits(weights, n_rows, n_outputs):
    recipe = {"max_depth": 3, "max_features": 2, "min_node_size": 5}
    problem = make_problem(n_rows, [10, 6, 4], missing=[1], n_outputs=n_outputs, weights=weights, **recipe)
    assert grow(problem, 2).tolist() == oracle.grow(problem, 0, 2).tolist()


@pytest.mark.parametrize("n_rows, mean", [(680, 3.0), (1950, 1.0), (2040, 1.0), (2049, 3.0), (8193, 1.0), (8193, 3.0)])
def test_kernel_grows_the_trees_of_the_oracle_where_sums_are_largest(n_rows, mean):
    """Near 2^11 drawn rows of size 2^20 a 32-bit sum is full; beyond them it must not be used."""
    problem = make_problem(n_rows, [7, 5], extreme=True, mean=mean, max_depth=2, max_features=2)
    assert grow(problem, 16)[:6].tolist() == oracle.grow(problem, 0, 6).tolist()


@pytest.mark.parametrize("n_rows", [8191, 8192, 8193, 9217])
def test_kernel_grows_the_trees_of_the_oracle_beyond_the_kept_rows(n_rows):
    problem = make_problem(n_rows, [7, 5], max_depth=3, max_features=2)
    assert grow(problem, 2).tolist() == oracle.grow(problem, 0, 2).tolist()


@pytest.mark.parametrize("n_bins, missing", in_turns([128, 200, 255], [(), (0, 1)]))
def test_kernel_grows_the_trees_of_the_oracle_with_many_bins(n_bins, missing):
    recipe = {"max_depth": 2, "max_features": 2, "min_node_size": 5}
    problem = make_problem(600, [n_bins, n_bins], missing=missing, **recipe)
    n_trees = 4 if FULL else 2
    assert grow(problem, n_trees).tolist() == oracle.grow(problem, 0, n_trees).tolist()


@pytest.mark.parametrize("n_outputs", [17, 100])
def test_kernel_grows_the_trees_of_the_oracle_with_many_classes(n_outputs):
    problem = make_problem(300, [50, 80], n_outputs=n_outputs, max_depth=2, max_features=1, min_node_size=5)
    assert grow(problem, 3).tolist() == oracle.grow(problem, 0, 3).tolist()


@pytest.mark.parametrize("n_features", [15, 16, 17, 33])
def test_kernel_grows_the_trees_of_the_oracle_with_many_features(n_features):
    recipe = {"max_depth": 4, "max_features": n_features // 3, "min_node_size": 5}
    problem = make_problem(150, [4] * n_features, missing=[2], **recipe)
    assert grow(problem, 17).tolist() == oracle.grow(problem, 0, 17).tolist()


@pytest.mark.parametrize(
    "kind, n_rows, depth",  # every pair of two of them
    in_turns(
        ["numbers", "extreme", "missing", "classes", "weights", "all", "columns"],
        [31, 506, 1024, 1536, 2048, 8192, 8193, 20_001],
        [1, 2, 3, 4],
    ),
)
def test_instruction_sets_and_threads_agree(kind, n_rows, depth):
    problem = make_problem(
        n_rows,
        [10, 3, 10, 255, 1, 10, 2],
        missing=[0, 4] if kind in ("missing", "all") else [],
        n_outputs=4 if kind in ("classes", "all") else 0,
        n_columns=3 if kind == "columns" else 0,
        weights=kind in ("weights", "all"),
        extreme=kind == "extreme",
        max_depth=depth,
        max_features=3,
        min_node_size=5,
    )
    n_trees = 70 if n_rows < 5000 else 20
    expected = grow(problem, n_trees, instruction_set="plain")
    assert (expected >= 0).any()
    for instruction_set in SETS:
        for n_threads in (1, 2, 3):
            assert np.array_equal(grow(problem, n_trees, 0, n_threads, instruction_set), expected)


SHARED = 2 * 4 * 3584  # rows from which two threads share a block of trees


@pytest.mark.parametrize(
    "kind, n_rows, n_trees, depth",
    [
        ("numbers", SHARED - 1, 70, 2),
        ("numbers", SHARED, 5, 2),
        ("all", SHARED + 1, 20, 3),
        ("columns", 45_000, 70, 2),
        ("weights", 45_000, 3, 4),
    ],
)
def test_threads_that_share_rows_grow_the_trees_of_one(kind, n_rows, n_trees, depth):
    problem = make_problem(
        n_rows,
        [10, 3, 4],
        missing=[0] if kind == "all" else [],
        n_outputs=4 if kind == "all" else 0,
        n_columns=3 if kind == "columns" else 0,
        weights=kind in ("weights", "all"),
        max_depth=depth,
        max_features=2,
        min_node_size=5,
    )
    expected = grow(problem, n_trees, 0, 1)
    assert np.array_equal(expected[:1], oracle.grow(problem, 0, 1))
    for n_threads in (2, 3, 7):
        assert np.array_equal(grow(problem, n_trees, 0, n_threads), expected)
        found = grow_in_parts(problem, [n_rows // 3], n_trees, n_threads=n_threads)
        assert np.array_equal(found, expected)


def test_trees_do_not_depend_on_the_block_they_are_grown_in():
    problem = make_problem(200, [10, 10, 10], max_depth=2, max_features=2, min_node_size=5)
    everything = grow(problem, 100)
    for first in (1, 7, 16, 31):
        assert np.array_equal(grow(problem, 20, first), everything[first : first + 20])
    assert grow(problem, 0).shape == (0, 3)


@pytest.mark.parametrize("rows, mean", in_turns([(0, 1), (5, 1023), (1024, 1999)], [3.0, 1.0]))
def test_drawn_counts_of_two_rows_show_in_the_trees(rows, mean):
    """Two rows stand apart from the rest; their node is split when both are drawn, more than min_node_size in all."""
    n_rows, n_trees = 2000, 20_000
    bins = np.zeros((1, n_rows), dtype=np.uint8)
    value = np.full(n_rows, -1_000_000, dtype=np.int32)
    bins[0, rows], value[list(rows)] = (1, 2), (500_000, 500_100)
    thresholds = poisson_thresholds(mean)
    drawn = oracle.counts_of(9, range(n_trees), rows, thresholds)
    for min_node_size in (1, 4, 7, 9, 11):
        problem = oracle.Problem(
            bins=bins,
            n_bins=np.array([3], np.int32),
            has_missing=np.zeros(1, np.uint8),
            value=value,
            thresholds=thresholds,
            seed=9,
            max_features=1,
            min_node_size=min_node_size,
        )
        expected = (drawn > 0).all(axis=1) & (drawn.sum(axis=1) > min_node_size)
        assert np.array_equal(grow(problem, n_trees)[:, 2] == 1, expected)


# ------------------------------------------------------------------------------------------------------- what splits


def test_a_node_without_gain_is_split_when_its_response_varies():
    """XOR: no cut gains anything at the root, and yet the root is split, or the rule below it is never found."""
    corners = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    problem = oracle.Problem(
        bins=np.ascontiguousarray(np.tile(corners, 50)),
        n_bins=np.array([2, 2], np.int32),
        has_missing=np.zeros(2, np.uint8),
        value=np.tile(np.array([-1000, 1000, 1000, -1000], np.int32), 50),
        thresholds=np.array([0], np.uint32),  # every row once
        max_features=2,
    )
    found = grow(problem, 20).tolist()
    assert found == oracle.grow(problem, 0, 20).tolist()
    assert {tuple(tree) for tree in found} == {(0, 1, 1), (1, 0, 0)}  # the draw decides which feature comes first


@pytest.mark.parametrize("value", [0, 1, -(2**20), 777_777])
@pytest.mark.parametrize("weights", [False, True])
def test_a_node_of_constant_response_is_not_split(value, weights):
    problem = make_problem(3000, [10, 10], weights=weights, max_features=2)
    problem.value = np.full(3000, value, dtype=np.int32)
    assert (grow(problem, 64) == -1).all()
    # constant on the left of the fifth cut alone
    other = (-(2**19) if value > 0 else 2**19) + 10_000 * problem.bins[1].astype(np.int32)
    problem.value = np.where(problem.bins[0] < 5, np.int32(value), other)
    splits = grow(problem, 64)
    assert (splits[:, 0] >= 0).all()
    at_fifth = splits[:, 0] == 4
    assert at_fifth.any()
    assert (splits[at_fifth, 1] == -1).all()
    assert (splits[at_fifth, 2] >= 0).all()


@pytest.mark.parametrize("weights", [False, True])
def test_a_pure_class_is_not_split(weights):
    problem = make_problem(500, [10, 10], n_outputs=3, weights=weights, max_depth=2, max_features=2)
    problem.class_code = np.where(problem.bins[0] < 5, 1, 1 + problem.bins[1] % 2).astype(np.uint8)
    splits = grow(problem, 64)
    assert (splits[:, 0] >= 0).all()
    assert splits.tolist() == oracle.grow(problem, 0, 64).tolist()


@pytest.mark.parametrize("n_rows, split", [(5, False), (6, True)])
def test_a_node_of_exactly_min_node_size_is_not_split(n_rows, split):
    problem = oracle.Problem(
        bins=np.arange(n_rows, dtype=np.uint8)[None, :],
        n_bins=np.array([n_rows], np.int32),
        has_missing=np.zeros(1, np.uint8),
        value=np.arange(n_rows, dtype=np.int32) * 1000,
        thresholds=np.array([0], np.uint32),
        max_depth=1,
        max_features=1,
        min_node_size=5,
    )
    assert (grow(problem, 5) >= 0).all() == split


@pytest.mark.parametrize("max_features", [2, 3])
def test_ties_between_features_are_drawn_and_within_one_the_lowest_cut_wins(max_features):
    column = np.repeat([0, 5], 20).astype(np.uint8)  # bins 1 to 4 are empty: five cuts, one split
    problem = oracle.Problem(
        bins=np.array([column, column, column]),
        n_bins=np.full(3, 6, np.int32),
        has_missing=np.zeros(3, np.uint8),
        value=np.repeat([0, 1000], 20).astype(np.int32),
        thresholds=poisson_thresholds(1.0),
        max_depth=1,
        max_features=max_features,
    )
    splits, counts = np.unique(grow(problem, 30_000)[:, 0], return_counts=True)
    assert splits.tolist() == [0, 5, 10]  # the first cut of each
    assert np.abs(counts - 10_000).max() < 4 * np.sqrt(30_000 * 2 / 9)


@pytest.mark.parametrize("n_rows, n_outputs, weights", [(40, 0, False), (40, 3, False), (500, 0, True), (500, 3, True)])
def test_a_split_and_its_mirror_tie(n_rows, n_outputs, weights):
    """However large the sums, and however they are rounded: left and right may change places."""
    recipe = {"max_depth": 2, "max_features": 2, "seed": 5}
    problem = make_problem(n_rows, [7, 7], n_outputs=n_outputs, weights=weights, **recipe)
    problem.bins[1] = 6 - problem.bins[0]
    splits = grow(problem, 20_000)
    assert splits[:50].tolist() == oracle.grow(problem, 0, 50).tolist()
    for node in range(3):
        there = splits[:, node] >= 0
        n, n_first = there.sum(), (splits[there, node] < 6).sum()
        assert abs(n_first - n / 2) < 4 * np.sqrt(n / 4)


def test_a_tie_is_drawn_for_each_node_by_itself():
    problem = make_problem(300, [7, 7], max_depth=2, max_features=2)
    problem.bins[1] = problem.bins[0]
    splits = grow(problem, 20_000)
    splits = splits[(splits >= 0).all(axis=1)] // 6  # the feature of each node
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        assert abs((splits[:, a] == splits[:, b]).mean() - 0.5) < 4 * np.sqrt(0.25 / len(splits))


@pytest.mark.parametrize("n_rows", [6, 7])
def test_ties_of_the_smallest_nodes_are_drawn(n_rows):
    """Just above min_node_size every feature may part the few rows alike."""
    problem = make_problem(n_rows, [2, 2, 2], max_depth=1, max_features=3, min_node_size=5)
    problem.thresholds = np.array([0], np.uint32)  # every row once
    problem.bins[:] = np.arange(n_rows) % 2
    problem.value = np.arange(n_rows, dtype=np.int32) * 1000
    counts = np.bincount(grow(problem, 9_000)[:, 0], minlength=3)
    assert np.abs(counts - 3_000).max() < 4 * np.sqrt(9_000 * 2 / 9)


def missing_between(low, middle, high):
    """Low values left of the only cut, high ones right of it, and missing values with a response in the middle."""
    return oracle.Problem(
        bins=np.repeat([0, 1, 2], 4).astype(np.uint8)[None, :],
        n_bins=np.array([3], np.int32),
        has_missing=np.ones(1, np.uint8),
        value=np.repeat([low, middle, high], 4).astype(np.int32)[np.r_[0:4, 8:12, 4:8]],
        thresholds=np.array([0], np.uint32),
        max_depth=1,
        max_features=1,
    )


@pytest.mark.parametrize("middle, split", [(49_999, 1), (50_000, 0), (50_001, 0), (0, 1), (100_000, 0)])
def test_missing_values_go_to_the_better_side_and_right_on_a_tie(middle, split):
    assert grow(missing_between(0, middle, 100_000), 1)[0, 0] == split


def test_missing_values_are_parted_where_that_is_best():
    assert grow(missing_between(0, 900_000, 100_000), 1)[0, 0] == 2


def test_missing_values_go_right_when_the_node_holds_none():
    problem = make_problem(100, [5], max_depth=1, max_features=1)
    with_bin = make_problem(100, [5], max_depth=1, max_features=1)
    with_bin.n_bins = problem.n_bins + 1
    with_bin.has_missing = np.ones(1, np.uint8)
    assert np.array_equal(grow(problem, 50), grow(with_bin, 50))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"max_depth": 5}, "max_depth"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_features": 3}, "max_features"),
        ({"n_outputs": 0}, "n_outputs"),
        ({"class_code": np.zeros(50, np.uint8)}, "value for numbers or class_code for classes"),
        ({"value": np.zeros(49, np.int32)}, "an entry per row"),
        ({"thresholds": np.zeros(0, np.uint32)}, "thresholds"),
    ],
)
def test_the_core_refuses_what_it_cannot_grow(change, message):
    problem = make_problem(50, [4, 4], max_features=2)
    problem.__dict__.update(change)
    with pytest.raises(ValueError, match=message):
        grow(problem)


def test_the_core_refuses_an_unknown_instruction_set():
    with pytest.raises(ValueError, match="no instruction set is called 'mmx'"):
        grow(make_problem(50, [4, 4]), instruction_set="mmx")

"""Trees on several columns of numbers: the decrease of a split is the sum over the columns, all else is as with one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from problems import SETS, grow, grow_in_parts, make_problem, problems
from sampled import FULL

# ------------------------------------------------------------------------------------------------------ worked by hand


def two_columns(first, second):
    """Four rows, each drawn once, with all cuts between them, and two columns of numbers."""
    return oracle.Problem(
        bins=np.arange(4, dtype=np.uint8)[None, :],
        n_bins=np.array([4], np.int32),
        has_missing=np.zeros(1, np.uint8),
        value=np.array([first, second], np.int32),
        n_outputs=2,
        thresholds=np.array([0], np.uint32),
        max_depth=1,
        max_features=1,
        min_node_size=0,
    )


@pytest.mark.parametrize(
    "first, second, split",
    [
        ([0, 10, 10, 10], [0, 0, 0, 0], 0),  # D^2 / (n_L n_R) of the cuts: 300, 100, 33
        ([0, 10, 10, 10], [0, 0, 0, 12], 2),  # 300 + 48, 100 + 144, 33 + 432
        ([0, 10, 10, 10], [0, 0, 0, 10], 0),  # 333, 200, 333: the lowest of equals
        ([0, 10, 10, 10], [10, 0, 0, 0], 0),
        ([0, 0, 10, 10], [0, 10, 10, 10], 1),  # 133 + 300, 400 + 100, 133 + 33
    ],
)
def test_the_decrease_is_the_sum_over_the_columns(first, second, split):
    problem = two_columns(first, second)
    for instruction_set in SETS:
        assert grow(problem, 1, instruction_set=instruction_set).tolist() == [[split]]
    assert grow_in_parts(problem, [2], 1).tolist() == [[split]]
    assert oracle.grow(problem, 0, 1).tolist() == [[split]]


# ---------------------------------------------------------------------------------------------------------- properties


@settings(max_examples=100 if FULL else 40)
@given(problems(), st.integers(0, 2**40))
def test_one_column_grows_the_trees_of_numbers(problem, first_tree):
    if problem.class_code is not None or np.ndim(problem.value) == 2:
        problem = replace(problem, class_code=None, n_outputs=1, value=problem.bins[0].astype(np.int32) * 1000)
    column = replace(problem, value=problem.value[None, :])
    assert np.array_equal(grow(column, 20, first_tree), grow(problem, 20, first_tree))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_unit_vectors_grow_the_trees_of_classes(depth, weights):
    recipe = {"max_depth": depth, "max_features": 2, "min_node_size": 5}
    classes = make_problem(700, [10, 4, 7], missing=[1], n_outputs=4, weights=weights, **recipe)
    units = replace(classes, class_code=None, value=np.eye(4, dtype=np.int32)[:, classes.class_code].copy())
    expected = grow(classes, 70)
    assert (expected >= 0).any()
    for instruction_set in SETS:
        assert np.array_equal(grow(units, 70, instruction_set=instruction_set), expected)
    # a power of two changes the scale of all decreases, and no tie
    assert np.array_equal(grow(replace(units, value=units.value << 18), 70), expected)


@pytest.mark.parametrize("weights", [False, True])
def test_copies_and_constant_columns_change_nothing(weights):
    numbers = make_problem(700, [10, 4, 7], missing=[1], weights=weights, max_depth=3, max_features=2)
    expected = grow(numbers, 70)
    for columns in ([1, 1], [1, 1, 1, 1], [1, 0], [0, 1], [0, 0, 1]):  # sums of two and four equal squares are exact
        value = np.array(columns, np.int32)[:, None] * numbers.value
        assert np.array_equal(grow(replace(numbers, value=value, n_outputs=len(columns)), 70), expected)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("n_rows", [1023, 3584, 3585, 8193])
def test_columns_grow_the_trees_of_the_oracle_at_chunk_limits(n_rows, weights):
    recipe = {"max_depth": 2, "max_features": 2, "min_node_size": 5}
    problem = make_problem(n_rows, [10, 6, 4], missing=[1], n_columns=3, weights=weights, **recipe)
    assert grow(problem, 2).tolist() == oracle.grow(problem, 0, 2).tolist()


@pytest.mark.parametrize("n_rows, mean", [(680, 3.0), (2040, 1.0), (2049, 3.0)])
def test_columns_grow_the_trees_of_the_oracle_where_sums_are_largest(n_rows, mean):
    problem = make_problem(n_rows, [7, 5], n_columns=2, extreme=True, mean=mean, max_depth=2, max_features=2)
    problem.value[1] = -problem.value[0]
    assert grow(problem, 16)[:4].tolist() == oracle.grow(problem, 0, 4).tolist()


@pytest.mark.parametrize("n_columns", [17, 256])
@pytest.mark.parametrize("weights", [False, True])
def test_many_columns_grow_the_trees_of_the_oracle(n_columns, weights):
    problem = make_problem(60, [5, 8], missing=[0], n_columns=n_columns, weights=weights, max_features=1)
    expected = oracle.grow(problem, 0, 2)
    for instruction_set in SETS:
        assert grow(problem, 2, instruction_set=instruction_set).tolist() == expected.tolist()


@pytest.mark.parametrize("depth", [2, 4])
def test_weighted_columns_with_missing_values_agree_everywhere(depth):
    recipe = {"max_depth": depth, "max_features": 3, "min_node_size": 5}
    problem = make_problem(9000, [10, 3, 10, 255, 1, 2], missing=[0, 4], n_columns=3, weights=True, **recipe)
    expected = grow(problem, 70, instruction_set="plain")
    assert (expected >= 0).any()
    for instruction_set in SETS:
        for n_threads in (1, 2):
            assert np.array_equal(grow(problem, 70, 0, n_threads, instruction_set), expected)
            found = grow_in_parts(problem, [1, 4097], 70, n_threads=n_threads, instruction_set=instruction_set)
            assert np.array_equal(found, expected)


def test_rows_of_many_columns_are_sorted_for_each_block_where_their_memory_would_not_do():
    """With 256 columns a table of 100,000 bins is not kept in order: the trees are the same."""
    problem = make_problem(10_000, [4] * 12, n_columns=256, max_depth=1, max_features=2)
    few = replace(problem, value=problem.value[[0, 255]], n_outputs=2)
    both = replace(problem, value=np.zeros_like(problem.value))
    both.value[[0, 255]] = few.value
    assert np.array_equal(grow(both, 70), grow(few, 70))


# -------------------------------------------------------------------------------------------------- constant responses


@pytest.mark.parametrize("weights", [False, True])
def test_a_node_is_constant_where_every_column_is(weights):
    problem = make_problem(3000, [10, 10], weights=weights, max_features=2)
    left, other = problem.bins[0] < 5, problem.bins[1].astype(np.int32)
    value = np.array([np.where(left, -777, 2**19 + 10_000 * other), np.where(left, 5, -other)], np.int32)
    problem.value, problem.n_outputs = value, 2
    expected = grow(problem, 64)
    at_fifth = expected[:, 0] == 4
    assert at_fifth.any()
    assert (expected[at_fifth, 1] == -1).all()
    assert (expected[at_fifth, 2] >= 0).all()
    assert np.array_equal(grow_in_parts(problem, [1000, 1001], 64, n_threads=2), expected)
    problem.value[1, left] = other[left]  # one column of the two
    varied = grow(problem, 64)
    assert (varied[varied[:, 0] == 4, 1] >= 0).all()
    assert np.array_equal(grow_in_parts(problem, [1000, 1001], 64), varied)


def test_columns_without_gain_are_split_where_one_of_them_varies():
    """XOR in the second column, a constant in the first: whole means, no gain, and yet the root is split."""
    corners = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    problem = oracle.Problem(
        bins=np.ascontiguousarray(np.tile(corners, 50)),
        n_bins=np.array([2, 2], np.int32),
        has_missing=np.zeros(2, np.uint8),
        value=np.array([[7] * 200, [-1000, 1000, 1000, -1000] * 50], np.int32),
        n_outputs=2,
        thresholds=np.array([0], np.uint32),  # every row once
        max_features=2,
    )
    expected = oracle.grow(problem, 0, 20).tolist()
    assert {tuple(tree) for tree in expected} == {(0, 1, 1), (1, 0, 0)}
    assert grow(problem, 20).tolist() == expected
    assert grow_in_parts(problem, [3, 100], 20).tolist() == expected


@pytest.mark.parametrize("n_rows", [40, 500])
def test_a_split_of_columns_and_its_mirror_tie(n_rows):
    problem = make_problem(n_rows, [7, 7], n_columns=3, weights=n_rows > 100, max_features=2, seed=5)
    problem.bins[1] = 6 - problem.bins[0]
    splits = grow(problem, 20_000)
    assert splits[:20].tolist() == oracle.grow(problem, 0, 20).tolist()
    n, n_first = (splits[:, 0] >= 0).sum(), (splits[:, 0] < 6).sum()
    assert abs(n_first - n / 2) < 4 * np.sqrt(n / 4)

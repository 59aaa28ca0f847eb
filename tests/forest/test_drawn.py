"""Trees that draw few rows are the oracle's, whole and in parts; what they draw is independent Poisson counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, poisson

import oracle
from problems import grow, grow_in_parts, make_problem, problems
from pysirus._forest.forest import MOST_BLOCK_THRESHOLDS, Recipe, poisson_thresholds
from sampled import FULL

TOO_SMALL = 1e-4  # of a p-value


def in_blocks(problem, mean):
    """The same problem, where a block of rows has this many draws on average."""
    return replace(problem, block_thresholds=poisson_thresholds(mean, MOST_BLOCK_THRESHOLDS))


@settings(max_examples=300 if FULL else 60)
@given(problems(), st.sampled_from([0.3, 3.0, 40.0, 256.0]), st.integers(0, 2**40))
def test_trees_that_draw_few_rows_are_those_of_the_oracle(problem, mean, first_tree):
    problem = in_blocks(problem, mean)
    expected = oracle.grow(problem, first_tree, 3)
    for n_threads in (1, 2):
        assert grow(problem, 3, first_tree, n_threads).tolist() == expected.tolist()


N_CLASSES = {"two classes": 2, "three classes": 3, "classes": 4, "all": 4}  # up to three share an integer


@pytest.mark.parametrize("kind", ["numbers", "extreme", "missing", "weights", "columns", *N_CLASSES])
@pytest.mark.parametrize("max_features", [2, 7])
def test_parts_of_blocks_add_up_to_the_same_trees(kind, max_features):
    problem = make_problem(
        3000,
        [10, 3, 10, 255, 1, 16, 16],
        missing=[0, 4] if kind in ("missing", "two classes", "all") else [],
        n_outputs=N_CLASSES.get(kind, 0),
        n_columns=3 if kind == "columns" else 0,
        weights=kind in ("weights", "all"),
        extreme=kind == "extreme",
        max_depth=3,
        max_features=max_features,
        min_node_size=5,
    )
    problem = in_blocks(problem, 12.0)
    expected = grow(problem, 20)
    assert (expected >= 0).any() and np.array_equal(expected[:2], oracle.grow(problem, 0, 2))
    for ends in ([1], [256], [100, 300, 301, 2999], [511, 512, 513]):
        assert np.array_equal(grow_in_parts(problem, ends, 20), expected)


def test_a_node_of_one_answer_is_left_alone_in_parts():
    problem = make_problem(2000, [4, 4], max_depth=2, max_features=2, min_node_size=1)
    problem = in_blocks(
        replace(problem, value=np.where(np.arange(2000) % 400 == 300, 1000, -1000).astype(np.int32)), 8.0
    )
    expected = oracle.grow(problem, 0, 12)
    assert {(tree >= 0).any() for tree in expected} == {False, True}  # the odd row is drawn by some trees
    assert np.array_equal(grow(problem, 12), expected)
    assert np.array_equal(grow_in_parts(problem, [701, 1500], 12), expected)


def counts(n_trees, n_rows, share, seed=3):
    limits = poisson_thresholds(256 * share, MOST_BLOCK_THRESHOLDS)
    return oracle.counts_in_blocks(seed, range(n_trees), n_rows, limits)


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_counts_of_rows_are_poisson(share):
    drawn = counts(60, 2000, share)
    top = 3
    observed = np.bincount(np.minimum(drawn, top).ravel(), minlength=top + 1)
    expected = drawn.size * np.append(poisson.pmf(np.arange(top), share), poisson.sf(top - 1, share))
    few = expected >= 5
    merged = [np.append(array[few], array[~few].sum()) for array in (observed, expected)]
    keep = merged[1] > 0
    assert chisquare(merged[0][keep], merged[1][keep]).pvalue > TOO_SMALL


def test_every_row_of_a_block_is_drawn_alike():
    drawn = counts(400, 512, 0.5)
    assert chisquare(drawn.sum(axis=0)).pvalue > TOO_SMALL
    inside, between = (np.corrcoef(drawn[:, i], drawn[:, j])[0, 1] for i, j in ((3, 200), (3, 300)))
    assert abs(inside) < 0.2 and abs(between) < 0.2


@pytest.mark.parametrize("lag", [1, 8, 255, 256])
def test_rows_and_trees_are_drawn_independently(lag):
    drawn = (counts(200, 1500, 0.4) > 0).astype(float)
    p = 1 - np.exp(-0.4)
    for one, other in ((drawn[:, :-lag], drawn[:, lag:]), (drawn[:-1, lag:], drawn[1:, lag:])):
        z = ((one - p) * (other - p)).sum() / (p * (1 - p) * np.sqrt(one.size))
        assert abs(z) < 4


def test_no_more_rows_are_drawn_than_the_most():
    share = Recipe(seed=1, max_samples=0.3, most_drawn=300)
    assert share.on(1_000) is share and not len(share.block_thresholds)
    recipe = share.on(10_000)
    assert recipe.in_blocks and recipe.max_samples == 0.03 and recipe.on(10_000) is recipe
    drawn = oracle.counts_in_blocks(1, range(30), 10_000, recipe.block_thresholds)
    assert abs(drawn.sum() / 30 - 300) < 4 * np.sqrt(300 / 30)


def test_blocks_draw_only_where_that_is_faster():
    recipe = Recipe(seed=1, most_drawn=300)
    assert recipe.on(1_201).in_blocks and not recipe.on(1_200).in_blocks
    assert recipe.on(1_200).max_samples == 0.25


def test_thresholds_of_blocks_reach_the_end_of_the_distribution():
    for mean in (0.01, 3.0, 77.0, 256.0):
        limits = poisson_thresholds(mean, MOST_BLOCK_THRESHOLDS)
        assert len(limits) < MOST_BLOCK_THRESHOLDS and poisson.sf(len(limits), mean) < 2.0**-31

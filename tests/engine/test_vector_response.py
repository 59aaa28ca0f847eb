"""Rows that answer with a vector each: one scale, the same forest and the same moments in parts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from in_memory import MemoryShards
from pysirus._bins.cuts import Binned, bin_table
from pysirus._data.table import read_table
from pysirus._families.responses import IntegerRows, NumberResponse, VectorResponse
from pysirus._forest.forest import Forest, Recipe
from pysirus._terms.rule import rules_of
from pysirus._weights.moments import moment_sums, rule_moments, rule_tables
from pysirus.engine.backends.files import Scratch
from pysirus.engine.shard import RuleMoments, Shard, ShardForest


def make_table(n_rows=400, weights=False, seed=0):
    """A table in bins, and residuals of three classes as its response."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    X.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    shares = rng.dirichlet([2, 1, 1], n_rows)
    values = np.eye(3)[(X["a"] > 0).astype(int) + (X["c"] > 0.5)] - shares
    response = VectorResponse(values, weights=rng.exponential(size=n_rows) if weights else None, labels=("x", "y", "z"))
    return bin_table(read_table(X), response, n_bins=10, discrete_limit=10), response


def shards_of(binned, response, limits):
    begins, ends = [0, *limits], [*limits, response.n_rows]
    whole = replace(response, part_of=response.scale)
    return [
        Shard(np.ascontiguousarray(binned.bins[:, a:b]), whole.take(np.arange(a, b)), a) for a, b in zip(begins, ends)
    ]


def test_columns_share_one_scale():
    response = VectorResponse(np.array([[-4.0, 1.0], [0.0, 2.0], [4.0, 1.5]]), labels=("no", "yes"))
    assert response.n_outputs == 2
    assert response.n_rows == 3
    assert response.range == (-4.0, 4.0)
    assert response.forest_arrays()[0].tolist() == [[-(2**19), 0, 2**19], [2**17, 2**18, 3 * 2**16]]
    assert response.moment_arrays()[0].tolist() == [[-(2**43), 0, 2**43], [2**41, 2**42, 3 * 2**40]]
    assert (response.forest_arrays()[1], response.moment_arrays()[1]) == (None, None)
    assert response.output(np.array([0.25, -0.5])) == (0.25, -0.5)
    part = response.take(np.array([2, 0]))
    assert part.values.tolist() == [[4.0, 1.5], [-4.0, 1.0]]
    assert part.labels == ("no", "yes")
    assert VectorResponse(np.zeros((2, 2))).labels is None


def test_a_response_is_constant_where_every_row_answers_the_same_vector():
    assert VectorResponse(np.array([[1.0, 2.0], [1.0, 2.0]])).is_constant
    assert not VectorResponse(np.array([[1.0, 2.0], [1.0, 3.0]])).is_constant


@pytest.mark.parametrize("weights", [False, True])
def test_a_forest_of_vectors_is_the_same_in_parts(weights, tmp_path):
    binned, response = make_table(weights=weights)
    recipe = Recipe(seed=3, max_depth=3)
    expected = Forest(binned, response, recipe).grow(100)
    assert (expected >= 0).any()
    shards = shards_of(binned, response, [1, 150, 150])
    scratch = Scratch(tmp_path)
    for shard in shards:
        scratch.write(shard)
    for holder in (MemoryShards(shards), scratch):
        forest = ShardForest(holder, Binned(binned.bins[:, :0], binned.cuts), response, recipe, 1 << 20)
        assert np.array_equal(forest.grow(100), expected)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_lines_win_the_same_trees_in_parts(weights, in_blocks, tmp_path):
    binned, response = make_table(weights=weights)
    lines = tuple(np.linspace(-30_000, 30_000, n).astype(np.int16) for n in binned.n_bins)
    recipe = Recipe(seed=3, lines=lines, max_samples=0.3 if in_blocks else 1.0, in_blocks=in_blocks)
    forest = Forest(binned, response, recipe)
    forest.grow(200)
    expected = forest.paths().lines
    assert 0 < expected.sum() < 200
    shards = shards_of(binned, response, [1, 150, 150])
    scratch = Scratch(tmp_path)
    for shard in shards:
        scratch.write(shard)
    for holder in (MemoryShards(shards), scratch):
        forest = ShardForest(holder, Binned(binned.bins[:, :0], binned.cuts), response, recipe, 1)  # 64 trees a pass
        forest.grow(200)
        assert np.array_equal(forest.paths().lines, expected)


def test_a_forest_of_one_column_is_that_of_numbers():
    binned, response = make_table()
    first = response.values[:, 0]
    one, numbers = VectorResponse(first[:, None]), NumberResponse(first)
    recipe = Recipe(seed=3)
    assert np.array_equal(Forest(binned, one, recipe).grow(100), Forest(binned, numbers, recipe).grow(100))


@pytest.mark.parametrize("weights", [False, True])
def test_moments_of_vectors_are_means_of_their_columns(weights):
    binned, response = make_table(weights=weights)
    forest = Forest(binned, response, Recipe(seed=3))
    forest.grow(200)
    rules = rules_of(forest.paths(), range(6), binned)
    moments = rule_moments(rules, binned, response, 1)
    mean = moments.y_sum.sum(axis=0) / moments.fold_weight.sum() + moments.centre
    np.testing.assert_allclose(
        mean, np.average(response.values, axis=0, weights=response.weights), rtol=1e-6, atol=1e-9
    )
    features, tables = rule_tables(rules, binned)
    inside = np.bitwise_and.reduce(tables[np.arange(len(features))[:, None], binned.bins[features], 0], axis=0)
    for r in range(len(rules)):
        rows = (inside >> np.uint64(r) & np.uint64(1)).astype(bool)
        mean = moments.rule_y_sum.sum(axis=0)[r] / moments.pair_weight.sum(axis=0)[r, r] + moments.centre
        expected = np.average(response.values[rows], axis=0, weights=None if not weights else response.weights[rows])
        np.testing.assert_allclose(mean, expected, rtol=1e-6, atol=1e-9)
    parts = [RuleMoments(rules, binned, 1)(shard) for shard in shards_of(binned, response, [7, 300])]
    total, whole = parts[0] + parts[1] + parts[2], moment_sums(rules, binned, response, 1)
    for name, array in whole.arrays.items():
        assert np.array_equal(total.arrays[name], array), name


def test_groups_of_vectors_add_up_column_by_column():
    _, response = make_table(weights=True)
    groups = np.arange(response.n_rows) % 5
    sizes, sums = IntegerRows(response).sums(groups, 5)
    for k in range(3):
        one = replace(response, values=response.values[:, [k]], part_of=response.scale)
        assert (IntegerRows(one).sums(groups, 5)[1][:, 0] == sums[:, k]).all()
    means = (
        sums.astype(float) / sizes[:, None] * 2.0 ** -response.moment_scale().exponent + response.moment_scale().centre
    )
    for g in range(5):
        expected = np.average(response.values[groups == g], axis=0, weights=response.weights[groups == g])
        np.testing.assert_allclose(means[g], expected, rtol=1e-6, atol=1e-9)

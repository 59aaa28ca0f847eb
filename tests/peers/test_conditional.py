"""Conditional inference trees: which column is split and where, when a node stays whole, what RuleFit makes of them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from pysirus import NodeHarvestRegressor, RuleFitRegressor
from pysirus._data.table import read_table
from pysirus._families.responses import NumberResponse
from pysirus._peers.tree_based import ConditionalTrees, Growing, TreeTraining
from pysirus._peers.trees import code_table
from pysirus.datasets import load_ozone


def training_of(X, y):
    table, response = read_table(pd.DataFrame(X)), NumberResponse(np.asarray(y, dtype=float))
    coded = code_table(table, response, n_bins=None, discrete_limit=10)
    return TreeTraining(table, coded, np.asarray(y, dtype=float), response.row_weights(), 0, "y")


def grow(X, y, **growing):
    training = training_of(X, y)
    trees = ConditionalTrees(training, Growing(**{"max_depth": 3, "min_leaf": 2, "min_split": 4, **growing}))
    return trees.grow(training.y, np.arange(len(y)))


def test_a_step_is_cut_where_it_is_by_hand():
    x = np.arange(12.0)
    y = np.where(x < 5, 1.0, 3.0)
    nodes, predicted = grow({"a": x, "b": np.tile([0.0, 1.0, 2.0], 4)}, y, max_depth=1)
    assert [(side.feature, side.cut, side.less) for (side,) in nodes] == [(0, 4, True), (0, 4, False)]
    assert predicted == pytest.approx(y)


def test_the_association_decides_and_not_the_number_of_cuts():
    rng = np.random.default_rng(0)
    few, many = rng.integers(0, 2, 200).astype(float), rng.normal(size=200)
    y = 0.5 * few + rng.normal(size=200)
    share = {name: np.corrcoef(x, y)[0, 1] ** 2 for name, x in {"many": many, "few": few}.items()}
    chance = {name: 1 - (1 - chi2.sf(199 * r2, 1)) ** 2 for name, r2 in share.items()}
    assert chance["few"] < 0.05 < chance["many"]
    nodes, _ = grow({"many": many, "few": few}, y, max_depth=1)
    assert {side.feature for (side,) in nodes} == {1}


def test_categories_are_tested_by_their_means():
    rng = np.random.default_rng(1)
    group = np.repeat(["u", "v", "w"], 20)
    y = np.where(group == "v", 2.0, 0.0) + 0.1 * rng.normal(size=60)  # no line in the order of the alphabet
    nodes, predicted = grow({"noise": rng.normal(size=60), "group": group}, y, max_depth=1)
    assert {side.feature for (side,) in nodes} == {1} and np.corrcoef(predicted, y)[0, 1] > 0.99


def test_noise_is_split_in_about_one_table_of_twenty():
    rng = np.random.default_rng(2)
    split = sum(bool(grow(rng.normal(size=(60, 5)), rng.normal(size=60))[0]) for _ in range(200))
    assert 1 <= split <= 22  # 10 expected


def test_small_nodes_stay_whole_and_leaves_are_large_enough():
    x = np.arange(30.0)
    assert grow({"a": x}, x, min_split=31)[0] == []
    nodes, _ = grow({"a": x}, x, min_leaf=7)
    training = training_of({"a": x}, x)
    for node in nodes:
        inside = np.ones(30, dtype=bool)
        for side in node:
            inside &= (training.coded.codes[:, side.feature] <= side.cut) == side.less
        assert inside.sum() >= 7


def test_missing_values_follow_the_larger_side():
    x = np.arange(20.0)
    x[[2, 19]] = np.nan
    nodes, predicted = grow({"a": x}, np.where(np.nan_to_num(x, nan=1.0) < 15, 0.0, 5.0), max_depth=1)
    assert all(side.missing_left for (side,) in nodes) and predicted[2] == predicted[0]


def test_rulefit_with_conditional_trees_is_shorter_and_explains_as_much():
    X, y = load_ozone(return_X_y=True, as_frame=True)
    given = {"n_trees": 100, "n_bins": 10, "random_state": 0}
    cart, conditional = (RuleFitRegressor(trees=trees, **given).fit(X, y) for trees in ("cart", "conditional"))
    assert len(conditional.rules_) < len(cart.rules_) and conditional.score(X, y) > cart.score(X, y) - 0.05
    assert max(len(rule.conditions) for rule in conditional.candidates_) <= 3


@pytest.mark.parametrize("n_rules", [1, 6])
def test_a_number_of_rules_is_kept(n_rules):
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = RuleFitRegressor(trees="conditional", n_trees=60, n_bins=10, n_rules=n_rules, random_state=0).fit(X, y)
    assert 1 <= len(model.rules_) <= n_rules
    # least squares: what is left is orthogonal to every rule
    left = np.asarray(y) - model.predict(X)
    table = model.model_.align(X)
    assert all(abs(left[rule.holds(table)].sum()) < 1e-6 for rule in model.rules_)


def test_node_harvest_keeps_heavy_nodes():
    pytest.importorskip("piqp", reason="pip install pysirus[compare]")
    X, y = load_ozone(return_X_y=True, as_frame=True)
    every = NodeHarvestRegressor(n_nodes=200, n_bins=10, random_state=0).fit(X, y)
    weights = sorted((rule.weight for rule in every.rules_), reverse=True)
    heavy = NodeHarvestRegressor(n_nodes=200, n_bins=10, min_weight=0.05, random_state=0).fit(X, y)
    assert sorted((rule.weight for rule in heavy.rules_), reverse=True) == [w for w in weights if w >= 0.05]
    few = NodeHarvestRegressor(n_nodes=200, n_bins=10, n_rules=5, random_state=0).fit(X, y)
    assert sorted((rule.weight for rule in few.rules_), reverse=True) == weights[:5]

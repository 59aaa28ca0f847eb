"""Tables into codes, trees into rules: by hand, then that a rule holds just where its node does."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from pysirus._data.table import read_table
from pysirus._families.responses import NumberResponse
from pysirus._forest.forest import SplitSide
from pysirus._peers.trees import code_table, distinct_nodes, membership, node_key, nodes_of


def coded_of(frame, y, n_bins=None):
    return code_table(read_table(frame), NumberResponse(np.asarray(y, float)), n_bins=n_bins, discrete_limit=10)


def some_table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 4, n).astype(float),
            "c": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "d": rng.choice(["x", "y", "z"], n),
        }
    )
    y = frame["a"] + 2 * (frame["d"] == "y") + np.where(frame["c"].isna(), 3, 0) + 0.1 * rng.normal(size=n)
    return frame, y.to_numpy()


def test_code_table_counts_the_cuts_at_or_below():
    coded = coded_of(pd.DataFrame({"a": [1.0, 2.0, 4.0, 2.0]}), [0, 1, 2, 3])
    assert coded.cuts[0].thresholds.tolist() == [1.5, 3.0]
    assert coded.cuts[0].identities == (("value", 1.5), ("value", 3.0))
    assert coded.codes[:, 0].tolist() == [0, 1, 2, 1]


def test_code_table_cuts_between_neighbours_that_have_no_midpoint():
    low = 1.0
    high = np.nextafter(low, 2)
    coded = coded_of(pd.DataFrame({"a": [low, high]}), [0, 1])
    assert low < coded.cuts[0].thresholds[0] <= high
    assert coded.codes[:, 0].tolist() == [0, 1]


def test_code_table_on_quantiles_has_their_identities():
    frame, y = some_table()
    coded = coded_of(frame, y, n_bins=10)
    assert coded.cuts[0].identities == tuple(("quantile", i) for i in range(1, 10))
    assert coded.cuts[1].identities == (("value", 1.0), ("value", 2.0), ("value", 3.0))
    assert np.isnan(coded.codes[:, 2]).tolist() == frame["c"].isna().tolist()


def test_node_key_merges_splits_of_one_feature():
    frame, y = some_table()
    cuts = coded_of(frame, y).cuts
    node = (SplitSide(0, 5, True, False), SplitSide(0, 3, True, False), SplitSide(0, 1, False, False))
    assert node_key(node, cuts) == ((0, 1, 3, False, True),)


@pytest.mark.parametrize("n_bins", [None, 10])
def test_rules_hold_where_their_nodes_do(n_bins):
    frame, y = some_table()
    coded = coded_of(frame, y, n_bins)
    tree = DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(coded.codes, y)
    nodes = nodes_of(tree.tree_)
    assert len(nodes) == tree.tree_.node_count - 1
    inside = membership([node_key(node, coded.cuts) for node in nodes], coded)
    # scikit-learn's own answer, node by node; sizes tell the order apart
    theirs = tree.decision_path(coded.codes).toarray().astype(bool)[:, 1:]
    assert sorted(map(bytes, np.packbits(inside, axis=0).T)) == sorted(map(bytes, np.packbits(theirs, axis=0).T))
    candidates = distinct_nodes([nodes], coded, complements=False)
    table = read_table(frame)
    for rule, rows in zip(candidates.rules(coded), candidates.inside.T):
        assert (rule.holds(table) == rows).all(), str(rule)


def test_distinct_nodes_keep_one_of_duplicates_and_complements():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 2.0, 3.0, 4.0]})
    coded = coded_of(frame, [0, 0, 1, 1])
    less, more = (SplitSide(0, 1, True, False),), (SplitSide(0, 1, False, False),)
    same_rows = (SplitSide(1, 1, True, False),)
    trees = [[less, more], [less, more], [same_rows]]
    both = distinct_nodes(trees, coded, complements=False)
    assert both.nodes == [less, more]
    assert both.frequencies.tolist() == [2 / 3, 2 / 3]
    assert distinct_nodes(trees, coded, complements=True).nodes == [less]


def test_trees_do_not_see_a_monotone_map():
    frame, y = some_table()
    mapped = frame.assign(a=np.exp(3 * frame["a"]))
    assert np.array_equal(coded_of(frame, y).codes, coded_of(mapped, y).codes, equal_nan=True)


@pytest.mark.parametrize(
    "estimator, few", [("RuleFitRegressor", {"n_trees": 60}), ("NodeHarvestRegressor", {"n_nodes": 300})]
)
def test_trees_know_missing_values(estimator, few):
    import pysirus

    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 4))
    y = X[:, 0] * 2 + (X[:, 1] > 0) * 2 + rng.normal(size=400) * 0.5
    X[rng.random((400, 4)) < 0.2] = np.nan
    model = getattr(pysirus, estimator)(random_state=0, **few).fit(X, y)
    # a tree that takes NaN for a number splits at NaN, which reads "known or missing": no condition at all
    assert not any(split.op == "known" and split.missing for rule in model.selected_ for split in rule.path)

"""The order of columns does not matter: path frequencies in another order differ no more than those of two seeds."""

from functools import cache

import numpy as np
import pytest

from given import read_dataset
from oracle import rms_z
from pysirus import SirusRegressor
from sampled import in_turns

N_TREES = 50_000
DATASETS = ["housing", "prostate", "machine", "ozone", "mpg", "diabetes"]


def frequencies(X, y, seed):
    model = SirusRegressor(n_trees=N_TREES, random_state=seed, n_jobs=2).fit(X, y)
    return {
        frozenset((s.feature, s.op, s.cut, s.missing) for s in rule.path): rule.frequency for rule in model.candidates_
    }


@cache
def as_given(name):
    """The frequencies of a dataset as it is, for both orders to be held against."""
    return frequencies(*read_dataset(name), 1)


def in_order(X, order):
    columns = list(X.columns)
    if order == "reversed":
        return X[columns[::-1]]
    return X[np.random.default_rng(len(columns)).permutation(columns)]


@pytest.mark.parametrize("name, order", in_turns(DATASETS, ["reversed", "shuffled"]))
def test_the_order_of_columns_moves_frequencies_no_more_than_a_seed(name, order):
    X, y = read_dataset(name)
    assert rms_z(as_given(name), frequencies(in_order(X, order), y, 2), N_TREES) <= 1.25

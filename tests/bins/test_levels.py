"""The order of levels: by mean response, by the share of the second class, by a principal component of class shares."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV
from pysirus._bins.cuts import find_cuts
from pysirus._data.table import read_table
from pysirus._families.of_model import ClassShares
from pysirus._families.responses import IntegerRows, NumberResponse


def class_response(labels, weights):
    return ClassShares().read(labels, weights, len(labels))


def order_of(labels, response, dtype=None):
    column = read_table(pd.DataFrame({"c": pd.Series(labels, dtype=dtype)})).columns[0]
    return find_cuts(column, IntegerRows(response), 10, 10).levels


def test_levels_are_in_order_of_their_mean_response():
    labels = ["a", "b", "c", "a", "b", "c"]
    assert order_of(labels, NumberResponse(np.array([5.0, 1, 3, 5, 2, 3]))) == ("b", "c", "a")
    heavy = NumberResponse(np.array([5.0, 1, 3, 0, 9, 3]), weights=np.array([1.0, 1, 1, 9, 9, 1]))
    assert order_of(labels, heavy) == ("a", "c", "b")


def test_equal_means_are_in_order_of_their_levels():
    y = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.2, 0.2, 0.2])  # sums that differ in the last bit
    assert order_of(list("bbbcccaaa"), NumberResponse(y)) == ("a", "b", "c")


def test_two_classes_order_levels_by_the_share_of_the_second():
    assert order_of(list("aabbcc"), class_response(np.array([1, 1, 0, 0, 0, 1]), None)) == ("b", "c", "a")


@given(st.integers(0, 2**32 - 1))
def test_several_classes_order_levels_by_their_first_principal_component(seed):
    rng = np.random.default_rng(seed)
    codes, slots, weights = rng.integers(0, 6, 90), rng.integers(0, 4, 90), rng.integers(1, 4, 90)
    labels = np.array(list("abcdef"))[codes]
    levels = order_of(labels, class_response(slots, weights.astype(float)))
    size = np.bincount(codes, weights, 6)
    shares = np.stack([np.bincount(codes, weights * (slots == k), 6) for k in range(4)], axis=1)
    seen = size > 0
    shares, size = shares[seen] / size[seen, None], size[seen]
    rows = (shares - np.average(shares, axis=0, weights=size)) * np.sqrt(size)[:, None]
    axis = np.linalg.svd(rows)[2][0]
    score = shares @ (axis * np.sign(axis[0]))
    expected = [level for _, level in sorted(zip(score, np.array(list("abcdef"))[seen]))]
    assert list(levels) == expected


def test_the_first_class_rises_along_the_levels():
    labels = ["a"] * 10 + ["b"] * 10 + ["c"] * 10
    slots = np.array([0] * 9 + [1] + [0] * 5 + [1] * 5 + [1] * 5 + [2] * 5)
    assert order_of(labels, class_response(slots, None)) == ("c", "b", "a")


@pytest.mark.parametrize("scale", [1, 3, 7, 1 / 3, 1e-300])
def test_pure_levels_of_equal_size_are_in_one_order_at_any_scale(scale):
    labels, slots = ["c", "b", "a", "d"] * 5, np.array([1, 2, 0, 3] * 5)
    # every direction is as good: the one in which the first class rises most, and the others tie
    assert order_of(labels, class_response(slots, np.full(20, scale))) == ("b", "c", "d", "a")


@pytest.mark.parametrize("scale", range(1, 12))
def test_where_the_first_class_does_not_move_the_second_rises(scale):
    cells = {"a": (5, 5, 0), "b": (5, 0, 5), "c": (7, 4, 3), "d": (11, 2, 9)}
    rows = [(level, slot) for level, row in cells.items() for slot, size in enumerate(row) for _ in range(size)]
    labels, slots = zip(*rows)
    response = class_response(np.array(slots), np.full(len(rows), float(scale)))
    assert order_of(labels, response) == ("b", "d", "c", "a")


def test_one_level_makes_no_cut():
    assert order_of(["a"] * 4, NumberResponse(np.arange(4.0))) == ("a",)
    with pytest.warns(UserWarning, match="every column is constant"):
        model = SirusRegressor().fit(pd.DataFrame({"c": ["a"] * 20}), np.arange(20.0))
    assert model.idle_columns_ == {"c": "constant"}
    assert model.predict(pd.DataFrame({"c": ["a"]})) == pytest.approx(9.5)


def test_missing_values_are_no_level():
    labels = ["b", None, "a", "b", None, "a"]
    assert order_of(labels, NumberResponse(np.arange(6.0)), dtype=object) == ("b", "a")


# ------------------------------------------------------------------------------------------------- tuning on tables


@pytest.mark.parametrize("kind", [SirusRegressorCV, SirusClassifierCV])
def test_tuning_takes_any_table_groups_and_weights(kind, rng):
    """A level may be in one fold alone; rows of no weight take their group with them."""
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(160) < 0.1, np.nan, rng.random(160)),
            "rare": ["only once" if i == 3 else "often" if i % 2 else "else" for i in range(160)],
        }
    )
    y = (X["x"].fillna(0.9) > 0.5).astype(int).to_numpy()
    groups, weights = np.arange(160) // 8, rng.integers(0, 3, 160)
    settings = {"cv": 4, "n_repeats": 1, "n_trees": 100, "random_state": 0}
    model = kind(**settings).fit(X, y, sample_weight=weights, groups=groups)
    rows = weights > 0
    deleted = kind(**settings).fit(X[rows], y[rows], sample_weight=weights[rows], groups=groups[rows])
    np.testing.assert_array_equal(model.path_.error, deleted.path_.error)
    assert str(model) == str(deleted)
    assert model.cv_error_ < 0.2


def test_classes_grow_the_same_on_any_number_of_threads(rng):
    X, y = rng.random((300, 4)), rng.integers(0, 5, 300)
    one, two = (SirusClassifier(n_trees=200, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert str(one) == str(two)

"""Bad input: each has an error that names what was found, and what to do. Edge cases that are no errors warn."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pysirus import DataError, SirusRegressor
from pysirus._parameters import ParameterError


@pytest.fixture
def table(rng):
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    return X, X["a"] + 0.1 * rng.normal(size=60)


def fit(X, y, **parameters):
    return SirusRegressor(**{"n_trees": 100, "random_state": 0, **parameters}).fit(X, y)


# ------------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("X", [np.zeros((0, 3)), pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), []])
def test_an_empty_table(X):
    with pytest.raises(ValueError, match=r"0 sample|0 row|Expected 2D|no columns"):
        fit(X, [])


def test_a_table_without_columns():
    with pytest.raises(DataError, match="no columns"):
        fit(np.zeros((5, 0)), np.arange(5))


def test_one_row():
    with pytest.raises(DataError, match=r"1 row\(s\), while a minimum of 2 is required"):
        fit([[1.0, 2.0]], [1.0])


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_in_a_feature_names_its_column_and_row(table, bad):
    X, y = table
    X.loc[7, "b"] = bad
    with pytest.raises(DataError, match=r"Column 'b' contains infinity .* row 7"):
        fit(X, y)
    with pytest.raises(DataError, match="Column 'x1' contains infinity"):
        fit(X.to_numpy(), y)
    model = fit(X.drop(7), y.drop(7))
    with pytest.raises(DataError, match="Column 'b' contains infinity"):
        model.predict(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_no_number_in_the_response_names_its_row(table, bad):
    X, y = table
    y[9] = bad
    with pytest.raises(DataError, match=r"y contains NaN or infinity: .* in row 9"):
        fit(X, y)


def test_a_missing_response(table):
    with pytest.raises(ValueError, match="requires y to be passed"):
        fit(table[0], None)


def test_a_response_of_text(table):
    with pytest.raises(DataError, match="y must be numbers, found 'yes'"):
        fit(table[0], np.array(["yes", "no"] * 30))


def test_a_response_of_another_length(table):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(table[0], table[1][:-1])


def test_a_response_of_two_columns(table):
    with pytest.raises(ValueError, match="1d array"):
        fit(table[0], table[0].iloc[:, :2])


@pytest.mark.parametrize("scale", [1.7e308, 1e200, 1e-200, 5e-324])
def test_a_response_whose_squares_overflow_or_vanish(table, scale):
    X, y = table
    with pytest.raises(DataError, match=r"The range of y is .*: its squares .* Rescale it"):
        fit(X, np.where(y > 0, scale, -scale))


def test_duplicate_column_names(table):
    X, y = table
    X.columns = ["a", "b", "a"]
    with pytest.raises(ValueError, match=r"'a'.*more than once|unique"):
        fit(X, y)


def test_column_names_that_are_no_text(table):
    X, y = table
    with pytest.raises((DataError, TypeError), match=r"must be text|string"):
        fit(X.rename(columns={"a": 3}), y)


def test_text_in_a_numeric_column(table):
    X, y = table
    X = X.astype(object)
    X.loc[5, "b"] = "n/a"
    with pytest.raises(DataError, match="Column 'b'"):
        fit(X, y)
    strings = X.astype(str)
    strings.loc[5, "b"] = "n/a"
    with pytest.raises(DataError, match=r"Column '[abc]' holds numbers"):
        fit(strings, y)
    with pytest.raises(DataError, match=r"Column 'x1' holds text \('n/a' in row 5\)"):
        fit(X.to_numpy(), y)


def test_dates(table):
    X, y = table
    X["b"] = pd.date_range("2020-01-01", periods=60)
    with pytest.raises(DataError, match="Column 'b' holds dates or times"):
        fit(X, y)


def test_three_dimensions():
    with pytest.raises(ValueError, match="dim"):
        fit(np.zeros((4, 3, 2)), np.arange(4))


# ------------------------------------------------------------------------------------------------------------ predict


def test_a_wrong_number_of_columns_at_predict(table):
    model = fit(table[0].to_numpy(), table[1])
    with pytest.raises(DataError, match="X has 2 features, but SirusRegressor is expecting 3 features"):
        model.predict(np.zeros((4, 2)))


def test_wrong_names_at_predict(table):
    X, y = table
    model = fit(X, y)
    with pytest.raises(DataError, match=r"(?s)unseen at fit time:\n- d.*yet now missing:\n- c"):
        model.predict(X.rename(columns={"c": "d"}))
    with pytest.raises(DataError, match=r"(?s)yet now missing:\n- b"):
        model.predict(X[["a", "c"]])


def test_labels_at_predict_where_training_had_numbers(table):
    X, y = table
    model = fit(X, y)
    with pytest.raises(DataError, match="Column 'b' was numeric in training, now it holds labels such as 'blue'"):
        model.predict(X.assign(b="blue"))


def test_an_empty_table_at_predict(table):
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        fit(*table).predict(table[0].iloc[:0])


def test_one_row_can_be_predicted(table):
    assert fit(*table).predict(table[0].iloc[:1]).shape == (1,)


# --------------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("n_rules", 0, "n_rules must be a whole number of at least 1, got 0"),
        ("n_rules", 2.5, "n_rules must be a whole number"),
        ("n_rules", True, "n_rules must be a whole number"),
        ("max_rules", 0, "max_rules must be"),
        ("p0", 2, "p0 must be a number between 0 and 1"),
        ("p0", 0, "p0 must be"),
        ("p0", float("nan"), "p0 must be"),
        ("p0", "high", "p0 must be .* got 'high'"),
        ("n_bins", 1, "n_bins must be a whole number from 2 to 255, got 1"),
        ("n_bins", 256, "n_bins must be"),
        ("max_depth", 5, "max_depth must be a whole number from 1 to 4, got 5"),
        ("max_depth", 0, "max_depth must be"),
        ("max_features", 0, "max_features must be"),
        ("max_features", 4, r"max_features must be at most the number of columns \(3\), got 4"),
        ("n_trees", 0, "n_trees"),
        ("n_trees", "many", "n_trees .*'auto'.* got 'many'"),
        ("alpha", 0, "alpha must be"),
        ("alpha", 1.0, "alpha must be"),
        ("discrete_limit", 0, "discrete_limit must be"),
        ("min_node_size", 0, "min_node_size must be"),
        ("min_node_size", 2**31, "min_node_size must be a whole number from 1 to 2147483647"),
        ("max_samples", 0, "max_samples must be"),
        ("max_samples", 1.5, "max_samples must be"),
        ("max_samples", True, "max_samples must be"),
        ("n_jobs", 0, r"n_jobs must be a whole number other than 0 \(-1: all cores\) or None, got 0"),
        ("n_jobs", "two", "n_jobs must be .* got 'two'"),
        ("random_state", "lucky", "random_state must be"),
        ("random_state", -1, "random_state must be"),
    ],
)
def test_a_parameter_that_cannot_be_used(table, name, value, message):
    with pytest.raises(ParameterError, match=message) as caught:
        fit(*table, **{name: value})
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name, value", [("n_rules", 0), ("p0", 2)])
def test_parameters_are_checked_before_the_forest_grows(table, name, value, monkeypatch):
    def grow(*args):
        raise AssertionError("the forest was grown first")

    monkeypatch.setattr("pysirus._forest.forest.Forest.grow", grow)
    with pytest.raises(ParameterError, match=name):
        fit(*table, **{name: value})


@pytest.mark.parametrize(
    "weights, message",
    [
        (np.full(60, -1.0), "negative weight: -1.0 in row 0"),
        (np.full(60, np.nan), "NaN or infinity"),
        (np.zeros(60), "zero for every row"),
        (np.ones(59), "has 59 entries, the table has 60 rows"),
        (np.ones((60, 2)), "must be 1D"),
        (2.0, "one weight per row"),
    ],
)
def test_weights_that_cannot_be_used(table, weights, message):
    with pytest.raises(DataError, match=message):
        SirusRegressor(n_trees=100).fit(*table, sample_weight=weights)


def test_all_rows_but_one_of_weight_zero(table):
    weights = np.zeros(60)
    weights[4] = 1.0
    with pytest.raises(DataError, match=r"1 row\(s\).*59 rows of weight zero do not count"):
        SirusRegressor(n_trees=100).fit(*table, sample_weight=weights)


# --------------------------------------------------------------------------------------------------- nothing to split


def test_a_constant_feature_is_never_split_on(table):
    X, y = table
    model = fit(X.assign(b=1.0), y, n_rules=25)
    assert all(c.feature != "b" for rule in model.candidates_ for c in rule.conditions)


@pytest.mark.parametrize(
    "X, y, reason",
    [
        (np.arange(20.0)[:, None], np.full(20, 3.5), "the target is constant"),
        (np.ones((20, 2)), np.arange(20.0), "every column is constant"),
        (np.arange(3.0)[:, None], np.arange(3.0), r"no node has more than min_node_size \(5\) rows"),
    ],
)
def test_nothing_to_split_warns_and_gives_the_mean(X, y, reason):
    with pytest.warns(UserWarning, match=f"no rules to find: {reason}"):
        model = fit(X, y, n_trees=5)
    assert len(model.selected_) == 0
    assert model.predict(X) == pytest.approx(y.mean())
    assert model.intercept_ == pytest.approx(y.mean())
    assert str(model.rules_) == "(no rules)"


def test_columns_of_missing_values_alone_are_not_split_on(table):
    X, y = table
    with pytest.warns(UserWarning, match="All values are missing in 'b': no rule can use it"):
        model = fit(X.assign(b=np.nan), y)
    assert all(c.feature != "b" for rule in model.candidates_ for c in rule.conditions)
    assert np.isfinite(model.predict(X)).all()


def test_missing_values_in_a_feature_are_learned_from(table):
    X, y = table
    X.loc[::4, "a"] = np.nan
    model = fit(X, y.where(X["a"].notna(), 10.0), n_rules=5)
    assert re.search(r"a is (known|missing)|or missing", str(model.rules_))
    assert model.predict(X[X["a"].isna()]).mean() > model.predict(X[X["a"].notna()]).mean()


def test_two_rows_are_enough_to_be_read():
    with pytest.warns(UserWarning, match="predicts the mean"):
        assert fit([[0.0], [1.0]], [0.0, 1.0]).predict([[5.0]]).tolist() == [0.5]

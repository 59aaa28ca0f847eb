"""transform: the value of each term in each row, named, as an array or a data frame."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import pysirus
from pysirus import RuleFitRegressor, SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvival
from pysirus._terms.listing import with_weights
from pysirus.estimators.base import _distinct
from survival_table import survival_table

FAST = {"n_trees": 100, "random_state": 0}


@pytest.fixture(scope="module")
def fitted(ozone):
    X, y = ozone
    return X, y, SirusRegressor(n_rules=4, **FAST).fit(X, y)


def test_columns_are_the_indicators_of_the_rules(fitted):
    X, y, model = fitted
    found = model.transform(X)
    table = model.model_.align(X)
    assert found.dtype == np.float64 and found.shape == (len(X), len(model.rules_))
    assert set(np.unique(found)) == {0.0, 1.0}
    for k, rule in enumerate(model.rules_):
        assert np.array_equal(found[:, k], rule.holds(table)) and found[:, k].sum() == rule.n_inside
    steps = [rule.weight * (rule.inside - rule.outside) for rule in model.rules_]
    start = model.intercept_ + sum(rule.weight * rule.outside for rule in model.rules_)
    assert np.allclose(start + found @ steps, model.predict(X))
    assert np.array_equal(SirusRegressor(n_rules=4, **FAST).fit_transform(X, y), found)


def test_names_are_what_the_rules_read(fitted):
    X, _, model = fitted
    names = model.get_feature_names_out()
    assert names.tolist() == [rule.condition_text for rule in model.rules_]
    assert np.array_equal(model.get_feature_names_out(list(X.columns)), names)
    with pytest.raises(ValueError, match="input_features should have length equal to number of features"):
        model.get_feature_names_out(["a"])
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        model.get_feature_names_out(list(X.columns)[::-1])
    assert _distinct(["a", "a", "a (2)", "a", "b"]) == ["a", "a (2)", "a (2) (2)", "a (3)", "b"]


def test_set_output_makes_frames(fitted, ozone):
    X, y = ozone
    model = SirusRegressor(n_rules=4, **FAST).set_output(transform="pandas").fit(X, y)
    rows = X.iloc[5:15]
    found = model.transform(rows)
    assert isinstance(found, pd.DataFrame) and found.index.equals(rows.index)
    assert found.columns.tolist() == model.get_feature_names_out().tolist()
    other = model.set_output(transform="polars").transform(rows)
    assert isinstance(other, pl.DataFrame) and np.array_equal(other.to_numpy(), found.to_numpy())


def test_linear_terms_are_columns_of_their_values(ozone):
    X, y = ozone
    model = RuleFitRegressor(n_trees=20, linear_terms=True, random_state=0).fit(X, y)
    assert model.terms_
    found, table = model.transform(X), model.model_.align(X)
    assert found.shape[1] == len(model.rules_) + len(model.terms_) == len(set(model.get_feature_names_out()))
    for k, term in enumerate(model.terms_, start=len(model.rules_)):
        assert np.array_equal(found[:, k], term.values(table)) and len(np.unique(found[:, k])) > 2


def test_other_targets_tuned_and_loaded_models_transform(ozone, tmp_path):
    X, y = ozone
    tuned = SirusRegressorCV(cv=2, n_repeats=1, max_rules=5, **FAST).fit(X, y)
    tuned.save(tmp_path / "m.json")
    assert np.array_equal(pysirus.load(tmp_path / "m.json").transform(X), tuned.transform(X))
    labels = SirusClassifier(n_rules=4, **FAST).fit(X, y > 12)
    assert labels.transform(X).shape == (len(X), len(labels.rules_))
    pipeline = make_pipeline(SirusRegressor(n_rules=4, **FAST), LinearRegression()).fit(X, y)
    assert pipeline.score(X, y) > 0.6
    with pytest.raises(NotFittedError):
        SirusRegressor().transform(X)
    with pytest.raises(NotFittedError):
        SirusRegressor().get_feature_names_out()


def test_a_required_rule_of_weight_0_is_a_column(ozone):
    X, y = ozone
    X = X.assign(noise=np.arange(len(X)) % 7)
    model = SirusRegressor(n_rules=5, required_rules=["noise < 3"], **FAST).fit(X, y)
    weights = [0.0 if rule.given else rule.weight for rule in model.selected_]
    model.model_ = replace(model.model_, selected=with_weights(model.selected_, weights))
    assert model.rules_[0].given and model.rules_[0].weight == 0
    assert np.array_equal(model.transform(X)[:, 0], X["noise"] < 3)


def test_survival_transforms():
    X, y = survival_table(200)
    model = SirusSurvival(n_rules=3, **FAST).fit(X, y)
    assert model.transform(X).shape == (len(X), len(model.rules_))

"""RuleFit: what it promises users, edge cases first."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from pysirus import RuleFitRegressor, load, stability
from pysirus.datasets import load_housing, load_ozone
from sampled import FULL

DRAWS = "a subsample is drawn among rows, so a row repeated is another draw than a row weighted twice"


@pytest.fixture(scope="module")
def ozone():
    return load_ozone(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def both(ozone):
    return RuleFitRegressor(n_trees=100, linear_terms=True, lasso_choice="min", random_state=0).fit(*ozone)


def test_check_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tables of a few rows keep no rule
        if FULL:
            check_estimator(RuleFitRegressor(n_trees=8))
        # with nodes small enough for the few rows of the checks
        check_estimator(
            RuleFitRegressor(n_trees=4, min_node_size=1, linear_terms=True, lasso_choice="min"),
            expected_failed_checks={"check_sample_weight_equivalence_on_dense_data": DRAWS},
        )


def test_prediction_is_the_sum_of_its_parts(ozone, both):
    X, _ = ozone
    assert both.terms_ and both.rules_
    total = np.full(len(X), both.intercept_)
    table = both.model_.align(X)
    for rule in both.rules_:
        total += rule.weight * np.where(rule.holds(table), rule.inside, rule.outside)
    for term in both.terms_:
        total += term.weight * X[term.feature].clip(term.lower, term.upper).to_numpy()
    assert np.allclose(total, both.predict(X))


def test_outputs_are_means_of_training_rows(ozone, both):
    X, y = ozone
    table = both.model_.align(X)
    for rule in both.rules_[:10]:
        inside = rule.holds(table)
        assert rule.n_inside == inside.sum() and rule.n_outside == (~inside).sum()
        assert rule.inside == pytest.approx(y[inside].mean()) and rule.outside == pytest.approx(y[~inside].mean())


def test_no_rule_and_no_complement_twice(ozone):
    X, y = ozone
    model = RuleFitRegressor(n_trees=100, random_state=0).fit(X, y)
    table = model.model_.align(X)
    rows = [rule.holds(table) for rule in model.candidates_]
    seen = {r.tobytes() for r in rows} | {(~r).tobytes() for r in rows}
    assert len(seen) == 2 * len(rows)


def test_model_file_keeps_rules_and_terms(ozone, both, tmp_path):
    X, _ = ozone
    both.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert isinstance(again, RuleFitRegressor)
    assert again.rules_ == both.rules_ and again.terms_ == both.terms_
    assert (again.predict(X) == both.predict(X)).all()
    assert str(again) == str(both) and "linear terms" in str(both)


def test_a_lasso_that_keeps_nothing_predicts_the_mean():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    with pytest.warns(UserWarning, match="kept no rule"):
        model = RuleFitRegressor(n_trees=50, random_state=0).fit(X, y)
    assert len(model.rules_) == 0 and model.terms_ == ()
    assert model.predict(X) == pytest.approx(np.full(80, y.mean()))


def test_constant_response_predicts_it():
    X = np.arange(40.0).reshape(20, 2)
    with pytest.warns(UserWarning, match="kept no rule"):
        model = RuleFitRegressor(n_trees=5, linear_terms=True).fit(X, np.full(20, 3.0))
    assert (model.predict(X) == 3.0).all()


def test_collinear_linear_terms_predict_as_one():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = 2 * x + 0.1 * rng.normal(size=200)
    X = pd.DataFrame({"x": x, "copy": x, "minus": -3 * x, "constant": 1.0})
    model = RuleFitRegressor(n_trees=30, linear_terms=True, winsor=0.0, random_state=0).fit(X, y)
    assert {term.feature for term in model.terms_} <= {"x", "copy", "minus"}
    assert model.score(X, y) > 0.95
    alone = RuleFitRegressor(n_trees=30, linear_terms=True, winsor=0.0, random_state=0).fit(X[["x"]], y)
    assert np.abs(model.predict(X) - alone.predict(X[["x"]])).max() < 0.5 * y.std()


@pytest.mark.parametrize("origin", [1e8, 1e10])
def test_where_a_column_starts_makes_no_difference(origin):
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.normal(size=(500, 2)).round(4), columns=["x", "z"])
    y = 2 * X["x"] + X["z"]
    near, far = (
        RuleFitRegressor(n_trees=20, linear_terms=True, random_state=0).fit(X + start, y) for start in (0.0, origin)
    )
    assert [term.feature for term in far.terms_] == ["x", "z"]
    assert np.allclose([term.weight for term in far.terms_], [term.weight for term in near.terms_], atol=1e-4)
    assert np.allclose(far.predict(X + origin), near.predict(X), atol=1e-3)


def test_linear_terms_hold_far_values_and_fill_missing_ones():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300)})
    y = 5 * X["x"] + rng.normal(size=300)
    X.loc[::10, "x"] = np.nan
    model = RuleFitRegressor(n_trees=20, linear_terms=True, random_state=0).fit(X, y)
    term = model.terms_[0]
    far = model.predict(pd.DataFrame({"x": [1e9, term.upper]}))
    assert far[0] == pytest.approx(far[1])
    assert np.isfinite(model.predict(pd.DataFrame({"x": [np.nan]}))).all()


def test_categories_and_missing_values_need_no_preparation():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.choice(["m", "f", "i"], 200), "x": rng.normal(size=200)})
    y = 3 * (X["s"] == "i") + X["x"] + 0.1 * rng.normal(size=200)
    X.loc[::7, "s"] = None
    model = RuleFitRegressor(n_trees=60, random_state=0).fit(X, y)
    assert any(condition.levels for rule in model.rules_ for condition in rule.conditions)
    assert model.score(X, y) > 0.5


def test_quantile_cuts_compare_between_samples():
    X, y = load_housing(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    parts = [rng.permutation(len(y))[:450] for _ in range(2)]

    def models(n_bins):
        kwargs = {"n_trees": 60, "n_bins": n_bins, "random_state": 0}
        return [RuleFitRegressor(**kwargs).fit(X.iloc[rows], y.iloc[rows]) for rows in parts]

    quantile = models(10)
    cuts = {split.cut[0] for rule in quantile[0].rules_ for split in rule.path}
    assert cuts <= {"quantile", "value"} and "quantile" in cuts
    assert stability(quantile) > stability(models(None))


def test_same_seed_same_model_other_seed_another(ozone):
    X, y = ozone
    first, again, other = (RuleFitRegressor(n_trees=60, random_state=s).fit(X, y).rules_ for s in (1, 1, 2))
    assert first == again and first != other


def test_weight_zero_is_no_row(ozone):
    X, y = ozone
    weights = np.ones(len(y))
    weights[::3] = 0
    kept = weights > 0
    a = RuleFitRegressor(n_trees=30, random_state=0).fit(X, y, weights)
    b = RuleFitRegressor(n_trees=30, random_state=0).fit(X[kept], y[kept])
    assert (a.predict(X) == b.predict(X)).all()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_trees", 0), ("lasso_choice", "best"), ("winsor", 0.6), ("n_bins", 1), ("mean_leaves", 2)],
)
def test_parameters_are_named_in_the_error(ozone, parameter, value):
    with pytest.raises(ValueError, match=parameter):
        RuleFitRegressor(**{parameter: value}).fit(*ozone)


def test_rules_alone_explain_and_export(ozone):
    X, y = ozone
    model = RuleFitRegressor(n_trees=60, random_state=0).fit(X, y)
    assert np.allclose(model.explain(X).prediction, model.predict(X))
    assert "CASE" in model.export("sql").upper()
    importance = model.feature_importance("pandas")
    assert (importance["gap"] >= 0).all() and importance["gap"].sum() == pytest.approx(1)


def test_linear_terms_are_explained_and_exported(ozone, both):
    X, _ = ozone
    explanation = both.explain(X)
    assert np.allclose(explanation.prediction, both.predict(X), rtol=0, atol=1e-9)
    assert explanation.contributions.shape[1] == len(both.rules_) + len(both.terms_)
    assert "CASE" in both.export("sql")

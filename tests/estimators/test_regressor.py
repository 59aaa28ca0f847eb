"""SirusRegressor: the same rules however the table comes, scikit-learn's checks, edge cases."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pysirus
from at_cuts import at_its_cuts
from pysirus import SirusRegressor
from pysirus.datasets import load_ozone

QUICK = {"n_trees": 1000, "random_state": 0}


def state(model):
    """All that a fit found, numbers included."""
    return [rule.__getstate__() for rule in model.selected_], model.intercept_, model.ridge_penalty_, model.n_trees_


# -------------------------------------------------------------------------------------------------- the same, however


@pytest.mark.parametrize("parameters", [{}, {"p0": 0.03}, {"max_depth": 3, "n_trees": 2000}])
def test_rules_do_not_depend_on_the_number_of_threads(ozone, parameters):
    one = SirusRegressor(**parameters, random_state=5, n_jobs=1).fit(*ozone)
    two = SirusRegressor(**parameters, random_state=5, n_jobs=2).fit(*ozone)
    assert one.rules_ == two.rules_
    assert state(one) == state(two)


def numbers(model):
    """What a fit found, names aside."""
    rules = [
        (r.frequency, r.inside, r.outside, r.weight, [(c.lower, c.upper) for c in r.conditions]) for r in model.rules_
    ]
    return rules, model.intercept_


def test_rules_do_not_depend_on_how_the_table_is_held(ozone):
    X, y = ozone
    expected = SirusRegressor(**QUICK).fit(X, y)
    array = X.to_numpy(dtype=np.float64)
    wide = np.zeros((2 * len(X), array.shape[1]))
    wide[::2] = array
    for same in (
        np.ascontiguousarray(array),
        np.asfortranarray(array),
        wide[::2],
        array.tolist(),
        pl.from_pandas(X),
        pl.from_pandas(X).lazy(),
        pa.Table.from_pandas(X),
        X.astype(object),
        X.convert_dtypes(),
    ):
        model = SirusRegressor(**QUICK).fit(same, y)
        assert numbers(model) == numbers(expected), type(same)
        if not isinstance(same, (np.ndarray, list)):
            assert model.rules_ == expected.rules_
        assert np.array_equal(model.predict(same), expected.predict(X))


@pytest.mark.parametrize("form", [list, np.asarray, pl.Series, pd.DataFrame, lambda y: np.asarray(y, np.float32)])
def test_rules_do_not_depend_on_how_the_response_is_held(ozone, form):
    X, y = ozone
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column vector as y
        assert numbers(SirusRegressor(**QUICK).fit(X, form(y))) == numbers(SirusRegressor(**QUICK).fit(X, y))


def test_float32_gives_the_rules_of_float64(ozone):
    """Where the values allow: these are float32 numbers in both tables."""
    X, y = ozone
    narrow = X.to_numpy(dtype=np.float32)
    one, two = SirusRegressor(**QUICK).fit(narrow, y), SirusRegressor(**QUICK).fit(narrow.astype(np.float64), y)
    assert state(one) == state(two)
    assert np.array_equal(one.predict(narrow), two.predict(narrow.astype(np.float64)))


def test_the_same_seed_gives_the_same_rules_and_another_other_frequencies(ozone):
    one, same, other = (SirusRegressor(n_trees=500, random_state=s).fit(*ozone) for s in (1, 1, 2))
    assert state(one) == state(same)
    assert [r.frequency for r in one.selected_] != [r.frequency for r in other.selected_]


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_gives_the_seed(ozone, make):
    one, same = (SirusRegressor(n_trees=300, random_state=make(3)).fit(*ozone) for _ in range(2))
    assert state(one) == state(same)
    shared = make(3)
    two = [SirusRegressor(n_trees=300, random_state=shared).fit(*ozone) for _ in range(2)]
    assert state(two[0]) != state(two[1])


def test_a_monotone_map_of_a_feature_changes_thresholds_alone(rng):
    X = rng.integers(0, 9, size=(300, 3)).astype(float)  # discrete: cuts are values
    y = X[:, 0] + (X[:, 1] > 4) * 3 + rng.normal(size=300)
    plain, mapped = SirusRegressor(**QUICK).fit(X, y), SirusRegressor(**QUICK).fit(np.exp(X), y)
    assert [r.frequency for r in plain.selected_] == [r.frequency for r in mapped.selected_]
    assert np.allclose(plain.predict(X), mapped.predict(np.exp(X)))
    at_cuts = [[at_its_cuts(rule).conditions[0].upper for rule in model.selected_] for model in (plain, mapped)]
    assert [np.log(upper or 1) for upper in at_cuts[1]] == pytest.approx([upper or 0 for upper in at_cuts[0]])


def test_copies_of_a_model_are_the_model(ozone, tmp_path):
    X, y = ozone
    model = SirusRegressor(**QUICK).fit(X, y)
    joblib.dump(model, tmp_path / "m.joblib")
    model.save(tmp_path / "m.json")
    for again in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "m.joblib"),
        pysirus.load(tmp_path / "m.json"),
        clone(model).fit(X, y),
    ):
        assert state(again) == state(model)
        assert np.array_equal(again.predict(X), model.predict(X))


# ------------------------------------------------------------------------------------------------- parameters at work


def test_fit_leaves_the_parameters_alone(ozone):
    model = SirusRegressor(**QUICK)
    before = model.get_params()
    model.fit(*ozone)
    assert model.get_params() == before


def test_n_rules_counts_the_rules_after_post_treatment(ozone):
    for n_rules in (1, 2, 10, 25):
        assert len(SirusRegressor(n_rules=n_rules, **QUICK).fit(*ozone).selected_) == n_rules


def test_one_rule_predicts_its_outputs(ozone):
    X, y = ozone
    model = SirusRegressor(n_rules=1, **QUICK).fit(X, y)
    assert model.rules_[0].weight == 1
    assert model.intercept_ == 0
    assert set(model.predict(X)) == {model.rules_[0].inside, model.rules_[0].outside}


def test_p0_keeps_the_rules_above_it(ozone):
    model = SirusRegressor(p0=0.05, **QUICK).fit(*ozone)
    assert all(rule.frequency > 0.05 for rule in model.selected_)
    assert 2 <= len(model.selected_) < 25
    assert len(SirusRegressor(p0=0.001, max_rules=7, **QUICK).fit(*ozone).selected_) == 7


def test_p0_above_every_frequency_gives_the_mean(ozone):
    X, y = ozone
    model = SirusRegressor(p0=0.99, **QUICK).fit(X, y)
    assert len(model.selected_) == 0
    assert model.predict(X) == pytest.approx(np.full(len(X), y.mean()))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_depth_bounds_the_splits_of_a_rule(ozone, depth):
    model = SirusRegressor(max_depth=depth, n_rules=25, n_trees=100, random_state=0).fit(*ozone)
    assert max(len(rule.path) for rule in model.candidates_) == depth


def test_candidates_are_every_path_in_order_of_frequency(ozone):
    model = SirusRegressor(**QUICK).fit(*ozone)
    frequencies = [rule.frequency for rule in model.candidates_]
    assert frequencies == sorted(frequencies, reverse=True)
    paths = [frozenset((s.feature, s.op, s.value) for s in rule.path) for rule in model.candidates_]
    assert len(set(paths)) == len(paths)
    # each tree splits its root: the paths of one split add up to two a tree
    assert sum(f for f, path in zip(frequencies, paths) if len(path) == 1) == pytest.approx(2)
    assert set(model.selected_) <= set(model.candidates_)


def test_the_forest_grows_until_it_is_stable(ozone):
    model = SirusRegressor(random_state=0).fit(*ozone)
    assert model.n_trees_ % 1000 == 0
    assert model.n_trees_ > SirusRegressor(alpha=0.2, random_state=0).fit(*ozone).n_trees_


def test_progress_is_shown_on_standard_error(ozone, capsys):
    SirusRegressor(verbose=1, n_trees=2000, random_state=0).fit(*ozone)
    captured = capsys.readouterr()
    assert "2,000 trees" in captured.err
    assert "stability" in captured.err
    assert captured.out == ""


def test_prediction_is_the_weighted_sum_of_outputs(ozone):
    X, y = ozone
    model = SirusRegressor(**QUICK).fit(X, y)
    total = np.full(len(X), model.intercept_)
    for rule in model.rules_:
        inside = np.ones(len(X), dtype=bool)
        for c in rule.conditions:
            inside &= (X[c.feature] >= (c.lower if c.lower is not None else -np.inf)).to_numpy()
            inside &= (X[c.feature] < (c.upper if c.upper is not None else np.inf)).to_numpy()
        total += rule.weight * np.where(inside, rule.inside, rule.outside)
    assert model.predict(X) == pytest.approx(total, rel=1e-12)
    assert model.score(X, y) > 0.6


def test_it_works_inside_scikit_learn(ozone):
    X, y = ozone
    folds = KFold(3, shuffle=True, random_state=0)
    assert cross_val_score(SirusRegressor(**QUICK), X, y, cv=folds).mean() > 0.55
    search = GridSearchCV(SirusRegressor(**QUICK), {"n_rules": [1, 10]}, cv=folds).fit(X, y)
    assert search.best_params_ == {"n_rules": 10}
    assert make_pipeline(StandardScaler(), SirusRegressor(**QUICK)).fit(X, y).score(X, y) > 0.6


# -------------------------------------------------------------------------------------------------------- sample weight


def test_weights_of_one_change_nothing(ozone):
    X, y = ozone
    plain = SirusRegressor(**QUICK).fit(X, y)
    assert state(SirusRegressor(**QUICK).fit(X, y, sample_weight=np.ones(len(y)))) == state(plain)


def test_a_weight_of_zero_is_a_row_left_out(ozone):
    X, y = ozone
    weights = np.ones(len(y))
    weights[::3] = 0
    left_out = SirusRegressor(**QUICK).fit(X[weights > 0], y[weights > 0])
    assert state(SirusRegressor(**QUICK).fit(X, y, sample_weight=weights)) == state(left_out)


def test_weights_move_the_outputs(ozone):
    X, y = ozone
    weights = np.where(y > y.median(), 3.0, 1.0)
    model = SirusRegressor(n_rules=1, **QUICK).fit(X, y, sample_weight=weights)
    (rule,) = model.rules_
    inside = rule.holds(model.model_.align(X))
    assert rule.inside == pytest.approx(np.average(y[inside], weights=weights[inside]))
    assert rule.inside != pytest.approx(np.average(y[inside]))
    assert model.model_.mean == pytest.approx(np.average(y, weights=weights))


@pytest.mark.parametrize("scale", [1e-6, 3.0, 1e9])
def test_the_scale_of_fractional_weights_does_not_matter(ozone, scale, rng):
    X, y = ozone
    weights = rng.random(len(y)) + 0.5
    one, two = (SirusRegressor(**QUICK).fit(X, y, sample_weight=w) for w in (weights, weights * scale))
    assert one.rules_ == two.rules_
    assert np.allclose(one.predict(X), two.predict(X))


# ------------------------------------------------------------------------------------------------------------ fitted


def test_an_unfitted_model_says_so():
    model = SirusRegressor()
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])
    for name in ("rules_", "selected_", "intercept_", "candidates_", "n_trees_", "ridge_penalty_"):
        assert not hasattr(model, name)


def test_names_are_kept_where_there_are_names(ozone):
    X, y = ozone
    model = SirusRegressor(**QUICK).fit(X, y)
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.n_features_in_ == X.shape[1]
    model.fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    assert model.rules_[0].conditions[0].feature.startswith("x")


def test_columns_are_found_by_name(ozone):
    X, y = ozone
    model = SirusRegressor(**QUICK).fit(X, y)
    assert np.array_equal(model.predict(X[X.columns[::-1]]), model.predict(X))


def test_a_fitted_model_prints_its_mean_its_intercept_and_its_rules(ozone):
    text = str(SirusRegressor(**QUICK).fit(*ozone))
    assert text.startswith("mean O3 = 11.8    intercept = -")
    assert "frequency  rule" in text


def test_a_tree_draws_a_share_of_the_rows_or_a_number_of_them():
    X, y = load_ozone(return_X_y=True, as_frame=True)

    def rules(max_samples):
        return SirusRegressor(n_trees=300, random_state=0, max_samples=max_samples).fit(X, y).model_.selected

    assert rules(1.0) == rules(None) == rules(10**9)
    assert rules(0.5) != rules(None)
    assert rules(len(X) // 2) not in (rules(0.5), rules(None))  # blocks of rows draw: as many, but others
    # a tree of fewer than min_node_size rows has no splits
    with pytest.warns(UserWarning, match="no rules to find"):
        assert len(rules(1)) == 0

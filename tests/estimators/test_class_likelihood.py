"""Classes weighed by penalised likelihood: probabilities, stages, tuning, odd tables, parts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, TunedThresholdClassifierCV

import pysirus
from pysirus import SirusClassifier, SirusClassifierCV
from pysirus._parameters import ParameterError


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


def make_odds(n_rows=400, seed=0, strength=2.0, base=0.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    odds = base + strength * (X["a"] > 0) - strength * (X["b"] > 0.5) + 0.5 * strength * (X["c"] > 0)
    return X, np.where(rng.random(n_rows) < 1 / (1 + np.exp(-odds)), "yes", "no").astype(object)


def model_of(X, y, **parameters):
    return SirusClassifier(**{"n_trees": 500, "random_state": 0, **parameters}).fit(X, y)


def test_probabilities_are_those_of_the_score(cancer):
    X, y = cancer
    model = model_of(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(y),)
    table = model.model_.align(X)
    outputs = [
        np.where(r.holds(table), np.subtract(*r.inside[::-1]), np.subtract(*r.outside[::-1])) for r in model.rules_
    ]
    by_hand = np.subtract(*model.intercept_[::-1]) + sum(r.weight * g for r, g in zip(model.rules_, outputs))
    np.testing.assert_allclose(scores, by_hand, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-12)
    assert (model.predict(X) == (scores > 0)).all()


@pytest.mark.parametrize("n_stages", [1, 4])
def test_the_mean_probability_is_the_share(cancer, n_stages):
    X, y = cancer
    model = model_of(X, y, n_rules=3, n_stages=n_stages)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=1e-9)


def test_the_mean_probability_of_each_of_several_classes_is_its_share():
    X, y = load_iris(return_X_y=True)
    model = model_of(X, y)
    assert model.decision_function(X).shape == (150, 3)
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), 1 / 3, atol=1e-9)
    np.testing.assert_allclose(np.sum(model.intercept_), 0, atol=1e-12)


def test_weights_minimise_the_penalised_likelihood(cancer):
    X, y = cancer
    model = model_of(X, y, n_rules=4)
    table = model.model_.align(X)
    holds = np.column_stack([rule.holds(table) for rule in model.selected_])
    gap = np.array([np.subtract(*r.inside[::-1]) - np.subtract(*r.outside[::-1]) for r in model.selected_])
    rest = np.array([np.subtract(*r.outside[::-1]) for r in model.selected_])

    def objective(weights, intercept):
        scores = intercept + (holds * gap + rest) @ weights
        loss = np.logaddexp(0, scores) - y * scores
        return loss.mean() + model.ridge_penalty_ / 2 * (weights**2).sum()

    weights = np.array([rule.weight for rule in model.selected_])
    intercept = np.subtract(*model.intercept_[::-1])
    best = objective(weights, intercept)
    rng = np.random.default_rng(0)
    for _ in range(50):
        step = rng.normal(size=5) * 1e-3
        assert objective(np.maximum(weights + step[:4], 0), intercept + step[4]) >= best - 1e-12


def test_corrections_know_what_the_data_say(cancer):
    X, y = cancer
    model = model_of(X, y, n_rules=1, n_stages=5)
    assert model.n_stages_ == 5 and {rule.stage for rule in model.rules_} == {1, 2, 3, 4, 5}
    table = model.model_.align(X)
    for rule in model.rules_:
        inside = rule.holds(table)
        assert rule.means[0][1] == pytest.approx(y[inside].mean())
        assert rule.means[1][1] == pytest.approx(y[~inside].mean())
        if rule.stage > 1:
            assert rule.inside[0] == -rule.inside[1] and rule.inside != rule.means[0]


def test_stages_lower_the_deviance(cancer):
    X, y = cancer
    losses = [log_loss(y, model_of(X, y, n_rules=1, n_stages=k).predict_proba(X)) for k in (1, 3, 8)]
    assert losses[0] > losses[1] > losses[2]


def test_a_file_keeps_it_all(cancer, tmp_path):
    X, y = cancer
    for n_stages in (1, 4):
        model = model_of(X, y, n_rules=2, n_stages=n_stages)
        model.save(tmp_path / "m.json")
        again = pysirus.load(tmp_path / "m.json")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert again.weighting == "likelihood" and again.n_stages_ == n_stages
        assert [rule.means for rule in again.rules_] == [rule.means for rule in model.rules_]


def test_tuning_error_is_the_unexplained_deviance_of_held_out_rows(cancer):
    X, y = cancer
    folds = list(KFold(4, shuffle=True, random_state=1).split(X))
    model = SirusClassifierCV(cv=folds, n_repeats=1, n_trees=1000, random_state=0, criterion="error").fit(X, y)
    own = base = 0.0
    for train, test in folds:
        one = SirusClassifier(p0=model.p0_, max_rules=50, n_trees=1000, random_state=1).fit(
            X.iloc[train], y.iloc[train]
        )
        own += log_loss(y.iloc[test], one.predict_proba(X.iloc[test]), normalize=False)
        share = y.iloc[train].mean()
        base += log_loss(y.iloc[test], np.tile([1 - share, share], (len(test), 1)), normalize=False)
    assert own / base == pytest.approx(model.cv_error_, abs=0.03)


def test_tuning_takes_stages_where_they_help():
    X, y = make_odds(400)
    options = {"n_stages": "auto", "n_repeats": 1, "cv": 2, "n_trees": 100, "random_state": 0}
    model = SirusClassifierCV(**options).fit(X, y)
    assert model.cv_error_ < 1 and len(model.models_) >= len(model.selected_)
    assert len(model.with_rules(2).selected) == 2
    threaded = SirusClassifierCV(**options, n_jobs=2).fit(X, y)
    assert threaded.path_ == model.path_ and threaded.rules_ == model.rules_
    np.testing.assert_array_equal(threaded.predict_proba(X), model.predict_proba(X))


def test_equal_weights_have_no_stages_and_keep_their_criterion(cancer):
    with pytest.raises(ParameterError, match="n_stages must be 1 with weighting='equal'"):
        model_of(*cancer, weighting="equal", n_stages=2)
    with pytest.raises(ParameterError, match="weighting must be one of 'likelihood', 'equal'"):
        model_of(*cancer, weighting="logit")


# --------------------------------------------------------------------------------------------------------- odd tables


@pytest.mark.parametrize("n_stages", [1, 5])
def test_separable_classes_have_finite_weights(n_stages):
    X = pd.DataFrame({"a": np.arange(60.0), "b": np.tile([0.0, 1.0], 30)})
    y = X["a"] >= 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model_of(X, y, n_rules=3, n_stages=n_stages)
    assert np.isfinite([rule.weight for rule in model.rules_]).all()
    assert model.score(X, y) == 1.0 and np.isfinite(model.decision_function(X)).all()
    assert model.predict_proba(X).max() < 1


@pytest.mark.parametrize("parameters", [{}, {"n_stages": 6, "n_rules": 1}, {"class_weight": "balanced"}])
def test_one_in_a_thousand(parameters):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20_000, 4)), columns=list("abcd"))
    y = rng.random(20_000) < np.where((X["a"] > 1) & (X["b"] > 0), 0.008, 0.0003)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model_of(X, y, n_trees=200, **parameters)
    p = model.predict_proba(X)[:, 1]
    assert np.isfinite(p).all()
    share = 0.5 if "class_weight" in parameters else y.mean()
    weights = np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean())) if "class_weight" in parameters else None
    assert np.average(p, weights=weights) == pytest.approx(share, rel=1e-4)


def test_folds_without_a_class_are_no_trouble():
    X, y = make_odds(60, base=-4.0, strength=1.0)
    y[:3] = "yes"
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = SirusClassifierCV(cv=10, n_repeats=1, n_trees=50, n_stages=4, max_rules=6, random_state=0).fit(X, y)
    assert np.isfinite(model.cv_error_) and np.isfinite(model.predict_proba(X)).all()


def test_a_level_that_decides_alone():
    X, y = make_odds(300)
    X["kind"] = np.where(np.arange(300) < 40, "sure", np.where(np.arange(300) % 2, "x", "y"))
    y[:40] = "yes"
    model = SirusClassifierCV(n_repeats=1, cv=2, n_trees=100, n_stages="auto", random_state=0).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    assert np.isfinite(p).all() and p[:40].min() > p[40:].mean()


def test_one_class_is_certain():
    X, _ = make_odds(50)
    with pytest.warns(UserWarning, match="only one class"):
        model = model_of(X, np.repeat("yes", 50))
    assert (model.predict_proba(X) == 1).all() and (model.predict(X) == "yes").all()


def test_a_threshold_can_be_tuned():
    X, y = make_odds(400, base=-2.0)
    tuned = TunedThresholdClassifierCV(SirusClassifier(n_trees=200, random_state=0), cv=3).fit(X, y)
    assert tuned.best_threshold_ < 0.5
    assert (tuned.predict(X) == "yes").sum() > (tuned.estimator_.predict(X) == "yes").sum()


def test_parts_give_the_same_bits(tmp_path):
    X, y = make_odds(500)
    X.loc[::7, "a"] = np.nan
    several = np.where(X["c"] > 1, "top", y)
    for labels in (y, several):
        table = X.assign(y=labels)
        for i, rows in enumerate(np.array_split(np.arange(500), 4)):
            table.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
        memory = model_of(X, labels)
        files = SirusClassifier(n_trees=500, random_state=0).fit_files(tmp_path / "*.parquet", "y")
        assert files.rules_ == memory.rules_ and files.intercept_ == memory.intercept_
        assert [rule.weight for rule in files.rules_] == [rule.weight for rule in memory.rules_]
        np.testing.assert_array_equal(files.predict_proba(X), memory.predict_proba(X))

"""Counts and amounts are judged by deviance, everywhere the same, and as scikit-learn computes it."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import pysirus
from metrics_of import number_metrics
from pysirus import SirusRegressor, SirusRegressorCV
from pysirus._data.column import DataError
from pysirus._families.links import Loss
from pysirus._families.row_metrics import Predicted
from pysirus._learn.splits import draw_folds
from pysirus.report import summary

pytestmark = pytest.mark.filterwarnings("ignore")

POWER = {"poisson": 1, "gamma": 2}


def rows_of(loss, n_rows=400):
    """A table, a target of counts per unit or of amounts, and weights (exposures)."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.integers(18, 80, n_rows), "power": random.normal(size=n_rows)})
    mean = np.where(X["age"] < 30, 3.0, 1.0) * np.where(X["power"] > 0, 1.5, 1.0)
    weights = random.uniform(0.5, 4.0, n_rows)
    y = random.poisson(mean * weights) / weights if loss == "poisson" else random.gamma(2.0, mean / 2)
    return X, pd.Series(y, name="claims"), weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_metrics_of_counts_and_amounts_are_those_of_scikit_learn(loss, weighted):
    _, y, weights = rows_of(loss)
    weights = weights if weighted else None
    predicted = np.random.default_rng(1).uniform(0.5, 3.0, len(y))
    found = {
        name: value
        for name, (value, _) in number_metrics(
            [Predicted(predicted[:, None], y.to_numpy(), weights)], Loss(loss)
        ).items()
    }
    power = POWER[loss]
    assert list(found) == ["d2", "mean_deviance", "rmse", "mae", "unexplained_deviance"]
    d2 = metrics.d2_tweedie_score(y, predicted, sample_weight=weights, power=power)
    assert found["d2"] == pytest.approx(d2, rel=1e-12)
    deviance = metrics.mean_tweedie_deviance(y, predicted, sample_weight=weights, power=power)
    assert found["mean_deviance"] == pytest.approx(deviance, rel=1e-12)
    assert found["unexplained_deviance"] == pytest.approx(1 - d2, rel=1e-12)
    constant = number_metrics([Predicted(predicted[:, None], np.ones(len(y)), None)], Loss(loss))
    assert list(constant) == ["mean_deviance", "rmse", "mae"]  # nothing to explain


def test_standard_errors_of_deviances_are_the_spread_over_other_rows():
    random = np.random.default_rng(0)
    every = []
    for _ in range(300):
        mean = random.uniform(0.5, 4.0, 300)
        every.append(
            number_metrics([Predicted(mean[:, None], random.poisson(mean).astype(float), None)], Loss("poisson"))
        )
    values, errors = zip(*(found["mean_deviance"] for found in every))
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_score_is_d2(loss, weighted, tmp_path):
    X, y, weights = rows_of(loss)
    weights = weights if weighted else None
    model = SirusRegressor(loss=loss, n_rules=4, n_trees=100, random_state=0).fit(X, y, sample_weight=weights)
    d2 = metrics.d2_tweedie_score(y, model.predict(X), sample_weight=weights, power=POWER[loss])
    assert model.score(X, y, sample_weight=weights) == pytest.approx(d2, rel=1e-12)
    assert model.metrics(X, y, sample_weight=weights)["d2"] == pytest.approx(d2, rel=1e-12)
    model.save(tmp_path / "m.json")
    loaded = pysirus.load(tmp_path / "m.json")
    assert loaded.score(X, y, sample_weight=weights) == loaded.model_.score(X, y, sample_weight=weights)
    assert loaded.model_.score(X, y, sample_weight=weights) == pytest.approx(d2, rel=1e-12)


def test_numbers_keep_r2():
    X, y, weights = rows_of("gamma")
    model = SirusRegressor(n_rules=4, n_trees=100, random_state=0).fit(X, y)
    r2 = metrics.r2_score(y, model.predict(X), sample_weight=weights)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(r2)
    assert model.model_.score(X, y, sample_weight=weights) == pytest.approx(r2)
    assert "d2" not in model.metrics(X, y)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
def test_a_constant_truth_has_a_score(loss):
    X, y, _ = rows_of("gamma")
    model = SirusRegressor(loss=loss, n_rules=4, n_trees=100, random_state=0).fit(X, y)
    ones = np.ones(len(y))
    assert model.model_.score(X, ones) == model.score(X, ones) == 0.0


@pytest.mark.parametrize(("loss", "bad"), [("poisson", -1.0), ("gamma", 0.0)])
def test_a_truth_without_deviance_is_refused(loss, bad):
    X, y, _ = rows_of(loss)
    model = SirusRegressor(loss=loss, n_rules=2, n_trees=50, random_state=0).fit(X, y)
    with pytest.raises(DataError, match="row 7"):
        model.metrics(X, y.where(y.index != 7, bad))
    with pytest.raises(DataError, match="row 7"):
        model.score(X, y.where(y.index != 7, bad))


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_cross_validation_agrees_with_scikit_learn(loss):
    X, y, weights = rows_of(loss)
    model = SirusRegressor(loss=loss, n_rules=3, n_trees=100, random_state=0).fit(X, y, sample_weight=weights)
    settings = model._settings()
    _, response, _ = model._read(X, y, weights)
    (folds,) = draw_folds(5, 1, response=response, groups=None, kept=np.ones(len(y), bool), seed=settings.seed)
    predicted = np.empty(len(y))
    for train, test in folds:
        fold = SirusRegressor(loss=loss, n_rules=3, n_trees=100, random_state=0)
        predicted[test] = fold.fit(X.iloc[train], y.iloc[train], sample_weight=weights[train]).predict(X.iloc[test])
    found = model.cross_validate(X, y, sample_weight=weights, cv=5).metrics
    power = POWER[loss]
    d2 = metrics.d2_tweedie_score(y, predicted, sample_weight=weights, power=power)
    assert found["d2"][0] == pytest.approx(d2, rel=1e-9)
    deviance = metrics.mean_tweedie_deviance(y, predicted, sample_weight=weights, power=power)
    assert found["mean_deviance"][0] == pytest.approx(deviance, rel=1e-9)
    # the same rows and predictions through the function behind `score`
    again = number_metrics([Predicted(predicted[:, None], y.to_numpy(), weights)], Loss(loss))
    assert found["unexplained_deviance"] == pytest.approx(again["unexplained_deviance"], rel=1e-9)


@pytest.mark.parametrize("n_stages", [1, "auto"])
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_the_error_of_tuning_is_the_unexplained_deviance_of_held_out_rows(loss, n_stages):
    X, y, weights = rows_of(loss)
    model = SirusRegressorCV(loss=loss, n_trees=50, n_repeats=1, cv=3, n_stages=n_stages, random_state=0)
    model.fit(X, y, sample_weight=weights)
    metrics = model.model_.out_of_fold.metrics
    assert model.model_.family.error_name == "unexplained deviance"
    assert metrics["unexplained_deviance"][0] == pytest.approx(model.cv_error_, rel=1e-9)
    assert metrics["d2"][0] == pytest.approx(1 - model.cv_error_, rel=1e-9)


def test_the_report_judges_counts_by_deviance():
    X, y, weights = rows_of("poisson")
    model = SirusRegressor(loss="poisson", n_rules=3, n_trees=100, random_state=0).fit(X, y, sample_weight=weights)
    found = summary(model, X, y=y, sample_weight=weights)["inSample"]
    d2 = metrics.d2_tweedie_score(y, model.predict(X), sample_weight=weights, power=1)
    assert found["metrics"][0][:2] == ["D²", f"{d2:.3f}"]
    assert found["explained"] == {"what": "deviance", "name": "D²", "share": pytest.approx(d2, rel=1e-8)}
    assert "R²" not in json.dumps(found, ensure_ascii=False)


def test_the_trail_of_edits_names_the_deviance():
    X, y, weights = rows_of("poisson")
    model = SirusRegressor(loss="poisson", n_rules=3, n_trees=100, random_state=0).fit(X, y, sample_weight=weights)
    edited = model.adding("age < 50", X, y, weights)
    (edit,) = edited.facts["edits"]
    assert edit["error"]["name"] == "unexplained_deviance on the rows given"
    assert edit["error"]["before"] == pytest.approx(1 - model.score(X, y, weights))

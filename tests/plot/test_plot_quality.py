"""Curves of classifiers: what is drawn is what scikit-learn computes of the same rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, plot
from pysirus._parameters import ParameterError

RNG = np.random.default_rng(3)
X = pd.DataFrame(RNG.normal(size=(300, 3)), columns=list("abc"))
Y = pd.Series(np.where(X["a"] + RNG.normal(size=300) > 0.4, "yes", "no"))
CURVES = (plot.calibration, plot.roc, plot.gain)


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return SirusClassifier(n_rules=4, n_trees=100, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def tuned():
    return SirusClassifierCV(n_trees=50, cv=3, n_repeats=1, max_rules=6, random_state=0).fit(X, Y)


def line(ax, number):
    return ax.lines[number].get_xydata()


@pytest.mark.parametrize("weights", [None, RNG.integers(1, 4, 300)])
def test_roc_is_that_of_scikit_learn(model, weights):
    drawn = line(plot.roc(model, X, Y, weights), 1)
    probability = model.predict_proba(X)[:, 1]
    false, hits, _ = roc_curve(Y == "yes", probability, sample_weight=weights, drop_intermediate=False)
    assert np.allclose(np.interp(false, drawn[:, 0], drawn[:, 1])[1:-1], hits[1:-1], atol=0.02)
    assert np.allclose(sorted(set(drawn[:, 0].round(9))), sorted(set(false.round(9))))
    area = roc_auc_score(Y == "yes", probability, sample_weight=weights)
    assert f"AUC {area:.2f}" == plot.roc(model, X, Y, weights).get_legend().get_texts()[0].get_text()


def test_gain_counts_rows_from_the_most_probable_on(model):
    drawn = line(plot.gain(model, X, Y), 2)
    probability, member = model.predict_proba(X)[:, 1], (Y == "yes").to_numpy()
    for threshold in np.unique(probability):
        chosen = probability >= threshold
        point = [chosen.mean(), member[chosen].sum() / member.sum()]
        assert np.isclose(drawn, point).all(axis=1).any()


def test_calibration_groups_rows_by_probability(model):
    ax = plot.calibration(model, X, Y, n_groups=2)
    probability, member = model.predict_proba(X)[:, 1], (Y == "yes").to_numpy()
    dots = ax.containers[0].lines[0].get_xydata()
    cut = (dots[0, 0] + dots[1, 0]) / 2
    for low, dot in zip((True, False), dots):
        rows = (probability < cut) == low
        assert np.allclose(dot, [probability[rows].mean(), member[rows].mean()])


@pytest.mark.parametrize("curve", CURVES)
def test_tuned_model_draws_its_held_out_rows(tuned, curve, plt):
    _, ax = plt.subplots()
    assert curve(tuned, ax=ax) is ax and "yes" in ax.get_ylabel()
    turned = curve(tuned, class_="no")
    assert "no" in turned.get_ylabel()


def test_curves_of_two_classes_are_each_other_turned_round(tuned):
    area = [plot.roc(tuned, class_=label).get_legend().get_texts()[0].get_text() for label in ("yes", "no")]
    assert area[0] == area[1]
    assert float(area[0].split()[1]) == pytest.approx(tuned.model_.out_of_fold.metrics["auc"][0], abs=0.02)


@pytest.mark.parametrize("curve", CURVES)
def test_curve_that_cannot_be_drawn_says_why(model, curve):
    with pytest.raises(ParameterError, match="keeps no held-out rows: tune it, or give"):
        curve(model)
    with pytest.raises(ParameterError, match="X and y together"):
        curve(model, X)
    with pytest.raises(ParameterError, match="rows that are yes and rows that are not"):
        curve(model, X[Y == "no"], Y[Y == "no"])
    with pytest.raises(ParameterError, match="is for classifiers"):
        curve(SirusRegressor(n_trees=10, random_state=0).fit(X, X["a"]), X, X["a"])

"""Figures of survival models: curves are those of Kaplan and Meier, and of the model."""

import numpy as np
import pytest

from pysirus import SirusRegressor, SirusSurvival, plot
from pysirus._weights.survival import kaplan_meier
from survival_table import survival_table

X, Y = survival_table()


@pytest.fixture(scope="module")
def model():
    return SirusSurvival(n_trees=100, n_rules=3, random_state=0).fit(X, Y)


@pytest.fixture(autouse=True)
def plt():
    """Imported where it is used: other workers collect these tests too."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_curves_inside_and_outside_a_rule(model):
    ax = plot.kaplan_meier(model, 0, X, Y)
    holds = model.rules_[0].holds(model.model_.align(X))
    for line, rows in zip(ax.lines, (holds, ~holds)):
        curve = kaplan_meier(Y["years"][rows], Y["event"][rows])
        assert np.allclose(line.get_xdata()[1:-1], curve.times) and np.allclose(line.get_ydata()[1:-1], curve.share)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[0] == f"if so: {Y['event'][holds].sum()} events in {holds.sum()} rows"
    assert model.rules_[0].condition_text.split()[0] in ax.get_title()
    assert plot.kaplan_meier(model, model.rules_[0], X, Y, sample_weight=np.full(len(X), 2.0)) is not None


def test_predicted_against_observed(model):
    ax = plot.predicted_survival(model, X, Y, n_groups=2)
    assert len(ax.get_legend().get_texts()) == 2
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    alive = model.predict_survival_function(X, return_array=True)
    low = model.predict(X) < np.median(model.predict(X))
    assert len(dashed) == 2 and dashed[0].get_ydata()[-1] == pytest.approx(alive[low][:, -1].mean(), abs=0.05)


def test_other_figures_take_survival_models(model):
    rules = plot.rules(model)
    assert "median years" in rules.get_xlabel()
    assert plot.effect(model, 0).get_ylabel() == "average logarithm of the hazard"
    assert "hazard ×" in plot.waterfall(model, X[:1]).get_yticklabels()[0].get_text()


def test_other_models_are_refused():
    numbers = SirusRegressor(n_trees=50, random_state=0).fit(X, Y["years"])
    with pytest.raises(ValueError, match="times to an event"):
        plot.kaplan_meier(numbers, 0, X, Y)

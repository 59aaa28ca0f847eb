"""Figures of a model: what is drawn is what the model says; axes in, axes out."""

import builtins
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hostile import COLOUR, KINDS, MARKUP, make_model, new_rows
from pysirus import SirusClassifierCV, SirusRegressor, SirusRegressorCV, plot
from pysirus._parameters import ParameterError
from pysirus._terms.listing import RuleSet
from pysirus._text.format import format_number
from pysirus._use.effect import effect
from pysirus.plot._rules import plain
from sampled import FULL

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category")


@pytest.fixture(autouse=True)
def plt():
    """Imported where it is used: other workers collect these tests too."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def model(ozone):
    return SirusRegressor(n_rules=10, n_trees=1000, random_state=0).fit(*ozone)


def texts(ax):
    return [t.get_text() for t in ax.get_yticklabels()]


def test_rules_have_a_line_each(model):
    ax = plot.rules(model)
    assert texts(ax) == [rule.condition_text for rule in model.rules_]
    outputs, *strips = ax.child_axes
    inside = outputs.collections[-1].get_offsets()[:, 0]
    assert np.allclose(inside, [rule.inside for rule in model.rules_])
    shown = [text.get_text() for text in strips[2].texts]
    assert shown == [*(format_number(rule.weight, 2) for rule in model.rules_), "weight"]


def test_many_levels_have_few_rows(rng):
    names = np.array([f"level {chr(97 + i // 5)}{'vwxyz'[i % 5]}" for i in range(40)])
    codes = rng.integers(0, 40, 500)
    X = pd.DataFrame({"city": names[codes]})
    model = SirusRegressor(n_rules=2, n_trees=50, random_state=0).fit(X, (codes < 12) + 0.1 * rng.random(500))
    ax = plot.effect(model, "city")
    assert 2 <= len(texts(ax)) <= 12 and any(text.endswith(" more") for text in texts(ax))
    points = ax.lines[-1].get_xdata()
    assert min(points) == pytest.approx(effect(model.model_, "city").values.min())
    assert ax.get_ylabel() == "city"


def test_negative_numbers_have_minus_signs(plt):
    model = make_model("linear terms").model_
    signs = [(-1) ** place for place in range(len(model.rules))]
    rules = RuleSet(replace(rule, weight=sign * abs(rule.weight)) for sign, rule in zip(signs, model.rules))
    shown = plot.rules(replace(model, selected=rules)).child_axes[-1].texts[:-1]
    assert [text.get_text().startswith("−") for text in shown] == [sign < 0 for sign in signs]
    assert not any("-" in text.get_text() for text in shown)


def test_the_axis_of_an_effect_ends_where_the_rows_end(model, ozone):
    X, _ = ozone
    for rows in (X, None):  # without rows the model remembers both ends and about where the deciles were
        ax = plot.effect(model, "temp", rows)
        assert ax.patches[0].get_data().edges[[0, -1]].tolist() == [X["temp"].min(), X["temp"].max()]
        deciles = ax.lines[-1].get_xdata()
        assert np.allclose(deciles, np.quantile(X["temp"], np.arange(1, 10) / 10), atol=2.5)


def test_pareto_has_stability_to_the_right_and_the_ideal_point_below(ozone):
    tuned = SirusRegressorCV(n_repeats=1, cv=3, n_trees=200, random_state=0).fit(*ozone)
    ax = plot.pareto(tuned)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("stability between folds", "unexplained variance")
    chosen, ideal = (ax.collections[k].get_offsets()[0].tolist() for k in (1, 2))
    facts = tuned.model_.facts
    assert chosen == pytest.approx([facts["cv_stability"], facts["cv_error"]]) and ideal == [0.9, 0.0]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"chosen: {len(tuned.rules_)} rules" in labels
    assert "per fold" not in " ".join(labels)
    path, stable = plot.tuning_path(tuned)
    assert stable.get_ylabel() == "stability between folds"
    assert all("selected" not in text.get_text() for text in path.texts)


def test_axes_are_taken_and_returned(model, ozone, plt):
    figure, axes = plt.subplots(1, 3)
    assert plot.rules(model, ax=axes[0]) is axes[0]
    assert plot.effect(model, "temp", ax=axes[1]) is axes[1]
    assert plot.waterfall(model, ozone[0][3:4], ax=axes[2]) is axes[2]
    assert len(plt.get_fignums()) == 1
    figure.canvas.draw()


def test_waterfall_ends_at_the_prediction(model, ozone):
    X, _ = ozone
    ax = plot.waterfall(model, X[12:13])
    bars = [bar for bar in ax.patches if bar.get_height() > 0.5]
    start = model.explain(X[12:13]).centred().baseline
    assert start + sum(bar.get_width() for bar in bars) == pytest.approx(model.predict(X[12:13])[0])
    assert len(bars) == len(model.rules_)
    assert plot.waterfall(model, model.explain(X)[12]) is not ax
    with pytest.raises(ValueError, match="one row, got 330"):
        plot.waterfall(model, X)


def test_effect_of_a_column_that_is_known_or_missing(rng):
    gaps = np.where(rng.random(100) < 0.3, np.nan, rng.random(100))
    model = SirusRegressor(n_rules=1, n_trees=100, random_state=0).fit(gaps[:, None], np.isnan(gaps) * 1.0)
    assert str(model.rules_[0]).startswith("if x0 is known")
    ax = plot.effect(model, "x0")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["known", "missing"]


def test_effect_draws_the_steps(model):
    ax = plot.effect(model, "temp")
    stairs = ax.patches[0]
    assert np.allclose(stairs.get_data().values, effect(model.model_, "temp").values)
    heat = plot.effect(model, ("temp", "ibh"))
    drawn = heat.collections[0].get_array()
    assert np.allclose(drawn.T, effect(model.model_, ("temp", "ibh")).values)


@pytest.mark.parametrize("kind", KINDS if FULL else ["regression", "classes"])
def test_hostile_names_are_drawn_as_text(kind):
    model = make_model(kind)
    colours = plot.effect(model, COLOUR, new_rows())
    for ax in (
        plot.rules(model),
        plot.waterfall(model, new_rows()[:1]),
        colours,
        plot.effect(model, ("a b", MARKUP), new_rows()),
    ):
        figure = ax.figure
        # a dollar sign would start mathematics, and fail here; pixels are drawn once
        if FULL or kind == "regression":
            figure.canvas.draw()
        else:
            figure.set_layout_engine("none")
            figure.draw_without_rendering()
    assert r"\textbf{a}" in [label.get_text() for label in colours.get_xticklabels()]


def test_class_to_draw_is_one_of_the_model(model):
    with pytest.raises(ParameterError, match="predicts numbers"):
        plot.rules(model, class_="high")
    with pytest.raises(ParameterError, match=r"class_ must be one of.*'blue'"):
        plot.rules(make_model("classes"), class_="blue")


def test_a_missing_library_is_named_with_its_extra(model, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install pysirus\[plot\]"):
        plot.rules(model)


def test_notebooks_show_tables(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/html"].count("<tr>") == len(model.rules_) + 1
    assert "mean O3" in bundle["text/html"] and "temp &lt; 66" in bundle["text/html"]
    assert "border-bottom:2px solid #1f5fa8" in bundle["text/html"] and "intercept" in bundle["text/html"]
    assert "intercept = −" in bundle["text/html"] and "intercept = -" in str(model)
    hostile = make_model("regression")._repr_html_()
    assert "&lt;script&gt;" in hostile and "&lt;img sr" in hostile
    assert set(re.findall(r"<\s*/?\s*([^\s>]*)", hostile)) == {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert "SirusRegressor" in SirusRegressor()._repr_mimebundle_()["text/html"]


def test_metrics_and_coverage_show_tables_in_notebooks(model, ozone):
    X, y = ozone
    season = np.where(X["doy"] < 183, "<b>first", "second")
    model.cross_validate(X, y, cv=3)
    for found, told in (
        (model.metrics(X, y), "mean absolute error"),
        (model.metrics(X, y, by=season), "&lt;b&gt;first"),
        (model.coverage(X), "temp &lt; 66"),
        (model.model_.out_of_fold, "3-fold cross-validation"),
    ):
        shown = found._repr_html_()
        assert told in shown and shown.count("<table") == 1
        assert set(re.findall(r"<\s*/?\s*([^\s>]*)", shown)) <= {"p", "br", "table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("kind", ["two scores", "four scores", "staged scores"])
def test_scores_are_drawn_as_points_and_probabilities(kind):
    model = make_model(kind).model_
    rows = new_rows()[:50]
    scale = "log-odds" if len(model.classes) == 2 else "score"
    last = model.classes[-1]
    rules = plot.rules(model)
    points = rules.child_axes[-1]
    assert points.texts[0].get_text() == plain(f"adds to {scale} of {last}")
    dots = points.collections[-1].get_offsets()[:, 0]
    k = len(model.classes) - 1
    added = [model.added(rule)[0] for rule in model.rules]
    np.testing.assert_allclose(dots, [side if scale == "log-odds" else side[k] for side in added], atol=1e-12)
    shares = rules.child_axes[0].collections[-1].get_offsets()[:, 0]
    np.testing.assert_allclose(shares, [rule.means[0][k] for rule in model.rules])  # also of corrections
    feature = model.rules[0].conditions[0].feature
    assert plot.effect(model, feature).get_ylabel() == plain(f"average {scale} of {last}")
    assert plot.effect(model, feature, rows).get_ylabel() == plain(f"average probability of {last}")
    ax = plot.waterfall(model, rows[:1], class_=last)
    assert ax.get_xlabel() == plain(f"{scale} of {last}")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-1] == f"prediction: {100 * model.predict_proba(rows[:1])[0, k]:.1f}%"


def test_the_error_of_likelihood_is_a_deviance(ozone):
    X, y = ozone
    model = SirusClassifierCV(n_repeats=1, cv=4, n_trees=50, max_rules=5, random_state=0).fit(X, y > 12)
    assert plot.tuning_path(model)[0].get_ylabel() == "unexplained deviance"
    assert plot.pareto(model).get_ylabel() == "unexplained deviance"

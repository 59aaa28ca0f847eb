"""Contributions sum to predictions; effects are partial dependences; importances are shares."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import COLOUR, KINDS, make_model, new_rows
from pysirus import SirusClassifier, SirusRegressor
from pysirus._parameters import ParameterError
from pysirus._use.effect import effect

pytestmark = pytest.mark.filterwarnings("ignore")


@st.composite
def problems(draw):
    """A small table with missing values and categories, a response of numbers or of classes."""
    seed, n_rows = draw(st.integers(0, 2**32 - 1)), draw(st.integers(20, 120))
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"x": random.normal(size=n_rows), "n": random.integers(0, 5, n_rows).astype(float)})
    X["c"] = pd.Series(random.choice(np.array(["a", "b", "c"], dtype=object), n_rows), dtype=object)
    if draw(st.booleans()):
        X.loc[random.random(n_rows) < 0.2, "x"] = np.nan
        X.loc[random.random(n_rows) < 0.2, "c"] = None
    signal = X["x"].fillna(0) + (X["c"] == "a") * 2 + X["n"] + random.normal(size=n_rows)
    n_classes = draw(st.sampled_from([0, 2, 3]))
    scale = draw(st.sampled_from([1e-6, 1.0, 1e6]))
    y = scale * signal if n_classes == 0 else pd.qcut(signal, n_classes, labels=False).to_numpy()
    return X, y, n_classes


@settings(max_examples=60)
@given(problems(), st.integers(1, 15), st.integers(1, 3))
def test_contributions_sum_to_the_prediction(problem, n_rules, max_depth):
    X, y, n_classes = problem
    estimator = SirusClassifier(weighting="equal") if n_classes else SirusRegressor()
    model = estimator.set_params(n_rules=n_rules, max_depth=max_depth, n_trees=50, random_state=0).fit(X, y)
    expected = model.predict_proba(X) if n_classes else model.predict(X)
    scale = max(1.0, float(np.abs(expected).max()))
    explanation = model.explain(X)
    for each in (explanation, explanation.centred()):
        total = each.baseline + each.contributions.sum(axis=1)
        assert np.abs(total - expected).max() <= 1e-9 * scale
        assert np.abs(each.prediction - expected).max() <= 1e-9 * scale
    table = model.model_.align(X)
    for r, rule in enumerate(model.rules_):
        assert (explanation.fired[:, r] == rule.holds(table)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_sum_for_every_kind_of_model(kind):
    model = make_model(kind).model_
    expected = model.decision(model.align(new_rows()))
    explanation = model.explain(new_rows())
    assert np.abs(explanation.prediction - expected).max() <= 1e-9
    assert np.abs(explanation.centred().prediction - expected).max() <= 1e-9
    frame = explanation.to_frame("pandas")
    keys = ["row"] if model.classes is None else ["row", "class"]
    total = frame.groupby(keys, sort=False)["contribution"].sum().to_numpy()
    assert np.abs(total - expected.ravel()).max() <= 1e-9


def test_centred_baseline_is_the_average_prediction(ozone):
    X, y = ozone
    model = SirusRegressor(n_rules=8, n_trees=500, random_state=0).fit(X, y)
    centred = model.explain(X).centred()
    assert centred.baseline == pytest.approx(model.predict(X).mean(), abs=1e-9)
    assert np.abs(centred.contributions.mean(axis=0)).max() < 1e-9


@pytest.mark.parametrize("n_stages", [1, 3])
def test_averages_weigh_the_training_rows(ozone, n_stages):
    X, y = ozone
    weights = np.where(X["temp"] > 60, 3, 1)
    repeated = X.loc[np.repeat(X.index, weights)]
    model = SirusRegressor(n_rules=25, n_stages=n_stages, n_trees=1000, random_state=0).fit(X, y, weights)
    assert any(len(rule.conditions) > 1 for rule in model.rules_)
    centred = model.explain(repeated).centred()
    assert centred.baseline == pytest.approx(model.predict(repeated).mean(), abs=1e-9)
    assert np.abs(centred.contributions.mean(axis=0)).max() < 1e-9
    for features in ("temp", "doy", ("temp", "ibh")):
        without_table = effect(model.model_, features).values
        assert np.abs(without_table - effect(model.model_, features, repeated).values).max() < 1e-9


def test_averages_weigh_the_classes(ozone):
    X, y = ozone
    labels = np.digitize(y, [8, 20])
    balanced = {"class_weight": "balanced", "weighting": "equal"}
    model = SirusClassifier(n_rules=10, n_trees=1000, random_state=0, **balanced).fit(X, labels)
    weights = (1 / np.bincount(labels))[labels]
    centred = model.explain(X).centred()
    assert np.abs(centred.baseline - np.average(model.predict_proba(X), axis=0, weights=weights)).max() < 1e-9


def test_one_row_prints_its_rules(ozone):
    model = SirusRegressor(n_rules=3, n_trees=500, random_state=0).fit(*ozone)
    explanation = model.explain(ozone[0])[12]
    assert len(explanation) == 1
    lines = str(explanation).splitlines()
    assert lines[0] == "Contributions to O3, from the average training row"
    assert lines[1].split() == ["#", "applies", "rule", "input", "O3"] and lines[-1].split()[0] == "prediction"
    assert len(lines) == len(model.rules_) + 4
    with pytest.raises(IndexError, match="no row 330"):
        model.explain(ozone[0])[330]


def brute_force(model, index, column, X):
    """The mean prediction with a feature set to each value in turn."""
    table = model.align(X)
    means = []
    for i in range(len(column.values)):
        columns = list(table.columns)
        columns[index] = replace(column, values=np.repeat(column.values[i : i + 1], table.n_rows))
        means.append(model.decision(replace(table, columns=tuple(columns))).mean(axis=0))
    return np.array(means)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("feature", ["a b", COLOUR, "grade", "select"])
def test_effect_on_a_table_is_the_partial_dependence(kind, feature):
    model = make_model(kind).model_
    found = effect(model, feature, new_rows())
    (axis,) = found.axes
    expected = brute_force(model, axis.index, axis.column, new_rows())
    assert np.abs(found.values - expected).max() < 1e-9


def test_effect_is_a_step_function_everywhere(ozone):
    X, y = ozone
    model = SirusRegressor(n_rules=10, n_trees=1000, random_state=0).fit(X, y).model_
    found = effect(model, "temp", X)
    (axis,) = found.axes
    for value in np.linspace(X["temp"].min(), X["temp"].max(), 97):
        step = int(np.searchsorted(axis.edges, value, side="right"))
        changed = X.assign(temp=value)
        assert model.predict(changed).mean() == pytest.approx(found.values[step], abs=1e-9)


def test_effect_tells_neighbours_apart():
    draw = np.random.default_rng(0)
    small = np.array([1.0, np.nextafter(1, 2), np.nextafter(np.nextafter(1, 2), 2), 1.5])
    values = {"long": 2**60 + 512 * draw.integers(0, 3, 400), "near": small[draw.integers(0, 4, 400)]}
    for name, x in values.items():
        X = pd.DataFrame({name: x, "z": draw.normal(size=400)})
        y = sum(i * 1.0 * (x == value) for i, value in enumerate(np.unique(x))) + 0.1 * X["z"]
        model = SirusRegressor(n_rules=8, n_trees=300, random_state=0).fit(X, y).model_
        found = effect(model, name, X)
        edges = found.axes[0].edges
        assert len(edges) >= 2
        for value, step in zip([np.nextafter(edges[0], -np.inf), *edges], found.values):
            assert model.predict(X.assign(**{name: value})).mean() == pytest.approx(step, abs=1e-9)


def test_effect_without_a_table_uses_the_training_shares(ozone):
    X, y = ozone
    model = SirusRegressor(n_rules=15, n_trees=1000, random_state=0).fit(X, y).model_
    for features in ("temp", "ibh", ("temp", "ibh")):
        assert np.abs(effect(model, features).values - effect(model, features, X).values).max() < 1e-9


def test_effect_of_what_is_not_there_is_refused(ozone):
    model = SirusRegressor(n_rules=3, n_trees=200, random_state=0).fit(*ozone).model_
    with pytest.raises(ParameterError, match=r"'pressure'.*'vh'"):
        effect(model, "pressure")
    with pytest.raises(ParameterError, match="must differ"):
        effect(model, ("temp", "temp"))
    with pytest.raises(ParameterError, match="pass X"):
        effect(make_model("weighted mean").model_, "a b")


@pytest.mark.parametrize("kind", KINDS)
def test_importances_are_shares(kind):
    frame = make_model(kind).feature_importance("pandas")
    assert len(frame) == new_rows().shape[1]
    assert frame["gap"].sum() == pytest.approx(1) and (frame["gap"] >= 0).all()
    assert frame["gap"].is_monotonic_decreasing


def test_importance_by_hand(ozone):
    model = SirusRegressor(n_rules=10, n_trees=500, random_state=0).fit(*ozone)
    frame = model.feature_importance("pandas").set_index("feature")
    gap, frequency = {}, {}
    for rule in model.rules_:
        for condition in rule.conditions:
            n = len(rule.conditions)
            gap[condition.feature] = gap.get(condition.feature, 0) + rule.weight * abs(rule.inside - rule.outside) / n
            frequency[condition.feature] = frequency.get(condition.feature, 0) + rule.frequency / n
    for name in gap:
        assert frame.loc[name, "gap"] == pytest.approx(gap[name] / sum(gap.values()))
        assert frame.loc[name, "frequency"] == pytest.approx(frequency[name] / sum(frequency.values()))

"""Lists with slopes: what is selected, how it is weighed and read, and the same for every family and in parts."""

import numpy as np
import pandas as pd
import pytest

from pysirus import (
    SirusClassifier,
    SirusRegressor,
    SirusRegressorCV,
    SirusSurvival,
)
from pysirus._parameters import ParameterError
from pysirus._terms.slope import Slope

LISTS = {"n_rules": 1, "n_stages": 5, "n_trees": 300, "slopes": True, "random_state": 0}


def a_table(n=400, seed=0):
    """A line in `line` (some missing), a step in `step`, a column of few values, categories and noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "line": rng.uniform(20, 90, n),
            "step": rng.normal(size=n),
            "few": rng.integers(0, 5, n),
            "level": rng.choice(list("abc"), n),
            "noise": rng.exponential(size=n),
        }
    )
    X.loc[rng.random(n) < 0.05, "line"] = np.nan
    score = 0.05 * (X["line"].fillna(55) - 55) + 1.2 * (X["step"] >= 0.3)
    return X, score, rng


def slopes_in(model):
    return [term for term in model.selected_ if not term.is_binary]


def test_a_line_becomes_one_slope_and_a_step_one_rule():
    X, score, rng = a_table()
    y = score + 0.1 * rng.normal(size=len(X))
    model = SirusRegressor(**LISTS | {"n_stages": 2}).fit(X, y)
    slope, rule = sorted(model.selected_, key=lambda term: term.is_binary)
    assert slope.key == ("slope", "line") and rule.features == ("step",)
    assert slope.slope == pytest.approx(0.05, rel=0.05) and slope.inside * slope.weight == pytest.approx(
        slope.slope, rel=0.02
    )
    assert slope.n_inside == X["line"].notna().sum() and slope.n_outside == X["line"].isna().sum()
    assert abs(slope.lower - X["line"].min()) < 0.05 and abs(slope.upper - X["line"].max()) < 0.05
    # the prediction by hand, from what is printed
    held = X["line"].clip(slope.lower, slope.upper).sub(slope.mean).fillna(0.0)
    outputs = np.where(rule.values(model._model.align(X)) > 0, rule.inside, rule.outside)
    by_hand = model._model.intercept + slope.slope * held + rule.weight * outputs
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-9)
    assert model.predict(X).mean() == pytest.approx(y.mean(), abs=1e-4 * y.std())


def test_beyond_the_range_and_where_a_value_is_missing_nothing_changes():
    X, score, rng = a_table()
    model = SirusRegressor(**LISTS).fit(X, score + 0.1 * rng.normal(size=len(X)))
    (slope,) = slopes_in(model)
    row = X.iloc[[3]]
    ends = [model.predict(row.assign(line=value))[0] for value in (-1e9, slope.lower, slope.upper, 1e9)]
    assert ends[0] == ends[1] and ends[2] == ends[3] and ends[0] < ends[2]
    at_mean, missing = (model.predict(row.assign(line=value))[0] for value in (slope.mean, np.nan))
    if not any(condition.feature == "line" for term in model.selected_ for condition in term.conditions):
        assert at_mean == missing


def test_a_column_has_one_slope_and_only_numbers_with_many_values_have_one():
    X, score, rng = a_table()
    model = SirusRegressor(**LISTS | {"n_stages": 12}).fit(X, score + 0.3 * rng.normal(size=len(X)))
    columns = [slope.feature for slope in slopes_in(model)]
    assert len(columns) == len(set(columns)) and set(columns) <= {"line", "step", "noise"}


def test_without_slopes_lists_are_what_they_were():
    X, score, rng = a_table()
    y = score + 0.1 * rng.normal(size=len(X))
    plain = SirusRegressor(**LISTS | {"slopes": False}).fit(X, y)
    assert SirusRegressor(n_rules=1, n_stages=5, n_trees=300, random_state=0).slopes is False
    assert all(term.is_binary for term in plain.selected_)


def test_slopes_need_stages():
    X, score, _ = a_table(60)
    for estimator in (SirusRegressor(slopes=True), SirusRegressorCV(slopes=True)):
        with pytest.raises(ParameterError, match="needs stages"):
            estimator.fit(X, score)
    with pytest.raises(ParameterError, match="where nothing is tuned"):
        SirusRegressor(n_stages=2, slopes="auto").fit(X, score)
    with pytest.raises(ParameterError, match="slopes must be"):
        SirusRegressor(n_stages=2, slopes="yes").fit(X, score)
    with pytest.raises(ParameterError, match="n_stages"):
        SirusClassifier(n_stages=2, slopes=True, weighting="equal").fit(X, score > 0)


def test_directions_are_signs_of_slopes_and_forbidden_columns_have_none():
    X, score, rng = a_table()
    y = score + 0.1 * rng.normal(size=len(X))
    falls = SirusRegressor(**LISTS, monotonic_cst={"line": -1}).fit(X, y)
    assert all(slope.feature != "line" for slope in slopes_in(falls))
    rises = SirusRegressor(**LISTS, monotonic_cst={"line": 1}).fit(X, y)
    assert [slope.feature for slope in slopes_in(rises)][:1] == ["line"]
    never = SirusRegressor(**LISTS, forbidden=["line"]).fit(X, y)
    assert all("line" not in term.features for term in never.selected_)
    no_slope = SirusRegressor(**LISTS, forbidden=[Slope("line")]).fit(X, y)
    assert all(slope.feature != "line" for slope in slopes_in(no_slope))
    assert any("line" in term.features for term in no_slope.selected_)


def test_slopes_with_too_few_known_rows_are_not_selected():
    X, score, rng = a_table()
    y = score + 0.1 * rng.normal(size=len(X))
    model = SirusRegressor(**LISTS, min_samples_leaf=390).fit(X, y)
    assert all(slope.feature != "line" for slope in slopes_in(model))


def test_required_slopes_come_first_and_a_fixed_one_is_an_offset():
    X, score, rng = a_table()
    y = score + 0.1 * rng.normal(size=len(X))
    model = SirusRegressor(**LISTS, required_rules=[Slope("few"), "step >= 0.3"]).fit(X, y)
    first, second = model.selected_[:2]
    assert first.key == ("slope", "few") and first.given and second.given and second.features == ("step",)
    assert first.inside == pytest.approx(np.polyfit(X["few"], y, 1)[0], rel=1e-3)
    from dataclasses import replace

    from pysirus._terms.fitted import read_effect
    from pysirus._terms.slope import FittedSlope

    fixed = replace(FittedSlope("noise"), effect=read_effect("+0.5"))
    model = SirusRegressor(**LISTS, required_rules=[fixed]).fit(X, y + 0.5 * X["noise"])
    own = model.selected_[0]
    assert own.weight == 1.0 and own.slope == 0.5 and own.effect is not None
    left = model.predict(X) - 0.5 * (X["noise"].clip(own.lower, own.upper) - own.mean)
    assert np.corrcoef(left, X["noise"])[0, 1] == pytest.approx(0.0, abs=0.1)
    for bad, said in (("level", "categories"), ("nothing", "not a column")):
        with pytest.raises(ParameterError, match=said):
            SirusRegressor(**LISTS, required_rules=[Slope(bad)]).fit(X, y)
    with pytest.raises(ParameterError, match="has a slope already"):
        SirusRegressor(**LISTS, required_rules=[Slope("few"), Slope("few")]).fit(X, y)


def test_sample_weights_are_repeated_rows():
    X, score, rng = a_table(150)
    y = score + 0.1 * rng.normal(size=len(X))
    weights = rng.integers(1, 4, len(X)).astype(float)
    model = SirusRegressor(**LISTS | {"n_stages": 2}).fit(X, y, sample_weight=weights)
    slope = next(iter(slopes_in(model)))
    assert slope.mean == pytest.approx(
        np.repeat(X[slope.feature].dropna(), weights[X[slope.feature].notna()].astype(int)).mean(), rel=2e-3
    )


FAMILIES = {
    "poisson": lambda score, rng: rng.poisson(np.exp(score)).astype(float),
    "gamma": lambda score, rng: rng.gamma(4, np.exp(score) / 4) + 1e-3,
    "tweedie": lambda score, rng: rng.gamma(4, np.exp(score) / 4) * (rng.random(len(score)) < 0.7),
}


@pytest.mark.parametrize("loss", FAMILIES)
def test_counts_and_amounts_have_slopes(loss):
    X, score, rng = a_table(600)
    y = FAMILIES[loss](score.to_numpy(), rng)
    model = SirusRegressor(**LISTS, loss=loss).fit(X, y)
    slope = next(own for own in slopes_in(model) if own.feature == "line")
    assert slope.slope == pytest.approx(0.05, rel=0.25) and slope.multiplies
    plain = SirusRegressor(**LISTS | {"slopes": False}, loss=loss).fit(X, y)
    assert model.score(X, y) > plain.score(X, y) - 0.02
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.02)


def test_two_classes_have_slopes_of_log_odds():
    X, score, rng = a_table(800)
    y = rng.random(len(X)) < 1 / (1 + np.exp(-2 * (score - 0.5)))
    model = SirusClassifier(**LISTS).fit(X, y)
    slope = next(own for own in slopes_in(model) if own.feature == "line")
    below, above = slope.slope
    assert below == -above and above - below == pytest.approx(0.1, rel=0.3)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)


def test_several_classes_have_a_slope_each_which_sum_to_zero():
    X, score, rng = a_table(900)
    noise = rng.gumbel(size=(len(X), 3))
    y = np.array(list("uvw"))[(np.column_stack([score * 1.5, 0 * score, -score]) + noise).argmax(axis=1)]
    model = SirusClassifier(**LISTS).fit(X, y)
    slope = next(own for own in slopes_in(model) if own.feature == "line")
    assert len(slope.slope) == 3 and sum(slope.slope) == pytest.approx(0, abs=1e-12) and slope.slope[0] > slope.slope[2]


def test_survival_has_slopes_of_the_log_hazard():
    X, score, rng = a_table(500)
    time = rng.exponential(np.exp(-score))
    y = np.empty(len(X), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time < 1.5, np.minimum(time, 1.5)
    model = SirusSurvival(**LISTS).fit(X, y)
    slope = next(own for own in slopes_in(model) if own.feature == "line")
    assert slope.slope == pytest.approx(0.05, rel=0.25) and slope.survival is None


def test_tuning_compares_lists_with_slopes_and_without():
    X, score, rng = a_table(250)
    y = score + 0.2 * rng.normal(size=len(X))
    given = {"n_stages": "auto", "max_rules": 6, "n_repeats": 1, "cv": 4, "n_trees": 300, "random_state": 0}
    auto, yes, no = (SirusRegressorCV(**given, slopes=own).fit(X, y) for own in ("auto", True, False))
    assert SirusRegressorCV().slopes == "auto"
    assert auto.cv_error_ == yes.cv_error_ < no.cv_error_ and slopes_in(auto) and not slopes_in(no)
    for model in auto.models_:
        assert model.predict(X).mean() == pytest.approx(y.mean(), abs=1e-3)
    steps = SirusRegressorCV(**given).fit(X, np.where(X["step"] >= 0.3, 1.0, 0.0) + 0.01 * rng.normal(size=len(X)))
    assert not slopes_in(steps)


def test_threads_change_nothing():
    X, score, rng = a_table()
    y = score + 0.2 * rng.normal(size=len(X))
    one, two = (SirusRegressor(**LISTS, n_jobs=n).fit(X, y) for n in (1, 2))
    assert [t.key for t in one.selected_] == [t.key for t in two.selected_]
    assert np.array_equal(one.predict(X), two.predict(X))

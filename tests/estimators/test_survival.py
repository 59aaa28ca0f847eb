"""SirusSurvival: scikit-survival's interface, what rules say, bad input, and that fits are what they should be."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pysirus
from pysirus import DataError, SirusSurvival, SirusSurvivalCV
from pysirus._families.row_metrics import count_pairs
from pysirus._weights.survival import cox_residuals, risk_sets
from survival_table import COLUMNS, survival_table, target

FAST = {"n_trees": 100, "n_rules": 4, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return survival_table()


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    return SirusSurvival(**FAST).fit(pd.DataFrame(X, columns=COLUMNS), y)


@pytest.fixture(scope="module")
def tuned(data):
    X, y = data
    return SirusSurvivalCV(n_trees=100, n_stages="auto", max_rules=5, cv=3, n_repeats=1, random_state=0).fit(X, y)


def test_score_is_the_concordance_of_predictions(data, model):
    X, y = data
    C = count_pairs(y["years"], y["event"], model.predict(X)).concordance
    assert model.score(X, y) == pytest.approx(C)
    assert C > 0.65


def test_survival_functions_are_those_of_the_score(data, model):
    X, y = data
    rows = X[:5]
    hazard = model.predict_cumulative_hazard_function(rows, return_array=True)
    alive = model.predict_survival_function(rows, return_array=True)
    assert hazard.shape == (5, len(model.unique_times_))
    assert np.array_equal(model.unique_times_, np.unique(y["years"][y["event"]]))
    assert np.array_equal(model.event_times_, model.unique_times_)
    assert np.allclose(alive, np.exp(-hazard), rtol=1e-12)
    ratio = np.exp(model.predict(rows[:1]) - model.predict(rows[1:2]))
    assert np.allclose(hazard[0], ratio * hazard[1], rtol=1e-12)
    first = model.predict_survival_function(rows)[0]
    assert np.array_equal(first.x, model.unique_times_) and np.array_equal(first.y, alive[0])
    assert first(0.0) == 1.0 and first(1e9) == alive[0, -1]
    middle = (first.x[3] + first.x[4]) / 2
    assert first(middle) == first(first.x[3]) == alive[0, 3]
    assert np.array_equal(first([0.0, middle]), [1.0, alive[0, 3]])
    assert model.predict_cumulative_hazard_function(rows)[0](0.0) == 0.0
    with pytest.raises(ValueError, match="times from 0 on"):
        first(-1.0)


def test_expected_events_are_those_observed(data, model):
    X, y = data
    functions = model.predict_cumulative_hazard_function(X)
    assert sum(f(t) for f, t in zip(functions, y["years"])) == pytest.approx(y["event"].sum(), rel=1e-9)


def test_scores_are_zero_on_average(data, model):
    assert model.predict(data[0]).mean() == pytest.approx(0, abs=1e-10)


def test_weights_are_where_the_penalised_likelihood_is_largest(data, model):
    X, y = data
    rules, w = model.rules_, np.array([rule.weight for rule in model.rules_])
    table = model.model_.align(X)
    g = np.array([np.where(rule.holds(table), rule.inside, rule.outside) for rule in rules])
    risk = risk_sets(y["years"], y["event"])
    slope = g @ cox_residuals(risk, model.predict(X))[0][:, 0] / y["event"].sum()
    assert slope == pytest.approx(model.ridge_penalty_ * w, rel=1e-6)


def test_a_rule_reads_medians_events_and_factors(model):
    rule = next(
        rule for rule in model.rules_ if rule.condition_text == "nodes >= 4" or rule.condition_text == "nodes < 4"
    )
    assert str(rule).startswith(f"if {rule.condition_text} then median ")
    assert "(hazard ×" in str(rule)
    inside, outside = rule.survival
    assert inside.n_events + outside.n_events == model.model_.survival.n_events
    text = str(model)
    assert "years until event: median" in text and "each rule multiplies the hazard" in text
    assert f"{inside.n_events} / {outside.n_events}" in text
    assert " years else " in text
    frame = model.rules_.to_frame()
    assert {"median_inside", "events_outside", "adds_inside"} <= set(frame.columns)


def test_a_median_that_is_not_reached_is_said_so():
    X = np.repeat([0.0, 1.0], 40)[:, None]
    times = np.concatenate([np.linspace(1, 2, 40), np.linspace(3, 4, 40)])
    events = np.concatenate([np.ones(40, bool), np.arange(40) % 10 == 0])
    (rule,) = SirusSurvival(n_trees=50, n_rules=1, random_state=0).fit(X, target(events, times)).rules_
    assert "not reached" in str(rule)
    assert rule.survival[rule.survival[0].median is not None].median is None


def test_y_may_be_a_structured_array_two_columns_or_a_frame(data, model):
    X, y = data
    expected = model.predict(X)
    both = np.column_stack([y["event"], y["years"]])
    forms = [
        both,
        both[:, ::-1],
        both.tolist(),
        pd.DataFrame({"event": y["event"].astype(int), "years": y["years"]}),
        pd.DataFrame({"years": y["years"], "event": y["event"]}),
        pl.DataFrame({"event": y["event"], "years": y["years"]}),
        pd.DataFrame({"event": np.where(y["event"], "true", "false"), "years": y["years"]}),
        target(y["event"], y["years"], ("years", "event"))[["years", "event"]],
    ]
    for form in forms:
        assert np.array_equal(SirusSurvival(**FAST).fit(X, form).predict(X), expected)
        assert model.score(X, form) == model.score(X, y)
    assert SirusSurvival(**FAST).fit(X, forms[4]).model_.target == "years"


def frame(y, **columns):
    return pd.DataFrame({"status": y["event"].astype(int), "days": y["years"], **columns})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: frame(y).assign(status=2), r"'status' must be 0 or 1, or true or false, found 2"),
        (lambda y: frame(y).assign(status=0), "no events in 'status'"),
        (lambda y: frame(y).assign(days=-1.0), r"'days' must be above 0, found -1 in row 0 and 199 more"),
        (lambda y: frame(y).assign(days=0.0), "'days' must be above 0"),
        (lambda y: frame(y).assign(days=np.nan), "'days' is missing or infinite in row 0"),
        (lambda y: frame(y).assign(days="late"), "'days' must be numbers, found 'late'"),
        (lambda y: frame(y).assign(days=pd.Timestamp("2020-01-01")), "'days' holds dates"),
        (lambda y: frame(y).assign(status=None), "'status' is missing in row 0"),
        (lambda y: frame(y).assign(more=1), "Found 3 columns: status, days, more"),
        (lambda y: y["years"], "an event and a time for each row"),
        (lambda y: y[:-1], "the table has 200"),
        (lambda y: None, "requires y to be passed"),
    ],
)
def test_bad_targets_are_refused_by_name(data, change, message):
    X, y = data
    with pytest.raises(DataError, match=message):
        SirusSurvival(**FAST).fit(X, change(y))


def test_the_advice_for_other_flags_works(data):
    X, y = data
    coded = frame(y).assign(status=np.where(y["event"], 2, 1))
    with pytest.raises(DataError, match="event=2"):
        SirusSurvival(**FAST).fit(X, coded)
    assert SirusSurvival(**FAST, event=2).fit(X, coded).rules_


def test_a_row_twice_is_a_row_of_weight_two():
    X, y = survival_table(120, ties=3)
    weights = np.random.default_rng(1).integers(1, 3, 120)
    one = SirusSurvival(**FAST).fit(X, y, sample_weight=weights)
    again = np.repeat(np.arange(120), weights)
    rules = one.selected_
    for rule in rules:  # outputs and outcomes
        holds = rule.holds(one.model_.align(X[again]))
        assert rule.survival[0].median == pytest.approx(_median(y[again][holds]))
    two = SirusSurvival(**FAST).fit(X[again], y[again])
    common = {r.key: r for r in two.selected_}
    shared = [(r, common[r.key]) for r in rules if r.key in common]
    assert shared
    assert all(a.inside == pytest.approx(b.inside, abs=1e-12) for a, b in shared)


def _median(y):
    from pysirus._weights.survival import kaplan_meier

    return kaplan_meier(y["years"], y["event"]).median


def test_rows_of_weight_zero_may_hold_anything(data):
    X, y = data
    bad = y.copy()
    bad["years"][:20] = -1.0
    weights = np.ones(len(y))
    weights[:20] = 0
    found = SirusSurvival(**FAST).fit(X, bad, sample_weight=weights)
    assert np.array_equal(found.predict(X), SirusSurvival(**FAST).fit(X[20:], y[20:]).predict(X))


@pytest.mark.filterwarnings("ignore:There are no rules")
@pytest.mark.parametrize("case", ["one event", "ties everywhere", "all at once", "few rows"])
def test_extremes_have_sane_answers(case):
    X, y = survival_table(60)
    if case == "one event":
        y["event"] = np.arange(60) == 7
    elif case == "ties everywhere":
        y["years"] = np.ceil(y["years"] / 2)
    elif case == "all at once":
        y["years"], y["event"] = 1.0, True
    else:
        X, y = X[:6], y[:6]
    for estimator in (
        SirusSurvival(**FAST, n_stages=2),
        SirusSurvivalCV(n_trees=50, max_rules=3, cv=3, n_repeats=1, n_stages="auto", random_state=0),
    ):
        estimator.fit(X, y)
        assert np.isfinite(estimator.predict(X)).all()
        alive = estimator.predict_survival_function(X, return_array=True)
        assert ((alive >= 0) & (alive <= 1)).all() and (np.diff(alive, axis=1) <= 0).all()
        assert 0 <= estimator.score(X, y) <= 1


def test_a_fold_without_events_counts_no_pairs():
    X, y = survival_table(60)
    y["event"] = np.arange(60) < 20
    folds = [(np.setdiff1d(np.arange(60), test), test) for test in np.split(np.arange(60), 3)]
    model = SirusSurvivalCV(n_trees=50, max_rules=3, cv=folds, n_repeats=1, random_state=0).fit(X, y)
    assert 0 <= model.cv_error_ <= 2
    with pytest.warns(UserWarning, match="no rules"):
        SirusSurvival(**FAST).fit(X, target(np.ones(60, bool), np.ones(60)))


def test_tuning_reports_the_pooled_concordance(data, tuned):
    assert tuned.model_.family.error_name == "2 (1 - concordance)"
    C = tuned.model_.out_of_fold.metrics["concordance"][0]
    assert tuned.cv_error_ == pytest.approx(2 * (1 - C))
    assert 0.55 < C < 1
    assert len(tuned.models_) == len(tuned.with_rules(2).tuning.sizes)


def test_each_size_of_a_tuned_list_has_its_own_baseline(data, tuned):
    X, y = data
    for k in (1, 2):
        small = tuned.with_rules(k)
        functions = small.predict_cumulative_hazard_function(X)
        assert sum(f(t) for f, t in zip(functions, y["years"])) == pytest.approx(y["event"].sum(), rel=1e-9)


def test_files_and_pickles_predict_the_same(data, model, tuned, tmp_path):
    X, _ = data
    for estimator in (model, tuned):
        estimator.save(tmp_path / "m.json")
        for other in (pysirus.load(tmp_path / "m.json"), pickle.loads(pickle.dumps(estimator))):
            assert type(other) is type(estimator)
            assert other.model_ == estimator.model_
            assert str(other) == str(estimator)
            for name in ("predict_survival_function", "predict_cumulative_hazard_function"):
                assert np.array_equal(getattr(other, name)(X, True), getattr(estimator, name)(X, True))


def test_many_times_are_thinned(tmp_path):
    draw = np.random.default_rng(0)
    X, times = draw.normal(size=(2500, 1)), draw.exponential(size=2500) + 0.1
    model = SirusSurvival(n_trees=20, n_rules=1, random_state=0).fit(X, target(np.ones(2500, bool), times))
    assert len(model.unique_times_) == 2000
    assert model.unique_times_[[0, -1]].tolist() == [times.min(), times.max()]
    model.save(tmp_path / "m.json")
    assert np.array_equal(pysirus.load(tmp_path / "m.json").unique_times_, model.unique_times_)


def test_scikit_learns_tools_work(data):
    X, y = data
    estimator = SirusSurvival(**FAST)
    assert clone(estimator).get_params() == estimator.get_params()
    assert cross_val_score(estimator, X, y, cv=3).mean() > 0.55
    pipe = make_pipeline(StandardScaler(), SirusSurvival(**FAST)).fit(X, y)
    assert pipe.score(X, y) > 0.65
    search = GridSearchCV(estimator, {"n_rules": [1, 3]}, cv=3).fit(X, y)
    assert search.best_params_["n_rules"] in (1, 3)
    assert not hasattr(estimator, "unique_times_")
    held_out = estimator.cross_validate(X, y, cv=StratifiedKFold(3))
    assert 0.5 < held_out.metrics["concordance"][0] < 1


def test_jobs_and_the_order_of_columns_in_y_change_nothing(data, tuned):
    X, y = data
    again = clone(tuned).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(again.predict(X), tuned.predict(X))


def test_rows_in_parts_are_refused_with_advice(tmp_path):
    with pytest.raises(ValueError, match="Give fit the files"):
        SirusSurvival().fit_files(tmp_path / "x.parquet", "time")


def test_the_hazard_can_be_made_to_rise_with_a_column(data):
    X, y = data
    model = SirusSurvival(**{**FAST, "n_rules": 8}, monotonic_cst=[1, 0, -1]).fit(X, y)
    rows = np.tile(X[:1], (10, 1))
    rows[:, 0] = np.arange(10)
    assert (np.diff(model.predict(rows)) >= -1e-12).all()
    assert any(c.feature == "x0" or c.index == 0 for rule in model.rules_ for c in rule.conditions)


def test_lists_are_edited_with_the_training_rows(data, model, tuned):
    X, y = data
    with pytest.raises(ValueError, match="Give X and y"):
        model.without(1)
    less = model.without(1, X, y)
    assert len(less.selected) == len(model.selected_) - 1
    same = model.with_rules(len(model.selected_), X, y)
    assert np.allclose(same.predict(X), model.predict(X), rtol=1e-9)
    assert np.allclose(same.predict_survival_function(X, True), model.predict_survival_function(X, True), rtol=1e-9)
    for edited in (less, model.with_rules(0, X, y), model.adding(["grade >= 3"], X, y)):
        functions = edited.predict_cumulative_hazard_function(X)
        assert sum(f(t) for f, t in zip(functions, y["years"])) == pytest.approx(y["event"].sum(), rel=1e-9)
    assert "shifted" in str(model.diff(less)) and "hazard" in str(model.diff(less))
    with pytest.raises(ValueError, match="times to an event"):
        model.diff(pysirus.SirusRegressor(n_trees=50, random_state=0).fit(X, y["years"]))


def test_explanations_multiply_to_the_hazard(data, model):
    X, _ = data
    explanation = model.explain(pd.DataFrame(X, columns=COLUMNS)[:3])
    assert np.allclose(explanation.prediction, model.predict(X[:3]), rtol=1e-12)
    assert "×" in str(explanation) and "hazard" in str(explanation)
    assert np.allclose(explanation.running[:, -1], model.predict(X[:3]))

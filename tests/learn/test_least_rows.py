"""No rule rests on fewer rows than asked for, by default five in stages: the next frequent path is taken."""

import warnings

import numpy as np
import pandas as pd
import pytest

from parts import assert_equal_models, assert_equal_tuning, fit_parts
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvival
from pysirus._data.table import read_table
from pysirus._families.responses import NumberResponse
from pysirus._learn.fit import LEAST_ROWS
from pysirus._learn.grow import Limits, Settings, bin_rows, select_rules
from pysirus._terms.rule import rules_of
from pysirus._weights.weighted import holds_in_bins
from survival_table import target

pytestmark = pytest.mark.filterwarnings("ignore:Nothing was learned", "ignore:No rule of the full data")
SMALL = {"n_trees": 200, "random_state": 0}
TUNED = {**SMALL, "n_repeats": 1, "cv": 3, "max_rules": 6, "n_stages": "auto", "criterion": "error"}


def table(n_odd, n_rows=240, seed=0):
    """A step in ``x``, a slope in ``z``, and ``n_odd`` rows that ``odd`` tells from the others and that are far off."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(size=n_rows), "z": rng.normal(size=n_rows), "odd": 0})
    X.loc[rng.permutation(n_rows)[:n_odd], "odd"] = 1
    y = 10.0 * (X["x"] > 0) + 1.5 * X["z"] + 40.0 / np.sqrt(n_odd) * X["odd"] + 0.1 * rng.normal(size=n_rows)
    return X, pd.Series(y, name="y")


def corrections(model):
    return [rule for rule in model.selected_ if rule.stage > 1]


def support(model):
    rows = ((rule.n_inside, rule.n_outside) if rule.is_binary else (rule.n_inside,) for rule in model.selected_)
    return min(map(min, rows))  # of a slope the known ones


def holds(rule, X):
    return rule.holds(read_table(X))


def uses(rules, name):
    return [rule for rule in rules if any(c.feature == name for c in rule.conditions)]


@pytest.mark.parametrize("post_treatment", ["sample", "paper"])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("n_odd", [1, 4, 5])
def test_a_correction_has_five_rows_on_either_side(n_odd, flip, post_treatment):
    X, y = table(n_odd)
    X["odd"] = 1 - X["odd"] if flip else X["odd"]  # few rows inside, or few outside
    common = {**SMALL, "n_rules": 1, "n_stages": 4, "max_depth": 1, "post_treatment": post_treatment}
    model = SirusRegressor(**common).fit(X, y)
    assert len(corrections(model)) == 3 and not uses(model.selected_[:1], "odd")
    assert all(min(rule.n_inside, rule.n_outside) >= LEAST_ROWS for rule in corrections(model))
    assert bool(uses(corrections(model), "odd")) == (n_odd >= LEAST_ROWS)
    if n_odd < LEAST_ROWS:  # a path is as if it were not there, and trees are the same
        forbidden = SirusRegressor(**common, forbidden=["odd < 1"]).fit(X, y)
        assert [rule.frequency for rule in model.selected_] == [rule.frequency for rule in forbidden.selected_]
        assert [str(rule) for rule in model.selected_] == [str(rule) for rule in forbidden.selected_]


@pytest.mark.parametrize("least", [0, 5, 12])
@pytest.mark.parametrize("n_rules", [1, 6, 15])
@pytest.mark.parametrize("seed", [0, 1])
def test_kept_rules_are_those_of_a_loop_over_paths(least, n_rules, seed):
    """Path by path: enough rows, and no combination of the constant and of what was kept, by its rank on the rows."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 3, 60), "b": rng.poisson(0.3, 60), "c": rng.normal(size=60)})
    response = NumberResponse(np.asarray(X["a"] * X["b"] + rng.normal(size=60)))
    training = bin_rows(read_table(X), response, "y", Settings(seed=3))
    paths = training.forest(Settings(seed=3).recipe(60)).grow_to(300).paths()
    columns, expected = [np.ones(60)], []
    for rule in rules_of(paths, range(len(paths.counts)), training.binned):
        holds = holds_in_bins(rule, training.binned).astype(float)
        if min(holds.sum(), 60 - holds.sum()) < least:
            continue
        if np.linalg.matrix_rank(np.column_stack([*columns, holds])) == len(columns) + 1 and len(expected) < n_rules:
            columns.append(holds)
            expected.append(rule)
    kept = select_rules(training, paths, Limits(n_rules, min_rows=least))
    assert [rule.key for rule in kept.rules] == [rule.key for rule in expected]
    assert kept.moments.rows.tolist() == [int(column.sum()) for column in columns[1:]]


def test_one_stage_is_the_papers_and_the_first_of_several_has_five_rows_too():
    X, y = table(2)
    y = y + 300 * X["odd"]
    one, more = (SirusRegressor(**SMALL, n_rules=2, n_stages=n).fit(X, y) for n in (1, 3))
    assert support(one) == 2 and support(more) >= LEAST_ROWS
    as_in_the_paper = SirusRegressor(**SMALL, n_rules=2, n_stages=3, min_samples_leaf=1).fit(X, y)
    assert as_in_the_paper.selected_[:2] == one.selected_


@pytest.mark.parametrize(("least", "rows"), [(1, 1), (25, 25), (0.1, 24), (0.25, 60), (1 / 3, 80), (np.int64(30), 30)])
def test_every_rule_has_as_many_rows_as_asked_for(least, rows):
    X, y = table(3)
    model = SirusRegressor(**SMALL, n_rules=6, min_samples_leaf=least).fit(X, y)
    expected = [rule for rule in model.candidates_ if rows <= holds(rule, X).sum() <= len(X) - rows]
    assert len(model.selected_) == 6 and model.selected_[0] == expected[0] and support(model) >= rows
    assert set(model.selected_) <= set(expected)


def test_trees_stay_the_same():
    X, y = table(3)
    one, more = (SirusRegressor(**SMALL, min_samples_leaf=least).fit(X, y) for least in (1, 60))
    assert list(one.candidates_) == list(more.candidates_) and one.rules_ != more.rules_


@pytest.mark.parametrize("least", [30, 0.2])
@pytest.mark.parametrize("n_stages", [1, 4])
def test_parts_select_what_memory_selects(least, n_stages):
    X, y = table(9)
    options = {**SMALL, "n_rules": 3, "n_stages": n_stages, "min_samples_leaf": least}
    expected = SirusRegressor(**options).fit(X, y)
    assert support(expected) >= 30
    for limits in ((), (3, 100)):
        assert_equal_models(fit_parts(SirusRegressor(**options), X, y, None, limits).model_, expected.model_)


@pytest.mark.parametrize("n_stages", [1, "auto"])
def test_tuned_lists_obey_in_every_fold_in_memory_and_in_parts(n_stages):
    X, y = table(9)
    options = {**TUNED, "n_stages": n_stages, "min_samples_leaf": 0.15}
    expected = SirusRegressorCV(**options).fit(X, y)
    assert support(expected) >= 36
    assert_equal_tuning(fit_parts(SirusRegressorCV(**options), X, y, limits=(80,)), expected)


@pytest.mark.parametrize("estimator", [SirusRegressor, SirusRegressorCV])
def test_no_rule_has_enough_rows(estimator):
    X, y = table(9)
    X["x"] = X["z"] = 0.0  # ``odd`` is all there is
    with pytest.warns(UserWarning, match=r"No rule has 24 of 240 rows inside .* smaller min_samples_leaf"):
        model = estimator(**SMALL, min_samples_leaf=0.1).fit(X, y)
    assert not len(model.rules_) and model.predict(X)[0] == pytest.approx(y.mean())


def test_a_required_rule_with_few_rows_stays_with_a_warning():
    X, y = table(9)
    options = {**SMALL, "required_rules": ["odd >= 1", "x < 0"]}
    with pytest.warns(UserWarning, match=r"'odd >= 1' has 9 rows inside or outside, fewer than the 20") as said:
        model = SirusRegressor(**options, min_samples_leaf=20).fit(X, y)
    assert len(said) == 1 and model.selected_[0].n_inside == 9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SirusRegressor(**options, min_samples_leaf=9).fit(X, y)


@pytest.mark.parametrize("least", [0, -1, 0.0, 0.51, 1.5, True, "5", float("nan"), 2**31])
def test_other_supports_are_refused(least):
    with pytest.raises(ValueError, match=r"min_samples_leaf must be a whole number of rows .* or a share .*, got "):
        SirusRegressor(**SMALL, min_samples_leaf=least).fit(*table(3))


def test_a_refused_path_leaves_room_for_what_it_would_have_spanned():
    """Rules of two columns that a refused rule and a kept one make up are looked at, and the most frequent is kept."""
    X, y = table(3)
    model = SirusRegressor(**SMALL, n_rules=1, n_stages="auto", max_rules=12).fit(X, y)
    kept = uses(corrections(model), "odd")
    assert kept and all(len(rule.conditions) == 2 for rule in kept)
    assert all(min(rule.n_inside, rule.n_outside) >= LEAST_ROWS for rule in corrections(model))


def test_rows_of_weight_zero_do_not_count():
    X, y = table(8)
    weights = np.ones(len(y))
    weights[np.flatnonzero(X["odd"])[:5]] = 0.0
    model = SirusRegressor(**SMALL, n_rules=1, n_stages=4, max_depth=1).fit(X, y, sample_weight=weights)
    assert not uses(corrections(model), "odd")
    heavy = np.where(X["odd"], 0.6, 1.0)  # and a row is a row, whatever it weighs
    assert uses(corrections(SirusRegressor(**SMALL, n_rules=1, n_stages=4, max_depth=1).fit(X, y, heavy)), "odd")


def test_stages_end_where_no_path_has_enough_rows():
    X = pd.DataFrame({"odd": np.arange(60) == 7, "x": np.repeat([0, 1], 30)})
    y = np.where(X["x"] == 1, 5.0, 0.0) + 3.0 * X["odd"]
    model = SirusRegressor(**SMALL, n_rules=1, n_stages="auto").fit(X, y)
    assert all(min(rule.n_inside, rule.n_outside) >= LEAST_ROWS for rule in corrections(model))


@pytest.mark.parametrize("kind", ["numbers", "weighted", "two", "poisson"])
@pytest.mark.parametrize("limits", [(), (3, 100)])
def test_parts_refuse_what_memory_refuses(kind, limits):
    X, y = table(3)
    weights = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.25) if kind == "weighted" else None
    options = {**SMALL, "n_rules": 1, "n_stages": 5}
    estimator = SirusClassifier if kind == "two" else SirusRegressor
    if kind == "two":
        y = pd.Series(np.where(y > 6, "yes", "no"), name="y")
    elif kind == "poisson":
        y, options = pd.Series(np.maximum(np.rint(y), 0), name="y"), {**options, "loss": "poisson"}
    expected = estimator(**options).fit(X, y, sample_weight=weights)
    assert all(min(rule.n_inside, rule.n_outside) >= LEAST_ROWS for rule in corrections(expected))
    assert_equal_models(fit_parts(estimator(**options), X, y, weights, limits).model_, expected.model_)


def test_tuning_refuses_in_every_fold_in_memory_and_in_parts():
    X, y = table(4)
    expected = SirusRegressorCV(**TUNED).fit(X, y)
    assert expected.n_stages_ > 1
    assert all(min(rule.n_inside, rule.n_outside) >= LEAST_ROWS for rule in corrections(expected))
    for limits in ((), (80,)):
        assert_equal_tuning(fit_parts(SirusRegressorCV(**TUNED), X, y, limits=limits), expected)


def test_survival_is_corrected_by_enough_rows():
    X, y = table(2)
    times = target(np.ones(len(y), bool), np.exp((y - y.mean()) / 4) + 0.01)
    model = SirusSurvival(**SMALL, n_rules=1, n_stages=5).fit(X, times)
    assert len(corrections(model)) == 4
    assert all(min(rule.n_inside, rule.n_outside) >= LEAST_ROWS for rule in corrections(model))

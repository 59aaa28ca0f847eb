"""Stages on rows in parts: the corrections of memory, from residuals that are computed where the rows lie."""

import numpy as np
import pandas as pd
import pytest

from parts import (
    KINDS,
    CountedRows,
    assert_equal_models,
    assert_equal_tuning,
    choose_on,
    draw_at_most,
    fit_parts,
    fit_rows,
    make_frame,
    response_of,
    write_files,
)
from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV
from pysirus._learn.training import Extremes
from pysirus._parameters import ParameterError
from pysirus.engine.parts import Part
from sampled import FULL, in_turns

pytestmark = pytest.mark.filterwarnings("ignore:Nothing was learned", "ignore:No rule of the full data")
SMALL = {"n_trees": 40, "random_state": 5}
TUNED = {**SMALL, "n_repeats": 1, "cv": 3, "max_rules": 5, "n_stages": "auto", "criterion": "error"}
LIMITS = [[1, 1, 150], [60, 120], []]
CASES = [*zip(LIMITS, [None, 30, 9])]  # and the rows that a tree draws at most
COLUMNS = ["wide", "few", "holes", "colour"]


def make_response(kind, y, rng):
    """A response of some kind, with the options that it takes."""
    if kind in ("poisson", "gamma"):
        values = rng.poisson(np.exp(0.5 * y)) if kind == "poisson" else np.exp(y)
        return SirusRegressor, pd.Series(values, name="y"), None, {"loss": kind}
    return *response_of(kind, y, rng), {}


@pytest.mark.parametrize("kind, case", in_turns([*KINDS, "poisson", "gamma"], CASES))
def test_parts_are_corrected_as_memory_is(kind, case, monkeypatch):
    limits, most = case
    draw_at_most(monkeypatch, most)
    frame, y, rng = make_frame(200)
    estimator, y, weights, options = make_response(kind, y, rng)
    options = {**SMALL, **options, "n_rules": 2, "n_stages": 4}
    choose_on(monkeypatch, most and 2 * most)
    expected = estimator(**options).fit(frame, y, sample_weight=weights)
    found = fit_parts(estimator(**options), frame, y, weights, limits)
    assert expected.n_stages_ == 4
    assert_equal_models(found.model_, expected.model_)
    assert [rule.weight for rule in found.selected_] == [rule.weight for rule in expected.selected_]


# seeds with which stages are chosen
@pytest.mark.parametrize(
    "case, limits", in_turns([("numbers weighted", 8), ("two", 9), ("four whole", 9), ("poisson", 11)], LIMITS)
)
@pytest.mark.parametrize("most", [None, 45])
def test_parts_are_tuned_in_stages_as_memory_is(case, limits, most, monkeypatch):
    kind, seed = case
    draw_at_most(monkeypatch, most)
    frame, y, rng = make_frame(200)
    estimator, y, weights, options = make_response(kind, y, rng)
    estimator = SirusClassifierCV if estimator is SirusClassifier else SirusRegressorCV
    options = {**TUNED, **options, "random_state": seed}
    choose_on(monkeypatch, most and 2 * most)
    expected = estimator(**options).fit(frame[COLUMNS], y, sample_weight=weights)
    found = fit_parts(estimator(**options, n_jobs=1 + (limits != [])), frame[COLUMNS], y, weights, limits)
    assert expected.n_stages_ > 1
    assert found.n_stages_ == expected.n_stages_
    assert_equal_tuning(found, expected)


@pytest.mark.parametrize("kind", ["numbers", "two"])
def test_what_is_known_before_holds_in_corrections_too(kind):
    frame, y, rng = make_frame(200)
    estimator, y, *_ = make_response(kind, y, rng)
    known = {
        "required_rules": ["wide < 0.123", "colour = red & holes >= 1"],
        "monotonic_cst": {"size": -1},
        "forbidden": [["count", "few"]],
    }
    options = {**SMALL, **known, "n_rules": 1, "n_stages": "auto", "max_rules": 6}
    expected = estimator(**options).fit(frame, y)
    found = fit_parts(estimator(**options), frame, y, limits=[120])
    assert sum(rule.given for rule in found.selected_) == 2 and found.n_stages_ > 2
    assert_equal_models(found.model_, expected.model_)


def test_a_list_that_explains_all_needs_no_correction():
    x = np.arange(60.0)
    frame, y = pd.DataFrame({"x": x, "z": x % 7}), pd.Series((x < 18).astype(float), name="y")
    options = {**SMALL, "n_rules": 1, "n_stages": 3}
    expected = SirusRegressor(**options).fit(frame, y)
    found = fit_parts(SirusRegressor(**options), frame, y, limits=[10, 30])
    assert found.n_stages_ == expected.n_stages_ == 1
    assert_equal_models(found.model_, expected.model_)


@pytest.fixture(scope="module", params=[None, 60], ids=["", "few rows drawn"])
def rows_of_files(request):
    frame, y, _ = make_frame(350)
    with pytest.MonkeyPatch.context() as monkeypatch:
        draw_at_most(monkeypatch, request.param)
        expected = SirusRegressorCV(**TUNED).fit(frame[COLUMNS], pd.Series(y, name="y"))
    return frame[COLUMNS].assign(y=y), expected, request.param


@pytest.mark.parametrize("n_files, n_groups", [(1, 1), (1, 7), *([(50, 1), (7, 1)] if FULL else [])])
def test_files_are_tuned_in_stages_as_memory_is(tmp_path, rows_of_files, n_files, n_groups, monkeypatch):
    frame, expected, most = rows_of_files
    draw_at_most(monkeypatch, most)
    write_files(frame, tmp_path, n_files, n_groups)
    found = SirusRegressorCV(**TUNED).fit_files(tmp_path, "y", memory=1 << 27)
    assert found.n_stages_ == expected.n_stages_ > 1
    assert_equal_tuning(found, expected)


def passes(estimator, cut=None, **options):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    y = pd.Series(frame["a"] + (frame["b"] > 0.3) + 0.5 * frame["c"] + 0.1 * rng.normal(size=600), name="y")
    rows = CountedRows([Part(0, "all rows", frame, y if cut is None else y > cut)])
    model = fit_rows(estimator(**{**SMALL, **options}), rows)
    return rows.count, model.n_stages_


def test_a_stage_costs_five_passes_over_the_bins_and_none_over_the_rows():
    one, _ = passes(SirusRegressor, n_rules=1)
    # how far residuals reach, two levels of trees, moments of the response, moments of residuals
    for n_trees in (64, 640):
        four, n_stages = passes(SirusRegressor, n_rules=1, n_stages=4, n_trees=n_trees)
        assert n_stages == 4
        assert four == {**one, "bins": one["bins"] + 3 * 5}


def test_a_stage_of_classes_costs_one_more():
    one, _ = passes(SirusClassifier, cut=0.5, n_rules=1)
    four, n_stages = passes(SirusClassifier, cut=0.5, n_rules=1, n_stages=4)
    assert n_stages == 4
    assert four == {**one, "bins": one["bins"] + 3 * 6 + 1}  # which rules hold together; and once more in the end


def test_passes_of_tuning_in_stages_do_not_grow_with_folds():
    options = {"n_stages": 3, "n_repeats": 1, "max_rules": 3, "n_trees": 64, "criterion": "error", "slopes": False}
    few, _ = passes(SirusRegressorCV, cv=2, **options)
    many, n_stages = passes(SirusRegressorCV, cv=6, **options)
    assert n_stages == 3
    assert (many["response"], many["columns"], many["encode"]) == (2, 5, 2)  # one for what monitoring compares with
    # those of one stage; then two corrections in all folds together, and two of all rows
    assert few["bins"] <= 10 + 4 * 5 + 2
    assert many["bins"] <= few["bins"] + 3  # some fold asks for the moments of more rules


def test_extremes_of_parts_add_up():
    values = np.array([[1.0, -2.0], [3.0, 5.0], [-4.0, 0.0]])
    whole = Extremes.of(values)
    parts = Extremes.of(values[:1]) + Extremes.of(values[1:])
    assert whole.low.tolist() == parts.low.tolist() == [-4.0, -2.0]
    assert whole.high.tolist() == parts.high.tolist() == [3.0, 5.0]


def test_equal_weights_have_no_stages_in_parts_either():
    frame, y, _ = make_frame(60)
    with pytest.raises(ParameterError, match="n_stages must be 1 with weighting='equal'"):
        fit_parts(SirusClassifier(weighting="equal", n_stages=2), frame, y > 1)

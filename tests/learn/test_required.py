"""Rules that are given and things that are forbidden: they come first and stay, or never appear."""

import json

import numpy as np
import pandas as pd
import pytest

import pysirus
from parts import assert_equal_models
from pysirus import ModelFileError, RuleTextError, SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._parameters import ParameterError
from pysirus._terms.allowed import Span, condition_vector, rule_vector
from signed import assert_obeys, draw_table, estimator_of, target_of

FAST = {"n_trees": 100, "random_state": 0, "n_rules": 6}
REQUIRED = ["a < 0.123 & flag", "grade in {low, mid}", "b is missing", "free in {x, z} & few >= 2"]


@pytest.fixture(scope="module")
def rows():
    X, score, _, weights, rng = draw_table(11, 240)
    return X, score, weights, rng


def test_required_rules_come_first_with_outputs_of_the_rows(rows):
    X, y, weights, _ = rows
    model = SirusRegressor(required_rules=REQUIRED, **FAST).fit(X, y, sample_weight=weights)
    assert [rule.condition_text for rule in model.selected_[:4]][1:3] == REQUIRED[1:3]
    assert len(model.selected_) == 6 and [rule.given for rule in model.selected_] == [True] * 4 + [False] * 2
    assert all(rule in list(model.rules_) for rule in model.selected_[:4])  # also those of weight 0
    inside = ((X["a"] < 0.123) & X["flag"]).to_numpy()
    own = np.ones(len(y)) if weights is None else weights
    first = model.selected_[0]
    assert first.inside == pytest.approx(np.average(y[inside], weights=own[inside]))
    assert first.n_inside == inside.sum() and (first.holds(model.model_.align(X)) == inside).all()


def test_trees_are_those_without_required_rules(rows):
    X, y, weights, _ = rows
    free = SirusRegressor(**FAST).fit(X, y, sample_weight=weights)
    given = SirusRegressor(required_rules=["a < 0.123"], **FAST).fit(X, y, sample_weight=weights)
    assert [r.key for r in given.candidates_] == [r.key for r in free.candidates_]


@pytest.mark.parametrize("response", ["numbers", "poisson", "classes", "equal"])
@pytest.mark.parametrize("tuned", [False, True])
def test_every_response_keeps_them(rows, response, tuned, tmp_path):
    X, score, weights, _ = rows
    y = target_of(response, score, np.random.default_rng(0))
    stages = 1 if response == "equal" else 3 if not tuned else "auto"
    model = estimator_of(response, tuned=tuned, required_rules=REQUIRED[1:3], n_stages=stages)
    model.fit(X, y, sample_weight=weights)
    assert [rule.condition_text for rule in model.selected_[:2]] == REQUIRED[1:3]
    assert all(rule.weight >= 0 for rule in model.selected_)
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again.model_ == model.model_ and again.required_rules == REQUIRED[1:3]
    assert again.model_.raw_predict(X).tolist() == model.model_.raw_predict(X).tolist()


def test_rules_of_another_model_can_be_required(rows):
    X, y, weights, _ = rows
    model = SirusRegressor(**FAST).fit(X, y, sample_weight=weights)
    again = SirusRegressor(required_rules=list(model.selected_), **FAST).fit(X, y, sample_weight=weights)
    assert [r.condition_text for r in again.selected_] == [r.condition_text for r in model.selected_]
    assert again.predict(X) == pytest.approx(model.predict(X))


@pytest.mark.parametrize(
    "given, message",
    [
        ({"required_rules": ["a < 0.5", "a >= 0.5"]}, "'a >= 0.5' cannot be kept: it is a combination"),
        ({"required_rules": ["a < 1000"]}, "it holds in every row or in none"),
        ({"required_rules": ["-1 <= a < 1"], "monotonic_cst": {"a": 1}}, "has two sides"),
        ({"required_rules": ["a < 0 & few < 2"], "interaction_cst": "no_interactions"}, "may not stand in one rule"),
        ({"required_rules": ["a < 0"], "forbidden": ["a"]}, "'a' is forbidden"),
        ({"required_rules": ["a < 0"], "forbidden": ["a < 0"]}, "'a < 0' is forbidden"),
        ({"required_rules": 3}, "required_rules must be rules as text"),
        ({"forbidden": 3}, "forbidden must be a list"),
        ({"forbidden": [("a", "b", "few")]}, "takes columns and pairs"),
        ({"forbidden": [("a", "nobody")]}, "forbidden names 'nobody'"),
    ],
)
def test_what_cannot_be_required_or_forbidden(rows, given, message):
    X, y, _, _ = rows
    with pytest.raises(ParameterError, match=message):
        SirusRegressor(**given, **FAST).fit(X, y)


def test_a_direction_that_the_data_contradict_is_an_error(rows):
    X, _, _, _ = rows
    with pytest.raises(ParameterError, match="it rises with 'a', and must be decreasing"):
        SirusRegressor(required_rules=["a >= 0"], monotonic_cst={"a": -1}, **FAST).fit(X, X["a"])
    with pytest.raises(RuleTextError, match="at character 4"):
        SirusRegressor(required_rules=["a <= 0"], **FAST).fit(X, X["a"])


def test_what_is_forbidden_never_appears(rows):
    X, y, weights, _ = rows
    free = SirusRegressor(n_trees=100, n_rules=20, max_depth=3, random_state=0).fit(X, y, sample_weight=weights)
    text = free.selected_[0].condition_text
    forbidden = ["few", ("a", "grade"), "b, flag", text]
    options = {"n_trees": 100, "n_rules": 20, "max_depth": 3, "n_stages": 2, "random_state": 0}
    model = SirusRegressor(forbidden=forbidden, **options).fit(X, y, sample_weight=weights)
    for rule in [*model.selected_, *model.candidates_]:
        names = {condition.feature for condition in rule.conditions}
        assert "few" not in names and not {"a", "grade"} <= names and not {"b", "flag"} <= names
    cut = free.selected_[0].conditions[0]
    ends = {cut.lower_cut, cut.upper_cut}
    for rule in model.selected_:  # neither side of the cut
        assert all({c.lower_cut, c.upper_cut} != ends for c in rule.conditions if c.feature == cut.feature)
    assert f"never {text}" in str(model) and "never few" in str(model) and "never a with grade" in str(model)


def test_the_file_is_held_to_what_is_forbidden(rows, tmp_path):
    X, y, _, _ = rows
    model = SirusRegressor(forbidden=["few < 1 & flag"], **FAST).fit(X, y)
    model.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").model_.constraints.forbidden
    for text, message in ((model.selected_[0].condition_text, "is forbidden"), ("few <= 1", "is no text of a rule")):
        document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
        document["constraints"]["forbidden"] = [text]
        (tmp_path / "damaged.json").write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(ModelFileError, match=message):
            pysirus.load(tmp_path / "damaged.json")


def test_everything_forbidden_predicts_the_mean(rows):
    X, y, _, _ = rows
    with pytest.warns(UserWarning, match="no rules to find"):
        model = SirusRegressor(forbidden=list(X), **FAST).fit(X, y)
    assert model.predict(X) == pytest.approx(np.full(len(y), y.mean()))


def test_tuned_lists_are_no_shorter_and_obey(rows):
    X, y, _, _ = rows
    y = y + 2 * X["a"]
    options = {"n_trees": 60, "cv": 3, "n_repeats": 2, "max_rules": 8, "random_state": 0, "monotonic_cst": {"a": 1}}
    for stages in (1, "auto"):
        model = SirusRegressorCV(required_rules=["a < 0.1", "a < 0.7", "flag"], n_stages=stages, **options).fit(X, y)
        assert [rule.given for rule in model.selected_[:3]] == [True] * 3
        assert_obeys(model.model_, X, {"a": 1})


@pytest.mark.parametrize("response", ["numbers", "classes"])
def test_parts_keep_the_same(rows, response, tmp_path):
    X, score, _, _ = rows
    X, y = X.drop(columns="free"), pd.Series(target_of(response, score, np.random.default_rng(1)), name="y")
    options = {"required_rules": REQUIRED[:3], "forbidden": ["few"], "n_rules": 8}
    memory = estimator_of(response, **options).fit(X, y)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    files = estimator_of(response, **options).fit_files(tmp_path / "rows.parquet", "y")
    assert_equal_models(files.model_, memory.model_)
    assert files.selected_[0].conditions == memory.selected_[0].conditions


def test_the_vector_of_conditions_is_that_of_the_path(rows):
    X, y, _, _ = rows
    model = SirusClassifier(n_trees=100, max_depth=3, random_state=0).fit(X, y > 0)
    binned, paths = model._cuts, model._paths
    for i, rule in enumerate(model.candidates_[:300]):
        codes = paths.codes[i].tolist()
        assert condition_vector(rule, binned) == rule_vector(codes, binned), rule
    span = Span()
    assert span.add(rule_vector(paths.codes[0].tolist(), binned)) and span.rows

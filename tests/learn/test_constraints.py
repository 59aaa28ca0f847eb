"""What is known before the data: how it is given, which rules obey it, and what is said of those that do not."""

import json

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import ModelFileError, SirusClassifier, SirusRegressor
from pysirus._data.table import read_table
from pysirus._forest.forest import InteractionConstraint
from pysirus._learn.constraints import ConstraintParams
from pysirus._parameters import ParameterError
from pysirus._terms.allowed import Constraints
from pysirus._terms.rule import Condition, FittedRule


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "debt": rng.exponential(size=n),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
            "job": rng.choice(["clerk", "cook", "miner"], n),
            "sport": rng.random(n) < 0.5,
        }
    )


def read(n_classes=0, **given):
    return ConstraintParams(**given).read(read_table(table()).columns, tuple("abc"[:n_classes]) or None)


FAST = {"n_trees": 200, "random_state": 0, "n_rules": 8}


def test_directions_by_name_and_by_position_are_the_same():
    expected = {0: 1, 1: -1, 2: 1, 4: -1}
    assert read(monotonic_cst={"age": 1, "debt": -1, "grade": 1, "job": 0, "sport": -1}).directions == expected
    assert read(monotonic_cst=[1, -1, 1, 0, -1]).directions == expected
    assert read(monotonic_cst=np.array([1, -1, 1, 0, -1]), n_classes=2).directions == expected
    assert read(monotonic_cst={"age": 0}) is None and read() is None


def test_groups_by_name_and_position_and_the_rest_is_a_group():
    groups = (frozenset((0, 1)), frozenset((2, 3, 4)))
    assert read(interaction_cst=[["age", "debt"]]).together.groups == groups
    assert read(interaction_cst=[{0, 1}, (2, 3, 4)]).together.groups == groups
    assert read(interaction_cst="pairwise").together == InteractionConstraint(most=2)
    assert read(interaction_cst="no_interactions").together == InteractionConstraint(most=1)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"monotonic_cst": {"aeg": 1}}, "monotonic_cst names 'aeg', which is not a column. Did you mean 'age'"),
        ({"monotonic_cst": {"age": 2}}, "'age' must be 1 .increasing., -1 .decreasing. or 0, got 2"),
        ({"monotonic_cst": {"age": "up"}}, "got 'up'"),
        ({"monotonic_cst": [1, 0]}, "has 2 entries, and the table has 5 columns"),
        ({"monotonic_cst": "age"}, "must be a dict such as"),
        ({"monotonic_cst": {"job": 1}}, "'job' a direction, but its categories have no order"),
        ({"monotonic_cst": {"age": 1}, "n_classes": 3}, "y has 3 classes"),
        ({"interaction_cst": "none"}, "interaction_cst must be 'no_interactions', 'pairwise', a list"),
        ({"interaction_cst": ["age", "debt"]}, "a list of groups"),
        ({"interaction_cst": [["age", 9]]}, "interaction_cst names 9"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        read(**given)


def rule(inside, outside, **condition):
    return FittedRule((Condition("age", index=0, **condition),), inside=inside, outside=outside)


LOW, HIGH = ("quantile", 3), ("quantile", 7)


def test_a_rule_obeys_by_side_and_gap():
    rises = Constraints({0: 1})
    assert rises.allows(rule(2.0, 1.0, lower=30.0, lower_cut=LOW))
    assert rises.allows(rule(1.0, 2.0, upper=30.0, upper_cut=LOW))
    assert not rises.allows(rule(2.0, 1.0, upper=30.0, upper_cut=LOW))
    assert not rises.allows(rule(2.0, 1.0, lower=30.0, upper=50.0, lower_cut=LOW, upper_cut=HIGH))
    assert rises.allows(rule(0.0, 1.0, missing=True, only_missing=True))  # known values are all the same to it
    assert rises.allows(rule((0.2, 0.8), (0.5, 0.5), lower=30.0, lower_cut=LOW))  # two classes: the second
    assert rises.faults(rule((0.8, 0.2), (0.5, 0.5), lower=30.0, lower_cut=LOW)) == [
        "it falls with 'age', and must be increasing"
    ]


def test_an_unseen_level_of_an_ordered_column_takes_its_place():
    X = table(400)
    grades = ["none", "low", "mid", "high", "top"]
    X["grade"] = pd.Categorical(X["grade"].astype(str), grades, ordered=True)
    y = X["grade"].cat.codes + np.random.default_rng(1).normal(0, 0.3, len(X))
    for direction in (1, -1):
        model = SirusRegressor(monotonic_cst={"grade": direction}, **FAST).fit(X, direction * y)
        assert model.model_.features[2].levels == tuple(grades)
        rows = pd.DataFrame({**{name: [X[name].iloc[0]] * 5 for name in X}, "grade": grades})
        rows["grade"] = pd.Categorical(grades, grades, ordered=True)
        answers = direction * model.predict(rows)
        assert (np.diff(answers) >= 0).all() and answers[4] > answers[0]


def test_false_comes_before_true():
    X = table(400)
    y = np.where(X["sport"], -1.0, 1.0) + 0.05 * X["age"]
    refused = SirusRegressor(monotonic_cst={"sport": 1}, **FAST).fit(X, y)
    assert all("sport" not in str(r) or len(r.conditions) > 1 for r in refused.rules_)
    taken = SirusRegressor(monotonic_cst={"sport": -1}, **FAST).fit(X, y)
    assert any("sport" in str(r) for r in taken.rules_)


def test_several_classes_take_interactions_but_no_directions():
    X, y = table(), np.random.default_rng(0).choice(["a", "b", "c"], 200)
    with pytest.raises(ParameterError, match="3 classes"):
        SirusClassifier(monotonic_cst={"age": 1}, **FAST).fit(X, y)
    model = SirusClassifier(interaction_cst="no_interactions", **FAST).fit(X, y)
    assert len(model.selected_) and all(len(r.conditions) == 1 for r in model.selected_)


def test_the_model_says_what_it_obeys_and_its_file_is_held_to_it(tmp_path):
    X = table()
    y = X["age"] - 5 * X["debt"]
    model = SirusRegressor(monotonic_cst={"age": 1, "debt": -1}, interaction_cst=[("age", "debt")], **FAST).fit(X, y)
    assert "increasing in age; decreasing in debt; interactions within {age, debt}" in str(model)
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again.model_ == model.model_ and again.interaction_cst == [["age", "debt"]]
    assert again.without(1).constraints == model.model_.constraints
    document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert document["version"] == 2  # which readers of version 1 do not take
    for change, message in (
        (lambda d: d["constraints"]["monotonic"].update(age=-1), "breaks the constraints: it rises with 'age'"),
        (lambda d: d["constraints"]["monotonic"].update(nobody=1), "names 'nobody', which is no column"),
        (lambda d: d["constraints"]["monotonic"].update(job=1), "categories have no order"),
        (lambda d: d["constraints"].update(most_together=0), "most_together must be a whole number"),
        (lambda d: d["constraints"].update(groups=[["job"]]), "breaks the constraints"),
        (lambda d: d["constraints"].update(apart=[["age", "debt", "job"]]), "at most 2 items, found 3"),
        (lambda d: d["constraints"].pop("apart"), "lacks the entry 'apart'"),
        (lambda d: d["rules"][0].update(weight=-0.1), "must not be negative under constraints"),
    ):
        damaged = json.loads(json.dumps(document))
        change(damaged)
        (tmp_path / "damaged.json").write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(ModelFileError, match=message):
            pysirus.load(tmp_path / "damaged.json")

"""Reasons: exactly the terms of the score, from a stated reference, in a fixed order."""

import json

import numpy as np
import pandas as pd
import pytest

import pysirus
from decision_models import KINDS, random_model, random_rows
from hand_made import make_model, two
from pysirus._parameters import ParameterError
from pysirus.estimators.rule_model import RuleModel

ROWS = pd.DataFrame({"x": [-1.0, 1.0, -1.0], "z": [-1.0, -1.0, 1.0]})


@pytest.fixture
def numbers():
    """x < 0 adds 3 or 1, z < 0 adds -2 or 0; on average nothing."""
    return make_model([(3.0, 1.0), (-2.0, 0.0)], None, link="identity", intercept=10.0)


def scores_of(model, rows, outcomes):
    """The score of each row's outcome, from the model's own sums."""
    scores = model.scores(rows)
    if model.classes is None:
        return scores
    return np.array([model.family.points_of(own, k) for own, k in zip(scores, outcomes)])


def test_reasons_are_worked_by_hand(numbers):
    found = numbers.reasons(ROWS, reference=ROWS[1:2])
    assert found.base.tolist() == [9.0] * 3  # 10 + 1 - 2
    assert found.contributions.tolist() == [[2.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    assert found.scores.tolist() == numbers.predict(ROWS).tolist() == [11.0, 9.0, 13.0]
    frame = found.to_frame("pandas")
    assert frame.values.tolist() == [
        [0, 1, "x < 0 or missing", 2.0],
        [2, 1, "x < 0 or missing", 2.0],  # equal ones in the order of the list
        [2, 2, "z >= 0", 2.0],  # what is true of the row where the rule does not hold
    ]
    assert numbers.reasons(ROWS, k=1, reference=ROWS[1:2]).rest.tolist() == [0.0, 0.0, 2.0]


def test_best_is_measured_from_the_end_that_leaves_only_reasons(numbers):
    against = numbers.reasons(ROWS, direction="against", reference="best")
    assert against.base.tolist() == [13.0] * 3 and (against.contributions <= 0).all()
    assert against.contributions.tolist() == [[0.0, -2.0], [-2.0, -2.0], [0.0, 0.0]]
    up = numbers.reasons(ROWS, direction="for", reference="best")
    assert up.base.tolist() == [9.0] * 3 and (up.contributions >= 0).all()
    with pytest.raises(ParameterError, match="'best' needs a direction"):
        numbers.reasons(ROWS, reference="best")


@pytest.mark.parametrize("kind", [*KINDS, "shares"])
@pytest.mark.parametrize("by", ["rule", "column"])
def test_reasons_add_up_to_the_score(kind, by):
    rng = np.random.default_rng(7)
    for _ in range(4):
        model = random_model(rng, kind, n_slopes=0 if kind == "shares" else 1)
        rows = random_rows(rng, model, 300)
        for reference in ("average", "best", rows[:1]):
            for direction in ("for", "against"):
                found = model.reasons(rows, k=2, by=by, reference=reference, direction=direction)
                expected = scores_of(model, rows, found.outcomes)
                np.testing.assert_allclose(found.scores, expected, atol=1e-10)
                frame = found.to_frame("pandas")
                listed = frame.groupby("row")["contribution"].sum().reindex(range(len(rows)), fill_value=0.0)
                np.testing.assert_allclose(found.base + listed + found.rest, expected, atol=1e-10)
                sign = 1 if direction == "for" else -1
                assert (sign * frame["contribution"] > 0).all() and frame["rank"].max() <= 2
                if model.classes is not None:
                    labels = np.asarray(model.classes)[found.outcomes]
                    assert (labels == model.predict(rows)).all()
                    assert (frame["class"].to_numpy() == labels[frame["row"]]).all()


def test_the_largest_are_listed_as_a_sort_of_all_finds_them():
    rng = np.random.default_rng(3)
    model = random_model(rng, "two", n_rules=8, n_slopes=2)
    rows = random_rows(rng, model, 200)
    found = model.reasons(rows, k=3, outcome="bad")
    for row, own in enumerate(found.contributions.tolist()):
        expected = sorted((i for i, value in enumerate(own) if value > 0), key=lambda i: (-own[i], i))[:3]
        assert [i for i in found.ranked[row].tolist() if i >= 0] == expected


def test_reasons_of_both_classes_mirror_each_other():
    model = two(1.3)
    good, bad = (
        model.reasons(ROWS, outcome=label, direction=way) for label, way in (("yes", "for"), ("no", "against"))
    )
    assert (good.contributions == -bad.contributions).all() and (good.ranked == bad.ranked).all()


def test_a_sum_by_column_shares_a_rule_equally():
    rng = np.random.default_rng(1)
    model = random_model(rng, "numbers", n_rules=5)
    rows = random_rows(rng, model, 20)
    by_rule, by_column = (model.reasons(rows, by=by) for by in ("rule", "column"))
    for c, name in enumerate(by_column.names):
        parts = [
            by_rule.contributions[:, t] / len(term.columns)
            for t, term in enumerate(model.rules)
            if name in [model.features[i].name for i in term.columns]
        ]
        np.testing.assert_allclose(by_column.contributions[:, c], sum(parts))


def test_texts_are_kept_with_the_rules(numbers, tmp_path):
    model = numbers.with_reasons({1: ("R1 low x", "R1 high x"), "z < 0 or missing": "R2 level of z"})
    texts = model.reasons(ROWS, reference=ROWS[1:2]).to_frame("pandas")["text"].tolist()
    assert texts == ["R1 low x", "R1 low x", "R2 level of z"]
    assert numbers.reasons(ROWS).said != model.reasons(ROWS).said  # the first model is as it was
    assert model.with_reasons({1: None}).reasons(ROWS).said[0] == ("x < 0 or missing", "x >= 0")
    assert model.reasons(ROWS, by="column").names == ("x", "z")


def test_texts_survive_a_file_and_an_edit(ozone, tmp_path):
    X, y = ozone
    model = pysirus.SirusRegressor(n_rules=4, random_state=0).fit(X, y).with_reasons({1: ("low", "high"), 2: "second"})
    model.save(tmp_path / "m.json")
    loaded = pysirus.load(tmp_path / "m.json")
    assert [rule.reason for rule in loaded.rules_][:2] == [("low", "high"), ("second",)]
    assert json.loads((tmp_path / "m.json").read_text())["rules"][0]["reason"] == ["low", "high"]
    assert [rule.reason for rule in loaded.without(1).rules_][:1] == [("second",)]
    assert str(loaded.reasons(X)) == str(model.reasons(X))


def test_texts_of_a_tuned_model_stay_at_other_sizes(ozone):
    X, y = ozone
    model = pysirus.SirusRegressorCV(n_trees=200, n_repeats=1, random_state=0).fit(X, y).with_reasons({1: "first"})
    assert model.with_rules(2).rules_[0].reason == ("first",)


def test_what_prints_adds_up_for_a_reader(numbers):
    text = str(numbers.reasons(ROWS[:1], reference=ROWS[1:2]))
    assert text.splitlines() == [
        "reasons for the y",
        "#  reason            contribution",
        "1  x < 0 or missing         +2.00",
        "   everything else          +0.00",
        "   the given row            +9.00",
        "   in sum                  +11.00",
    ]
    assert "row 0: reasons" in str(numbers.reasons(ROWS)) and numbers.reasons(ROWS)[1:].base.shape == (2,)
    one = numbers.reasons(ROWS[2:]).to_dict()
    assert one["base"] + one["rest"] + sum(r["contribution"] for r in one["reasons"]) == pytest.approx(one["score"])


def test_node_harvest_has_reasons_from_its_mean(ozone):
    from pysirus import NodeHarvestRegressor

    X, y = ozone
    model = RuleModel.of(NodeHarvestRegressor(random_state=0, n_nodes=60).fit(X, y)._as_model())
    found = model.reasons(X)
    assert found.reference == "mean"
    np.testing.assert_allclose(found.scores, model.predict(X))
    with pytest.raises(ParameterError, match="must be 'average'"):
        model.reasons(X, direction="for", reference="best")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"direction": "up"}, "direction must be one of 'for', 'against', 'both', got 'up'"),
        ({"by": "row"}, "by must be one of 'rule', 'column'"),
        ({"outcome": "maybe"}, r"outcome must be one of the classes \{no, yes\}, got 'maybe'"),
        ({"reference": "worst"}, "reference must be one of 'average', 'best'"),
        ({"reference": ROWS}, "reference must be one row, got 3 rows"),
    ],
)
def test_what_cannot_be_asked_is_said(options, message):
    with pytest.raises(ParameterError, match=message):
        two(1.0).reasons(ROWS, **options)


def test_numbers_have_no_outcome_and_texts_are_texts(numbers):
    with pytest.raises(ParameterError, match="outcome is a class, and this model predicts numbers"):
        numbers.reasons(ROWS, outcome="good")
    for wrong in ({1: ""}, {1: ("a", "b", "c")}, {1: 5}, ["a"]):
        with pytest.raises((ParameterError, TypeError), match="texts must"):
            numbers.with_reasons(wrong)

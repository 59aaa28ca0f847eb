"""Reasons: exactly the terms of the score, from a stated reference, in a fixed order."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pysirus
from decision_models import KINDS, random_model, random_rows
from hand_made import make_model, two
from pysirus._families.class_metrics import Decision
from pysirus._parameters import ParameterError
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus._text.format import true_minus
from pysirus._use.score import told_class
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
    return np.array([model.family.points_of(own, told_class(model.family, k)) for own, k in zip(scores, outcomes)])


def test_reasons_are_worked_by_hand(numbers):
    found = numbers.reasons(ROWS, reference=ROWS[1:2])
    assert found.base.tolist() == [9.0] * 3  # 10 + 1 - 2
    assert found.contributions.tolist() == [[2.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    assert found.scores.tolist() == numbers.predict(ROWS).tolist() == [11.0, 9.0, 13.0]
    frame = found.to_frame("pandas")
    assert list(frame.columns) == ["row", "rank", "text", "input", "contribution", "scale"]
    assert frame.values.tolist() == [
        [0, 1, "x < 0 or missing", "x = -1", 2.0, "y"],
        [2, 1, "x < 0 or missing", "x = -1", 2.0, "y"],  # equal ones in the order of the list
        [2, 2, "z >= 0", "z = 1", 2.0, "y"],  # what is true of the row where the rule does not hold
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
                sign = np.full(len(frame), 1 if direction == "for" else -1)
                if model.classes is not None and len(model.classes) == 2:
                    sign = sign * np.where(frame["class"] == model.classes[model.positive], 1, -1)
                assert (sign * frame["contribution"] > 0).all() and frame["rank"].max() <= 2
                if model.classes is not None:
                    labels = np.asarray(model.classes)[found.outcomes]
                    assert (labels == model.predict(rows)).all()
                    assert (frame["class"].to_numpy() == labels[frame["row"]]).all()


def test_the_largest_are_listed_as_a_sort_of_all_finds_them():
    rng = np.random.default_rng(3)
    model = random_model(rng, "two", n_rules=8, n_slopes=2)
    rows = random_rows(rng, model, 200)
    for label, sign in (("bad", -1), ("good", 1)):
        found = model.reasons(rows, k=3, outcome=label)
        for row, own in enumerate((sign * found.contributions).tolist()):
            expected = sorted((i for i, value in enumerate(own) if value > 0), key=lambda i: (-own[i], i))[:3]
            assert [i for i in found.ranked[row].tolist() if i >= 0] == expected


def test_two_classes_are_told_in_the_score_of_the_positive_one_everywhere():
    for model in (two(1.3), two(1.3).decide({"no": 1, "yes": 5}), two(1.3).speaking_of("no")):
        spoken = model.classes[model.family.positive]
        explained = model.explain(ROWS)
        for label in model.classes:
            found = model.reasons(ROWS, outcome=label)
            assert f"log-odds of {spoken}" in str(explained) and f"log-odds of {spoken} most" in str(found)
            assert set(found.to_frame("pandas")["scale"]) <= {f"log-odds of {spoken}"}
            told = explained.to_frame("pandas").query("rule != '(average)'")["contribution"].to_numpy()
            np.testing.assert_allclose(found.contributions.ravel(), told, atol=1e-12)
        way, other = (model.reasons(ROWS, outcome=own, direction=d) for own, d in (("yes", "for"), ("no", "against")))
        assert (way.contributions == other.contributions).all() and (way.ranked == other.ranked).all()


def test_decision_and_cut_off_are_printed_and_decide():
    rng = np.random.default_rng(5)
    for costs in (None, {"bad": 5, "good": 1}):
        model = random_model(rng, "two", n_rules=6).decide(costs)
        rows = random_rows(rng, model, 40)
        shown, cutoff = model.predict(rows), 0.5 if costs is None else 5 / 6
        for row, label in enumerate(shown):
            reasons, explained = model.reasons(rows[row : row + 1]), model.explain(rows[row : row + 1])
            share = model.predict_proba(rows[row : row + 1])[0, 1]
            line = next(own for own in str(explained).splitlines() if own.startswith("decision"))
            assert line == str(reasons).splitlines()[0]
            assert line.startswith(f"decision: {label}. Probability of good: {100 * share:.1f}%, decided for above")
            assert ("costs of a mistake bad 5, good 1" in line) == (costs is not None)
            assert f"{100 * cutoff:.1f}% (log-odds {np.log(cutoff / (1 - cutoff)):+.2f})" in line
            for one in (reasons.to_dict(), explained.to_dict()):
                assert one["decision"] == label and one["class"] == "good"
                assert one["probability"] == pytest.approx(share) and one["cutoff"] == pytest.approx(cutoff)
                assert (one["probability"] > one["cutoff"]) == (label == "good")
            assert (reasons.scores[0] > reasons.to_dict()["cutoff_score"]) == (label == "good")
            assert f"the cut-off, above which it is good {np.log(cutoff / (1 - cutoff)):+.2f}" in " ".join(
                str(reasons).split()
            )


@pytest.mark.parametrize("gap", [0.0, 1e-3, 1e-6, -1e-6])
def test_sum_and_cut_off_print_alike_only_where_they_are_equal(gap):
    model = two(1.3)
    score = float(model.scores(ROWS[:1])[0, 1] - model.scores(ROWS[:1])[0, 0])
    odds = np.exp(score + gap)
    near = replace(model, family=model.family.deciding_by(Decision((odds / (1 + odds), 1 / (1 + odds)))))
    lines = str(near.reasons(ROWS[:1])).splitlines()
    total, cutoff = (line.split()[-1] for line in lines[-2:])
    assert f"(log-odds {cutoff})" in lines[0] and len(total) == len(cutoff)
    assert f" {total} " in str(near.explain(ROWS[:1])).splitlines()[-2]
    assert np.sign(float(cutoff) - float(total)) == np.sign(gap) and (len(total) > 5) == (gap != 0)


def test_a_notebook_shows_what_prints(numbers):
    found = numbers.reasons(ROWS, reference=ROWS[1:2])
    text = found._repr_html_()
    assert text.count("<table") == 3 and "border-bottom:2px solid #1f5fa8" in text and "row 2<br>" in text
    for line in str(found).splitlines():
        assert all(html.escape(true_minus(cell)) in text for cell in re.split(r" {2,}", line.strip()))
    assert "and 1 more rows" in numbers.reasons(pd.concat([ROWS, ROWS]))._repr_html_()


def test_decisions_between_several_classes_are_printed_with_what_decides():
    rng = np.random.default_rng(6)
    model = random_model(rng, "three")
    row = random_rows(rng, model, 1)
    for own, words in ((model, "by the most likely class"), (model.decide({"x": 1, "y": 2, "z": 8}), "x 0.727")):
        text = str(own.reasons(row))
        assert text.startswith(f"decision: {own.predict(row)[0]}. Probabilities: ") and words in text.splitlines()[0]
        assert text.splitlines()[0] in str(own.explain(row))
        assert own.reasons(row).to_dict()["probabilities"] == pytest.approx(dict(zip("xyz", own.predict_proba(row)[0])))


def test_inputs_are_printed_beside_rules():
    rng = np.random.default_rng(8)
    model = random_model(rng, "two", n_rules=8)
    rows = random_rows(rng, model, 60)
    rows.loc[0, "c0"] = "never seen"
    with pytest.warns(UserWarning, match="unseen category"):
        every = [model.reasons(rows, k=9, direction="both", by=by) for by in ("rule", "column")]
    for found in every:
        for own in found.to_frame("pandas").itertuples():
            for name, text in (part.split(" = ") for part in own.input.split(", ")):
                value = rows.loc[own.row, name]
                if value == "never seen":
                    assert text == "a category that training rows did not have"
                elif value is None or value != value:
                    assert text == "missing"
                else:
                    assert text == value if isinstance(value, str) else float(text) == pytest.approx(value, rel=1e-5)
            assert own.input in str(found[own.row])


def test_columns_are_listed_for_what_fails():
    """(x < 0 & z < 0) fails for z alone: x, whose condition is met, has no part in it."""
    one = Condition("x", upper=0.0, index=0), Condition("z", upper=0.0, index=1)
    rule = FittedRule(one, frequency=0.5, inside=4.0, outside=0.0, weight=1.0, stage=2, observed=(4.0, 0.0))
    base = make_model([(3.0, 1.0), (-2.0, 0.0)], None, link="identity", intercept=10.0)
    model = replace(base, selected=RuleSet([replace(rule, n_inside=5, n_outside=5)]))
    rows = pd.DataFrame({"x": [-1.0, 1.0, -1.0, 1.0], "z": [-1.0, -1.0, 1.0, 1.0]})

    def told(**options):
        found = model.reasons(rows, by="column", **options)
        return [
            {found.names[i]: found.contributions[r, i] for i in own if i >= 0} for r, own in enumerate(found.ranked)
        ]

    against = told(direction="against", reference="best")
    assert against == [{}, {"x": -4.0}, {"z": -4.0}, {"x": -2.0, "z": -2.0}]
    assert told(direction="for", reference="best") == [{"x": 2.0, "z": 2.0}, {}, {}, {}]
    assert told(direction="for", reference=rows[2:3]) == [{"z": 4.0}, {}, {}, {}]  # from a row where only z fails


def test_no_column_is_a_reason_by_a_condition_that_is_met_where_the_rule_is_not():
    rng, n_checked = np.random.default_rng(12), 0
    for _ in range(10):
        model = random_model(rng, "numbers", n_rules=6, n_slopes=0, n_numeric=3)
        rows = random_rows(rng, model, 60)
        table = model.align(rows)
        for reference in ("average", "best", rows[:1]):
            found = model.reasons(rows, by="column", direction="against", reference=reference)
            for c, name in enumerate(found.names):
                answers = np.zeros(len(rows), dtype=bool)
                for rule in model.rules:
                    for condition in (own for own in rule.conditions if own.feature == name):
                        answers |= rule.holds(table) | ~condition.holds(table.columns[condition.index])
                assert (found.contributions[~answers, c] == 0).all()
                n_checked += int((~answers).sum())
    assert n_checked > 100


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
        "prediction: y = 11.00",
        "reasons: what moves y most, measured from the given row",
        "#  reason            input   contribution",
        "1  x < 0 or missing  x = -1         +2.00",
        "   everything else                  +0.00",
        "   the given row                    +9.00",
        "   in sum                          +11.00",
    ]
    text = str(numbers.reasons(ROWS))
    assert text.startswith("row 0, counted from 0\nprediction: y = 11.00\nreasons") and "\n\nrow 1\n" in text
    assert numbers.reasons(ROWS)[1:].base.shape == (2,)
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

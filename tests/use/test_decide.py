"""Cut-offs with costs: chosen on rows that the rules have not seen, kept, and used wherever a class is decided for."""

import numpy as np
import pandas as pd
import pytest

import engines
import pysirus
from decision_models import random_model, random_rows
from hand_made import two
from pysirus._families.class_metrics import Decision
from pysirus._parameters import ParameterError
from pysirus.export import ExportError


@pytest.fixture(scope="module")
def tuned():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    y = np.where(X["a"] + 0.7 * X["b"] + rng.normal(size=400) > 0.4, "bad", "good")
    model = pysirus.SirusClassifierCV(n_trees=300, n_repeats=1, random_state=0, positive_class="bad").fit(X, y)
    return model._as_model(), X, y


def test_costs_alone_are_a_ratio():
    model = two(1.0).decide({"no": 1, "yes": 4})
    assert model.decision_rule.cutoff(1) == pytest.approx(0.2) and model.decision_rule.basis == "costs"
    rows = random_rows(np.random.default_rng(0), random_model(np.random.default_rng(0)), 50)
    rows = pd.DataFrame({"x": rows["x0"], "z": rows["x1"]})
    shares = model.predict_proba(rows)[:, 1]
    assert (model.predict(rows) == np.where(shares > 0.2, "yes", "no")).all()
    assert (model.decide().predict(rows) == two(1.0).predict(rows)).all()


def cost_of(model, cutoff, rows, costs):
    """The mean cost on groups of rows where the second class is decided for above a cut-off."""
    second = rows.probability > cutoff
    missed, alarms = rows.members[~second].sum(), rows.others[second].sum()
    return (costs["good"] * missed + costs["bad"] * alarms) / (rows.members + rows.others).sum()


def test_the_cut_off_has_the_least_cost_of_held_out_rows(tuned):
    model, _, _ = tuned
    costs = {"good": 1.0, "bad": 5.0}
    found = model.decide(costs)
    rows, rule = model.out_of_fold.bins[0], found.decision_rule
    every = [cost_of(model, at, rows, costs) for at in [-1, *((rows.probability[1:] + rows.probability[:-1]) / 2), 2]]
    assert rule.basis == "held-out rows" and rule.cost == pytest.approx(min(every))
    assert cost_of(model, rule.cutoff(1), rows, costs) == pytest.approx(rule.cost)
    assert rule.cost < rule.cost_before == pytest.approx(cost_of(model, 0.5, rows, costs))
    assert rule.cutoff(0) < 0.5  # of bad, which is expensive to miss


def test_a_rate_is_met_on_held_out_rows(tuned):
    model, X, _ = tuned
    found = model.decide(rate=0.2)
    assert found.decision_rule.selected == pytest.approx(0.2, abs=0.02)
    assert (found.predict(X) == "bad").mean() == pytest.approx(0.2, abs=0.06)


def test_given_rows_decide_where_there_are_some(tuned):
    model, X, y = tuned
    found = model.decide({"good": 1, "bad": 5}, X=X[:200], y=y[:200])
    p, bad = model.predict_proba(X[:200])[:, 0], y[:200] == "bad"
    cutoffs = np.unique(np.concatenate([[-1.0], p, [2.0]]))
    least = min(np.mean(np.where(bad, 5 * (p <= at), p > at)) for at in cutoffs)
    assert found.decision_rule.basis == "given rows" and found.decision_rule.cost == pytest.approx(least)
    assert np.mean(np.where(found.predict(X[:200]) != y[:200], np.where(bad, 5, 1), 0)) == pytest.approx(least)


def test_everything_decides_so(tuned, tmp_path):
    model, X, y = tuned
    found = model.decide({"good": 1, "bad": 5})
    found.save(tmp_path / "m.json")
    loaded = pysirus.load(tmp_path / "m.json")
    assert loaded.decision_rule == found.decision_rule and (loaded.predict(X) == found.predict(X)).all()
    assert (found.predict(X) != model.predict(X)).any()
    assert found.metrics(X, y)["accuracy"] == pytest.approx((found.predict(X) == y).mean())
    assert (found.without(1).predict(X) == "bad").mean() > (model.without(1).predict(X) == "bad").mean()
    assert f"above a probability of {found.decision_rule.cutoff(0):.4g}" in found.report()
    card = found.export("scorecard")
    assert "Decide for bad above" in card and "held-out rows" in card
    names = {}
    exec(found.export("python"), names)
    rows = X.to_dict("records")
    assert [names["predict"](row) for row in rows] == found.predict(X).tolist()
    changed = found.nearest_change(X[found.predict(X) == "bad"][:1], "good")
    assert found.predict(changed.row)[0] == "good"
    for format in ("pmml", "onnx"):
        with pytest.raises(ExportError, match="decides by costs"):
            found.export(format)


@pytest.mark.parametrize("kind", ["two", "three", "shares"])
def test_sql_decides_the_same(kind):
    rng = np.random.default_rng(4)
    model = random_model(rng, kind, n_slopes=0 if kind == "shares" else 1)
    model = model.decide(dict(zip(model.classes, (1, 4, 2))))
    rows, engine = random_rows(rng, model, 300), engines.duckdb()
    engine.connection.register("data", rows)
    found = engine.run(model.export("sql", table="data", dialect="duckdb"))
    assert [row[-1] for row in found] == model.predict(rows).tolist() != model.decide().predict(rows).tolist()


def test_several_classes_weigh_probabilities_by_costs():
    model = random_model(np.random.default_rng(1), "three").decide({"x": 1, "y": 2, "z": 5})
    rows = random_rows(np.random.default_rng(2), model, 60)
    expected = (model.predict_proba(rows) * [1, 2, 5]).argmax(axis=1)
    assert (model.predict(rows) == np.array(["x", "y", "z"])[expected]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": {"no": 1}}, r"costs must have every class; it lacks \{yes\}"),
        ({"costs": {"no": 1, "yes": 0}}, "costs must be numbers above 0, got 0 for 'yes'"),
        ({"costs": {"no": 1, "maybe": 2}}, "costs must be one of the classes"),
        ({"costs": {"no": 1, "yes": 2}, "rate": 0.5}, "Give costs or rate, not both"),
        ({"rate": 0.5}, "A rate needs rows"),
        ({"rate": 1.5, "X": 1}, "rate must be a number between 0 and 1"),
    ],
)
def test_what_cannot_be_decided_is_said(options, message):
    with pytest.raises(ParameterError, match=message):
        two(1.0).decide(**options)


def test_words_say_how_it_was_chosen():
    said = Decision((0.2, 0.8), "held-out rows", (1.0, 4.0), None, 0.3, 0.5, 0.7)
    first, second, third = said.how().split("; ")
    assert first == "chosen on held-out rows of cross-validation" and second == "30.0% of the rows selected there"
    assert third == "mean cost 0.5 a row, 0.7 by the most likely class"

"""Rules added by hand: outputs and weights from the rows, constraints held, a trail of what was done."""

import json

import numpy as np
import pytest

import pysirus
from pysirus import ModelFileError, RuleTextError, SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._parameters import ParameterError
from pysirus.datasets import load_housing

FAST = {"n_trees": 200, "random_state": 0, "n_rules": 6}


@pytest.fixture(scope="module")
def rows():
    return load_housing(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def model(rows):
    return SirusRegressor(monotonic_cst={"rm": 1}, **FAST).fit(*rows)


def test_an_added_rule_answers_with_means_and_stays_listed(model, rows):
    X, y = rows
    found = model.adding(["crim < 1.23 & rm >= 6.5", "dis < 3"], X, y)
    inside = (X["crim"] < 1.23) & (X["rm"] >= 6.5)
    rule = found.selected[6]
    assert rule.given and rule.stage == 1 and rule.n_inside == inside.sum()
    assert (rule.inside, rule.outside) == (pytest.approx(y[inside].mean()), pytest.approx(y[~inside].mean()))
    assert [r.weight >= 0 for r in found.selected] == [True] * 8
    assert "dis < 3" in str(found) and "given" in str(found)  # whatever its weight
    assert [r.inside for r in found.selected[:6]] == [r.inside for r in model.selected_]


def test_adding_what_was_removed_gives_the_same_list_again(model, rows):
    struck = model.without(3)
    again = struck.adding(model.selected_[2].condition_text, *rows)
    assert str(again.selected[-1]) == str(model.selected_[2])
    assert sorted(r.weight for r in again.selected) == pytest.approx(sorted(r.weight for r in model.selected_))
    assert again.predict(rows[0]) == pytest.approx(model.predict(rows[0]))
    as_rule = struck.adding(model.selected_[2], *rows)
    assert as_rule.selected[-1].conditions == again.selected[-1].conditions


@pytest.mark.parametrize("response", ["two", "three", "equal", "poisson", "gamma", "staged"])
def test_every_response_takes_rules(rows, response):
    X, y = rows
    options = (
        {"n_stages": 2} if response == "staged" else {"loss": response} if response in ("poisson", "gamma") else {}
    )
    if response in ("two", "three", "equal"):
        y = np.digitize(y, [20, 25] if response == "three" else [22])
        options = {"weighting": "equal"} if response == "equal" else {}
        estimator = SirusClassifier(**options, **FAST)
    else:
        estimator = SirusRegressor(**options, **FAST)
    model = estimator.fit(X, y).model_
    found = model.adding("3 <= dis < 4 & tax < 300", X, y)
    assert len(found.selected) == len(model.selected) + 1 and found.selected[-1].given
    assert (np.array([r.weight for r in found.selected]) >= 0).all()
    shorter = found.without("3 <= dis < 4 & tax < 300", *((X, y) if found.link == "softmax" else ()))
    tolerance = 1e-3 if found.link == "log" else 1e-9  # of which only an approximation is kept
    assert shorter.raw_predict(X) == pytest.approx(model.raw_predict(X), rel=tolerance, abs=1e-9)


@pytest.mark.parametrize(
    "text, error, message",
    [
        ("rm < 6.5 & lstat < 4", ParameterError, "breaks a constraint of the model: it falls with 'rm'"),
        ("6 <= rm < 7", ParameterError, "has two sides"),
        ("rm < 6.75", ParameterError, "is in the list already"),
        ("rm >= 6.75", ParameterError, "adds nothing"),
        ("crim < 1000", ParameterError, "holds everywhere or nowhere"),
        ("rom < 3", RuleTextError, "did you mean 'rm'"),
        (3, ParameterError, "rules must be rules as text"),
    ],
)
def test_rules_that_cannot_be_added(model, rows, text, error, message):
    with pytest.raises(error, match=message):
        model.adding(text, *rows)


def test_data_are_needed_and_other_methods_refuse(model, rows):
    with pytest.raises(ParameterError, match="give X and y"):
        model.adding("dis < 3", rows[0], None)
    other = pysirus.NodeHarvestRegressor(n_nodes=20, random_state=0).fit(*rows)
    with pytest.raises(ParameterError, match="of another method"):
        other.adding("dis < 3", *rows)


def test_the_trail_says_what_was_done(rows, tmp_path):
    X, y = rows
    tuned = SirusRegressorCV(n_trees=100, cv=2, n_repeats=1, max_rules=6, random_state=0).fit(X, y)
    edited = tuned.without(1, note="not allowed", by="A. Smith").adding("dis < 3", X, y, note="policy 7")
    first, second = edited.facts["edits"]
    assert first["removed"] == [tuned.rules_[0].condition_text] and first["added"] == []
    assert (first["note"], first["by"]) == ("not allowed", "A. Smith")
    assert first["error"] == {"name": "cross-validated unexplained variance", "before": tuned.cv_error_}
    assert second["added"] == ["dis < 3"] and second["error"]["before"] >= second["error"]["after"] > 0
    edited.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again == edited and again.predict(X).tolist() == edited.predict(X).tolist()
    assert "policy 7" in edited.report()
    with pytest.raises(ParameterError, match="note must be text"):
        tuned.without(1, note=3)
    document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert document["version"] == 2
    for change, message in (
        (lambda d: d["facts"]["edits"][0].pop("removed"), "lacks the entry 'removed'"),
        (lambda d: d["facts"]["edits"][0].update(by=3), "by must be text"),
        (lambda d: d["facts"]["edits"][1]["error"].update(after="less"), "after must be a finite number"),
        (lambda d: d["rules"][-1].update(given=1), "given must be true or false"),
        (lambda d: d["facts"].update(loss="cubic"), "loss must be one of"),
    ):
        damaged = json.loads(json.dumps(document))
        change(damaged)
        (tmp_path / "damaged.json").write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(ModelFileError, match=message):
            pysirus.load(tmp_path / "damaged.json")


def test_exports_know_added_rules(model, rows):
    X, y = rows
    found = model.adding("dis < 3 & rad < 6", X, y)
    space = {}
    exec(found.export("python"), space)
    rows_ = X.head(20).to_dict("records")
    assert [space["predict"](row) for row in rows_] == pytest.approx(found.predict(X.head(20)))

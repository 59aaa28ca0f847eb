"""The same recipe on new rows: one rule worked by hand, then edits that are repeated, then the command line."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import pysirus
from drift_laws import LAWS
from everywhere import EVERY, SOURCES, file_of, nothing_fits
from pysirus import RuleFitRegressor, SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV
from pysirus._data.column import DataError
from pysirus._parameters import ParameterError

SMALL = {"n_trees": 200, "random_state": 3, "n_jobs": 1}


def drawn(seed, drift=None, law=LAWS[1], n=800):
    X, y = law.draw(np.random.default_rng(seed), n, drift)
    return X, pd.Series(y, name="y")


@pytest.fixture(scope="module")
def model():
    return SirusClassifier(n_rules=6, **SMALL).fit(*drawn(0))


def test_change_of_one_rule_and_its_standard_error_are_those_of_four_means():
    X, y = drawn(1, law=LAWS[0])
    model = SirusRegressor(n_rules=1, **SMALL).fit(X, y)
    X2, y2 = drawn(2, "halved", LAWS[0])
    (own,) = model.refit(X2, y2).outputs
    (rule,) = model.rules_
    holds = [rule.holds(model.model_.align(table)) for table in (X, X2)]
    means = [(target[mask].mean(), target[~mask].mean()) for target, mask in zip((y, y2), holds)]
    assert own.then == pytest.approx(means[0]) and own.now == pytest.approx(means[1])
    assert own.change == pytest.approx(np.subtract(*means[1]) - np.subtract(*means[0]), rel=1e-5)
    spread = [sum(target[m].var(ddof=0) / m.sum() for m in (mask, ~mask)) for target, mask in zip((y, y2), holds)]
    optimism = (800 + 2) / (800 - 2)
    assert own.standard_error == pytest.approx(np.sqrt(optimism * spread[0] + spread[1]), rel=1e-3)
    assert own.changed and own.order_kept


def test_same_rows_give_the_same_model_and_no_alarm(model):
    X, y = drawn(0)
    again = model.refit(X.assign(month="2026-01"), y)  # a column that the model does not have
    assert again.diff.is_same and again.other_decisions == 0 and not again.alarm
    assert again.model.random_state == 3 and again.before == again.after
    assert {own.fate for own in again.outputs} == {"stayed"}


def test_halved_effect_raises_the_alarm_and_names_the_rule(model):
    again = model.refit(*drawn(4, "halved"), n_resamples=4)
    first = min(again.outputs, key=lambda own: own.p)
    assert again.alarm and "x1" in first.rule and first.changed and f"rule {first.number}, if" in str(again)
    assert 0 <= again.expected_return.value <= 1 and "may be expected to return" in str(again)
    assert json.loads(json.dumps(again.to_dict()))["alarm"]
    told = again.to_dict()["diff"]
    assert len(told["kept"]) + len(told["shifted"]) + len(told["removed"]) == len(model.rules_)


def test_rows_of_the_same_law_raise_no_alarm(model):
    assert sum(model.refit(*drawn(seed)).alarm for seed in range(10, 16)) == 0


def test_edits_cutoff_texts_and_length_are_repeated():
    X, y = drawn(0)
    tuned = SirusClassifierCV(cv=3, n_repeats=1, max_rules=8, **SMALL).fit(X, y)
    changed = tuned.with_rules(5).without(1, note="not allowed", by="A. Smith").adding("x3 < 0.25 & x4 < 0", X, y)
    changed = changed.decide({"no": 1, "yes": 4}).with_reasons({1: "R1"})
    assert changed.facts.learned_by["n_rules"] == 5
    removed = changed.facts.edits[0]["removed"][0]
    again = changed.refit(*drawn(5))
    found = again.model
    trail = [(bool(own["removed"]), bool(own["added"])) for own in found.facts.edits]
    assert trail == [(True, False), (False, True)] and found.facts.edits[0]["by"] == "A. Smith"
    assert "x3 < 0.25 & x4 < 0" in [rule.text for rule in found.selected] and not again.alarm
    shapes = [rule.shape for rule in found.selected]
    assert next(rule for rule in tuned.rules_ if rule.text == removed).shape not in shapes
    assert len(found.selected) == 5 and found.decision_rule.cutoff(1) == pytest.approx(0.2)
    texts = [rule.reason for rule in found.selected if rule.reason]
    assert texts == [("R1",)] or any("texts of reasons are left out" in note for note in again.notes)
    assert found.reference is not None and found.refit(*drawn(6)).outputs  # what it remembers is of the edited list


def test_edit_that_cannot_be_repeated_raises_the_alarm(model):
    X, y = drawn(0)
    changed = model.adding("coin < 1 & x4 < 0", X, y)
    X2, y2 = drawn(7)
    again = changed.refit(X2.assign(coin=1), y2)
    assert again.alarm and "coin < 1" in again.not_repeated[0] and "could not be repeated" in again.verdict


@pytest.mark.parametrize(
    ("now", "words"),
    [("maybe", "class 'maybe' came"), (None, "class 'yes' went"), ("both", "class 'maybe' came and class 'yes' went")],
)
def test_classes_that_come_and_go_raise_the_alarm_in_words(model, now, words):
    X, y = drawn(4)
    labels = y.where(np.arange(len(y)) % 9 > 0, "maybe") if now else y
    labels = labels.where(labels != "yes", "no") if now != "maybe" else labels
    again = model.refit(X, labels.rename("y"))
    assert again.alarm and again.verdict == f"Alarm: {words}." and "nan" not in str(again)
    assert json.loads(json.dumps(again.to_dict(), allow_nan=False))["before"]["value"] is None


def test_few_new_rows_are_not_compared(model):
    again = model.refit(*(own[:25] for own in drawn(4)))
    assert not again.outputs and "there are 25 rows, and at least 30 are needed" in str(again)


def test_model_without_its_recipe_and_tables_without_its_columns_are_refused(model):
    X, y = drawn(0)
    with pytest.raises(ParameterError, match="does not say with which settings"):
        model.model_.without(1).refit(X, y)
    with pytest.raises(DataError, match="'x2'"):
        model.refit(X.drop(columns="x2"), y)


def test_file_of_a_changed_model_remembers_its_recipe(model, tmp_path):
    model.without(2).save(tmp_path / "m.json")
    loaded = pysirus.load(tmp_path / "m.json")
    assert loaded.facts.learned_by["parameters"]["n_rules"] == 6
    assert loaded.refit(*drawn(8)).model.facts.edits


@pytest.mark.parametrize(("drift", "code"), [(None, 0), ("halved", 3)])
def test_command_writes_the_model_and_leaves_with_the_code(run, model, tmp_path, drift, code):
    model.save(tmp_path / "m.json")
    X, y = drawn(9, drift)
    X.assign(y=y, month="2026-02").to_parquet(tmp_path / "new.parquet")
    files = (tmp_path / "m.json", tmp_path / "new.parquet")
    found, out, err = run("refit", *files, "-o", tmp_path / "n.json", "--json")
    told = json.loads(out)
    assert (found, told["alarm"]) == (code, code == 3) and "Model written" in err
    assert run("verify", tmp_path / "n.json", files[1])[:2] == (0, "Reproduced, bit for bit.\n")
    stability = told["diff"]["stability"]
    assert run("refit", *files, "--fail-below", min(1, stability + 0.01))[0] == 3


def test_command_takes_files_in_batches_and_edited_models(run, model, tmp_path):
    (tmp_path / "parts").mkdir()
    X, y = drawn(9)
    table = X.assign(y=y, month="2026-02")
    for k in range(2):
        table[k::2].to_parquet(tmp_path / "parts" / f"{k}.parquet")
    model.save(tmp_path / "m.json")
    code, out, _ = run("refit", tmp_path / "m.json", tmp_path / "parts")
    assert code == 0 and "Learned again from 800 rows" in out
    run("edit", tmp_path / "m.json", "--without", 2, "-o", tmp_path / "e.json")
    code, _, err = run("refit", tmp_path / "e.json", tmp_path / "parts")
    assert code == 1 and "give one table" in err
    table.to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = run("refit", tmp_path / "e.json", tmp_path / "new.csv", "-o", tmp_path / "f.json")
    assert code == 0 and pysirus.load(tmp_path / "f.json").facts.edits
    assert run("refit", tmp_path / "m.json", "-")[0] == 2


@pytest.mark.parametrize("where", EVERY)
def test_rows_of_every_source_give_the_model_of_the_table(model, where, tmp_path, monkeypatch):
    X, y = drawn(9)
    table = X.assign(y=y, month="2026-02")
    name, _, batches = where.partition(",")
    if batches:
        nothing_fits(monkeypatch)
    again, wanted = model.refit(SOURCES[name](table, tmp_path), "y"), model.refit(table, "y")
    assert file_of(again.model, tmp_path / "a.json") == file_of(wanted.model, tmp_path / "w.json")
    assert str(again) == str(wanted)


def test_command_and_method_learn_the_same_model_and_remember_the_same_columns(run, tmp_path):
    draw = np.random.default_rng(5)
    table = pd.DataFrame({"a": draw.normal(size=300), "b": draw.normal(size=300), "years": draw.uniform(0.5, 2, 300)})
    table["n"], table["w"] = draw.poisson(table.years * np.exp(table.a)), draw.integers(1, 3, 300)
    table["quarter"] = np.arange(300) // 60
    given = {"loss": "poisson", "n_repeats": 1, "max_rules": 6, "n_trees": 100, "random_state": 0}
    model = SirusRegressorCV(cv="forward", **given).fit(table, "n", "w", time="quarter", exposure="years")
    model.save(tmp_path / "m.json")
    table[:240].to_parquet(tmp_path / "new.parquet")
    code, out, err = run("refit", tmp_path / "m.json", tmp_path / "new.parquet", "-o", tmp_path / "n.json")
    assert code in (0, 3), err
    again = model.refit(tmp_path / "new.parquet", "n", "w", time="quarter", exposure="years")
    assert again.model.model_.roles == model.model_.roles and str(again) == out.rstrip()
    assert file_of(again.model, tmp_path / "a.json") == file_of(pysirus.load(tmp_path / "n.json"), tmp_path / "b.json")
    with pytest.raises(ParameterError, match="needs time"):
        model.refit(table, "n", "w", exposure="years")


def test_resamples_of_files_in_batches_are_those_of_the_table(run, model, tmp_path):
    X, y = drawn(9)
    model.save(tmp_path / "m.json")
    (tmp_path / "parts").mkdir()
    for k, rows in enumerate((slice(0, 300), slice(300, None))):
        X.assign(y=y)[rows].to_parquet(tmp_path / "parts" / f"{k}.parquet")
    _, out, _ = run("refit", tmp_path / "m.json", tmp_path / "parts", "--resamples", 4, "--json")
    assert json.loads(out)["expected_return"] == model.refit(X, y, n_resamples=4).expected_return.value


def test_edits_of_rows_that_are_not_in_memory_and_other_methods_are_refused(run, model, tmp_path, monkeypatch):
    X, y = drawn(9)
    X.assign(y=y).to_parquet(tmp_path / "t.parquet")
    assert model.without(1).refit(tmp_path / "t.parquet", "y").model.facts.edits
    numbers = X.select_dtypes("number")
    other = RuleFitRegressor(n_trees=20, random_state=0).fit(numbers, numbers.iloc[:, 0])
    with pytest.raises(ParameterError, match="this model is of RuleFitRegressor"):
        other.refit(numbers, numbers.iloc[:, 0])
    other.save(tmp_path / "other.json")
    for command in ("refit", "verify"):
        code, _, err = run(command, tmp_path / "other.json", tmp_path / "t.parquet")
        assert code == 2 and "of RuleFitRegressor" in err
    nothing_fits(monkeypatch)
    with pytest.raises(DataError, match="give one table"):
        model.without(1).refit(tmp_path / "t.parquet", "y")


@pytest.mark.parametrize("where", ["pandas", "csv", "parquet, in batches", "dask"])
def test_sources_without_a_column_are_refused(model, where, tmp_path, monkeypatch):
    X, y = drawn(9)
    name, _, batches = where.partition(",")
    if batches:
        nothing_fits(monkeypatch)
    with pytest.raises(DataError, match=r"column .x2.|lacks .x2."):
        model.refit(SOURCES[name](X.assign(y=y).drop(columns="x2"), tmp_path), "y")


def test_outputs_of_sides_with_few_rows_are_not_printed_as_nan():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=400), "z": rng.normal(size=400)})
    y = 2.0 * (X.x > 0) + rng.normal(size=400)
    model = SirusRegressor(n_rules=4, n_trees=200, random_state=0).fit(X, y)
    new = X.assign(x=np.where(np.arange(400) < 3, -1.0, 1.0 + X.x.abs()))
    text = str(model.refit(new, 2.0 * (new.x > 0) + rng.normal(size=400)))
    assert "too few rows" in text and "nan" not in text


def test_comparison_is_tables_in_a_notebook_and_texts_are_escaped(model):
    X, y = drawn(0)
    named = {"x1": "<b>x1", "x4": "x4 & co"}
    hostile = SirusClassifier(n_rules=6, **SMALL).fit(X.rename(columns=named), y)
    X2, y2 = drawn(4, "halved")
    again = hostile.refit(X2.rename(columns=named), y2)
    shown = again._repr_html_()
    assert shown.count("<table") == 2 and "&lt;b&gt;x1" in shown and again.verdict in shown
    assert set(re.findall(r"<\s*/?\s*([^\s>]*)", shown)) <= {"p", "br", "table", "thead", "tbody", "tr", "th", "td"}
    few = model.refit(*(own[:25] for own in drawn(4)))
    assert few._repr_html_().count("<table") == 1  # outputs are not compared

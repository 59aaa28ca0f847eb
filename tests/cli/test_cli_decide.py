"""The commands about decisions, run as a user runs them."""

import json
from pathlib import Path

import pandas as pd
import pytest

import pysirus


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def files(tmp_path, ozone):
    X, y = ozone
    level = (y > 14).map({True: "high", False: "low"}).rename("level")
    X.assign(level=level).to_csv(tmp_path / "days.csv", index=False)
    pysirus.SirusClassifier(n_rules=6, n_trees=500, random_state=0).fit(X, level).save(tmp_path / "m.json")
    return X


def test_reasons_of_all_rows_are_those_of_python(run, files):
    code, out, _ = run("reasons", "m.json", "days.csv", "-k", "2", "--outcome", "high", "-o", "r.csv")
    assert code == 0 and out == ""
    expected = pysirus.load("m.json").reasons(files, 2, outcome="high").to_frame("pandas")
    found = pd.read_csv("r.csv")
    assert (found["row"] == expected["row"] + 1).all() and found["text"].tolist() == expected["text"].tolist()
    assert found["contribution"].tolist() == expected["contribution"].tolist()
    code, out, _ = run("reasons", "m.json", "days.csv", "-k", "2", "--outcome", "high")
    assert code == 0 and out == Path("r.csv").read_text()


def test_reasons_of_one_row_print_or_are_json(run, files):
    code, out, _ = run("reasons", "m.json", "days.csv", "--row", "3", "--by", "column", "--reference", "7")
    assert code == 0 and "the given row" in out
    code, out, _ = run("reasons", "m.json", "days.csv", "--row", "3", "--json")
    one = json.loads(out)
    total = one["base"] + one["rest"] + sum(own["contribution"] for own in one["reasons"])
    assert one["row"] == 3 and total == pytest.approx(one["score"])


def test_texts_are_set_and_removed_on_the_command_line(run, files):
    code, _, _ = run("edit", "m.json", "--reason", "1=R1 cool|R1 warm", "--reason", "2=R2", "-o", "said.json")
    assert code == 0
    said = pysirus.load("said.json")
    assert [rule.reason for rule in said.rules_][:2] == [("R1 cool", "R1 warm"), ("R2",)]
    code, out, _ = run("reasons", "said.json", "days.csv", "--row", "1", "-k", "6", "--direction", "both")
    assert code == 0 and "R1 " in out and "R2" in out
    assert run("edit", "said.json", "--reason", "1=", "-o", "less.json")[0] == 0
    assert pysirus.load("less.json").rules_[0].reason == ()


def test_costs_are_set_and_taken_off(run, files):
    code, out, _ = run("decide", "m.json", "--costs", "high=1,low=5", "-o", "careful.json")
    assert code == 0 and out.startswith("decides for low above a probability of 0.1667")
    assert pysirus.load("careful.json").decision_rule.costs == (1.0, 5.0)
    code, out, _ = run("decide", "careful.json", "days.csv", "--rate", "0.5", "-o", "half.json")
    assert code == 0 and "chosen on given rows" in out
    code, out, _ = run("decide", "careful.json", "-o", "plain.json")
    assert code == 0 and "the most likely class" in out and pysirus.load("plain.json").decision_rule is None


def test_change_is_that_of_python(run, files):
    model = pysirus.load("m.json")
    wanted = "high" if model.predict(files[:1])[0] == "low" else "low"
    found = model.nearest_change(files[:1], wanted, fixed=["vis"])
    code, out, _ = run("change", "m.json", "days.csv", "--to", wanted, "--fixed", "vis")
    assert code == 0 and out.splitlines() == str(found).splitlines()
    code, out, _ = run("change", "m.json", "days.csv", "--to", wanted, "--fixed", "vis", "--json")
    assert json.loads(out)["change"]["changes"] == found.changes
    code, out, _ = run("change", "m.json", "days.csv", "--to", wanted, "--fixed", ",".join(files.columns))
    assert code == 0 and "no change of the columns" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["decide", "m.json", "--costs", "high", "-o", "x.json"], "such as good=1,bad=5"),
        (["decide", "m.json", "--rate", "0.5", "-o", "x.json"], "A --rate needs rows"),
        (["change", "m.json", "days.csv", "--to", "x"], "--to must be one of the classes"),
        (["change", "m.json", "days.csv", "--to", "low", "--fixed", "x"], "--fixed"),
        (["reasons", "m.json", "days.csv", "--json"], "say which with --row"),
        (["reasons", "m.json", "days.csv", "--row", "999"], "rows 1 to 330"),
        (["reasons", "m.json", "days.csv", "--reference", "worst"], "--reference must be one of 'average', 'best'"),
        (["reasons", "m.json", "days.csv", "--outcome", "x"], "--outcome must be one of the classes"),
        (["reasons", "m.json", "days.csv", "-k", "0"], "-k must be a whole number"),
        (["reasons", "m.json", "days.csv", "-o", "r.txt"], "must end in .csv or .parquet"),
        (["edit", "m.json", "--reason", "income", "-o", "x.json"], "such as 3='R03 income'"),
        (["edit", "m.json", "--reason", "99=a", "-o", "x.json"], "there is no rule 99"),
    ],
)
def test_what_is_wrong_is_said_in_options(run, files, arguments, message):
    code, _, err = run(*arguments)
    assert code in (1, 2) and message in " ".join(err.split())

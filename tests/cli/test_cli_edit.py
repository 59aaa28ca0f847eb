"""``pysirus edit``: rules struck out and put in from the command line, with a trail."""

from __future__ import annotations

import numpy as np
import pytest

import pysirus


@pytest.fixture
def model(run, tmp_path):
    path = tmp_path / "m.json"
    assert run("fit", "housing", "--rules", 5, "--trees", 200, "--increasing", "rm", "--model", path)[0] == 0
    return path


def test_rules_are_removed_and_added(run, model, tmp_path):
    before, path = pysirus.load(model), tmp_path / "signed.json"
    changes = ["--without", 2, "--add", "crim < 1.5 & dis >= 3", "--note", "policy 7", "--by", "A. Smith"]
    code, out, err = run("edit", model, "housing", *changes, "-o", path)
    assert code == 0 and "crim < 1.5 & dis >= 3" in out and "policy 7 | A. Smith, 20" in err
    after = pysirus.load(path)
    assert before.rules_[1] not in after.selected and after.selected[-1].given
    assert [entry["by"] for entry in after.facts["edits"]] == ["A. Smith", "A. Smith"]
    code, out, err = run("show", path)
    assert code == 0 and "edited: removed" in err and "given" in out
    code, _, _ = run("edit", path, "--without", before.rules_[0].condition_text, "-o", tmp_path / "again.json")
    assert code == 0 and len(pysirus.load(tmp_path / "again.json").facts["edits"]) == 3


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--without", 9], "there is no rule 9: the list has rules 1 to"),
        (["--without", "rm < 1"], "The model has no rule 'rm < 1'"),
        (["--without", "rm <= 1"], "at character 5: use '<' or '>='"),
        ([], "say what to change"),
        (["--add", "rm < 6"], "give the TABLE after the model"),
    ],
)
def test_what_cannot_be_edited_is_refused(run, model, tmp_path, arguments, message):
    code, _, err = run("edit", model, *arguments, "-o", tmp_path / "out.json")
    assert code == 2 and message in err and not (tmp_path / "out.json").exists()


def test_a_rule_that_breaks_a_constraint_is_refused(run, model, tmp_path):
    code, _, err = run("edit", model, "housing", "--add", "5 <= rm < 6", "-o", tmp_path / "out.json")
    assert code == 2 and "breaks a constraint of the model" in err
    code, _, err = run("edit", model, "--without", 1)
    assert code == 2 and "the model file to write is missing" in err


def test_a_fixed_effect_is_required_and_added(run, tmp_path):
    path = tmp_path / "m.json"
    fixed = ["--require", "+2.5 if crim < 1.5 & dis >= 3"]
    code, out, _ = run("fit", "housing", "--rules", 4, "--trees", 200, *fixed, "--model", path)
    assert code == 0 and "given, fixed  +2.5 if crim < 1.5 & dis >= 3" in out
    code, out, err = run("edit", path, "housing", "--add", "-1 if rm < 6", "-o", tmp_path / "e.json")
    assert code == 0 and "-1 if rm < 6" in out and "added -1 if rm < 6" in err
    assert [str(rule.effect) for rule in pysirus.load(tmp_path / "e.json").selected[:2]] == ["+2.5", "-1"]
    code, _, err = run("fit", "housing", "--require", "×2 if crim < 1.5")
    assert code == 2 and "write an amount" in err


def test_a_command_says_which_rows_were_used(run, tmp_path):
    values = np.random.default_rng(0).normal(size=(400, 5))
    values[:, 4] += values[:, 0] + (values[:, 1] < 0)
    lines = [",".join(map(str, row)) for row in values.round(3).tolist()]
    for name, rows in (("old.csv", lines[:300]), ("new.csv", lines)):
        (tmp_path / name).write_text("\n".join(["a,b,c,d,y", *rows]), encoding="utf-8")
    model, edited = tmp_path / "m.json", tmp_path / "e.json"
    assert run("fit", tmp_path / "old.csv", "--target", "y", "--rules", 4, "--trees", 100, "--model", model)[0] == 0
    code, _, err = run("edit", model, tmp_path / "new.csv", "--add", "b < 0.35 & c < 1", "-o", edited)
    assert code == 0 and "400 rows, and it was fitted on 300" in err and "estimated on 400 other rows" in err
    assert {rule.n_inside + rule.n_outside for rule in pysirus.load(edited).selected} == {400}
    code, _, err = run("show", edited)
    assert code == 0 and "estimated on 400 other rows" in err
    assert run("edit", model, tmp_path / "old.csv", "--add", "b < 0.35 & c < 1", "-o", edited)[2].count("not the") == 0

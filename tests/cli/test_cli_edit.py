"""``pysirus edit``: rules struck out and put in from the command line, with a trail."""

from __future__ import annotations

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
        (["--without", "rm <= 1"], "at character 5: rules ask '<' or '>='"),
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
    assert code == 2 and "say which file to write" in err


def test_a_fixed_effect_is_required_and_added(run, tmp_path):
    path = tmp_path / "m.json"
    fixed = ["--require", "+2.5 if crim < 1.5 & dis >= 3"]
    code, out, _ = run("fit", "housing", "--rules", 4, "--trees", 200, *fixed, "--model", path)
    assert code == 0 and "given, fixed  +2.5 if crim < 1.5 & dis >= 3" in out
    code, out, err = run("edit", path, "housing", "--add", "-1 if rm < 6", "-o", tmp_path / "e.json")
    assert code == 0 and "-1 if rm < 6" in out and "added -1 if rm < 6" in err
    assert [str(rule.effect) for rule in pysirus.load(tmp_path / "e.json").selected[:2]] == ["+2.5", "-1"]
    code, _, err = run("fit", "housing", "--require", "×2 if crim < 1.5")
    assert code == 2 and "write what it adds" in err

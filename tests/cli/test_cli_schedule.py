"""What jobs need of the command line: JSON, silence, and exit codes that say what happened."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pysirus
from pysirus.cli._options import EXIT_CODES

FAST = ("--trees", 60, "--seed", 0)
TUNE = ("--folds", 3, "--repeats", 1, "--max-rules", 4)
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", [("fit", "machine"), ("tune", "machine", *TUNE), ("fit", "machine", "--tune")])
def test_what_is_learned_prints_as_json_what_show_prints(run, command, tmp_path):
    path = tmp_path / "m.json"
    code, out, err = run(*command, *FAST, "--json", "--model", path)
    found = json.loads(out)
    assert code == 0 and "Model written" in err and "columns:" not in err
    assert found == json.loads(run("show", path, "--json")[1])
    assert [rule["weight"] for rule in found["rules"]] == [rule.weight for rule in pysirus.load(path).rules_]
    assert ("tuning" in found) == ("tune" in " ".join(map(str, command)))
    assert isinstance(found["doubts"], list)


@pytest.mark.parametrize("command", [("fit", "machine"), ("tune", "machine", *TUNE)])
def test_quiet_commands_write_and_say_nothing(run, command, tmp_path):
    path = tmp_path / "m.json"
    assert run(*command, *FAST, "--quiet", "--model", path) == (0, "", "")
    assert len(pysirus.load(path).rules_)
    code, out, err = run(*command, *FAST, "-q", "--json")
    assert code == 0 and json.loads(out)["rules"] and not err


def test_quiet_commands_still_warn_and_complain(run, tmp_path):
    lines = [f"{i % 7},{i * i % 11},{i * 7919 % 13}" for i in range(60)]
    (tmp_path / "noise.csv").write_text("\n".join(["a,b,y", *lines]), encoding="utf-8")
    code, out, err = run("tune", tmp_path / "noise.csv", "--target", "y", *FAST, *TUNE, "--quiet")
    assert (code, out) == (0, "") and "Nothing was learned" in err
    code, out, err = run("fit", tmp_path / "noise.csv", "--target", "z", "--quiet")
    assert (code, out) == (1, "") and "'z'" in err


def test_json_and_a_model_do_not_share_standard_output(run):
    code, out, err = run("fit", "machine", *FAST, "--json", "--model", "-")
    assert (code, out) == (2, "") and "--json" in err and "--model -" in err


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    X, y = pysirus.datasets.load_machine(return_X_y=True, as_frame=True)
    for name, seed in (("old", 0), ("new", 1)):
        pysirus.SirusRegressor(n_rules=6, n_trees=60, random_state=seed).fit(X, y).save(folder / f"{name}.json")
    return folder / "old.json", folder / "new.json"


def test_diff_fails_below_a_stability_and_only_there(run, models):
    found = pysirus.stability(*map(pysirus.load, models))
    assert 0 < found < 1
    code, out, err = run("diff", *models, "--fail-below", found)
    assert code == 0 and not err and out == run("diff", *models)[1]
    code, out, err = run("diff", *models, "--fail-below", found + 1e-9)
    assert code == 3 and out == run("diff", *models)[1] and "is below" in err
    code, out, err = run("diff", *models, "--json", "--fail-below", 1)
    assert code == 3 and json.loads(out)["stability"] == found
    for wrong in ("1.2", "-0.1", "nan"):
        code, out, err = run("diff", *models, f"--fail-below={wrong}")
        assert (code, out) == (2, "") and "from 0 to 1" in err


def test_exit_codes_are_in_the_help_and_on_one_page(run):
    help_text = " ".join(run("--help")[1].split())
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (\d+) \| (.+?) \|$", page, re.MULTILINE))
    assert {int(code) for code in listed} == set(EXIT_CODES)
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in help_text.replace("│ ", "") and meaning in listed[str(code)]

"""``--json``, ``show`` of a tuned model, ``--groups``, completion, and help without types of flags."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, cli
from pysirus.cli import main
from pysirus.datasets import load_ozone

pytestmark = pytest.mark.filterwarnings("ignore")
FAST = {"n_trees": 60, "random_state": 0}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of each kind, and a table of its rows."""
    folder = tmp_path_factory.mktemp("json")
    X, y = load_ozone(return_X_y=True, as_frame=True)
    X.assign(O3=y).to_csv(folder / "rows.csv", index=False)
    SirusRegressor(n_rules=3, required_rules=["+2 if temp < 66"], **FAST).fit(X, y).save(folder / "numbers.json")
    SirusClassifier(n_rules=3, **FAST).fit(X, np.where(y > 10, "yes", "no")).save(folder / "two.json")
    SirusClassifier(n_rules=3, **FAST).fit(X, np.digitize(y, [7, 14])).save(folder / "three.json")
    SirusRegressorCV(cv=3, n_repeats=1, max_rules=4, **FAST).fit(X, y).save(folder / "tuned.json")
    return folder


def test_show_prints_json(run, files):
    code, out, err = run("show", files / "numbers.json", "--json")
    found, model = json.loads(out), pysirus.load(files / "numbers.json")
    assert code == 0 and not err and found["target"] == "O3"
    assert [rule["weight"] for rule in found["rules"]] == [rule.weight for rule in model.rules_]
    assert found["rules"][0]["given"] is True and found["rules"][0]["effect"] == "+2"
    assert found["intercept"] == model.intercept_ and found["facts"]["n_rows"] == 330
    tuned = json.loads(run("show", files / "tuned.json", "--json")[1])
    assert tuned["tuning"]["cv_error"] == pysirus.load(files / "tuned.json").model_.facts["cv_error"]
    assert tuned["out_of_fold"]["r2"]["value"] > 0
    points = json.loads(run("show", files / "two.json", "--json")[1])
    assert points["classes"] == ["no", "yes"] and "adds_inside" in points["rules"][0]


@pytest.mark.parametrize("name", ["numbers", "two", "three"])
def test_explain_prints_json_that_adds_up(run, files, name):
    code, out, _ = run("explain", files / f"{name}.json", files / "rows.csv", "--row", 6, "--json")
    found = json.loads(out)
    rows = pd.read_csv(files / "rows.csv").drop(columns="O3")
    model = pysirus.load(files / f"{name}.json")
    assert code == 0 and found["row"] == 6 and len(found["rules"]) == len(model.rules_)
    if name == "numbers":
        assert found["prediction"] == pytest.approx(model.predict(rows)[5])
        total = found["baseline"] + sum(rule["contribution"] for rule in found["rules"])
        assert total == pytest.approx(found["prediction"])
        return
    shares = model.predict_proba(rows)[5]
    assert list(found["prediction"].values()) == pytest.approx(shares.tolist())
    parts = [found["baseline"], *(rule["contribution"] for rule in found["rules"])]
    scores = np.array([sum(part[label] for part in parts) for label in found["baseline"]])
    odds = np.exp(np.append(0.0, scores)) if name == "two" else np.exp(scores)
    assert odds / odds.sum() == pytest.approx(shares)


def test_show_says_how_a_tuned_model_was_judged(run, files):
    code, out, err = run("show", files / "tuned.json")
    model = pysirus.load(files / "tuned.json")
    assert code == 0 and "held-out: " not in out
    assert f"unexplained variance {model.cv_error_:.3f}, stability {model.cv_stability_:.2f}" in err
    assert "would be selected again" in err
    assert "held-out: " not in run("show", files / "numbers.json")[2]


def test_groups_stay_in_one_fold(run, files, tmp_path):
    """With a copy of every row, folds that part the copies say that a list of many rules has no error."""
    rng = np.random.default_rng(0)
    half = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc")).assign(y=rng.normal(size=40), who=range(40))
    pd.concat([half] * 6, ignore_index=True).to_csv(tmp_path / "t.csv", index=False)
    command = ["tune", tmp_path / "t.csv", "-t", "y", "--trees", 60, "--repeats", 1]
    errors = []
    for more in (["--drop", "who"], ["--groups", "who"]):
        code, _, err = run(*command, *more, "--model", tmp_path / "m.json")
        assert code == 0, err
        model = pysirus.load(tmp_path / "m.json")
        assert "who" not in [feature.name for feature in model.model_.features]
        errors.append(model.cv_error_)
    assert errors[0] < 0.95 < errors[1]
    code, _, err = run("fit", tmp_path / "t.csv", "-t", "y", "--groups", "who")
    assert code == 2 and "--tune or --cv" in err
    code, _, err = run(*command, "--groups", "nobody")
    assert code == 1 and "nobody" in err
    half.assign(who=[None, *range(39)]).to_csv(tmp_path / "gaps.csv", index=False)
    code, _, err = run("tune", tmp_path / "gaps.csv", "-t", "y", "--groups", "who")
    assert code == 1 and "Column 'who', the groups, is missing in 1 of 40 rows" in err


@pytest.mark.parametrize("command", [[], ["fit"], ["tune"], ["show"], ["score"], ["explain"], ["edit"], ["predict"]])
def test_help_shows_no_type_of_flags(run, command):
    code, out, _ = run(*command, "--help")
    assert code == 0 and "bool" not in out.lower() and "--help" in out


def test_a_shell_completes_commands():
    asked = {"_PYSIRUS_COMPLETE": "complete_bash", "COMP_WORDS": "pysirus ex", "COMP_CWORD": "1"}
    call = "import sys; sys.argv = ['pysirus']; from pysirus.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", call], env=os.environ | asked, capture_output=True, text=True)
    assert found.returncode == 0 and found.stdout.split() == ["explain", "export"]


def test_leaving_is_no_success_where_the_reader_left(monkeypatch):
    for code, wanted in ((0, 0), (None, 0), (1, 141)):
        monkeypatch.setattr(cli, "app", lambda *_, code=code, **__: sys.exit(code))
        with pytest.raises(SystemExit) as leaving:
            main([])
        assert (leaving.value.code or 0) == wanted

"""Times to an event on the command line: fit, tune, predict, score, show, explain, report, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

import pysirus
from survival_table import COLUMNS, survival_table

pytestmark = pytest.mark.filterwarnings("ignore")
TIMES = ("--time", "years", "--event", "died")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, y = survival_table()
    frame = pd.DataFrame(X, columns=COLUMNS).assign(died=y["event"].astype(int), years=y["years"], w=1.5, id=range(200))
    path = tmp_path_factory.mktemp("survival") / "t.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(run, table, tmp_path):
    path = tmp_path / "m.json"
    code, out, err = run("fit", table, *TIMES, "--drop", "w,id", "-n", 3, "--trees", 100, "-m", path)
    assert code == 0, err
    assert out.startswith("years until died: median ") and "events" in out and " (" in out
    return path


def test_a_model_is_shown_predicts_and_is_scored(run, table, model):
    loaded, whole = pysirus.load(model), pd.read_csv(table)
    rows = whole[COLUMNS]
    assert isinstance(loaded, pysirus.SirusSurvival)
    code, out, _ = run("show", model)
    assert code == 0 and "each rule multiplies the hazard" in out
    code, out, _ = run("predict", model, table, "--keep", "id", "--at", "1,2.5")
    lines = out.splitlines()
    assert code == 0 and lines[0] == "id,prediction,survival_1,survival_2.5"
    first = [float(v) for v in lines[1].split(",")]
    assert first[1] == loaded.predict(rows[:1])[0]
    assert first[2:] == pytest.approx(loaded.predict_survival_function(rows[:1])[0]([1.0, 2.5]))
    code, out, _ = run("score", model, table, "--json")
    metrics = json.loads(out)["metrics"]
    assert code == 0 and metrics["concordance"]["value"] == loaded.score(rows, whole[["died", "years"]])
    assert 0 < metrics["integrated_brier"]["value"] < 0.3
    code, out, _ = run("explain", model, table, "--row", 3)
    assert code == 0 and "hazard" in out and "×" in out


def test_tuning_and_a_report(run, table, tmp_path):
    path = tmp_path / "m.json"
    few = ("--folds", 3, "--repeats", 1, "--trees", 50, "--max-rules", 3, "--stages", "auto")
    code, out, err = run("tune", table, *TIMES, "--sample-weight", "w", "--drop", "id", *few, "-m", path)
    assert code == 0, err
    assert "held-out: 2 (1 - concordance) 0." in out
    assert "concordance 0." in err
    code, _, _ = run("report", path, table, "-o", tmp_path / "r.html")
    assert code == 0 and "(censored)" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--time", "years"), "--event"),
        (("--event", "died"), "--time"),
        ((*TIMES, "--target", "age"), "--target"),
        ((*TIMES, "--task", "regression"), "--task"),
        ((*TIMES, "--loss", "poisson"), "not for times to an event"),
        ((*TIMES, "--class-weight", "balanced"), "not for times to an event"),
        ((*TIMES, "--exposure", "w"), "--exposure"),
        (("--time", "years", "--event", "grade"), "'grade' must be 0 or 1"),
        (("--time", "yeers", "--event", "died"), "yeers"),
        (("--time", "years", "--event", "years"), "two roles"),
        ((*TIMES, "--memory", "1KB"), "These take more than --memory allows, 1,024 bytes. Set --memory to more"),
    ],
)
def test_what_cannot_be_is_said(run, table, options, message):
    code, _, err = run("fit", table, *options)
    assert code != 0 and message in " ".join(err.split()) and "Traceback" not in err


def test_files_are_read_into_one_table(run, table, model, tmp_path):
    frame, found = pd.read_csv(table), tmp_path / "found.json"
    for k in (0, 1):
        frame.iloc[100 * k : 100 * (k + 1)].to_csv(tmp_path / f"part-{k}.csv", index=False)
    options = (*TIMES, "--drop", "w,id", "-n", 3, "--trees", 100, "-m", found)
    for source in ((table, "--memory", "1GB"), (tmp_path / "part-*.csv",)):
        code, _, err = run("fit", *source, *options)
        assert code == 0 and found.read_bytes() == model.read_bytes(), err


def test_options_of_survival_are_refused_elsewhere(run, table, tmp_path):
    path = tmp_path / "m.json"
    assert run("fit", table, "-t", "years", "--trees", 50, "-n", 2, "-m", path)[0] == 0
    for command in (("predict", path, table, "--at", "1"), ("score", path, table, "--event", "died")):
        code, _, err = run(*command)
        assert code != 0 and "is for survival" in err


def test_times_to_predict_at_are_times(run, table, model):
    for at in ("-1", "soon", ""):
        code, _, err = run("predict", model, table, "--at", at)
        assert code != 0 and "times from 0 on" in " ".join(err.split())
    assert np.isfinite(pysirus.load(model).predict(pd.read_csv(table)[COLUMNS])).all()


def test_rules_are_removed_and_added_on_the_table(run, table, model, tmp_path):
    edited = tmp_path / "e.json"
    code, _, err = run("edit", model, "--without", 1, "-o", edited)
    assert code == 2 and "the training rows" in err
    code, _, err = run("edit", model, table, "--without", 1, "--add", "age < 55 & nodes < 7", "-o", edited)
    assert code == 0 and "not the rows" not in err
    before, after = pysirus.load(model), pysirus.load(edited)
    assert len(after.selected) == len(before.selected_) and after.selected[-1].given
    assert [rule.inside for rule in after.selected[:-1]] == [rule.inside for rule in before.selected_[1:]]

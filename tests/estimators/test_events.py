"""Which value is an event: events coded 1 and 2 as in R's lung and pbc, in Python and on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import SirusSurvival, SirusSurvivalCV
from pysirus._data.column import DataError
from pysirus._parameters import ParameterError
from survival_table import COLUMNS, survival_table

OPTIONS = {"n_rules": 4, "n_trees": 100, "random_state": 0}


@pytest.fixture(scope="module")
def lung():
    """Times and a status of 1 (censored) and 2 (dead), as R's survival package has them; the flags beside."""
    X, y = survival_table(250)
    frame = pd.DataFrame(X, columns=COLUMNS)
    return frame.assign(time=np.ceil(y["years"] * 100), status=np.where(y["event"], 2, 1)), y["event"]


@pytest.fixture(scope="module")
def expected(lung):
    frame, dead = lung
    return SirusSurvival(**OPTIONS).fit(frame[COLUMNS], frame[["status", "time"]].assign(status=dead))


def same(model, expected, X):
    return (model.predict(X[COLUMNS]) == expected.predict(X[COLUMNS])).all()


@pytest.mark.parametrize("columns", [["time", "status"], ["status", "time"]])
@pytest.mark.parametrize("make", [lambda s: s, lambda s: s.astype(float), lambda s: s.astype(str)])
def test_the_event_is_the_value_that_is_said(lung, expected, columns, make):
    frame, _ = lung
    y = frame[columns].assign(status=make(frame["status"]))
    model = SirusSurvival(**OPTIONS, event=2).fit(frame[COLUMNS], y)
    assert same(model, expected, frame) and model.model_.survival.event == "status"
    assert model.model_.target == "time" and model.model_.survival.event_value == 2
    assert "status = 2: median" in str(model)
    assert model.score(frame[COLUMNS], y) == expected.score(frame[COLUMNS], y.assign(status=frame["status"] == 2))
    assert model.score(frame[COLUMNS], y.assign(status=frame["status"] == 2)) == model.score(frame[COLUMNS], y)


def test_the_order_of_the_columns_does_not_matter(lung, expected):
    frame, dead = lung
    for y in (frame[["time"]].assign(status=dead), frame[["time"]].assign(status=dead.astype(int))):
        assert same(SirusSurvival(**OPTIONS).fit(frame[COLUMNS], y), expected, frame)
    plain = frame[["time", "status"]].to_numpy()
    assert same(SirusSurvival(**OPTIONS, event=2).fit(frame[COLUMNS], plain), expected, frame)
    everybody = pd.DataFrame({"status": np.ones(250), "time": frame["time"]})
    assert SirusSurvival(**OPTIONS).fit(frame[COLUMNS], everybody[["time", "status"]]).model_.survival.n_events == 250


def test_words_can_be_events(lung, expected):
    frame, dead = lung
    y = frame[["time"]].assign(outcome=np.where(dead, "dead", "alive"))
    model = SirusSurvival(**OPTIONS, event="dead").fit(frame[COLUMNS], y)
    assert same(model, expected, frame) and model.model_.survival.event_text == "outcome = dead"
    with pytest.raises(DataError, match=r"'outcome' must be 0 or 1.*found 'alive', 'dead'.*event='dead'"):
        SirusSurvival(**OPTIONS).fit(frame[COLUMNS], y)


@pytest.mark.parametrize("columns", [["time", "status"], ["status", "time"]])
def test_events_of_unknown_meaning_are_asked_about(lung, columns):
    frame, _ = lung
    with pytest.raises(
        DataError, match=r"column 'status' must be 0 or 1.*found 1, 2\. .*for example event=2"
    ) as caught:
        SirusSurvival(**OPTIONS).fit(frame[COLUMNS], frame[columns])
    assert "--event" not in str(caught.value) and "y[" not in str(caught.value)
    with pytest.raises(DataError, match="event 3 is in no row of 'status'"):
        SirusSurvival(**OPTIONS, event=3).fit(frame[COLUMNS], frame[columns])
    with pytest.raises(ParameterError, match="event must be a number, a text"):
        SirusSurvival(**OPTIONS, event=[1, 2]).fit(frame[COLUMNS], frame[columns])


def test_an_event_is_no_weight(lung):
    frame, dead = lung
    for time in (frame["time"], frame["time"].to_numpy(), frame["time"].tolist()):
        with pytest.raises(DataError, match=r"event and a time for each row.*third argument of fit is sample_weight"):
            SirusSurvival(**OPTIONS).fit(frame[COLUMNS], time, dead)
    with pytest.raises(DataError, match=r"Found one number for each row\.$"):
        SirusSurvival(**OPTIONS).fit(frame[COLUMNS], frame["time"])


def test_the_tuned_model_and_its_file_keep_the_event(lung, tmp_path):
    frame, dead = lung
    options = {"n_trees": 60, "random_state": 0, "n_repeats": 1, "cv": 3, "max_rules": 4}
    y = frame[["time", "status"]]
    model = SirusSurvivalCV(**options, event=np.int64(2)).fit(frame[COLUMNS], y)
    model.save(tmp_path / "lung.json")
    loaded = pysirus.load(tmp_path / "lung.json")
    assert loaded.event == 2 and loaded.model_.survival.event_value == 2
    assert loaded.score(frame[COLUMNS], y) == model.score(frame[COLUMNS], y)
    assert loaded.with_rules(2).survival.event_value == 2
    shorter = loaded.without(1, frame[COLUMNS], y)
    assert shorter.survival.n_events == dead.sum()
    assert "status = 2" in loaded.report(None, frame[COLUMNS], y=y)


def test_the_command_line_takes_the_value(lung, expected, run, tmp_path):
    frame, _ = lung
    table, file = tmp_path / "lung.csv", tmp_path / "lung.json"
    frame.to_csv(table, index=False)
    asked = ["fit", table, "--time", "time", "-n", 4, "--trees", 100, "-m", file]
    code, _, err = run(*asked, "--event", "status")
    assert code == 1 and "found 1, 2. Say which value is the event (--event status=2)." in err
    assert "event=2" not in err.replace("--event status=2", "") and "y[" not in err
    code, out, _ = run(*asked, "--event", "status=2")
    assert code == 0 and "status = 2: median" in out
    assert same(pysirus.load(file), expected, frame)
    code, out, _ = run("score", file, table, "--json")
    scored = json.loads(out)
    assert code == 0 and "concordance" in str(scored)
    code, _, err = run(*asked, "--event", "status=3")
    assert code == 2 and "--event" in err and "'3' is no value of 'status', which has" in err
    assert run("report", file, table, "-o", tmp_path / "r.html")[0] == 0
    assert run("tune", *asked[1:4], "--event", "status=2", "--repeats", 1, "--trees", 50, "--max-rules", 3)[0] == 0

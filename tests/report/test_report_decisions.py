"""Groups, nearest changes and cut-offs in the report: as the methods say them, and safe where names are hostile."""

import re

import numpy as np
import pandas as pd
import pytest

from hostile import MARKUP
from pysirus import SirusClassifier
from pysirus._parameters import ParameterError
from pysirus.report import page, summary

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def model(ozone):
    X, y = ozone
    return SirusClassifier(n_rules=6, n_trees=200, random_state=0).fit(X, np.where(y > 14, "high", "low"))._as_model()


def section(text, name):
    found = re.search(rf'<section id="{name}".*?</section>', text, re.DOTALL)
    return found and found[0]


def test_report_shows_groups_only_when_asked(model, ozone):
    X, y = ozone
    level = np.where(y > 14, "high", "low")
    weekend = pd.Series(np.where(np.arange(len(X)) % 7 < 5, "weekday", MARKUP), name="part")
    assert section(page(summary(model, X, y=level)), "groups") is None
    found = section(page(summary(model, X, y=level, by=weekend)), "groups")
    expected = model.metrics(X, level, by=weekend)
    assert "Groups: part" in found and MARKUP not in found
    assert f"{expected['weekday'].n_rows:,}" in found and expected["weekday"].selected.text(True) in found
    for line in expected.notes()[:1]:
        assert line in found
    with pytest.raises(ParameterError, match="the rows and their targets are needed"):
        summary(model, X, by=weekend)


def test_report_shows_the_nearest_change_of_rows(model, ozone):
    X, _ = ozone
    asked = {"to": "high", "fixed": ["doy"], "directions": {"vis": "down"}, "rows": [0, 5]}
    data = summary(model, X, change=asked)
    for k in (0, 5):
        change = model.nearest_change(X[k : k + 1], "high", fixed=["doy"], directions={"vis": "down"}, X=X)
        assert data["changes"]["rows"][str(k)] == (None if change is None else change.lines())
    text = section(page(data), "changes")
    assert "What would make it high" in text and "doy fixed; vis only down" in text
    first = summary(model, X, change="high")["changes"]["rows"]
    low = np.flatnonzero(np.asarray(model.predict(X)) == "low")[:20]
    assert list(first) == [str(k) for k in low]
    with pytest.raises(ParameterError, match="there are rows 0 to"):
        summary(model, X, change={"to": "high", "rows": [len(X)]})
    with pytest.raises(ParameterError, match="is about rows"):
        summary(model, change="high")


def test_row_in_the_report_is_decided_by_the_cut_off_and_says_what_would_change_it(open_report, model, ozone):
    X, _ = ozone
    careful = model.decide({"low": 1, "high": 50})
    row = int(np.flatnonzero((model.predict(X) == "low") & (careful.predict(X) == "high"))[0])
    tab = open_report(careful, X[row : row + 1], change={"to": "low", "rows": [0]})
    assert tab.locator("#row h3").inner_text().startswith("Row 1: decided high")
    change = careful.nearest_change(X[row : row + 1], "low", X=X[row : row + 1])
    told = "no change" if change is None else next(iter(change.changes))
    assert told in tab.locator("#row-change").inner_text()


def test_command_writes_groups_and_changes(run, tmp_path, monkeypatch, ozone):
    monkeypatch.chdir(tmp_path)
    X, y = ozone
    level = pd.Series(np.where(y > 14, "high", "low"), name="level")
    season = np.where(X["doy"] < 180, "early", "late")
    X.assign(level=level.to_numpy(), season=season).to_csv("days.csv", index=False)
    SirusClassifier(n_rules=4, n_trees=100, random_state=0).fit(X, level).save("m.json")
    options = ("--by", "season", "--change-to", "high", "--fixed", "doy", "--row", "1", "-o", "r.html")
    code, _, err = run("report", "m.json", "days.csv", *options)
    text = (tmp_path / "r.html").read_text()
    assert code == 0, err
    assert "Groups: season" in section(text, "groups") and "doy fixed" in section(text, "changes")
    for wrong, message in (
        (("--by", "sex"), "sex"),
        (("--change-to", "medium"), "must be one of the classes"),
        (("--fixed", "doy"), "say --change-to too"),
        (("--change-to", "high", "--row", "999"), "the table has rows 1 to 330, got 999"),
    ):
        code, _, err = run("report", "m.json", "days.csv", "-o", "x.html", *wrong)
        assert code != 0 and message in err and not (tmp_path / "x.html").exists()

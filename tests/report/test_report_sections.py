"""Sections of the report: rules on one axis, colours, signs, groups, nearest changes and cut-offs."""

import re
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from hostile import MARKUP
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._parameters import ParameterError
from pysirus.plot._rules import DOWN, UP
from pysirus.report import page, summary

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def model(ozone):
    X, y = ozone
    return SirusClassifier(n_rules=6, n_trees=200, random_state=0).fit(X, np.where(y > 14, "high", "low"))._as_model()


@pytest.fixture(scope="module")
def tuned(ozone):
    return SirusRegressorCV(n_repeats=1, cv=3, n_trees=200, random_state=0).fit(*ozone)


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
        change = model.nearest_change(X[k : k + 1], "high", fixed=["doy"], directions={"vis": "down"})
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
    assert tab.locator("#row h3").inner_text().startswith("Row 1: decision high")
    said = str(careful.reasons(X[row : row + 1])).splitlines()[0]
    assert said == f"decision: high. {tab.locator('#row-decision').inner_text()[:-1]}".replace("\N{MINUS SIGN}", "-")
    change = careful.nearest_change(X[row : row + 1], "low")
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


def test_rules_come_first_with_both_sides_on_one_axis(open_report, ozone, tuned):
    tab = open_report(tuned, *ozone)
    order = tab.locator("main > section").evaluate_all("(all) => all.map((own) => own.id)")
    assert order[:3] == ["rules", "size", "quality"]
    low, high = tab.evaluate("[d3.min(data.rules, (d) => d.inside), d3.max(data.rules, (d) => d.outside)]")
    assert low < high
    places = {
        side: [
            float(text[:-1])
            for text in tab.locator(f".sides .{side}").evaluate_all("(all) => all.map((c) => c.getAttribute('cx'))")
        ]
        for side in ("then", "else")
    }
    rules = list(tuned.rules_)
    said = np.array([[rule.inside, rule.outside] for rule in rules])
    shown = np.column_stack([places["then"], places["else"]])
    line = np.polyfit(said.ravel(), shown.ravel(), 1)  # one axis for all: places are a line in what is said
    assert line[0] > 0 and np.abs(np.polyval(line, said) - shown).max() < 0.02


def test_the_ideal_point_is_drawn_where_error_is_zero(open_report, tuned):
    tab = open_report(tuned)
    assert tab.evaluate("data.ideal") == tuned.model_.tuning.path.ideal.stability
    assert tab.locator("#pareto .ideal").count() == 1 and "ideal" in tab.locator("#pareto").inner_text()
    assert all("stability between folds" in tab.locator(chart).inner_text() for chart in ("#pareto", "#path"))
    left, right = tab.locator("#pareto .points").bounding_box(), tab.locator("#pareto .ideal").bounding_box()
    assert right["x"] + right["width"] > left["x"] + left["width"]
    assert right["y"] + right["height"] > left["y"] + left["height"]


def test_numbers_have_minus_signs_and_names_keep_their_hyphens(open_report, rng):
    X = pd.DataFrame({"a -5": rng.normal(0, 9, 200), "kind": rng.choice(["x -1", "y -2", "z"], 200)})
    y = -10.0 * (X["a -5"] < -3) + 4 * (X["kind"] == "x -1") - 20
    tab = open_report(SirusRegressor(n_rules=4, n_trees=100, random_state=0).fit(X, y), X, y=y)
    text = tab.locator("main").text_content()
    shown = text[: text.index("How it was made")].replace("a -5", "").replace("x -1", "").replace("y -2", "")
    assert "−" in shown
    assert re.findall(r"(?<![\w.])-[\d.]+", shown) == []
    assert "a -5" in text and "x -1" in text


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    first, second = sorted([luminance(a), luminance(b)])
    return (second + 0.05) / (first + 0.05)


def test_up_and_down_differ_without_their_hue():
    style = files("pysirus.report").joinpath("report.css").read_text()
    themes = [
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r"\{[^{}]*--up:[^{}]*\}", style)
    ]
    assert len(themes) == 4  # light, dark as the system says, dark as the reader says, print
    for theme in themes:
        ground = theme.get("ground", "#ffffff")
        assert contrast(theme["up"], theme["down"]) > 1.9
        assert min(contrast(theme[name], ground) for name in ("up", "down")) > 3
        assert contrast(theme["down-text"], ground) > 4.5
    assert contrast(UP, DOWN) > 1.9


def test_rows_of_a_report_are_those_of_the_model_whatever_categories_they_have():
    """Rows that lack some categories, or have unseen ones, are decided as among all rows."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.exponential(size=150).round(2), "d": rng.choice(["u", "v", "w"], 150)})
    y = np.where(X["a"] + (X["d"] == "u") + 0.3 * rng.normal(size=150) > 1.2, "good", "bad")
    fitted = SirusClassifier(n_rules=6, n_trees=150, random_state=0).fit(X, y)._as_model()
    rows = pd.DataFrame({"a": [0.1, 1.4, 0.3, 0.9], "d": ["w", "u", "w", "never seen"]})
    data = summary(fitted, rows, change="good")
    refused = np.flatnonzero(np.asarray(fitted.predict(rows)) == "bad")
    assert list(data["changes"]["rows"]) == [str(k) for k in refused]
    at = data["rows"]["columns"].index("d")
    assert [line[at] for line in data["rows"]["values"]] == ["w", "u", "w", "(unseen)"]

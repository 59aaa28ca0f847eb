"""Rules on dates: the feature is the date itself, and its cuts are read, written and compared as dates."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import RuleFitRegressor, SirusRegressor, plot
from pysirus._bins.numeric import Bracket, shortest_date_in
from pysirus._terms.parse import RuleTextError
from pysirus._text.format import format_date, read_date

SMALL = {"n_trees": 200, "n_rules": 4, "random_state": 0, "prepare": True}


def rows(start, n=300, freq="D"):
    """A table whose target steps up in June, and a column beside it."""
    t = pd.Series(pd.date_range(start, periods=n, freq=freq))
    x = np.random.default_rng(0).random(n)
    return pd.DataFrame({"t": t, "x": x}), (t >= "2024-06-01") * 4.0 + (x > 0.5)


@pytest.fixture(scope="module")
def model():
    return SirusRegressor(**SMALL).fit(*rows("2024-01-02"))


# ------------------------------------------------------------------------------------------------------------ by hand


@pytest.mark.parametrize(
    "text, days",
    [
        ("1970-01-01", 0.0),
        ("2024-06-01", 19875.0),
        ("1969-12-31", -1.0),
        ("2024-06-01 12:00", 19875.5),
        ("2024-06-01 18:45", 19875.78125),
        ("2024-06-01 00:00:01", 19875 + 1 / 86400),
        ("2024-06-01 14:30:00.25", (19875 * 86_400_000_000 + 52_200_250_000) / 86_400_000_000),
    ],
)
def test_dates_are_written_and_read_back(text, days):
    assert format_date(days) == text and read_date(text) == days


def test_what_is_no_date_is_none():
    assert read_date("2024-02-30") is None and read_date("2024-06-01 25:00") is None
    assert format_date(19875 + 4e-12) == "2024-06-01"  # a quantile between two microseconds


@pytest.mark.parametrize(
    "below, above, cut, found",
    [
        ("2024-05-30", "2024-06-01", "2024-05-31", "2024-05-31"),
        ("2024-05-31 06:00", "2024-06-01 11:00", "2024-05-31 20:00", "2024-06-01"),  # a plain day does it
        ("2024-06-01 06:20", "2024-06-01 11:00", "2024-06-01 08:31", "2024-06-01 09:00"),
        ("2024-06-01 06:20", "2024-06-01 06:40", "2024-06-01 06:30:10", "2024-06-01 06:30"),
        ("2024-06-01 06:20:01", "2024-06-01 06:20:02", "2024-06-01 06:20:01.5", "2024-06-01 06:20:02"),
        ("2024-06-01", "2024-06-03", "2024-06-02 12:00", "2024-06-02"),  # of two as near the earlier
    ],
)
def test_the_threshold_of_a_date_is_the_nearest_plain_day_that_does_it(below, above, cut, found):
    gap = Bracket(read_date(below), read_date(above))
    assert format_date(shortest_date_in(gap, read_date(cut))) == found


def test_a_cut_is_a_date_and_does_not_depend_on_the_first_row(model):
    assert [f.name for f in model.model_.features] == ["year of t", "month of t", "weekday of t", "t", "x"][1:]
    texts = [rule.condition_text for rule in SirusRegressor(**SMALL).fit(*rows("2024-01-02")).candidates_]
    assert any(text.startswith("t < 2024-") for text in texts)
    assert not any("days" in text for text in texts)


# -------------------------------------------------------------------------------------------------- the window moves


def test_rules_on_dates_compare_when_the_window_moves():
    every = {"n_trees": 200, "n_rules": 6, "random_state": 0, "prepare": True, "n_bins": 10}
    first, second = (SirusRegressor(**every).fit(*rows(start)) for start in ("2024-01-02", "2024-01-03"))
    on_dates = [{c.key for r in m.rules_ for c in r.conditions if c.feature == "t"} for m in (first, second)]
    assert on_dates[0] and on_dates[0] & on_dates[1]
    compared = str(first.diff(second))
    assert "days" not in compared and "=  t < 2024-0" in compared
    assert set(first.rules_) & set(second.rules_)


def test_dates_of_few_values_compare_by_value():
    days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01", "2024-05-01"])
    tables = [pd.DataFrame({"t": days[start : start + 4].repeat(30)}) for start in (0, 1)]
    models = [SirusRegressor(**SMALL).fit(X, (X["t"] >= "2024-03-01") * 1.0) for X in tables]
    found = [{c.upper_cut for r in m.candidates_ for c in r.conditions if c.feature == "t"} for m in models]
    assert ("value", read_date("2024-03-01")) in found[0] & found[1]


# ------------------------------------------------------------------------------------------------------ text in, out


@pytest.mark.parametrize(
    "text, printed",
    [
        ("t < 2024-06-01", "t < 2024-06-01"),
        ("t >= 2024-06-01 14:30", "t >= 2024-06-01 14:30"),
        ("t >= 2024-06-01T14:30:00", "t >= 2024-06-01 14:30"),
        ("2024-03-01 <= t < 2024-06-01", "2024-03-01 <= t < 2024-06-01"),
        ("t >= 2024-03-01 & t < 2024-06-01 & x < 0.5", "2024-03-01 <= t < 2024-06-01 & x < 0.5"),
    ],
)
def test_rules_with_dates_are_required_by_their_text(text, printed, tmp_path):
    X, y = rows("2024-01-02")
    model = SirusRegressor(**SMALL, required_rules=[text]).fit(X, y)
    assert model.rules_[0].given and model.rules_[0].condition_text == printed
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again.rules_[0].condition_text == printed and again.model_ == model.model_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    known = {f"if {rule.condition_text}": rule for rule in model.rules_}
    for line, rule in known.items():  # what a list prints is what can be asked for
        given = SirusRegressor(**SMALL, required_rules=[line]).fit(X, y).rules_[0]
        assert given.condition_text == rule.condition_text


def test_forbidden_dates_are_obeyed(model):
    X, y = rows("2024-01-02")
    text = next(c for r in model.rules_ for c in map(str, r.conditions) if c.startswith("t "))
    obedient = SirusRegressor(**SMALL, forbidden=[text]).fit(X, y)
    assert text not in [str(c) for r in obedient.candidates_ for c in r.conditions]
    assert obedient.model_.constraints is not None


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("t < 19875", "expected a date such as 2024-06-01; found '19875'"),
        ("t < 2024-02-30", "expected a date such as 2024-06-01"),
        ("x < 2024-06-01", "expected .*'&'"),
        ("0.1 <= t < 0.5", "expected a date such as 2024-06-01 before '<='"),
    ],
)
def test_what_is_no_date_is_refused_where_one_is_meant(text, wanted):
    with pytest.raises(RuleTextError, match=wanted):
        SirusRegressor(**SMALL, required_rules=[text]).fit(*rows("2024-01-02"))


def test_every_view_shows_dates(model, tmp_path):
    X, y = rows("2024-01-02")
    model = SirusRegressor(**SMALL, required_rules=["t < 2024-06-03"]).fit(X, y)
    views = [str(model.rules_), model.rules_._repr_html_(), str(model.explain(X[:1])), str(model.model_)]
    views += [model.export(format) for format in ("markdown", "html")]
    views.append(model.export("latex"))
    for view in views:
        assert "2024-06-03" in view and "19877" not in view
    page = model.report(X=X, y=y)
    assert re.search(r'"names":\s*\[[^]]*"2024-06-03"', page)
    axes = plot.effect(model, "t")
    axes.figure.canvas.draw()
    assert any("2024" in label.get_text() or "-" in label.get_text() for label in axes.get_xticklabels())


def test_linear_terms_on_dates_name_their_limits(tmp_path):
    X, _ = rows("2024-01-02")
    trend = RuleFitRegressor(n_trees=5, linear_terms=True, random_state=0, prepare=True)
    trend.fit(X, np.arange(300.0) + 40 * X["x"])
    (term,) = [str(term) for term in trend.model_.terms if term.feature == "t"]
    assert re.fullmatch(r".* \* t, within 2024-01-\d\d.* to 2024-10-\d\d.*", term)
    trend.save(tmp_path / "m.json")
    assert str(pysirus.load(tmp_path / "m.json").model_) == str(trend.model_)


def test_moments_print_with_their_time_where_a_day_does_not_do():
    X, _ = rows("2024-01-02", n=300, freq="min")
    model = SirusRegressor(**SMALL).fit(X, (X["t"] >= "2024-01-02 02:30") * 1.0)
    texts = [str(c) for rule in model.rules_ for c in rule.conditions if c.feature == "t"]
    assert texts and all("2024-01-02 0" in text for text in texts)


def test_days_since_the_first_row_of_older_files_predict_as_before(tmp_path):
    golden = Path(__file__).parents[1] / "golden" / "v2" / "prepared.json"
    document = json.loads(golden.read_text())
    takes = {own["take"] for own in document["recipe"]["derived"]}
    assert "days" in takes
    old = pysirus.load(golden)
    own = next(own for own in old.model_.recipe.derived if own.take == "days")
    assert own.zone is None and own.since

"""Folds that look forward in time: periods by hand, the same model from files and Dask, what is said of it, errors."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import DataError, SirusClassifierCV, SirusRegressorCV
from pysirus._learn.splits import derive, forward_folds, periods_of, read_times
from pysirus._parameters import ParameterError
from pysirus.engine.given import InBatches
from pysirus.report import summary

GIVEN = {"cv": "forward", "n_trees": 100, "random_state": 0, "max_rules": 6}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Six months of 40 rows, shuffled; the effect of b grows."""
    draw = np.random.default_rng(0)
    n = 240
    found = pd.DataFrame(draw.normal(size=(n, 3)), columns=list("abc"))
    month = np.arange(n) // 40
    found["month"] = [f"2024-{k + 1:02d}" for k in month]
    found["y"] = 2.0 * (found.a > 0) + 0.4 * month * (found.b > 0) + draw.normal(size=n)
    return found.sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="module")
def model(rows):
    return SirusRegressorCV(**GIVEN).fit(rows, "y", time="month")


def test_folds_by_hand() -> None:
    when = np.repeat([3, 1, 2, 4, 5], 20)
    folds = forward_folds(when)
    # half of the 100 rows are before 4, so 4 and 5 are held out
    assert folds.periods.names == ("4", "5") and folds.periods.n_before == (60, 80) and folds.periods.last == 5.0
    assert folds.periods.shared == pytest.approx(60 / 80)
    (first, held), (second, last) = folds.splits()
    assert sorted(when[first]) == [1] * 20 + [2] * 20 + [3] * 20 and set(when[held]) == {4}
    assert set(when[second]) == {1, 2, 3, 4} and set(when[last]) == {5}


def test_two_periods_are_held_out_where_the_last_one_is_long() -> None:
    folds = forward_folds(np.repeat([1, 2, 3], [20, 30, 300]))
    assert folds.periods.names == ("2", "3") and folds.periods.n_before == (20, 50)


def test_many_times_make_ten_periods_and_stay_together() -> None:
    names, place = periods_of(np.arange(400) // 2)
    assert len(names) == 10 and (place[::2] == place[1::2]).all() and names[0] == "0 to 19"


def test_times_may_be_dates() -> None:
    days = [date(2024, 1, 31), date(2024, 2, 1)]
    for given in (days, pd.Series(pd.to_datetime(days)), np.array(days, dtype="datetime64[s]")):
        assert read_times(given).astype(str).tolist() == ["2024-01-31", "2024-02-01"]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (["Jan"] * 240, "time has the text 'Jan', which does not sort by time"),
        ([None, *range(239)], "time holds missing values"),
        (np.r_[np.nan, np.arange(239)], "time holds missing values"),
        ([1, 2], "time has 2 entries, the table has 240 rows"),
        (np.arange(240) % 2, "At least 3 periods are needed to look forward in time, found 2 values of time"),
        (np.r_[np.arange(235) % 3, [9] * 5], "The period '9' has 5 rows"),
        (
            [date(2024, 1, 1), 3] * 120,
            "time must be dates, numbers, or text that begins with the year, found date, int",
        ),
    ],
)
def test_times_that_do_not_do_are_named(rows, time, message) -> None:
    with pytest.raises(DataError, match=message):
        SirusRegressorCV(**GIVEN).fit(rows[["a", "b"]], rows["y"], time=time)


@pytest.mark.parametrize(
    ("cv", "given", "message"),
    [
        ("forward", {}, "cv='forward' needs time"),
        ("forward", {"time": "month", "groups": "c"}, "does not go with groups"),
        (5, {"time": "month"}, "time goes with cv='forward', got cv=5"),
    ],
)
def test_time_and_forward_go_together(rows, cv, given, message) -> None:
    with pytest.raises(ParameterError, match=message):
        SirusRegressorCV(cv=cv, n_trees=10).fit(rows, "y", **given)


def test_a_model_knows_its_periods(model, rows, tmp_path) -> None:
    found = model.model_.out_of_fold
    assert [own.period for own in found.forward] == ["2024-04", "2024-05", "2024-06"]
    assert [(own.n_before, own.n_rows) for own in found.forward] == [(120, 40), (160, 40), (200, 40)]
    assert "out of time: 3 periods, each predicted from the rows before it" in str(found)
    n_rules = len(model.model_.selected)
    assert "between forward folds, 72% shared" in model.model_.tuned.sentence(n_rules, 0.5)  # 120/160, 160/200, 120/200
    model.save(tmp_path / "m.json")
    kept = pysirus.load(tmp_path / "m.json").model_
    assert kept.roles.time == "month" and kept.roles.groups is None and kept.facts.last_time == "2024-06"
    assert kept.out_of_fold.forward == found.forward and "month" not in kept.columns


def test_held_out_predictions_are_those_of_lists_of_earlier_rows(model, rows) -> None:
    from sklearn.metrics import r2_score

    past = rows[rows.month < "2024-06"].drop(columns="month")
    again = pysirus.SirusRegressor(p0=model.p0_, n_trees=100, max_rules=6, random_state=derive(0, 0, 2)).fit(past, "y")
    last = rows[rows.month == "2024-06"]
    own = r2_score(last.y, again.predict(last))
    assert model.model_.out_of_fold.forward[-1].value == pytest.approx(own, abs=1e-9)


def test_files_and_dask_give_the_same_model(model, rows, tmp_path) -> None:
    dd = pytest.importorskip("dask.dataframe")
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in range(4):
        rows.iloc[60 * k : 60 * k + 60].to_parquet(folder / f"{k}.parquet")
    models = {"memory": model, "files": SirusRegressorCV(**GIVEN).fit_files(folder, "y", time="month")}
    models["door"] = SirusRegressorCV(**GIVEN).fit(folder, "y", time="month")
    models["dask"] = SirusRegressorCV(**GIVEN).fit(dd.from_pandas(rows, npartitions=3), "y", time="month")
    found = {}
    for name, own in models.items():
        own.save(tmp_path / "m.json")
        found[name] = json.loads((tmp_path / "m.json").read_text())
    for name in ("files", "door", "dask"):
        for key in ("rules", "tuning", "facts", "roles"):
            assert found[name][key] == found["memory"][key], (name, key)


def test_a_part_may_hold_the_last_period_alone(rows, tmp_path) -> None:
    dd = pytest.importorskip("dask.dataframe")
    ordered = rows.sort_values("month", ignore_index=True)
    for month, own in ordered.groupby("month"):
        own.to_parquet(tmp_path / f"{month}.parquet")
    expected = SirusRegressorCV(**GIVEN).fit(ordered, "y", time="month")
    for there in (InBatches(tmp_path), dd.from_pandas(ordered, npartitions=6)):
        found = SirusRegressorCV(**GIVEN).fit(there, "y", time="month")
        assert found.rules_ == expected.rules_ and found.path_ == expected.path_


def test_weights_of_zero_leave_rows_out_of_periods(rows) -> None:
    weight = (rows.month < "2024-06").astype(float)
    found = SirusRegressorCV(**GIVEN).fit(rows[["a", "b", "c"]], rows.y, sample_weight=weight, time=rows.month)
    assert found.model_.facts.last_time == "2024-05"


def test_classes_have_periods_too(rows) -> None:
    y = np.where(rows.y > 1, "high", "low")
    found = SirusClassifierCV(**GIVEN).fit(rows[["a", "b", "c"]], y, time=rows.month).model_.out_of_fold
    assert {own.metric for own in found.forward} == {"accuracy"} and all(0 < own.value <= 1 for own in found.forward)


def test_score_has_a_line_of_later_rows(model, rows) -> None:
    later = rows.assign(month=rows.month.str.replace("2024", "2025")).iloc[:100]
    found = model.metrics(pd.concat([rows, later]), "y")
    assert found.n_rows == 340 and found.later.n_rows == 100
    assert found.later["r2"] == pytest.approx(model.metrics(later, "y")["r2"], abs=1e-12)
    assert "out of time: 100 rows after 2024-06, R²" in str(found) and found.to_dict()["later"]["n_rows"] == 100
    assert "out of time: no row is after 2024-06" in str(model.metrics(rows, "y"))
    assert model.metrics(rows.drop(columns="month"), "y").after is None
    with pytest.raises(DataError, match="time is of another kind than in training"):
        model.metrics(rows, "y", time=np.arange(240))
    plain = pysirus.SirusRegressor(n_trees=20, random_state=0).fit(rows[["a"]], rows.y)
    with pytest.raises(ParameterError, match="does not know the times of its training rows"):
        plain.metrics(rows, "y", time="month")


def test_rows_elsewhere_and_rows_without_a_target_have_the_line_too(model, rows, tmp_path, run) -> None:
    later = rows.assign(month=rows.month.str.replace("2024", "2025"))
    table = pd.concat([rows.iloc[:60], later.iloc[:100]], ignore_index=True)
    for k, own in enumerate((table.iloc[:90], table.iloc[90:])):
        own.to_parquet(tmp_path / f"{k}.parquet")
    expected = model.metrics(table, "y")
    found = model.metrics(tmp_path, "y", time="month")
    assert found.later.n_rows == 100 and found.later.metrics == expected.later.metrics
    with pytest.raises(ParameterError, match="time must be the name of a column"):
        model.metrics(tmp_path, "y", time=np.arange(160))
    model.save(tmp_path / "m.json")
    for name in (str(tmp_path / "*.parquet"), str(tmp_path / "gap.csv")):
        table.assign(y=table.y.where(table.index < 150)).to_csv(tmp_path / "gap.csv", index=False)
        out = run("score", str(tmp_path / "m.json"), name)[1]
        assert f"out of time: {100 if 'parquet' in name else 90} rows after 2024-06" in out
    assert "out of time" in run("score", str(tmp_path / "m.json"), str(tmp_path / "*.parquet"), "--periods", "month")[1]


def test_the_report_has_periods_and_later_rows(model, rows, tmp_path, run) -> None:
    later = rows.assign(month=rows.month.str.replace("2024", "2025"))
    forward = model.model_.out_of_fold.forward
    data = summary(model, later, y=later.y)
    assert data["heldOut"]["forward"][1][0][0] == forward[0].period
    assert data["later"] == model.metrics(later, "y").out_of_time
    assert summary(model, later)["later"] is None and summary(model, rows, y=rows.y)["later"].endswith("training rows")
    gap = later.assign(y=later.y.where(np.arange(240) > 9), month=later.month)
    with pytest.warns(UserWarning, match="10 of 240 rows have no target"):
        assert "230 rows after 2024-06" in summary(model, gap[["a", "b", "c"]], y=gap.y, time=list(gap.month))["later"]
    with pytest.raises(ParameterError, match="time is of rows and their targets"):
        summary(model, later, time="month")
    later.to_csv(tmp_path / "later.csv", index=False)
    model.save(tmp_path / "m.json")
    run("report", str(tmp_path / "m.json"), str(tmp_path / "later.csv"), "-o", str(tmp_path / "r.html"))
    assert "out of time: 240 rows after 2024-06" in (tmp_path / "r.html").read_text()

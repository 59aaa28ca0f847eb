"""Dates of files in batches: the same features, rules and warnings as in memory, bit for bit."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pysirus import SirusRegressor, SirusRegressorCV
from pysirus._data.column import DataError
from pysirus._data.read import read_file
from pysirus.engine.backends import files, sources

SMALL = {"n_trees": 40, "n_rules": 8, "random_state": 0, "prepare": True}
N = 4000


@pytest.fixture(autouse=True)
def short_batches(monkeypatch):
    """Many parts: batches of a thousand rows."""
    monkeypatch.setattr(sources, "BLOCK", 1 << 15)
    monkeypatch.setattr(files.FileRows, "batch_rows", property(lambda self: 700, lambda self, n: None), raising=False)


def dates(kind):
    """Moments as one kind of column, in the order of the rows or not."""
    rng = np.random.default_rng(0)
    t = pd.Series(pd.Timestamp("2023-11-27") + pd.to_timedelta(np.sort(rng.integers(0, 400 * 86_400, N)), "s"))
    t = t if kind == "rising" else t.sample(frac=1, random_state=0).reset_index(drop=True)
    forms = {"german": "%d.%m.%Y", "us": "%m/%d/%Y %H:%M", "rising": "%d/%m/%y", "iso": "%Y-%m-%d %H:%M:%S"}
    if kind in forms:
        return t, t.dt.strftime(forms[kind])
    if kind == "offset":
        return t, t.dt.strftime("%Y-%m-%dT%H:%M:%S+05:00")
    if kind == "offsets":
        return t, t.dt.strftime("%Y-%m-%dT%H:%M:%S") + np.where(t.dt.month < 6, "+01:00", "+02:00")
    if kind == "some missing":
        return t, t.dt.strftime("%d.%m.%Y %H:%M").where(rng.random(N) > 0.1, "unknown")
    if kind == "early days":  # day and month cannot be told apart before the last rows
        t = t.dt.floor("D").map(lambda day: day.replace(day=min(day.day, 12)))
        t.iloc[-1] = pd.Timestamp("2024-05-31")
        return t, t.dt.strftime("%d/%m/%Y")
    if kind == "ambiguous":
        return t, t.dt.floor("D").map(lambda day: day.replace(day=min(day.day, 12))).dt.strftime("%d/%m/%Y")
    if kind == "mixed zones":
        return t, t.dt.strftime("%Y-%m-%dT%H:%M:%S") + np.where(np.arange(N) < N - 3, "+01:00", "")
    if kind == "zoned":
        return t, t.dt.tz_localize("UTC").dt.tz_convert("America/New_York")
    return t, t.dt.date if kind == "days" else t


KINDS = ["german", "us", "rising", "iso", "offset", "offsets", "some missing", "early days", "ambiguous", "mixed zones"]


def table(kind):
    t, column = dates(kind)
    x = np.random.default_rng(1).random(N)
    y = 3.0 * (t >= "2024-03-01") + (t.dt.hour >= 12) + 2.0 * (t.dt.day_of_week >= 5) + x
    return pd.DataFrame({"x": x, "t": column, "k": np.where(x > 0.5, "a", "b"), "y": y})


def learned(fit):
    """A model and the warnings that it came with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit()
    return model, [str(warning.message) for warning in caught]


def assert_same(frame, path, **parameters):
    settings, X, y = {**SMALL, **parameters}, frame.drop(["y"]), frame["y"]
    one, said = learned(lambda: SirusRegressor(**settings).fit(X, y))
    other, said_of_files = learned(lambda: SirusRegressor(**settings).fit_files(path, "y"))
    assert other.model_.recipe == one.model_.recipe
    assert str(other.rules_) == str(one.rules_) and other.rules_ == one.rules_
    assert [f.name for f in other.model_.features] == [f.name for f in one.model_.features]
    np.testing.assert_array_equal(other.predict(X), one.predict(X))
    assert said_of_files == said
    return one


@pytest.mark.parametrize("kind", KINDS)
def test_dates_as_text_in_csv_files(kind, tmp_path):
    data = table(kind)
    data.to_csv(tmp_path / "t.csv", index=False)
    frame = read_file(tmp_path / "t.csv")
    model = assert_same(frame, tmp_path / "t.csv")
    set_aside = kind in ("ambiguous", "mixed zones")
    assert ("t" in model.model_.recipe.aside) == set_aside


@pytest.mark.parametrize("kind", ["zoned", "days", "moments", "german", "offset"])
def test_dates_in_parquet_files(kind, tmp_path):
    frame = pa.Table.from_pandas(table(kind), preserve_index=False)
    for k in range(2):
        pq.write_table(frame.slice(k * N // 2, N // 2), tmp_path / f"{k}.parquet")
    model = assert_same(frame, str(tmp_path / "*.parquet"), required_rules=["t < 2024-03-05"])
    assert model.rules_[0].condition_text == "t < 2024-03-05"


def test_tuning_on_dates(tmp_path):
    frame = pa.Table.from_pandas(table("moments").iloc[:1500], preserve_index=False)
    pq.write_table(frame, tmp_path / "t.parquet")
    own = {"n_trees": 40, "random_state": 0, "prepare": True, "cv": 3, "n_repeats": 1}
    one = SirusRegressorCV(**own).fit(frame.drop(["y"]), frame["y"])
    other = SirusRegressorCV(**own).fit_files(tmp_path / "t.parquet", "y")
    assert one.cv_error_ == other.cv_error_ and str(one.rules_) == str(other.rules_)
    assert other.model_.recipe == one.model_.recipe


def test_text_that_is_called_a_category_is_no_date(tmp_path):
    data = table("german")
    data["t"] = data["t"].str.slice(3)  # months
    data["t"] = "01." + data["t"]
    frame = pa.Table.from_pandas(data, preserve_index=False)
    pq.write_table(frame, tmp_path / "t.parquet")
    model = assert_same(frame, tmp_path / "t.parquet", categorical_features=["t"])
    assert model.model_.recipe is None


def test_without_prepare_and_other_columns_are_refused_as_before(tmp_path):
    frame = pl.from_pandas(table("moments")).with_columns(price=pl.Series([f"{k % 40},50" for k in range(N)]))
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"'t' holds dates or times"):
        SirusRegressor(**{**SMALL, "prepare": False}).fit_files(tmp_path / "t.parquet", "y", drop=["price"])
    with pytest.raises(DataError, match="'price' holds numbers"):
        SirusRegressor(**SMALL).fit_files(tmp_path / "t.parquet", "y")


def test_zones_that_differ_between_files_are_refused(tmp_path):
    data = table("zoned")
    for k, zone in enumerate(("Asia/Tokyo", "UTC")):
        part = data.assign(t=data["t"].dt.tz_convert(zone))
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), tmp_path / f"{k}.parquet")
    with pytest.raises(DataError, match="Column 't' holds moments of the time zone Asia/Tokyo and moments of the time"):
        SirusRegressor(**SMALL).fit_files(str(tmp_path / "*.parquet"), "y")


def test_the_index_of_a_file_is_no_column(tmp_path):
    data = table("moments")
    data.to_csv(tmp_path / "t.csv")
    frame = read_file(tmp_path / "t.csv")
    model = assert_same(frame, tmp_path / "t.csv")
    assert "Unnamed: 0" not in model.model_.recipe.columns


def test_a_zone_that_nobody_knows_is_an_error_of_the_file_too(tmp_path):
    moments = pa.array(np.arange(100) * 3_600_000_000, pa.timestamp("us", "Mars/Olympus"))
    rows = pa.table({"t": moments, "x": np.arange(100) % 7, "y": np.arange(100.0)})
    pq.write_table(rows, tmp_path / "rows.parquet")
    said = "Column 't' held moments of the time zone 'Mars/Olympus'"
    with pytest.raises(DataError, match=said):
        SirusRegressor(**SMALL).fit(rows, "y")
    with pytest.raises(DataError, match=f"rows.parquet': {said}"):
        SirusRegressor(**SMALL).fit_files(tmp_path / "rows.parquet", "y")

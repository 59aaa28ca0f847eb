"""Moments with a time zone or an offset mean one thing, by whichever door they come in."""

import datetime
import zoneinfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import pysirus
from pysirus import SirusRegressor
from pysirus._data.column import DataError
from pysirus._data.read import read_file
from pysirus._data.table import read_table
from sampled import FULL

N = 120
SMALL = {"n_trees": 30, "n_rules": 6, "random_state": 0, "prepare": True}
TOKYO = pd.Series(pd.date_range("2024-01-01 00:30", periods=N, freq="7h", tz="Asia/Tokyo"))
HOT = (TOKYO.dt.hour >= 12) + 2.0 * (TOKYO.dt.day_of_week >= 5)


def iso(moments):
    """Text as programs write it: 2024-01-02T11:00:00+05:00."""
    return [moment.isoformat() for moment in moments]


def fitted(X, y=HOT):
    return SirusRegressor(**SMALL).fit(X, y)


def same_columns(a, b):
    assert a.names == b.names
    for one, other in zip(a.columns, b.columns):
        np.testing.assert_array_equal(one.values, other.values)


def doors(moments, folder):
    """The same moments with one offset by every door."""
    text = iso(moments)
    (folder / "t.csv").write_text("t\n" + "\n".join(text) + "\n")
    pa.parquet.write_table(pa.table({"t": pa.array(moments, pa.timestamp("ms", tz="+05:00"))}), folder / "t.parquet")
    fixed = datetime.timezone(datetime.timedelta(hours=5))
    return {
        "csv": read_file(folder / "t.csv"),
        "parquet": read_file(folder / "t.parquet"),
        "text": pd.DataFrame({"t": text}),
        "polars text": pl.DataFrame({"t": text}),
        "objects": pd.DataFrame({"t": pd.Series([m.to_pydatetime() for m in moments], dtype=object)}),
        "pandas": pd.DataFrame({"t": pd.Series(moments).dt.tz_convert(fixed)}),
        "pyarrow": pa.table({"t": pa.array(moments, pa.timestamp("us", tz="+05:00"))}),
    }


def test_one_offset_is_the_clock_on_the_wall_by_every_door(tmp_path):
    moments = pd.date_range("2024-01-02 11:00", periods=N, freq="7h", tz=datetime.timezone(datetime.timedelta(hours=5)))
    tables = {name: read_table(X, max_levels=255) for name, X in doors(moments, tmp_path).items()}
    first = tables["text"]
    hours = first.columns[first.names.index("hour of t")].values
    assert hours[0] == 11 and first.recipe.derived[0].zone == "+05:00"
    for table in tables.values():
        same_columns(table, first)
        assert table.recipe == first.recipe or table.recipe.derived[0].order == ""


@pytest.mark.parametrize("words", [[], ["unknown"], ["unknown", "n/a"]])
def test_a_missing_word_changes_nothing_for_the_other_rows(words, tmp_path):
    text = ["2024-01-02T11:00:00+05:00", "2024-02-03T12:30:00+05:00", "2025-03-04T23:00:00+05:00"] * 10
    (tmp_path / "t.csv").write_text("t\n" + "\n".join([*text, *words]) + "\n")
    found = [read_table(read_file(tmp_path / "t.csv"), max_levels=255)]
    found.append(read_table(pd.DataFrame({"t": [*text, *words]}), max_levels=255))
    for table in found:
        assert table.recipe.derived[0].zone == "+05:00"
        hours = table.columns[table.names.index("hour of t")].values
        np.testing.assert_array_equal(hours, [11, 12, 23] * 10 + [np.nan] * len(words))


def test_tokyo_in_training_and_other_zones_later_give_equal_predictions(tmp_path):
    model = fitted(pd.DataFrame({"t": TOKYO}))
    model.save(tmp_path / "m.json")
    expected = model.predict(pd.DataFrame({"t": TOKYO}))
    assert len(np.unique(expected)) > 2
    utc = TOKYO.dt.tz_convert("UTC")
    tables = [
        pd.DataFrame({"t": utc}),
        pd.DataFrame({"t": TOKYO.dt.tz_convert("America/New_York")}),
        pl.from_pandas(pd.DataFrame({"t": utc})),
        pa.table({"t": pa.array(utc)}),
        pd.DataFrame({"t": iso(utc)}),
        pd.DataFrame({"t": iso(TOKYO)}),
        pd.DataFrame({"t": [m.isoformat().replace("+00:00", "Z") for m in utc]}),
        pd.DataFrame({"t": iso(utc[:60]) + iso(TOKYO[60:])}),
        pd.DataFrame({"t": pd.Series(list(utc[:60]) + list(TOKYO[60:]), dtype=object)}),
    ]
    for X in tables:
        for own in (model, pysirus.load(tmp_path / "m.json")):
            np.testing.assert_array_equal(own.predict(X), expected)
    alone = [own for i in range(20) for own in model.predict(tables[4][i : i + 1])]
    np.testing.assert_array_equal(alone, expected[:20])


@pytest.mark.parametrize("zone", ["America/New_York", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "GMT0", "+05:30"])
def test_every_name_of_a_zone_is_taken(zone):
    fixed = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    local = TOKYO.dt.tz_convert(fixed if zone == "+05:30" else zone)
    table = read_table(pd.DataFrame({"t": local}), max_levels=255)
    assert table.recipe.derived[0].zone == zone
    np.testing.assert_array_equal(table.columns[table.names.index("hour of t")].values, local.dt.hour)
    with pytest.raises(DataError, match="Column 't' holds dates or times"):
        read_table(pd.DataFrame({"t": local}))


@pytest.mark.skipif(not FULL, reason="600 zones: PYSIRUS_TEST_FULL=1")
def test_all_names_of_zones_are_taken():
    for zone in sorted(zoneinfo.available_timezones() - {"localtime", "Factory"}):
        local = TOKYO[:5].dt.tz_convert(zone)
        table = read_table(pd.DataFrame({"t": local}), max_levels=255)
        np.testing.assert_array_equal(table.columns[table.names.index("hour of t")].values, local.dt.hour, zone)


def test_summer_time_is_the_zones_and_text_of_two_offsets_is_utc(tmp_path):
    moments = pd.Series(pd.date_range("2024-01-01 05:00", periods=366, freq="D", tz="Europe/Paris"))
    zoned = read_table(pd.DataFrame({"t": moments}), max_levels=255)
    assert "hour of t" not in zoned.names  # five in the morning all year
    (tmp_path / "t.csv").write_text("t\n" + "\n".join(iso(moments)) + "\n")
    for X in (pd.DataFrame({"t": iso(moments)}), read_file(tmp_path / "t.csv")):
        with pytest.warns(UserWarning, match=r"Column 't' holds moments of 2 offsets \(\+01:00, \+02:00\).*in UTC"):
            table = read_table(X, max_levels=255)
        assert table.recipe.derived[0].zone == "UTC"
        hours = table.columns[table.names.index("hour of t")].values
        assert set(hours) == {3.0, 4.0}


def test_objects_of_several_zones_are_utc():
    mixed = pd.Series([*TOKYO[:60], *TOKYO[60:].dt.tz_convert("Europe/Paris")], dtype=object)
    with pytest.warns(UserWarning, match=r"'t' holds moments of 2 offsets.*in UTC"):
        table = read_table(pd.DataFrame({"t": mixed}), max_levels=255)
    np.testing.assert_array_equal(
        table.columns[table.names.index("hour of t")].values, TOKYO.dt.tz_convert("UTC").dt.hour
    )


@pytest.mark.parametrize("kind", ["text", "objects"])
def test_moments_with_and_without_a_zone_are_no_column(kind):
    bare = TOKYO.dt.tz_localize(None)
    mixed = [*iso(TOKYO[:60]), *iso(bare[60:])] if kind == "text" else [*TOKYO[:60], *bare[60:]]
    X = pd.DataFrame({"t": pd.Series(mixed, dtype=object), "x": np.arange(N) % 7})
    with pytest.warns(UserWarning, match=r"Ignored: 't' \(moments with and without a time zone"):
        assert read_table(X, max_levels=255).names == ("x",)


def test_moments_without_a_zone_are_refused_where_training_had_one():
    model, bare = fitted(pd.DataFrame({"t": TOKYO})), TOKYO.dt.tz_localize(None)
    for X in (
        pd.DataFrame({"t": bare}),
        pd.DataFrame({"t": iso(bare)}),
        pd.DataFrame({"t": bare.dt.date}),
        pl.DataFrame({"t": bare.to_list()}),
        pd.DataFrame({"t": iso(TOKYO[1:]) + iso(bare[:1])}),
        pd.DataFrame({"t": pd.Series([*TOKYO[1:], bare[0]], dtype=object)}),
    ):
        with pytest.raises(DataError, match="Column 't' held moments of the time zone Asia/Tokyo in training"):
            model.predict(X)


def test_moments_with_a_zone_are_refused_where_training_had_none():
    bare = TOKYO.dt.tz_localize(None)
    for trained in (pd.DataFrame({"t": bare}), pd.DataFrame({"t": iso(bare)}), pd.DataFrame({"t": bare.dt.date})):
        model = fitted(trained)
        for X in (pd.DataFrame({"t": TOKYO}), pd.DataFrame({"t": iso(TOKYO)}), pd.DataFrame({"t": list(TOKYO)})):
            with pytest.raises(DataError, match="Column 't' held moments without a time zone in training"):
                model.predict(X)


def test_offsets_as_databases_write_them(tmp_path):
    text = ["2024-01-02 11:00:00+05", "2024-01-03 12:00:00.25+0500", "2024-02-04 1:00 pm +05:00"] * 10
    table = read_table(pd.DataFrame({"t": text}), max_levels=255)
    assert table.recipe.derived[0].zone == "+05:00"
    assert table.columns[table.names.index("hour of t")].values[:3].tolist() == [11, 12, 13]


def test_a_zone_that_nobody_knows_is_an_error_that_names_it(tmp_path):
    fitted(pd.DataFrame({"t": TOKYO})).save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text().replace("Asia/Tokyo", "Asia/Nowhere")
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(DataError, match=r"Column 't'.*time zone 'Asia/Nowhere'"):
        pysirus.load(tmp_path / "m.json").predict(pd.DataFrame({"t": TOKYO}))
    (tmp_path / "m.json").write_text(text.replace("Asia/Nowhere", "as it comes"))
    with pytest.raises(pysirus.ModelFileError, match=r"recipe.derived\[0\].zone must be"):
        pysirus.load(tmp_path / "m.json")

"""Rules on dates in SQL, Python and Excel: the engines predict what the model predicts, or the export says why not."""

import contextlib
import datetime
import sqlite3

import numpy as np
import pandas as pd
import pytest

import engines
import office
import servers
from hand_made import grafted
from pysirus import RuleFitRegressor, SirusRegressor
from pysirus.export import ExportError

N = 500
PART = {"n_trees": 60, "n_rules": 14, "random_state": 0, "prepare": True, "max_depth": 2}


def rows(seed=0, zone=None, freq="7h"):
    """Moments around those that rules ask for, to the microsecond, and some that are missing."""
    rng = np.random.default_rng(seed)
    t = pd.Series(pd.date_range("2023-11-27", periods=N, freq=freq))
    t += pd.to_timedelta(rng.integers(0, 10**9, N) if freq == "7h" else 0, "us")
    t = t.dt.tz_localize(zone) if zone else t
    t = t.astype(object).where(rng.random(N) > 0.03, None)
    X = pd.DataFrame({"t": pd.to_datetime(t, utc=True).dt.tz_convert(zone) if zone else pd.to_datetime(t)})
    X["x"] = rng.random(N)
    clock = X["t"].dt
    y = 3.0 * (X["t"].dt.tz_localize(None) >= "2024-02-01") + (clock.hour >= 12) + 2.0 * (clock.day_of_week >= 5)
    return X, y + (clock.month == 12) + X["x"]


def at_cuts(model, X):
    """The rows, and one at, before and after each date that a rule asks for."""
    ends = {e for r in model.rules_ for c in r.conditions if c.is_date for e in (c.lower, c.upper) if e is not None}
    moments = [pd.Timestamp("1970-01-01") + pd.Timedelta(microseconds=round(e * 86_400_000_000)) for e in ends]
    step = pd.Timedelta(microseconds=1)
    near = pd.Series([m + d for m in moments for d in (-step, 0 * step, step)], dtype="datetime64[us]")
    zone = X["t"].dt.tz
    near = near.dt.tz_localize(zone) if zone is not None else near
    more = pd.DataFrame({"t": near, "x": 0.3})
    return pd.concat([X.assign(t=X["t"].astype(more["t"].dtype)), more], ignore_index=True)


@pytest.fixture(scope="module")
def model():
    X, y = rows()
    model = SirusRegressor(**PART, required_rules=["t < 2024-01-15", "2024-02-01 06:30 <= t < 2024-03-01"]).fit(X, y)
    used = {c.feature for rule in model.rules_ for c in rule.conditions}
    assert {"t", "weekday of t", "hour of t", "month of t"} <= used
    model.model_ = grafted(model.model_, X, ["hour of t", "month of t", "x"])  # parts of dates may have slopes
    return model


@pytest.fixture(scope="module")
def zoned():
    X, y = rows(zone="Asia/Tokyo")
    return SirusRegressor(**PART, required_rules=["t < 2024-01-15", "t >= 2024-02-01 06:30"]).fit(X, y)


@pytest.fixture(scope="module")
def offset():
    X, y = rows(zone=datetime.timezone(datetime.timedelta(hours=-3, minutes=-30)))
    return SirusRegressor(**PART, required_rules=["t < 2024-01-15"]).fit(X, y)


def texts(X):
    """The rows with dates as ISO text."""
    return X.assign(t=[None if pd.isna(t) else t.isoformat(sep=" ") for t in X["t"]])


# ------------------------------------------------------------------------------------------------------------- Python


@pytest.mark.parametrize("kind", ["model", "zoned", "offset"])
def test_python_predicts_the_same(request, kind):
    model = request.getfixturevalue(kind)
    zone = model.model_.recipe.derived[0].zone
    X = at_cuts(model, rows(1)[0].assign(t=lambda X: X["t"].dt.tz_localize(None)) if not zone else rows(1, "UTC")[0])
    space = {}
    exec(model.export("python"), space)
    expected = model.predict(X)
    for table in (X, texts(X)):
        found = [space["predict"](row) for row in table.to_dict("records")]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    wrong = datetime.datetime(2024, 1, 1, tzinfo=None if zone else datetime.timezone.utc)
    with pytest.raises(ValueError, match="time zone, unlike the training rows"):
        space["predict"]({"t": wrong, "x": 0.5})


def test_python_takes_linear_terms_on_dates():
    X, y = rows()
    trend = RuleFitRegressor(n_trees=5, linear_terms=True, random_state=0, prepare=True).fit(X, X["t"].notna() * y)
    if not any(term.feature == "t" for term in trend.model_.terms):
        trend = RuleFitRegressor(n_trees=5, linear_terms=True, random_state=0, prepare=True)
        trend.fit(X, np.arange(float(N)) + 40 * X["x"])
    space = {}
    exec(trend.export("python"), space)
    found = [space["predict"](row) for row in X.to_dict("records")]
    np.testing.assert_allclose(found, trend.predict(X), rtol=1e-9)
    with pytest.raises(ExportError, match="linear term of 't', a date, which sql does not do"):
        trend.export("sql", dialect="duckdb")


# ---------------------------------------------------------------------------------------------------------------- SQL


def test_duckdb_predicts_the_same(model, zoned, offset):
    duckdb = pytest.importorskip("duckdb")
    for own, zone in ((model, None), (zoned, "Asia/Tokyo"), (zoned, "UTC"), (offset, "UTC")):
        X = at_cuts(own, rows(1, zone)[0])
        for table in (X, texts(X)):
            with contextlib.closing(duckdb.connect()) as base:
                base.execute("SET TimeZone = 'America/New_York'")
                base.register("data", table)
                found = base.sql(own.export("sql", table="data", dialect="duckdb")).df()["prediction"]
            np.testing.assert_array_equal(found, own.predict(X))


def test_duckdb_fails_in_words_where_only_one_has_a_zone(model, zoned):
    duckdb = pytest.importorskip("duckdb")
    for own, zone in ((model, "UTC"), (zoned, None)):
        X = rows(1, zone)[0]
        for table in (X, texts(X)):
            with contextlib.closing(duckdb.connect()) as base:
                base.register("data", table)
                with pytest.raises(duckdb.Error, match=r"Column 't' held moments .* the other way round"):
                    base.sql(own.export("sql", table="data", dialect="duckdb")).df()


def test_sqlite_predicts_the_same(model):
    X = at_cuts(model, rows(1)[0])
    for sep in ("T", " "):
        table = X.assign(t=[None if pd.isna(t) else t.isoformat(sep=sep) for t in X["t"]])
        with contextlib.closing(sqlite3.connect(":memory:")) as base:
            table.to_sql("data", base, index=False)
            found = pd.read_sql(model.export("sql", table="data", dialect="sqlite"), base)["prediction"]
        np.testing.assert_array_equal(found, model.predict(X))


def sent(value):
    """A value as a driver takes it."""
    return None if pd.isna(value) else value.to_pydatetime() if isinstance(value, pd.Timestamp) else value


def test_postgres_predicts_the_same(model, zoned, offset):
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install pysirus[test]")
    with engines.skipping(servers.postgres) as connection, connection.cursor() as cursor:
        cases = [
            (model, None, "timestamp"),
            (model, None, "text"),
            (zoned, "UTC", "timestamptz"),
            (offset, "UTC", "timestamptz"),
            (zoned, "UTC", "text"),
        ]
        for k, (own, zone, kind) in enumerate(cases):
            X = at_cuts(own, rows(1, zone)[0])
            cursor.execute(f"CREATE TABLE data{k} (i int, t {kind}, x double precision)")
            table = texts(X) if kind == "text" else X
            values = [(i, sent(t), x) for i, (t, x) in enumerate(zip(table["t"], table["x"]))]
            cursor.executemany(f"INSERT INTO data{k} VALUES (%s, %s, %s)", values)
            cursor.execute(own.export("sql", table=f"data{k}", dialect="postgres").encode())
            found = [row[-1] for row in sorted(cursor.fetchall())]
            np.testing.assert_array_equal(found, own.predict(X))
        with pytest.raises(Exception, match="Column 't' held moments without a time zone"):
            cursor.execute(model.export("sql", table="data2", dialect="postgres").encode())


def test_mariadb_predicts_the_same(model):
    pytest.importorskip("pymysql", reason="PyMySQL is not installed: pip install pysirus[test]")
    X = at_cuts(model, rows(1)[0])
    with engines.skipping(servers.mariadb) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE dates")
        cursor.execute("USE dates")
        cursor.execute("CREATE TABLE data (i int, t datetime(6), x double)")
        values = [(i, sent(t), x) for i, (t, x) in enumerate(zip(X["t"], X["x"]))]
        cursor.executemany("INSERT INTO data VALUES (%s, %s, %s)", values)
        cursor.execute(model.export("sql", table="data", dialect="mariadb"))
        found = [row[-1] for row in sorted(cursor.fetchall(), key=lambda row: row[0])]
    np.testing.assert_array_equal(found, model.predict(X))


@pytest.mark.parametrize(
    "kind, dialect, why",
    [
        ("model", None, "a date, which engines read in different ways. Or name the engine"),
        ("zoned", "mysql", "time zone Asia/Tokyo in training, and time zones of MySQL are not supported"),
        ("zoned", "sqlite", "time zones of SQLite are not supported"),
        ("model", "snowflake", "'weekday of t', which is not supported"),
    ],
)
def test_what_an_engine_cannot_be_trusted_with_is_refused(request, kind, dialect, why):
    with pytest.raises(ExportError, match=why):
        request.getfixturevalue(kind).export("sql", dialect=dialect)


def test_dates_in_another_order_are_refused():
    X, y = rows()
    german = X.assign(t=X["t"].dt.strftime("%d.%m.%Y"))
    model = SirusRegressor(**PART, required_rules=["t < 2024-01-15"]).fit(german, y)
    for format in ("sql", "python", "excel"):
        with pytest.raises(ExportError, match="not written as 2024-05-31"):
            model.export(format)


# -------------------------------------------------------------------------------------------------------------- Excel


def test_excel_predicts_the_same(model, zoned, tmp_path):
    pytest.importorskip("openpyxl")
    tables = {}
    for name, own, zone in (("plain", model, None), ("zoned", zoned, "UTC")):
        X = tables[name] = rows(1, zone, freq="7h")[0][::9]
        own.export("excel", tmp_path / f"{name}.xlsx", X=X)
    books = office.recalculate(sorted(tmp_path.glob("*.xlsx")))
    for name, own in (("plain", model), ("zoned", zoned)):
        sheet = office.values_of(books[name])["Predict"]
        header = [cell.value for cell in sheet[1]]
        assert header[0] == "t" and "hour of t" not in header
        found = [row[header.index("prediction")].value for row in sheet.iter_rows(min_row=2)]
        np.testing.assert_allclose(found, own.predict(tables[name]), rtol=1e-9)

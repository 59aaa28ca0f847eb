"""The sums that monitoring compares: what a model file keeps, and what a database finds of hostile tables."""

import contextlib
import json
import sqlite3
from contextlib import ExitStack

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import engines
import servers
from drift_laws import KINDS, LAWS, estimator_of
from pysirus import SirusClassifier, SirusRegressor
from pysirus._data.column import DataError
from pysirus._model.file import model_to_json
from pysirus._model.row_sums import LEAST_ROWS
from pysirus._use.monitor import compare, read_sums

# ------------------------------------------------------------------------------------------------------------ the file


def numbers_in(value, place=""):
    """All numbers of a document by the place of the list or line of text that has them."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers_in(inner, f"{place}.{name}")
    elif isinstance(value, list) and not all(isinstance(own, (int, float)) for own in value):
        for inner in value:
            yield from numbers_in(inner, place)
    elif isinstance(value, str):
        with contextlib.suppress(ValueError):
            yield place, [float(own) for own in value.split()]
    elif isinstance(value, (list, int, float)):
        yield place, value if isinstance(value, list) else [value]


@pytest.mark.parametrize("kind", list(KINDS))
def test_file_has_no_column_of_rows_and_no_value_of_a_row(kind):
    estimator, X, y = KINDS[kind]
    model = estimator.fit(X, y).model_
    times = (".survival.times", ".survival.cumulative_hazard")  # at which a survival curve falls
    values = set(X.a.dropna()) | (set() if kind in ("counts", "survival") or model.classes else set(y))
    found = 0
    for place, numbers in numbers_in(model_to_json(model)):
        found += len(numbers)
        assert len(numbers) < len(X) or place in times, place
        assert not values.intersection(numbers), place
    assert found > 100
    for i, column in enumerate(model.reference.columns):
        assert ((column.sums[:, 0] == 0) | (column.sums[:, 0] >= LEAST_ROWS)).all()
        if column.low is not None:
            assert column.low <= X.iloc[:, i].min() and X.iloc[:, i].max() <= column.high


def test_rule_of_one_row_is_in_no_sum_and_no_report():
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    y = rng.normal(size=60)
    y[0], X.loc[0, "a"] = 4321.987, 9.0
    model = SirusRegressor(n_rules=1, n_trees=50, random_state=0).fit(X, y).adding("a >= 8.5", X, y)
    (number,) = (i for i, rule in enumerate(model.rules, start=1) if rule.n_inside == 1)
    model = model.with_reference(X, y)
    (own,) = (term for term in model.reference.terms if term.rule == "a >= 8.5")
    assert own.truth is None and own.residuals is None and own.values[0] == 1
    watched = model.monitor(X, y)
    told = next(row for row in watched.to_dict()["rules"] if row["number"] == number)
    assert {told[name] for name in ("inside_then", "outside_then", "inside_now", "outside_now")} == {None}
    for text in (str(watched), watched.to_html(), json.dumps(watched.to_dict()), json.dumps(model.facts["reference"])):
        assert "4321" not in text and "4322" not in text and "4.32e" not in text


# ------------------------------------------------------------------------------------------------------------ database

# names that the query would give to columns of its own
NAMES = {"x1": "prediction", "x2": 'na"me`s', "x3": "score", "x4": "w_truth", "kind": "period", "coin": "w_weight"}
TYPES = {"O": "TEXT", "f": "DOUBLE PRECISION", "i": "BIGINT", "M": "DATE", "b": "BOOLEAN"}
QUOTES = {"mysql": "`", "sqlite": "`"}


class Database:
    """An engine with one table, ``loans``."""

    def __init__(self, dialect, connection):
        self.dialect, self.connection = dialect, connection
        self.mark = "%s" if dialect in ("postgres", "mysql") else "?"

    def run(self, statement, rows=None):
        cursor = self.connection.cursor()
        if rows is None:
            cursor.execute(statement)
        else:
            cursor.executemany(statement, rows)
        return cursor

    def load(self, frame):
        """The table, with the types of its columns."""
        quote = QUOTES.get(self.dialect, '"')
        names = [quote + name.replace(quote, 2 * quote) + quote for name in frame.columns]
        kinds = [TYPES.get(frame[name].dtype.kind, "TEXT") for name in frame.columns]
        self.run("DROP TABLE IF EXISTS loans")
        if self.dialect == "duckdb":
            dates = {name: frame[name].dt.date for name in frame.columns if frame[name].dtype.kind == "M"}
            self.connection.register("frame", frame.assign(**dates))
            self.connection.execute("CREATE TABLE loans AS SELECT * FROM frame")
            return
        self.run(f"CREATE TABLE loans ({', '.join(map(' '.join, zip(names, kinds)))})")
        dates = [frame[name].dtype.kind == "M" for name in frame.columns]
        rows = [
            [None if value is pd.NaT or value != value else str(value)[:10] if date else value
             for value, date in zip(row, dates)]
            for row in frame.astype(object).to_numpy().tolist()
        ]  # fmt: skip
        if rows:
            self.run(f"INSERT INTO loans VALUES ({', '.join([self.mark] * len(names))})", rows)

    def sums(self, query):
        """What a query finds, as a table of sums."""
        cursor = self.run(query)
        names = [column[0] for column in cursor.description]
        found = cursor.fetchall()
        return pa.table({name: [row[i] for row in found] for i, name in enumerate(names)})


@pytest.fixture(scope="module")
def started():
    with ExitStack() as stack:
        found = {}

        def start(dialect):
            if dialect not in found:
                if dialect == "duckdb":
                    connection = stack.enter_context(duckdb.connect())
                elif dialect == "sqlite":
                    connection = sqlite3.connect(":memory:")
                else:
                    server = {"postgres": servers.postgres, "mysql": servers.mariadb}[dialect]
                    pytest.importorskip({"postgres": "psycopg", "mysql": "pymysql"}[dialect])
                    connection = stack.enter_context(engines.skipping(server))
                found[dialect] = Database(dialect, connection)
                if dialect == "mysql":
                    found[dialect].run("CREATE DATABASE lending")
                    found[dialect].run("USE lending")
            return found[dialect]

        yield start


def assert_same(there, here):
    assert there.verdict == here.verdict and there.not_compared == here.not_compared
    assert len(there.findings) == len(here.findings)
    for a, b in zip(there.findings, here.findings):
        assert (a.part, a.index, a.what, a.period) == (b.part, b.index, b.what, b.period)
        assert a.test.log_p == pytest.approx(b.test.log_p, rel=1e-6, abs=1e-6)


def read(model, database, **options):
    query = model.export("monitor", table="loans", dialect=database.dialect, **options)
    table = database.sums(query)
    return compare(model, read_sums(table, model, model.reference), alpha=0.01, tolerance=0.02)


PLACES = [("duckdb", 0), ("duckdb", 1), ("duckdb", 2), ("sqlite", 0), ("postgres", 1), ("mysql", 2)]


@pytest.mark.parametrize(
    ("dialect", "law"), [(dialect, LAWS[k]) for dialect, k in PLACES], ids=lambda own: getattr(own, "name", own)
)
def test_sums_of_hostile_names_dates_and_weights_say_what_the_rows_say(started, dialect, law):
    X, y = law.draw(np.random.default_rng(0), 1000)
    model = estimator_of(law, n_rules=4, n_trees=50).fit(X.rename(columns=NAMES), pd.Series(y, name="y")).model_
    rng = np.random.default_rng(15)
    X, y = law.draw(rng, 700, "halved")
    X.loc[::9, "x3"], X.loc[5, "x1"] = np.nan, 99.0
    days = pd.Series(pd.to_datetime("2026-01-01") + pd.to_timedelta(rng.integers(0, 80, 700), unit="D"))
    days[3] = pd.NaT
    weight = rng.integers(0, 4, 700) / 2.0
    new = X.rename(columns=NAMES).assign(y=y, day=days, text=days.dt.strftime("%Y-%m-%d"), w=weight)
    database = started(dialect)
    database.load(new)
    for time in ("day", "text", None):
        options = {} if time is None else {"time": time}
        here = model.monitor(new, y, weight, time=None if time is None else new[time])
        assert_same(read(model, database, target="y", weights="w", **options), here)
    if time is not None:
        assert here.periods["period"].tolist() == ["(no time)", "2026-01", "2026-02", "2026-03"]


def test_counts_with_exposure_are_summed_as_rates(started, tmp_path):
    law, rng = LAWS[2], np.random.default_rng(1)
    X, y = law.draw(rng, 800)
    years = rng.uniform(0.1, 2, 800)
    estimator = SirusRegressor(loss="poisson", n_rules=5, n_trees=100, random_state=0)
    X.assign(claims=y, years=years).to_parquet(tmp_path / "t.parquet")
    model = estimator.fit(str(tmp_path / "t.parquet"), "claims", exposure="years").model_
    assert model.exposure == "years"
    database = started("duckdb")
    database.load(X.assign(claims=y, years=years))
    assert_same(read(model, database, target="claims"), model.monitor(X, y / years, years))
    database.load(X.assign(claims=y, years=np.where(np.arange(800) == 7, 0.0, years)))
    with pytest.raises(DataError, match=r"1 of the rows that were added up have .*exposure"):
        read(model, database, target="claims")


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", "mysql"])
@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("y", {3: "maybe", 4: "YES", 5: "yes "}, "3 of the rows that were added up have .*'no' and 'yes'"),
        ("w", {3: -1.0}, "1 of the rows that were added up have .*negative"),
        ("w", {3: np.nan}, "1 of the rows that were added up have .*missing"),
    ],
)
def test_rows_that_monitor_refuses_are_refused(started, dialect, column, values, words):
    X, y = LAWS[1].draw(np.random.default_rng(2), 300)
    # weights of classes need no exponential: SQLite may have none
    model = SirusClassifier(n_rules=4, n_trees=100, random_state=0, weighting="equal").fit(X, y).model_
    frame = X.assign(y=y, w=1.0)
    for row, value in values.items():
        frame.loc[row, column] = value
    database = started(dialect)
    database.load(frame)
    with pytest.raises(DataError, match=words):
        read(model, database, target="y", weights="w")
    with pytest.raises(DataError):
        model.monitor(X, frame.y, frame.w)


@pytest.mark.parametrize("law", [LAWS[0], LAWS[2]], ids=lambda law: law.name)
def test_targets_that_are_no_numbers_of_the_loss_are_refused(started, law):
    X, y = law.draw(np.random.default_rng(3), 300)
    model = estimator_of(law, n_trees=100).fit(X, y).model_
    database = started("duckdb")
    for bad in (np.inf, -np.inf, -1.0):
        y[7] = bad
        database.load(X.assign(y=y))
        if law.name == "numbers" and bad == -1.0:
            assert read(model, database, target="y").now[None].n_rows == 300
            continue
        with pytest.raises(DataError, match=r"1 of the rows that were added up have .*not finite, or out of range"):
            read(model, database, target="y")
        with pytest.raises(DataError):
            model.monitor(X, y)
    if law.name == "numbers":
        database = started("sqlite")
        database.load(X.assign(y=pd.Series(y).astype(object).where(np.arange(300) != 7, "abc")))
        with pytest.raises(DataError, match="not finite, or out of range"):
            read(model, database, target="y")


def test_sums_of_nothing_of_another_model_and_of_too_many_periods_are_refused(started):
    X, y = LAWS[0].draw(np.random.default_rng(4), 300)
    model, other = (estimator_of(LAWS[0], n_trees=100, random_state=seed).fit(X, y).model_ for seed in (1, 2))
    database = started("duckdb")
    database.load(X.assign(y=y, when=[f"shift {k}" for k in range(300)])[:0])
    for time in ({}, {"time": "when"}):
        with pytest.raises(DataError, match="There are no rows"):
            read(model, database, target="y", **time)
    database.load(X.assign(y=y, when=[f"shift {k}" for k in range(300)]))
    with pytest.raises(DataError, match="300 distinct values"):
        read(model, database, time="when")
    table = database.sums(model.export("monitor", table="loans", dialect="duckdb", target="y"))
    for changed in (other, model.without(1).with_reference(X, y)):
        with pytest.raises(DataError, match="of another model"):
            read_sums(table, changed, changed.reference)
    with pytest.raises(ValueError, match="this one lacks"):
        read_sums(pa.table({"a": [1]}), model, model.reference)

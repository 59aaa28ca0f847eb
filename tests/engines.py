"""Databases behind one face: load a table, ask for what a query adds to it; and what every one of them must show."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, contextmanager

import numpy as np
import pyarrow as pa
import pytest

import hostile_sql
import servers


class Engine:
    """A database; what differs is how a table is made."""

    dialect = "sqlite"
    quote = "`"
    types = ("REAL", "REAL", "INTEGER", "TEXT", "INTEGER")
    has_nan = False
    math_functions = False  # whether the export must be told that there is exp()

    def __init__(self, connection):
        self.connection = connection

    def name(self, column):
        return self.quote + column.replace(self.quote, 2 * self.quote) + self.quote

    def load(self, rows, table="data"):
        """Make a table of these rows, numbered: an answer has no order."""
        rows = rows.append_column("id", pa.array(range(rows.num_rows), pa.int64()))
        kinds = dict(zip(["double", "float", "int64", "string", "bool"], self.types))
        columns = [f"{self.name(field.name)} {kinds[str(field.type)]}" for field in rows.schema]
        self.run(f"DROP TABLE IF EXISTS {table}")
        self.run(f"CREATE TABLE {table} ({', '.join(columns)})")
        self.insert(table, rows)

    def load_all(self):
        """The hostile rows, and the same tamed."""
        self.load(hostile_sql.new_rows())
        self.load(hostile_sql.tamed(hostile_sql.new_rows()), "tame")
        return self

    def insert(self, table, rows):
        marks = ", ".join("?" * rows.num_columns)
        self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", hostile_sql.python_rows(rows, nan=False))

    def run(self, text):
        """The rows of a statement's answer."""
        return self.connection.execute(text).fetchall()

    def added(self, text, n_columns=0):
        """The columns that a query adds to the numbered rows of a table."""
        columns = zip(*sorted(self.run(text), key=lambda row: row[n_columns]))
        return list(columns)[n_columns + 1 :]


class SQLite(Engine):
    math_functions = True


class DuckDB(Engine):
    dialect, quote, has_nan = "duckdb", '"', True
    types = ("DOUBLE", "FLOAT", "BIGINT", "VARCHAR", "BOOLEAN")

    def insert(self, table, rows):
        self.connection.register("arrow", rows)
        self.run(f"INSERT INTO {table} SELECT * FROM arrow")


class Postgres(Engine):
    dialect, quote, has_nan = "postgres", '"', True
    types = ("double precision", "real", "bigint", "text", "boolean")

    def insert(self, table, rows):
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in hostile_sql.python_rows(rows):
                copy.write_row(row)

    def run(self, text):
        with self.connection.cursor() as cursor:
            cursor.execute(text.encode())
            return cursor.fetchall() if cursor.description else []


class MariaDB(Engine):
    dialect = "mariadb"
    types = ("DOUBLE", "FLOAT", "BIGINT", "VARCHAR(200) CHARACTER SET utf8mb4", "BOOLEAN")

    def insert(self, table, rows):
        marks = ", ".join(["%s"] * rows.num_columns)
        with self.connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", hostile_sql.python_rows(rows, nan=False))

    def run(self, text):
        with self.connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall()


def sqlite():
    """SQLite; without math functions it cannot compute probabilities, and the tests of scores are skipped."""
    return SQLite(sqlite3.connect(":memory:"))


def has_math(connection):
    """Whether a connection to SQLite knows exp()."""
    try:
        return connection.execute("SELECT exp(0)").fetchone() == (1.0,)
    except sqlite3.OperationalError:
        return False


def duckdb():
    return DuckDB(pytest.importorskip("duckdb").connect())


# ------------------------------------------------------------------------------------------ what all of them must show


def wrong_rows(engine, model, rows, table, dialect):
    """The largest difference and the rows that are wrong, of the statement and of the expression."""
    name = "" if model.classes is not None else f" AS {engine.name('prediction')}"
    options = {"dialect": dialect, "math_functions": engine.math_functions}
    expression = engine.added(f"SELECT id, {model.export('sql', **options).rstrip()}{name} FROM {table}")
    statement = engine.added(model.export("sql", table=table, **options), rows.num_columns)
    return [hostile_sql.wrong_rows(model, rows, columns) for columns in (statement, expression)]


def assert_right(model, found):
    """No row is wrong; without a link no bit is."""
    print(f"largest difference {max(size for size, _ in found):.1e}")
    assert [rows for _, rows in found] == [0, 0]
    assert model.link != "identity" or [size for size, _ in found] == [0.0, 0.0]


def assert_predicts(engine, kind):
    """The 2,000 hostile rows, as the model predicts them to the last bit."""
    model, rows = hostile_sql.make_model(kind), hostile_sql.new_rows()
    assert_right(model, wrong_rows(engine, model, rows, "data", engine.dialect))
    assert engine.run("SELECT COUNT(*) FROM data")[0][0] == rows.num_rows == 2000  # nothing was dropped


def assert_predicts_without_dialect(engine, kind):
    """The rows by SQL that every engine reads in the same way, of a model that says nothing else."""
    model, rows = hostile_sql.tame_model(kind), hostile_sql.tamed(hostile_sql.new_rows())
    assert_right(model, wrong_rows(engine, model, rows, "tame", None))


def assert_adds_long_lists(engine, n_exact, n_long):
    """A list that is added one by one to the last bit, and one that needs groups."""
    rows = hostile_sql.new_rows().select(["x"])[:20]
    engine.load(rows, "few")
    for n_rules, tolerance in ((n_exact, 0.0), (n_long, 1e-11)):
        model = hostile_sql.long_model(n_rules)
        (found,) = engine.added(f"SELECT id, {model.export('sql', dialect=engine.dialect).rstrip()} AS p FROM few")
        assert np.abs(np.array(found) - model.predict(rows)).max() <= tolerance


def assert_ties_as_doubles(engine, dialect):
    """0.1 + 0.2 is more than 0.3."""
    model = hostile_sql.tied_model()
    *_, labels = engine.added(f"SELECT id, {model.export('sql', dialect=dialect).rstrip()} FROM data")
    assert set(labels) == {"b"} == set(model.predict(hostile_sql.new_rows().select(["x"])))


def assert_missing_column_fails(engine):
    """A query for a column that is not there."""
    model = hostile_sql.long_model(3)
    engine.load(pa.table({"other": [1.0, 2.0]}), "bare")
    expression = f"SELECT {model.export('sql', dialect=engine.dialect)} FROM bare"
    for text in (model.export("sql", table="bare", dialect=engine.dialect), expression):
        with pytest.raises(Exception, match=r"(?i)column") as caught:
            engine.run(text)
        assert "x" in str(caught.value)


@contextmanager
def skipping(server):
    """The connection of a server; where it cannot be started the tests are skipped, with the reason."""
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(server())
        except servers.NoServer as error:
            pytest.skip(str(error))
        yield connection

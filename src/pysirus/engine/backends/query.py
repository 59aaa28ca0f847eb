"""A database and a query in, the rows that it answers out, in batches: DuckDB by itself, SQLite and PostgreSQL by ADBC.

The database is opened to be read alone. Nothing is kept of it but the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from pysirus._data.column import DataError

POSTGRES = ("postgresql://", "postgres://")
SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"  # from the ninth byte on
IN_MEMORY = ":memory:"
ENDINGS = (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")


def is_database(name: str) -> bool:
    """Whether a name is that of a database: by its address, its content, or its ending."""
    if name == IN_MEMORY or name.startswith(POSTGRES):
        return True
    path = Path(name)
    if not path.is_file():
        return name.lower().endswith(ENDINGS)
    with path.open("rb") as file:
        start = file.read(16)
    return start.startswith(SQLITE_MAGIC) or start[8:12] == DUCKDB_MAGIC


@contextmanager
def run_query(database: str, sql: str) -> Iterator[pa.RecordBatchReader]:
    """The answer to a query, batch by batch."""
    with ExitStack() as stack:
        try:
            yield _answer(stack, database, sql)
        except DataError:
            raise
        except Exception as error:
            if type(error).__module__.split(".")[0] not in ("duckdb", "_duckdb", "adbc_driver_manager", "pyarrow"):
                raise
            said = " ".join(str(error).split())
            raise DataError(f"The query cannot be answered by '{_shown(database)}': {said}") from error


def _shown(database: str) -> str:
    """An address without the password."""
    start, at, host = database.rpartition("@")
    return f"{start.split('://')[0]}://{host}" if at and database.startswith(POSTGRES) else database


def _answer(stack: ExitStack, database: str, sql: str) -> pa.RecordBatchReader:
    if database.startswith(POSTGRES):
        return _by_adbc(stack, _module("adbc_driver_postgresql.dbapi", "postgres"), database, sql)
    path = Path(database)
    if database != IN_MEMORY and not path.is_file():
        raise DataError(f"There is no database '{database}'.")
    if database != IN_MEMORY:
        with path.open("rb") as file:
            if file.read(16).startswith(SQLITE_MAGIC):
                address = f"file:{path.resolve()}?mode=ro"
                return _by_adbc(stack, _module("adbc_driver_sqlite.dbapi", "sqlite"), address, sql)
    duckdb = _module("duckdb", "duckdb")
    connection = stack.enter_context(closing(duckdb.connect(database, read_only=database != IN_MEMORY)))
    found = connection.sql(sql)
    if found is None:
        raise DataError("The query answers no rows: give a SELECT.")
    return pa.RecordBatchReader.from_stream(found)


def _by_adbc(stack: ExitStack, driver: Any, address: str, sql: str) -> pa.RecordBatchReader:
    cursor = stack.enter_context(closing(stack.enter_context(closing(driver.connect(address))).cursor()))
    cursor.execute(sql)
    return cursor.fetch_record_batch()


def _module(name: str, extra: str) -> Any:
    """A driver, or a message that names the extra."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"Queries of this database need {name.split('.')[0]}: pip install pysirus[{extra}]."
        ) from error

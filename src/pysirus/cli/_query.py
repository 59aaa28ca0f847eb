"""A database and a query on the command line in, a file with the rows out, which is gone when the command ends."""

from __future__ import annotations

import atexit
import tempfile
from pathlib import Path

import typer

from pysirus._data.column import DataError


def queried(table: str, sql: str | None) -> str:
    """The table, or a file with what a query of it answers; its rows are read once, and never all in memory."""
    from pysirus.engine.backends.query import is_database

    if sql is None:
        if is_database(table):
            raise typer.BadParameter(
                f"'{table}' is a database: say which rows to take, such as --sql 'select * from houses'.",
                param_hint="--sql",
            )
        return table
    import pyarrow.parquet as pq

    from pysirus._data.frame import check_names
    from pysirus.engine.backends.query import run_query

    folder = tempfile.TemporaryDirectory(prefix="pysirus-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "query.parquet"
    with run_query(table, sql) as reader:
        check_names(reader.schema.names)
        n_rows = 0
        with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)
                n_rows += len(batch)
    if not n_rows:
        raise DataError("The query answers no rows.")
    return str(path)

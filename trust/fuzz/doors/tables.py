"""Files of tables: each is read, and its columns are, or a ``DataError`` says why not."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

from pysirus import DataError
from pysirus._data import read as reading
from pysirus._data.read import read_file
from pysirus._data.table import read_table

FOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
FILE = Path(FOLDER.name) / "t.csv"
warnings.simplefilter("ignore", UserWarning)


def one(data: bytes) -> None:
    """Read a file and its columns."""
    FILE.write_bytes(data)
    try:
        table = read_file(FILE, text=("a",), labels=("b",))
        columns = read_table(table)
    except DataError as error:
        if not str(error):
            raise AssertionError("a complaint without words") from error
        return
    if table.num_rows == 0 or len(set(table.column_names)) != table.num_columns:
        raise AssertionError(f"{table.num_rows} rows of {table.column_names}")
    if columns.n_rows != table.num_rows:
        raise AssertionError(f"{columns.n_rows} of {table.num_rows} rows")


def plant() -> None:
    """Bytes that are no text pass for text."""
    reading._is_utf8 = lambda table: True

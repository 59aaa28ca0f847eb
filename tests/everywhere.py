"""A table in, the same rows in every kind of source out: tables in memory, files, queries, streams, partitions.

Folders, lists, patterns and partitions have pieces of one row, and one without rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq

from pysirus import DataError
from pysirus._parameters import ParameterError

Table = pa.Table | pd.DataFrame
ENDS = (0, 1, 1, 100, 101)  # where pieces begin; the last is what is left


def arrow(rows: Table) -> pa.Table:
    """The rows as an Arrow table."""
    return rows if isinstance(rows, pa.Table) else pa.Table.from_pandas(rows, preserve_index=False)


def frame(rows: Table) -> pd.DataFrame:
    """The rows as a frame of pandas."""
    return rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()


def written(rows: Table, folder: Path, name: str) -> Path:
    """A CSV or Parquet file, this one of several row groups."""
    path, table = folder / name, arrow(rows)
    pyarrow.csv.write_csv(table, path) if path.suffix == ".csv" else pq.write_table(table, path, row_group_size=50)
    return path


def in_pieces(rows: Table, folder: Path, ending: str) -> Path:
    """A folder of files."""
    table = arrow(rows)
    (folder / "pieces").mkdir(exist_ok=True)
    for k, (start, end) in enumerate(pairwise([*ENDS, len(table)])):
        written(table.slice(start, max(0, end - start)), folder / "pieces", f"{k}{ending}")
    return folder / "pieces"


def by_query(rows: Table, folder: Path) -> Any:
    """A query of DuckDB."""
    return duckdb.sql(f"select * from '{written(rows, folder, 'rows.parquet')}'")


def in_partitions(rows: Table, folder: Path) -> Any:
    """A frame of Dask."""
    whole = frame(rows)
    return dd.concat([dd.from_pandas(whole[a:b], npartitions=1) for a, b in pairwise([*ENDS, max(101, len(whole))])])


SOURCES: dict[str, Callable[[Table, Path], Any]] = {
    "pandas": lambda rows, folder: frame(rows),
    "polars": lambda rows, folder: pl.from_arrow(arrow(rows)),
    "pyarrow table": lambda rows, folder: arrow(rows),
    "narwhals": lambda rows, folder: nw.from_native(pl.from_arrow(arrow(rows))),
    "parquet": lambda rows, folder: written(rows, folder, "rows.parquet"),
    "csv": lambda rows, folder: str(written(rows, folder, "rows.csv")),
    "folder": lambda rows, folder: in_pieces(rows, folder, ".parquet"),
    "pattern": lambda rows, folder: str(in_pieces(rows, folder, ".csv") / "*.csv"),
    "list": lambda rows, folder: sorted(in_pieces(rows, folder, ".parquet").iterdir()),
    "lazy frame": lambda rows, folder: pl.scan_parquet(written(rows, folder, "rows.parquet")),
    "query": by_query,
    "dataset": lambda rows, folder: pyarrow.dataset.dataset(in_pieces(rows, folder, ".parquet")),
    "reader": lambda rows, folder: arrow(rows).to_reader(50),
    "dask": in_partitions,
}
BATCHED = ["parquet", "csv", "pattern", "list", "lazy frame", "query", "dataset", "reader"]  # where they are too large
EVERY = [*SOURCES, *(f"{name}, in batches" for name in BATCHED)]


def nothing_fits(monkeypatch: Any) -> None:
    """However small a source is, it is read in batches."""
    monkeypatch.setattr("pysirus.engine.backends.streams.TABLE_SHARE", 1 << 40)


def heard(estimator: Any, *given: Any, **named: Any) -> list[str]:
    """What a fit warns of; an error is the last thing said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(*given, **named)
        except (DataError, ParameterError) as error:
            return [*(str(warning.message) for warning in caught), f"{type(error).__name__}: {error}"]
    return [str(warning.message) for warning in caught]


def file_of(model: Any, path: Path) -> str:
    """The file of a model."""
    model.save(path)
    return path.read_text(encoding="utf-8")

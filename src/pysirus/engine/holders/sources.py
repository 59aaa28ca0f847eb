"""Paths in, the Parquet and CSV files that they name out, looked at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from pysirus._data.column import DataError
from pysirus._data.remote import Place, Remote, find_remote, is_remote
from pysirus.engine.holders.csv import Known, is_csv, look_at_csv
from pysirus.engine.holders.parquet import SourceFile, open_source

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def find_files(paths: Paths) -> list[Place]:
    """The files of a pattern, a folder or a list, in order of their names; a list is in its own order."""
    if not isinstance(paths, (str, os.PathLike)):
        return [file for path in paths for file in find_files(path)]
    if isinstance(paths, Remote):
        return [paths]
    if is_remote(paths):
        return _find_remote(str(paths))
    path = Path(paths)
    found: list[Place]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        found = [file for file in files if file.suffix == ".parquet"] or [file for file in files if is_csv(file)]
    else:
        names = [str(path)] if path.exists() else sorted(glob(str(path), recursive=True))  # noqa: PTH207  # may be absolute
        found = [file for name in names for file in (find_files(name) if Path(name).is_dir() else [Path(name)])]
    if not found:
        raise DataError(
            f"There is no Parquet file '{path}', and none of that pattern or in that folder; no CSV file either."
        )
    return found


def _find_remote(address: str) -> list[Place]:
    """The same in a store: of a folder its Parquet files, or else its CSV files."""
    found = find_remote(address)
    if len(found) != 1 or str(found[0]) != address:
        tables = [file for file in found if file.suffix == ".parquet"]
        found = tables or [file for file in found if is_csv(file)]
    if not found:
        raise DataError(f"There is no Parquet or CSV file '{address}', and none of that pattern or in that folder.")
    return list(found)


def look_at_all(
    paths: Sequence[Place], text: Sequence[str] = (), labels: Sequence[str] = (), known: Known | None = None
) -> list[SourceFile]:
    """The files, their types and their states; of CSV files the columns ``text`` are text, see ``look_at_csv``."""
    tables = {file.path: file for file in look_at_csv([path for path in paths if is_csv(path)], text, labels, known)}
    return [tables[path] if path in tables else open_source(path) for path in paths]

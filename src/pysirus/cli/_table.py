"""What the user calls a table in, its rows out: at once, or batch by batch where they are in several files."""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from pysirus._data.column import DataError
from pysirus._data.elsewhere import FilePath, is_remote
from pysirus._data.frame import check_names
from pysirus._data.read import (
    STDIN,
    KnownColumns,
    check_column,
    check_name,
    did_you_mean,
    list_names,
    names_in,
    read_file,
)
from pysirus._families.read import check_weights
from pysirus._model.model import Model
from pysirus._text.format import from_quotes
from pysirus._text.message import about_part, naming
from pysirus.datasets import SHIPPED
from pysirus.engine.backends.parquet import READING, SourceFile, check_rows, known_columns, text_columns
from pysirus.engine.backends.sources import find_files, scan_files
from pysirus.engine.backends.streams import batches_in, is_database, run_query


def is_files(name: str) -> bool:
    """Whether the table is several files: a folder or a pattern."""
    return is_remote(name) or Path(name).is_dir() or (any(mark in name for mark in "*?[") and not Path(name).exists())


def paths_of(name: str) -> list[FilePath]:
    """The files that a table is read from: one, several, one that is shipped, or none for standard input."""
    if name == STDIN:
        return []
    if is_files(name):
        return find_files(name)
    return [SHIPPED[name].path] if not Path(name).exists() and name in SHIPPED else [Path(name)]


def open_table(
    name: str,
    model: Model | None = None,
    labels: Sequence[str] = (),
    text: Sequence[str] = (),
    known: KnownColumns | None = None,
) -> pa.Table:
    """A file, or a shipped dataset when there is no file of that name.

    For a model its columns are read from a CSV file as they were in training, also where a few rows look otherwise:
    as ``known``, by default its features. Numbers that are ``labels`` keep their leading zeros, and ``text`` is text.
    """
    words = [] if model is None or not model.named else text_columns(model)
    known = known_columns(model) if known is None and model is not None else known
    if is_files(name):
        raise DataError(
            f"'{name}' is a folder or a pattern, and only `pysirus fit`, `tune`, `predict` and `score` take several "
            "files. Give one CSV, Parquet or Excel file."
        )
    path = Path(name)
    if name == STDIN:
        pass
    elif not path.exists() and name in SHIPPED:
        path = SHIPPED[name].path
    elif not path.exists() and path.parent == Path():
        hint = did_you_mean(name, list(SHIPPED)) if not path.suffix else ""
        raise DataError(
            f"There is no file '{name}', and no shipped dataset of that name.{hint} "
            f"Shipped are: {list_names(list(SHIPPED))}."
        )
    return read_file(path, [*words, *text], labels, known)


def queried(table: str, sql: str | None) -> str:
    """The table, or a file with what a query of it answers; its rows are read once, and never all in memory."""
    if sql is None:
        if is_database(table):
            raise typer.BadParameter(
                f"'{table}' is a database: say which rows to take, such as --sql 'select * from houses'.",
                param_hint="--sql",
            )
        return table
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


# --------------------------------------------------------------------------------------------------- rows for a model


Batches = Iterator[tuple[str | None, pa.Table]]  # rows, and what messages call them where they are some of many


class Source(NamedTuple):
    """Rows to read for a model: those of a table, or of one of several files."""

    schema: pa.Schema
    n_rows: int
    path: FilePath | None  # None of a table, whose rows need no name in messages
    read: Callable[[Sequence[str]], Batches]  # some columns of all rows

    @property
    def name(self) -> str | None:
        """What messages call it."""
        return None if self.path is None else f"'{self.path}'"


def sources(
    rules: Model,
    name: str,
    text: Sequence[str] = (),
    known: KnownColumns | None = None,
    labels: Sequence[str] = (),
    paths: Sequence[FilePath] | None = None,
) -> list[Source]:
    """A table in memory, or the files of a folder or pattern, or ``paths``; columns are as `open_table` reads them.

    None of the files is to change while it is read.
    """
    if paths is None and not is_files(name):
        table = open_table(name, rules, labels, text, known)
        return [Source(table.schema, table.num_rows, None, lambda _: iter([(None, table)]))]
    found = scan_files(find_files(name) if paths is None else paths, text, known=known or known_columns(rules))
    advice = "Give files that nothing writes to, or a copy of them."
    files = [replace(file, when=READING, advice=advice) for file in found]
    check_rows(files)
    return [Source(file.schema, file.n_rows, file.path, _reader(file)) for file in files]


def _reader(file: SourceFile) -> Callable[[Sequence[str]], Batches]:
    return lambda columns: iter(batches_in(file, columns))


@contextmanager
def about(what: str | None) -> Iterator[None]:
    """Errors about some of many rows say which."""
    try:
        yield
    except DataError as error:
        if what is None:
            raise
        raise DataError(about_part(what, error.message)) from error


def needed_columns(rules: Model, source: Source, others: Sequence[str]) -> list[str]:
    """The columns to read: those that the model asks for, and others."""
    empty = source.schema.empty_table()
    features = features_of(empty if rules.named else empty.drop_columns(list(dict.fromkeys(others))), rules)
    return list(dict.fromkeys([*features.column_names, *others]))


def features_of(table: pa.Table, model: Model) -> pa.Table:
    """The columns that the model asks for; others, such as the target, are left out."""
    if not model.named:
        return table
    wanted = dict.fromkeys(model.schema.column_of(model.features[i]) for i in sorted(model.needed))
    absent = [name for name in wanted if name not in table.column_names]
    if absent:
        raise DataError(
            f"The model needs {'a column' if len(absent) == 1 else 'columns'} that the table does not have: "
            f"{list_names(absent)}. The table has: {list_names(table.column_names)}."
        )
    return table.select([name for name in model.columns if name in table.column_names])


# -------------------------------------------------------------------------------------------------------------- columns


def check_named(table: pa.Table, name: str, role: str) -> Any:
    """A column that has a role besides features and target, one entry per row."""
    check_column(table, name, role)
    if n_missing := table[name].null_count:
        raise DataError(
            f"Column '{name}', the {role}, is missing in {n_missing} of {table.num_rows} rows. Fill it in, or drop "
            "these rows."
        )
    return table[name].to_numpy()


def times_of(table: pa.Table, time: str, event: str) -> pa.Table:
    """The columns of events and times."""
    check_column(table, time, "time")
    check_column(table, event, "event")
    return table.select([event, time])


def weights_of(table: pa.Table, name: str) -> Any:
    """The column of weights, once they can be used."""
    with naming(weights=name):
        check_weights(table[name], table.num_rows)
    return table[name]


def split_names(given: list[str] | None) -> list[str]:
    """What may be column names in an option: each entry, its parts between commas, and what is in quotes."""
    every = [part for text in given or [] for part in (text, *text.split(","))]
    quoted = [name for part in every if (name := from_quotes(part.strip()))]
    return [*every, *map(str.strip, every), *quoted]


def names_of(columns: Sequence[str], given: list[str] | None, option: str) -> list[str]:
    """Column names from an option: each is a name, or several with commas between them."""
    found = [name for text in given or [] for name in names_in(text, columns, option)]
    for name in found:
        check_name(columns, name, f"option {option}")
    return found

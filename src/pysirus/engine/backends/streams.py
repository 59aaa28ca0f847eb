"""Whatever rows come from in, a table or files out: paths, Arrow datasets and streams, database queries, lazy frames.

Rows that fit into a quarter of the memory become a table, which is learned from as any other. More rows stay in files,
which are read in batches. A source that is no file is read once and, where it is too large, written to a Parquet file
in the scratch folder: nothing says that a query gives its rows twice in the same order.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq

from pysirus._data.column import DataError
from pysirus._data.elsewhere import FilePath, is_dask, is_dataset, is_path, is_spark
from pysirus._data.frame import check_names
from pysirus._data.marks import comma_schema, decimal_of
from pysirus._data.read import PARQUET_MAGIC, KnownColumns, decompressed, read_file, sniff_codec
from pysirus._families.target import TOO_LARGE
from pysirus._parameters import ParameterError
from pysirus.engine.backends.parquet import SourceFile, check_rows, check_same_columns, open_source, reason, tables_in
from pysirus.engine.backends.sources import find_files, is_csv, scan_files, state_of_csv
from pysirus.engine.parts import width_of

TABLE_SHARE = 4  # a table may take this part of them: reading, bins and weights take the rest
BATCH_BYTES = 1 << 26
BATCH_ROWS = 1 << 10, 1 << 18  # at least, at most
EXCEL = (".xlsx", ".xlsm")


@dataclass(frozen=True)
class Opened:
    """The rows of a source: a table where they fit into memory, else files."""

    table: pa.Table | None
    files: Sequence[FilePath] = ()
    is_scratch: bool = False  # whether the file was written here, from a stream
    dropped: Sequence[str] = ()  # columns that were not read


@dataclass(frozen=True)
class Reading:
    """How sources are opened."""

    memory: int = 1 << 30  # bytes that may be taken
    scratch: str | os.PathLike[str] | None = None  # the folder for what does not fit into memory
    labels: Sequence[str] = ()  # columns of CSV files whose leading zeros count
    text: Sequence[str] = ()  # columns of CSV files that are text
    drop: Sequence[str] = ()  # columns that only some files may have
    known: KnownColumns | None = field(default=None, compare=False)  # what a model knows of the columns of CSV files
    whole: bool = False  # whether all rows must be in one table, which may take all of the memory

    @property
    def table_bytes(self) -> int:
        """What a table may take."""
        return self.memory if self.whole else self.memory // TABLE_SHARE

    def check(self, size: int) -> bool:
        """Whether rows of this size are a table; where they must be, an error says that they are too many."""
        if size > self.table_bytes and self.whole:
            raise ParameterError(TOO_LARGE.format(self.memory))
        return size <= self.table_bytes


@contextmanager
def opened(X: Any, how: Reading) -> Iterator[Opened]:
    """The rows of a path or a stream; a scratch file is gone at the end."""
    if is_path(X):
        yield _open_paths(X, how)
        return
    with ExitStack() as stack:
        reader = stack.enter_context(_stream(X, how))
        check_names(reader.schema.names)
        held, rest = _hold(reader, how)
        if rest is None:
            yield Opened(pa.Table.from_batches(held, reader.schema))
            return
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pysirus-", dir=how.scratch))
        path = Path(folder) / "rows.parquet"
        with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
            while held:  # given up one by one, as they are written
                writer.write_batch(held.pop(0))
            for batch in rest:
                writer.write_batch(batch)
        yield Opened(None, [path], is_scratch=True)


def whole_table(X: Any, how: Reading) -> pa.Table:
    """All rows of a source in one table; an error where they take more memory than is allowed."""
    how = replace(how, whole=True)
    if is_dask(X) or is_spark(X):
        return pa.concat_tables(list(_within(batches_of(X, None, how), how)), promote_options="permissive")
    with opened(X, how) as found:
        return found.table


def _within(tables: Iterator[pa.Table], how: Reading) -> Iterator[pa.Table]:
    """Tables, as long as all of them together take no more memory than is allowed."""
    size = 0
    for table in tables:
        size += table.nbytes
        how.check(size)
        yield table


def _hold(reader: pa.RecordBatchReader, how: Reading) -> tuple[list[pa.RecordBatch], Iterator[pa.RecordBatch] | None]:
    """The first batches, and the others where these are not all: None where all fit."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in reader:
        size += batch.nbytes
        if not how.check(size):
            return held, chain([batch], reader)
        held.append(batch)
    return held, None


@contextmanager
def _stream(X: Any, how: Reading) -> Iterator[pa.RecordBatchReader]:
    """The rows of a source in batches."""
    X = nw.to_native(X, pass_through=True)
    if isinstance(X, pa.RecordBatchReader):
        yield _plain(X)
    elif is_dataset(X):
        yield X.scanner().to_reader()
    elif hasattr(X, "sink_parquet"):  # a LazyFrame of polars, which does not hold all of its rows for that
        with tempfile.TemporaryDirectory(prefix="pysirus-", dir=how.scratch) as folder:
            path = Path(folder) / "rows.parquet"
            X.sink_parquet(path)
            with pq.ParquetFile(path, memory_map=False, pre_buffer=False) as file:
                yield pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(BATCH_ROWS[1]))
    elif hasattr(X, "__arrow_c_stream__"):
        yield _plain(pa.RecordBatchReader.from_stream(X))
    else:
        yield nw.from_native(X).collect("pyarrow").to_native().to_reader()


def _plain(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Batches whose columns have plain types: numbers that came as text are the floats nearest to them."""
    schema = pa.schema([field.with_type(_plain_type(field)) for field in reader.schema])
    if schema.types == reader.schema.types:
        return reader

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = zip(batch.columns, schema.types)
            plain = [getattr(column, "storage", column).cast(kind) for column, kind in columns]
            yield pa.RecordBatch.from_arrays(plain, names=schema.names)

    schema = pa.schema(zip(schema.names, schema.types))
    return pa.RecordBatchReader.from_batches(schema, batches())


def _plain_type(field: pa.Field) -> pa.DataType:
    """The type of a column; NUMERIC of PostgreSQL comes as text with a note of what it is."""
    told = (field.metadata or {}).get(b"ARROW:extension:metadata", b"")  # where pyarrow does not know such types
    if getattr(field.type, "type_name", "") == "numeric" or b'"numeric"' in told:
        return pa.float64()
    return field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type


# -------------------------------------------------------------------------------------------------------------- files


def _open_paths(paths: Any, how: Reading) -> Opened:
    """The table that some files hold together, or the files where it would be too large."""
    files = find_files(paths)
    whole = _whole(files, how)
    if whole is not None:
        return Opened(whole)
    size = 0
    for path in files:
        size += _size_of(path, how.table_bytes)
        if not how.check(size):
            return Opened(None, files)
    sources = scan_files(files, labels=how.labels, known=how.known)
    check_same_columns(sources, how.drop)
    check_rows(sources)
    names = [name for name in sources[0].schema.names if name not in how.drop]
    tables = [table for source in sources for _, table in tables_in(source, names, BATCH_ROWS[1])]
    try:
        table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    except pa.ArrowException as error:
        raise DataError(
            f"A column has different types in different files: {reason(error)}. Write all files with the same types."
        ) from error
    if decimal_of(sources[0].schema):
        table = table.replace_schema_metadata(comma_schema(table.schema).metadata)
    return Opened(table, dropped=how.drop)


def _whole(files: Sequence[FilePath], how: Reading) -> pa.Table | None:
    """The table of a single file of text or Excel, as the command line reads it; None of other and of large files."""
    (path, *others) = files
    if others or _is_parquet(path):
        return None
    if path.suffix.lower() not in EXCEL and _size_of(path, how.table_bytes) > how.table_bytes:
        return None
    assert isinstance(path, Path)
    return read_file(path, how.text, labels=how.labels, known=how.known)


def _is_parquet(path: FilePath) -> bool:
    """Whether a file is to be read as Parquet: by its first bytes; in a store all that is not called CSV."""
    if not isinstance(path, Path):
        return not is_csv(path)
    if path.suffix == ".parquet" or not path.is_file():
        return True
    with path.open("rb") as file:
        return file.read(4) == PARQUET_MAGIC


def _size_of(path: FilePath, most: int) -> int:
    """About how many bytes the rows of a file take in memory; of compressed text no more are counted than ``most``."""
    if not is_csv(path) and _is_parquet(path):
        source = open_source(path)
        return source.n_rows * sum(map(width_of, source.schema.types))
    try:
        size = state_of_csv(path).size
        if sniff_codec(path) is None:
            return size
        with decompressed(path) as stream:
            size = 0
            while size <= most and (found := len(stream.read(1 << 20))):
                size += found
            return size
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"'{path}' cannot be read: {reason(error)}.") from error


def batches_of(X: Any, columns: Sequence[str] | None, how: Reading) -> Iterator[pa.Table]:
    """The rows of a source in tables of some of its columns, all where none are named; never all of them at once."""
    if is_dask(X):  # one partition after the other
        names = list(X.columns) if columns is None else _present(columns, list(X.columns))
        for k in range(X.npartitions):
            rows = X[names].partitions[k].compute()
            if len(rows):
                yield pa.Table.from_pandas(rows, preserve_index=False)
        return
    if is_spark(X):
        from pysirus.engine.backends.spark import tables_of_frame

        yield from tables_of_frame(X, X.columns if columns is None else _present(columns, X.columns))
        return
    if not is_path(X):
        with _stream(X, how) as reader:
            for batch in reader:
                if len(batch):
                    table = pa.Table.from_batches([batch])
                    yield table if columns is None else table.select(_present(columns, table.column_names))
        return
    files = find_files(X)
    whole = _whole(files, how)
    if whole is not None:
        yield whole if columns is None else whole.select(_present(columns, whole.column_names))
        return
    for source in scan_files(files, how.text, known=how.known):
        names = source.schema.names if columns is None else _present(columns, source.schema.names)
        yield from (table for _, table in batches_in(source, names))


def batches_in(source: SourceFile, names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """Rows of a file in tables of some megabytes, each with a name for messages."""
    width = sum(width_of(source.schema.field(name).type) for name in names)
    return tables_in(source, names, max(BATCH_ROWS[0], min(BATCH_ROWS[1], BATCH_BYTES // max(1, width))))


def _present(wanted: Sequence[str], names: Sequence[str]) -> list[str]:
    """Those of the columns that are there: what is missing is said by whoever needs it."""
    return [name for name in names if name in set(wanted)]


# ---------------------------------------------------------------------------------------------------------- databases

# A database and a query in, the rows that it answers out: DuckDB by itself, SQLite and PostgreSQL by ADBC. The database
# is opened to be read alone.


POSTGRES = ("postgresql://", "postgres://")
SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"  # from the ninth byte on
MEMORY_DATABASE = ":memory:"
DATABASE_ENDINGS = (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")


def is_database(name: str) -> bool:
    """Whether a name is that of a database: by its address, its content, or its ending."""
    if name == MEMORY_DATABASE or name.startswith(POSTGRES):
        return True
    path = Path(name)
    if not path.is_file():
        return name.lower().endswith(DATABASE_ENDINGS)
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
    if database != MEMORY_DATABASE and not path.is_file():
        raise DataError(f"There is no database '{database}'.")
    if database != MEMORY_DATABASE:
        with path.open("rb") as file:
            if file.read(16).startswith(SQLITE_MAGIC):
                address = f"file:{path.resolve()}?mode=ro"
                return _by_adbc(stack, _module("adbc_driver_sqlite.dbapi", "sqlite"), address, sql)
        if not is_database(database):
            raise DataError(
                f"'{database}' is a database neither of DuckDB nor of SQLite. To query a file of rows, give :memory: "
                f"for the database, and \"select * from '{database}'\"."
            )
    duckdb = _module("duckdb", "duckdb")
    connection = stack.enter_context(closing(duckdb.connect(database, read_only=database != MEMORY_DATABASE)))
    found = connection.sql(sql)
    if found is None:
        raise DataError("The query answers no rows: give a SELECT.")
    return pa.RecordBatchReader.from_stream(found)


def _by_adbc(stack: ExitStack, driver: Any, address: str, sql: str) -> pa.RecordBatchReader:
    cursor = stack.enter_context(closing(stack.enter_context(closing(driver.connect(address))).cursor()))
    if address.startswith(POSTGRES):
        cursor.execute("set transaction read only")
    cursor.execute(sql)
    return _plain(cursor.fetch_record_batch())


def _module(name: str, extra: str) -> Any:
    """A driver, or a message that names the extra."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"Queries of this database need {name.split('.')[0]}: pip install pysirus[{extra}]."
        ) from error

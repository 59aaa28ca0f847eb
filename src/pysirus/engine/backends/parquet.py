"""Parquet files in, files out that must stay what they are; every complaint about a file is made here.

Files are read, not mapped into memory: a map of a file that is cut short kills the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa
import pyarrow.parquet as pq

from pysirus._data.column import DataError
from pysirus._data.elsewhere import FilePath, Remote
from pysirus._data.frame import check_names
from pysirus._data.marks import POINT, KnownColumn
from pysirus._data.read import KnownColumns, check_name, list_names
from pysirus._model.model import Model
from pysirus._text.message import Parameter, rows_named
from pysirus.engine.parts import tables_of

ADVICE = "Learn from files that nothing writes to, or from a copy of them."
LEARNING, READING = "while the model was learned", "while it was read"
AT_ONCE = 1 << 27  # bytes of a row group that are fetched from a store at once
TAIL = 8  # bytes: the length of the footer, and the mark of the format


def open_file(path: FilePath, buffer_size: int = 0) -> pq.ParquetFile:
    """A file to read batches from; ``buffer_size`` bytes of each column at a time, all of a row group for 0."""
    try:
        if isinstance(path, Remote):
            return _open_remote(path, buffer_size)
        return pq.ParquetFile(path, memory_map=False, pre_buffer=False, buffer_size=buffer_size)
    except (MemoryError, DataError):
        raise
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"'{path}' cannot be read as Parquet: {reason(error)}. Batches are read from Parquet files, and from CSV "
            "files whose names end in .csv or .csv.gz."
        ) from error


def _open_remote(path: Remote, buffer_size: int) -> pq.ParquetFile:
    """The same in a store, where every request waits: columns of a row group are fetched together, if memory allows."""
    file = path.open()
    found = pq.read_metadata(file)
    largest = max((found.row_group(i).total_byte_size for i in range(found.num_row_groups)), default=0)
    if largest <= AT_ONCE:
        return pq.ParquetFile(file, metadata=found, pre_buffer=True)
    return pq.ParquetFile(file, metadata=found, pre_buffer=False, buffer_size=max(buffer_size, 1 << 20))


def reason(error: Exception) -> str:
    """The first line of an error of the system or of Arrow."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")[:160]


@dataclass(frozen=True)
class State:
    """What tells a file from one that was written later."""

    size: int
    modified: int  # nanoseconds
    footer: bytes  # a digest: the footer holds the types, the number of rows and where each page stands


def state_of(path: FilePath) -> State:
    """The state of a file; a tag of a store stands for the footer."""
    size, modified, tag = path.mark() if isinstance(path, Remote) else (0, 0, b"")
    if tag:
        return State(size, modified, tag)
    with path.open("rb") as file:
        if not isinstance(path, Remote):
            status = os.fstat(file.fileno())
            size, modified = status.st_size, status.st_mtime_ns
        file.seek(max(0, size - TAIL))
        tail = file.read(TAIL)
        file.seek(max(0, size - TAIL - int.from_bytes(tail[:4], "little")))
        footer = blake2b(file.read(), digest_size=16).digest()
    return State(size, modified, footer)


@dataclass(frozen=True)
class SourceFile:
    """A Parquet file as it was when it was first looked at."""

    path: FilePath
    schema: pa.Schema
    n_rows: int
    state: State
    when: str = LEARNING  # what its rows are read for
    advice: str = ADVICE

    def check(self) -> None:
        """Complain if it is not what it was."""
        try:
            now = self.state_now()
        except OSError as error:
            raise DataError(f"'{self.path}' cannot be read any more: {reason(error)}. {self.advice}") from error
        if now == self.state:
            return
        found = "it was written to"
        if now.size != self.state.size:
            found = f"it had {self.state.size:,} bytes, now it has {now.size:,}"
        elif now.footer != self.state.footer:
            found = "its footer is another"
        raise DataError(f"'{self.path}' changed {self.when}: {found}. {self.advice}")

    def state_now(self) -> State:
        """Its state at this moment."""
        return state_of(self.path)

    @contextmanager
    def batches(self, columns: Sequence[str], n_rows: int, buffer: int = 0) -> Iterator[Iterator[pa.RecordBatch]]:
        """Some of its columns in batches of about ``n_rows``."""
        with closing(open_file(self.path, buffer)) as file:
            yield file.iter_batches(n_rows, columns=list(columns), use_threads=False)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read from the file: it is what it was before and after, and whatever fails in between names it."""
        self.check()
        try:
            yield
        except MemoryError:
            raise
        except (pa.ArrowException, OSError) as error:
            self.check()
            raise DataError(
                f"'{self.path}' is damaged, or the disk that it is on: {reason(error)}. Write the file again."
            ) from error
        self.check()


def tables_in(
    source: SourceFile, columns: Sequence[str], n_rows: int, buffer: int = 0
) -> Iterator[tuple[str, pa.Table]]:
    """Rows of a file in tables of ``n_rows``, each with a name for messages."""
    start = 0
    with source.reading(), source.batches(columns, n_rows, buffer) as batches:
        for table in tables_of(batches, n_rows):
            yield rows_named(start, len(table), f"'{source.path}'"), table
            start += len(table)


def open_source(path: FilePath) -> SourceFile:
    """A file, its types and its state."""
    try:
        state = state_of(path)
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {reason(error)}.") from error
    with closing(open_file(path)) as file:
        source = SourceFile(path, file.schema_arrow, file.metadata.num_rows, state)
    source.check()
    check_names(source.schema.names)
    return source


def check_rows(files: Sequence[SourceFile]) -> None:
    """Reject files without a row."""
    if not any(file.n_rows for file in files):
        raise DataError(f"'{files[0].path}' has columns but no rows{', as have the others' if files[1:] else ''}.")


def check_same_columns(files: Sequence[SourceFile], drop: Sequence[str]) -> None:
    """Reject files with different columns, but for those to leave out, each of which some file has."""
    first, anywhere = files[0], dict.fromkeys(name for file in files for name in file.schema.names)
    for name in drop:
        check_name(list(anywhere), name, f"parameter {Parameter('drop')}")
    for file in files[1:]:
        for one, other in ((first, file), (file, first)):
            only = [name for name in one.schema.names if name not in other.schema.names and name not in drop]
            if only:
                more = f" (and {list_names(only[1:])})" if len(only) > 1 else ""
                raise DataError(
                    f"'{other.path}' has no column '{only[0]}'{more}, which '{one.path}' has. Give every file the same "
                    f"columns, or name under {Parameter('drop')} those that only some of them have."
                )


# ---------------------------------------------------------------------------------------------------------------- known

# A model in, what it knows of the columns of CSV files out: they are read by that, and not by what a few rows show.


def text_columns(model: Model) -> list[str]:
    """The columns that were text when a model was learned."""
    return [feature.name for feature in model.features if any(isinstance(level, str) for level in feature.levels)]


def known_columns(model: Model, truth: Sequence[str] = ()) -> dict[str, KnownColumn]:
    """What a model knows of the columns of text files; ``truth`` are numbers besides its features."""
    if not model.named:
        return {}
    known = {name: KnownColumn(model.marks.get(name, POINT)) for name in truth}
    known |= {name: KnownColumn(form, needed=name in truth) for name, form in model.marks.items()}
    asked = model.columns_of(model.rules)
    for i, feature in enumerate(model.features):
        own = None if model.recipe is None else model.recipe.of(feature.name)
        form = model.marks.get(feature.name, POINT)
        is_text = own is not None and own.take != "finite"
        if is_text or any(isinstance(level, str) for level in feature.levels):
            known[model.schema.column_of(feature)] = KnownColumn()
        else:
            known[feature.name] = KnownColumn(form, feature.levels, needed=i in asked)
    return known


def kept_columns(model: Model, keep: Sequence[str], numbers: Sequence[str]) -> tuple[KnownColumns, KnownColumns]:
    """The features that are kept as they are written, and all columns that a model knows, these as text."""
    known = known_columns(model, numbers)
    kept = {name: known[name] for name in keep if name in model.columns and name in known}
    return kept, known | dict.fromkeys(kept, KnownColumn())

"""Paths in, Parquet and CSV files out that are read in batches, with the types that all their rows agree on.

pyarrow reads a file in memory by the first type, in an order of its own, that every value of a column can be read as.
Its reader of batches takes the types of the first batch for granted. So the files are read once to find the types,
before the first pass over their rows, and a column that has a value of another type goes on to the next. Whether
numbers have decimal commas is found in the same way; where a model knows its columns, nothing is to be found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from glob import glob
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from pysirus._data.column import DataError
from pysirus._data.elsewhere import FilePath, Remote, find_remote, is_remote
from pysirus._data.frame import check_names
from pysirus._data.marks import COMMA, KnownColumn, Shown, comma_schema, has_decimal_commas
from pysirus._data.read import KnownColumns, decompressed, has_leading_zero, named_columns, sniff_delimiter
from pysirus.engine.backends.parquet import SourceFile, State, open_source, reason

ENDINGS = re.compile(r"\.(csv|tsv)(\.(gz|bz2|zst|lz4|br))?$", re.IGNORECASE)
BLOCK = 1 << 22  # bytes that are read at once: a row must fit in
SAMPLE = 1 << 16  # bytes at both ends of a file that tell whether it changed
# the types that pyarrow tries, in its order
TYPES = (
    *(pa.null(), pa.int64(), pa.bool_(), pa.date32(), pa.time32("s")),
    *(pa.timestamp("s"), pa.timestamp("ns"), pa.float64(), pa.string()),
)
_COLUMN = re.compile(r"In CSV column #(\d+)")

Types = Mapping[str, pa.DataType]


def is_csv(path: FilePath) -> bool:
    """Whether the name of a file says that it is CSV."""
    return ENDINGS.search(path.name) is not None


def state_of_csv(path: FilePath) -> State:
    """The state of a file: its ends stand for what is between them, whose values are compared from pass to pass."""
    size, modified, tag = path.mark() if isinstance(path, Remote) else (0, 0, b"")
    if tag:
        return State(size, modified, tag)
    with path.open("rb") as file:
        start = file.read(SAMPLE)
        size = file.seek(0, 2)
        file.seek(max(0, size - SAMPLE))
        ends = blake2b(start + file.read(), digest_size=16).digest()
    return State(size, modified if isinstance(path, Remote) else path.stat().st_mtime_ns, ends)


@dataclass(frozen=True)
class CsvFile(SourceFile):
    """A CSV file as it was when it was first looked at."""

    delimiter: str = ","
    header: tuple[str, ...] = ()  # names as they stand in the file, one for each of the schema
    types: Types = field(default_factory=dict)
    # columns of text by the names of the schema, and what the text stands for
    known: KnownColumns = field(default_factory=dict)

    def state_now(self) -> State:
        """Its state at this moment."""
        return state_of_csv(self.path)

    @contextmanager
    def batches(self, columns: Sequence[str], n_rows: int, buffer: int = 0) -> Iterator[Iterator[pa.RecordBatch]]:
        """Some of its columns in batches; how large they are depends on the bytes of a row."""
        written = dict(zip(self.schema.names, self.header))
        raw = [written[name] for name in columns]
        with closing(_open(self.path, self.delimiter, self.types, raw)) as reader:
            yield (self._read(batch.rename_columns(list(columns))) for batch in reader)

    def _read(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with the values that its texts stand for."""
        columns = dict(zip(batch.schema.names, batch.columns))
        read = {name: self.known[name].read(name, columns[name]) for name in columns if name in self.known}
        return pa.RecordBatch.from_arrays([read.get(name, columns[name]) for name in columns], names=list(columns))


def _open(path: FilePath, delimiter: str, types: Types, only: Sequence[str] = ()) -> pa.csv.CSVStreamingReader:
    source = decompressed(path)
    return pyarrow.csv.open_csv(
        source,
        read_options=pyarrow.csv.ReadOptions(block_size=BLOCK, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            strings_can_be_null=True, column_types=dict(types), include_columns=list(only)
        ),
    )


def scan_csv(
    paths: Sequence[FilePath], text: Sequence[str] = (), labels: Sequence[str] = (), known: KnownColumns | None = None
) -> list[SourceFile]:
    """The files, the types that the values of all of them agree on, and their states.

    The columns ``text`` are text, and the columns ``labels`` where a number begins with a zero. ``known`` is what a
    model knows of its columns: nothing of these is guessed.
    """
    files = [_scan(path) for path in paths]
    types: dict[str, pa.DataType] = {}
    for file in files:
        for name, raw in zip(file.schema.names, file.header):
            is_text = raw in text or name in (known or ())
            types[raw] = pa.string() if is_text else max(file.types[raw], types.get(raw, pa.null()), key=_rung)
    zeros = [name for name in labels if name in types and any(_begins_with_zero(file, name) for file in files)]
    types |= dict.fromkeys(zeros, pa.string())
    counts = _agree_on_types(files, types)
    commas = _comma_columns(files, types, {*text, *zeros}) if known is None else []
    types |= dict.fromkeys(commas, pa.string())
    given = {name: how for name, how in (known or {}).items() if name not in text}
    found: list[SourceFile] = []
    for file, n_rows in zip(files, counts):
        raws = dict(zip(file.schema.names, file.header))
        own = {name: KnownColumn(COMMA) for name, raw in raws.items() if raw in commas}
        own |= {name: given[name] for name in raws if name in given}
        schema = pa.schema([(name, own[name].type if name in own else types[raw]) for name, raw in raws.items()])
        file = replace(file, schema=comma_schema(schema) if commas else schema, n_rows=n_rows, types=types, known=own)
        file.check()
        found.append(file)
    return found


def _scan(path: FilePath) -> CsvFile:
    """A file with the types of its first batch."""
    try:
        state = state_of_csv(path)
        delimiter = sniff_delimiter(path)
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {reason(error)}.") from error
    with _complaining(path), closing(_open(path, delimiter, {})) as reader:
        schema = reader.schema
        names = named_columns(schema.names)
    check_names(names)
    types = dict(zip(schema.names, (kind if kind in TYPES else pa.string() for kind in schema.types)))
    shown = pa.schema(list(zip(names, types.values())))
    return CsvFile(path, shown, 0, state, delimiter=delimiter, header=tuple(schema.names), types=types)


def _rung(kind: pa.DataType) -> int:
    return TYPES.index(kind)


def _agree_on_types(files: Sequence[CsvFile], types: dict[str, pa.DataType]) -> list[int]:
    """The number of rows of each file, once all values can be read as the types, which go on until they can."""
    while True:
        counts = []
        for file in files:
            count = _count(file, types)
            if isinstance(count, str):
                _go_on(files, types, count)
                break
            counts.append(count)
        else:
            return counts


def _go_on(files: Sequence[CsvFile], types: dict[str, pa.DataType], name: str) -> None:
    """The next type that all values of a column can be read as."""
    while types[name] != pa.string():
        types[name] = TYPES[_rung(types[name]) + 1]
        if not any(isinstance(_count(file, types, [name]), str) for file in files if name in file.header):
            return


def _count(file: CsvFile, types: Types, only: Sequence[str] = ()) -> int | str:
    """The rows of a file, or the name of a column that has a value of another type."""
    known = {name: kind for name, kind in types.items() if name in file.header}
    with _complaining(file.path):
        try:
            with closing(_open(file.path, file.delimiter, known, only)) as reader:
                n_rows = sum(map(len, reader))
        except pa.ArrowInvalid as error:
            found = _COLUMN.match(str(error))
            name = None if found is None else file.header[int(found[1])]
            if name is None or types[name] == pa.string():
                raise
            return name
    return n_rows


def _comma_columns(files: Sequence[CsvFile], types: Types, aside: Container[str]) -> list[str]:
    """The columns of numbers with decimal commas: by files with semicolons, unless a column has decimal points."""
    kinds = {name: kind for name, kind in types.items() if name not in aside}
    shown = {name: Shown() for name, kind in kinds.items() if kind == pa.string()}
    for file in files:
        if file.delimiter == ";":
            _show(file, shown)
    if not any(column.shows for column in shown.values()):
        return []
    numbers = {name: Shown() for name, kind in kinds.items() if kind == pa.float64()}
    for file in files:
        _show(file, numbers)
        if file.delimiter != ";":
            _show(file, shown)
    found = [name for name, column in (shown | numbers).items() if column.is_comma_column]
    if not has_decimal_commas(shown.values(), numbers.values()):
        found = []
    for name, column in shown.items():
        if column.shows and name not in found:
            path = next(file.path for file in files if name in file.header)
            raise DataError(
                f"Column '{name}' of '{path}' has numbers with decimal commas, and it or another column has text or "
                "decimal points beside them. In batches all numbers have the same marks. Write them so, or as Parquet."
            )
    return found


def _show(file: CsvFile, shown: Mapping[str, Shown]) -> None:
    """Look at the texts of some columns of a file."""
    names = [name for name in shown if name in file.header]
    if names:
        with _complaining(file.path), closing(_open(file.path, file.delimiter, _texts(names), names)) as reader:
            for batch in reader:
                for name, column in zip(names, batch.columns):
                    shown[name].add(column)


def _texts(names: Sequence[str]) -> Types:
    return dict.fromkeys(names, pa.string())


def _begins_with_zero(file: CsvFile, name: str) -> bool:
    if name not in file.header:
        return False
    with closing(_open(file.path, file.delimiter, {name: pa.string()}, [name])) as reader:
        return any(has_leading_zero(batch.column(0)) for batch in reader)


@contextmanager
def _complaining(path: FilePath) -> Iterator[None]:
    """What pyarrow says of a file, with its name."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not in UTF-8. Save it in UTF-8, or as Parquet.") from error
    except (pa.ArrowException, OSError) as error:
        if "UTF8" in str(error):
            raise DataError(f"'{path}' is not in UTF-8. Save it in UTF-8, or as Parquet.") from error
        raise DataError(f"'{path}' cannot be read as CSV: {reason(error)}.") from error


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def find_files(paths: Paths) -> list[FilePath]:
    """The files of a pattern, a folder or a list, in order of their names; a list is in its own order."""
    if not isinstance(paths, (str, os.PathLike)):
        return [file for path in paths for file in find_files(path)]
    if isinstance(paths, Remote):
        return [paths]
    if is_remote(paths):
        return _find_remote(str(paths))
    path = Path(paths)
    found: list[FilePath]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        found = [file for file in files if file.suffix == ".parquet"] or [file for file in files if is_csv(file)]
    else:
        names = [str(path)] if path.exists() else sorted(glob(str(path), recursive=True))  # noqa: PTH207  # may be absolute
        found = [file for name in names for file in (find_files(name) if Path(name).is_dir() else [Path(name)])]
    if not found:
        raise DataError(f"No Parquet or CSV file matches '{path}', as a file, a folder or a pattern.")
    return found


def _find_remote(address: str) -> list[FilePath]:
    """The same in a store: of a folder its Parquet files, or else its CSV files."""
    found = find_remote(address)
    if len(found) != 1 or str(found[0]) != address:
        tables = [file for file in found if file.suffix == ".parquet"]
        found = tables or [file for file in found if is_csv(file)]
    if not found:
        raise DataError(f"No Parquet or CSV file matches '{address}', as a file, a folder or a pattern.")
    return list(found)


def scan_files(
    paths: Sequence[FilePath], text: Sequence[str] = (), labels: Sequence[str] = (), known: KnownColumns | None = None
) -> list[SourceFile]:
    """The files, their types and their states; of CSV files the columns ``text`` are text, see ``scan_csv``."""
    tables = {file.path: file for file in scan_csv([path for path in paths if is_csv(path)], text, labels, known)}
    return [tables[path] if path in tables else open_source(path) for path in paths]

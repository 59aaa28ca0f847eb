"""CSV files in, files out that are read in batches: the types of their columns are those that all rows agree on.

pyarrow reads a file in memory by the first type, in an order of its own, that every value of a column can be read as.
Its reader of batches takes the types of the first batch for granted. So the files are read once to find the types,
before the first pass over their rows, and a column that has a value of another type goes on to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

import pyarrow as pa
import pyarrow.csv

from pysirus._data.column import DataError
from pysirus._data.frame import check_names
from pysirus._data.read import (
    decompressed,
    has_decimal_comma,
    has_leading_zero,
    is_surely_german,
    named_columns,
    sniff_delimiter,
)
from pysirus._data.remote import Place, Remote
from pysirus.engine.holders.parquet import SourceFile, State, reason

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


def is_csv(path: Place) -> bool:
    """Whether the name of a file says that it is CSV."""
    return ENDINGS.search(path.name) is not None


def state_of_csv(path: Place) -> State:
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

    def state_now(self) -> State:
        """Its state at this moment."""
        return state_of_csv(self.path)

    @contextmanager
    def batches(self, columns: Sequence[str], n_rows: int, buffer: int = 0) -> Iterator[Iterator[pa.RecordBatch]]:
        """Some of its columns in batches; how large they are depends on the bytes of a row."""
        written = dict(zip(self.schema.names, self.header))
        raw = [written[name] for name in columns]
        with closing(_open(self.path, self.delimiter, self.types, raw)) as reader:
            yield (batch.rename_columns(list(columns)) for batch in reader)


def _open(path: Place, delimiter: str, types: Types, only: Sequence[str] = ()) -> pa.csv.CSVStreamingReader:
    source = decompressed(path)
    return pyarrow.csv.open_csv(
        source,
        read_options=pyarrow.csv.ReadOptions(block_size=BLOCK, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            strings_can_be_null=True, column_types=dict(types), include_columns=list(only)
        ),
    )


def look_at_csv(paths: Sequence[Place], text: Sequence[str] = (), labels: Sequence[str] = ()) -> list[SourceFile]:
    """The files, the types that the values of all of them agree on, and their states.

    The columns ``text`` are text, and the columns ``labels`` where a number begins with a zero.
    """
    files = [_look_at(path) for path in paths]
    types: dict[str, pa.DataType] = {}
    for file in files:
        for name, kind in file.types.items():
            known = types.get(name, pa.null())
            types[name] = pa.string() if name in text else max(kind, known, key=_rung)
    for name in labels:
        if name in types and types[name] == pa.int64() and any(_begins_with_zero(file, name) for file in files):
            types[name] = pa.string()
    counts = _settle(files, types)
    found: list[SourceFile] = []
    for file, n_rows in zip(files, counts):
        schema = pa.schema([(name, types[raw]) for name, raw in zip(file.schema.names, file.header)])
        file = CsvFile(file.path, schema, n_rows, file.state, delimiter=file.delimiter, header=file.header, types=types)
        file.check()
        found.append(file)
    return found


def _look_at(path: Place) -> CsvFile:
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


def _settle(files: Sequence[CsvFile], types: dict[str, pa.DataType]) -> list[int]:
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
    n_rows = 0
    with _complaining(file.path):
        try:
            with closing(_open(file.path, file.delimiter, known, only)) as reader:
                for batch in reader:
                    n_rows += len(batch)
                    if file.delimiter == ";":
                        _refuse_commas(file, batch)
        except pa.ArrowInvalid as error:
            found = _COLUMN.match(str(error))
            name = None if found is None else file.header[int(found[1])]
            if name is None or types[name] == pa.string():
                raise
            return name
    return n_rows


def _refuse_commas(file: CsvFile, batch: pa.RecordBatch) -> None:
    """Numbers with decimal commas are known by a look at all rows; nobody should get them as text unasked."""
    for name, column in zip(batch.schema.names, batch.columns):
        if has_decimal_comma(column) or is_surely_german(column):
            raise DataError(
                f"Column '{name}' of '{file.path}' has numbers with decimal commas. In batches only decimal points are "
                "read. Save the file as Parquet, or with decimal points."
            )


def _begins_with_zero(file: CsvFile, name: str) -> bool:
    if name not in file.header:
        return False
    with closing(_open(file.path, file.delimiter, {name: pa.string()}, [name])) as reader:
        return any(has_leading_zero(batch.column(0)) for batch in reader)


@contextmanager
def _complaining(path: Place) -> Iterator[None]:
    """What pyarrow says of a file, with its name."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not in UTF-8. Save it in UTF-8, or as Parquet.") from error
    except (pa.ArrowException, OSError) as error:
        if "UTF8" in str(error):
            raise DataError(f"'{path}' is not in UTF-8. Save it in UTF-8, or as Parquet.") from error
        raise DataError(f"'{path}' cannot be read as CSV: {reason(error)}.") from error

"""A file in, a pyarrow table out: CSV or Parquet, told apart by content, with a message for each way it can fail."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from pysirus._data.column import DataError
from pysirus._data.frame import check_names

# Of a pipe, and of a compressed file once it is decompressed, nobody sees the size beforehand: at most this many bytes
# are read, and of a compressed file at most this many times its own size, but some in any case.
MAX_UNSEEN = 1 << 30
MAX_RATIO = 100
MAX_PARQUET_RATIO = 1000  # columns of few values are stored well
LEAST_LIMIT = 1 << 26

_PARQUET_MAGIC = b"PAR1"
_GZIP_MAGIC = b"\x1f\x8b"
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}
_DELIMITERS = (",", ";", "\t")
# a quoted name, also with a line break or a doubled quote in it: it stands between delimiters or ends of lines
_QUOTED = re.compile(rb'(?:^|(?<=[,;\t\r\n])|(?<=\xef\xbb\xbf))"(?:[^"]|"")*"(?=[,;\t\r\n]|$)')
# a comma before other than three digits, after a zero or after four digits: it parts no thousands
_DECIMAL_COMMA = r"^\s*[-+]?(\d*,(\d{1,2}|\d{4,})|(0?|\d{4,}),\d+)\s*$"
_LEADING_ZERO = r"^\s*0\d+\s*$"
# how files begin that are often taken for CSV
_FOREIGN = {
    b"PK\x03\x04": "is an Excel workbook or a zip archive",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook of the old kind",
    b"\xff\xfe": "is in UTF-16",
    b"\xfe\xff": "is in UTF-16",
}


def read_file(path: str | os.PathLike[str], text: Sequence[str] = (), labels: Sequence[str] = ()) -> pa.Table:
    """Read a CSV (comma, semicolon or tab; also .gz) or Parquet file that has rows and distinct column names.

    Of a CSV file the columns ``text`` are text, and the columns ``labels`` where a number begins with a zero.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file '{path}'.")
    if path.is_dir():
        raise DataError(f"'{path}' is a folder. Give a CSV or Parquet file.")
    try:
        with path.open("rb") as file:  # once: what a pipe gave is gone
            start = file.read(4)
            if not start:
                raise DataError(f"'{path}' is empty: it has no header and no rows.")
            for mark, found in _FOREIGN.items():
                if start.startswith(mark):
                    raise DataError(f"'{path}' {found}. Save it as CSV in UTF-8, or as Parquet.")
            if start == _PARQUET_MAGIC:
                table = _read_parquet(path, None if path.is_file() else _read_stream(path, file, start))
            elif path.suffix == ".parquet":
                raise DataError(f"'{path}' is not a Parquet file: its content says otherwise.")
            else:
                table = _read_csv(path, _read_text(path, file, start), text, labels)
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    check_names(table.column_names)
    if table.num_rows == 0:
        raise DataError(f"'{path}' has columns but no rows.")
    return table


def _read_text(path: Path, file: IO[bytes], start: bytes) -> pa.Buffer:
    """What a CSV file holds, decompressed."""
    codec = "gzip" if start.startswith(_GZIP_MAGIC) else _CODECS.get(path.suffix.lower())
    if not path.is_file():
        content = _read_stream(path, file, start)
        return content if codec is None else _decompress(path, pa.BufferReader(content), codec, content.size)
    file.seek(0)
    if codec is None:
        return pa.py_buffer(file.read())
    return _decompress(path, pa.PythonFile(file, mode="r"), codec, path.stat().st_size)


def _read_stream(path: Path, file: IO[bytes], start: bytes) -> pa.Buffer:
    """What comes through a pipe, up to a limit: nothing says beforehand how much it is."""
    content = _up_to(MAX_UNSEEN, file.read, start)
    if content is None:
        raise DataError(f"'{path}' gives more than {_size(MAX_UNSEEN)}. Write it to a file first, and give that.")
    return content


def _decompress(path: Path, source: pa.NativeFile, codec: str, n_bytes: int) -> pa.Buffer:
    """What a compressed file holds, up to a limit: a small file may hold more than the memory does."""
    limit = min(MAX_UNSEEN, max(LEAST_LIMIT, MAX_RATIO * n_bytes))
    try:
        with pa.CompressedInputStream(source, codec) as stream:
            content = _up_to(limit, stream.read)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"'{path}' cannot be decompressed: {_first_line(error)}.") from error
    if content is None:
        raise DataError(
            f"'{path}' is compressed and holds more than {_size(limit)}, from {_size(n_bytes)}. If that is right, "
            "decompress it first and give the file that comes out, or save it as Parquet."
        )
    return content


def _up_to(limit: int, read: Callable[[int], bytes], start: bytes = b"") -> pa.Buffer | None:
    """All that can be read, or None if it is more than the limit."""
    content = bytearray(start)
    while chunk := read(1 << 20):
        content += chunk
        if len(content) > limit:
            return None
    return pa.py_buffer(content)


def _size(n_bytes: int) -> str:
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes} bytes"


def _read_parquet(path: Path, content: pa.Buffer | None) -> pa.Table:
    try:
        file = pyarrow.parquet.ParquetFile(path if content is None else pa.BufferReader(content))
        n_bytes = path.stat().st_size if content is None else content.size
        widths = sum(_width(field.type) for field in file.schema_arrow)
        needed = file.metadata.num_rows * widths
        if needed > max(MAX_UNSEEN, MAX_PARQUET_RATIO * n_bytes):
            raise DataError(
                f"'{path}' takes {_size(needed)} of memory, from {_size(n_bytes)}: {file.metadata.num_rows:,} rows. "
                "Read it in batches (`pysirus fit --memory 1GB`), or give fewer rows."
            )
        return file.read()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"'{path}' begins like a Parquet file but cannot be read: {_first_line(error)}.") from error


def _width(kind: pa.DataType) -> int:
    """About how many bytes a value takes, at the least."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # text and the like
        return 4


def _read_csv(path: Path, content: pa.Buffer, text: Sequence[str], labels: Sequence[str]) -> pa.Table:
    try:
        delimiter = _delimiter(content)
        table = _parse_csv(content, delimiter, text)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"'{path}' cannot be read as CSV or Parquet: {_first_line(error)}.") from error
    for name, kind in zip(_names(table, path), table.schema.types):
        if pa.types.is_binary(kind):
            raise DataError(f"'{path}': column '{name}' is not UTF-8 text. Save the file as UTF-8.")
    if delimiter == ";" and any(map(_has_decimal_comma, table.columns)):
        table = _better(table, _parse_csv(content, delimiter, text, decimal_point=","))
    known = [name for name in dict.fromkeys(labels) if table.column_names.count(name) == 1]
    if known:
        table = _with_zeros(table, _parse_csv(content, delimiter, known, only=known))
    # an index that pandas wrote has no name; it is called what pandas calls it, and known by that
    names = enumerate(table.column_names)
    return table.rename_columns([name or ("Unnamed: 0" if i == 0 else f"column_{i + 1}") for i, name in names])


def _parse_csv(
    content: pa.Buffer, delimiter: str, text: Sequence[str], only: Sequence[str] = (), decimal_point: str = "."
) -> pa.Table:
    # one block: types are inferred from every row, not from the first megabyte
    block = min(max(content.size + 1, 1 << 20), 1 << 30)
    return pyarrow.csv.read_csv(
        pa.BufferReader(content),
        read_options=pyarrow.csv.ReadOptions(block_size=block),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            strings_can_be_null=True,
            column_types=dict.fromkeys(text, pa.string()),
            include_columns=only,
            decimal_point=decimal_point,
        ),
    )


def _has_decimal_comma(column: pa.ChunkedArray) -> bool:
    """Whether text holds a number whose comma can only be a decimal comma."""
    return pa.types.is_string(column.type) and _matches(column, _DECIMAL_COMMA)


def _matches(column: pa.ChunkedArray, pattern: str) -> bool:
    """Whether any value of a text column matches a pattern."""
    return bool(pyarrow.compute.any(pyarrow.compute.match_substring_regex(column, pattern)).as_py())


def _better(points: pa.Table, commas: pa.Table) -> pa.Table:
    """A file read with decimal points or with decimal commas: commas where a column has them and none has points."""
    pairs = list(zip(points.columns, commas.columns))
    has_points = any(pa.types.is_floating(old.type) and not pa.types.is_floating(new.type) for old, new in pairs)
    has_commas = any(pa.types.is_floating(new.type) and _has_decimal_comma(old) for old, new in pairs)
    return commas if has_commas and not has_points else points


def _with_zeros(table: pa.Table, codes: pa.Table) -> pa.Table:
    """A table with those of these columns of text in which a number begins with a zero."""
    for name in codes.column_names:
        if _matches(codes[name], _LEADING_ZERO):
            table = table.set_column(table.column_names.index(name), name, codes[name])
    return table


def _names(table: pa.Table, path: Path) -> list[str]:
    try:
        return list(table.column_names)
    except UnicodeDecodeError as error:  # pyarrow reads the bytes and decodes them when asked
        raise DataError(f"'{path}': its column names are not UTF-8 text. Save the file as UTF-8.") from error


def _delimiter(content: pa.Buffer) -> str:
    """The delimiter that the header has most of, outside of quotes."""
    start = _QUOTED.sub(b"", memoryview(content)[: 1 << 16].tobytes())
    header = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    return max(_DELIMITERS, key=lambda delimiter: header.count(delimiter.encode()))


def _first_line(error: Exception) -> str:
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return text if len(text) <= 160 else f"{text[:157]}..."


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """' Did you mean ...?', or nothing."""
    folded = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f" Did you mean '{folded[close[0]]}'?" if close else ""


def list_names(names: Sequence[str], limit: int = 12) -> str:
    """Names for a message, at most ``limit`` of them."""
    return ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")


def check_column(table: pa.Table, name: str, role: str) -> None:
    """Raise an error, with a suggestion, if a column does not exist."""
    check_name(table.column_names, name, role)


def check_name(names: Sequence[str], name: str, role: str) -> None:
    """The same from the names of the columns."""
    if name not in names:
        raise DataError(
            f"There is no column '{name}' for the {role}.{did_you_mean(name, names)} "
            f"The columns are: {list_names(names)}."
        )

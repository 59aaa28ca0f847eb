"""A file in, a pyarrow table out: CSV, Parquet or Excel, told apart by content; a message for each way it can fail.

First comes how a text names columns of a table: one name, several with commas between them, or a name in quotes.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from pysirus._data.column import DataError
from pysirus._data.elsewhere import FilePath, Remote
from pysirus._data.frame import check_names
from pysirus._data.marks import COMMA, KnownColumn, Shown, comma_schema, has_decimal_commas, read_numbers
from pysirus._runtime.console import warn_user
from pysirus._text.format import apart, from_quotes, in_quotes, one_line
from pysirus._text.message import InCommand, InPython


def names_in(text: str, known: Collection[str], where: str) -> list[str]:
    """The names in a text; a part that is not the name of a column is returned without the spaces around it.

    A text that fits two columns, or sets of them, is a ``DataError`` that shows both.
    """
    quoted = from_quotes(text.strip())
    if quoted is not None and quoted in known and text not in known:
        return [quoted]
    parts = [text] if "," not in text else [name_in(part, known, where) for part in text.split(",")]
    if text not in known:
        return [name_in(text, known, where)] if len(parts) == 1 else parts
    if len(parts) > 1 and all(part in known for part in parts):
        listed = ", ".join(map(in_quotes, parts))
        raise DataError(
            f"{where}: {text!r} may be the column {in_quotes(text)} or the columns {listed}. Write the first as "
            f'"{in_quotes(text)}", with these quotes, or give the others one by one.'
        )
    return [text]


def name_in(part: str, known: Collection[str], where: str, what: str = "column") -> str:
    """The column, or class, that a part between commas names; the part without spaces around it where there is none."""
    bare = part.strip()
    quoted = from_quotes(bare)
    found = dict.fromkeys(name for name in (part, bare, quoted) if name is not None and name in known)
    if len(found) > 1:
        shown = " or ".join(map(in_quotes, found))
        raise DataError(f"{where}: {part!r} may be the {what} {shown}. Write the one that is meant in quotes.")
    return next(iter(found), bare)


# Of a pipe, and of a compressed file once it is decompressed, nobody sees the size beforehand: at most this many bytes
# are read, and of a compressed file at most this many times its own size, but some in any case.
MAX_UNSEEN = 1 << 30
MAX_RATIO = 100
MAX_PARQUET_RATIO = 1000  # columns of few values are stored well
LEAST_LIMIT = 1 << 26

PARQUET_MAGIC = b"PAR1"
_GZIP_MAGIC = b"\x1f\x8b"
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}
_DELIMITERS = (",", ";", "\t")
# a quoted name, also with a line break or a doubled quote in it: it stands between delimiters or ends of lines
_QUOTED = re.compile(rb'(?:^|(?<=[,;\t\r\n])|(?<=\xef\xbb\xbf))"(?:[^"]|"")*"(?=[,;\t\r\n]|$)')
_LEADING_ZERO = r"^\s*0\d+\s*$"
# how files begin that are often taken for CSV
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": "is an Excel workbook of the old kind, which only Excel reads. Save it as .xlsx, as CSV",
}
_ZIP_MAGIC = b"PK\x03\x04"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_NAMELESS = re.compile(r"Unnamed: 0|column_\d+")  # what a column is called that has no name in its file
STDIN = "-"


KnownColumns = Mapping[str, KnownColumn]


def read_file(
    path: str | os.PathLike[str],
    text: Sequence[str] = (),
    labels: Sequence[str] = (),
    known: KnownColumns | None = None,
) -> pa.Table:
    """Read a CSV (comma, semicolon or tab; also .gz), Parquet or Excel file that has rows and distinct column names.

    A name of ``-`` is standard input. Of a CSV file the columns ``text`` are text, and the columns ``labels`` where a
    number begins with a zero. ``known`` is what a model knows of its columns: nothing of these is guessed.
    """
    path = Path(path)
    if not path.exists() and str(path) != STDIN:
        raise DataError(f"There is no file '{path}'.")
    if path.is_dir():
        raise DataError(f"'{path}' is a folder. Give a CSV, Parquet or Excel file.")
    try:
        with _opened(path) as file:  # once: what a pipe gave is gone
            start = file.read(4)
            if not start:
                raise DataError(f"'{path}' is empty: it has no header and no rows.")
            for mark, found in _FOREIGN.items():
                if start.startswith(mark):
                    raise DataError(f"'{path}' {found} or as Parquet.")
            if start == PARQUET_MAGIC:
                table = _read_parquet(path, None if path.is_file() else _read_stream(path, file, start))
            elif start == _ZIP_MAGIC:
                table = _read_archive(path, start + file.read(MAX_UNSEEN), [*text, *labels])
            elif path.suffix == ".parquet":
                raise DataError(f"'{path}' is not a Parquet file: its content says otherwise.")
            else:
                table = _read_csv(path, _read_text(path, file, start), text, labels, known)
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    check_names(table.column_names)
    if table.num_rows == 0:
        raise DataError(f"'{path}' has columns but no rows.")
    return table


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """A file, or standard input, to read from."""
    if str(path) == STDIN and not path.exists():
        yield sys.stdin.buffer
    else:
        with path.open("rb") as file:
            yield file


def _read_archive(path: Path, content: bytes, text: Sequence[str]) -> pa.Table:
    from pysirus._data.marks import is_workbook, read_excel

    if not is_workbook(content):
        raise DataError(f"'{path}' is a zip archive. Unpack it, and give a CSV, Parquet or Excel file.")
    return read_excel(path, content, text)


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
                f"Read it in batches{InPython(' with fit_files')}{InCommand('memory', '1GB')}, or give fewer rows."
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


def _read_csv(
    path: Path, content: pa.Buffer, text: Sequence[str], labels: Sequence[str], known: KnownColumns | None
) -> pa.Table:
    if content.size > 1 and memoryview(content)[:2].tobytes() in _UTF16_MARKS:
        content = _transcoded(path, content, "utf-16")
    words = [*text, *as_headers(known or ())]
    try:
        delimiter = _delimiter(content)
        table = _parse_csv(content, delimiter, words)
        if not _is_utf8(table):
            raise pa.ArrowInvalid("invalid UTF8 data")
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if "UTF8" not in str(error):
            raise DataError(f"'{path}' cannot be read as CSV, Parquet or Excel: {_first_line(error)}.") from error
        warn_user(f"'{path}' is not in UTF-8. It is read as Windows-1252 (Latin-1).")
        return _read_csv(path, _transcoded(path, content, "cp1252"), text, labels, known)
    if zoned := [field.name for field in table.schema if getattr(field.type, "tz", None) is not None]:
        table = _parse_csv(content, delimiter, [*words, *zoned])  # Arrow converts to UTC and forgets the offsets
    if delimiter == ";" and known is None:  # or the model knows
        table = _with_commas(table, content, text)
    codes = [name for name in dict.fromkeys(labels) if table.column_names.count(name) == 1 and name not in words]
    if codes:
        table = _keeping_zeros(table, _parse_csv(content, delimiter, codes, only=codes))
    metadata = table.schema.metadata
    table = table.rename_columns(named_columns(table.column_names)).replace_schema_metadata(metadata)
    return table if known is None else as_known(table, {name: how for name, how in known.items() if name not in text})


def as_known(table: pa.Table, known: KnownColumns) -> pa.Table:
    """A table whose columns of text are read as a model knows them; the other columns as they are."""
    for i, name in enumerate(table.column_names):
        if name in known:
            table = table.set_column(i, name, known[name].read(name, table.column(i)))
    return table


def as_headers(names: Iterable[str]) -> list[str]:
    """Names as they may stand in a header, where a column may have none."""
    return [*names, *([""] if any(map(_NAMELESS.fullmatch, names)) else [])]


def named_columns(header: Sequence[str]) -> list[str]:
    """Names for all columns: an index that pandas wrote has none, and is known by what pandas calls it."""
    return [name or ("Unnamed: 0" if i == 0 else f"column_{i + 1}") for i, name in enumerate(header)]


def _parse_csv(content: pa.Buffer, delimiter: str, text: Sequence[str], only: Sequence[str] = ()) -> pa.Table:
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
        ),
    )


def has_leading_zero(column: pa.ChunkedArray) -> bool:
    """Whether text holds a whole number that begins with a zero."""
    return _matches(column, _LEADING_ZERO)


def _matches(column: pa.ChunkedArray, pattern: str) -> bool:
    """Whether any value of a text column matches a pattern."""
    return bool(pyarrow.compute.any(pyarrow.compute.match_substring_regex(column, pattern)).as_py())


def _keeping_zeros(table: pa.Table, as_text: pa.Table) -> pa.Table:
    """A table in which columns with numbers such as 007 are text; ``as_text`` has the columns that may be."""
    for name in as_text.column_names:
        if has_leading_zero(as_text[name]):
            table = table.set_column(table.column_names.index(name), name, as_text[name])
    return table


def _is_utf8(table: pa.Table) -> bool:
    """Whether names and values are text; pyarrow decodes names when asked, and leaves values as they are."""
    try:
        return bool(table.column_names) and not any(map(pa.types.is_binary, table.schema.types))
    except UnicodeDecodeError:
        return False


def _transcoded(path: Path, content: pa.Buffer, encoding: str) -> pa.Buffer:
    """Text of another encoding in UTF-8."""
    try:
        text = memoryview(content).tobytes().decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "cp1252":  # which has a few holes, Latin-1 has none
            return _transcoded(path, content, "latin-1")
        raise DataError(f"'{path}' begins like UTF-16 and cannot be read as that. Save it in UTF-8.") from error
    if "\0" in text:
        raise DataError(f"'{path}' is no text file. Give a CSV, Parquet or Excel file.")
    return pa.py_buffer(text.encode("utf-8"))


def _with_commas(table: pa.Table, content: pa.Buffer, text: Sequence[str]) -> pa.Table:
    """A table of a file with semicolons, whose numbers may have decimal commas, and points between thousands."""
    columns = list(enumerate(zip(table.column_names, table.schema.types)))
    words = [i for i, (name, kind) in columns if pa.types.is_string(kind) and name not in text]
    shown = {i: Shown().add(table.column(i)) for i in words}
    if not has_decimal_commas(shown.values(), []):
        for i in (i for i in words if shown[i].fits and _matches(table.column(i), ",")):
            name = one_line(table.column_names[i])
            warn_user(
                f"Column '{name}' has commas before three digits, as in 1,234: they are taken for thousands marks."
            )
        return table
    texts = _parse_csv(content, ";", table.column_names)
    numbers = {i: Shown().add(texts.column(i)) for i, (_, kind) in columns if pa.types.is_floating(kind)}
    if not has_decimal_commas(shown.values(), numbers.values()):
        return table
    for i, found in (shown | numbers).items():
        if found.is_comma_column and table.column_names[i] not in text:
            table = table.set_column(i, table.column_names[i], read_numbers(texts.column(i), COMMA)[0])
    return table.replace_schema_metadata(comma_schema(table.schema).metadata)


def sniff_codec(path: FilePath) -> str | None:
    """How a CSV file is compressed, by its first bytes or its name."""
    with path.open("rb") as file:
        return "gzip" if file.read(2) == _GZIP_MAGIC else _CODECS.get(path.suffix.lower())


def decompressed(path: FilePath) -> pa.NativeFile:
    """The bytes of a file, decompressed if need be."""
    source = path.open() if isinstance(path, Remote) else str(path)
    return pa.input_stream(source, compression=sniff_codec(path))


def sniff_delimiter(path: FilePath) -> str:
    """The delimiter of a CSV file, of which only the start is read."""
    try:
        with decompressed(path) as stream:
            start = stream.read(1 << 16)
    except pa.ArrowException as error:
        raise DataError(f"'{path}' cannot be decompressed: {_first_line(error)}.") from error
    if not start:
        raise DataError(f"'{path}' is empty: it has no header and no rows.")
    if start.startswith(_UTF16_MARKS):
        raise DataError(f"'{path}' is in UTF-16, which is not read in batches. Save it in UTF-8, or as Parquet.")
    return _delimiter(pa.py_buffer(start))


def _delimiter(content: pa.Buffer) -> str:
    """The delimiter that the header has most of, outside of quotes; of a single column, one that is not in it."""
    start = _QUOTED.sub(b"", memoryview(content)[: 1 << 16].tobytes())
    header = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    counts = {delimiter: header.count(delimiter.encode()) for delimiter in _DELIMITERS}
    if not any(counts.values()):
        counts = {delimiter: -start.count(delimiter.encode()) for delimiter in _DELIMITERS}
    return max(_DELIMITERS, key=lambda delimiter: counts[delimiter])


def _first_line(error: Exception) -> str:
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return text if len(text) <= 160 else f"{text[:157]}..."


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """' Did you mean ...?', or nothing."""
    folded = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f" Did you mean {in_quotes(folded[close[0]])}?" if close else ""


def list_names(names: Sequence[str], limit: int = 12) -> str:
    """Names for a message, at most ``limit`` of them."""
    return ", ".join(map(apart, names[:limit])) + (f", ... ({len(names)} in all)" if len(names) > limit else "")


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

"""A file in, a pyarrow table out: CSV or Parquet, told apart by content, with a message for each way it can fail."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from pysirus._data.column import DataError
from pysirus._data.frame import check_names

_PARQUET_MAGIC = b"PAR1"
_DELIMITERS = (",", ";", "\t")
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
        with path.open("rb") as file:
            start = file.read(4)
        if path.stat().st_size == 0:
            raise DataError(f"'{path}' is empty: it has no header and no rows.")
        for mark, found in _FOREIGN.items():
            if start.startswith(mark):
                raise DataError(f"'{path}' {found}. Save it as CSV in UTF-8, or as Parquet.")
        table = _read_parquet(path) if start == _PARQUET_MAGIC else _read_csv(path, text, labels)
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    check_names(table.column_names)
    if table.num_rows == 0:
        raise DataError(f"'{path}' has columns but no rows.")
    return table


def _read_parquet(path: Path) -> pa.Table:
    try:
        return pyarrow.parquet.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"'{path}' begins like a Parquet file but cannot be read: {_first_line(error)}.") from error


def _read_csv(path: Path, text: Sequence[str], labels: Sequence[str]) -> pa.Table:
    if path.suffix == ".parquet":
        raise DataError(f"'{path}' is not a Parquet file: its content says otherwise.")
    try:
        delimiter = _delimiter(path)
        table = _parse_csv(path, delimiter, text)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"'{path}' cannot be read as CSV or Parquet: {_first_line(error)}.") from error
    for name, kind in zip(_names(table, path), table.schema.types):
        if pa.types.is_binary(kind):
            raise DataError(f"'{path}': column '{name}' is not UTF-8 text. Save the file as UTF-8.")
    if delimiter == ";" and any(map(_has_decimal_comma, table.columns)):
        table = _better(table, _parse_csv(path, delimiter, text, decimal_point=","))
    known = [name for name in dict.fromkeys(labels) if table.column_names.count(name) == 1]
    if known:
        table = _with_zeros(table, _parse_csv(path, delimiter, known, only=known))
    # an index that pandas wrote has no name; it is called what pandas calls it, and known by that
    names = enumerate(table.column_names)
    return table.rename_columns([name or ("Unnamed: 0" if i == 0 else f"column_{i + 1}") for i, name in names])


def _parse_csv(
    path: Path, delimiter: str, text: Sequence[str], only: Sequence[str] = (), decimal_point: str = "."
) -> pa.Table:
    # one block: types are inferred from every row, not from the first megabyte
    block = min(max(path.stat().st_size + 1, 1 << 20), 1 << 30)
    return pyarrow.csv.read_csv(
        path,
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
    """Whether a value of a column of text is like this."""
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


def _delimiter(path: Path) -> str:
    """The delimiter that the header has most of."""
    with pa.input_stream(str(path)) as stream:
        header = stream.read(1 << 16).split(b"\n", 1)[0]
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
    """Names for a message, not more than a reader takes in."""
    return ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")


def check_column(table: pa.Table, name: str, role: str) -> None:
    """Complain, with a suggestion, when a column is not there."""
    check_name(table.column_names, name, role)


def check_name(names: Sequence[str], name: str, role: str) -> None:
    """The same from the names of the columns."""
    if name not in names:
        raise DataError(
            f"There is no column '{name}' for the {role}.{did_you_mean(name, names)} "
            f"The columns are: {list_names(names)}."
        )

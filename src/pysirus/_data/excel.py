"""An Excel workbook in, the table of its first sheet out: the values that formulas had when it was saved.

Takes openpyxl: ``pip install pysirus[excel]``.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pysirus._data.column import DataError, within_floats
from pysirus._runtime.console import warn_user
from pysirus._text.format import one_line

MAX_UNPACKED = 1 << 30
_ERRORS = frozenset(["#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"])


def is_workbook(content: bytes | memoryview) -> bool:
    """Whether a zip archive is a workbook."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def read_excel(path: object, content: bytes | memoryview, text: Sequence[str] = ()) -> pa.Table:
    """The first sheet that has rows: names in its first row; the columns ``text`` are text."""
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(f"'{path}': Excel workbooks need openpyxl: pip install pysirus[excel].") from error
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED:
            raise DataError(f"'{path}' unpacks to more than 1 GB. Save it as CSV or Parquet.")
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title: _rows(sheet) for sheet in book.worksheets if sheet.sheet_state == "visible"}
    except Exception as error:  # openpyxl lets through whatever a damaged part of a workbook raises
        raise DataError(f"'{path}' cannot be read as an Excel workbook: {type(error).__name__}.") from error
    full = {title: rows for title, rows in sheets.items() if rows}
    if not full:
        raise DataError(f"'{path}' is empty: no sheet has a header.")
    title, rows = next(iter(full.items()))
    if len(full) > 1:
        others = ", ".join(f"'{one_line(name)}'" for name in list(full)[1:4])
        warn_user(f"'{path}' has several sheets: '{one_line(title)}' is read, and not {others}.")
    return _table(path, rows, text)


def _rows(sheet: Any) -> list[tuple[Any, ...]]:
    """The rows of a sheet from its first that is not empty, without empty ones.

    Each is as long as its last cell: one stray cell far out would fill up all rows to its column.
    """
    sheet.reset_dimensions()
    return [row for row in sheet.iter_rows(values_only=True) if any(value is not None for value in row)]


def _table(path: object, rows: list[tuple[Any, ...]], text: Sequence[str]) -> pa.Table:
    header = rows[0]
    width = max(i for i, name in enumerate(header) if name is not None) + 1
    body = [row for row in rows[1:] if any(value is not None for value in row[:width])]
    stray = sum(value is not None for row in rows[1:] for value in row[width:])
    if stray:
        warn_user(f"'{path}': cells right of the last column with a name are not read ({stray:,}).")
    names = [f"column_{i + 1}" if name is None else str(name) for i, name in enumerate(header[:width])]
    cells = [[row[i] if i < len(row) else None for row in body] for i in range(width)]
    columns = [_column(values, name in text) for name, values in zip(names, cells)]
    return pa.Table.from_arrays(columns, names=names)


def _column(values: list[Any], as_text: bool) -> pa.Array:
    """A column of one type: numbers, dates or truth values; text where they are mixed."""
    values = [None if isinstance(v, str) and (not v.strip() or v in _ERRORS) else v for v in values]
    if not as_text:
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            pass
        except OverflowError:  # integers beyond 64 bits
            if all(v is None or isinstance(v, (int, float)) for v in values):
                return pa.array([None if v is None else float(within_floats(v)) for v in values])
    return pa.array([None if v is None else str(v) for v in values], pa.string())

"""Text of CSV files in, numbers out, and how they are written: with decimal points or, after semicolons, with commas.

A file shows by all of its rows which marks it has. A few rows of another file may show nothing, or something else: so a
model keeps the marks of the files that it was learned from, and new files are read by them. What a text stands for
depends on no other row then (``KnownColumn``).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pysirus._data.column import DataError, label_column, within_floats
from pysirus._data.derived import is_number_type, spread, wrong_form
from pysirus._data.written import MISSING_WORDS, NumberForm, read_written
from pysirus._runtime.console import warn_user
from pysirus._text.format import one_line

Texts: TypeAlias = "pa.Array | pa.ChunkedArray"
Marks: TypeAlias = Mapping[str, NumberForm]  # of columns of numbers; those that are not there have decimal points

POINT = NumberForm()
COMMA = NumberForm("", ",", ".")
_DECIMAL = b"pysirus.decimal"  # in the metadata of a table that was read from a file with decimal commas
_PLAIN = r"^\s*(?:[-+]?{digits}(?:[eE][-+]?\d+)?|[-+]?(?i:inf|infinity|nan))\s*$"
_HEXADECIMAL = re.compile(r"\s*0[xX][0-9a-fA-F]{1,15}\s*")  # which pyarrow takes for whole numbers
# a decimal comma: one before other than three digits or an exponent, after a zero, four digits or a point
_SHOWS_COMMA = r"^\s*[-+]?(?:\d*,(?:\d{1,2}|\d{4,})|(?:0?|\d{4,}),\d+|\d{1,3}(?:\.\d{3})+,\d+|\d*,\d+[eE][-+]?\d+)\s*$"


# ------------------------------------------------------------------------------------------------- what a file shows


@dataclass
class Shown:
    """What the texts of a column show of decimal commas, batch after batch."""

    fits: bool = True  # all can be numbers with decimal commas
    shows: bool = False  # one can be nothing else
    words: bool = False  # some say that a value is missing
    known: bool = False  # there are numbers

    def add(self, texts: Texts) -> Shown:
        """Look at more texts."""
        texts = texts.drop_null()
        is_word = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), pa.array(sorted(MISSING_WORDS)))
        numbers = texts.filter(pc.invert(is_word))
        self.words |= len(numbers) < len(texts)
        self.known |= len(numbers) > 0
        self.shows |= _any_match(numbers, _SHOWS_COMMA)
        self.fits = self.fits and bool(pc.all(_plain(numbers, COMMA), min_count=0).as_py())
        return self

    @property
    def is_comma_column(self) -> bool:
        """Whether all of it are numbers, once the file is known to have decimal commas."""
        return self.fits and self.known and not self.words


def has_decimal_commas(texts: Iterable[Shown], numbers: Iterable[Shown]) -> bool:
    """Whether a file has decimal commas, by its columns of text and those that can be read with decimal points."""
    return any(column.fits and column.shows for column in texts) and all(column.fits for column in numbers)


def _plain(texts: Texts, form: NumberForm) -> Texts:
    return pc.match_substring_regex(texts, _PLAIN.replace("{digits}", form.digits))


def _any_match(texts: Texts, pattern: str) -> bool:
    """Whether a part of some text matches a pattern."""
    return bool(pc.any(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


# ------------------------------------------------------------------------------------------------------------ numbers


def read_numbers(texts: Texts, form: NumberForm) -> tuple[Texts, list[str]]:
    """The numbers of texts in a form, null for missing ones; and texts that write no number and say not so."""
    if form == POINT:
        try:
            return pc.cast(pc.utf8_trim_whitespace(texts), pa.float64()), []
        except pa.ArrowInvalid:  # some text is more than a plain number
            pass
    column = label_column("", texts)
    levels = pa.array(column.levels, pa.string())
    plain = pc.utf8_trim_whitespace(pc.if_else(_plain(levels, form), levels, None))
    if form.thousands:
        plain = pc.replace_substring(plain, form.thousands, "")
    plain = pc.replace_substring(plain, form.decimal, ".")
    values = np.array(pc.cast(pc.utf8_ltrim(plain, "+"), pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    rest = np.flatnonzero(plain.is_null().to_numpy(zero_copy_only=False))
    values[rest], odd = _read_rest([column.levels[i] for i in rest], form)
    return pa.array(spread(values, column), pa.float64(), from_pandas=True), odd


def _read_rest(texts: list[str], form: NumberForm) -> tuple[NDArray[np.float64], list[str]]:
    """The numbers of texts that are more than digits and marks."""
    values, odd = read_written(texts, form)
    if odd:
        found = [int(text, 16) if _HEXADECIMAL.fullmatch(text) else np.nan for text in texts]
        values = np.where(np.isnan(values), found, values)
        odd = [text for text in odd if not _HEXADECIMAL.fullmatch(text)]
    return values, odd


# ---------------------------------------------------------------------------------------------------------- of a table


def comma_schema(schema: pa.Schema) -> pa.Schema:
    """A schema that says that numbers were written with decimal commas."""
    return schema.with_metadata({_DECIMAL: b","})


def decimal_of(schema: pa.Schema) -> str:
    """The decimal mark of the file that a table was read from; nothing where it is not known."""
    return "," if (schema.metadata or {}).get(_DECIMAL) == b"," else ""


def marks_of(schema: pa.Schema) -> Marks:
    """How the numbers of a table were written in its file, but for decimal points."""
    if decimal_of(schema) != ",":
        return {}
    return {field.name: COMMA for field in schema if is_number_type(field.type) and not pa.types.is_null(field.type)}


# what pyarrow takes for true and false
_TRUE, _FALSE = ("1", "true", "True", "TRUE"), ("0", "false", "False", "FALSE")
_TRUTH = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)


@dataclass(frozen=True)
class KnownColumn:
    """What a model knows of a column of text files; by default that it is text, or is read from it later."""

    form: NumberForm | None = None  # of numbers, how they were written in training
    levels: tuple[Any, ...] = ()  # of labels that are numbers or true and false
    needed: bool = True  # or what cannot be read is missing

    @property
    def type(self) -> pa.DataType:
        """The type of its values."""
        return pa.string() if self.form is None or self.levels else pa.float64()

    def read(self, name: str, texts: Texts) -> Texts:
        """The values of some texts."""
        if self.levels:
            return _labels(texts, self.levels, self.form or POINT)
        if self.form is None:
            return texts
        numbers, odd = read_numbers(texts, self.form)
        if odd and self.needed:
            raise wrong_form(name, self.form, odd[0])
        return numbers


def _labels(texts: Texts, levels: tuple[Any, ...], form: NumberForm) -> Texts:
    """Texts in the words of their levels: 3.0 is the level 3, and 1 is True."""
    column = label_column("", texts)
    if isinstance(levels[0], bool):
        said = [str(_TRUTH.get(text.strip(), text)) for text in column.levels]
    else:
        known = {str(level) for level in levels}
        by_value = {float(level): str(level) for level in levels}
        values = read_numbers(pa.array(column.levels, pa.string()), form)[0].to_pylist()
        said = [t if t in known else by_value.get(value, t) for t, value in zip(column.levels, values)]
    indices = pa.array(column.values, pa.int64(), mask=column.values < 0)
    return pc.take(pa.array(said, pa.string()), indices)


# A workbook: the first sheet, with the values that formulas had when it was saved. Takes openpyxl.


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

"""One column of any table in, numbers or codes of levels out. All errors about a column are raised here.

A numeric column keeps its values, NaN for missing. A categorical column is codes into its levels, -1 for missing and
-2, at predict, for an unseen category. Levels are those that occur, sorted; of an ordered categorical, in
its order.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus import _core
from pysirus._runtime import changed
from pysirus._text.message import InCommand, InPython, Parameter, SafeTextError, row_named

ColumnKind = Literal["numeric", "categorical", "ordered"]
MISSING = -1
UNSEEN = -2
LARGEST = int(np.finfo(np.float64).max)
EXACT = 2**53  # whole numbers up to this are floating-point numbers
# as people and their programs write them: 1.234,50 and 1,234.50 and 12,5 % and 30 €; 09.05.2024 and 2024/5/9
_WRITTEN_NUMBER = re.compile(r"[-+]?(\d+|\d{1,3}([.,'\s]\d{3})+)([.,]\d+)?\s?[%€$£]?")
_WRITTEN_DATE = re.compile(r"(\d{1,2}([./-])\d{1,2}\2\d{4}|\d{4}([./-])\d{1,2}\3\d{1,2})([T\s]\d{1,2}:\d{2}.*)?")


class DataError(SafeTextError, ValueError):
    """The data cannot be used; the message names the column, what was found and what to do.

    Examples
    --------
    >>> from pysirus import DataError, SirusRegressor
    >>> try:
    ...     SirusRegressor().fit([[1.0], [float("inf")]], [0.0, 1.0])
    ... except DataError as error:
    ...     print(str(error).partition(".")[0])
    Column 'x0' contains infinity (inf), first in row 1
    """


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    kind: ColumnKind
    values: NDArray[Any]
    levels: tuple[Any, ...] = ()
    order: tuple[Any, ...] = ()  # of an ordered column, all its levels, also those that do not occur
    free_text: bool = False  # labels because it holds text, not because somebody said so
    other: str = ""  # the level that stands for all rare ones and for those never seen, where there is one
    is_date: bool = False  # whether its numbers are moments, in days from 1970

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers rather than levels."""
        return self.kind == "numeric"

    def missing(self) -> NDArray[np.bool_] | None:
        """Which values are missing; None when there are none."""
        if self.is_numeric:
            if self.values.dtype.kind != "f":
                return None
            mask = np.isnan(self.values)
        else:
            mask = self.values == MISSING
        return mask if mask.any() else None

    def without_values(self) -> Column:
        """The column's name, kind and levels alone."""
        return changed(self, values=self.values[:0].copy())

    def take(self, rows: NDArray[Any]) -> Column:
        """The column at some rows (a mask or row numbers); levels that none of them holds are left out."""
        values = self.values[rows]
        return replace(self, values=values) if self.is_numeric else with_levels(self, values)


def with_levels(column: Column, codes: NDArray[Any]) -> Column:
    """A categorical column with these codes, and of its levels those that occur."""
    present = np.bincount(codes[codes >= 0], minlength=len(column.levels)) > 0
    if not present.all():
        codes = np.append(np.cumsum(present) - 1, [UNSEEN, MISSING])[codes]
    levels = tuple(level for level, occurs in zip(column.levels, present) if occurs)
    # 16 bits hold every code of a training column; at predict there may be more levels
    return replace(column, values=codes.astype(np.int16 if len(levels) < 2**15 else np.int32), levels=levels)


def first_row(mask: NDArray[np.bool_]) -> int:
    """The first row for which a mask holds."""
    return int(np.flatnonzero(mask)[0])


# --------------------------------------------------------------------------------------------------------- numbers


def within_floats(value: Any) -> Any:
    """A value as it is; an integer that no floating-point number holds is infinite, which is refused with its row."""
    if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
        return float("inf") if value > 0 else float("-inf")
    return value


def number_column(name: str, values: NDArray[Any]) -> Column:
    """A numeric column; infinite values are an error."""
    # an infinite value makes the sum infinite or NaN; summing needs no memory, and the mask is then rarely made
    if values.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            suspect = not np.isfinite(values.sum(dtype=np.float64))
        if suspect and np.isinf(values).any():
            raise DataError(
                f"Column '{name}' contains infinity (inf), first in {row_named(first_row(np.isinf(values)))}. "
                "Replace it by a finite number, or by NaN if the value is not known."
            )
    return Column(name, "numeric", values)


def _numbers(series: nw.Series[Any]) -> NDArray[Any]:
    """The numbers of a series, NaN for missing; a view where the library has one to give."""
    if isinstance(series.dtype, nw.Decimal):
        series = series.cast(nw.Float64)
    values = series.to_numpy()
    if values.dtype.kind not in "fiu":  # a nullable column of a library that answers with objects
        values = np.array([np.nan if is_missing(v) else float(v) for v in values.tolist()])
    return values.astype(np.float32) if values.dtype == np.float16 else values


def number_labels(name: str, values: NDArray[Any]) -> Column:
    """A numeric column declared categorical: its distinct numbers are its levels."""
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
    distinct, inverse = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), MISSING, dtype=np.int64)
    codes[known] = inverse
    levels = tuple(int(v) if float(v).is_integer() else float(v) for v in distinct)
    return with_levels(Column(name, "categorical", codes, levels), codes)


# ---------------------------------------------------------------------------------------------------------- labels


def check_exact(name: str, values: Iterable[Any]) -> None:
    """Reject labels that are whole numbers of more digits than the floating-point numbers that they become."""
    for value in values:
        if not isinstance(value, (float, np.floating)) and abs(value) > EXACT and value == int(value):
            text = str(value)
            found = text if len(text) <= 40 else f"{text[:10]}... ({len(text)} characters)"
            raise DataError(
                f"Column '{name}' is categorical and holds {found}, a number with more digits than are compared. Turn "
                "its values into text."
            )


def is_unicode(text: Any) -> bool:
    """Whether text can be written to a file: half of a surrogate pair cannot."""
    return not isinstance(text, str) or text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


REPAIR = InPython(", or repair it with text.encode('utf-8', 'replace').decode()")


def unicode_error(what: str, values: Iterable[Any]) -> DataError:
    """The error for text with half of a character, as files that were read in the wrong encoding have."""
    row, found = next((row_named(i), v) for i, v in enumerate(values) if not is_unicode(v))
    return DataError(
        f"{what} holds text that is no valid Unicode ({found!r} in {row}). Read its file in the right encoding{REPAIR}."
    )


def is_missing(value: Any) -> bool:
    """Whether a Python object stands for a missing value: None, NaN, NaT, or the NA of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError) as error:  # the NA of pandas answers neither yes nor no, an array both
        return isinstance(error, TypeError)


def is_number(text: Any) -> bool:
    """Whether a piece of text reads as a number."""
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def _type_name(value: Any) -> str:
    """The name of a value's type in a message; NumPy types get Python's names."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    return "number" if isinstance(value, numbers.Real) else "str" if isinstance(value, str) else type(value).__name__


def check_same_type(what: str, values: Iterable[Any]) -> None:
    """Reject a mixture of types; integers and floats are both numbers."""
    kinds: dict[str, Any] = {}
    for value in values:
        kinds.setdefault(_type_name(value), value)
    if len(kinds) > 1:
        example = ", ".join(f"{value!r}" for _, value in sorted(kinds.items())[:3])
        raise DataError(
            f"{what} mixes types ({', '.join(sorted(kinds))}; for example {example}). Make it all numbers or all text."
        )


def reads_as_number(text: Any) -> bool:
    """Whether a piece of text is a number to a person: also with a decimal comma, a percent sign and the like."""
    return is_number(text) or (isinstance(text, str) and _WRITTEN_NUMBER.fullmatch(text.strip()) is not None)


def check_text(name: str, levels: Sequence[Any]) -> None:
    """Reject numbers and dates that were read as text: cut as labels they would lose their order."""
    texts = [level for level in levels if isinstance(level, str)]
    enough = max(1, len(levels) // 2)
    dates = [text for text in texts if _WRITTEN_DATE.fullmatch(text.strip())]
    if len(dates) > enough:
        raise date_error(name, f"as text, for example {dates[0]!r}")
    like_numbers = [text for text in texts if reads_as_number(text)]
    if len(like_numbers) > enough:
        other = next((level for level in levels if not reads_as_number(level)), None)
        found = "numbers written as text" if other is None else "numbers and text"
        example = other if other is not None else next((t for t in like_numbers if not is_number(t)), like_numbers[0])
        raise DataError(
            f"Column '{name}' holds {found} (for example {example!r}). Convert it to numbers (a decimal point, no "
            f"other marks), or name it under {Parameter('categorical_features')} if its values are categories."
        )


def label_column(name: str, array: pa.Array | pa.ChunkedArray) -> Column:
    """A column of labels; an ordered dictionary keeps its order."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # some versions of pyarrow answer with a chunked array of one chunk
        array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    values = array.dictionary.to_pylist()
    values = [None if is_missing(value) else value for value in values]
    known = [value for value in values if value is not None]
    check_same_type(f"Column '{name}'", known)
    levels = known if array.type.ordered else sorted(set(known))
    rank = {level: i for i, level in enumerate(levels)}
    # the last entry is where a null index (-1) points
    table = np.array([MISSING if v is None else rank[v] for v in values] + [MISSING], dtype=np.int64)
    codes = table[array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)]
    kind: ColumnKind = "ordered" if array.type.ordered else "categorical"
    order = tuple(levels) if kind == "ordered" else ()
    return with_levels(Column(name, kind, codes, tuple(levels), order), codes)


def object_column(name: str, items: Sequence[Any], forced: bool) -> Column:
    """A column of Python objects: numbers, text or booleans, not a mixture."""
    items = [None if is_missing(v) else v for v in items]
    check_same_type(f"Column '{name}'", (v for v in items if v is not None))
    try:
        array = pa.array(items)
    except UnicodeEncodeError as error:
        raise unicode_error(f"Column '{name}'", items) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        if all(v is None or isinstance(v, numbers.Real) for v in items):  # Fraction, or integers beyond 64 bits
            array = pa.array([None if v is None else float(within_floats(v)) for v in items])
            if forced:  # not by way of these
                check_exact(name, (v for v in items if v is not None))
        else:
            kind = next(type(v).__name__ for v in items if v is not None)
            raise DataError(
                f"Column '{name}' holds {kind} objects, which are neither numbers nor labels. "
                "Turn them into numbers or text, or drop the column."
            ) from None
    return _arrow_column(name, array, forced)


def _arrow_column(name: str, array: pa.Array, forced: bool) -> Column:
    """A column whose kind is known only now that its objects were read."""
    types = pa.types
    if types.is_temporal(array.type):
        raise date_error(name, str(array.type))
    numeric = types.is_integer(array.type) or types.is_floating(array.type) or types.is_decimal(array.type)
    if forced and types.is_integer(array.type):
        return label_column(name, array)
    if numeric or types.is_null(array.type):
        values = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return number_labels(name, values) if forced and numeric else number_column(name, values)
    if not (types.is_string(array.type) or types.is_large_string(array.type) or types.is_boolean(array.type)):
        raise _type_error(name, array.type)
    return replace(label_column(name, array), free_text=not forced)


# ---------------------------------------------------------------------------------------------------------- frames


def is_temporal(series: nw.Series[Any]) -> bool:
    """Whether a series holds dates or times; narwhals does not know the names of all time zones of pandas."""
    kind = getattr(getattr(series.to_native(), "dtype", None), "kind", "")
    return series.dtype.is_temporal() or (isinstance(series.dtype, nw.Unknown) and kind == "M")


def date_error(name: str, found: str) -> DataError:
    """The error for dates and times: only the user knows which part of them matters."""
    return DataError(
        f"Column '{name}' holds dates or times ({found}). Derive numeric features (year, weekday, days since an "
        f"event), or drop the column{InCommand('drop', name)}."
    )


def _type_error(name: str, dtype: Any) -> DataError:
    return DataError(
        f"Column '{name}' has type {dtype}, which is neither numbers nor labels. Convert it, or drop it"
        f"{InCommand('drop', name)}."
    )


def _as_arrow(series: nw.Series[Any]) -> Any:
    """The arrow array of a series; levels that it cannot hold are refused."""
    try:
        return series.to_arrow()
    except UnicodeEncodeError as error:
        raise unicode_error(f"Column '{series.name}'", series.to_list()) from error
    except OverflowError as error:
        raise DataError(
            f"Column '{series.name}' has whole numbers beyond 64 bits. Turn its values into text."
        ) from error


def _categories(series: nw.Series[Any]) -> pa.Array:
    """A categorical series as a dictionary array that says whether its levels are in order."""
    native = series.to_native()
    if "interval" in str(getattr(getattr(native, "dtype", None), "categories", "")):  # pandas.cut: `(0, 10]`
        series = nw.from_native(native.cat.rename_categories(str), series_only=True)
    if hasattr(native, "cat") and hasattr(native.cat, "categories"):  # pandas, which takes any objects for levels
        check_same_type(f"Column '{series.name}'", native.cat.categories)
    array = _as_arrow(series)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    order = None
    native = series.to_native()
    if getattr(getattr(native, "dtype", None), "ordered", False):  # pandas
        order = list(native.cat.categories)
    elif isinstance(series.dtype, nw.Enum):  # polars: an enumeration is in order
        order = list(series.dtype.categories)
    if order is None or not pa.types.is_dictionary(array.type):
        return array
    rank = {level: i for i, level in enumerate(order)}
    codes = pa.array([None if v is None else rank[v] for v in array.dictionary.to_pylist()], pa.int32())
    return pa.DictionaryArray.from_arrays(codes.take(array.indices), pa.array(order), ordered=True)


def series_column(name: str, series: nw.Series[Any], forced: bool) -> Column:
    """A column of a data frame; ``forced`` takes numbers as labels."""
    dtype = series.dtype
    if forced and dtype.is_integer() and series.null_count():  # not by way of floats, which hold 53 bits
        return label_column(name, series.to_arrow())
    if dtype.is_numeric():
        values = _numbers(series)
        if forced and isinstance(dtype, nw.Decimal):
            check_exact(name, (v for v in series.to_list() if v is not None))
        return number_labels(name, values) if forced else number_column(name, values)
    if is_temporal(series):
        raise date_error(name, str(series.to_native().dtype if isinstance(dtype, nw.Unknown) else dtype))
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        array = _categories(series)
        if pa.types.is_dictionary(array.type) and pa.types.is_nested(array.type.value_type):
            raise _type_error(name, f"{dtype} of {array.type.value_type}")
        column = label_column(name, array)
        if any(hasattr(level, "isoformat") for level in column.levels[:1]):
            raise date_error(name, str(dtype))
        return column
    if isinstance(dtype, nw.Boolean):
        return label_column(name, series.to_arrow())
    if isinstance(dtype, nw.String):
        return replace(label_column(name, _as_arrow(series)), free_text=not forced)
    if isinstance(dtype, nw.Object):
        return object_column(name, series.to_list(), forced)
    native = series.to_native()
    if hasattr(native, "sparse"):  # pandas, mostly zeros
        return series_column(name, nw.from_native(native.sparse.to_dense(), series_only=True), forced)
    if isinstance(dtype, nw.Unknown) and series.null_count() == len(series):  # a column of nothing
        return Column(name, "numeric", np.full(len(series), np.nan))
    own = getattr(native, "dtype", getattr(native, "type", dtype))
    raise _type_error(name, own if isinstance(dtype, nw.Unknown) else dtype)


PLAIN_TYPES = frozenset(np.dtype(code) for code in "fdbBhHiIlLqQ")  # in the byte order of this machine


def is_plain(array: NDArray[Any]) -> bool:
    """Whether the core can read an array where it lies."""
    return (
        array.dtype in PLAIN_TYPES
        and array.flags.aligned
        and all(stride % array.itemsize == 0 for stride in array.strides)
    )


def readable(values: NDArray[Any]) -> NDArray[Any]:
    """A column as the core can read it; nearly always as it is."""
    return values if is_plain(values) else np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


# What a model keeps of a column, to know it again.


MASK = 2**64 - 1


def number_of(label: Any) -> int:
    """A number for a label, the same in every process; 1 and 1.0 are one label."""
    text = repr(float(label)) if isinstance(label, (bool, int, float)) else repr(label)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class ColumnMark(NamedTuple):
    """The mark of a column; of numbers the least and the greatest, infinite where nothing is known."""

    mark: int
    low: float = np.inf
    high: float = -np.inf


def mark_of_column(column: Column, first_row: int) -> ColumnMark:
    """The mark of a column."""
    if column.is_numeric:
        return ColumnMark(*_core.mark_numbers(readable(column.values), first_row))
    return ColumnMark(mark_of_labels(column.values, column.levels, first_row))


def mark_of_numbers(values: NDArray[Any], first_row: int) -> int:
    """The mark of numbers, whatever their type; missing ones are all the same, and so are both zeros."""
    return _core.mark_numbers(np.ascontiguousarray(values, dtype=np.float64), first_row)[0]


def mark_of_labels(codes: NDArray[Any], labels: Sequence[Any], first_row: int) -> int:
    """The mark of codes of labels; those below 0 are missing."""
    numbers = np.array([*map(number_of, labels), number_of(None)], dtype=np.uint64)
    return _core.mark_labels(codes.astype(np.int32, copy=False), numbers, first_row)


def mark_of_marks(marks: Iterable[int]) -> int:
    """The mark of several columns, in this order."""
    return sum(mark * (2 * k + 1) for k, mark in enumerate(marks)) & MASK

"""A data frame of any library in, its columns by name out, without its row index.

The row index of a pandas frame becomes a column when it goes through a file; it is recognised by the name it gets
there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import Column, DataError, is_unicode, number_column, number_labels, series_column
from pysirus._plain import one_line
from pysirus._warn import warn_user

WIDE = 1000  # columns
# What pandas calls its row index in Arrow and Parquet, and in a CSV file that is read back.
_STORED_INDEX = re.compile(r"__index_level_\d+__")
_UNNAMED_INDEX = re.compile(r"(Unnamed: 0(\.\d+)?)?")


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals frame, lazy ones collected; None when it is not a frame."""
    if isinstance(X, np.ndarray):
        return None
    X = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        check_names(list(X.columns))
        raise
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def check_table(X: Any) -> None:
    """Refuse one row, or one column, that was taken out of its table."""
    if isinstance(X, dict) and not hasattr(X, "nnz"):  # which some sparse matrices are
        raise DataError(
            "X must be a table, found a dict. Make a table of one row with pandas.DataFrame([row]) or "
            "polars.DataFrame([row]), one of columns with pandas.DataFrame(columns)."
        )
    series = nw.from_native(X, pass_through=True, series_only=True)
    if isinstance(series, nw.Series):
        raise DataError(
            f"X must be a table, found a Series of {len(series):,} values. Take one row as a table: in pandas "
            "X.iloc[[3]], in polars X[[3]], in pyarrow X.slice(3, 1). One column: X[['age']]."
        )


def check_names(names: Sequence[Any]) -> tuple[str, ...]:
    """Column names as text, each once."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise DataError(
                f"Feature names are only supported if all input features have string names, found {name!r}. "
                "Rename the columns, for example with str()."
            )
        if not is_unicode(name):
            raise DataError(f"The column name {name!r} is no valid Unicode. Rename the column.")
        if name in seen:
            raise DataError(f"Column name '{name}' occurs more than once. Rename or drop one of the columns.")
        seen.add(name)
    return tuple(names)


Source = nw.Series[Any] | NDArray[Any]


def _wide_values(frame: nw.DataFrame[Any]) -> NDArray[Any] | None:
    """The values of a wide pandas frame of plain numbers: much faster as one array than column by column."""
    types = getattr(frame.to_native(), "dtypes", None)
    if len(frame.columns) < WIDE or types is None:
        return None
    kinds = set(types)
    plain = len(kinds) == 1 and isinstance(kind := kinds.pop(), np.dtype) and kind.kind in "fiu"
    return frame.to_numpy() if plain else None


def frame_sources(frame: nw.DataFrame[Any]) -> tuple[dict[str, Source], bool]:
    """The columns of a frame, and whether they have names; a frame made of an array has numbers for names."""
    named = not frame.columns or any(isinstance(name, str) for name in frame.columns)
    names = check_names(frame.columns) if named else [f"x{i}" for i in range(len(frame.columns))]
    values = _wide_values(frame)
    return dict(zip(names, frame.iter_columns() if values is None else values.T)), named


def read_column(name: str, source: Source, forced: bool) -> Column:
    """A column of a frame; ``forced`` takes numbers as labels."""
    if isinstance(source, nw.Series):
        return series_column(name, source, forced)
    return number_labels(name, source) if forced else number_column(name, source)


def is_index(name: str, source: Source) -> bool:
    """Whether a column is a row index that went through a file: by its name, and by numbers that occur once."""
    if _STORED_INDEX.fullmatch(name):
        return True
    if not _UNNAMED_INDEX.fullmatch(name):
        return False
    if isinstance(source, nw.Series):
        return source.dtype.is_integer() and bool(source.is_unique().all())
    return source.dtype.kind in "iu" and len(np.unique(source)) == len(source)


def without_index(columns: dict[str, Source]) -> tuple[dict[str, Source], tuple[str, ...]]:
    """The columns of a frame but for its row index, and what of that has no name of an index."""
    index = [name for name, source in columns.items() if is_index(name, source)]
    unnamed = tuple(name for name in index if not _STORED_INDEX.fullmatch(name))
    return {name: source for name, source in columns.items() if name not in index} if index else columns, unnamed


def say_index(unnamed: Sequence[str]) -> None:
    """Warn of a column without a name that was taken as a row index."""
    if unnamed:
        warn_user(
            f"Column '{one_line(unnamed[0])}' numbers the rows: it is taken as an index and left out. Rename it to "
            "keep it."
        )

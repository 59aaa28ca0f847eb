"""An array in, its columns out, called x0, x1, ...: numbers, and labels where somebody says so."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from pysirus._data.column import (
    Column,
    DataError,
    date_error,
    is_number,
    number_column,
    number_labels,
    object_column,
    within_floats,
)
from pysirus._data.problems import Problems
from pysirus._data.recipe import as_arrow
from pysirus._message import Parameter, row_named

NUMBER_SIZES = {"f": (4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8)}  # bytes of what the core reads


def columns_named(categorical: Any, names: Sequence[str]) -> set[int]:
    """Column numbers declared categorical by name, by number or by a mask."""
    if categorical is None:
        return set()
    items = [categorical] if isinstance(categorical, (str, numbers.Integral)) else list(categorical)
    if items and all(isinstance(i, (bool, np.bool_)) for i in items):
        if len(items) != len(names):
            raise DataError(
                f"{Parameter('categorical_features')} has {len(items)} flags, the table has {len(names)} columns."
            )
        return {i for i, flag in enumerate(items) if flag}
    position = {name: i for i, name in enumerate(names)}
    found = set()
    for item in items:
        if isinstance(item, str) and item in position:
            found.add(position[item])
        elif isinstance(item, numbers.Integral) and 0 <= int(item) < len(names):
            found.add(int(item))
        else:
            raise DataError(
                f"{Parameter('categorical_features')} names {item!r}, which is not a column. "
                f"Columns are {', '.join(map(repr, list(names)[:8]))}{', ...' if len(names) > 8 else ''}."
            )
    return found


def array_columns(X: Any, labelled: Callable[[Sequence[str]], set[int]]) -> tuple[Column, ...]:
    """The columns of an array; ``labelled`` says which of them hold labels."""
    if hasattr(X, "nnz") and hasattr(X, "toarray"):
        raise _sparse_error(X)
    array = np.asarray(X) if isinstance(X, (list, tuple)) else X
    if array is not X and array.dtype.kind == "U":
        array = np.asarray(X, dtype=object)  # or NumPy would make the text 'nan' of NaN, and text of numbers
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if isinstance(array, np.ndarray) and array.dtype.kind in "OUST" and array.ndim == 2:
        return _object_columns(array.astype(object), labelled)
    if isinstance(array, np.ndarray) and array.dtype.kind in "Mm":
        raise date_error("x0", str(array.dtype))
    array = check_array(array, dtype="numeric", ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    elif array.dtype.itemsize not in NUMBER_SIZES[array.dtype.kind] or not array.dtype.isnative:
        array = array.astype(np.float64)
    names = [f"x{i}" for i in range(array.shape[1])]
    forced = labelled(names)
    finite = _has_finite_sum(array)  # one pass in the order of memory; else column by column, to name it
    return tuple(
        number_labels(name, array[:, i])
        if i in forced
        else Column(name, "numeric", array[:, i])
        if finite
        else number_column(name, array[:, i])
        for i, name in enumerate(names)
    )


def array_frame(X: Any) -> nw.DataFrame[Any] | None:
    """An array as a frame, column by column, for those that hold more than numbers; None for what has no columns."""
    array = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else X
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        return None
    columns = {i: as_arrow(array[:, i]) for i in range(array.shape[1])}
    table = pa.table({f"x{i}": column for i, column in columns.items()})
    frame: nw.DataFrame[Any] = nw.from_native(table, eager_only=True)
    return frame


class SparseError(DataError, TypeError):
    """The table is a sparse matrix: a ``TypeError`` too, as of scikit-learn's own estimators."""


def _sparse_error(X: Any) -> SparseError:
    """The error for a sparse matrix: what it would take as a table."""
    n_rows, n_columns = X.shape if len(X.shape) == 2 else (X.shape[0], 1)
    size = max(1, round(8 * n_rows * n_columns / 2**20))
    return SparseError(
        f"X is a sparse matrix of {n_rows:,} rows and {n_columns:,} columns, and rules are learned from dense tables. "
        f"Pass X.toarray(), which takes {size:,} MB, or only the columns that matter."
    )


def _has_finite_sum(array: NDArray[Any]) -> bool:
    """Whether an array can hold neither an infinite number nor NaN, as its sum shows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.dtype.kind != "f" or bool(np.isfinite(array.sum()))


def _object_columns(array: NDArray[Any], labelled: Callable[[Sequence[str]], set[int]]) -> tuple[Column, ...]:
    """The columns of an array of objects: numbers, also written as text; labels only where declared."""
    names = [f"x{i}" for i in range(array.shape[1])]
    forced = labelled(names)
    columns = []
    problems = Problems()
    for i, name in enumerate(names):
        with problems.gather():
            columns.append(_object_column(name, array[:, i], forced=i in forced))
    problems.check()
    return tuple(columns)


def _object_column(name: str, values: NDArray[Any], forced: bool) -> Column:
    if forced:
        return object_column(name, values.tolist(), forced=True)
    for row, value in enumerate(values):
        if isinstance(value, str) and not is_number(value):
            raise DataError(
                f"Column '{name}' holds text ({value!r} in {row_named(row)}) where numbers are expected: could not "
                f"convert string to float. Name the column under {Parameter('categorical_features')}, or pass a data "
                "frame."
            )
    values = np.array([within_floats(value) for value in values], dtype=object)
    as_numbers = check_array(values[:, None], dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    return number_column(name, as_numbers[:, 0])

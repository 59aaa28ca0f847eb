"""The arguments of fit in, the same without rows that do not count out, whatever these contain.

Rows of weight zero do not count and, where asked for, rows without a target. They are removed before anything is read,
so a row of weight zero may have a missing target or invalid values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, is_missing
from pysirus._data.frame import as_frame
from pysirus._message import renumbered
from pysirus._warn import warn_user


def rows_that_weigh(sample_weight: Any) -> NDArray[np.bool_] | None:
    """Which rows have positive weight; None if all do, or if weights are invalid (an error when they are read)."""
    if sample_weight is None:
        return None
    series = nw.from_native(sample_weight, pass_through=True, allow_series=True)
    try:
        weights = np.asarray(series.to_numpy() if isinstance(series, nw.Series) else sample_weight, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        return None
    if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
        return None
    rows = weights > 0
    return None if rows.all() else rows


def take(data: Any, rows: NDArray[np.bool_]) -> Any:
    """Some rows of a table or of a column; None where it has another number of rows."""
    numbers = np.flatnonzero(rows)
    if isinstance(data, (list, tuple)):
        return [data[i] for i in numbers] if len(data) == len(rows) else None
    frame: Any = nw.from_native(data, pass_through=True, allow_series=True)
    frame = frame if isinstance(frame, nw.Series) else as_frame(data)
    if frame is not None:
        return frame[numbers].to_native() if len(frame) == len(rows) else None
    array = data if hasattr(data, "shape") else np.asarray(data)
    return array[numbers] if array.ndim and array.shape[0] == len(rows) else None


def rows_with_target(y: Any) -> NDArray[np.bool_] | None:
    """Which rows have a target; None if all have."""
    series = y if isinstance(y, np.ndarray) else nw.from_native(y, pass_through=True, allow_series=True)
    frame = None if isinstance(series, (nw.Series, np.ndarray)) else as_frame(y)
    if frame is not None and len(frame.columns) == 1:
        series = frame[frame.columns[0]]
    if isinstance(series, nw.Series):
        rows = ~series.is_null().to_numpy()
        if series.dtype.is_float():
            rows &= ~np.isnan(series.to_numpy())
    else:
        array = np.asarray(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
        if array.ndim != 1 or array.dtype.kind not in "fOMm":
            return None
        nothing = np.isnat if array.dtype.kind in "Mm" else np.isnan
        rows = np.array([not is_missing(v) for v in array]) if array.dtype.kind == "O" else ~nothing(array)
    return None if rows.all() else rows.astype(bool)


def which_count(y: Any, sample_weight: Any, *, need_target: bool) -> NDArray[np.bool_] | None:
    """Which rows have positive weight and, where needed, a target; None if all do."""
    found = [rows_that_weigh(sample_weight), rows_with_target(y) if need_target else None]
    masks = [rows for rows in found if rows is not None]
    if len({len(rows) for rows in masks}) > 1:  # which is said when they are read
        return masks[0]
    return np.logical_and.reduce(masks) if masks else None


def _say_dropped(y: Any, sample_weight: Any) -> None:
    """Warn of rows that are left out for want of a target."""
    rows, weighing = rows_with_target(y), rows_that_weigh(sample_weight)
    if rows is None:
        return
    gone = ~rows if weighing is None or len(weighing) != len(rows) else ~rows & weighing
    if gone.any():
        warn_user(f"{gone.sum():,} of {len(rows):,} rows have no target and are left out.")


@contextmanager
def counting(rows: NDArray[np.bool_] | None, why: str = "weight zero") -> Iterator[None]:
    """Errors about some rows of a table say which rows of the table they are, or why there are so few."""
    try:
        yield
    except DataError as error:
        if rows is None:
            raise
        numbers = np.flatnonzero(rows).tolist()
        error.reword(lambda message: renumbered(message, numbers.__getitem__))
        if "row(s)" not in error.message:
            raise
        raise DataError(f"{error.message} ({(~rows).sum()} rows of {why} do not count.)") from error


@contextmanager
def without_weightless(X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The arguments of fit, without rows of weight zero."""
    with rows_that_count(X, y, sample_weight, need_target=False) as taken:
        yield taken


@contextmanager
def rows_that_count(X: Any, y: Any, sample_weight: Any, *, need_target: bool) -> Iterator[tuple[Any, Any, Any]]:
    """The arguments of fit, without rows of weight zero and, if that is needed, without those that have no target."""
    given = X, y, sample_weight
    rows = which_count(y, sample_weight, need_target=need_target)
    if rows is not None and rows.any():  # or there is nothing to learn from, which is said when they are read
        weights = () if sample_weight is None else (sample_weight,)
        taken = tuple(take(data, rows) for data in (X, y, *weights))
        if all(data is not None for data in taken):  # or lengths differ, which is said when they are read
            if need_target:
                _say_dropped(y, sample_weight)
            with counting(rows, "weight zero or without a target" if need_target else "weight zero"):
                yield (*taken, None)[:3]
            return
    yield given

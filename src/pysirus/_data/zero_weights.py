"""The arguments of fit in, the same without rows of weight zero out, whatever these contain.

They are removed before anything is read, so a row of weight zero may have a missing target or invalid values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._data.frame import as_frame


def rows_that_weigh(sample_weight: Any) -> NDArray[np.bool_] | None:
    """Which rows have positive weight; None if all do, or if weights are invalid (an error when they are read)."""
    if sample_weight is None:
        return None
    series = nw.from_native(sample_weight, pass_through=True, allow_series=True)
    try:
        weights = np.asarray(series.to_numpy() if isinstance(series, nw.Series) else sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
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


@contextmanager
def counting(rows: NDArray[np.bool_] | None) -> Iterator[None]:
    """Errors that name a row add that rows of weight zero are not counted."""
    try:
        yield
    except DataError as error:
        if rows is None or "row" not in str(error):
            raise
        raise DataError(f"{error} (Row numbers do not count the {(~rows).sum()} rows of weight zero.)") from error


@contextmanager
def without_weightless(X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The arguments of fit, without rows of weight zero."""
    given = X, y, sample_weight
    rows = rows_that_weigh(sample_weight)
    if rows is not None and rows.any():  # or there is nothing to learn from, which is said when weights are read
        taken = tuple(take(data, rows) for data in given)
        if all(data is not None for data in taken):  # or lengths differ, which is said when they are read
            with counting(rows):
                yield taken
            return
    yield given

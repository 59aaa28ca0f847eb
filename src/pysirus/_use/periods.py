"""Times of rows in, the period of each out: a calendar month for dates, else each distinct value."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import DataError

MOST_PERIODS = 120
UNKNOWN = "(no time)"


def periods_of(time: Any, n_rows: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Each period by its name, in their order, and the rows in it."""
    names = _names(time)
    if len(names) != n_rows:
        raise DataError(f"time has {len(names):,} values, and there are {n_rows:,} rows. Give one for each row.")
    distinct, place = np.unique(names, return_inverse=True)
    if len(distinct) > MOST_PERIODS:
        raise DataError(
            f"time has {len(distinct):,} distinct values, and each would be a period: at most {MOST_PERIODS} are "
            "compared. Give dates, which are taken by month, or a column of periods."
        )
    return [(str(name), place == k) for k, name in enumerate(distinct.tolist())]


def _names(time: Any) -> NDArray[Any]:
    """The name of each row's period; names sort as the periods follow each other."""
    if isinstance(time, (pa.Array, pa.ChunkedArray)):
        series = nw.from_native(pa.chunked_array(time) if isinstance(time, pa.Array) else time, series_only=True)
    else:
        series = nw.from_native(time, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return _of_array(np.asarray(series))
    if isinstance(series.dtype, (nw.Date, nw.Datetime)):
        return _of_array(series.cast(nw.Datetime("us")).to_numpy())
    return _of_array(np.asarray(series.to_list(), dtype=object))


def _of_array(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "M":
        months = values.astype("datetime64[M]")
        return np.where(np.isnat(months), UNKNOWN, months.astype(str))
    values = np.array([math.nan if value is None else value for value in values.tolist()], dtype=object)
    known = [value for value in values.tolist() if value == value]
    if known and all(isinstance(value, str) for value in known) and (dates := _dates(known)) is not None:
        month_of = dict(zip(known, dates))
        return np.array([month_of.get(value, UNKNOWN) for value in values.tolist()])
    if known and all(isinstance(value, (int, float)) for value in known):
        width = max(len(f"{value:.0f}") for value in known)
        whole = all(float(value).is_integer() for value in known)
        form = f"0{width}.0f" if whole else "g"
        return np.array([f"{value:{form}}" if value == value else UNKNOWN for value in values.tolist()])
    return np.array([str(value) if value == value else UNKNOWN for value in values.tolist()])


def _dates(texts: list[str]) -> list[str] | None:
    """The months of texts that are all dates in ISO form; None where one is not."""
    try:
        return [str(month) for month in np.array(texts, dtype="datetime64[D]").astype("datetime64[M]")]
    except ValueError:
        return None

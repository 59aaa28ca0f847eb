"""A target of times and events as given in, checked arrays out; all errors about them are raised here.

As in scikit-survival it is a structured array with a flag and a time. A table of two columns does as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, first_row, is_missing
from pysirus._data.frame import as_frame
from pysirus._response.read import NO_TARGET

WANTED = (
    "y must have an event and a time for each row: a structured array such as np.array([(True, 3.5), (False, 9.0)], "
    "dtype=[('event', bool), ('time', float)]), or a table of two columns"
)
FLAGS = {"true": True, "false": False, "yes": True, "no": False}


@dataclass(frozen=True)
class Times:
    """Times above zero, and whether they ended with an event; what the two are called."""

    times: NDArray[np.float64]
    events: NDArray[np.bool_]
    time_name: str = "time"
    event_name: str = "event"


def read_survival(y: Any, n_rows: int) -> Times:
    """Times and events, checked."""
    names, columns = _two_columns(y)
    for name, column in zip(names, columns):
        if len(column) != n_rows:
            raise DataError(f"y has {len(column)} rows in '{name}', the table has {n_rows}: one of each per row.")
    event, time = _which(names, columns)
    events = _flags(columns[event], names[event])
    return Times(_times(columns[time], names[time]), events, names[time], names[event])


def _two_columns(y: Any) -> tuple[list[str], list[NDArray[Any]]]:
    """The two columns as given, and their names."""
    if y is None:
        raise DataError(NO_TARGET)
    frame = as_frame(y)
    if frame is not None:
        names, columns = list(frame.columns), [frame[name].to_numpy() for name in frame.columns]
    else:
        array = np.asarray(y)
        if array.dtype.names is not None and array.ndim == 1:
            names, columns = list(array.dtype.names), [array[name] for name in array.dtype.names]
        elif array.ndim == 2:
            names, columns = ["event", "time"][: array.shape[1]], list(array.T)
        else:
            raise DataError(f"{WANTED}. Found an array of shape {array.shape} without fields.")
    if len(columns) != 2:
        raise DataError(f"{WANTED}. Found {len(columns)} columns{_listed(names)}.")
    return list(map(str, names)), columns


def _listed(names: list[str]) -> str:
    return f": {', '.join(names[:5])}" if names and len(names) > 2 else ""


def _which(names: list[str], columns: list[NDArray[Any]]) -> tuple[int, int]:
    """Which column has the events, and which the times: as in scikit-survival the first has the events, unless only
    the second can."""
    if _can_be_flags(columns[0]) or not _can_be_flags(columns[1]):
        return 0, 1
    if names == ["event", "time"]:  # an array without names
        names.reverse()
    return 1, 0


def _can_be_flags(column: NDArray[Any]) -> bool:
    if column.dtype.kind == "b":
        return True
    if column.dtype.kind in "OUST":
        return all(_flag_of(value) is not None for value in column.tolist())
    return column.dtype.kind in "iuf" and bool(np.isin(column, (0, 1)).all())


def _flag_of(value: Any) -> bool | None:
    """True or false where a value says so."""
    if isinstance(value, str):
        return FLAGS.get(value.strip().lower())
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, float, np.number)) and value in (0, 1)):
        return bool(value)
    return None


def _flags(column: NDArray[Any], name: str) -> NDArray[np.bool_]:
    if column.dtype.kind == "b":
        return np.asarray(column)
    values = column.tolist()
    flags = [_flag_of(value) for value in values]
    if None in flags:
        row = flags.index(None)
        found = values[row]
        if is_missing(found):
            raise DataError(f"The event column '{name}' is missing in row {row}. Drop rows without it.")
        raise DataError(
            f"The event column '{name}' must be 0 or 1, or true or false, found {found!r} in row {row}. Say which "
            f"value is the event, for example y['{name}'] == {found!r}."
        )
    return np.array(flags, dtype=bool)


def _times(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    if column.dtype.kind in "Mm":
        raise DataError(
            f"The time column '{name}' holds dates or durations. Give numbers, such as the days from the start to the "
            "event or to the end of the observation."
        )
    try:
        times = np.array([np.nan if is_missing(v) else v for v in column.tolist()], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The time column '{name}' must be numbers, found {column.tolist()[0]!r}.") from error
    bad = ~np.isfinite(times)
    if bad.any():
        row = first_row(bad)
        raise DataError(f"The time column '{name}' is missing or infinite in row {row}. Drop rows without a time.")
    bad = times <= 0
    if bad.any():
        row = first_row(bad)
        raise DataError(
            f"The time column '{name}' must be above 0, found {times[row]:g} in row {row}"
            f"{f' and {int(bad.sum()) - 1} more' if bad.sum() > 1 else ''}. Drop rows that were never observed, or "
            "count the first day as 1."
        )
    return times

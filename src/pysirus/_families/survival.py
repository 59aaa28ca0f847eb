"""Times and events as given in, a checked response out; all errors about them are raised here.

As in scikit-survival the target is a structured array with a flag and a time. A table of two columns does as well, in
either order. Where events are coded otherwise (1 and 2 in R's lung and pbc), ``event`` says which value is one.

A forest is grown on the martingale residuals of the model without rules. The residual of a row is its events (0 or 1)
less those expected of it where all rows have the same hazard: the cumulative hazard of Nelson and Aalen until its time,
which is the baseline of a model without rules. A row twice is a row of weight two here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, first_row, is_missing, within_floats
from pysirus._data.frame import as_frame
from pysirus._families.read import NO_TARGET
from pysirus._families.responses import NumberResponse
from pysirus._text.message import InCommand, InPython, row_named

WANTED = (
    "y must have an event and a time for each row: a structured array such as np.array([(True, 3.5), (False, 9.0)], "
    "dtype=[('event', bool), ('time', float)]), or a table of two columns"
)
FLAGS = {"true": True, "false": False, "yes": True, "no": False}
EVENT_NAMES = {"event", "events", "status", "dead", "death", "died", "censor", "cens", "delta", "observed", "failure"}
LARGEST_TIME = 1e100
SHOWN = 5  # values of a column in a message


@dataclass(frozen=True)
class Times:
    """Times above zero, and whether they ended with an event; what the two are called."""

    times: NDArray[np.float64]
    events: NDArray[np.bool_]
    time_name: str = "time"
    event_name: str = "event"


def read_survival(y: Any, n_rows: int, event: Any = None) -> Times:
    """Times and events, checked; ``event`` is the value that is one, where it is not 1, true or yes."""
    names, columns = _two_columns(y)
    for name, column in zip(names, columns):
        if len(column) != n_rows:
            where = f" in '{name}'" if name else ""
            raise DataError(f"y has {len(column)} rows{where}, the table has {n_rows}: one of each per row.")
    flags, time = _which(names, columns, event)
    if not any(names):  # an array without names
        names[flags], names[time] = "event", "time"
    events = _flags(columns[flags], names[flags], event)
    return Times(_times(columns[time], names[time]), events, names[time], names[flags])


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
            names, columns = [""] * array.shape[1], list(array.T)
        else:
            raise DataError(f"{WANTED}. Found an array of shape {array.shape} without fields.")
    if len(columns) != 2:
        raise DataError(f"{WANTED}. Found {len(columns)} columns{_listed(names)}.")
    return list(map(str, names)), columns


def _listed(names: list[str]) -> str:
    return f": {', '.join(names[:5])}" if any(names) and len(names) > 2 else ""


def _which(names: list[str], columns: list[NDArray[Any]], event: Any) -> tuple[int, int]:
    """Which column has the events, and which the times.

    As in scikit-survival the first has the events, unless only the second can, or is called so. Where the values leave
    it open, a column that cannot be times has them, then one that is called so, then the one of fewer values.
    """
    can = [_can_be_flags(column) for column in columns]
    named = [name.strip().lower() in EVENT_NAMES for name in names]
    if event is None and can[0] != can[1]:
        is_first = can[0]
    elif event is None and can[0]:
        is_first = named[0] >= named[1]
    else:
        ranks = [(not _can_be_times(own), called, -len(set(own.tolist()))) for own, called in zip(columns, named)]
        is_first = ranks[0] >= ranks[1]
    return (0, 1) if is_first else (1, 0)


def _can_be_times(column: NDArray[Any]) -> bool:
    try:
        return column.dtype.kind not in "bMm" and bool((np.asarray(column, dtype=np.float64) > 0).all())
    except (TypeError, ValueError):
        return False


def _says_itself(column: NDArray[Any], event: Any) -> bool:
    """Whether a column is true and false, and the event another value: rows were compared with it already."""
    return column.dtype.kind == "b" and not isinstance(event, (bool, str))


def is_event(value: Any, event: Any) -> bool:
    """Whether a value is the event; 2, 2.0 and a written 2 are one, as are true and a written true."""
    return bool(value == event) or (isinstance(value, str) != isinstance(event, str) and _text(value) == _text(event))


def _text(value: Any) -> str:
    number = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value) if number else value).strip().lower()


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


def _flags(column: NDArray[Any], name: str, event: Any) -> NDArray[np.bool_]:
    """Whether each row had the event."""
    values = column.tolist()
    row = next((i for i, value in enumerate(values) if is_missing(value)), None)
    if row is not None:
        raise DataError(f"The event column '{name}' is missing in {row_named(row)}. Drop rows without it.")
    if event is not None and not _says_itself(column, event):
        return np.array([is_event(value, event) for value in values], dtype=bool)
    if column.dtype.kind == "b":
        return np.asarray(column)
    flags = [_flag_of(value) for value in values]
    if None in flags:
        found = sorted(set(values), key=lambda value: (isinstance(value, str), value))
        shown = ", ".join(map(repr, found[:SHOWN])) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
        wish = f"{InPython(f', for example event={found[-1]!r}')}{InCommand('event', f'{name}={found[-1]}')}"
        raise DataError(
            f"The event column '{name}' must be 0 or 1, or true or false, found {shown}. Say which value is the "
            f"event{wish}."
        )
    return np.array(flags, dtype=bool)


def _times(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    if column.dtype.kind in "Mm":
        raise DataError(
            f"The time column '{name}' holds dates or durations. Give numbers, such as the days from the start to the "
            "event or to the end of the observation."
        )
    try:
        times = np.array([np.nan if is_missing(v) else within_floats(v) for v in column.tolist()], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The time column '{name}' must be numbers, found {column.tolist()[0]!r}.") from error
    bad = ~np.isfinite(times)
    if bad.any():
        where = row_named(first_row(bad))
        raise DataError(f"The time column '{name}' is missing or infinite in {where}. Drop rows without a time.")
    if times.size and times.max() > LARGEST_TIME:
        raise DataError(
            f"The time column '{name}' holds {times.max():g}, and times may be at most {LARGEST_TIME:g}. Give them in "
            "a larger unit."
        )
    bad = times <= 0
    if bad.any():
        row = first_row(bad)
        raise DataError(
            f"The time column '{name}' must be above 0, found {times[row]:g} in {row_named(row)}"
            f"{f' and {int(bad.sum()) - 1} more' if bad.sum() > 1 else ''}. Drop rows that were never observed, or "
            "count the first day as 1."
        )
    return times


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NULL_BITS = 44  # of the largest residual; rounded once, so that another order of the rows gives the same numbers


@dataclass(frozen=True)
class SurvivalResponse(NumberResponse):
    """Rows that answer with a time each, and whether it ended with an event. The numbers are residuals."""

    shows_means: ClassVar[bool] = False

    times: Floats
    events: Flags
    time_name: str = "time"
    event_name: str = "event"

    @property
    def strata(self) -> NDArray[np.uint8]:
        """Whether there was an event: every fold should have some."""
        return self.events.astype(np.uint8)

    @property
    def n_strata(self) -> int:
        """Rows with an event and rows without."""
        return 2

    @property
    def truth(self) -> NDArray[Any]:
        """Events and times in one array."""
        return events_and_times(self.events, self.times)

    def take(self, rows: NDArray[np.intp]) -> SurvivalResponse:
        """The response of some rows, whose residuals are their own."""
        weights = None if self.weights is None else self.weights[rows]
        return survival_response(self.times[rows], self.events[rows], weights, self.time_name, self.event_name)

    def row_arrays(self) -> dict[str, NDArray[Any]]:
        """The fields that have one entry per row."""
        return {**super().row_arrays(), "times": self.times, "events": self.events}


def survival_response(
    times: Floats, events: Flags, weights: Floats | None = None, time_name: str = "time", event_name: str = "event"
) -> SurvivalResponse:
    """The response of rows with a time each."""
    residuals = null_residuals(times, events, weights)
    return SurvivalResponse(residuals, times, events, time_name, event_name, weights=weights)


def null_residuals(times: Floats, events: Flags, weights: Floats | None = None) -> Floats:
    """Events less the cumulative hazard at their times."""
    distinct, place = np.unique(times, return_inverse=True)
    weight = np.ones(len(times)) if weights is None else weights
    everyone, ended = (np.bincount(place, own, len(distinct)) for own in (weight, weight * events))
    at_risk = np.cumsum(everyone[::-1])[::-1]
    residuals = events - np.cumsum(ended / np.where(at_risk > 0, at_risk, 1.0))[place]
    largest = float(np.abs(residuals).max(initial=0.0))
    exponent = NULL_BITS - int(np.frexp(largest)[1]) if largest > 0 else 0
    return np.ldexp(np.rint(np.ldexp(residuals, exponent)), -exponent)


def events_and_times(events: Flags, times: Floats) -> NDArray[Any]:
    """Events and times in one array."""
    both = np.empty(len(times), dtype=[("event", bool), ("time", np.float64)])
    both["event"], both["time"] = events, times
    return both

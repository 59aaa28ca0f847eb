"""Times of rows in, the periods that they make out, and folds that learn from the rows before each period.

A fold holds out one period and learns from all rows before it, which is what happens to a model in production. Folds
begin once half of the rows have been, so that what they learn from is not too different in size. Rows of one time are
never on both sides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, is_missing
from pysirus._parameters import ParameterError
from pysirus._text.message import TIME, InPython, Parameter, setting

FORWARD = "forward"
MOST_PERIODS = 24  # values of time that are periods by themselves; of more, rows in order are cut into CUT_INTO
CUT_INTO = 10
LEAST_ROWS = 20  # of a period
LEAST_PERIODS = 3  # two folds, and rows before the first of them
YEAR_FIRST = re.compile(r"\d{4}")

Times = NDArray[Any]


def read_times(time: Any, n_rows: int | None = None) -> Times:
    """The times of rows as values that sort: numbers, dates, or text that begins with the year."""
    found = _array(time)
    if found.ndim != 1:
        raise DataError(f"{TIME} must have one entry per row, found an array of {found.ndim} dimensions.")
    if n_rows is not None and len(found) != n_rows:
        raise DataError(f"{TIME} has {len(found)} entries, the table has {n_rows} rows: one time per row.")
    if np.isnat(found).any() if found.dtype.kind == "M" else any(map(is_missing, _doubtful(found))):
        raise DataError(f"{TIME} holds missing values. Fill them in, or leave these rows out.")
    if found.dtype.kind == "M":
        days = found.astype("datetime64[D]")
        return days if (days == found).all() else found
    kinds = {type(own) for own in _doubtful(found)}
    if len(kinds) > 1 or not all(issubclass(kind, (str, int, float)) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"{TIME} must be dates, numbers, or text that begins with the year, found {names}.")
    odd = next((own for own in _doubtful(found) if isinstance(own, str) and not YEAR_FIRST.match(own)), None)
    if odd is not None:
        raise DataError(
            f"{TIME} has the text '{odd}', which does not sort by time. Give dates, numbers, or text that begins with "
            "the year, such as 2024-03."
        )
    return found


def _array(time: Any) -> Times:
    """Times as they are given, dates as NumPy has them."""
    series = nw.from_native(time, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series):
        if isinstance(series.dtype, (nw.Date, nw.Datetime)):
            return np.asarray(series.cast(nw.Datetime("us")).to_numpy(), dtype="datetime64[us]")
        return np.asarray(series.to_list())
    found = np.asarray(series)
    dates = found.dtype.kind == "O" and found.size and all(isinstance(own, date) for own in found.tolist())
    return found.astype("datetime64[us]") if dates else found


def _doubtful(times: Times) -> list[Any]:
    """The values of a type that may hold other than numbers."""
    return times.tolist() if times.dtype.kind in "OUf" else []


def periods_of(when: Times, least: int = 2) -> tuple[list[str], NDArray[np.intp]]:
    """The names of periods in their order, and the period of each row.

    Each value is a period by itself, up to 24 of them. Of more, the rows in their order are cut into ten periods of
    about the same size; rows of one value stay together.
    """
    values, place, counts = np.unique(when, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    names = [str(value) for value in values]
    if len(values) > MOST_PERIODS:
        upto = np.cumsum(counts) - counts
        group = np.minimum(upto * CUT_INTO // len(when), CUT_INTO - 1)
        _, group = np.unique(group, return_inverse=True)
        ends = [np.flatnonzero(group == k) for k in range(int(group.max()) + 1)]
        names = [f"{names[own[0]]} to {names[own[-1]]}" for own in ends]
        place = group[place]
    sizes = np.bincount(place)
    if len(names) < least:
        found = f"{len(names)} value{'s' if len(names) > 1 else ''}"
        raise DataError(f"At least {least} periods are needed to look forward in time, found {found} of {TIME}.")
    if sizes.min() < LEAST_ROWS:
        few = names[int(sizes.argmin())]
        raise DataError(
            f"The period '{few}' has {sizes.min()} rows, and a list takes at least {LEAST_ROWS}: use longer periods."
        )
    return names, place


@dataclass(frozen=True)
class Periods:
    """What is held out by folds that look forward: periods by name, and the rows before each."""

    names: tuple[str, ...]
    n_before: tuple[int, ...]
    last: str | float  # the last time of all

    @property
    def shared(self) -> float:
        """Of the rows of a later fold the share that an earlier one has too, on average over pairs."""
        return float(np.mean([early / late for early, late in combinations(self.n_before, 2)]))


@dataclass(frozen=True)
class ForwardFolds:
    """Folds that learn from the rows before each period."""

    periods: Periods
    fold: NDArray[np.unsignedinteger[Any]]  # [row]: the one that holds it out; their number, where none does

    @property
    def n_folds(self) -> int:
        """How many periods are held out."""
        return len(self.periods.names)

    def splits(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The rows that each fold learns from, and those that it holds out."""
        return [
            (np.flatnonzero(learns_from(self.fold, k, self.n_folds)), np.flatnonzero(self.fold == k))
            for k in range(self.n_folds)
        ]


def learns_from(fold: Any, own: int, n_folds: int) -> Any:
    """Whether a fold that looks forward learns from rows that other folds, or none of them, hold out."""
    return (fold < own) | (fold == n_folds)


def forward_folds(when: Times) -> ForwardFolds:
    """Periods from the middle of the rows on, at least two, are held out one after the other."""
    names, place = periods_of(when, LEAST_PERIODS)
    sizes = np.bincount(place)
    before = np.cumsum(sizes) - sizes
    first = min(int(np.searchsorted(before, len(when) / 2)), len(names) - 2)
    n_folds = len(names) - first
    fold = np.where(place >= first, place - first, n_folds).astype(np.min_scalar_type(n_folds))
    last = np.unique(when)[-1]
    told = float(last) if isinstance(last, (int, float, np.number)) else str(last)
    return ForwardFolds(Periods(tuple(names[first:]), tuple(before[first:].tolist()), told), fold)


def check_forward(cv: Any, groups: Any, time: Any) -> Any:
    """What keeps rows together: groups, or with forward folds the times."""
    if isinstance(cv, str) and cv == FORWARD:
        if time is None:
            where = f"a column of the table{InPython(', or one entry per row')}"
            raise ParameterError(f"{setting('cv', FORWARD)} needs {Parameter('time')}: {where}.")
        if groups is not None:
            raise ParameterError(
                f"{setting('cv', FORWARD)} holds out periods, and does not go with {Parameter('groups')}."
            )
        return time
    if time is not None:
        raise ParameterError(f"{Parameter('time')} goes with {setting('cv', FORWARD)}, got {setting('cv', cv)}.")
    return groups

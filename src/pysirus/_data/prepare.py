"""Any columns in, columns that can be used out, and the recipe that makes them: the lenient way to read a table.

Dates and times become numbers, written numbers are read, rare levels are grouped, and a column of which nothing can be
made is set aside, with a reason. Columns that can be used as they are stay as they are, bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import Column, DataError, check_text, is_temporal, label_column, with_levels
from pysirus._data.dates import DateColumn, SetAside, typed_dates, written_dates
from pysirus._data.derived import ColumnRecipe, Derived, Deriver, as_arrow, is_text
from pysirus._data.frame import Source, is_certain_id, read_column, why_id
from pysirus._data.written import (
    DURATIONS,
    UTC,
    NumberForm,
    number_form,
    offset_name,
    seconds_of,
)
from pysirus._runtime.console import warn_user
from pysirus._text.format import one_line

MOSTLY = 0.5  # a column with more levels than this share of its rows is a name or a text, not a category
LEAST_KEPT = 0.05  # of the rows, in the levels that a group keeps
SHOWN = 10  # columns in a message
OTHER = ("other", "other categories", "all other categories")

Feature = tuple[Column, Derived | None]


class Preparation:
    """Turns the columns of a training table into features."""

    def __init__(self, names: Sequence[str], max_levels: int, decimal: str = "") -> None:
        self._taken = set(names)
        self._max_levels = max_levels
        self._decimal = decimal
        self._deriver = Deriver(warn=False)

    def features(self, name: str, source: Source, forced: bool) -> list[Feature]:
        """The features of a column, each with how it is derived; a ``SetAside`` where there is none."""
        if isinstance(source, nw.Series) and is_temporal(source):
            return self._temporal(name, source)
        try:
            column = read_column(name, source, forced)
        except DataError as error:
            return self._repaired(name, source, error)
        if column.free_text and all(isinstance(level, str) for level in column.levels):  # and no true and false
            found = self._written(name, column, source)
            if found:
                return found
            _check_mixed(name, column.levels)
        if is_certain_id(column):
            raise SetAside((why_id(column) or "").removeprefix("has "))
        return [self._grouped(column) if len(column.levels) > self._max_levels else (column, None)]

    def _name(self, wanted: str) -> str:
        """A name that no other feature has."""
        while wanted in self._taken:
            wanted = f"{wanted} (derived)"
        self._taken.add(wanted)
        return wanted

    def _repaired(self, name: str, source: Source, error: DataError) -> list[Feature]:
        """What can be made of a column that cannot be read as it is."""
        if not isinstance(source, nw.Series) or source.dtype.is_numeric():  # which only infinite numbers spoil
            own = Derived(name, name, "finite")
            return [(self._deriver.column(own, source), own)]
        if isinstance(source.dtype, nw.Object):
            array = as_arrow(source)
            if pa.types.is_temporal(array.type):
                return self._temporal(name, source)
            if is_text(array.type) and (found := self._written(name, label_column(name, array), source)):
                return found
        raise SetAside(_reason(name, error))

    # ----------------------------------------------------------------------------------------------- dates and times

    def _temporal(self, name: str, source: Source) -> list[Feature]:
        array = as_arrow(source)
        if pa.types.is_duration(array.type):
            unit = _unit_of_durations(seconds_of(array))
            own = Derived(self._name(f"{name} ({unit})"), name, "duration", NumberForm(unit))
            return self._made([own], source)
        if not any(test(array.type) for test in (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)):
            raise SetAside(f"of type {array.type}")
        return self._made(self.dates(name, typed_dates(name, array)), source)

    def _made(self, derived: Sequence[Derived], source: Source) -> list[Feature]:
        return [(self._deriver.column(own, source), own) for own in derived]

    def dates(self, name: str, found: DateColumn) -> list[Derived]:
        """The features that times of day are, or the parts of dates that are not the same in all rows."""
        if found.has_times:
            return [Derived(self._name(f"{name} (hours)"), name, "time")]
        if not found.written:
            return []
        if not found.is_known:
            raise SetAside("all missing")
        is_written = found.zone is None
        order, zone = found.order() if is_written else "", found.zone or ""
        if is_written:
            zone = _zone_of_offsets(name, found.offsets)
        parts = (found.in_utc if is_written and zone == UTC else found.written)[order].varying
        names = {part: name if part == "date" else self._name(f"{part} of {name}") for part in parts}
        return [Derived(names[part], name, part, order=order, zone=zone) for part in parts]

    # -------------------------------------------------------------------------------------------------- written values

    def _written(self, name: str, column: Column, source: Source) -> list[Feature]:
        """The features of text that writes dates, times or numbers, all of it; none for other text."""
        dates = self.dates(name, written_dates(column))
        form = None if dates else number_form(column.levels, self._decimal)
        if form is None:
            return self._made(dates, source)
        named = not form.unit or form.unit.casefold() in re.split(r"[\W_]+", name.casefold())
        own = Derived(name if named else self._name(f"{name} ({form.unit})"), name, "number", form)
        return self._made([own], source)

    # --------------------------------------------------------------------------------------------------------- levels

    def _grouped(self, column: Column) -> Feature:
        """A column of which the rare levels are one."""
        sizes = np.bincount(column.values[column.values >= 0], minlength=len(column.levels))
        n_levels, n_rows = len(column.levels), int(sizes.sum())
        if column.kind == "ordered":
            raise SetAside(f"{n_levels:,} ordered categories, at most {self._max_levels} are taken")
        if n_levels > MOSTLY * n_rows:
            raise SetAside("another value in nearly every row")
        kept = np.sort(np.argsort(-sizes, kind="stable")[: self._max_levels - 1])
        if sizes[kept].sum() < LEAST_KEPT * n_rows:
            raise SetAside(f"{n_levels:,} categories, none of them frequent")
        names = [str(column.levels[i]) for i in kept]
        other = next((word for word in OTHER if word not in names), f"other than {names[0]}")
        levels = tuple(sorted([*names, other]))
        position = {level: i for i, level in enumerate(levels)}
        table = np.full(n_levels + 1, position[other])
        table[kept], table[-1] = [position[level] for level in names], -1
        grouped = replace(column, kind="categorical", levels=levels, order=(), free_text=False, other=other)
        return with_levels(grouped, table[column.values]), Derived(column.name, column.name, "group", other=other)


def _zone_of_offsets(name: str, offsets: Mapping[int | None, str]) -> str:
    """The time zone of moments with these offsets, each with a text that has it.

    It is the offset that all have, UTC where they have several, empty for none.
    """
    found = sorted({offset for offset in offsets if offset is not None})
    if not found:
        return ""
    if None in offsets:
        bare, zoned = offsets[None], offsets[found[0]]
        raise SetAside(f"moments with and without a time zone, such as {zoned!r} and {bare!r}")
    if len(found) > 1:
        warn_user(
            f"Column '{one_line(name)}' holds moments of {len(found)} offsets ({', '.join(map(offset_name, found[:4]))}"
            f"{', ...' if len(found) > 4 else ''}): they are taken in UTC, also their hours and weekdays. For local "
            "hours, give a column of one time zone."
        )
    return offset_name(found[0]) if len(found) == 1 else UTC


def _unit_of_durations(seconds: NDArray[np.float64]) -> str:
    """The unit in which most lengths of time are above one."""
    known = np.abs(seconds[~np.isnan(seconds)])
    typical = float(np.median(known)) if len(known) else 0.0
    return next((unit for unit, length in DURATIONS.items() if typical >= length), "seconds")


def _check_mixed(name: str, levels: Sequence[Any]) -> None:
    """Set aside a column of which some texts are numbers or dates, and others not; codes such as 0123 are fine."""
    if all(re.fullmatch(r"\s*\d+\s*", level) for level in levels):
        return
    try:
        check_text(name, levels)
    except DataError as error:
        raise SetAside(_reason(name, error)) from error


def _reason(name: str, error: DataError) -> str:
    """The reason of an error, without the name of its column and its advice."""
    text = " ".join(str(error).split("\n")).removeprefix(f"Column '{one_line(name)}' ")
    return text.split(". ")[0].rstrip(".").removeprefix("holds ").removeprefix("has ")


def _aside_text(aside: Mapping[str, str]) -> str:
    said = "; ".join(f"'{one_line(name)}' ({one_line(why)})" for name, why in list(aside.items())[:SHOWN])
    return said + (f"; and {len(aside) - SHOWN} more" if len(aside) > SHOWN else "")


def say_aside(aside: Mapping[str, str]) -> None:
    """Warn of the columns that are set aside."""
    if aside:
        warn_user(f"Ignored: {_aside_text(aside)}.")


Made = tuple[tuple[Column, ...], ColumnRecipe | None]


def prepare(sources: dict[str, Source], forced: set[int], max_levels: int, decimal: str = "") -> Made:
    """The columns that can be made of a frame, and how; None where they are as they were.

    ``decimal`` is the decimal mark of the file that it was read from, where that is known.
    """
    preparation = Preparation(list(sources), max_levels, decimal)
    columns: list[Column] = []
    derived: list[Derived] = []
    aside: dict[str, str] = {}
    for i, (name, source) in enumerate(sources.items()):
        try:
            features = preparation.features(name, source, i in forced)
        except SetAside as reason:
            aside[name] = str(reason)
            continue
        columns += [column for column, _ in features]
        derived += [own for _, own in features if own is not None]
    if not columns:
        raise DataError(f"No column of the table can be used: {_aside_text(aside)}.")
    say_aside(aside)
    return tuple(columns), ColumnRecipe(tuple(sources), tuple(derived), aside) if derived or aside else None

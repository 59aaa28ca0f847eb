"""The columns of parts in, how those of dates and times become features out: the recipe of preparation in memory.

Each part says of each of its columns whether it holds dates, and what is known of them; answers add up in the order of
the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pysirus._data.column import DataError, label_column
from pysirus._data.dates import DateColumn, SetAside, typed_dates, written_dates
from pysirus._data.derived import ColumnRecipe, Derived
from pysirus._data.prepare import Preparation, say_aside
from pysirus._data.table import columns_named
from pysirus._data.written import PARTS
from pysirus.engine.parts import Part
from pysirus.engine.read import naming

if TYPE_CHECKING:
    from pysirus.engine.backends.files import FileRows


@dataclass(frozen=True)
class DateColumns:
    """The same of several columns."""

    columns: Mapping[str, DateColumn]

    def __add__(self, other: DateColumns) -> DateColumns:
        added = {}
        for name, own in self.columns.items():
            try:
                added[name] = own + other.columns[name]
            except DataError as error:
                raise DataError(f"Column '{name}' {error}") from error
        return DateColumns(added)


def is_text_type(kind: pa.DataType) -> bool:
    """Whether a column holds plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def may_hold_dates(kind: pa.DataType) -> bool:
    """Whether a column of this type may hold dates, or times of day."""
    return bool(
        is_text_type(kind) or any(test(kind) for test in (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time))
    )


def most_features(kind: pa.DataType) -> int:
    """How many features a column of this type becomes at the most; of text, if it is no dates."""
    return len(PARTS) if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else 1


@dataclass(frozen=True)
class DateQuery:
    """Which of these columns hold dates, and which?"""

    names: Sequence[str]

    def __call__(self, part: Part) -> DateColumns | None:
        part = part.weighing()
        if not len(part.X):
            return None
        with naming(part):
            return DateColumns({name: self._look(name, part.X[name]) for name in self.names})

    def _look(self, name: str, array: pa.ChunkedArray) -> DateColumn:
        return written_dates(label_column(name, array)) if is_text_type(array.type) else typed_dates(name, array)


def date_recipe(names: Sequence[str], found: DateColumns | None) -> ColumnRecipe | None:
    """How the columns of a table that hold dates become features; None where none does."""
    if found is None:
        return None
    preparation = Preparation(names, 0)
    derived: list[Derived] = []
    aside: dict[str, str] = {}
    for name in (name for name in names if name in found.columns):
        try:
            derived += preparation.dates(name, found.columns[name])
        except SetAside as reason:
            aside[name] = str(reason)
    say_aside(aside)
    return ColumnRecipe(tuple(names), tuple(derived), aside) if derived or aside else None


def recipe_of_files(rows: FileRows, categorical: Any) -> ColumnRecipe | None:
    """How columns of files that hold dates become features; rows without a target are told of first, as in memory."""
    rows.say_dropped()
    forced = columns_named(categorical, tuple(rows.features))
    labels = [name for i, name in enumerate(rows.features) if i in forced]
    return date_recipe(rows.features, rows.date_columns(labels))

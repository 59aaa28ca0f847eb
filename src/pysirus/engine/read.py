"""Rows in parts in, how each part is read out: its columns and its response, the same in every pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pysirus._data.recipe import ColumnRecipe
from pysirus._data.table import Table, read_part, read_table
from pysirus._families.response.response import Response
from pysirus._families.target import Target
from pysirus.engine.marks import Marks, Watch, changed, marks_of
from pysirus.engine.parts import Part, RowHolder
from pysirus.engine.response import Extent, Reading, naming, read_response


@dataclass(frozen=True)
class PartReader:
    """A part in, its columns and response out, without rows of weight zero."""

    reading: Reading
    categorical: Any
    names: tuple[str, ...] | None = None  # of the columns, once they are known
    recipe: ColumnRecipe | None = None  # how features are made of columns, where they are not the same

    def __call__(self, part: Part) -> tuple[Table, Response, Marks]:
        with naming(part):
            part = part.weighing()
            table, response = self._table(part.X), self.reading(part)
            found = tuple(column.name for column in table.columns)
        if self.names is not None and found != self.names:
            raise changed(part.name, f"its columns are {', '.join(found[:8])}", self.reading.advice)
        return table, response, marks_of(part, response, table.columns)

    def _table(self, X: Any) -> Table:
        if self.recipe is None:
            return read_table(X, categorical=self.categorical, part=True)
        return read_part(X, self.recipe, categorical=self.categorical)

    def response(self, part: Part) -> tuple[Response, Marks]:
        """The response alone."""
        with naming(part):
            part = part.weighing()
            response = self.reading(part)
        return response, marks_of(part, response)

    def first_row(self, part: Part, first_rows: Mapping[int, int]) -> int:
        """The number of the first row of a part, which an earlier pass has found."""
        if part.number not in first_rows:
            raise changed(part.name, "it had no rows in an earlier pass", self.reading.advice)
        return first_rows[part.number]


@dataclass(frozen=True)
class PartRows:
    """Rows in parts as they came, and what one look at their response has found."""

    rows: RowHolder
    read: PartReader
    extent: Extent
    watch: Watch

    def prepared(self, recipe: ColumnRecipe | None) -> PartRows:
        """The same, with features that are made of columns."""
        return replace(self, read=replace(self.read, recipe=recipe))

    def named(self) -> PartRows:
        """The same, once a pass has found the names of the columns, which must stay."""
        return replace(self, read=replace(self.read, names=tuple(self.watch.names)))

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes; None for numbers."""
        return self.read.reading.no_rows().labels


def scan_response(rows: RowHolder, family: Target, categorical: Any) -> PartRows:
    """Ask for the range of the response, and for the classes."""
    reading, extent, watch = read_response(rows, family)
    return PartRows(rows, PartReader(reading, categorical), extent, watch)

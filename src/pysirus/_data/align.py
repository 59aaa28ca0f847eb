"""New rows in, columns out as a fitted model knows them: by name where both have names, by position otherwise."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from pysirus._data.column import MISSING, UNSEEN, Column, DataError
from pysirus._data.derived import ColumnRecipe, Deriver
from pysirus._data.frame import Problems, Source, as_frame, check_table, frame_sources, is_index, read_column
from pysirus._data.table import Feature, Table, array_columns, array_frame, as_feature, check_column, check_size
from pysirus._text.format import one_line


@dataclass(frozen=True)
class Schema:
    """What a model knows of its tables."""

    features: Sequence[Feature]
    named: bool
    recipe: ColumnRecipe | None = None  # how features are made of columns, where they are not the same

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in their order."""
        return tuple(f.name for f in self.features) if self.recipe is None else self.recipe.columns

    def column_of(self, feature: Feature) -> str:
        """The column that a feature is made of."""
        return feature.name if self.recipe is None else self.recipe.column_of(feature.name)


def _nothing(feature: Feature, n_rows: int) -> Column:
    """A column of missing values."""
    if feature.kind == "numeric":
        return Column(feature.name, "numeric", np.full(n_rows, np.nan))
    return Column(feature.name, feature.kind, np.full(n_rows, MISSING, dtype=np.int16), feature.levels)


def _frame_columns(
    frame: nw.DataFrame[Any], schema: Schema, owner: str, needed: Container[int], *, is_array: bool
) -> tuple[Column, ...]:
    """The columns of a frame as the model knows them, by name where both have names; only those needed must be there.

    A column that nobody needs is read where that can be done, and is missing elsewhere.
    """
    sources, has_names = frame_sources(frame)
    if has_names and schema.named and not is_array:
        known = set(schema.columns)
        found = [name for name, source in sources.items() if name in known or not is_index(name, source)]
        asked = {schema.column_of(feature) for i, feature in enumerate(schema.features) if i in needed}
        _check_names(schema.columns, found, asked)
    else:
        _check_width(len(sources), schema, owner)
        sources = dict(zip(schema.columns, sources.values()))
    columns, problems, read = [], Problems(), _Reader(schema)
    for i, feature in enumerate(schema.features):
        source = sources.get(schema.column_of(feature))
        with problems.gather() if i in needed else suppress(DataError):
            if source is not None:
                columns.append(read(feature, source, said=i in needed))
        if len(columns) <= i:
            columns.append(_nothing(feature, len(frame)))
    problems.check()
    return tuple(columns)


class _Reader:
    """Reads the columns of new rows as a model knows them."""

    def __init__(self, schema: Schema) -> None:
        self._recipe = schema.recipe
        self._derivers = {said: Deriver(warn=said) for said in (True, False)}

    def __call__(self, feature: Feature, source: Source, *, said: bool) -> Column:
        own = None if self._recipe is None else self._recipe.of(feature.name)
        if own is not None and own.take != "group":
            column = self._derivers[said].column(own, source)
        else:
            column = read_column(feature.name, source, feature.kind != "numeric")
            if column.free_text:
                check_column(column)
        return as_feature(column, feature)


def align_table(X: Any, schema: Schema, *, owner: str, needed: Container[int] | None = None) -> Table:
    """Read a table for a fitted model.

    ``needed`` are the numbers of the features that must be there, all of them by default; the others may be missing.
    """
    check_table(X)
    frame = as_frame(X)
    features, is_array = schema.features, frame is None
    if is_array and schema.recipe is not None:
        frame = array_frame(X)
    if frame is None:
        labels = {i for i, feature in enumerate(features) if feature.kind != "numeric"}
        columns = array_columns(X, lambda _: labels)
        _check_width(len(columns), schema, owner)
        columns = tuple(as_feature(column, feature) for column, feature in zip(columns, features))
    else:
        asked = range(len(features)) if needed is None else needed
        columns = _frame_columns(frame, schema, owner, asked, is_array=is_array)
    n_rows = len(columns[0].values)
    check_size(n_rows, len(columns), 1)
    names = tuple(f.name for f in features) if schema.named else None
    return Table(columns, n_rows, names, absent=_absent(frame, schema) if names and not is_array else frozenset())


def _absent(frame: nw.DataFrame[Any] | None, schema: Schema) -> frozenset[int]:
    """The features whose columns a frame with names does not have."""
    found = set() if frame is None else set(frame.columns)
    named = any(isinstance(name, str) for name in found)
    return frozenset(i for i, own in enumerate(schema.features) if named and schema.column_of(own) not in found)


def _check_width(n_columns: int, schema: Schema, owner: str) -> None:
    wanted = len(schema.columns)
    if n_columns != wanted:
        raise DataError(f"X has {n_columns} features, but {owner} is expecting {wanted} features as input.")


def _check_names(known: Sequence[str], found: Iterable[str], asked: Iterable[str]) -> None:
    """Complain of columns that the model asks for and that are not there; others may have been renamed."""
    given = set(found)
    unseen, absent = sorted(given - set(known)), sorted(set(asked) - given)
    if not absent:
        return
    parts = ["The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time", unseen),
        ("Feature names seen at fit time, yet now missing", absent),
    ):
        if names:
            shown = "".join(f"\n- {name}" for name in names[:5]) + ("\n- ..." if len(names) > 5 else "")
            parts.append(f"{title}:{shown}")
    raise DataError("\n".join(parts) + "\n")


def warn_unseen(table: Table, warn: Callable[[str], None]) -> None:
    """Warn once about the number of rows with an unseen category."""
    rows = np.zeros(table.n_rows, dtype=bool)
    named = []
    for column in table.columns:
        if not column.is_numeric and (unseen := column.values == UNSEEN).any():
            rows |= unseen
            named.append(column.name)
    if named:
        warn(
            f"{rows.sum()} of {table.n_rows} rows have an unseen category (in "
            f"{one_line(', '.join(named))}); each condition sends them to the side with more of the training data."
        )

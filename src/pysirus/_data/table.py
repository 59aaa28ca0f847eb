"""Any table in, columns out: by name where it has names, by position otherwise; for a fitted model, as it knew them.

Arrays call their columns x0, x1, ... The row index of a pandas frame is not a column, nor is what becomes of it in a
file.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pysirus._data.arrays import array_columns, columns_named
from pysirus._data.column import MISSING, UNSEEN, Column, ColumnKind, DataError, check_text, number_labels
from pysirus._data.frame import Source, as_frame, frame_sources, is_index, read_column, without_index
from pysirus._data.ids import warn_of_ids
from pysirus._data.problems import Problems
from pysirus._plain import one_line

MAX_LEVELS = 255


@dataclass(frozen=True)
class Table:
    """Columns of equal length."""

    columns: tuple[Column, ...]
    n_rows: int
    names: tuple[str, ...] | None  # None for arrays, whose columns are called x0, x1, ...

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def take(self, rows: NDArray[Any]) -> Table:
        """The table at some rows (a mask or row numbers)."""
        columns = tuple(column.take(rows) for column in self.columns)
        n_rows = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        return Table(columns, n_rows, self.names)


# ---------------------------------------------------------------------------------------------------------- reading


def _check_size(n_rows: int, n_columns: int, minimum: int) -> None:
    if n_columns == 0:
        raise DataError(
            f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required: "
            "the table has no columns."
        )
    if n_rows < minimum:
        raise DataError(
            f"Found array with {n_rows} sample(s): the table has {n_rows} row(s), "
            f"while a minimum of {minimum} is required."
        )


def check_levels(name: str, n_levels: int) -> None:
    """Reject a column of too many levels."""
    if n_levels > MAX_LEVELS:
        raise DataError(
            f"Column '{name}' has {n_levels} categories; at most {MAX_LEVELS} are supported. Group rare "
            "categories, replace it by numbers (a count, a rate, a code with an order), or drop it (--drop)."
        )


class HasLevels(Protocol):
    """A column, or what is known of it."""

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> tuple[Any, ...]: ...
    @property
    def free_text(self) -> bool: ...


def check_columns(columns: Iterable[HasLevels]) -> None:
    """Reject numbers and dates that were read as text, and labels that are too many."""
    problems = Problems()
    for column in columns:
        with problems.gather():
            _check_column(column)
    problems.check()


def _check_column(column: HasLevels) -> None:
    if column.free_text:
        check_text(column.name, column.levels)
    check_levels(column.name, len(column.levels))


def _read_columns(sources: dict[str, Source], forced: set[int], *, part: bool) -> tuple[Column, ...]:
    """The columns of a frame, once all of them can be used; the levels of a part are not judged."""
    columns, problems = [], Problems()
    for i, (name, source) in enumerate(sources.items()):
        with problems.gather():
            column = read_column(name, source, i in forced)
            if not part:
                _check_column(column)
            columns.append(column)
    problems.check()
    return tuple(columns)


def read_table(X: Any, *, categorical: Any = None, part: bool = False) -> Table:
    """Read the training table, or a part of it, which may be short and whose levels are not judged."""
    minimum = 0 if part else 2
    frame = as_frame(X)
    named = False
    if frame is None:
        columns = array_columns(X, lambda names: columns_named(categorical, names))
        n_rows = len(columns[0].values) if columns else 0
        if not part:
            check_columns(columns)
    else:
        sources, named = frame_sources(frame)
        sources = without_index(sources) if named else sources
        forced, n_rows = columns_named(categorical, tuple(sources)), len(frame)
        _check_size(n_rows, len(sources), minimum)
        columns = _read_columns(sources, forced, part=part)
    _check_size(n_rows, len(columns), minimum)
    if named and not part:
        warn_of_ids(columns)
    return Table(columns, n_rows, tuple(column.name for column in columns) if named else None)


@dataclass(frozen=True)
class Feature:
    """What a model remembers of a training column."""

    name: str
    kind: ColumnKind
    levels: tuple[Any, ...] = ()


def _nothing(feature: Feature, n_rows: int) -> Column:
    """A column of missing values."""
    if feature.kind == "numeric":
        return Column(feature.name, "numeric", np.full(n_rows, np.nan))
    return Column(feature.name, feature.kind, np.full(n_rows, MISSING, dtype=np.int16), feature.levels)


def _frame_columns(
    frame: nw.DataFrame[Any], features: Sequence[Feature], named: bool, owner: str, needed: Container[int]
) -> tuple[Column, ...]:
    """The columns of a frame as the model knows them, by name where both have names; only those needed must be there.

    A column that nobody needs is read where that can be done, and is missing elsewhere.
    """
    sources, has_names = frame_sources(frame)
    if has_names and named:
        known = {feature.name for feature in features}
        found = [name for name, source in sources.items() if name in known or not is_index(name, source)]
        _check_names_for(features, found, needed)
        given = [sources.get(feature.name) for feature in features]
    else:
        given = list(sources.values())
        _check_width(len(given), features, owner)
    columns, problems = [], Problems()
    for i, (feature, source) in enumerate(zip(features, given)):
        with problems.gather() if i in needed else suppress(DataError):
            if source is not None:
                columns.append(_read_for(feature, source))
        if len(columns) <= i:
            columns.append(_nothing(feature, len(frame)))
    problems.check()
    return tuple(columns)


def _read_for(feature: Feature, source: Source) -> Column:
    """A column of new rows as the model knows it."""
    column = read_column(feature.name, source, feature.kind != "numeric")
    if column.free_text:
        _check_column(column)
    return _as_feature(column, feature)


def _is_text(levels: tuple[Any, ...]) -> bool:
    return any(isinstance(level, str) for level in levels[:1])


def _as_feature(column: Column, feature: Feature) -> Column:
    """A column as the model knows it: codes in its levels, -2 for an unseen category."""
    if feature.kind == "numeric":
        if not column.is_numeric and not column.levels:  # nothing but missing values
            return Column(feature.name, "numeric", np.full(len(column.values), np.nan))
        if not column.is_numeric:
            raise DataError(
                f"Column '{feature.name}' was numeric in training, now it holds labels such as "
                f"{column.levels[0]!r}. Convert it to numbers."
            )
        return Column(feature.name, "numeric", column.values)
    if column.is_numeric:  # nothing but missing values
        column = number_labels(column.name, column.values)
    position: dict[Any, int] = {level: i for i, level in enumerate(feature.levels)}
    names: Iterable[Any] = column.levels
    if _is_text(column.levels) and not _is_text(feature.levels):  # one strange value makes text of a whole column
        position = {str(level).casefold(): i for level, i in position.items()}
        names = [level.casefold() for level in column.levels]
    elif _is_text(feature.levels) and not _is_text(column.levels):  # none but levels that look like numbers
        names = map(str, column.levels)
    table = np.array([position.get(name, UNSEEN) for name in names] + [-1], dtype=np.int16)
    return Column(feature.name, feature.kind, table[column.values], feature.levels)


def recode_table(table: Table, features: Sequence[Feature]) -> Table:
    """The same rows as a model knows their columns."""
    columns = tuple(_as_feature(column, feature) for column, feature in zip(table.columns, features))
    return Table(columns, table.n_rows, table.names)


def align_table(
    X: Any, features: Sequence[Feature], *, named: bool, owner: str, needed: Container[int] | None = None
) -> Table:
    """Read a table for a fitted model: columns by name where both have names, by position otherwise.

    ``needed`` are the numbers of the columns that must be there, all of them by default; the others may be missing.
    """
    frame = as_frame(X)
    if frame is None:
        labels = {i for i, feature in enumerate(features) if feature.kind != "numeric"}
        columns = array_columns(X, lambda _: labels)
        _check_width(len(columns), features, owner)
        columns = tuple(_as_feature(column, feature) for column, feature in zip(columns, features))
    else:
        needed = range(len(features)) if needed is None else needed
        columns = _frame_columns(frame, features, named, owner, needed)
    n_rows = len(columns[0].values)
    _check_size(n_rows, len(columns), 1)
    return Table(columns, n_rows, tuple(f.name for f in features) if named else None)


def _check_width(n_columns: int, features: Sequence[Feature], owner: str) -> None:
    if n_columns != len(features):
        raise DataError(f"X has {n_columns} features, but {owner} is expecting {len(features)} features as input.")


def _check_names_for(features: Sequence[Feature], found: Iterable[str], needed: Container[int]) -> None:
    """Complain of columns that the model does not know, and of those that it needs and that are not there."""
    given, expected = set(found), {feature.name for feature in features}
    unseen, absent = sorted(given - expected), sorted(expected - given)
    if not unseen and not any(feature.name in absent and i in needed for i, feature in enumerate(features)):
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

"""Any table in, columns out: by name where it has names, by position otherwise; for a fitted model, as it knew them.

Columns of an array are called x0, x1, ... The row index of a pandas frame is not a column, nor is what becomes of it
in a file. Columns of an array are numbers, or categories where the caller says so.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from pysirus._data.column import (
    UNSEEN,
    Column,
    ColumnKind,
    DataError,
    check_text,
    date_error,
    is_number,
    number_column,
    number_labels,
    object_column,
    within_floats,
)
from pysirus._data.derived import ColumnRecipe, Deriver, as_arrow
from pysirus._data.frame import (
    Problems,
    Source,
    as_frame,
    check_table,
    frame_sources,
    read_column,
    say_index,
    warn_of_ids,
    without_index,
)
from pysirus._data.marks import decimal_of
from pysirus._data.prepare import prepare
from pysirus._text.message import InCommand, Parameter, row_named

NUMBER_SIZES = {"f": (4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8)}  # bytes of what the core reads


def columns_named(categorical: Any, names: Sequence[str]) -> set[int]:
    """Column numbers declared categorical by name, by number or by a mask."""
    if categorical is None:
        return set()
    items = [categorical] if isinstance(categorical, (str, numbers.Integral)) else list(categorical)
    if items and all(isinstance(i, (bool, np.bool_)) for i in items):
        if len(items) != len(names):
            raise DataError(
                f"{Parameter('categorical_features')} has {len(items)} flags, the table has {len(names)} columns."
            )
        return {i for i, flag in enumerate(items) if flag}
    position = {name: i for i, name in enumerate(names)}
    found = set()
    for item in items:
        if isinstance(item, str) and item in position:
            found.add(position[item])
        elif isinstance(item, numbers.Integral) and 0 <= int(item) < len(names):
            found.add(int(item))
        else:
            raise DataError(
                f"{Parameter('categorical_features')} names {item!r}, which is not a column. "
                f"Columns are {', '.join(map(repr, list(names)[:8]))}{', ...' if len(names) > 8 else ''}."
            )
    return found


def array_columns(X: Any, labelled: Callable[[Sequence[str]], set[int]]) -> tuple[Column, ...]:
    """The columns of an array; ``labelled`` says which of them hold labels."""
    if hasattr(X, "nnz") and hasattr(X, "toarray"):
        raise _sparse_error(X)
    array = np.asarray(X) if isinstance(X, (list, tuple)) else X
    if array is not X and array.dtype.kind == "U":
        array = np.asarray(X, dtype=object)  # or NumPy would make the text 'nan' of NaN, and text of numbers
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if isinstance(array, np.ndarray) and array.dtype.kind in "OUST" and array.ndim == 2:
        return _object_columns(array.astype(object), labelled)
    if isinstance(array, np.ndarray) and array.dtype.kind in "Mm":
        raise date_error("x0", str(array.dtype))
    if type(array) is not np.ndarray or array.ndim != 2 or array.dtype.kind not in "biuf":  # else there is no complaint
        least = {"ensure_min_samples": 0, "ensure_min_features": 0}
        array = check_array(array, dtype="numeric", ensure_all_finite=False, **least)
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    elif array.dtype.itemsize not in NUMBER_SIZES[array.dtype.kind] or not array.dtype.isnative:
        array = array.astype(np.float64)
    names = [f"x{i}" for i in range(array.shape[1])]
    forced = labelled(names)
    finite = _has_finite_sum(array)  # one pass in the order of memory; else column by column, to name it
    return tuple(
        number_labels(name, array[:, i])
        if i in forced
        else Column(name, "numeric", array[:, i])
        if finite
        else number_column(name, array[:, i])
        for i, name in enumerate(names)
    )


def array_frame(X: Any) -> nw.DataFrame[Any] | None:
    """An array as a frame, column by column, for those that hold more than numbers; None for what has no columns."""
    array = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else X
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        return None
    columns = {i: as_arrow(array[:, i]) for i in range(array.shape[1])}
    table = pa.table({f"x{i}": column for i, column in columns.items()})
    frame: nw.DataFrame[Any] = nw.from_native(table, eager_only=True)
    return frame


class SparseError(DataError, TypeError):
    """The table is a sparse matrix: a ``TypeError`` too, as of scikit-learn's own estimators."""


def _sparse_error(X: Any) -> SparseError:
    """The error for a sparse matrix: what it would take as a table."""
    n_rows, n_columns = X.shape if len(X.shape) == 2 else (X.shape[0], 1)
    size = max(1, round(8 * n_rows * n_columns / 2**20))
    return SparseError(
        f"X is a sparse matrix of {n_rows:,} rows and {n_columns:,} columns, and rules are learned from dense tables. "
        f"Pass X.toarray(), which takes {size:,} MB, or only the columns that matter."
    )


def _has_finite_sum(array: NDArray[Any]) -> bool:
    """Whether an array can hold neither an infinite number nor NaN, as its sum shows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.dtype.kind != "f" or bool(np.isfinite(array.sum()))


def _object_columns(array: NDArray[Any], labelled: Callable[[Sequence[str]], set[int]]) -> tuple[Column, ...]:
    """The columns of an array of objects: numbers, also written as text; labels only where declared."""
    names = [f"x{i}" for i in range(array.shape[1])]
    forced = labelled(names)
    columns = []
    problems = Problems()
    for i, name in enumerate(names):
        with problems.gather():
            columns.append(_object_column(name, array[:, i], forced=i in forced))
    problems.check()
    return tuple(columns)


def _object_column(name: str, values: NDArray[Any], forced: bool) -> Column:
    if forced:
        return object_column(name, values.tolist(), forced=True)
    for row, value in enumerate(values):
        if isinstance(value, str) and not is_number(value):
            raise DataError(
                f"Column '{name}' holds text ({value!r} in {row_named(row)}) where numbers are expected: could not "
                f"convert string to float. Name the column under {Parameter('categorical_features')}, or pass a data "
                "frame."
            )
    values = np.array([within_floats(value) for value in values], dtype=object)
    as_numbers = check_array(values[:, None], dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    return number_column(name, as_numbers[:, 0])


MAX_LEVELS = 255


@dataclass(frozen=True)
class Table:
    """Columns of equal length."""

    columns: tuple[Column, ...]
    n_rows: int
    names: tuple[str, ...] | None  # None for arrays, whose columns are called x0, x1, ...
    recipe: ColumnRecipe | None = None  # how the columns are made of those of the table, where they are not the same
    index: tuple[str, ...] = ()  # columns without a name that were taken as a row index
    absent: frozenset[int] = frozenset()  # columns that a model knows and new rows do not have

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def at(self, rows: Any) -> Table:
        """The table at some rows (a slice or row numbers) with all levels: codes stay those that a model knows."""
        columns = tuple(replace(column, values=column.values[rows]) for column in self.columns)
        return replace(self, columns=columns, n_rows=len(np.arange(self.n_rows)[rows]))

    def take(self, rows: NDArray[Any]) -> Table:
        """The table at some rows (a mask or row numbers)."""
        columns = tuple(column.take(rows) for column in self.columns)
        n_rows = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        return replace(self, columns=columns, n_rows=n_rows)


# ---------------------------------------------------------------------------------------------------------- reading


def check_size(n_rows: int, n_columns: int, minimum: int) -> None:
    """Reject a table without columns, or with too few rows."""
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


class TooManyLevelsError(DataError):
    """A column of too many categories."""


def check_levels(name: str, n_levels: int) -> None:
    """Reject a column of too many categories."""
    if n_levels > MAX_LEVELS:
        raise TooManyLevelsError(
            f"Column '{name}' has {n_levels} categories; at most {MAX_LEVELS} are supported. Group rare "
            "categories, replace it by numbers (a count, a rate, a code with an order), or drop "
            f"it{InCommand('drop', name)}."
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
            check_column(column)
    problems.check()


def check_column(column: HasLevels) -> None:
    """Reject numbers and dates that were read as text, and labels that are too many."""
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
                check_column(column)
            columns.append(column)
    problems.check()
    return tuple(columns)


def read_table(X: Any, *, categorical: Any = None, part: bool = False, max_levels: int | None = None) -> Table:
    """Read the training table, or a part of it, which may be short and whose levels are not judged.

    With ``max_levels`` the table is prepared: what cannot be used as it is becomes what can, or is set aside.
    """
    minimum = 0 if part else 2
    check_table(X)
    frame = as_frame(X)
    is_array = frame is None
    if frame is None:
        try:
            return _read_array(X, categorical, minimum, part=part)
        except DataError:
            frame = None if max_levels is None else array_frame(X)
            if frame is None:
                raise
    sources, named = frame_sources(frame)
    named &= not is_array
    sources, index = without_index(sources) if named else (sources, ())
    if not part:
        say_index(index)
    forced, n_rows, recipe = columns_named(categorical, tuple(sources)), len(frame), None
    check_size(n_rows, len(sources), minimum)
    if max_levels is None:
        columns = _read_columns(sources, forced, part=part)
    else:
        schema = getattr(frame.to_native(), "schema", None)
        decimal = decimal_of(schema) if isinstance(schema, pa.Schema) else ""
        columns, recipe = prepare(sources, forced, max_levels, decimal)
    if named and not part:
        warn_of_ids(columns)
    return Table(columns, n_rows, tuple(column.name for column in columns) if named else None, recipe, index)


def read_part(X: Any, recipe: ColumnRecipe, *, categorical: Any = None) -> Table:
    """Read a part of a training table whose recipe is known; its levels are not judged."""
    frame = as_frame(X)
    assert frame is not None
    sources, index = without_index(frame_sources(frame)[0])
    forced, deriver, columns, problems = columns_named(categorical, tuple(sources)), Deriver(), [], Problems()
    for i, (name, source) in enumerate(sources.items()):
        own = [derived for derived in recipe.derived if derived.column == name]
        with problems.gather():
            if own:
                columns += [deriver.column(derived, source) for derived in own]
            elif name not in recipe.aside:
                columns.append(read_column(name, source, i in forced))
    problems.check()
    return Table(tuple(columns), len(frame), tuple(column.name for column in columns), recipe, index)


def _read_array(X: Any, categorical: Any, minimum: int, *, part: bool) -> Table:
    columns = array_columns(X, lambda names: columns_named(categorical, names))
    n_rows = len(columns[0].values) if columns else 0
    if not part:
        check_columns(columns)
    check_size(n_rows, len(columns), minimum)
    return Table(columns, n_rows, None)


@dataclass(frozen=True)
class Feature:
    """What a model remembers of a training column."""

    name: str
    kind: ColumnKind
    levels: tuple[Any, ...] = ()
    other: str = ""  # the level of rare and unseen categories, where there is one
    is_date: bool = False  # whether its numbers are moments, in days from 1970


def _is_text(levels: tuple[Any, ...]) -> bool:
    return any(isinstance(level, str) for level in levels[:1])


def as_feature(column: Column, feature: Feature) -> Column:
    """A column as the model knows it: codes in its levels, -2 for an unseen category."""
    if feature.kind == "numeric":
        if not column.is_numeric and not column.levels:  # nothing but missing values
            return Column(feature.name, "numeric", np.full(len(column.values), np.nan))
        if not column.is_numeric:
            raise DataError(
                f"Column '{feature.name}' was numeric in training, now it holds labels such as "
                f"{column.levels[0]!r}. Convert it to numbers."
            )
        same = column.name == feature.name and column.is_date == feature.is_date
        return column if same else Column(feature.name, "numeric", column.values, is_date=feature.is_date)
    if column.is_numeric:  # nothing but missing values
        column = number_labels(column.name, column.values)
    position: dict[Any, int] = {level: i for i, level in enumerate(feature.levels)}
    names: Iterable[Any] = column.levels
    if _is_text(column.levels) and not _is_text(feature.levels):  # one strange value makes text of a whole column
        position = {str(level).casefold(): i for level, i in position.items()}
        names = [level.casefold() for level in column.levels]
    elif _is_text(feature.levels) and not _is_text(column.levels):  # none but levels that look like numbers
        names = map(str, column.levels)
    unseen = position.get(feature.other, UNSEEN) if feature.other else UNSEEN
    table = np.array([position.get(name, unseen) for name in names] + [-1], dtype=np.int16)
    return Column(feature.name, feature.kind, table[column.values], feature.levels)


def recode_table(table: Table, features: Sequence[Feature]) -> Table:
    """The same rows as a model knows their columns."""
    columns = tuple(as_feature(column, feature) for column, feature in zip(table.columns, features))
    return Table(columns, table.n_rows, table.names)

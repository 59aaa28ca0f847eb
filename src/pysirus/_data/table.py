"""Any table in, columns out: by name where it has names, by position otherwise; for a fitted model, as it knew them.

Arrays call their columns x0, x1, ... The row index of a pandas frame is not a column, nor is what becomes of it in a
file.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals as nw
import numpy as np
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
)
from pysirus._data.frame import as_frame, frame_sources, is_index, read_column, without_index
from pysirus._plain import one_line

MAX_LEVELS = 255
NUMBER_SIZES = {"f": (4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8)}  # bytes of what the core reads


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


# ---------------------------------------------------------------------------------------------------------- arrays


def _forced(categorical: Any, names: Sequence[str]) -> set[int]:
    """Column numbers declared categorical by name, by number or by a mask."""
    if categorical is None:
        return set()
    items = [categorical] if isinstance(categorical, (str, numbers.Integral)) else list(categorical)
    if items and all(isinstance(i, (bool, np.bool_)) for i in items):
        if len(items) != len(names):
            raise DataError(f"categorical_features has {len(items)} flags, the table has {len(names)} columns.")
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
                f"categorical_features names {item!r}, which is not a column. "
                f"Columns are {', '.join(map(repr, list(names)[:8]))}{', ...' if len(names) > 8 else ''}."
            )
    return found


def _array_columns(X: Any, labelled: Callable[[Sequence[str]], set[int]]) -> tuple[Column, ...]:
    """The columns of an array; ``labelled`` says which of them hold labels."""
    array = np.asarray(X) if isinstance(X, (list, tuple)) else X
    if array is not X and array.dtype.kind == "U":
        array = np.asarray(X, dtype=object)  # or NumPy would make the text 'nan' of NaN, and text of numbers
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if isinstance(array, np.ndarray) and array.dtype.kind in "OUST" and array.ndim == 2:
        return _object_columns(array.astype(object), labelled)
    if isinstance(array, np.ndarray) and array.dtype.kind in "Mm":
        raise date_error("x0", str(array.dtype))
    array = check_array(array, dtype="numeric", ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
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


def _has_finite_sum(array: NDArray[Any]) -> bool:
    """Whether an array can hold neither an infinite number nor NaN, as its sum shows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.dtype.kind != "f" or bool(np.isfinite(array.sum()))


def _object_columns(array: NDArray[Any], labelled: Callable[[Sequence[str]], set[int]]) -> tuple[Column, ...]:
    """The columns of an array of objects: numbers, also written as text; labels only where declared."""
    names = [f"x{i}" for i in range(array.shape[1])]
    forced = labelled(names)
    columns = []
    for i, name in enumerate(names):
        values = array[:, i]
        if i in forced:
            columns.append(object_column(name, values.tolist(), forced=True))
            continue
        for row, value in enumerate(values):
            if isinstance(value, str) and not is_number(value):
                raise DataError(
                    f"Column '{name}' holds text ({value!r} in row {row}) where numbers are expected: could not "
                    "convert string to float. Name the column under categorical_features, or pass a data frame."
                )
        as_numbers = check_array(values[:, None], dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
        columns.append(number_column(name, as_numbers[:, 0]))
    return tuple(columns)


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
    for column in columns:
        if column.free_text:
            check_text(column.name, column.levels)
        check_levels(column.name, len(column.levels))


def read_table(X: Any, *, categorical: Any = None, part: bool = False) -> Table:
    """Read the training table, or a part of it, which may be short and whose levels are not judged."""
    minimum = 0 if part else 2
    frame = as_frame(X)
    named = False
    if frame is None:
        columns = _array_columns(X, lambda names: _forced(categorical, names))
        n_rows = len(columns[0].values) if columns else 0
    else:
        sources, named = frame_sources(frame)
        sources = without_index(sources) if named else sources
        forced, n_rows = _forced(categorical, tuple(sources)), len(frame)
        _check_size(n_rows, len(sources), minimum)
        columns = tuple(read_column(name, source, i in forced) for i, (name, source) in enumerate(sources.items()))
    _check_size(n_rows, len(columns), minimum)
    if not part:
        check_columns(columns)
    return Table(columns, n_rows, tuple(column.name for column in columns) if named else None)


@dataclass(frozen=True)
class Feature:
    """What a model remembers of a training column."""

    name: str
    kind: ColumnKind
    levels: tuple[Any, ...] = ()


def _frame_columns(frame: nw.DataFrame[Any], features: Sequence[Feature], named: bool) -> tuple[Column, ...]:
    """The columns of a frame, those of the model by name where both have names."""
    sources, has_names = frame_sources(frame)
    if has_names and named:
        expected = {feature.name: feature for feature in features}
        _check_same_names([name for name, s in sources.items() if name in expected or not is_index(name, s)], expected)
        sources = {name: sources[name] for name in expected}
    labels = {i for i, feature in enumerate(features) if feature.kind != "numeric"}
    columns = tuple(read_column(name, source, i in labels) for i, (name, source) in enumerate(sources.items()))
    check_columns(column for column in columns if column.free_text)
    return columns


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


def align_table(X: Any, features: Sequence[Feature], *, named: bool, owner: str) -> Table:
    """Read a table for a fitted model: columns by name where both have names, by position otherwise."""
    frame = as_frame(X)
    if frame is None:
        labels = {i for i, feature in enumerate(features) if feature.kind != "numeric"}
        columns = _array_columns(X, lambda _: labels)
    else:
        columns = _frame_columns(frame, features, named)
    if len(columns) != len(features):
        raise DataError(f"X has {len(columns)} features, but {owner} is expecting {len(features)} features as input.")
    n_rows = len(columns[0].values)
    _check_size(n_rows, len(columns), 1)
    return recode_table(Table(columns, n_rows, tuple(f.name for f in features) if named else None), features)


def _check_same_names(found: Iterable[str], expected: Iterable[str]) -> None:
    unseen = sorted(set(found) - set(expected))
    absent = sorted(set(expected) - set(found))
    if not unseen and not absent:
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

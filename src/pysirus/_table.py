"""Any table in, columns out: names, kinds, values. Every complaint about data is made here.

A numeric column keeps its values, NaN for missing. A categorical column is codes into its sorted levels, -1 for missing
and -2, at predict, for a level that training never saw.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

Kind = Literal["numeric", "categorical", "ordered"]
MAX_LEVELS = 255
UNSEEN = -2


class DataError(ValueError):
    """The data cannot be used; the message names the column, what was found and what to do."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    kind: Kind
    values: NDArray[Any]
    levels: tuple[Any, ...] = ()

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers rather than levels."""
        return self.kind == "numeric"

    def missing(self) -> NDArray[np.bool_] | None:
        """Which values are missing; None when there are none."""
        if self.is_numeric:
            if self.values.dtype.kind != "f":
                return None
            mask = np.isnan(self.values)
        else:
            mask = self.values == -1
        return mask if mask.any() else None

    def without_values(self) -> Column:
        """The column's name, kind and levels alone."""
        return replace(self, values=self.values[:0].copy())

    def take(self, rows: NDArray[Any]) -> Column:
        """The column at some rows."""
        return replace(self, values=self.values[rows])


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


# ---------------------------------------------------------------------------------------------------------- frames


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals frame, lazy ones collected; None when it is not a frame."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _row_of(mask: NDArray[np.bool_]) -> int:
    return int(np.flatnonzero(mask)[0])


def _check_finite(name: str, values: NDArray[Any]) -> None:
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = _row_of(np.isinf(values))
        raise DataError(
            f"Column '{name}' contains infinity (inf), first in row {row}. "
            "Replace it by a finite number, or by NaN if the value is not known."
        )


def _numbers(name: str, series: nw.Series[Any]) -> NDArray[Any]:
    if series.null_count() > 0 or isinstance(series.dtype, nw.Decimal):
        values: NDArray[Any] = series.cast(nw.Float64).to_arrow().to_numpy(zero_copy_only=False)
    else:
        values = series.to_numpy()
    if values.dtype.kind not in "fiu":
        values = values.astype(np.float64)
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    _check_finite(name, values)
    return values


def _sorted_levels(levels: Iterable[Any]) -> list[Any]:
    levels = list(levels)
    try:
        return sorted(levels)
    except TypeError:
        return sorted(levels, key=lambda level: (type(level).__name__, str(level)))


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def _check_levels(name: str, levels: Sequence[Any], forced: bool) -> None:
    kinds = sorted({type(level).__name__ for level in levels})
    if len(kinds) > 1:
        example = ", ".join(repr(next(v for v in levels if type(v).__name__ == kind)) for kind in kinds[:3])
        raise DataError(
            f"Column '{name}' mixes types ({', '.join(kinds)}; for example {example}). Make it all numbers or all text."
        )
    like_numbers = [level for level in levels if isinstance(level, str) and _is_number(level)]
    if not forced and len(like_numbers) > max(1, len(levels) // 2):
        text = next((level for level in levels if not _is_number(level)), None)
        found = f"numbers and text (for example {text!r})" if text is not None else "numbers written as text"
        raise DataError(
            f"Column '{name}' holds {found}. Convert it to numbers, or name it under categorical features "
            "if its values are labels."
        )


def _from_arrow(name: str, array: pa.Array | pa.ChunkedArray, forced: bool) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes and sorted levels of a column of labels."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # older pyarrow returns a chunked array of one chunk
        array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    values = array.dictionary.to_pylist()
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    codes = np.where([v is None for v in values] + [True], -1, np.arange(len(values) + 1))[codes] if values else codes
    used = [v for v in values if v is not None]
    _check_levels(name, used, forced)
    levels = _sorted_levels(used)
    rank = {level: i for i, level in enumerate(levels)}
    table = np.array([-1 if v is None else rank[v] for v in values] + [-1], dtype=np.int64)
    return table[codes], levels


def _objects(name: str, series: nw.Series[Any]) -> pa.Array:
    """A column of Python objects as an arrow array; a mixture is refused."""
    items = [None if v is None or v != v else v for v in series.to_list()]
    kinds = {type(v) for v in items if v is not None}
    if len(kinds) > 1 and not all(issubclass(k, numbers.Real) and not issubclass(k, (bool, np.bool_)) for k in kinds):
        _check_levels(name, [next(v for v in items if type(v) is kind) for kind in kinds], forced=False)
    try:
        return pa.array(items)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"Column '{name}' holds {kinds.pop().__name__} objects, which are neither numbers nor labels. "
            "Turn them into numbers or text, or drop the column."
        ) from error


def _ordered_levels(series: nw.Series[Any]) -> list[Any] | None:
    """The levels of an ordered categorical in their order, or None."""
    native = series.to_native()
    if getattr(getattr(native, "dtype", None), "ordered", False):
        return list(native.cat.categories)
    if isinstance(series.dtype, nw.Enum) and hasattr(series.dtype, "categories"):
        dtype = getattr(native, "dtype", None)
        if getattr(dtype, "ordered", True):
            return list(series.dtype.categories)
    return None


def _labels(name: str, series: nw.Series[Any], forced: bool) -> Column | None:
    """A column of labels; None when a column of objects turns out to be numbers."""
    array = _objects(name, series) if isinstance(series.dtype, nw.Object) else series.to_arrow()
    value_type = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if (
        not forced
        and isinstance(series.dtype, nw.Object)
        and (pa.types.is_integer(value_type) or pa.types.is_floating(value_type) or pa.types.is_null(value_type))
    ):
        return None
    if pa.types.is_temporal(value_type):
        raise _date_error(name, str(value_type))
    categorical = isinstance(series.dtype, (nw.Categorical, nw.Enum, nw.Boolean))
    codes, levels = _from_arrow(name, array, forced or categorical)
    order = _ordered_levels(series)
    if order is not None:
        rank = {level: i for i, level in enumerate(order)}
        codes = np.array([rank[level] for level in levels] + [-1], dtype=np.int64)[codes]
        return Column(name, "ordered", codes, tuple(order))
    return Column(name, "categorical", codes, tuple(levels))


def _date_error(name: str, found: str) -> DataError:
    return DataError(
        f"Column '{name}' holds dates or times ({found}). Rules need numbers or labels: derive what matters, for "
        "example the year, the weekday or the days since an event, or drop the column."
    )


def _frame_column(name: str, series: nw.Series[Any], forced: bool) -> Column:
    dtype = series.dtype
    if dtype.is_temporal():
        raise _date_error(name, str(dtype))
    if forced and dtype.is_numeric():
        return _number_labels(name, _numbers(name, series))
    if dtype.is_numeric():
        return Column(name, "numeric", _numbers(name, series))
    if isinstance(dtype, nw.Unknown) and series.null_count() == len(series):
        return Column(name, "numeric", np.full(len(series), np.nan))
    if isinstance(dtype, (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object)):
        column = _labels(name, series, forced)
        if column is None:
            values = np.array([np.nan if v is None or v != v else float(v) for v in series.to_list()])
            _check_finite(name, values)
            return Column(name, "numeric", values)
        return column
    raise DataError(f"Column '{name}' has type {dtype}, which is neither numbers nor labels. Convert or drop it.")


def _number_labels(name: str, values: NDArray[Any]) -> Column:
    """A numeric column declared categorical: its distinct numbers are its levels."""
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
    distinct, inverse = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known] = inverse
    levels = tuple(int(v) if float(v).is_integer() else float(v) for v in distinct)
    return Column(name, "categorical", codes, levels)


def check_names(names: Sequence[Any]) -> tuple[str, ...]:
    """Column names as text, each once."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"Column names must be text, found {name!r}. Rename the columns, for example with str().")
        if name in seen:
            raise DataError(f"Column name '{name}' occurs more than once. Rename or drop one of the columns.")
        seen.add(name)
    return tuple(names)


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


def _forced(categorical: Any, names: Sequence[str]) -> set[int]:
    """Column numbers declared categorical by name, by number or by a mask."""
    if categorical is None:
        return set()
    items = [categorical] if isinstance(categorical, str) else list(categorical)
    if items and all(isinstance(i, (bool, np.bool_)) for i in items):
        if len(items) != len(names):
            raise DataError(f"categorical_features has {len(items)} flags, the table has {len(names)} columns.")
        return {i for i, flag in enumerate(items) if flag}
    found = set()
    for item in items:
        if isinstance(item, str) and item in names:
            found.add(list(names).index(item))
        elif isinstance(item, numbers.Integral) and 0 <= int(item) < len(names):
            found.add(int(item))
        else:
            raise DataError(
                f"categorical_features names {item!r}, which is not a column. "
                f"Columns are {', '.join(map(repr, list(names)[:8]))}{', ...' if len(names) > 8 else ''}."
            )
    return found


def _array_columns(X: Any, categorical: Any) -> tuple[Column, ...]:
    array = np.asarray(X) if isinstance(X, (list, tuple)) else X
    if isinstance(array, np.ndarray) and array.dtype.kind in "OUS" and array.ndim == 2:
        array = _parse_objects(array, categorical)
        if isinstance(array, tuple):
            return array
    array = check_array(array, dtype="numeric", ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    names = [f"x{i}" for i in range(array.shape[1])]
    forced = _forced(categorical, names)
    columns = []
    for i, name in enumerate(names):
        values = array[:, i]
        _check_finite(name, values)
        columns.append(_number_labels(name, values) if i in forced else Column(name, "numeric", values))
    return tuple(columns)


def _parse_objects(array: NDArray[Any], categorical: Any) -> NDArray[Any] | tuple[Column, ...]:
    """An array of objects: numbers as they are, text only in columns declared categorical."""
    names = [f"x{i}" for i in range(array.shape[1])]
    forced = _forced(categorical, names)
    if not forced:
        for i, name in enumerate(names):
            for row, value in enumerate(array[:, i]):
                if isinstance(value, str) and not _is_number(value):
                    raise DataError(
                        f"Column '{name}' holds text ({value!r} in row {row}) where numbers are expected: could not "
                        "convert string to float. Name the column under categorical_features, or pass a data frame."
                    )
        return array
    columns: list[Column] = []
    for i, name in enumerate(names):
        if i in forced:
            items = [None if v is None or v != v else v for v in array[:, i].tolist()]
            codes, levels = _from_arrow(name, pa.array(items), forced=True)
            columns.append(Column(name, "categorical", codes, tuple(levels)))
        else:
            values = _parse_objects(array[:, [i]], None)
            assert isinstance(values, np.ndarray)
            column = Column(name, "numeric", values[:, 0].astype(np.float64))
            _check_finite(name, column.values)
            columns.append(column)
    return tuple(columns)


def read_table(X: Any, *, categorical: Any = None, minimum: int = 2) -> Table:
    """Read the training table."""
    frame = as_frame(X)
    if frame is None:
        columns = _array_columns(X, categorical)
        _check_size(len(columns[0].values) if columns else 0, len(columns), minimum)
        return Table(columns, len(columns[0].values), None)
    names = check_names(frame.columns)
    _check_size(len(frame), len(names), minimum)
    forced = _forced(categorical, names)
    columns = tuple(_frame_column(name, frame[name], i in forced) for i, name in enumerate(names))
    for column in columns:
        if len(column.levels) > MAX_LEVELS:
            raise DataError(
                f"Column '{column.name}' has {len(column.levels)} levels; at most {MAX_LEVELS} are taken. Group its "
                "rare levels, replace it by numbers (a count, a rate, a code with an order), or drop it."
            )
    return Table(columns, len(frame), names)


@dataclass(frozen=True)
class Feature:
    """What a model remembers of a training column."""

    name: str
    kind: Kind
    levels: tuple[Any, ...] = ()


def _recode(column: Column, feature: Feature) -> NDArray[np.int64]:
    """Codes in the model's levels; -1 for missing, -2 for a level that training never saw."""
    position = {level: i for i, level in enumerate(feature.levels)}
    table = np.array([position.get(level, UNSEEN) for level in column.levels] + [-1], dtype=np.int64)
    return np.asarray(table[column.values])


def align_table(X: Any, features: Sequence[Feature], *, named: bool, owner: str) -> Table:
    """Read a table for a fitted model: columns by name where both have names, by position otherwise."""
    frame = as_frame(X)
    categorical = [i for i, feature in enumerate(features) if feature.kind != "numeric"]
    if frame is None:
        columns = _array_columns(X, categorical or None)
    else:
        names = check_names(frame.columns)
        if named:
            _check_same_names(names, [feature.name for feature in features])
            frame = frame.select([feature.name for feature in features])
        columns = tuple(
            _frame_column(name, frame[name], i < len(features) and features[i].kind != "numeric")
            for i, name in enumerate(frame.columns)
        )
    if len(columns) != len(features):
        raise DataError(f"X has {len(columns)} features, but {owner} is expecting {len(features)} features as input.")
    n_rows = len(columns[0].values)
    _check_size(n_rows, len(columns), 1)
    aligned = []
    for column, feature in zip(columns, features):
        if feature.kind == "numeric":
            if not column.is_numeric:
                raise DataError(
                    f"Column '{feature.name}' was numeric in training, now it holds labels such as "
                    f"{column.levels[0] if column.levels else None!r}. Convert it to numbers."
                )
            aligned.append(Column(feature.name, "numeric", column.values))
        else:
            if column.is_numeric:  # a column of objects that held nothing but missing values, or numbers
                column = _number_labels(column.name, column.values)
            aligned.append(Column(feature.name, feature.kind, _recode(column, feature), feature.levels))
    return Table(tuple(aligned), n_rows, tuple(f.name for f in features) if named else None)


def _check_same_names(found: Sequence[str], expected: Sequence[str]) -> None:
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


# --------------------------------------------------------------------------------------------------------- response


def _plain_series(y: Any) -> Any:
    """A response given as a series or a frame of one column, as an array."""
    series = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series):
        return series.to_numpy()
    frame = as_frame(y)
    return y if frame is None else frame.to_numpy()


def read_numbers(y: Any, n_rows: int, what: str = "y") -> NDArray[np.float64]:
    """A regression response: finite numbers, one a row."""
    if y is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    array = column_or_1d(_plain_series(y), warn=True)
    if array.dtype.kind in "OUS":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{what} must be numbers, found {array[0]!r}. For classes use a classifier.") from error
    if array.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {what} holds complex numbers.")
    array = array.astype(np.float64)
    check_consistent_length(array, np.empty(n_rows))
    bad = ~np.isfinite(array)
    if bad.any():
        row = _row_of(bad)
        raise DataError(
            f"Input {what} contains NaN or infinity: {array[row]} in row {row}"
            f"{f' and {bad.sum() - 1} more' if bad.sum() > 1 else ''}. "
            "Rows without a response cannot be learned from: drop them."
        )
    if not np.isfinite(array.max() - array.min()):
        raise DataError(f"The range of {what} overflows; rescale it.")
    return np.asarray(array)


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Row weights: finite, not negative, not all zero. None when all are equal to one."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        raise DataError("sample_weight must be one weight per row, found a single number.")
    weights = np.asarray(_plain_series(sample_weight))
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D: sample_weight has shape {weights.shape}.")
    weights = weights.astype(np.float64)
    if len(weights) != n_rows:
        raise DataError(f"sample_weight.shape == {weights.shape}, expected ({n_rows},): one weight per row.")
    for bad, found in ((~np.isfinite(weights), "NaN or infinity"), (weights < 0, "a negative weight")):
        if bad.any():
            raise DataError(
                f"sample_weight contains {found}: {weights[_row_of(bad)]} in row {_row_of(bad)}. "
                "Weights must be finite and at least 0."
            )
    if not (weights > 0).any():
        raise DataError("sample_weight is zero for every row: there is nothing to learn from.")
    return None if (weights == 1).all() else weights


def warn_unseen(table: Table, warn: Callable[[str], None]) -> None:
    """Say once how many rows hold a level that training never saw."""
    rows = np.zeros(table.n_rows, dtype=bool)
    named = []
    for column in table.columns:
        if not column.is_numeric and (unseen := column.values == UNSEEN).any():
            rows |= unseen
            named.append(column.name)
    if named:
        warn(
            f"{rows.sum()} of {table.n_rows} rows hold a level that training never saw (in {', '.join(named)}); each "
            "condition sends them to the side that held more of the training data."
        )

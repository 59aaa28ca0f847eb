"""The arguments of fit in, columns by name and the rows that count out, before any value is read; and what is wrong.

Rows of weight zero do not count and, where asked for, rows without a target. They are removed before anything is read,
so a row of weight zero may have a missing target or invalid values.

A row index is not a column. The row index of a pandas frame becomes a column when it goes through a file; it is
recognised by the name it gets there.

One error names every problem of a table, not one column at a time. A warning names likely ids: a rule on the number of
a row says nothing of new rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import Column, DataError, is_missing, is_unicode, number_column, number_labels, series_column
from pysirus._runtime.console import warn_user
from pysirus._text.format import one_line
from pysirus._text.message import InCommand, renumbered, say, setting

WIDE = 1000  # columns
# What pandas calls its row index in Arrow and Parquet, and in a CSV file that is read back.
_STORED_INDEX = re.compile(r"__index_level_\d+__")
_UNNAMED_INDEX = re.compile(r"(Unnamed: 0(\.\d+)?)?")


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals frame, lazy ones collected; None when it is not a frame."""
    if isinstance(X, np.ndarray):
        return None
    X = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        check_names(list(getattr(X, "column_names", X.columns)))  # of a pyarrow table, whose columns are arrays
        raise
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def check_table(X: Any) -> None:
    """Refuse one row, or one column, that was taken out of its table."""
    if isinstance(X, np.ndarray):
        return
    if isinstance(X, dict) and not hasattr(X, "nnz"):  # which some sparse matrices are
        raise DataError(
            "X must be a table, found a dict. Make a table of one row with pandas.DataFrame([row]) or "
            "polars.DataFrame([row]), one of columns with pandas.DataFrame(columns)."
        )
    series = None if isinstance(X, nw.DataFrame) else nw.from_native(X, pass_through=True, series_only=True)
    if isinstance(series, nw.Series):
        raise DataError(
            f"X must be a table, found a Series of {len(series):,} values. Take one row as a table: in pandas "
            "X.iloc[[3]], in polars X[[3]], in pyarrow X.slice(3, 1). One column: X[['age']]."
        )


def check_names(names: Sequence[Any]) -> tuple[str, ...]:
    """Column names as text, each once."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise DataError(
                f"Feature names are only supported if all input features have string names, found {name!r}. "
                "Rename the columns, for example with str()."
            )
        if not is_unicode(name):
            raise DataError(f"The column name {name!r} is no valid Unicode. Rename the column.")
        if name in seen:
            raise DataError(f"Column name '{name}' occurs more than once. Rename or drop one of the columns.")
        seen.add(name)
    return tuple(names)


def check_features(features: Sequence[Any]) -> None:
    """Reject a table of which nothing is left to learn from."""
    if not features:
        raise DataError("No feature is left besides the target, the sample weights and the dropped columns.")


Source = nw.Series[Any] | NDArray[Any]


def _wide_values(frame: nw.DataFrame[Any]) -> NDArray[Any] | None:
    """The values of a wide pandas frame of plain numbers: much faster as one array than column by column."""
    types = getattr(frame.to_native(), "dtypes", None)
    if len(frame.columns) < WIDE or types is None:
        return None
    kinds = set(types)
    plain = len(kinds) == 1 and isinstance(kind := kinds.pop(), np.dtype) and kind.kind in "fiu"
    return frame.to_numpy() if plain else None


def frame_sources(frame: nw.DataFrame[Any]) -> tuple[dict[str, Source], bool]:
    """The columns of a frame, and whether they have names; a frame made of an array has numbers for names."""
    named = not frame.columns or any(isinstance(name, str) for name in frame.columns)
    names = check_names(frame.columns) if named else [f"x{i}" for i in range(len(frame.columns))]
    values = _wide_values(frame)
    return dict(zip(names, frame.iter_columns() if values is None else values.T)), named


def read_column(name: str, source: Source, forced: bool) -> Column:
    """A column of a frame; ``forced`` takes numbers as labels."""
    if isinstance(source, nw.Series):
        return series_column(name, source, forced)
    return number_labels(name, source) if forced else number_column(name, source)


def is_index(name: str, source: Source) -> bool:
    """Whether a column is a row index that went through a file: by its name, and by numbers that occur once."""
    if _STORED_INDEX.fullmatch(name):
        return True
    if not _UNNAMED_INDEX.fullmatch(name):
        return False
    if isinstance(source, nw.Series):
        return source.dtype.is_integer() and bool(source.is_unique().all())
    return source.dtype.kind in "iu" and len(np.unique(source)) == len(source)


def without_index(columns: dict[str, Source]) -> tuple[dict[str, Source], tuple[str, ...]]:
    """The columns of a frame but for its row index, and what of that has no name of an index."""
    index = [name for name, source in columns.items() if is_index(name, source)]
    unnamed = tuple(name for name in index if not _STORED_INDEX.fullmatch(name))
    return {name: source for name, source in columns.items() if name not in index} if index else columns, unnamed


def say_index(unnamed: Sequence[str]) -> None:
    """Warn of a column without a name that was taken as a row index."""
    if unnamed:
        warn_user(
            f"Column '{one_line(unnamed[0])}' numbers the rows: it is taken as an index and left out. Rename it to "
            "keep it."
        )


def rows_that_weigh(sample_weight: Any) -> NDArray[np.bool_] | None:
    """Which rows have positive weight; None if all do, or if weights are invalid (an error when they are read)."""
    if sample_weight is None:
        return None
    series = nw.from_native(sample_weight, pass_through=True, allow_series=True)
    try:
        weights = np.asarray(series.to_numpy() if isinstance(series, nw.Series) else sample_weight, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        return None
    if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
        return None
    rows = weights > 0
    return None if rows.all() else rows


def take(data: Any, rows: NDArray[np.bool_]) -> Any:
    """Some rows of a table or of a column; None where it has another number of rows."""
    numbers = np.flatnonzero(rows)
    if isinstance(data, (list, tuple)):
        return [data[i] for i in numbers] if len(data) == len(rows) else None
    frame: Any = nw.from_native(data, pass_through=True, allow_series=True)
    frame = frame if isinstance(frame, nw.Series) else as_frame(data)
    if frame is not None:
        return frame[numbers].to_native() if len(frame) == len(rows) else None
    array = data if hasattr(data, "shape") else np.asarray(data)
    return array[numbers] if array.ndim and array.shape[0] == len(rows) else None


def rows_with_target(y: Any) -> NDArray[np.bool_] | None:
    """Which rows have a target; None if all have."""
    series = y if isinstance(y, np.ndarray) else nw.from_native(y, pass_through=True, allow_series=True)
    frame = None if isinstance(series, (nw.Series, np.ndarray)) else as_frame(y)
    if frame is not None and len(frame.columns) == 1:
        series = frame[frame.columns[0]]
    if isinstance(series, nw.Series):
        rows = ~series.is_null().to_numpy()
        if series.dtype.is_float():
            rows &= ~np.isnan(series.to_numpy())
    else:
        array = np.asarray(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
        if array.ndim != 1 or array.dtype.kind not in "fOMm":
            return None
        nothing = np.isnat if array.dtype.kind in "Mm" else np.isnan
        rows = np.array([not is_missing(v) for v in array]) if array.dtype.kind == "O" else ~nothing(array)
    return None if rows.all() else rows.astype(bool)


def which_count(y: Any, sample_weight: Any, *, need_target: bool) -> NDArray[np.bool_] | None:
    """Which rows have positive weight and, where needed, a target; None if all do."""
    found = [rows_that_weigh(sample_weight), rows_with_target(y) if need_target else None]
    masks = [rows for rows in found if rows is not None]
    if len({len(rows) for rows in masks}) > 1:  # which is said when they are read
        return masks[0]
    return np.logical_and.reduce(masks) if masks else None


def without_target(y: Any, sample_weight: Any) -> int:
    """How many rows that weigh something have no target."""
    rows, weighing = rows_with_target(y), rows_that_weigh(sample_weight)
    if rows is None:
        return 0
    return int((~rows if weighing is None or len(weighing) != len(rows) else ~rows & weighing).sum())


def say_dropped(n_gone: int, n_rows: int) -> None:
    """Warn of rows that are left out for want of a target."""
    if n_gone:
        warn_user(f"{n_gone:,} of {n_rows:,} rows have no target and are left out.")


@contextmanager
def counting(rows: NDArray[np.bool_] | None, why: str = "weight zero") -> Iterator[None]:
    """Errors about some rows of a table say which rows of the table they are, or why there are so few."""
    try:
        yield
    except DataError as error:
        if rows is None:
            raise
        numbers = np.flatnonzero(rows).tolist()
        error.reword(lambda message: renumbered(message, numbers.__getitem__))
        if "row(s)" not in error.message:
            raise
        raise DataError(f"{error.message} ({(~rows).sum()} rows of {why} do not count.)") from error


@contextmanager
def without_weightless(X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The arguments of fit, without rows of weight zero."""
    with rows_that_count(X, y, sample_weight, need_target=False) as taken:
        yield taken


@contextmanager
def rows_that_count(X: Any, y: Any, sample_weight: Any, *, need_target: bool) -> Iterator[tuple[Any, Any, Any]]:
    """The arguments of fit, without rows of weight zero and, if that is needed, without those that have no target."""
    given = X, y, sample_weight
    rows = which_count(y, sample_weight, need_target=need_target)
    if rows is not None and rows.any():  # or there is nothing to learn from, which is said when they are read
        weights = () if sample_weight is None else (sample_weight,)
        taken = tuple(take(data, rows) for data in (X, y, *weights))
        if all(data is not None for data in taken):  # or lengths differ, which is said when they are read
            if need_target:
                say_dropped(without_target(y, sample_weight), len(rows))
            with counting(rows, "weight zero or without a target" if need_target else "weight zero"):
                yield (*taken, None)[:3]
            return
    yield given


SHOWN = 20
PREPARE = f"Or try {setting('prepare', True)}: it converts such columns where possible and ignores the rest."


class TableError(DataError):
    """Several things are wrong with a table; ``complaints`` has a sentence or two about each.

    ``remedy`` is what helps against all of them.
    """

    def __init__(self, head: str, messages: Sequence[str] = (), remedy: str = "") -> None:
        self.head, self.messages, self.remedy = head, tuple(messages), remedy
        super().__init__("\n- ".join([head, *self.messages]) + (f"\n{remedy}" if remedy else ""))

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong, one thing each, in the words of Python."""
        return tuple(map(say, self.messages))

    def reword(self, change: Callable[[str], str]) -> None:
        """Change the terms of the message."""
        self.messages = tuple(map(change, self.messages))
        super().reword(change)

    def __reduce__(self) -> tuple[type[TableError], tuple[str, tuple[str, ...], str]]:
        return type(self), (self.head, self.messages, self.remedy)  # it comes from workers, too


class Problems:
    """What is wrong with a table, found one thing after the other and said together."""

    def __init__(self) -> None:
        self._found: list[DataError] = []

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Go on after an error about the data; it is kept."""
        try:
            yield
        except DataError as error:
            if str(error) not in map(str, self._found):  # several features may be made of one column
                self._found.append(error)

    def check(self) -> None:
        """Raise what was found."""
        if self._found:
            raise self.as_one()

    def as_one(self) -> DataError:
        """What was found: one error as it is, several as one."""
        if len(self._found) == 1:
            return self._found[0]
        messages: list[str] = []
        for error in self._found:
            messages += error.messages if isinstance(error, TableError) else [" ".join(error.message.split("\n"))]
        rest = len(messages) - SHOWN
        shown = [*messages[:SHOWN], f"and {rest} more"] if rest > 0 else messages
        return TableError(f"{len(messages)} things are wrong with the table:", shown)


def merge_errors(error: DataError, read: Callable[[], object], *, prepared: bool) -> DataError:
    """An error about the columns, and with it what else is wrong, as reading the target shows.

    Where the table is not ``prepared``, that is named as a remedy.
    """
    problems = Problems()
    with problems.gather():
        raise error
    with suppress(TypeError, ValueError), problems.gather():
        read()
    found = problems.as_one()
    if prepared or not str(error).split("\n- ")[-1].startswith("Column '"):
        return found
    if isinstance(found, TableError):
        return TableError(found.head, found.messages, PREPARE)
    return DataError(f"{found.message} {PREPARE}") if type(found) is DataError else found


COUNTS = "numbers the rows"
SAMPLE = 1_024  # numbers that are compared
LEAST_ROWS = 20  # below, numbers in a row and texts that all differ are no surprise
# rownames, row_id, index; id, customer_id, CustomerID, customerId
_NAME = re.compile(r"(?i:row[_ .-]?(names?|ids?|numbers?|no|nr)|index|idx|uuid|guid|(.*[_ .-])?ids?)|.*[a-z](ID|Id)")


@dataclass(frozen=True, eq=False)
class Numbering:
    """What tells whether whole numbers are an id, of some rows of a column; ``a + b`` is that of both their rows.

    Whether they all differ is asked of a sample of the numbers, with every row that has one of them: it is the same
    sample in any order of the rows and in any parts. Up to ``SAMPLE`` rows it is all of them.
    """

    n_rows: int
    low: int
    high: int
    sample: NDArray[np.uint64]  # the smallest hashes of rows, rising

    def __add__(self, other: Numbering) -> Numbering:
        if not self.n_rows or not other.n_rows:
            return self if self.n_rows else other
        sample = np.sort(np.concatenate([self.sample, other.sample]))[:SAMPLE]
        return Numbering(self.n_rows + other.n_rows, min(self.low, other.low), max(self.high, other.high), sample)

    @property
    def differ(self) -> bool:
        """Whether no number of the sample is in two rows."""
        return bool((self.sample[1:] != self.sample[:-1]).all())


def numbering_of(values: NDArray[Any]) -> Numbering | None:
    """That of the numbers of some rows; None where they are not whole by their type, as where some are missing."""
    if not len(values):
        return Numbering(0, 0, 0, np.zeros(0, dtype=np.uint64))
    if values.dtype.kind not in "iu":
        return None
    # multiples of the golden ratio: neighbours are spread evenly
    hashes = values.astype(np.uint64, copy=False) * np.uint64(0x9E3779B97F4A7C15)
    if len(hashes) > 8 * SAMPLE:
        likely = hashes[hashes < np.uint64(4 * SAMPLE * 2**64 // len(hashes))]
        hashes = likely if len(likely) >= SAMPLE else np.partition(hashes, SAMPLE)[:SAMPLE]
    return Numbering(len(values), int(values.min()), int(values.max()), np.sort(hashes)[:SAMPLE])


def reason(name: str, n_rows: int, numbers: Numbering | None, n_texts: int | None) -> str | None:
    """Why a column is likely an id, by its whole numbers or by how many different texts it has; None if it is not."""
    if n_rows < LEAST_ROWS:
        return None
    if n_texts is not None:
        return "has another text in every row" if n_texts == n_rows else None
    if numbers is None or not numbers.differ:
        return None
    if numbers.high - numbers.low == n_rows - 1:
        return COUNTS
    if not is_called_id(name):
        return None
    return f"has another number in {'every' if n_rows <= SAMPLE else 'nearly every'} row"


def why_id(column: Column) -> str | None:
    """Why a column is likely an id; None if it is not."""
    if not column.is_numeric:
        return reason(column.name, len(column.values), None, len(column.levels) if column.free_text else None)
    return reason(column.name, len(column.values), numbering_of(column.values), None)


def is_certain_id(column: Column) -> bool:
    """Whether a column can be nothing but an id: its text differs in every row, or it rises from row to row, and is
    called an id."""
    if why_id(column) is None:
        return False
    rising = column.is_numeric and bool((column.values[1:] > column.values[:-1]).all())  # some rows may be gone
    return not column.is_numeric or (rising and is_called_id(column.name))


def is_called_id(name: str) -> bool:
    """Whether a column has the name of an id."""
    return _NAME.fullmatch(name) is not None


def warn_of_ids(columns: Iterable[Any], why: Callable[[Any], str | None] = why_id) -> None:
    """Warn once of all columns that are likely ids; of parts of a table summaries are asked ``why``."""
    found = [(one_line(column.name), own) for column in columns if (own := why(column)) is not None]
    if not found:
        return
    said = "; ".join(f"column '{name}' {why}" for name, why in found[:5])
    more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
    names = ",".join(name for name, _ in found[:5])
    what, them = ("Likely an id", "it") if len(found) == 1 else ("Likely ids", "them")
    warn_user(
        f"{what}: {said}{more}. A rule on an id says nothing of new rows. Leave {them} out"
        f"{InCommand('drop', names)}, unless the values mean something."
    )


def own_columns(X: Any, names: Sequence[str]) -> Any:
    """The columns that a model was learned from; others, such as a month, are left out."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise DataError(f"X lacks '{absent[0]}', a column that the model was learned from.")
    return frame.select(list(names)).to_native()

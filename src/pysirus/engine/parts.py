"""Rows in partitions, wherever they lie, and the queries that are sent to them: the seam between method and storage.

A query is a small object that can be sent to the rows and called with a part of them. Its answer knows ``+``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import MASK, Column, DataError, number_of
from pysirus._data.frame import take, which_count
from pysirus._data.read import check_name
from pysirus._families.read import check_weights, rates_of
from pysirus._families.responses import Response
from pysirus._model.facts import ColumnRoles
from pysirus._parameters import ParameterError
from pysirus._text.message import about_part

if TYPE_CHECKING:
    from pysirus.engine.shard import Shard

PartT = TypeVar("PartT", covariant=True)
Answer = TypeVar("Answer")
SUM_BYTES = 1 << 28  # sums of nodes held at once
TALLY = 1 << 16  # distinct values of a column held at once ...
LEAST_TALLY = 1 << 10  # ... and of each of very many columns


@dataclass(frozen=True)
class Part:
    """Some rows of a table as they came: anything that ``fit`` takes."""

    number: int  # parts are numbered in the order of their rows
    name: str  # for messages
    X: Any  # None where only the response was asked for
    y: Any
    weights: Any = None
    groups: Any = None  # rows of one group stay in one fold
    may_lack_target: bool = False  # rows without one are left out

    @property
    def counting(self) -> NDArray[np.bool_] | None:
        """Which rows count; None if all do."""
        return which_count(self.y, self.weights, need_target=self.may_lack_target)

    def weighing(self) -> Part:
        """The rows that weigh something."""
        rows = self.counting
        if rows is None:
            return self
        X = None if self.X is None else take(self.X, rows)
        groups = None if self.groups is None else take(self.groups, rows)
        weights = None if self.weights is None else take(self.weights, rows)
        return replace(self, X=X, y=take(self.y, rows), weights=weights, groups=groups)


ROLES = {"target": "target", "weights": "sample weights", "groups": "groups or times", "exposure": "exposure"}


def check_roles(names: Sequence[str], roles: ColumnRoles) -> dict[str, str]:
    """The columns that have a role, all of which are there, by role."""
    found = {role: name for role in ROLES if (name := getattr(roles, role)) is not None}
    for role, name in found.items():
        check_name(names, name, ROLES[role])
    return found


@contextmanager
def about(name: str) -> Iterator[None]:
    """Complaints about some rows say which they are."""
    try:
        yield
    except DataError as error:
        raise DataError(about_part(name, error.message)) from error


def as_part(table: pa.Table, number: int, name: str, roles: ColumnRoles, features: Sequence[str]) -> Part:
    """Rows of a table as a part; of counts with an exposure it has rates, and the exposure as weight."""
    y, weights = table[roles.target], None if roles.weights is None else table[roles.weights]
    if roles.exposure is not None:
        with about(name):
            y, weights = rates_of(table, roles.target, roles.exposure, roles.weights)
    groups = table[roles.groups] if roles.groups in table.column_names else None
    return Part(number, name, table.select(features) if features else None, y, weights, groups)


class Dataset(Protocol[PartT]):
    """Rows in partitions. Those without rows are left out of a query."""

    def map_reduce(self, query: Callable[[PartT], Answer | None]) -> Answer:
        """Run a query on every partition, and add up the answers."""
        ...


class ShardDataset(Dataset["Shard"], Protocol):
    """Rows in bins."""

    def close(self) -> None:
        """Let go of the rows."""
        ...


class RowDataset(Dataset[Part], Protocol):
    """Rows as they came."""

    advice: str  # what to do where two passes find different rows
    grouped: bool  # whether its parts have groups

    def map_reduce_response(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Run a query that reads the response and the weights alone."""
        ...

    def encode(self, query: Callable[[Part], Shard]) -> ShardDataset:
        """Put every part into bins, and keep them where they are."""
        ...


def sum_of_some(answers: Iterable[Answer | None]) -> Answer | None:
    """The sum of the answers of some of the parts; None is no answer."""
    total: Any = None
    for answer in answers:
        total = answer if total is None else total if answer is None else total + answer
    return total  # type: ignore[no-any-return]


def sum_of(answers: Iterable[Answer | None]) -> Answer:
    """The sum of the answers of all parts."""
    total = sum_of_some(answers)
    if total is None:
        raise DataError("There are no rows, or none of positive weight.")
    return total


@dataclass(frozen=True)
class Complaint:
    """In place of an answer what is wrong with some rows, which is no exception until it reaches who asked."""

    error: DataError | ParameterError


def answer_of(answer: Any) -> Any:
    """The answer that came from somewhere else; a complaint is raised."""
    if isinstance(answer, Complaint):
        raise answer.error
    return answer


def sum_or_complaint(answers: Iterable[Any]) -> Any:
    """The sum of some answers, or the first complaint among them and in making them."""
    try:
        return sum_of_some(map(answer_of, answers))
    except (DataError, ParameterError) as error:
        return Complaint(error.with_traceback(None))


def tables_of(batches: Iterable[pa.RecordBatch], n_rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of ``n_rows``: where batches end depends on the columns that are read."""
    waiting: list[pa.RecordBatch] = []
    room = n_rows
    for batch in batches:
        start = 0
        while start < len(batch):
            piece = batch.slice(start, room)
            waiting.append(piece)
            start, room = start + len(piece), room - len(piece)
            if room == 0:
                yield pa.Table.from_batches(waiting)
                waiting, room = [], n_rows
    if waiting:
        yield pa.Table.from_batches(waiting)


def width_of(kind: pa.DataType) -> int:
    """Bytes of a value of a column."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # text and other things of any length
        return 32


# ------------------------------------------------------------------------------------------------------------ options


@dataclass(frozen=True)
class EngineOptions:
    """What may be used of memory, and whether cuts are the true quantiles."""

    exact: bool = True  # as many passes over the columns as their true quantiles take
    tally: int = TALLY
    sum_bytes: int = SUM_BYTES

    def tally_of_fold(self, n_folds: int) -> int:
        """How many values a tally of each of some folds may hold: together about as many as one of all rows."""
        return min(self.tally, max(LEAST_TALLY, self.tally // n_folds))


def tally_of_bytes(n_bytes: int, n_columns: int) -> int:
    """How many values of a column a tally may hold where those of all columns share these bytes, 24 a value."""
    return min(TALLY, max(LEAST_TALLY, n_bytes // (24 * n_columns)))


# --------------------------------------------------------------------------------------------------------- fingerprints

# A part as it was read in, its fingerprint out: numbers that change if its rows change between two passes.
#
# A fingerprint is a sum over rows of scrambled values, modulo 2**64. So it does not depend on the order of the rows,
# which a shuffle in Dask or Spark may change from one computation to the next, and it costs little beside reading them.


ODD = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
BLOCK = 1 << 15  # rows that stay in the cache


@dataclass(frozen=True)
class Fingerprint:
    """What a part held when it was read."""

    number: int
    part: str  # its name
    n_rows: int
    target: int
    weights: int
    columns: tuple[int, ...] = ()  # of a part whose columns were read


Fingerprints = Mapping[int, Fingerprint]  # by number of the part


def sum_of_numbers(values: NDArray[Any]) -> int:
    """The fingerprint of some numbers."""
    total = 0
    for start in range(0, len(values), BLOCK):
        block = np.ascontiguousarray(values[start : start + BLOCK])
        if block.dtype.kind == "f":
            bits = block.view(np.dtype(f"u{block.dtype.itemsize}")).astype(np.uint64)
        else:
            bits = block.astype(np.uint64)  # a negative integer modulo 2**64
        bits *= ODD
        bits ^= bits >> HALF  # so that a sign does not cancel that of another row
        total += int(bits.sum(dtype=np.uint64))
    return total & MASK


def sum_of_labels(codes: NDArray[Any], labels: Sequence[Any]) -> int:
    """The fingerprint of codes of labels, -1 for missing."""
    counts = np.bincount(codes.astype(np.intp) + 1, minlength=len(labels) + 1).tolist()
    total: int = sum(n * number_of(label) for n, label in zip(counts, (None, *labels)))
    return total & MASK


def _fingerprint_of_column(column: Column) -> int:
    return sum_of_numbers(column.values) if column.is_numeric else sum_of_labels(column.values, column.levels)


def fingerprints_of(part: Part, response: Response, columns: Sequence[Column] = ()) -> Fingerprints:
    """The fingerprint of a part from its rows that weigh something; none without rows."""
    n_rows = response.n_rows
    if not n_rows:
        return {}
    if response.labels is None:
        target = sum_of_numbers(response.row_values)
    else:
        target = sum_of_labels(response.row_values, list(response.labels))
    weights = 0 if part.weights is None else sum_of_numbers(check_weights(part.weights, n_rows))
    fingerprints = tuple(map(_fingerprint_of_column, columns))
    return {part.number: Fingerprint(part.number, part.name, n_rows, target, weights, fingerprints)}


def total_of(fingerprints: Fingerprints) -> int:
    """One number for some fingerprints; those of parts add up."""
    return sum(number_of((m.number, m.n_rows, m.target, m.weights, m.columns)) for m in fingerprints.values()) & MASK


# ---------------------------------------------------------------------------------------------------------- comparing


@dataclass(frozen=True)
class Fingerprinted(Generic[Answer]):
    """The answer of some parts, and their fingerprints."""

    answer: Answer
    fingerprints: Fingerprints

    def __add__(self, other: Fingerprinted[Answer]) -> Fingerprinted[Answer]:
        both = {**self.fingerprints, **other.fingerprints}
        return Fingerprinted(self.answer + other.answer, both)  # type: ignore[operator]


class ChangeDetector:
    """Checks that each pass over the parts finds the rows of the passes before."""

    def __init__(self, advice: str) -> None:
        self.advice = advice
        self.names: Sequence[str] = ()  # of the columns
        self.fingerprints: Fingerprints | None = None

    def __call__(self, fingerprinted: Fingerprinted[Answer]) -> Answer:
        """The answer of a pass, once its fingerprints are those of the pass before."""
        if self.fingerprints is not None:
            check_unchanged(self.fingerprints, fingerprinted.fingerprints, self.names, self.advice)
        found = fingerprinted.fingerprints
        if self.fingerprints is None or any(own.columns for own in found.values()):  # or columns would be forgotten
            self.fingerprints = found
        return fingerprinted.answer


def check_unchanged(before: Fingerprints, now: Fingerprints, names: Sequence[str], advice: str) -> None:
    """Reject parts that are not what they were in the pass before."""
    for number in sorted({*before, *now}):
        found = _difference(before.get(number), now.get(number), names)
        if found is not None:
            raise changed(now.get(number, before.get(number)).part, found, advice)  # type: ignore[union-attr]


def changed(part: str, found: str, advice: str) -> DataError:
    """The complaint about a part that changed."""
    return DataError(f"{part} changed while the model was learned: {found}. {advice}".rstrip())


def _difference(before: Fingerprint | None, now: Fingerprint | None, names: Sequence[str]) -> str | None:
    if before is None or now is None:
        return "it had no rows in an earlier pass" if before is None else "it has no rows any more"
    if before.n_rows != now.n_rows:
        return f"it had {before.n_rows:,} rows in an earlier pass, now it has {now.n_rows:,}"
    if before.target != now.target:
        return "the target has other values than in an earlier pass"
    if before.weights != now.weights:
        return "the sample weights are others than in an earlier pass"
    for name, old, new in zip(names, before.columns, now.columns):
        if old != new:
            return f"column '{name}' has other values than in an earlier pass"
    return None

"""Rows in partitions, wherever they lie, and the queries that are sent to them: the seam between method and storage.

A query is a small object that can be sent to the rows and called with a part of them. Its answer knows ``+``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from pysirus._data.column import DataError
from pysirus._data.frame import rows_that_weigh, take
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

    def weighing(self) -> Part:
        """The rows that weigh something."""
        rows = rows_that_weigh(self.weights)
        if rows is None:
            return self
        X = None if self.X is None else take(self.X, rows)
        groups = None if self.groups is None else take(self.groups, rows)
        return replace(self, X=X, y=take(self.y, rows), weights=take(self.weights, rows), groups=groups)


class Dataset(Protocol[PartT]):
    """Rows in partitions. Those without rows are left out of a query."""

    def map_reduce(self, query: Callable[[PartT], Answer | None]) -> Answer:
        """Run a query on every partition, and add up the answers."""
        ...


class ShardDataset(Dataset[Shard], Protocol):
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

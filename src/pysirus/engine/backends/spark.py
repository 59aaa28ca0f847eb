"""Rows of a Spark data frame: queries travel to its partitions, answers come back as bytes in a column.

Everything is said in data frames, none of it in RDDs, so that it works through Spark Connect too.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pysirus._data.column import DataError, date_error
from pysirus._data.frame import check_features, check_names
from pysirus._data.read import check_name
from pysirus._data.table import read_table
from pysirus._model.facts import ColumnRoles
from pysirus._parameters import ParameterError
from pysirus._text.message import Parameter, rows_named
from pysirus.engine.parts import (
    Answer,
    Complaint,
    EngineOptions,
    Part,
    answer_of,
    as_part,
    check_roles,
    sum_of,
    sum_or_complaint,
    tables_of,
    tally_of_bytes,
    width_of,
)
from pysirus.engine.shard import Shard

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PART_BYTES = 1 << 26  # about the size of a part in the memory of an executor
LEAST_ROWS = 1024  # of a part
PARTS = 1 << 32  # a partition has fewer
FAN_IN = 16  # answers that are added up in one place
BYTES = "reply binary"
ANSWER_BYTES = 1 << 25  # of one answer: some of them meet on an executor, and on the driver


# ------------------------------------------------------------------------------------------------- on the executors


@dataclass(frozen=True)
class Reply:
    """What a partition sends back."""

    partition: int
    answer: Any


def _merged(replies: Iterable[Reply]) -> Reply:
    """One reply for several, the same in whichever order they arrive."""
    ordered = sorted(replies, key=lambda reply: reply.partition)
    return Reply(ordered[0].partition if ordered else 0, sum_or_complaint(reply.answer for reply in ordered))


def _as_batch(item: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(item, pickle.HIGHEST_PROTOCOL)], pa.binary())], ["reply"])


def _items(batches: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[Any]:
    """What was pickled into a column of bytes."""
    for batch in batches:
        for value in batch.column(0):
            yield pickle.loads(value.as_buffer())


def _merge_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield _as_batch(_merged(_items(batches)))


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


@dataclass(frozen=True)
class PartsOf:
    """Batches of a partition in, parts out."""

    names: Mapping[str, str]  # the true names of columns, which in the batches have names of our own
    roles: ColumnRoles
    part_rows: int
    row_id: str | None  # a column that must rise

    def __call__(self, batches: Iterable[pa.RecordBatch], partition: int) -> Iterator[Part]:
        start, last = 0, None
        for k, table in enumerate(tables_of(batches, self.part_rows)):
            whole = k == 0 and len(table) < self.part_rows
            name = f"partition {partition}"
            if not whole:
                name = rows_named(start, len(table), name)
            if "id" in table.column_names and self.row_id is not None:
                last = _check_rising(table["id"], last, self.row_id, name)
            features = [self.names[own] for own in table.column_names if own.startswith("x")]
            table = table.rename_columns([self.names[own] for own in table.column_names])
            yield as_part(table, partition * PARTS + k, name, self.roles, features)
            start += len(table)


def _check_rising(ids: pa.ChunkedArray, last: int | None, row_id: str, part: str) -> int:
    """Reject row numbers that are missing or occur twice; rows are sorted by them, and equal ones are neighbours."""
    if ids.null_count:
        found = "a missing value"
    else:
        numbers = ids.to_numpy()
        before = numbers[:-1] if last is None else np.concatenate([[last], numbers[:-1]])
        same = np.flatnonzero(numbers[len(numbers) - len(before) :] == before)
        if not len(same):
            return int(numbers[-1])
        found = f"{before[same[0]]} more than once"
    raise DataError(
        f"{part}: Column '{row_id}' holds {found}. Rows are numbered in the order of row_id: give each row a whole "
        "number of its own."
    )


@dataclass(frozen=True)
class _AskParts:
    """Ask the parts of a partition."""

    query: Callable[[Part], Any]
    parts: PartsOf

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partition = _partition()
        yield _as_batch(Reply(partition, sum_or_complaint(map(self.query, self.parts(batches, partition)))))


@dataclass(frozen=True)
class _EncodeParts:
    """Put the parts of a partition into bins, a row of bytes each."""

    query: Callable[[Part], Shard]
    parts: PartsOf

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partition = _partition()
        try:
            for part in self.parts(batches, partition):
                shard = self.query(part)
                if shard.response.n_rows:
                    yield _as_batch(shard)
        except (DataError, ParameterError) as error:
            yield _as_batch(Complaint(error.with_traceback(None)))


@dataclass(frozen=True)
class _AskShards:
    """Ask the shards of a partition."""

    query: Callable[[Shard], Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        answers = (self.query(answer_of(item)) for item in _items(batches))
        yield _as_batch(Reply(_partition(), sum_or_complaint(answers)))


# ---------------------------------------------------------------------------------------------------- on the driver


def _ask(frame: DataFrame, ask: Any, n_partitions: int) -> tuple[Any, int]:
    """The answer of all partitions, added up in a tree of executors until few are left, and how many these were."""
    replies = frame.mapInArrow(ask, BYTES)
    while n_partitions > FAN_IN:
        n_partitions = -(-n_partitions // FAN_IN)
        replies = replies.repartition(n_partitions).mapInArrow(_merge_batches, BYTES)
    few = list(_items([replies.toArrow()]))
    return sum_of([answer_of(_merged(few).answer)]), len(few)


def _keep(frame: DataFrame) -> DataFrame:
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.MEMORY_AND_DISK)


def _is_kept(frame: DataFrame) -> bool:
    level = frame.storageLevel
    return bool(level.useMemory or level.useDisk)


def _pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from map(_as_batch, batches)


def tables_of_frame(frame: DataFrame, names: Sequence[str]) -> Iterator[pa.Table]:
    """Some columns of a frame on the driver, which holds one partition at a time."""
    columns = [f"`{name.replace('`', '``')}`" for name in names]
    for row in frame.select(*columns).mapInArrow(_pack, BYTES).toLocalIterator():
        table = pa.Table.from_batches([pickle.loads(row[0])])
        if len(table):
            yield table


class SparkShards:
    """Rows in bins, on the executors."""

    def __init__(self, frame: DataFrame, n_partitions: int) -> None:
        self._frame, self._n_partitions = _keep(frame), n_partitions

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        total: Answer = _ask(self._frame, _AskShards(query), self._n_partitions)[0]
        return total

    def close(self) -> None:
        """Let go of the rows."""
        self._frame.unpersist()


class SparkRows:
    """The rows of a Spark data frame: in the order of ``row_id``, or of its partitions as they are."""

    advice = (
        "Partitions may be computed several times, and must hold the same rows each time: seed what is random in them, "
        "see that what they read stays as it is, or checkpoint the frame first."
    )

    def __init__(
        self,
        frame: DataFrame,
        roles: ColumnRoles,
        *,
        row_id: str | None,
        drop: Sequence[str],
    ) -> None:
        names = check_names(frame.columns)
        own = check_roles(names, roles) | ({} if row_id is None else {"id": row_id})
        for name, role in ((row_id, "row_id"), *((name, f"parameter {Parameter('drop')}") for name in drop)):
            if name is not None:
                check_name(names, name, role)
        features = [name for name in names if name not in {*own.values(), *drop}]
        check_features(features)
        # columns by position and under names of our own: names may hold dots, or differ in case alone
        new = {name: f"x{i}" for i, name in enumerate(features)} | {name: role for role, name in own.items()}
        self.grouped = roles.groups is not None
        rows = frame.toDF(*(new.get(name, f"other{i}") for i, name in enumerate(names))).select(*new.values())
        kinds = dict(zip(new, _arrow_types(rows, list(new))))
        if row_id is not None:
            if not pa.types.is_integer(kinds[row_id]):
                raise DataError(f"Column '{row_id}' is {kinds[row_id]}; a row_id holds whole numbers. Cast or drop it.")
            rows = rows.orderBy("id")
        X = pa.schema([(name, kinds[name]) for name in features]).empty_table()
        read_table(X, part=True)  # complains of types before anything runs
        width = sum(map(width_of, X.schema.types))
        self.options = EngineOptions(tally=tally_of_bytes(ANSWER_BYTES, len(features)), sum_bytes=ANSWER_BYTES)
        part_rows = max(LEAST_ROWS, min(1 << 20, PART_BYTES // width))
        self._parts = PartsOf({role: name for name, role in new.items()}, roles, part_rows, row_id)
        self._response = list(own)
        # the frame itself and not the columns in use: for fewer columns Spark changes its plan, and a repartition in it
        # then deals the rows out in another order
        to_keep = frame if row_id is None else rows
        self._kept = None if _is_kept(to_keep) else _keep(to_keep)  # what the user keeps is not ours to let go
        self._frame = rows
        self._n_partitions = 1  # until the first replies tell

    def map_reduce(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Ask every part, and add up the answers."""
        return self._ask(self._frame, query)

    def map_reduce_response(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Run a query that reads the response and the weights alone."""
        return self._ask(self._frame.select(*self._response), query)

    def encode(self, query: Callable[[Part], Shard]) -> SparkShards:
        """Put every part into bins, where it is."""
        return SparkShards(self._frame.mapInArrow(_EncodeParts(query, self._parts), BYTES), self._n_partitions)

    def close(self) -> None:
        """Let go of the rows."""
        if self._kept is not None:
            self._kept.unpersist()

    def _ask(self, frame: DataFrame, query: Callable[[Part], Answer | None]) -> Answer:
        total, found = _ask(frame, _AskParts(query, self._parts), self._n_partitions)
        self._n_partitions = max(self._n_partitions, found)
        answer: Answer = total
        return answer


def _arrow_types(frame: DataFrame, names: Sequence[str]) -> list[pa.DataType]:
    """The types of columns as their batches will have them; ``names`` are those the user knows."""
    from pyspark.sql.types import CalendarIntervalType, UserDefinedType, YearMonthIntervalType

    for name, field in zip(names, frame.schema.fields):
        if isinstance(field.dataType, (CalendarIntervalType, YearMonthIntervalType)):  # which Arrow has not
            raise date_error(name, field.dataType.simpleString())
        if isinstance(field.dataType, UserDefinedType):
            raise DataError(
                f"Column '{name}' holds {field.dataType.simpleString()} objects. Rules need a column for each number: "
                "take a vector apart with pyspark.ml.functions.vector_to_array, or name the column under drop."
            )
    return list(frame.limit(0).toArrow().schema.types)

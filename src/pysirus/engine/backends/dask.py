"""Partitions on Dask: queries go to them, answers are added up where they are, the client sees the sum alone.

Every task is a pure function of its partition, so Dask makes again what is lost with a worker. What is wrong with the
data is an answer too and no exception: it is returned without the traces of the workers, and is not tried again.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

try:
    import cloudpickle
    import dask
    import dask.array as da
    import dask.dataframe as dd
    from dask.base import get_scheduler
    from dask.system import CPU_COUNT
    from dask.utils import parse_timedelta
except ImportError as error:
    raise ImportError("Dask collections need dask: pip install pysirus[dask].") from error

from pysirus._data.column import DataError
from pysirus._data.frame import check_features
from pysirus._data.read import check_name
from pysirus._families.read import rates_beside
from pysirus._model.facts import ColumnRoles
from pysirus._parameters import ParameterError
from pysirus._runtime.console import warn_user
from pysirus.engine.parts import (
    Answer,
    Complaint,
    EngineOptions,
    Part,
    about,
    answer_of,
    sum_of,
    sum_or_complaint,
    tally_of_bytes,
)
from pysirus.engine.shard import Shard

Block = Any  # a delayed block of rows
# blocks of the table, the response, the weights, groups and exposure; all but the first may be columns of the table
Partition = tuple[Block | str | None, ...]
FAN_IN = 8
# more partitions than that are asked in groups, as a task takes the scheduler about a millisecond
GROUPS_A_THREAD = 8
LEAST_GROUPS = 64  # a cluster may grow while the forest does
ATTEMPTS = 3  # each stands for as many lost workers as Dask allows for
TIMEOUT_KEY = "pysirus.worker-timeout"
DEFAULT_TIMEOUT = "10 minutes"
WARN_AFTER = 30.0  # seconds without a worker
STEP = 5.0  # seconds between two looks at the workers
LARGE = 1 << 20  # bytes of a query
COLLECTIONS = (dd.DataFrame, dd.Series, da.Array)
# answers travel between workers: some megabytes each, for the cuts about 400 kilobytes a column, at most 32 megabytes
OPTIONS = EngineOptions(tally=1 << 14, sum_bytes=1 << 24)
TALLY_BYTES = 1 << 25


# ------------------------------------------------------------------------------------------------------- on the workers


def _part(number: int, X: Any, *columns: Any) -> Part:
    """The blocks of a partition as a part; of counts with an exposure it has rates."""
    name = f"partition {number}"
    inside = list(dict.fromkeys(column for column in columns if isinstance(column, str)))
    y, weights, groups, exposure = (X[own] if isinstance(own, str) else own for own in columns)
    X = X.drop(columns=inside) if inside else X
    given = {"X": X, "y": y, "sample_weight": weights, "groups": groups, "exposure": exposure}
    lengths = {role: len(rows) for role, rows in given.items() if rows is not None}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{role} has {n} rows" for role, n in lengths.items())
        raise DataError(f"{name}: {found}. Partitions must hold the same rows: make all of them from one collection.")
    if exposure is not None:
        names = [
            getattr(own, "name", None) or role
            for role, own in zip(("y", "exposure", "sample_weight"), (y, exposure, weights))
        ]
        with about(name):
            y, weights = rates_beside(y, exposure, weights, names)
    return Part(number, name, X, y, weights, groups)


def _answer(query: bytes, number: int, *blocks: Any) -> Any:
    """What a partition answers."""

    def answers() -> Iterator[Any]:
        part = _part(number, *blocks)
        yield pickle.loads(query)(part) if len(part.y) else None

    return sum_or_complaint(answers())


def _encode(query: bytes, number: int, *blocks: Any) -> list[Shard] | Complaint:
    """A partition in bins; without rows there is nothing."""
    shard = _answer(query, number, *blocks)
    return shard if isinstance(shard, Complaint) else [] if shard is None or not shard.response.n_rows else [shard]


def _answer_shards(query: bytes, shards: list[Shard] | Complaint) -> Any:
    """What some partitions in bins answer together."""
    return shards if isinstance(shards, Complaint) else sum_or_complaint(map(pickle.loads(query), shards))


# -------------------------------------------------------------------------------------------------------- the client


@dataclass
class Patience:
    """How long a fit waits for workers where there is none: some may still be starting, or start again."""

    limit: float | None  # seconds
    warning: float
    since: float | None = None  # when there was none for the first time
    warned: bool = False

    @classmethod
    def from_config(cls) -> Patience:
        """As the configuration of Dask says under pysirus.worker-timeout: None waits for ever."""
        given = dask.config.get(TIMEOUT_KEY, default=DEFAULT_TIMEOUT)
        try:
            limit = None if given is None else float(parse_timedelta(given))
        except (TypeError, ValueError, KeyError) as error:
            raise ParameterError(
                f"{TIMEOUT_KEY} in the configuration of Dask must be a time such as '10 minutes', a number of seconds "
                f"or None, got {given!r}."
            ) from error
        return cls(limit, WARN_AFTER if limit is None else min(WARN_AFTER, limit / 2))

    @property
    def step(self) -> float:
        """How long to wait before the workers are counted."""
        return min(STEP, max(0.05, self.warning / 2))

    def end(self) -> None:
        """There are workers."""
        self.since, self.warned = None, False

    def wait_on(self) -> None:
        """There is no worker, again or still: say so after a while, and give up in the end."""
        now = time.monotonic()
        self.since = now if self.since is None else self.since
        waited = now - self.since
        if self.limit is not None and waited >= self.limit:
            raise TimeoutError(
                f"The Dask cluster has had no worker for {waited:.0f} seconds. Start workers and fit again; "
                f"dask.config.set({{'{TIMEOUT_KEY}': '1 hour'}}) waits longer."
            )
        if not self.warned and waited >= self.warning:
            self.warned = True
            rest = "until one comes" if self.limit is None else f"up to {self.limit:.0f} seconds for one"
            warn_user(
                f"The Dask cluster has no worker: fit waits {rest}. {TIMEOUT_KEY} in the configuration of Dask sets "
                "how long."
            )


def _sum_task(tasks: Sequence[Block]) -> Block:
    """A task that adds up the answers of some tasks, a few at a time."""
    merge = dask.delayed(sum_or_complaint, pure=False)
    while len(tasks) > 1:
        tasks = [merge(list(tasks[i : i + FAN_IN])) for i in range(0, len(tasks), FAN_IN)]
    return tasks[0]


class Scheduler:
    """Where tasks run: on the workers of the current client, or by Dask in this process."""

    def __init__(self) -> None:
        owner = getattr(get_scheduler(), "__self__", None)
        self.client: Any = owner if hasattr(owner, "scheduler_info") else None

    @property
    def n_threads(self) -> int:
        """How many tasks run at once."""
        return int(CPU_COUNT) if self.client is None else max(1, sum(self.client.nthreads().values()))

    def sum(self, groups: Sequence[Sequence[Block]]) -> Any:
        """The sum of the answers of some tasks: first of those of a group, which are better added up where they are."""
        task = _sum_task([_sum_task(group) for group in groups])
        total = dask.compute(task)[0] if self.client is None else self._result(self.client.compute(task))
        return sum_of([answer_of(total)])

    def _result(self, future: Any) -> Any:
        """Wait for a future; whatever ends the waiting ends the tasks."""
        from distributed import KilledWorker

        try:
            for _ in range(ATTEMPTS - 1):
                try:
                    return self._wait(future)
                except KilledWorker:
                    self.client.retry([future])
            return self._wait(future)
        except BaseException:
            future.cancel()
            raise
        finally:
            future.release()  # the trace of an error may still point to it

    def _wait(self, future: Any) -> Any:
        """The result of a future, unless there is no worker for so long that none will come."""
        from distributed import TimeoutError as DaskTimeout  # of Python only from 3.11 on

        patience = Patience.from_config()
        while True:
            try:
                return future.result(timeout=patience.step)
            except (TimeoutError, DaskTimeout):
                if future.done():  # it was the error of a task, or the result has just come
                    return future.result()
            if self.client.nthreads():
                patience.end()
            else:
                patience.wait_on()

    def by_worker(self, tasks: Sequence[Block], kept: Sequence[Block]) -> list[list[Block]]:
        """Tasks in groups, by the worker that keeps what each of them is about."""
        holders = {} if self.client is None else self.client.who_has(kept)
        groups: dict[Any, list[Block]] = {}
        for task, own in zip(tasks, kept):
            groups.setdefault(next(iter(holders.get(own.key, ())), None), []).append(task)
        return list(groups.values())

    def keep(self, tasks: Sequence[Block]) -> list[Block]:
        """Run tasks and keep what they give where it is."""
        return list(dask.persist(*tasks) if self.client is None else self.client.persist(tasks))

    def release(self, kept: Sequence[Block]) -> None:
        """Let go of it, whoever still points to it."""
        if self.client is not None and self.client.status == "running":
            self.client.cancel(kept)


class DaskShards:
    """Rows in bins, on the workers."""

    def __init__(self, scheduler: Scheduler, shards: Sequence[Block]) -> None:
        self._scheduler = scheduler
        self._shards = scheduler.keep(shards)

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        answer, sent = dask.delayed(_answer_shards, pure=False), _sent(query)
        tasks = [answer(sent, shards) for shards in self._shards]
        total: Answer = self._scheduler.sum(self._scheduler.by_worker(tasks, self._shards))
        return total

    def close(self) -> None:
        """Let go of the rows."""
        self._scheduler.release(self._shards)
        self._shards = []


class DaskRows:
    """Rows as they came, in the partitions of Dask collections.

    ``partitions`` have tables, ``responses`` have none, so that a query about the response reads nothing else.
    """

    advice = (
        "Partitions are computed several times, and must hold the same rows each time: seed what is random in them, "
        "see that what they read stays as it is, or persist the collection first."
    )

    def __init__(self, partitions: Sequence[Partition], responses: Sequence[Partition], *, grouped: bool) -> None:
        self._partitions, self._responses, self.grouped = partitions, responses, grouped
        self._scheduler = Scheduler()

    def map_reduce(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Ask every partition, and add up the answers."""
        total: Answer = self._scheduler.sum([_tasks(_answer, query, self._partitions)])
        return total

    def map_reduce_response(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Run a query that reads the response and the weights alone."""
        total: Answer = self._scheduler.sum([_tasks(_answer, query, self._responses)])
        return total

    def encode(self, query: Callable[[Part], Shard]) -> DaskShards:
        """Put every partition into bins, and keep them on the workers."""
        shards = _tasks(_encode, query, self._partitions)
        size = -(-len(shards) // max(LEAST_GROUPS, GROUPS_A_THREAD * self._scheduler.n_threads))
        if size > 1:
            merge = dask.delayed(sum_or_complaint, pure=False)  # the sum of lists is their shards in one list
            shards = [merge(shards[i : i + size]) for i in range(0, len(shards), size)]
        return DaskShards(self._scheduler, shards)


def _sent(query: Callable[..., Any]) -> bytes | Block:
    """A query as it is sent: with every task, or, if it is large as the folds of groups are, once to each worker."""
    sent = cloudpickle.dumps(query)
    return sent if len(sent) < LARGE else dask.delayed(sent)


def _tasks(call: Callable[..., Any], query: Callable[[Part], Any], partitions: Sequence[Partition]) -> list[Block]:
    """A task a partition."""
    sent, task = _sent(query), dask.delayed(call, pure=False)
    return [task(sent, number, *blocks) for number, blocks in enumerate(partitions)]


# -------------------------------------------------------------------------------------------------------- collections


def from_collections(
    X: Any, y: Any, sample_weight: Any, groups: Any = None, exposure: Any = None
) -> tuple[DaskRows, ColumnRoles, EngineOptions]:
    """The rows of Dask collections, what their columns are for, and how much their answers may take."""
    X = one_block_wide(X)
    y = _column(X, y, "y", "target")
    weights = None if sample_weight is None else _column(X, sample_weight, "sample_weight", "sample weights")
    groups = None if groups is None else _column(X, groups, "groups", "groups")
    exposure = None if exposure is None else _column(X, exposure, "exposure", "exposure")
    given = {"y": y, "sample_weight": weights, "groups": groups, "exposure": exposure}
    own = {name for name in given.values() if isinstance(name, str)}
    check_features([name for name in getattr(X, "columns", "x") if name not in own])
    for role, other in given.items():
        if isinstance(other, COLLECTIONS):
            _check_lined_up(X, other, role)

    blocks, none = _blocks(X), [None] * X.npartitions
    apart = [none if c is None else _blocks(X[c] if isinstance(c, str) else c) for c in given.values()]
    # a column of the table is taken from its block, so that the block is made once
    inside = [[c] * X.npartitions if isinstance(c, str) else own for c, own in zip(given.values(), apart)]
    rows = DaskRows(list(zip(blocks, *inside)), list(zip(none, *apart)), grouped=groups is not None)
    n_columns = len(X.columns) if isinstance(X, dd.DataFrame) else X.shape[1]
    options = replace(OPTIONS, tally=min(OPTIONS.tally, tally_of_bytes(TALLY_BYTES, n_columns)))
    return rows, ColumnRoles(_name(y) or "y", _name(weights), _name(exposure), _name(groups)), options


def _name(column: Any) -> str | None:
    """The name of a column of the table, or of a series beside it; that of an array is Dask's own."""
    name = column if isinstance(column, str) else getattr(column, "name", None)
    return name if isinstance(name, str) and name and not isinstance(column, da.Array) else None


def _blocks(collection: Any) -> list[Block]:
    """The partitions of a collection, in order."""
    return list(np.ravel(collection.to_delayed()))


def one_block_wide(X: Any) -> Any:
    """An array whose blocks hold whole rows; frames are so."""
    if not isinstance(X, da.Array):
        return X
    if X.ndim != 2:
        raise DataError(
            f"X must be a table, found a Dask array of {X.ndim} dimension(s). Reshape it to rows and columns."
        )
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _column(X: Any, column: Any, role: str, purpose: str) -> Any:
    """The response or the weights: a name, a series or an array of one dimension."""
    if isinstance(column, str):
        if not isinstance(X, dd.DataFrame):
            raise DataError(f"{role} is the name '{column}', but X is an array without names. Give a Dask array.")
        check_name(list(X.columns), column, purpose)
        return column
    if isinstance(column, dd.DataFrame) and len(column.columns) == 1:
        return column[column.columns[0]]
    if isinstance(column, da.Array) and column.ndim == 2 and column.shape[1] == 1:
        return column[:, 0]
    if isinstance(column, dd.Series) or (isinstance(column, da.Array) and column.ndim == 1):
        return column
    raise DataError(
        f"{role} must be a Dask Series, a Dask array of one dimension or the name of a column of X where X is a Dask "
        f"collection, found {type(column).__module__.split('.')[0]}.{type(column).__name__}. Make it one with "
        "dask.dataframe.from_pandas or dask.array.from_array, in the partitions of X."
    )


def _check_lined_up(X: Any, other: Any, role: str) -> None:
    """Partition by partition the same rows, as far as it is known before they are read."""
    advice = f"Take X and {role} from one collection, or give {role} the partitions of X with "
    advice += "rechunk." if isinstance(other, da.Array) else "repartition."
    if X.npartitions != other.npartitions:
        raise DataError(f"X has {X.npartitions} partition(s), {role} has {other.npartitions}. {advice}")
    known = [getattr(c, "known_divisions", False) for c in (X, other)]
    if all(known) and X.divisions != other.divisions:
        raise DataError(f"X and {role} have different divisions: their partitions hold different rows. {advice}")
    if isinstance(X, da.Array) and isinstance(other, da.Array):
        for i, (n, m) in enumerate(zip(X.chunks[0], other.chunks[0])):
            if n == n and m == m and n != m:  # nan where it is not known
                raise DataError(f"partition {i}: X has {n} rows, {role} has {m} rows. {advice}")

"""Several learners in, their queries asked together out: one pass over the rows for all of them.

Each learner runs on a thread of its own and asks one query after the other, as if it were alone. A pass begins when
every learner that still runs has asked. It is made by the thread that called, which an interrupt reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeGuard, TypeVar
from uuid import uuid4

from pysirus._runtime.console import Cancelled, cancellable_pool
from pysirus.engine.parts import Answer, ShardDataset, sum_of, sum_of_some
from pysirus.engine.shard import MappedQuery, Shard

Result = TypeVar("Result")
Tell = Callable[[float], None]  # of some more rows


@dataclass(frozen=True)
class _Results:
    """The answers to several queries."""

    answers: tuple[Any, ...]

    def __add__(self, other: _Results) -> _Results:
        return _Results(tuple(map(sum_of_some, zip(self.answers, other.answers))))


# who wants to know how far a pass is, in this process: a query that is sent elsewhere finds nobody there
_WATCHING: dict[str, Tell] = {}


@dataclass(frozen=True)
class _QueryBatch:
    """Several queries at once, on some threads."""

    queries: tuple[Callable[[Shard], Any], ...]
    n_threads: int
    watched_by: str = ""

    def __call__(self, shard: Shard) -> _Results:
        if self.n_threads == 1 or len(self.queries) == 1:
            return _Results(tuple(self._answer(query, shard) for query in self.queries))
        found: list[Any] = []
        with cancellable_pool(self.n_threads) as pool:
            for start in range(0, len(self.queries), self.n_threads):  # as many views of the rows at a time
                found += self._answer_some(self.queries[start : start + self.n_threads], shard, pool)
        return _Results(tuple(found))

    def _answer_some(
        self, queries: Sequence[Callable[[Shard], Any]], shard: Shard, pool: ThreadPoolExecutor
    ) -> list[Any]:
        """A thread for each query or, where a query takes all threads itself, for its view of the rows."""
        waiting = []
        for query in queries:
            call = query.look if _is_wide(query) else partial(self._answer, query)
            waiting.append(pool.submit(call, shard))
        found = [future.result() for future in waiting]
        for i, query in enumerate(queries):
            if _is_wide(query):
                found[i] = query.answer(found[i])
                self._tell(shard)
        return found

    def _answer(self, query: Callable[[Shard], Any], shard: Shard) -> Any:
        answer = query(shard)
        self._tell(shard)
        return answer

    def _tell(self, shard: Shard) -> None:
        """Say that one more query has been answered."""
        if tell := _WATCHING.get(self.watched_by):
            tell(shard.response.n_rows / len(self.queries))


def _is_wide(query: Callable[[Shard], Any]) -> TypeGuard[MappedQuery]:
    return isinstance(query, MappedQuery) and query.n_threads > 1


@contextmanager
def _watched(tell: Tell) -> Iterator[str]:
    """A name under which queries tell how many rows they have gone through."""
    name = uuid4().hex
    _WATCHING[name] = tell
    try:
        yield name
    finally:
        del _WATCHING[name]


@dataclass(frozen=True)
class _Event(Generic[Result]):
    """What a learner has to say: a query, its result, or an error."""

    learner: int
    query: Callable[[Shard], Any] | None = None
    result: Result | None = None
    error: BaseException | None = None


class _Client:
    """The shards as one of the learners sees them."""

    def __init__(self, learner: int, events: SimpleQueue[Any]) -> None:
        self._learner, self._events = learner, events
        self.replies: SimpleQueue[Any] = SimpleQueue()

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask with the others, and wait for the answer."""
        self._events.put(_Event(self._learner, query))
        reply: Any = self.replies.get()
        if isinstance(reply, Cancelled):
            raise reply
        answer: Answer = sum_of([reply])
        return answer

    def close(self) -> None:
        """The rows belong to all."""


def run_lockstep(
    shards: ShardDataset,
    learners: Sequence[Callable[[ShardDataset], Result]],
    n_threads: int = 1,
    progress: Callable[[str], AbstractContextManager[Tell]] | None = None,
    doing: tuple[str, str] = ("tuning", "fold"),
) -> list[Result]:
    """Run learners on the same shards, and ask what they ask in as few passes as the longest of them takes.

    A shard answers ``n_threads`` learners at a time; ``progress`` shows each pass, and what it is for.
    """
    events: SimpleQueue[Any] = SimpleQueue()
    clients = [_Client(i, events) for i in range(len(learners))]

    def run(i: int) -> None:
        try:
            events.put(_Event(i, result=learners[i](clients[i])))
        except BaseException as error:  # handed on to the thread that called
            events.put(_Event(i, error=error))

    threads = [Thread(target=run, args=(i,), name=f"pysirus-fold-{i}", daemon=True) for i in range(len(learners))]
    try:
        for thread in threads:
            thread.start()
        return _serve(partial(_ask, shards, n_threads, progress, doing), clients, events)
    except BaseException:
        for client in clients:
            client.replies.put(Cancelled())
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:  # an interrupt may have come before it was started
                thread.join()


def _ask(
    shards: ShardDataset,
    n_threads: int,
    progress: Callable[[str], AbstractContextManager[Tell]] | None,
    doing: tuple[str, str],
    queries: tuple[Callable[[Shard], Any], ...],
) -> _Results:
    """One pass."""
    each: _Results
    if progress is None:
        each = shards.map_reduce(_QueryBatch(queries, n_threads))
    else:
        what, each_is = doing
        with (
            progress(f"{what}, {len(queries)} {each_is}{'s' if len(queries) > 1 else ''}") as tell,
            _watched(tell) as name,
        ):
            each = shards.map_reduce(_QueryBatch(queries, n_threads, name))
    return each


def _serve(
    ask: Callable[[tuple[Callable[[Shard], Any], ...]], _Results], clients: Sequence[_Client], events: SimpleQueue[Any]
) -> list[Any]:
    """Answer until every learner has its result."""
    results: dict[int, Any] = {}
    waiting: dict[int, Callable[[Shard], Any]] = {}
    while len(results) < len(clients):
        event = events.get()
        if event.error is not None:
            raise event.error
        if event.query is None:
            results[event.learner] = event.result
        else:
            waiting[event.learner] = event.query
        if waiting and len(waiting) + len(results) == len(clients):
            asked = sorted(waiting)
            each = ask(tuple(waiting[i] for i in asked))
            waiting.clear()
            for i, answer in zip(asked, each.answers):
                clients[i].replies.put(answer)
    return [results[i] for i in range(len(clients))]

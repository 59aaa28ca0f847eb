"""Several learners in, their questions asked together out: one pass over the rows for all of them.

Each learner runs on a thread of its own and asks one question after the other, as if it were alone. A pass begins when
every learner that still runs has asked. It is made by the thread that called, which an interrupt reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

from pysirus.engine.parts import Answer, ShardHolder, sum_of, sum_of_some
from pysirus.engine.shard import Shard

Result = TypeVar("Result")


@dataclass(frozen=True)
class _Each:
    """The answers to several questions."""

    answers: tuple[Any, ...]

    def __add__(self, other: _Each) -> _Each:
        return _Each(tuple(map(sum_of_some, zip(self.answers, other.answers))))


@dataclass(frozen=True)
class _Several:
    """Several questions at once, on some threads."""

    questions: tuple[Callable[[Shard], Any], ...]
    n_threads: int

    def __call__(self, shard: Shard) -> _Each:
        if self.n_threads == 1 or len(self.questions) == 1:
            return _Each(tuple(question(shard) for question in self.questions))
        with ThreadPoolExecutor(self.n_threads) as pool:
            waiting = [pool.submit(question, shard) for question in self.questions]
            try:
                return _Each(tuple(future.result() for future in waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class _GivenUp(Exception):
    """The others have ended; nobody waits for this learner."""


@dataclass(frozen=True)
class _Event(Generic[Result]):
    """What a learner has to say: a question, its result, or an error."""

    learner: int
    question: Callable[[Shard], Any] | None = None
    result: Result | None = None
    error: BaseException | None = None


class _Seat:
    """The shards as one of the learners sees them."""

    def __init__(self, learner: int, events: SimpleQueue[Any]) -> None:
        self._learner, self._events = learner, events
        self.replies: SimpleQueue[Any] = SimpleQueue()

    def ask(self, question: Callable[[Shard], Answer | None]) -> Answer:
        """Ask with the others, and wait for the answer."""
        self._events.put(_Event(self._learner, question))
        reply: Any = self.replies.get()
        if isinstance(reply, _GivenUp):
            raise reply
        answer: Answer = sum_of([reply])
        return answer

    def close(self) -> None:
        """The rows belong to all."""


def learn_together(
    shards: ShardHolder, learners: Sequence[Callable[[ShardHolder], Result]], n_threads: int = 1
) -> list[Result]:
    """Run learners on the same shards, and ask what they ask in as few passes as the longest of them takes.

    A shard answers ``n_threads`` learners at a time.
    """
    events: SimpleQueue[Any] = SimpleQueue()
    seats = [_Seat(i, events) for i in range(len(learners))]

    def run(i: int) -> None:
        try:
            events.put(_Event(i, result=learners[i](seats[i])))
        except BaseException as error:  # handed on to the thread that called
            events.put(_Event(i, error=error))

    threads = [Thread(target=run, args=(i,), name=f"pysirus-fold-{i}", daemon=True) for i in range(len(learners))]
    for thread in threads:
        thread.start()
    try:
        return _serve(shards, seats, events, n_threads)
    except BaseException:
        for seat in seats:
            seat.replies.put(_GivenUp())
        raise
    finally:
        for thread in threads:
            thread.join()


def _serve(shards: ShardHolder, seats: Sequence[_Seat], events: SimpleQueue[Any], n_threads: int) -> list[Any]:
    """Answer until every learner has its result."""
    results: dict[int, Any] = {}
    waiting: dict[int, Callable[[Shard], Any]] = {}
    while len(results) < len(seats):
        event = events.get()
        if event.error is not None:
            raise event.error
        if event.question is None:
            results[event.learner] = event.result
        else:
            waiting[event.learner] = event.question
        if waiting and len(waiting) + len(results) == len(seats):
            asked = sorted(waiting)
            each: _Each = shards.ask(_Several(tuple(waiting[i] for i in asked), n_threads))
            waiting.clear()
            for i, answer in zip(asked, each.answers):
                seats[i].replies.put(answer)
    return [results[i] for i in range(len(seats))]

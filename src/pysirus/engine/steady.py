"""Rows in bins in, the same out, each answer counted: shards that a worker lost are made again, maybe of other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from pysirus.engine.marks import MASK, Answer, Marked, Marks, Watch, changed, check_unchanged, total_of
from pysirus.engine.parts import ShardHolder, sum_of, sum_of_some
from pysirus.engine.shard import Shard


@dataclass(frozen=True)
class WithMarks(Generic[Answer]):
    """A question whose answer tells too what the shards were made of."""

    question: Callable[[Shard], Answer]

    def __call__(self, shard: Shard) -> Marked[Answer]:
        return Marked(self.question(shard), shard.marks)


@dataclass(frozen=True)
class Counted(Generic[Answer]):
    """An answer, and one number for the marks of the shards that gave it."""

    answer: Answer | None
    total: int

    def __add__(self, other: Counted[Answer]) -> Counted[Answer]:
        return Counted(sum_of_some([self.answer, other.answer]), (self.total + other.total) & MASK)


@dataclass(frozen=True)
class _Counting(Generic[Answer]):
    question: Callable[[Shard], Answer | None]

    def __call__(self, shard: Shard) -> Counted[Answer]:
        return Counted(self.question(shard), total_of(shard.marks))


def _nothing(shard: Shard) -> int:
    return 0


class SteadyShards:
    """Shards that must stay what they were made of."""

    def __init__(self, shards: ShardHolder, marks: Marks, names: Sequence[str], advice: str) -> None:
        self._shards, self._marks, self._names, self._advice = shards, marks, names, advice
        self._total = total_of(marks)

    def ask(self, question: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        counted: Counted[Any] = self._shards.ask(_Counting(question))
        if counted.total != self._total:
            marked: Marked[int] = self._shards.ask(WithMarks(_nothing))
            check_unchanged(self._marks, marked.marks, self._names, self._advice)
            raise changed("A part of the rows", "it was read again and was another", self._advice)
        answer: Answer = sum_of([counted.answer])
        return answer

    def close(self) -> None:
        """Let go of the rows."""
        self._shards.close()


def ask_first(shards: ShardHolder, watch: Watch, question: Callable[[Shard], Answer]) -> tuple[SteadyShards, Answer]:
    """Ask shards that a pass over watched rows has just made; from then on they must stay what they were made of."""
    marked: Marked[Answer] = shards.ask(WithMarks(question))
    answer = watch(marked)
    return SteadyShards(shards, marked.marks, watch.names, watch.advice), answer

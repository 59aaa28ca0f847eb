"""Shards in, the same out: seen in another way (some of their rows, other bins, another response), or verified.

A view is a small object that is sent along with a query, so rows are looked at where they lie and nothing is kept.
Shards that a worker lost are made again, maybe of other rows: each answer of verified ones is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from pysirus._bins.cuts import Binned
from pysirus._data.column import MASK
from pysirus._learn.training import Extremes, Residual, Rounding
from pysirus._runtime.sums import Scale
from pysirus.engine.fingerprints import (
    ChangeDetector,
    Fingerprinted,
    Fingerprints,
    changed,
    check_unchanged,
    total_of,
)
from pysirus.engine.parts import Answer, ShardDataset, sum_of, sum_of_some
from pysirus.engine.shard import Shard

View = Callable[[Shard], Shard | None]  # None where no row is seen


@dataclass(frozen=True)
class MappedQuery:
    """A query to shards as they are seen."""

    view: View
    query: Callable[[Shard], Any]

    @property
    def n_threads(self) -> int:
        """How many threads the query takes itself."""
        return getattr(self.query, "n_threads", 1)

    def look(self, shard: Shard) -> Shard | None:
        """A shard as it is seen, through all views that are one upon the other."""
        seen = self.view(shard)
        return self.query.look(seen) if seen is not None and isinstance(self.query, MappedQuery) else seen

    def answer(self, seen: Shard | None) -> Any:
        """What a shard answers that is seen."""
        if seen is None:
            return None
        return self.query.answer(seen) if isinstance(self.query, MappedQuery) else self.query(seen)

    def __call__(self, shard: Shard) -> Any:
        return self.answer(self.look(shard))


@dataclass(frozen=True)
class MappedShards:
    """Shards as they are seen; they belong to someone else."""

    shards: ShardDataset
    view: View

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        answer: Answer = self.shards.map_reduce(MappedQuery(self.view, query))
        return answer

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class ResidualExtremes:
    """How far do these residuals reach?"""

    residual: Residual
    shape: Binned

    def __call__(self, shard: Shard) -> Extremes:
        return Extremes.of(self.residual.raw(replace(self.shape, bins=shard.bins), shard.response))


@dataclass(frozen=True)
class OnResiduals:
    """Rows with their residuals as response."""

    residual: Residual
    shape: Binned
    rounding: Rounding
    scale: Scale

    def __call__(self, shard: Shard) -> Shard:
        binned = replace(self.shape, bins=shard.bins)
        return replace(shard, response=self.residual.of_rows(binned, shard.response, self.rounding, self.scale))


# ----------------------------------------------------------------------------------------------------------- verified


@dataclass(frozen=True)
class WithFingerprints(Generic[Answer]):
    """A query whose answer tells too what the shards were made of."""

    query: Callable[[Shard], Answer]

    def __call__(self, shard: Shard) -> Fingerprinted[Answer]:
        return Fingerprinted(self.query(shard), shard.fingerprints)


@dataclass(frozen=True)
class Counted(Generic[Answer]):
    """An answer, and one number for the fingerprints of the shards that gave it."""

    answer: Answer | None
    total: int

    def __add__(self, other: Counted[Answer]) -> Counted[Answer]:
        return Counted(sum_of_some([self.answer, other.answer]), (self.total + other.total) & MASK)


@dataclass(frozen=True)
class _Counting(Generic[Answer]):
    query: Callable[[Shard], Answer | None]

    def __call__(self, shard: Shard) -> Counted[Answer]:
        return Counted(self.query(shard), total_of(shard.fingerprints))


def _nothing(shard: Shard) -> int:
    return 0


class VerifiedShards:
    """Shards that must stay what they were made of."""

    def __init__(self, shards: ShardDataset, fingerprints: Fingerprints, names: Sequence[str], advice: str) -> None:
        self._shards, self._fingerprints, self._names, self._advice = shards, fingerprints, names, advice
        self._total = total_of(fingerprints)

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        counted: Counted[Any] = self._shards.map_reduce(_Counting(query))
        if counted.total != self._total:
            fingerprinted: Fingerprinted[int] = self._shards.map_reduce(WithFingerprints(_nothing))
            check_unchanged(self._fingerprints, fingerprinted.fingerprints, self._names, self._advice)
            raise changed("A part of the rows", "it was read again and was another", self._advice)
        answer: Answer = sum_of([counted.answer])
        return answer

    def close(self) -> None:
        """Let go of the rows."""
        self._shards.close()


def ask_first(
    shards: ShardDataset, detector: ChangeDetector, query: Callable[[Shard], Answer]
) -> tuple[VerifiedShards, Answer]:
    """Ask shards that a pass over checked rows has just made; from then on they must stay what they were made of."""
    fingerprinted: Fingerprinted[Answer] = shards.map_reduce(WithFingerprints(query))
    answer = detector(fingerprinted)
    return VerifiedShards(shards, fingerprinted.fingerprints, detector.names, detector.advice), answer

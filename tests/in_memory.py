"""Parts in memory: the plainest dataset, and the measure of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pysirus.engine.parts import Answer, Part, sum_of
from pysirus.engine.shard import Shard


class MemoryShards:
    """Rows in bins, in memory."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = list(shards)

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        return sum_of(map(query, self._shards))

    def close(self) -> None:
        """Let go of the rows."""
        self._shards.clear()


class MemoryRows:
    """Rows as they came, in memory."""

    advice = "Leave the table as it is while a model is learned from it."
    grouped = False

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = [part for part in parts if len(part.y)]

    def map_reduce(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Ask every part, and add up the answers."""
        return sum_of(map(query, self._parts))

    def map_reduce_response(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Ask a query that reads the response and the weights alone."""
        return sum_of(query(replace(part, X=None)) for part in self._parts)

    def encode(self, query: Callable[[Part], Shard]) -> MemoryShards:
        """Put every part into bins."""
        return MemoryShards([shard for shard in map(query, self._parts) if shard.response.n_rows])

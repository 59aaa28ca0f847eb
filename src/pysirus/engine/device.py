"""Shards of this process in, their rows for a GPU out: blocks of rows, whatever shards they lie in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pysirus._bins.cuts import Binned
from pysirus._device.rows import RowArrays, RowSource, arrays_of
from pysirus._response.response import Response
from pysirus.engine.parts import ShardHolder
from pysirus.engine.shard import Shard


@dataclass(frozen=True)
class RowsBetween:
    """What does the forest read of the rows from one number up to another? Pieces, each with its first row."""

    first: int
    end: int
    n_features: int

    def __call__(self, shard: Shard) -> list[tuple[int, RowArrays]]:
        start = shard.first_row
        first, end = max(self.first, start), min(self.end, start + shard.response.n_rows)
        if first >= end:
            return []
        own = shard.response.take(np.arange(first - start, end - start))
        return [(first, arrays_of(shard.bins[: self.n_features, first - start : end - start], own))]


def _weighted(shard: Shard) -> int:
    """Whether its rows have weights."""
    return int(shard.response.weights is not None)


def in_shards(shards: ShardHolder, shape: Binned, response: Response) -> RowSource:
    """The rows of shards, read when they are asked for."""

    def read(first: int, end: int) -> RowArrays:
        found = shards.ask(RowsBetween(first, end, len(shape.cuts)))
        pieces = [piece for _, piece in sorted(found, key=lambda piece: piece[0])]
        if len(pieces) == 1:
            return pieces[0]
        return RowArrays._make(
            None if arrays[0] is None else np.concatenate(arrays, axis=-1) for arrays in zip(*pieces)
        )

    return RowSource(response.scale.n_rows, bool(shards.ask(_weighted)), read)

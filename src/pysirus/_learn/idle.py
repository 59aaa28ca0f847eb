"""Columns in, those that add nothing to the forest and why out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from zlib import crc32

import numpy as np

from pysirus._bins.cuts import Binned, Cuts


def idle_columns(binned: Binned) -> dict[str, str]:
    """Columns of rows in memory that add nothing to the forest, and why."""

    def same(i: int, k: int) -> bool:
        return np.array_equal(binned.bins[i], binned.bins[k])

    return name_idle(binned.cuts, [crc32(bins) for bins in binned.bins], same)


def name_idle(cuts: Sequence[Cuts], marks: Sequence[Hashable], same: Callable[[int, int], bool]) -> dict[str, str]:
    """Columns without cuts, and copies, which take paths from the column that they repeat; copies have equal marks."""
    idle: dict[str, str] = {}
    alike: dict[Hashable, list[int]] = {}
    for i, (own, mark) in enumerate(zip(cuts, marks)):
        name = own.column.name
        if own.idle:
            idle[name] = own.idle
            continue
        same_mark = alike.setdefault(mark, [])
        twin = next((k for k in same_mark if same(i, k)), None)
        if twin is None:
            same_mark.append(i)
        else:
            idle[name] = f"same as {cuts[twin].column.name}"
    return idle

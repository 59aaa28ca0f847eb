"""Rows in bins on disk: written once, mapped into memory by every pass after that.

The file has no name, so nothing is left behind, whatever ends the process.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._response.response import Response
from pysirus.engine.parts import Answer, sum_of
from pysirus.engine.shard import Shard

ALIGNMENT = 64


@dataclass(frozen=True)
class _Place:
    """Where an array stands in the file."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class _Stored:
    bins: _Place
    arrays: dict[str, _Place]  # of the response
    response: Response  # without its arrays
    first_row: int


class Scratch:
    """Shards in a file."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, prefix="pysirus-")  # noqa: SIM115
        self._stored: list[_Stored] = []
        self._map: mmap.mmap | None = None
        self._lock = Lock()

    def write(self, shard: Shard) -> None:
        """Add a shard at the end."""
        response = shard.response
        with self._lock:
            bins = self._append(shard.bins)
            places = {name: self._append(array) for name, array in response.row_arrays().items()}
            empty = response.take(np.zeros(0, dtype=np.intp))
            self._stored.append(_Stored(bins, places, empty, shard.first_row))

    def _append(self, array: NDArray[Any]) -> _Place:
        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        place = _Place(self._file.tell(), array.shape, array.dtype)
        self._file.write(np.ascontiguousarray(array).data)
        return place

    def ask(self, question: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        if self._map is None:
            self._file.flush()
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return sum_of(question(self._read(stored)) for stored in self._stored)

    def _read(self, stored: _Stored) -> Shard:
        arrays: dict[str, Any] = {name: self._array(place) for name, place in stored.arrays.items()}
        return Shard(self._array(stored.bins), replace(stored.response, **arrays), stored.first_row)

    def _array(self, place: _Place) -> NDArray[Any]:
        assert self._map is not None
        count = int(np.prod(place.shape))
        return np.frombuffer(self._map, place.dtype, count, place.offset).reshape(place.shape)

    def close(self) -> None:
        """Give the space back."""
        self._file.close()
        self._map = None  # unmapped when the last array is gone

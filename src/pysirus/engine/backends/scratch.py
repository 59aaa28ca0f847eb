"""Rows in bins on disk: written once, mapped into memory by every pass after that.

The file has no name, so nothing is left behind, whatever ends the process.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from pysirus._families.responses import Response
from pysirus._parameters import ParameterError
from pysirus.engine.fingerprints import Fingerprints
from pysirus.engine.parts import Answer, sum_of
from pysirus.engine.shard import Shard

ALIGNMENT = 64


@dataclass(frozen=True)
class _Place:
    """Where an array stands in the file."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.offset + int(np.prod(self.shape)) * self.dtype.itemsize


@dataclass(frozen=True)
class _Stored:
    bins: _Place
    arrays: dict[str, _Place]  # of the response
    response: Response  # without its arrays
    first_row: int
    fingerprints: Fingerprints

    @property
    def end(self) -> int:
        """Where the last of its arrays ends."""
        return max(place.end for place in (self.bins, *self.arrays.values()))


def _make_file(folder: str | os.PathLike[str] | None) -> IO[bytes]:
    """A file without a name in a folder, or in that for temporary files."""
    if folder is not None and not isinstance(folder, (str, os.PathLike)):  # a number would be a file that is open
        raise ParameterError(f"scratch must be a folder that files can be written to, got {folder!r}.")
    try:
        return cast("IO[bytes]", tempfile.TemporaryFile(dir=folder, prefix="pysirus-"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if folder is None:
            found = f"that for temporary files cannot be used ({reason}), and no other was given"
        else:
            found = f"got {str(folder)!r} ({reason})"
        raise ParameterError(f"scratch must be a folder that files can be written to, {found}.") from error


def check_room(folder: str | os.PathLike[str] | None, n_bytes: int) -> None:
    """Reject a folder that cannot take a file of this many bytes, before the files are read."""
    _make_file(folder).close()
    place = tempfile.gettempdir() if folder is None else os.fspath(folder)
    free = shutil.disk_usage(place).free
    if free < n_bytes:
        raise ParameterError(
            f"scratch must be a folder with room for {n_bytes:,} bytes, which the rows in bins take: '{place}' has "
            f"{free:,} free. Make room there, or name another folder under scratch."
        )


class Scratch:
    """Shards in a file."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self._folder = folder
        self._file = _make_file(folder)
        self._stored: list[_Stored] = []
        self._map: mmap.mmap | None = None
        self._lock = Lock()

    def write(self, shard: Shard) -> None:
        """Add a shard at the end."""
        response = shard.response
        with self._lock, self._naming():
            bins = self._append(shard.bins)
            places = {name: self._append(array) for name, array in response.row_arrays().items()}
            empty = response.take(np.zeros(0, dtype=np.intp))
            self._stored.append(_Stored(bins, places, empty, shard.first_row, shard.fingerprints))

    def flush(self) -> None:
        """See that all of it was written."""
        with self._naming():
            self._file.flush()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Complaints of the system say which file it is that cannot be written."""
        try:
            yield
        except OSError as error:
            place = tempfile.gettempdir() if self._folder is None else os.fspath(self._folder)
            raise OSError(
                error.errno,
                f"{error.strerror}: the scratch file in '{place}', which holds the rows in bins, cannot be written. "
                "Make room there, or name another folder under scratch",
            ) from error

    def _append(self, array: NDArray[Any]) -> _Place:
        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        place = _Place(self._file.tell(), array.shape, array.dtype)
        self._file.write(np.ascontiguousarray(array).data)
        return place

    def map_reduce(self, query: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        if self._map is None:
            self.flush()
            try:
                self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            except OSError as error:
                if error.errno == errno.ENOMEM:
                    raise MemoryError("the rows in bins cannot be mapped into memory") from error
                raise
        return sum_of(self._answer(query, stored) for stored in self._stored)

    def _answer(self, query: Callable[[Shard], Answer | None], stored: _Stored) -> Answer | None:
        """The answer of a shard, whose pages are then given back: they stay in the cache of the system."""
        answer = query(self._read(stored))
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):  # not everywhere
            first = stored.bins.offset // mmap.PAGESIZE * mmap.PAGESIZE
            self._map.madvise(mmap.MADV_DONTNEED, first, stored.end - first)
        return answer

    def _read(self, stored: _Stored) -> Shard:
        arrays: dict[str, Any] = {name: self._array(place) for name, place in stored.arrays.items()}
        return Shard(
            self._array(stored.bins), replace(stored.response, **arrays), stored.first_row, stored.fingerprints
        )

    def _array(self, place: _Place) -> NDArray[Any]:
        assert self._map is not None
        count = int(np.prod(place.shape))
        return np.frombuffer(self._map, place.dtype, count, place.offset).reshape(place.shape)

    def close(self) -> None:
        """Give the space back."""
        with suppress(OSError):  # what could not be written, as was said before
            self._file.close()
        self._map = None  # unmapped when the last array is gone

"""Parquet and CSV files larger than memory: read in batches, encoded once into a scratch file of one byte per value."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus import _parameters as params
from pysirus._data.elsewhere import FilePath
from pysirus._data.frame import check_features, say_dropped, without_target
from pysirus._data.marks import Marks, marks_of
from pysirus._data.read import check_name
from pysirus._families.responses import Response
from pysirus._model.facts import ColumnRoles
from pysirus._parameters import ParameterError
from pysirus._runtime.console import ShowPass, cancellable_pool, no_pass, show_pass
from pysirus._text.message import Parameter, SafeTextError
from pysirus.engine.backends.parquet import ADVICE, check_rows, check_same_columns, tables_in
from pysirus.engine.backends.sources import Paths, find_files, scan_files
from pysirus.engine.dates import DateColumns, DateQuery, is_text_type, may_hold_dates, most_features
from pysirus.engine.parts import (
    Answer,
    EngineOptions,
    Fingerprints,
    Part,
    as_part,
    check_roles,
    sum_of,
    tally_of_bytes,
    width_of,
)
from pysirus.engine.shard import Shard

LEAST_MEMORY = 1 << 26
MEMORY, JOBS = Parameter("memory"), Parameter("n_jobs")
BUFFER = 1 << 14, 1 << 20  # bytes of a column that are read at once: at least, at most


class NoThreadError(SafeTextError, RuntimeError):
    """The system starts no further thread."""


class NoMemoryError(SafeTextError, MemoryError):
    """The system has less memory than is allowed for."""


class FileRows:
    """The rows of some Parquet or CSV files, batch by batch."""

    advice = ADVICE

    def __init__(
        self,
        files: Sequence[FilePath],
        roles: ColumnRoles,
        *,
        drop: Sequence[str],
        n_threads: int,
        memory: int,
        folder: str | os.PathLike[str] | None,
        progress: ShowPass,
        labels: Sequence[str] = (),
        may_lack_target: bool = False,
        only: Sequence[str] | None = None,
    ) -> None:
        self._may_lack_target, self._without_target = may_lack_target, dict[int, int]()  # by part
        self._files = scan_files(files, labels=labels)
        self._roles, self.grouped = roles, roles.groups is not None
        schema = self._files[0].schema
        used = set(check_roles(schema.names, roles).values())
        for name in only or ():
            check_name(schema.names, name, "feature")
        if only is not None:  # the features, where not all others are
            anywhere = dict.fromkeys(name for file in self._files for name in file.schema.names)
            drop = [name for name in anywhere if name not in {*only, *used}]
        check_same_columns(self._files, drop)
        check_rows(self._files)
        self.features = [name for name in schema.names if name not in {*used, *drop}]
        check_features(self.features)
        self._n_threads, self._folder, self._progress = n_threads, folder, progress
        # a batch is worked on column by column, on each thread, and one more waits
        kinds = [schema.field(name).type for name in self.features]
        widths = [width_of(kind) * most_features(kind) for kind in kinds]
        self.most_features = sum(map(most_features, kinds))
        self.batch_rows = max(1024, min(1 << 20, memory // (3 * (n_threads + 1) * sum(widths))))
        self._buffer = max(BUFFER[0], min(BUFFER[1], memory // (4 * len(schema.names))))

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return sum(file.n_rows for file in self._files)

    def say_dropped(self) -> None:
        """Warn of rows that a pass found without a target."""
        say_dropped(sum(self._without_target.values()), self.n_rows)

    @property
    def marks(self) -> Marks:
        """How numbers are written in the files, by column, where these are text."""
        used = {*self.features, self._roles.target, self._roles.weights, self._roles.exposure}
        found = {name: form for file in self._files for name, form in marks_of(file.schema).items()}
        return {name: form for name, form in found.items() if name in used}

    @property
    def scratch_bytes(self) -> int:
        """What the rows in bins take."""
        a_row = self.most_features + 8 + (0 if self._roles.weights is None and self._roles.exposure is None else 8)
        return self.n_rows * a_row

    def map_reduce(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Ask every part, and add up the answers."""
        return self._ask(query, self.features, "reading columns")

    def date_columns(self, labels: Sequence[str]) -> DateColumns | None:
        """What is known of the columns that hold dates, but for text among the ``labels``; None if no column may.

        Where the first rows show that a column holds no dates, the others are not asked.
        """
        names = [field.name for field in self._files[0].schema if may_hold_dates(field.type)]
        names = [name for name in names if name in self.features and not self._is_label(name, labels)]
        if not names:
            return None
        with closing(self._parts(names)) as parts:
            first = next((part for part, _ in parts), None)
        seen = None if first is None else DateQuery(names)(first)
        names = names if seen is None else [name for name in names if seen.columns[name].may_be]
        return self._ask(DateQuery(names), names, "reading dates") if names else None

    def _is_label(self, name: str, labels: Sequence[str]) -> bool:
        return name in labels and is_text_type(self._files[0].schema.field(name).type)

    def map_reduce_response(self, query: Callable[[Part], Answer | None]) -> Answer:
        """Run a query that reads the response and the weights alone."""
        return self._ask(query, [], f"reading {self._roles.target}")

    def encode(self, query: Callable[[Part], Shard]) -> Scratch:
        """Write every part to a scratch file, in bins."""
        scratch = Scratch(self._folder)

        def write(part: Part) -> int:
            shard = query(part)
            if shard.response.n_rows:
                scratch.write(shard)
            return 0

        try:
            self._ask(write, self.features, "encoding")
            scratch.flush()
        except BaseException:
            scratch.close()
            raise
        return scratch

    def _ask(self, query: Callable[[Part], Answer | None], features: list[str], what: str) -> Answer:
        with self._progress(what, sum(file.state.size for file in self._files)) as advance:

            def answer(part: Part, n_bytes: float) -> Answer | None:
                result = query(part)
                advance(n_bytes, len(part.y))
                return result

            try:
                with closing(_spread(answer, self._parts(features), self._n_threads)) as answers:
                    total: Answer = sum_of(answers)
            except Exception:
                for file in self._files:  # one that changed is the reason, whatever came of it
                    file.check()
                raise
            finally:
                pa.default_memory_pool().release_unused()  # or it would keep the batches' memory for the next pass
            return total

    def _parts(self, features: list[str]) -> Generator[tuple[Part, float], None, None]:
        """The parts one after the other, each with its share of the bytes on disk."""
        number, roles = 0, self._roles
        alone = None if features else roles.groups  # asked for with the response alone
        others = (roles.target, roles.weights, roles.exposure, alone)
        wanted = [*features, *(name for name in others if name is not None)]
        for file in self._files:
            bytes_a_row = file.state.size / max(1, file.n_rows)
            for name, table in tables_in(file, wanted, self.batch_rows, self._buffer):
                part = as_part(table, number, name, roles, features)
                if self._may_lack_target:
                    part = replace(part, may_lack_target=True)
                    self._without_target[number] = without_target(part.y, part.weights)
                yield part, len(table) * bytes_a_row
                number += 1


def _spread(
    call: Callable[[Part, float], Any], parts: Iterator[tuple[Part, float]], n_threads: int
) -> Generator[Any, None, None]:
    """The answers to some parts, not more of them in memory than threads and one."""
    if n_threads == 1:
        yield from (call(*part) for part in parts)
        return
    waiting: deque[Future[Any]] = deque()
    with cancellable_pool(n_threads) as pool:
        for part in parts:
            waiting.append(_submit(pool, call, part, n_threads))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _submit(
    pool: ThreadPoolExecutor, call: Callable[[Part, float], Any], part: tuple[Part, float], n_threads: int
) -> Future[Any]:
    try:
        return pool.submit(call, *part)
    except RuntimeError as error:  # the limit of the system on threads, or no memory for one more
        raise NoThreadError(
            f"{JOBS}: the system started no further thread, {n_threads} are wanted ({error}). Set a smaller {JOBS}."
        ) from error


def open_files(
    paths: Paths,
    roles: ColumnRoles,
    *,
    memory: int,
    quantiles: str,
    scratch: str | os.PathLike[str] | None,
    n_threads: int,
    verbose: int,
    n_copies: int = 1,
    **columns: Any,
) -> tuple[FileRows, EngineOptions]:
    """The rows of files, and how to train on them in about this much memory; the scratch folder holds some copies.

    ``columns`` say what these are for, as `FileRows` takes them.
    """
    params.check_bytes("memory", memory, LEAST_MEMORY)
    params.check_choice("quantiles", quantiles, ("exact", "sketch"))
    rows = FileRows(
        find_files(paths),
        roles,
        n_threads=n_threads,
        memory=memory // 2,
        folder=scratch,
        progress=show_pass if verbose else no_pass,
        **columns,
    )
    # copies after the first have the fold of each row too
    check_room(scratch, n_copies * rows.scratch_bytes + (n_copies - 1) * rows.n_rows)
    # the tallies of the parts at work, of all parts before, and of both
    tally = tally_of_bytes(memory // 4 // (n_threads + 2), rows.most_features)
    return rows, EngineOptions(exact=quantiles == "exact", tally=tally, sum_bytes=memory // 4)


@contextmanager
def within(memory: int) -> Iterator[None]:
    """Say which parameter it is where the system has less memory than it allows for."""
    try:
        yield
    except MemoryError as error:
        raise NoMemoryError(
            f"{MEMORY}: the system gave less than the {memory:,} bytes that may be taken beside the program itself "
            f"({error}). Set a smaller {MEMORY}, or a smaller {JOBS}."
        ) from error


# -------------------------------------------------------------------------------------------------------------- scratch

# Rows in bins on disk: written once, mapped into memory by every pass after that.
#
# The file has no name, so nothing is left behind, whatever ends the process.


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

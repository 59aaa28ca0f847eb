"""Parquet files larger than memory: read in batches, encoded once into a scratch file of one byte a value."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from glob import glob
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pysirus import _parameters as params
from pysirus._data.column import DataError
from pysirus._data.frame import check_names
from pysirus._data.read import check_column
from pysirus._progress import ShowPass, no_pass, show_pass
from pysirus.engine.holders.scratch import Scratch
from pysirus.engine.options import EngineOptions, tally_of_bytes
from pysirus.engine.parts import Answer, Part, sum_of, tables_of, width_of
from pysirus.engine.shard import Shard

PathsLike = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def find_files(paths: PathsLike) -> list[Path]:
    """The files of a pattern, a folder or a list, in order of their names; a list is in its own order."""
    if not isinstance(paths, (str, os.PathLike)):
        return [file for path in paths for file in find_files(path)]
    path = Path(paths)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*.parquet") if file.is_file())
    else:
        names = [str(path)] if path.exists() else sorted(glob(str(path), recursive=True))  # noqa: PTH207  # may be absolute
        found = [file for name in names for file in (find_files(name) if Path(name).is_dir() else [Path(name)])]
    if not found:
        raise DataError(f"There is no Parquet file '{path}', and none of that pattern or in that folder.")
    return found


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, memory_map=True, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0].rstrip(".")
        raise DataError(
            f"'{path}' cannot be read as Parquet: {reason}. Batches are read from Parquet alone; a CSV file is read "
            "whole, one at a time."
        ) from error


def schema_of(path: Path) -> pa.Schema:
    """The columns of a file and their types."""
    with closing(_open(path)) as file:
        return file.schema_arrow


class ParquetRows:
    """The rows of some Parquet files, batch by batch."""

    def __init__(
        self,
        files: Sequence[Path],
        target: str,
        *,
        weights: str | None,
        drop: Sequence[str],
        n_threads: int,
        memory: int,
        folder: str | os.PathLike[str] | None,
        progress: ShowPass,
    ) -> None:
        self._files = files
        self._target, self._weights = target, weights
        schema = schema_of(files[0])
        check_names(schema.names)
        no_rows = schema.empty_table()
        for name, role in ((target, "target"), *((n, "option drop") for n in drop)):
            check_column(no_rows, name, role)
        if weights is not None:
            check_column(no_rows, weights, "weights")
        for role, taken in (("weigh the rows", [weights]), ("be dropped", drop)):
            if target in taken:
                raise params.ParameterError(f"'{target}' is the target, and cannot {role} too.")
        used = {target, weights, *drop}
        self.features = [name for name in schema.names if name not in used]
        if not self.features:
            raise DataError("No column is left to learn from, beside the target, the weights and those dropped.")
        self._n_threads, self._folder, self._progress = n_threads, folder, progress
        # a batch is worked on column by column, on each thread, and one more waits
        widths = [width_of(schema.field(name).type) for name in self.features]
        self.batch_rows = max(1024, min(1 << 20, memory // (3 * (n_threads + 1) * sum(widths))))

    def ask(self, question: Callable[[Part], Answer | None]) -> Answer:
        """Ask every part, and add up the answers."""
        return self._ask(question, self.features, "reading columns")

    def ask_response(self, question: Callable[[Part], Answer | None]) -> Answer:
        """Ask a question that reads the response and the weights alone."""
        return self._ask(question, [], f"reading {self._target}")

    def encode(self, question: Callable[[Part], Shard]) -> Scratch:
        """Write every part to a scratch file, in bins."""
        scratch = Scratch(self._folder)

        def write(part: Part) -> int:
            shard = question(part)
            if shard.response.n_rows:
                scratch.write(shard)
            return 0

        try:
            self._ask(write, self.features, "encoding")
        except BaseException:
            scratch.close()
            raise
        return scratch

    def _ask(self, question: Callable[[Part], Answer | None], features: list[str], what: str) -> Answer:
        with self._progress(what, sum(path.stat().st_size for path in self._files)) as advance:

            def answer(part: Part, n_bytes: float) -> Answer | None:
                result = question(part)
                advance(n_bytes, len(part.y))
                return result

            total: Answer = sum_of(_spread(answer, self._parts(features), self._n_threads))
            return total

    def _parts(self, features: list[str]) -> Iterator[tuple[Part, float]]:
        """The parts one after the other, each with its share of the bytes on disk."""
        number = 0
        response = [name for name in (self._target, self._weights) if name is not None]
        for path in self._files:
            with closing(_open(path)) as file:
                for name in (*features, *response):
                    if name not in file.schema_arrow.names:
                        raise DataError(f"'{path}' has no column '{name}', which '{self._files[0]}' has.")
                bytes_a_row = path.stat().st_size / max(1, file.metadata.num_rows)
                start = 0
                batches = file.iter_batches(self.batch_rows, columns=[*features, *response], use_threads=False)
                for table in tables_of(batches, self.batch_rows):
                    name = f"rows {start:,} to {start + len(table) - 1:,} of '{path}'"
                    weights = None if self._weights is None else table[self._weights]
                    X = table.select(features) if features else None
                    yield Part(number, name, X, table[self._target], weights), len(table) * bytes_a_row
                    number, start = number + 1, start + len(table)


def _spread(call: Callable[[Part, float], Any], parts: Iterator[tuple[Part, float]], n_threads: int) -> Iterator[Any]:
    """The answers to some parts, not more of them in memory than threads and one."""
    if n_threads == 1:
        yield from (call(*part) for part in parts)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(call, *part))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def open_files(
    paths: PathsLike,
    target: str,
    *,
    weights: str | None,
    drop: Sequence[str],
    memory: int,
    quantiles: str,
    scratch: str | os.PathLike[str] | None,
    n_threads: int,
    verbose: int,
) -> tuple[ParquetRows, EngineOptions]:
    """The rows of Parquet files, and how they are trained on in about so much memory."""
    params.check_integer("memory (bytes)", memory, 1 << 26)
    params.check_choice("quantiles", quantiles, ("exact", "sketch"))
    if scratch is not None and not Path(scratch).is_dir():
        raise params.ParameterError(f"scratch must be a folder that is there, got {os.fspath(scratch)!r}.")
    rows = ParquetRows(
        find_files(paths),
        target,
        weights=weights,
        drop=drop,
        n_threads=n_threads,
        memory=memory // 2,
        folder=scratch,
        progress=show_pass if verbose else no_pass,
    )
    # the tallies of the parts at work, of all parts before, and of both
    tally = tally_of_bytes(memory // 4 // (n_threads + 2), len(rows.features))
    return rows, EngineOptions(exact=quantiles == "exact", tally=tally, sum_bytes=memory // 4)

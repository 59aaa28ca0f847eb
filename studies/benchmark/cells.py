"""Cells in, results on disk: one file a table and method, a line a sample, each with the versions that it came from.

Every cell is computed in a process of its own, so that its time is limited, its memory is known and nothing that fails
takes others along. What fails, or takes too long, is recorded as such.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from pysirus._runtime.output import write_text
from studies.benchmark.measure import FOLDS, HALVES, Sample, measure
from studies.benchmark.methods import METHODS, OWN, preload
from studies.benchmark.tables import TABLES, Problem, load
from studies.results import RESULTS as VERSION

RESULTS = Path(__file__).with_name("results")
SAMPLES = {sample.name: sample for sample in [*FOLDS, *HALVES]}
COSTLY = 2.2  # seconds, as `methods.py` has them
LIMIT = 600  # seconds of processor time of a cell
Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A method on a sample of a table."""

    table: str
    method: str
    sample: Sample

    @property
    def path(self) -> str:
        """The file that it is in."""
        return f"{self.table}-{self.method}.jsonl"


def cells(tables: Sequence[str], methods: Sequence[str], samples: Sequence[Sample]) -> list[Cell]:
    """Everything to compute: first repetitions, then cheap methods first; halves where terms are compared."""
    found = [
        Cell(table, method, sample)
        for sample in samples
        for method in methods
        for table in tables
        if TABLES[table].kind in METHODS[method].kinds and (sample.kind == "fold" or METHODS[method].has_terms)
    ]
    return sorted(found, key=_turn)


def _turn(cell: Cell) -> tuple[int, bool, float, str]:
    """Halves of costly methods come after all folds."""
    cost = METHODS[cell.method].cost
    return cell.sample.repetition, cell.sample.kind == "half" and cost > COSTLY, cost, cell.sample.kind


@cache
def commit() -> str:
    """Of the code, where it is known; ``PYSIRUS_COMMIT`` says it where there is no repository."""
    given = os.environ.get("PYSIRUS_COMMIT")
    if given:
        return given
    asked = ["git", "rev-parse", "HEAD"]
    return subprocess.run(asked, cwd=RESULTS.parent, capture_output=True, text=True, check=False).stdout.strip()


@cache
def machine() -> str:
    """The processor, as the system calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def about(cell: Cell) -> Result:
    """What a result came from."""
    method = METHODS[cell.method]
    found: Result = {"versions": {"python": platform.python_version(), **method.versions()}}
    return {**found, "results": VERSION, "commit": commit(), "machine": machine(), "settings": method.settings}


def is_current(cell: Cell, document: Result) -> bool:
    """Whether a result would come out again: the settings are these and, of this library, its results version."""
    same = document["settings"] == METHODS[cell.method].settings
    return same and (cell.method not in OWN or document["results"] == VERSION)


class Store:
    """Results in a folder. A file is written whole or not at all."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder
        self._read: dict[str, dict[str, Result]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, path: str) -> dict[str, Result]:
        """The lines of a file by sample, whatever their versions."""
        if path not in self._read:
            file = self.folder / path
            lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            documents = [json.loads(line) for line in lines]
            self._read[path] = {own["sample"]: own for own in documents}
        return self._read[path]

    def get(self, cell: Cell) -> Result | None:
        """A result that is there and still holds."""
        found = self.read(cell.path).get(cell.sample.name)
        return found if found is not None and is_current(cell, found) else None

    def put(self, cell: Cell, result: Result) -> None:
        """Keep a result beside those of other samples, in their order."""
        kept = self.read(cell.path)
        kept[cell.sample.name] = {"sample": cell.sample.name, **result}
        lines = [json.dumps(kept[name], ensure_ascii=False, separators=(",", ":")) for name in SAMPLES if name in kept]
        write_text(self.folder / cell.path, "\n".join(lines) + "\n")

    def take(self, folder: Path) -> int:
        """Take what another folder has and this one has not; how many cells."""
        n_taken = 0
        for file in sorted(folder.glob("*.jsonl")):
            table, _, method = file.stem.partition("-")
            for line in file.read_text(encoding="utf-8").splitlines():
                document = json.loads(line)
                cell = Cell(table, method, SAMPLES[document.pop("sample")])
                lacking = document.get("failed", "").startswith(("ImportError", "ModuleNotFoundError"))
                if not lacking and self.get(cell) is None and is_current(cell, document):
                    self.put(cell, document)
                    n_taken += 1
        return n_taken


# -------------------------------------------------------------------------------------------- one process for a cell


def _short(condition: list[Any]) -> list[Any]:
    """A condition with cuts in few characters: a quantile is its number, anything else is text."""
    if len(condition) < 5:
        return condition
    feature, lower, upper, *rest = condition
    short = [None if cut is None else cut[1] if cut[0] == "quantile" else _text(cut) for cut in (lower, upper)]
    return [feature, *short, *([] if rest == [False, True] else rest)]


def _text(cut: list[Any]) -> str:
    kind, value = cut
    return f"{kind} {'|'.join(map(str, value)) if isinstance(value, list) else value}"


def compute(cell: Cell, source: Callable[[str], Problem] = load) -> Result:
    """A cell and what it came from; what goes wrong is a result too."""
    try:
        found = measure(source(cell.table), cell.method, cell.sample)
        if found.get("terms", {}).get("keys") is not None:
            found["terms"]["keys"] = [[_short(own) for own in key] for key in found["terms"]["keys"]]
    except Exception as error:  # a method may refuse a table in any way
        found = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    return {**about(cell), **found}


def _child(cell: Cell, limit: int, source: Callable[[str], Problem], into: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the parent
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    into.send(compute(cell, source))
    into.close()


@dataclass
class Running:
    """A cell in its process."""

    cell: Cell
    process: Any
    out: Connection
    start: float

    def result(self, limit: int) -> Result:
        """What it sent, or how it ended."""
        try:
            found: Result = self.out.recv()
        except EOFError:
            self.process.join()
            ended = -(self.process.exitcode or 0)
            late = ended in (signal.SIGXCPU, signal.SIGKILL)
            reason = f"more than {limit} seconds of processor time" if late else f"the process ended with {-ended}"
            found = {**about(self.cell), "failed": reason}
        self.process.join()
        return found

    def end(self) -> None:
        """Stop it; nothing is recorded."""
        self.process.kill()
        self.process.join()


def run(
    todo: Sequence[Cell],
    n_processes: int,
    limit: int = LIMIT,
    seconds: float = float("inf"),
    source: Callable[[str], Problem] = load,
) -> Iterator[tuple[Cell, Result]]:
    """Results as they come, for so many seconds at most; cells that are not done by then are left for later."""
    for package in {METHODS[cell.method].package for cell in todo}:
        preload(package)  # before processes are forked, or every cell's time and memory would have it
    context, deadline = get_context("fork"), time.monotonic() + seconds
    waiting, running = list(reversed(todo)), list[Running]()
    try:
        while (waiting or running) and time.monotonic() < deadline:
            while waiting and len(running) < n_processes:
                cell = waiting.pop()
                out, into = context.Pipe(duplex=False)
                process = context.Process(target=_child, args=(cell, limit, source, into))
                process.start()
                into.close()
                running.append(Running(cell, process, out, time.monotonic()))
            ready = wait([own.out for own in running], timeout=min(5.0, max(0.0, deadline - time.monotonic())))
            for own in [own for own in running if own.out in ready]:
                running.remove(own)
                yield own.cell, own.result(limit)
    finally:
        for own in running:
            own.end()

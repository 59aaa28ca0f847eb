"""Jobs in, results on disk: one file a table and method, with a line a repetition, so a run can be stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pysirus._output import write_text
from studies.classes.measure import N_FOLDS, Result, repetition_of
from studies.classes.methods import METHODS
from studies.classes.problems import Problem, load

N_REPETITIONS = 3
RESULTS = Path(__file__).with_name("results")


@cache
def problem_of(name: str) -> Problem:
    """A table, read once a process."""
    return load(name)


@dataclass(frozen=True)
class Job:
    """One method on one table in one repetition of the folds."""

    table: str
    method: str
    repetition: int

    @property
    def name(self) -> str:
        """As it is shown."""
        return f"{self.table}-{self.method}-{self.repetition}"

    @property
    def cost(self) -> float:
        """Seconds it is expected to take, roughly."""
        problem = problem_of(self.table)
        size = len(problem.y) / 1_000 * max(1, problem.X.shape[1] / 20) * max(1, len(problem.classes) / 2)
        return N_FOLDS * METHODS[self.method].seconds * size


def jobs(n_repetitions: int, tables: Sequence[str], methods: Sequence[str]) -> list[Job]:
    """Everything to compute, the first repetition of all first."""
    return [Job(table, method, r) for r in range(n_repetitions) for method in methods for table in tables]


def compute(job: Job) -> tuple[Job, Result, float]:
    """A job, its result and the processor time it took."""
    start = time.process_time()
    result = repetition_of(problem_of(job.table), METHODS[job.method], job.repetition)
    return job, result, time.process_time() - start


class Store:
    """Results on disk. Those of another version, other settings or another table are not taken for the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, table: str, method: str) -> Path:
        """The file of a table and method."""
        return self.folder / f"{table}-{method}.json"

    def read(self, table: str, method: str) -> dict[str, Any] | None:
        """What the file says, whatever the version; None where there is none."""
        try:
            document: dict[str, Any] = json.loads(self.path(table, method).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return document

    def _current(self, job: Job) -> dict[str, Any] | None:
        document = self.read(job.table, job.method)
        return document if document is not None and document["about"] == _about(job) else None

    def get(self, job: Job) -> Result | None:
        """A result that is there already."""
        document = self._current(job)
        found = None if document is None else document["repetitions"].get(str(job.repetition))
        return None if found is None else found["result"]

    def put(self, job: Job, result: Result, seconds: float) -> None:
        """Keep a result beside those of other repetitions."""
        document = self._current(job) or {"about": _about(job), "repetitions": {}}
        kept = document["repetitions"] | {str(job.repetition): {"seconds": round(seconds, 1), "result": result}}
        lines = ",\n".join(f'  "{r}": {json.dumps(kept[r], separators=(",", ":"))}' for r in sorted(kept))
        about = json.dumps(document["about"], ensure_ascii=False)
        write_text(self.path(job.table, job.method), f'{{"about": {about},\n "repetitions": {{\n{lines}\n }}}}\n')

    def forget(self, tables: Sequence[str], methods: Sequence[str]) -> None:
        """Results go, as after a change to the code."""
        for table in tables:
            for method in methods:
                self.path(table, method).unlink(missing_ok=True)


def _about(job: Job) -> dict[str, Any]:
    """What a result depends on."""
    problem = problem_of(job.table)
    shape = {"rows": len(problem.y), "columns": problem.X.shape[1], "classes": len(problem.classes)}
    return shape | METHODS[job.method].key()

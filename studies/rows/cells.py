"""Jobs in, results on disk: one file a table and number of rows, with a line a sample, so a run can be stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pysirus
from studies.results import LARGE, Job, Store
from studies.rows.measure import DRAWN, N_TREES, NOW, SIZES, Result, measure, n_samples
from studies.rows.problems import Problem, load

RESULTS = Path(__file__).with_name("results")
AFTER = Path(__file__).with_name("after")  # results of tuned models as they are now


@dataclass(frozen=True)
class Limit:
    """How many rows a tree draws at most; without a limit three tenths of them, and all in the first forest."""

    rows: int | None
    name: str = ""

    @property
    def title(self) -> str:
        """As it is shown."""
        return self.name or ("0.3 n" if self.rows is None else f"{self.rows:,}")

    def missing(self) -> str | None:
        """Why it cannot be run here; None when it can."""
        return None


LIMITS = {name: Limit(rows) for name, rows in DRAWN.items()}
METHODS = {**LIMITS, NOW: Limit(None, "as tuned models do")}


@cache
def problem_of(name: str) -> Problem:
    """A table, read once a process."""
    return load(name)


def jobs(tables: Sequence[str], methods: Sequence[str], n_repetitions: int) -> list[Job]:
    """Everything to compute; the first sample of all first."""
    return [Job(t, m, s, cost_of(m)) for s in range(n_repetitions) for m in methods for t in tables]


def cost_of(method: str) -> float:
    """Seconds that a job is expected to take, roughly."""
    return {NOW: 3.0, "1000": 2.0, "3000": 4.0, "5000": 5.0, "10000": 9.0, "30000": 20.0, "share": 25.0}[method]


def compute(job: Job) -> tuple[Job, Result, float]:
    """A job, its result and the processor time it took."""
    start = time.process_time()
    result = measure(problem_of(job.table), job.method, job.repetition)
    return job, result, time.process_time() - start


def about(job: Job) -> dict[str, Any]:
    """What a result depends on."""
    problem = problem_of(job.table)
    shape = {"rows": len(problem.y), "columns": problem.X.shape[1]}
    drawn = {"drawn": NOW if job.method == NOW else DRAWN[job.method]}
    of = {"pysirus": pysirus.__version__, "trees": N_TREES, "sizes": list(SIZES), "results": LARGE}
    return shape | of | drawn


def store_at(folder: Path = RESULTS) -> Store:
    """The results of this study in a folder."""
    return Store(folder, about)


N_SAMPLES = n_samples()

"""Jobs in, results on disk: one method on one table in one repetition of the folds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from studies.responses.measure import MANY, n_folds, repetition_of
from studies.responses.methods import METHODS
from studies.responses.problems import TABLES, Problem, load
from studies.results import Job, Result, Store

N_REPETITIONS = 3
RESULTS = Path(__file__).with_name("results")


@cache
def problem_of(name: str) -> Problem:
    """A table, read once a process."""
    return load(name)


def cost_of(table: str, method: str) -> float:
    """Seconds that a job is expected to take, roughly."""
    problem = problem_of(table)
    return n_folds(problem) * len(problem.X) / 1_000 * (10 if method in ("list", "stages") else 1)


def repetitions(table: str) -> int:
    """How often the folds are drawn."""
    return 1 if len(problem_of(table).X) >= MANY else N_REPETITIONS


def jobs(tables: Sequence[str], methods: Sequence[str], at_most: int = N_REPETITIONS) -> list[Job]:
    """Everything to compute, the first repetition of all first."""
    return [
        Job(table, method, r, cost_of(table, method))
        for r in range(at_most)
        for table in tables
        for method in methods
        if TABLES[table].kind in METHODS[method].kinds and r < repetitions(table)
    ]


def compute(job: Job) -> tuple[Job, Result, float]:
    """A job, its result and the processor time it took."""
    start = time.process_time()
    result = repetition_of(problem_of(job.table), METHODS[job.method], job.repetition)
    return job, result, time.process_time() - start


def about(job: Job) -> dict[str, Any]:
    """What a result depends on."""
    problem = problem_of(job.table)
    shape = {"rows": len(problem.X), "columns": problem.X.shape[1], "folds": n_folds(problem)}
    return shape | METHODS[job.method].key(problem.kind)


def store_at(folder: Path = RESULTS) -> Store:
    """The results of this study in a folder."""
    return Store(folder, about)

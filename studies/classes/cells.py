"""Jobs in, results on disk: one file a table and method, with a line a repetition, so a run can be stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from studies.classes.measure import N_FOLDS, Result, repetition_of
from studies.classes.methods import METHODS
from studies.classes.problems import Problem, load
from studies.results import Job, Store

N_REPETITIONS = 3
RESULTS = Path(__file__).with_name("results")


@cache
def problem_of(name: str) -> Problem:
    """A table, read once a process."""
    return load(name)


def cost_of(table: str, method: str) -> float:
    """Seconds that a job is expected to take, roughly."""
    problem = problem_of(table)
    size = len(problem.y) / 1_000 * max(1, problem.X.shape[1] / 20) * max(1, len(problem.classes) / 2)
    return N_FOLDS * METHODS[method].seconds * size


def jobs(tables: Sequence[str], methods: Sequence[str], n_repetitions: int) -> list[Job]:
    """Everything to compute, the first repetition of all first."""
    return [Job(t, m, r, cost_of(t, m)) for r in range(n_repetitions) for m in methods for t in tables]


def compute(job: Job) -> tuple[Job, Result, float]:
    """A job, its result and the processor time it took."""
    start = time.process_time()
    result = repetition_of(problem_of(job.table), METHODS[job.method], job.repetition)
    return job, result, time.process_time() - start


def about(job: Job) -> dict[str, Any]:
    """What a result depends on."""
    problem = problem_of(job.table)
    shape = {"rows": len(problem.y), "columns": problem.X.shape[1], "classes": len(problem.classes)}
    return shape | METHODS[job.method].key()


def store_at(folder: Path = RESULTS) -> Store:
    """The results of this study in a folder."""
    return Store(folder, about)

"""Jobs in, results on disk: one file a table and method, with a line a repetition, so a run can be stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from studies.results import Job, Result, Store
from studies.slopes.measure import N_FOLDS, measure
from studies.slopes.methods import METHODS
from studies.slopes.problems import load
from studies.sources import Problem

RESULTS = Path(__file__).with_name("results")
SECONDS = {"tuned-rules": 20.0, "tuned-slopes": 20.0, "auto": 30.0, "ebm": 60.0, "forest": 10.0}


@cache
def problem_of(name: str) -> Problem:
    """A table, read once a process."""
    return load(name)


def jobs(tables: Sequence[str], methods: Sequence[str], n_repetitions: int) -> list[Job]:
    """Everything to compute; the first repetition of all tables first."""
    return [
        Job(table, method, r, SECONDS.get(method, 2.0))
        for r in range(n_repetitions)
        for method in methods
        if r < METHODS[method].n_repetitions
        for table in tables
    ]


def compute(job: Job) -> tuple[Job, Result, float]:
    """A job, its result and the processor time it took."""
    start = time.process_time()
    result = measure(problem_of(job.table), job.method, job.repetition)
    return job, result, time.process_time() - start


def about(job: Job) -> dict[str, Any]:
    """What a result depends on."""
    problem = problem_of(job.table)
    shape = {"rows": len(problem.y), "columns": problem.X.shape[1], "folds": N_FOLDS}
    return shape | METHODS[job.method].key()


def store_at(folder: Path = RESULTS) -> Store:
    """The results of this study in a folder."""
    return Store(folder, about)

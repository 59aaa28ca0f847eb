"""Jobs in, results out: each is kept in a file as soon as it is there, so a run can be stopped and resumed."""

from __future__ import annotations

import json
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import pysirus
from paper import theorem
from paper.methods import METHODS, REPEAT_THEMSELVES, Result
from paper.problems import Problem, load
from pysirus._runtime.output import write_text

# seconds of one repetition on Housing, and how many times as long a dataset takes: for the time left, not for results
SECONDS = {
    "sirus": 5,
    "sirus-stages": 15,
    "sirus-sparse": 12,
    "sirus-50": 2,
    "sirus-50-depth-3": 14,
    "rulefit": 25,
    "node-harvest": 14,
}
SECONDS |= {"cart": 4, "forest": 12, "forest-quantiles": 9}
LENGTH = {"prostate": 0.4, "machine": 0.4, "bones": 0.4, "ozone": 0.7, "mpg": 0.7, "diabetes": 0.9, "abalone": 7.0}


@dataclass(frozen=True)
class Job:
    """One cell of a table in one repetition, or one pair of samples of the simulation."""

    name: str
    dataset: str | None
    method: str
    repetition: int

    @property
    def cost(self) -> float:
        """Seconds it is expected to take."""
        if self.dataset is None:
            return theorem.seconds(int(self.method))
        return SECONDS[self.method] * LENGTH.get(self.dataset, 1.0)


def jobs(n_repetitions: int, datasets: Sequence[str], methods: Sequence[str]) -> list[Job]:
    """Everything to compute, the first repetition of all tables first."""
    listed = [
        Job(f"{dataset}-{method}-{r}", dataset, method, r)
        for r in range(n_repetitions)
        for dataset in datasets
        for method in methods
        if method != "theorem" and (r == 0 or method not in REPEAT_THEMSELVES)
    ]
    if "theorem" not in methods:
        return listed
    return listed + [
        Job(f"theorem-{n}-{r}", None, str(n), r)
        for n in theorem.SIZES
        for r in range(theorem.n_pairs(n, quick=n_repetitions == 1))
    ]


class Store:
    """Results on disk, those of another version of pysirus aside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, job: Job) -> Path:
        return self.folder / f"{job.name}.json"

    def get(self, job: Job) -> Result | None:
        """A result that is there already."""
        try:
            document = json.loads(self._path(job).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return document["result"] if document["pysirus"] == pysirus.__version__ else None

    def put(self, job: Job, result: Result, seconds: float) -> None:
        """Keep a result."""
        document = {"pysirus": pysirus.__version__, "seconds": seconds, "result": result}
        write_text(self._path(job), json.dumps(document, indent=1) + "\n")

    def seconds(self, wanted: Iterable[Job]) -> float:
        """Processor time that the results took, on one thread each."""
        documents = (json.loads(self._path(job).read_text(encoding="utf-8")) for job in wanted)
        return float(sum(document["seconds"] for document in documents))


@cache
def _problem(name: str) -> Problem:
    return load(name)


def compute(job: Job) -> tuple[Result, float]:
    """One job, and how long it took."""
    start = time.process_time()
    # Abalone has one row of a sex of its own, which nine folds in ten have never seen or see alone
    warnings.filterwarnings("ignore", message=".*unseen category.*")
    if job.dataset is None:
        result = theorem.compare(int(job.method), job.repetition)
    else:
        result = METHODS[job.method](_problem(job.dataset), job.repetition)
    return result, time.process_time() - start


def _leave_interrupts() -> None:
    """An interrupt is for the parent, which then ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _results(todo: list[Any], n_processes: int, one: Callable[[Any], Any]) -> Iterator[tuple[Any, Any, float]]:
    """Results as they come, the longest job first so that none is left alone at the end."""
    ordered = sorted(todo, key=lambda job: (job.repetition, -job.cost))
    if n_processes == 1:
        yield from map(one, ordered)
        return
    with Pool(n_processes, _leave_interrupts) as pool:
        yield from pool.imap_unordered(one, ordered)


def compute_named(job: Job) -> tuple[Job, Result, float]:
    """A job, its result and how long it took: what a process is asked for."""
    return job, *compute(job)


def run(
    wanted: Sequence[Any],
    store: Any,
    n_processes: int,
    one: Callable[[Any], tuple[Any, Any, float]] = compute_named,
    title: str = "paper",
) -> None:
    """Compute what is not there yet, with progress and the time left.

    Other studies bring their own jobs (with ``name``, ``repetition`` and ``cost``), store (``get`` and ``put``) and
    function of a job.
    """
    todo = [job for job in wanted if store.get(job) is None]
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f}%"))
    with Progress(*columns, TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()) as progress:
        bar = progress.add_task(title, total=sum(job.cost for job in wanted))
        progress.advance(bar, sum(job.cost for job in wanted if job not in todo))
        if len(todo) < len(wanted):
            progress.console.print(f"{len(wanted) - len(todo)} of {len(wanted)} results are there already.")
        for job, result, seconds in _results(todo, n_processes, one):
            store.put(job, result, seconds)
            numbers = {name: value for name, value in result.items() if not isinstance(value, str)}
            shown = ", ".join(f"{name} {np.mean(value):.3f}" for name, value in numbers.items())
            progress.console.print(f"{job.name}: {shown} ({seconds:.0f} s)", highlight=False)
            progress.advance(bar, job.cost)

"""Jobs in, results out: each is kept in a file as soon as it is there, so a run can be stopped and resumed."""

from __future__ import annotations

import json
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from studies.results import RESULTS

from paper import samples, theorem
from paper.methods import METHODS, N_REPETITIONS, Result
from paper.problems import Problem, load
from pysirus._runtime.output import write_text

# seconds of one repetition on Housing, and how many times as long a dataset takes: for the time left, not for results
SECONDS = {"sirus": 5, "sirus-stages": 15, "sirus-sparse": 12, "sirus-50": 2, "sirus-50-depth-3": 14, "rulefit": 35}
SECONDS |= {"node-harvest": 30, "cart": 4, "forest": 12, "forest-quantiles": 9}
# the same of one list, by form
SECONDS_A_LIST = {"sirus": 1.2, "stages": 5.0, "slopes": 6.5, "rulefit": 1.1, "node-harvest": 1.0}
LENGTH = {"prostate": 0.4, "machine": 0.4, "bones": 0.4, "ozone": 0.7, "mpg": 0.7, "diabetes": 0.9, "abalone": 7.0}
LISTS = {"folds": 10, "bootstraps": 10, "halves": 1}  # of a job, in samples of the full size


@dataclass(frozen=True)
class Job:
    """One cell of a table in one repetition, or one pair of samples of the simulation."""

    name: str
    dataset: str | None
    method: str  # or a form of list, with the kind of samples
    repetition: int
    kind: str = ""

    @property
    def cost(self) -> float:
        """Seconds it is expected to take."""
        if self.dataset is None:
            return theorem.seconds(int(self.method))
        seconds = SECONDS[self.method] if not self.kind else SECONDS_A_LIST.get(self.method, 0.5) * LISTS[self.kind]
        return seconds * LENGTH.get(self.dataset, 1.0)


def n_repetitions(method: str, kind: str, quick: bool) -> int:
    """How often a cell is computed: repetitions of folds, or pairs of halves."""
    if quick:
        return 1
    if not kind:
        return N_REPETITIONS[method]
    return {"folds": 2 if method.endswith(str(samples.N_TERMS)) else 1, "bootstraps": 1, "halves": 10}[kind]


def jobs(quick: bool, datasets: Sequence[str], methods: Sequence[str]) -> list[Job]:
    """Everything to compute: the tables of the paper, the samples, and the simulation."""
    cells = [(method, "") for method in methods if method in METHODS]
    cells += [(form, kind) for form in samples.FORMS for kind in samples.KINDS if "samples" in methods]
    listed = [
        Job("-".join(filter(None, (dataset, method, kind, str(r)))), dataset, method, r, kind)
        for method, kind in cells
        for dataset in datasets
        for r in range(n_repetitions(method, kind, quick))
    ]
    if "theorem" not in methods:
        return listed
    return listed + [
        Job(f"theorem-{n}-{r}", None, str(n), r) for n in theorem.SIZES for r in range(theorem.n_pairs(n, quick))
    ]


class Store:
    """Results in one file, a line each, appended as they come; those of another results version are aside."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: dict[str, dict[str, Any]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            with suppress(json.JSONDecodeError):  # cut off
                document = json.loads(line)
                self._kept[document["job"]] = document

    def get(self, job: Job) -> Result | None:
        """A result that is there already."""
        found = self._kept.get(job.name)
        return found["result"] if found is not None and found["results"] == RESULTS else None

    def put(self, job: Job, result: Result, seconds: float) -> None:
        """Keep a result."""
        document = {"job": job.name, "results": RESULTS, "seconds": round(seconds, 1), "result": result}
        self._kept[job.name] = document
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(document, separators=(",", ":")))

    def tidy(self, wanted: Iterable[Job]) -> None:
        """Write the file again: what is wanted, in order, once each."""
        lines = [self._kept[job.name] for job in wanted if self.get(job) is not None]
        write_text(self.path, "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))

    def seconds(self, wanted: Iterable[Job]) -> float:
        """Processor time that the results took, on one thread each."""
        return float(sum(self._kept[job.name]["seconds"] for job in wanted if self.get(job) is not None))


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
    elif job.kind:
        result = samples.measure(_problem(job.dataset), job.method, job.kind, job.repetition)
    else:
        result = METHODS[job.method](_problem(job.dataset), job.repetition)
    return result, time.process_time() - start


def _leave_interrupts() -> None:
    """An interrupt is for the parent, which then ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _results(todo: list[Any], n_processes: int, one: Callable[[Any], Any]) -> Iterator[tuple[Any, Any, float]]:
    """Results as they come, the longest job first so that none is left alone at the end."""
    ordered = sorted(todo, key=lambda job: (job.repetition // 5, -job.cost))
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

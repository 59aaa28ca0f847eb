"""Jobs in, seconds or megabytes out."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def best_of(jobs: Mapping[str, Callable[[], None]], n_rounds: int) -> dict[str, float]:
    """The least seconds of each job. Rounds go through all jobs in turn, so that a busy moment meets them all."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(n_rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def peak_megabytes() -> float:
    """The largest memory this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def in_new_process(module: str, *arguments: object) -> str:
    """What a module prints when run in a process of its own, whose memory nobody else has touched."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout

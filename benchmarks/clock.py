"""Jobs in, seconds or megabytes out."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def best_of(
    jobs: Mapping[str, Callable[[], object]], n_rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """The least processor seconds of each job.

    Rounds go through all jobs in turn, so that a busy moment meets them all. With one thread processor time is what a
    clock on the wall shows on a quiet machine; on a busy one it leaves out the waiting, which otherwise falls on one
    job or the other by chance. Jobs of several threads are measured by ``time.perf_counter``.
    """
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(n_rounds):
        for name, job in jobs.items():
            start = clock()
            job()
            best[name] = min(best[name], clock() - start)
    return best


def peak_megabytes() -> float:
    """The largest memory this process has held so far."""
    try:  # what getrusage says begins, on Linux, with the memory of the process that started this one
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def resident_megabytes() -> float:
    """The memory this process holds now; its peak where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_megabytes()
    return pages * resource.getpagesize() / 2**20


def in_new_process(module: str, *arguments: object) -> str:
    """What a module prints when run in a process of its own, whose memory nobody else has touched."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout

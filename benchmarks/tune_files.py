"""Tuning and stages on files: how many times as long as one plain fit of the same files, and as the same in memory.

    python -m benchmarks.tune_files                  10,000,000 x 20, ten folds, 1,000 trees, between two plain fits
    python -m benchmarks.tune_files --rows 1000000   a tenth of it
    python -m benchmarks.tune_files --stages         stages "auto" on 2,000,000 x 20 from files and in memory, twice

Each runs in a process of its own, whose peak is that of its resident memory. Tables are those of `benchmarks.scale`.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.scale import write_table


class Run(NamedTuple):
    """What a fit took, and a hash of its model."""

    seconds: float
    processor: float
    peak: int  # bytes
    model: str


def _run(job: tuple[str, dict[str, Any], Path, bool]) -> Run:
    import pysirus

    name, options, folder, in_files = job
    estimator = getattr(pysirus, name)(random_state=0, **options)
    start = time.perf_counter(), time.process_time()
    if in_files:
        estimator.fit_files(folder, "y")
    else:
        table = pq.read_table(folder)
        estimator.fit(table.drop_columns("y"), table["y"])
    seconds, processor = time.perf_counter() - start[0], time.process_time() - start[1]
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "model.json"
        estimator.save(path)
        return Run(seconds, processor, peak, hashlib.sha256(path.read_bytes()).hexdigest()[:16])


def run(title: str, name: str, options: dict[str, Any], folder: Path, *, in_files: bool = True) -> Run:
    """One fit in a process of its own, printed."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(_run, (name, options, folder, in_files)).result()
    print(f"{title:24}{found.seconds:9.1f}{found.processor:11.1f}{found.peak / 1e6:9.0f}  {found.model}", flush=True)
    return found


def compare_with_fits(folder: Path, n_trees: int, n_jobs: int) -> bool:
    """Plain fits before and after a tuning: whether they have the same model."""
    fit = {"n_trees": n_trees, "n_jobs": n_jobs}
    before = run("fit", "SirusRegressor", fit, folder)
    tuned = run("tuning, ten folds", "SirusRegressorCV", {**fit, "n_repeats": 1}, folder)
    after = run("fit", "SirusRegressor", fit, folder)
    print(f"tuning / fit: {tuned.seconds / before.seconds:.2f} and {tuned.seconds / after.seconds:.2f}")
    return before.model == after.model


def compare_with_memory(folder: Path, n_trees: int, n_jobs: int) -> bool:
    """Stages from files and in memory, twice: whether all have the same model."""
    options = {"n_stages": "auto", "n_repeats": 1, "cv": 3, "max_rules": 8, "n_trees": n_trees, "n_jobs": n_jobs}
    found = []
    for _ in range(2):
        files = run("stages, files", "SirusRegressorCV", options, folder)
        memory = run("stages, memory", "SirusRegressorCV", options, folder, in_files=False)
        print(f"files / memory: {files.seconds / memory.seconds:.2f}")
        found += [files.model, memory.model]
    return len(set(found)) == 1


def main() -> int:
    """Print what was measured; 1 if models differ that should not."""
    parser = argparse.ArgumentParser("python -m benchmarks.tune_files", description=__doc__)
    parser.add_argument("--stages", action="store_true", help="files beside memory, with stages")
    parser.add_argument("--rows", type=int, help="10,000,000, or 2,000,000 with --stages")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--trees", type=int, help="1,000, or 200 with --stages")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    n_rows = options.rows or (2_000_000 if options.stages else 10_000_000)
    n_trees = options.trees or (200 if options.stages else 1_000)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_table(folder, n_rows, options.columns)
        print(f"{n_rows:,} x {options.columns}, {n_trees:,} trees, {options.jobs} threads, pyarrow {pa.__version__}")
        print(f"{'':24}{'seconds':>9}{'processor':>11}{'peak MB':>9}  model")
        compare = compare_with_memory if options.stages else compare_with_fits
        equal = compare(folder, n_trees, options.jobs)
    print("the models are equal, byte for byte" if equal else "the models differ")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

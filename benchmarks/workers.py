"""What fits, stages and tuning cost on paper: measured points in, a model of the cost and a simulation of workers out.

    python -m benchmarks.workers --measure    processor time of such jobs on files, to results/workers.json
    python -m benchmarks.workers              fits the model, simulates, and writes the tables of docs/scale.md

The simulation goes pass by pass: tasks of uneven length on workers, some of which are slow; tasks that the scheduler
hands out one after the other; answers that are added up eight at a time; sums that the client takes and searches. A
lost worker has its rows read and put into bins again by the others.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "workers.json"
PAGE = ROOT / "docs" / "scale.md"
PART = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
COLUMNS, FOLDS, STAGES = 20, 10, 4
SIZES = [(200_000, 100), (200_000, 800), (800_000, 100), (800_000, 400)]

# ------------------------------------------------------------------------------------------------------------ measured

CODE = """
import sys, time, pysirus, pysirus.engine.tune, pysirus.engine.backends.files
job, n_trees, n_stages, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
model = pysirus.SirusRegressorCV(n_repeats=1) if job == "tune" else pysirus.SirusRegressor()
if job == "stages":
    model.set_params(n_rules=1, n_stages=n_stages)
start = time.perf_counter(), time.process_time()
model.set_params(n_trees=n_trees, random_state=0, n_jobs=1).fit_files(folder, "y")
print(time.perf_counter() - start[0], time.process_time() - start[1])
assert job != "stages" or model.n_stages_ == n_stages
"""


def measure() -> None:
    """Processor time on one thread, each in a process of its own."""
    from benchmarks.scale import write_table

    points = []
    with tempfile.TemporaryDirectory() as folder:
        for n_rows, n_trees in SIZES:
            place = Path(folder) / str(n_rows)
            if not place.exists():
                place.mkdir()
                write_table(place, n_rows, COLUMNS)
            for job in JOBS:
                command = [sys.executable, "-c", CODE, job, str(n_trees), str(STAGES), str(place)]
                # threads of linear algebra that wait for each other take processor time on a busy machine
                alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
                said = subprocess.run(command, check=True, capture_output=True, text=True, env=alone).stdout.split()
                wall, processor = map(float, said)
                point = {"job": job, "rows": n_rows, "trees": n_trees, "wall": wall, "processor": processor}
                points.append({**point, "load": os.getloadavg()[0]})
                print(points[-1], flush=True)
    RESULTS.write_text(json.dumps(points, indent=1) + "\n", encoding="utf-8")


def read() -> list[dict[str, Any]]:
    """The measured points."""
    points: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return points


# --------------------------------------------------------------------------------------------------------------- model


@dataclass(frozen=True)
class Cost:
    """Processor seconds: ``rows * (columns * value + trees * tree) + fixed``."""

    value: float  # of a value, in all passes over the columns
    tree: float  # of a row in a tree, in all folds or stages together
    fixed: float

    def seconds(self, n_rows: int, n_trees: int) -> float:
        """What the model says."""
        return n_rows * (COLUMNS * self.value + n_trees * self.tree) + self.fixed


def fit_cost(points: list[dict[str, Any]], job: str) -> Cost:
    """Least squares on relative errors, none of the three below zero."""
    own = [point for point in points if point["job"] == job]
    rows = np.array([[p["rows"] * COLUMNS, p["rows"] * p["trees"], 1.0] for p in own], dtype=float)
    seconds = np.array([p["processor"] for p in own])
    scale = rows.max(axis=0)
    found, _ = nnls(rows / scale / seconds[:, None], np.ones(len(own)))
    return Cost(*(found / scale).tolist())


# ---------------------------------------------------------------------------------------------------------- simulation


@dataclass(frozen=True)
class Job:
    """What a job is made of."""

    name: str
    # passes, as tests/engine count them: over the rows as they came, and in bins besides two for each block of trees
    over_rows: int
    over_bins: int
    sum_bytes: int  # of a tree, at the second level
    forests: int = 1  # that are grown one after the other
    # profiled: seconds to add up two answers about columns (tallies of 20 columns, of each fold), in two passes; and
    # what the client makes of all answers
    merge: float = 0.025
    on_client: float = 0.3


JOBS = {
    "fit": Job("plain fit", 5, 2, 2_100),
    # trees on residuals try all columns at every node
    "stages": Job("four stages", 5, 2 + 3 * (STAGES - 1), 6_400, forests=STAGES, on_client=0.3 + 0.05 * STAGES),
    # of a billion rows the quantiles of folds take one pass more
    "tune": Job("tuning, ten folds", 10, 6, FOLDS * 2_100, merge=0.085, on_client=2.6),
}
ANSWER_BYTES = 1 << 24  # of the sums of a pass on Dask


@dataclass(frozen=True)
class Cluster:
    """What a cluster is like."""

    n_workers: int
    task: float = 1e-3  # of the scheduler for a task
    latency: float = 2e-3  # of a message, and of starting a task
    bandwidth: float = 1e9  # bytes a second
    uneven: float = 0.1  # standard deviation of the length of a task
    slow: float = 0.01  # how many workers are slow in a pass ...
    slowness: float = 3.0  # ... and how much
    lost: float = 1e-3  # how many are lost in a job
    tasks_a_worker: int = 8
    backups: bool = False  # tasks that last are given to another worker too
    in_pairs: bool = False  # answers are added up in pairs


def simulate(job: Job, cost: Cost, n_rows: int, n_trees: int, cluster: Cluster, seed: int) -> float:
    """Seconds of a job."""
    rng = np.random.default_rng(seed)
    trees_a_pass = max(64, ANSWER_BYTES // job.sum_bytes // 64 * 64)
    n_growing = 2 * job.forests * -(-n_trees // trees_a_pass)
    n_reading = job.over_rows + job.over_bins
    reading = n_rows * COLUMNS * cost.value / n_reading
    passes = [(reading, 2e5, job.merge if number < 2 else 0.0) for number in range(n_reading)]
    growing = n_rows * n_trees * cost.tree / n_growing, min(ANSWER_BYTES, n_trees * job.sum_bytes), 0.0
    passes += [growing] * n_growing
    lost_at = rng.integers(0, len(passes), rng.binomial(cluster.n_workers, cluster.lost))
    total = job.on_client
    for number, (work, answer, merge) in enumerate(passes):
        total += _pass(work, answer, merge, cluster, rng)
        # the rows of a lost worker are read and put into bins again, by all
        again = int((lost_at == number).sum()) * reading * job.over_rows / max(1, cluster.n_workers)
        total += again / min(cluster.tasks_a_worker, cluster.n_workers) + (5.0 if again else 0.0)
    return total


def _pass(work: float, answer: float, merge: float, cluster: Cluster, rng: np.random.Generator) -> float:
    n_tasks = cluster.tasks_a_worker * cluster.n_workers
    length = work / n_tasks * rng.lognormal(0.0, cluster.uneven, (cluster.n_workers, cluster.tasks_a_worker))
    slow = np.where(rng.random(cluster.n_workers) < cluster.slow, cluster.slowness, 1.0)[:, None]
    by_worker = (length * slow + cluster.latency).sum(axis=1)
    usual = float(np.median(by_worker))
    longest = float(by_worker.max())
    if cluster.backups:  # the last tasks of a slow worker are done elsewhere, when others have nothing left
        longest = min(longest, usual + 2 * float(length.mean() + cluster.latency))
    handing_out = cluster.task * n_tasks * (1 + 1 / 8)
    levels = np.ceil(np.log(max(2, n_tasks)) / np.log(8))
    # eight answers meet in one place; pairs of them would be added up side by side
    one_by_one = 1 if cluster.in_pairs else 7
    merging = levels * (cluster.latency + 8 * answer / cluster.bandwidth + merge * one_by_one)
    return max(longest, handing_out) + float(merging) + answer / cluster.bandwidth + answer / 16 * 5e-9


def seconds(job: Job, cost: Cost, n_rows: int, n_trees: int, cluster: Cluster, n_runs: int = 20) -> float:
    """The mean over some runs."""
    return float(np.mean([simulate(job, cost, n_rows, n_trees, cluster, seed) for seed in range(n_runs)]))


# ---------------------------------------------------------------------------------------------------------------- page


def table(header: str, rows: list[str]) -> str:
    """Lines of a table."""
    columns = header.count("|") - 1
    return "\n".join([header, "|---|" + "---:|" * (columns - 1), *rows]) + "\n"


def costs_part(points: list[dict[str, Any]]) -> str:
    """The constants, and measured beside model."""
    found = {job: fit_cost(points, job) for job in JOBS}
    lines = [
        f"| {JOBS[job].name} | {cost.value * 1e6:.2f} µs | {cost.tree * 1e9:.1f} ns | {cost.fixed:.1f} s |"
        for job, cost in found.items()
    ]
    text = table("| processor time | of a value | of a row and tree | fixed |", lines) + "\n"
    lines = [
        f"| {p['job']}, {p['rows']:,} rows, {p['trees']} trees | {p['processor']:.1f} s "
        f"| {found[p['job']].seconds(p['rows'], p['trees']):.1f} s |"
        for p in points
    ]
    return text + table("| one thread, 20 columns | measured | model |", lines)


def workers_part(points: list[dict[str, Any]]) -> str:
    """10, 100 and 1,000 workers."""
    n_rows, n_trees = 1_000_000_000, 1_000
    lines = []
    for key, job in JOBS.items():
        cost = fit_cost(points, key)
        for n_workers in (1, 10, 100, 1_000):
            plain = Cluster(n_workers, slow=0.0, lost=0.0)
            real = Cluster(n_workers)
            mended = replace(real, tasks_a_worker=2, backups=True, in_pairs=True)
            ideal = cost.seconds(n_rows, n_trees) / n_workers
            found = [seconds(job, cost, n_rows, n_trees, cluster) for cluster in (plain, real, mended)]
            cells = [f"{value:,.0f} s" for value in (ideal, *found)]
            share = f"{ideal / found[1]:.0%}"
            lines.append(f"| {job.name}: {n_workers:,} | {' | '.join(cells)} | {share} |")
    header = "| workers | work / workers | with scheduling | and slow, lost ones | with fixes | of the workers in use |"
    return table(header, lines)


PARTS = {"costs": costs_part, "workers": workers_part}


def with_figures(page: str) -> str:
    """The page with the tables of the file."""
    points = read()
    return PART.sub(lambda found: found[1] + "\n" + PARTS[found[2]](points) + "\n" + found[3], page)


def main() -> None:
    """Measure, or write the page again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    if parser.parse_args().measure:
        measure()
    else:
        PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

"""How much sooner two Dask workers fit than one, and where the time goes.

    python -m benchmarks.dask_speed                     1,000,000 x 20, 4,096 trees
    python -m benchmarks.dask_speed --rows 100000       a tenth of it
    python -m benchmarks.dask_speed --tune --trees 400  tuned in ten folds

Each worker is a process of one thread. Beside the clock on the wall stands processor time, which other work on the
machine touches less: of the workers, of the client with the scheduler in it, and of the sums of nodes alone, which are
the work of the core. On idle cores a fit takes at least the time of the busier worker, and at most that of the client
more, part of which runs beside the workers.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from pysirus.dask import SirusRegressor, SirusRegressorCV
from pysirus.engine import shard as _shard

PARTITIONS = 16


class Times(NamedTuple):
    """Seconds of a fit."""

    wall: float
    client: float  # processor time, the scheduler's among it
    workers: list[float]
    sums: float  # of the workers' time, that in the core's sums of nodes

    @property
    def least(self) -> float:
        """What the fit takes on idle cores if the client works beside the workers."""
        return max(self.workers)

    @property
    def most(self) -> float:
        """The same if they wait for each other."""
        return self.client + max(self.workers)


def make_block(number: int, n_rows: int, n_columns: int) -> pd.DataFrame:
    """Normal columns, and a response of three of them."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((n_rows, n_columns))
    y = 2 * (X[:, 0] > 0) + (X[:, 1] > 0.5) * (X[:, 2] < 0) + rng.standard_normal(n_rows) / 2
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(n_columns)]).assign(y=y)


def watch_sums() -> None:
    """Count the processor time of a worker in the sums of nodes."""
    core = _shard._core.level_sums
    _shard.seconds = 0.0  # type: ignore[attr-defined]

    def level_sums(*arguments: Any) -> Any:
        start = time.process_time()
        answer = core(*arguments)
        _shard.seconds += time.process_time() - start  # type: ignore[attr-defined]
        return answer

    _shard._core.level_sums = level_sums


def worker_times() -> tuple[float, float]:
    """Processor time of a worker so far: all, in the sums of nodes."""
    return time.process_time(), _shard.seconds  # type: ignore[attr-defined]


def measure(n_workers: int, n_rows: int, n_columns: int, n_trees: int, tune: bool) -> Times:
    """Fit on so many workers; the table lies in their memory."""
    meta = make_block(0, 1, n_columns)[:0]
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(watch_sums)
        table = dd.from_map(make_block, range(PARTITIONS), args=[n_rows // PARTITIONS, n_columns], meta=meta).persist()
        table.map_partitions(len).sum().compute()
        before, client_before, start = client.run(worker_times), time.process_time(), time.perf_counter()
        estimator = SirusRegressorCV(n_repeats=1) if tune else SirusRegressor()
        estimator.set_params(n_trees=n_trees, random_state=0).fit(table, "y")
        wall, used = time.perf_counter() - start, time.process_time() - client_before
        spent = [np.subtract(now, before[worker]).tolist() for worker, now in client.run(worker_times).items()]
    return Times(wall, used, [whole for whole, _ in spent], sum(sums for _, sums in spent))


def main() -> None:
    """Measure one worker and two, in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--trees", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    best: dict[int, Times] = {}
    # what Dask's profiler and monitor take grows with the wall clock, not with the work: on a busy machine it is most
    quiet = {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "10s"}
    with dask.config.set({**quiet, "distributed.logging.distributed": "error"}):
        for _ in range(options.rounds):
            for n_workers in (1, 2):
                times = measure(n_workers, options.rows, options.columns, options.trees, options.tune)
                best[n_workers] = min(times, best.get(n_workers, times))
    what = f"{options.trees} trees{', ten folds' if options.tune else ''}"
    print(f"{options.rows:,} x {options.columns}, {what}, {PARTITIONS} partitions; seconds")
    for n_workers, times in best.items():
        workers = " + ".join(f"{seconds:.2f}" for seconds in times.workers)
        other = 1 - times.sums / (times.client + sum(times.workers))
        print(
            f"{n_workers} worker(s): wall {times.wall:.2f}; processor: client {times.client:.2f}, workers {workers}, "
            f"sums of nodes {times.sums:.2f}; other than sums {other:.1%}"
        )
    one, two = best[1], best[2]
    idle = f"{one.most / two.most:.2f} to {one.least / two.least:.2f}"
    print(f"two workers are {one.wall / two.wall:.2f} times as fast by the wall, {idle} by processor time")


if __name__ == "__main__":
    main()

"""Parquet larger than memory: time and anonymous memory of ``fit_files`` against ``fit`` on a quarter of the rows.

    python benchmarks/scale.py                      40,000,000 x 20, 200 trees: 3.2 GB of float32, about 10 GB of disk
    python benchmarks/scale.py --rows 4000000       a tenth of it

Each measurement runs in a process of its own. Anonymous memory is what the process itself asked for (RssAnon in
/proc/self/status); pages of the scratch file and of the Parquet files, which the system takes back when it needs them,
are not counted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES = 8


def write_table(folder: Path, n_rows: int, n_columns: int) -> None:
    """Normal columns, a response of three of them, in files of several row groups."""
    for i in range(FILES):
        rng = np.random.default_rng(i)
        with pq.ParquetWriter(folder / f"{i}.parquet", _schema(n_columns), compression="none") as writer:
            for _ in range(5):
                n = n_rows // (5 * FILES)
                columns = [rng.standard_normal(n, dtype=np.float32) for _ in range(n_columns)]
                y = 2 * (columns[0] > 0) + (columns[1] > 0.5) * (columns[2] < 0) + rng.standard_normal(n) / 2
                writer.write_table(pa.table([*columns, y.astype(np.float32)], schema=_schema(n_columns)))


def _schema(n_columns: int) -> pa.Schema:
    return pa.schema([*((f"x{j}", pa.float32()) for j in range(n_columns)), ("y", pa.float32())])


def _anonymous() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])
    return 0


class Watch(threading.Thread):
    """The largest anonymous memory while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.done = 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.01):
            self.peak = max(self.peak, _anonymous())


def _measure(connection, folder: Path, n_trees: int, n_jobs: int, quarter: bool, in_files: bool, memory: int) -> None:
    from pysirus import SirusRegressor

    files = sorted(folder.iterdir())[: FILES // 4 if quarter else FILES]
    model = SirusRegressor(n_trees=n_trees, random_state=0, n_jobs=n_jobs)
    watch = Watch()
    watch.start()
    start = time.perf_counter(), time.process_time()
    if in_files:
        model.fit_files(files, "y", memory=memory)
    else:
        table = pa.concat_tables([pq.read_table(file) for file in files])
        model.fit(table.drop_columns("y"), table["y"])
    seconds, work = time.perf_counter() - start[0], time.process_time() - start[1]
    watch.done.set()
    connection.send((seconds, work, watch.peak, [str(rule) for rule in model.selected_]))


def measure(*arguments) -> tuple[float, float, int, list[str]]:
    """One fit in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measure, args=(theirs, *arguments))
    process.start()
    theirs.close()
    answer = ours.recv()
    process.join()
    return answer


def main() -> int:
    """Print the table; 1 if files and memory disagree, or the cap is passed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=40_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--memory", type=int, default=800 << 20, help="what fit_files may use, in bytes")
    parser.add_argument("--folder", type=Path, help="where the table is, or is to be written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not any(folder.glob("*.parquet")):
            folder.mkdir(exist_ok=True)
            write_table(folder, options.rows, options.columns)
        size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        shape = f"{options.rows:,} x {options.columns}, {size / 2**30:.2f} GB"
        print(f"{shape}, {options.trees} trees, {options.jobs} jobs")
        print(f"{'':34}{'seconds':>9}{'processor':>11}{'anonymous MB':>14}")
        results = {}
        for name, quarter, in_files in (
            ("fit_files, all rows", False, True),
            ("fit_files, a quarter", True, True),
            ("fit in memory, a quarter", True, False),
        ):
            results[name] = measure(folder, options.trees, options.jobs, quarter, in_files, options.memory)
            seconds, work, peak, _ = results[name]
            print(f"{name:34}{seconds:9.1f}{work:11.1f}{peak / 2**20:14.0f}", flush=True)
    whole, part, memory = results.values()
    print(f"all rows / a quarter: {whole[0] / part[0]:.2f} (linear: 4)   files / memory: {part[0] / memory[0]:.2f}")
    equal = part[3] == memory[3]
    print("the rules of a quarter are the same" if equal else "the rules of a quarter differ")
    return 0 if equal and whole[2] < 2**30 else 1


if __name__ == "__main__":
    sys.exit(main())

"""A table larger than the memory it may take, by Parquet files, a DuckDB query and a polars LazyFrame, and in memory.

    python -m benchmarks.scale                 10,000,000 x 20, 200 trees: to results/sources.json and docs/sources.md
    python -m benchmarks.scale --page          the figures of docs/sources.md alone
    python -m benchmarks.scale --rows 40000000 --sources parquet --no-page

Each measurement runs in a process of its own. The peak is that of resident memory (VmHWM in /proc/self/status): what
the process asked for, its libraries, and the pages of files that it maps. Anonymous memory (RssAnon) is the first of
these alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "sources.json"
PAGE = ROOT / "docs" / "sources.md"
PART = re.compile(r"(<!-- figures: large -->\n).*?(<!-- end -->)", re.DOTALL)
FILES = 8
NAMES = {
    "parquet": "Parquet files",
    "query": "DuckDB query of these files",
    "lazy": "polars LazyFrame of these files",
    "memory": "pyarrow table in memory",
}


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


def open_source(kind: str, folder: Path, memory: int) -> Any:
    """What ``fit`` is given."""
    files = sorted(folder.glob("*.parquet"))
    if kind == "parquet":
        return files
    if kind == "query":
        import duckdb

        duckdb.sql(f"set memory_limit = '{memory // 2}B'; set preserve_insertion_order = true")
        return duckdb.sql(f"select * from read_parquet({[str(file) for file in files]})")
    if kind == "lazy":
        import polars as pl

        return pl.scan_parquet(files)
    return pa.concat_tables([pq.read_table(file) for file in files])


def _status(what: str) -> int:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return next(1024 * int(line.split()[1]) for line in text.splitlines() if line.startswith(what))


class Watch(threading.Thread):
    """The largest anonymous memory while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.done = 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.01):
            self.peak = max(self.peak, _status("RssAnon"))


def _measure(connection: Any, kind: str, folder: Path, n_trees: int, n_jobs: int, memory: int) -> None:
    from pysirus import SirusRegressor

    watch = Watch()
    watch.start()
    start = time.perf_counter(), time.process_time()
    model = SirusRegressor(n_trees=n_trees, random_state=0, n_jobs=n_jobs)
    model.fit(open_source(kind, folder, memory), "y", memory=memory, scratch=folder)
    seconds, work = time.perf_counter() - start[0], time.process_time() - start[1]
    watch.done.set()
    model.save(folder / f"{kind}.json")
    found = {"source": kind, "seconds": seconds, "processor": work, "peak": _status("VmHWM"), "anonymous": watch.peak}
    connection.send(found)


def measure(*arguments: Any) -> dict[str, Any]:
    """One fit in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measure, args=(theirs, *arguments))
    process.start()
    theirs.close()
    answer: dict[str, Any] = ours.recv()
    process.join()
    return answer


def large(found: dict[str, Any]) -> str:
    """What was measured, as a table of the page."""
    shape = f"{found['rows']:,} x {found['columns']}, {found['trees']} trees, {found['jobs']} threads"
    shown = f"{shape}, `memory` of {found['memory'] / 2**20:,.0f} MB; {found['bytes'] / 2**30:.2f} GB of files"
    lines = [f"| {shown} | processor seconds | peak memory | of that anonymous |", "|---|---:|---:|---:|"]
    for run in found["runs"]:
        sizes = f"{run['peak'] / 2**20:,.0f} MB | {run['anonymous'] / 2**20:,.0f} MB"
        lines.append(f"| {NAMES[run['source']]} | {run['processor']:.0f} | {sizes} |")
    same = "The model files are equal." if found["equal"] else "THE MODEL FILES DIFFER."
    return "\n".join(["", *lines, "", same, ""])


def with_figures(page: str) -> str:
    """The page with the figures of the file."""
    text = large(json.loads(RESULTS.read_text(encoding="utf-8")))
    return PART.sub(lambda part: part[1] + text + "\n" + part[2], page)


def main() -> int:
    """Measure, write the results and the page; 1 if models differ, or a source takes 2 GB or more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--memory", type=int, default=1 << 30, help="what fit may use, in bytes")
    parser.add_argument("--sources", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--no-page", action="store_true", help="print the results, and write nothing")
    options = parser.parse_args()
    if not options.page:
        found = {name: getattr(options, name) for name in ("rows", "columns", "trees", "jobs", "memory")}
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            write_table(folder, options.rows, options.columns)
            found["bytes"] = sum(path.stat().st_size for path in folder.glob("*.parquet"))
            runs = [measure(kind, folder, options.trees, options.jobs, options.memory) for kind in options.sources]
            models = {(folder / f"{kind}.json").read_text(encoding="utf-8") for kind in options.sources}
        found |= {"equal": len(models) == 1, "runs": runs}
        print(large(found))
        if options.no_page:
            return 0
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    small = all(run["peak"] < 2e9 for run in found["runs"] if run["source"] != "memory")
    return 0 if found["equal"] and small else 1


if __name__ == "__main__":
    sys.exit(main())

"""Rows and columns in, the time and the memory that fitting them takes out: run in a process of its own."""

from __future__ import annotations

import json
import sys
import time

from benchmarks.clock import peak_megabytes, resident_megabytes
from benchmarks.problems import made_up, shipped
from benchmarks.rivals import ours


def main(n_rows: int, n_columns: int, n_trees: int) -> None:
    """Print the size of the array, the memory held before fitting and the peak after, in megabytes, and seconds."""
    ours.fit(shipped("machine"), 100)  # libraries are loaded before the measurement begins
    problem = made_up(n_rows, n_columns)
    before = resident_megabytes()  # not the peak: what making the table took must not hide what fitting takes
    start = time.process_time()
    ours.fit(problem, n_trees)
    seconds = time.process_time() - start
    sizes = {"array": problem.X.nbytes / 2**20, "before": before, "after": peak_megabytes()}
    print(json.dumps({**sizes, "seconds": seconds}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))

"""Damage model files by the thousand, in worker processes whose memory is measured; see the package."""

from __future__ import annotations

import argparse
import collections
import resource
import signal
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pysirus import ModelFileError

from .life import Failure, live
from .mutants import golden_files, mutant

SECONDS = 60  # for the whole life of one model


@dataclass
class Tally:
    """What became of some files."""

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    refused_exports: int = 0
    failures: list[str] = field(default_factory=list)
    peak: int = 0  # bytes
    slowest: float = 0.0

    def add(self, other: Tally) -> None:
        """Count others too."""
        self.outcomes += other.outcomes
        self.refused_exports += other.refused_exports
        self.failures += other.failures
        self.peak, self.slowest = max(self.peak, other.peak), max(self.slowest, other.slowest)


def _too_slow(*_: Any) -> None:
    raise Failure(f"took more than {SECONDS} seconds")


def examine(seeds: range) -> Tally:
    """The fate of some mutants."""
    tally = Tally()
    signal.signal(signal.SIGALRM, _too_slow)
    with tempfile.TemporaryDirectory() as folder:
        path, scratch = Path(folder) / "m.json", Path(folder) / "again.json"
        for seed in seeds:
            golden, data, what = mutant(seed)
            name = f"seed {seed} ({golden.stem}; {what[:200]})"
            path.write_bytes(data)
            start = time.perf_counter()
            signal.alarm(SECONDS)
            try:
                tally.refused_exports += live(path, scratch)
                tally.outcomes["works"] += 1
            except ModelFileError:
                tally.outcomes["ModelFileError"] += 1
            except Failure as failure:
                tally.outcomes["failed after load"] += 1
                tally.failures.append(f"{name}: {str(failure)[:300]}")
            except Exception as error:
                tally.outcomes["other error from load"] += 1
                tally.failures.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
            finally:
                signal.alarm(0)
            tally.slowest = max(tally.slowest, time.perf_counter() - start)
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return tally


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(prog="python -m damage", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=40, help="failures to print")
    options = parser.parse_args()
    step, start, tally = 100, time.perf_counter(), Tally()
    parts = [
        range(options.seed + i, options.seed + min(i + step, options.count)) for i in range(0, options.count, step)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        for part in pool.map(examine, parts):
            tally.add(part)
    print(f"{options.count} damaged files of {len(golden_files())} models, seeds from {options.seed}")
    for outcome, n in sorted(tally.outcomes.items()):
        print(f"{outcome:24} {n:7}")
    print(f"{'exports refused':24} {tally.refused_exports:7}")
    print(f"peak memory of a worker  {tally.peak / 1e6:7.0f} MB")
    print(f"slowest life             {tally.slowest:7.2f} s;  {time.perf_counter() - start:.0f} s in all")
    for failure in tally.failures[: options.show]:
        print(failure)
    sys.exit(bool(tally.failures))


if __name__ == "__main__":
    main()

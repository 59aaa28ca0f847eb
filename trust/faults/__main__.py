"""Compile the shim, run the points below it, print a line for each work and kind; see the package."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trust.faults.system import build_shim, run_below
from trust.faults.works import NAMES
from trust.record import record


def tried(works: list[str], shim: Path, folder: Path, most: int | None, kinds: list[str]) -> list[dict[str, Any]]:
    """What became of each kind in some works, in a process of their own."""
    folder.mkdir()
    words = [
        str(folder),
        *(f"--work={work}" for work in works),
        *([f"--most={most}"] if most else []),
        *(f"--only={kind}" for kind in kinds),
    ]
    done = run_below(shim, words, stdout=subprocess.PIPE, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode:
        raise RuntimeError(f"the process ended with {done.returncode} after {found[-1:] or 'nothing'}")
    return found


def try_works(only: list[str], most: int | None = None, n_jobs: int = 2) -> list[dict[str, Any]]:
    """What became of each work and kind, or of those that are named: a process for each work, or one for all."""
    names = [name for name in NAMES if name in only] or NAMES
    kinds = [name for name in only if name not in NAMES]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(n_jobs) as pool:
        place = Path(folder).resolve()
        shim = build_shim(place)
        parts = [[name] for name in names] if n_jobs > 1 else [names]
        jobs = [pool.submit(tried, part, shim, place / part[0], most, kinds) for part in parts]
        return [one for job in jobs for one in job.result()]


def main() -> int:
    """Report; 0 where every fault ended well."""
    parser = argparse.ArgumentParser(prog="python -m trust.faults", description=__doc__)
    parser.add_argument("only", nargs="*", help="works or kinds; all where none is named")
    parser.add_argument("--most", type=int, help="points of each work and kind")
    parser.add_argument("--record", action="store_true", help="write the figures to trust/results")
    parser.add_argument("--jobs", type=int, default=2, help="works at a time; with 1 they share a process")
    options = parser.parse_args()
    found = try_works(options.only, options.most, options.jobs)
    for one in found:
        outcomes = ", ".join(f"{n} {name}" for name, n in sorted(one["outcomes"].items()))
        print(f"{one['work']:13} {one['kind']:11} {one['points']:5} points: {outcomes or 'none'}")
        for line in one["wrong"]:
            print(f"    {line}")
    n_tried = sum(sum(one["outcomes"].values()) for one in found)
    n_wrong = sum(len(one["wrong"]) for one in found)
    print(f"{n_tried} of {sum(one['points'] for one in found)} points tried, {n_wrong} wrong")
    if options.record:
        record("faults", {"tried": n_tried, "most": options.most, "works": found})
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

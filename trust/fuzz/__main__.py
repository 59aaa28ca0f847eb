"""Run the targets, two at a time, and say how many cases each had; see the package."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from trust.fuzz import build, corpus
from trust.fuzz.doors import NAMES
from trust.fuzz.planted import find_planted
from trust.record import ROOT, record

BUILD = ROOT / "build" / "fuzz"
PATIENCE = 90  # seconds more than a target was given, to start and to leave
LENGTHS = {"models": 1 << 16, "tables": 2048, "commands": 120, "rules": 400}


@dataclass
class Outcome:
    """What became of a target."""

    target: str
    cases: int
    seconds: float
    branches: int  # that libFuzzer saw taken
    crashes: int
    said: str = ""


def words_for(target: str, programs: dict[str, Path], planted: bool = False) -> list[str]:
    """The command that runs a target."""
    if target.startswith("core-"):
        return [str(programs[target.removeprefix("core-")])]
    return [sys.executable, "-m", "trust.fuzz.doors", *(["--planted"] if planted else []), target]


def run_to_end(words: list[str], environment: dict[str, str], most: float) -> tuple[str, bool]:
    """What a fuzzer said, and whether it ended well: threads of Arrow may keep a process that is done from leaving."""
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, errors="replace", env=environment)
    try:
        said = process.communicate(timeout=most)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        said = process.communicate()[1]
        return said, re.search(r"^Done \d+ runs", said, re.M) is not None
    return said, process.returncode == 0


def fuzz(target: str, words: list[str], seconds: float, seed: int, crashes: Path, keep: bool = False) -> Outcome:
    """Run one target for a time, from its corpus."""
    crashes.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs"
        corpus.unpack(target, inputs)
        options = [f"-seed={seed}", f"-max_total_time={max(1, round(seconds))}", "-print_final_stats=1", "-timeout=30"]
        options += [f"-max_len={LENGTHS.get(target, 600)}", "-len_control=0", "-rss_limit_mb=4096"]
        options += [f"-artifact_prefix={crashes}/{target}-", str(inputs)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        start = time.perf_counter()
        said, ended_well = run_to_end([*words, *options], environment, seconds + PATIENCE)
        spent = time.perf_counter() - start
        if keep:
            merged = Path(folder) / "merged"
            merged.mkdir()
            subprocess.run([*words, "-merge=1", str(merged), str(inputs)], capture_output=True, env=environment)
            print(f"{target}: {corpus.pack(target, merged)} inputs kept", file=sys.stderr)
    counts = [int(n) for n in re.findall(r"^#(\d+)\s", said, re.M)]
    counts += [int(n) for n in re.findall(r"number_of_executed_units: (\d+)", said)]
    branches = [int(n) for n in re.findall(r"cov: (\d+)", said)]
    bad = not ended_well
    return Outcome(
        target, max(counts, default=0), round(spent, 1), max(branches, default=0), int(bad), said if bad else ""
    )


def targets_here() -> list[str]:
    """Those that can run here; says which cannot, and why."""
    found = []
    if build.clang():
        found += [f"core-{name}" for name in build.TARGETS]
    else:
        print("no clang++: the targets of the core are left out (on Debian: apt install clang)")
    if importlib.util.find_spec("atheris"):
        found += NAMES
    else:
        print("no Atheris: the targets in Python are left out (pip install atheris)")
    return found


def report(outcomes: list[Outcome], seed: int) -> None:
    """A line for each target, and the last words of those that failed."""
    for one in outcomes:
        print(
            f"{one.target:14} {one.cases:9,} cases {one.seconds:7.1f} s {one.branches:6} branches {one.crashes} crashes"
        )
        if one.crashes:
            print("\n".join(one.said.splitlines()[-40:]))
    total = sum(one.cases for one in outcomes)
    print(f"{'all':14} {total:9,} cases, seed {seed}, {sum(one.crashes for one in outcomes)} crashes")


def main() -> int:
    """Fuzz, and keep what crashed under build/fuzz/crashes."""
    parser = argparse.ArgumentParser(prog="python -m trust.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="all that can run here, where none is named")
    parser.add_argument("--seconds", type=float, default=120, help="of all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--planted", action="store_true", help="find bugs that are put in on purpose")
    parser.add_argument("--record", action="store_true", help="write the figures to trust/results")
    parser.add_argument("--keep", action="store_true", help="write the corpora again")
    options = parser.parse_args()
    here = targets_here()
    targets = [name for name in options.targets or here if name in here]
    if not targets:
        print("nothing to fuzz here")
        return 0
    if options.planted:
        found = find_planted(targets, BUILD, fuzz, words_for, options.seconds, options.seed)
        if options.record:
            record("fuzz-planted", {"seed": options.seed, "planted": found})
        return int(any(bug["seconds"] is None for bug in found))
    core = [name.removeprefix("core-") for name in targets if name.startswith("core-")]
    programs = build.build(BUILD / "core", targets=core) if core else {}
    crashes = BUILD / "crashes"
    shutil.rmtree(crashes, ignore_errors=True)
    each = options.seconds / len(targets)
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(fuzz, name, words_for(name, programs), each, options.seed, crashes, options.keep)
            for name in targets
        ]
        outcomes = [job.result() for job in jobs]
    report(outcomes, options.seed)
    if options.record:
        kept = [{k: v for k, v in asdict(one).items() if k != "said"} for one in outcomes]
        record("fuzz", {"seed": options.seed, "seconds": options.seconds, "targets": kept})
    return int(any(one.crashes for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())

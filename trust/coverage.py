"""The tests in, lines and branches that they reach out, of Python and of C++: python -m trust.coverage [--record].

The core is compiled by Clang with counters and stands beside a copy of the package in build/coverage. The test files
are dealt to two processes without workers of their own: those of pytest-xdist leave without writing their counts.

A branch is an outcome of a condition; in C++ that of any function which a template or an instruction set makes of it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from trust.record import ROOT, record

BUILD = ROOT / "build" / "coverage"
SITE, DATA = BUILD / "site", BUILD / "data"
FLAGS = "-fprofile-instr-generate -fcoverage-mapping"
# the package as `make` installs it is found by an import hook, which would come before the copy
START = """import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "_editable_skbc_pysirus"]
"""
SETTINGS = """[run]
branch = True
parallel = True
source = {site}/pysirus
data_file = {data}/python
concurrency = thread,multiprocessing
sigterm = True
disable_warnings = no-data-collected,module-not-measured,module-not-imported
[paths]
source =
    src/pysirus
    {site}/pysirus
[report]
exclude_also =
    if TYPE_CHECKING:
    \\.\\.\\.$
"""


def prepare() -> Path:
    """A copy of the package with the counting core; the settings of coverage.py."""
    import nanobind

    core = BUILD / "core"
    words = ["cmake", "-S", str(ROOT), "-B", str(core), "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS={FLAGS}"]
    words += ["-DCMAKE_CXX_COMPILER=clang++", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run([*words, f"-Dnanobind_DIR={nanobind.cmake_dir()}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(core), "-j", str(os.cpu_count())], check=True)
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.rmtree(DATA, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "pysirus", SITE / "pysirus", ignore=shutil.ignore_patterns("_core*.so", "__pycache__")
    )
    for library in core.glob("_core*.so"):
        shutil.copy(library, SITE / "pysirus")
    (SITE / "sitecustomize.py").write_text(START, encoding="utf-8")
    DATA.mkdir(parents=True)
    settings = BUILD / "settings"
    settings.write_text(SETTINGS.format(site=SITE, data=DATA), encoding="utf-8")
    return settings


def run_tests(settings: Path) -> int:
    """Two halves of the test files, side by side."""
    files = sorted(str(path) for path in (ROOT / "tests").glob("*/test_*.py"))
    environment = {
        **os.environ,
        "PYSIRUS_TEST_ENGINES": "1",
        "PYTHONPATH": str(SITE),
        "COVERAGE_PROCESS_START": str(settings),
        "LLVM_PROFILE_FILE": f"{DATA}/%4m.profraw",
        "OPENBLAS_NUM_THREADS": "1",
    }
    halves = [
        subprocess.Popen([sys.executable, "-m", "pytest", "-q", "-n", "0", *files[i::2]], cwd=ROOT, env=environment)
        for i in range(2)
    ]
    return max(half.wait() for half in halves)


def python_figures(settings: Path) -> dict[str, Any]:
    """Lines and branches of each file, by coverage.py."""
    words = [sys.executable, "-m", "coverage"]
    subprocess.run([*words, "combine", "-q", f"--rcfile={settings}", "--keep", str(DATA)], cwd=ROOT, check=True)
    path = DATA / "python.json"
    subprocess.run([*words, "json", "-q", f"--rcfile={settings}", "-o", str(path)], cwd=ROOT, check=True)
    found = json.loads(path.read_text(encoding="utf-8"))
    return {
        name.split("pysirus/", 1)[-1]: {
            "lines": [own["summary"]["covered_lines"], own["summary"]["num_statements"]],
            "branches": [own["summary"]["covered_branches"], own["summary"]["num_branches"]],
            "missed": sorted({line for line, _ in own["missing_branches"]} | set(own["missing_lines"])),
        }
        for name, own in found["files"].items()
    }


def core_figures(library: Path, counts: Path) -> dict[str, Any]:
    """The same of each file of the core, by llvm-cov: an outcome counts if any function that has it took it."""
    words = ["llvm-cov", "export", str(library), f"-instr-profile={counts}"]
    exported = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["data"][0]
    outcomes: dict[str, dict[tuple[int, ...], bool]] = defaultdict(dict)
    lines: dict[str, dict[int, bool]] = defaultdict(dict)
    for function in exported["functions"]:
        names = function["filenames"]
        for *place, yes, no, file, _expanded, _kind in function.get("branches", ()):
            for side, taken in enumerate((yes, no)):
                key = (*place, side)
                outcomes[names[file]][key] = outcomes[names[file]].get(key, False) or taken > 0
        for first, _, last, _, count, file, _expanded, kind in function["regions"]:
            if kind == 0:
                for line in {first, last}:
                    lines[names[file]][line] = lines[names[file]].get(line, False) or count > 0
    figures = {}
    for name in sorted({*outcomes, *lines}):
        if "/cpp/" not in name:
            continue
        own, at = outcomes[name], lines[name]
        figures[name.rsplit("/cpp/", 1)[1]] = {
            "lines": [sum(at.values()), len(at)],
            "branches": [sum(own.values()), len(own)],
            "missed": sorted({place[0] for place, taken in own.items() if not taken}),
        }
    return figures


def share(figures: dict[str, Any], what: str) -> float:
    """Per cent of all files together."""
    reached, total = (sum(own[what][i] for own in figures.values()) for i in range(2))
    return round(100.0 * reached / max(1, total), 2)


def show(name: str, figures: dict[str, Any], most: int) -> None:
    """The files that miss most branches, and what all have."""
    worst = sorted(figures.items(), key=lambda item: item[1]["branches"][0] - item[1]["branches"][1])[:most]
    for path, own in worst:
        if own["branches"][0] < own["branches"][1]:
            places = ", ".join(map(str, own["missed"][:12]))
            print(f"{name} {path:36} {own['branches'][0]:4} of {own['branches'][1]:4} branches; not at {places}")
    print(f"{name}: lines {share(figures, 'lines')}%, branches {share(figures, 'branches')}%", flush=True)


def main() -> int:
    """Run the tests, print, and record."""
    parser = argparse.ArgumentParser(prog="python -m trust.coverage", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the figures to trust/results")
    parser.add_argument("--most", type=int, default=25, help="files shown")
    options = parser.parse_args()
    missing = [name for name in ("clang++", "llvm-cov", "llvm-profdata") if not shutil.which(name)]
    missing += [] if importlib.util.find_spec("coverage") else ["coverage"]
    if missing:
        print(f"not there: {', '.join(missing)} (on Debian: apt install clang llvm; pip install coverage)")
        return 1
    settings = prepare()
    failed = run_tests(settings)
    counts = DATA / "core.profdata"
    subprocess.run(["llvm-profdata", "merge", "-o", str(counts), *map(str, DATA.glob("*.profraw"))], check=True)
    found = {"src": python_figures(settings), "cpp": core_figures(next((SITE / "pysirus").glob("_core*.so")), counts)}
    for name, figures in found.items():
        show(name, figures, options.most)
    if options.record:
        shares = {name: {what: share(own, what) for what in ("lines", "branches")} for name, own in found.items()}
        record("coverage", {**shares, "missed": {name: _missed(own) for name, own in found.items()}})
    return failed


def _missed(figures: dict[str, Any]) -> dict[str, Any]:
    return {path: own["missed"] for path, own in figures.items() if own["branches"][0] < own["branches"][1]}


if __name__ == "__main__":
    sys.exit(main())

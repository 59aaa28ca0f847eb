"""Sources of the core in, fuzzers out: compiled by Clang with the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trust.record import ROOT

SOURCES = Path(__file__).with_name("core")
TARGETS = {"bins": False, "weights": True, "rules": True, "forest": True}  # name: whether it needs the kernels
CORE = ("forest/drawn", "forest/forest", "forest/level", "forest/workspace", "evaluate/evaluate")
KERNELS = ("forest/kernel/grow", "evaluate/kernel", "weights/kernel")
SETS = {"plain": []}
if platform.machine() in ("x86_64", "AMD64"):
    SETS["avx2"] = ["-mavx2"]
    SETS["avx512"] = [
        "-mavx512f",
        "-mavx512bw",
        "-mavx512dq",
        "-mavx512vl",
        "-mavx512vnni",
        "-mprefer-vector-width=512",
    ]
FLAGS = ["-std=c++20", "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-psabi", "-pthread", "-O1", "-g1"]
FLAGS += ["-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-recover=all"]
FLAGS += [f"-DPYSIRUS_{name.upper()}" for name in SETS if name != "plain"]


def clang() -> str | None:
    """The compiler: ``CLANGXX``, or the one that is called clang++."""
    return shutil.which(os.environ.get("CLANGXX", "clang++"))


def build(folder: Path, cpp: Path = ROOT / "cpp", targets: Sequence[str] = tuple(TARGETS)) -> dict[str, Path]:
    """Compile what is older than any source; the program of each target."""
    newest = max(path.stat().st_mtime for top in (cpp, SOURCES) for path in top.rglob("*.?pp"))
    include = [f"-I{cpp}", f"-I{SOURCES}"]
    jobs: dict[Path, list[str]] = {folder / f"{name}.o": [str(SOURCES / f"{name}.cpp")] for name in targets}
    linked = []
    if any(TARGETS[name] for name in targets):
        linked = [folder / f"{Path(name).name}.core.o" for name in CORE]
        jobs |= {path: [str(cpp / f"{name}.cpp")] for path, name in zip(linked, CORE, strict=True)}
        for own, flags in SETS.items():
            for name in KERNELS:
                path = folder / f"{name.replace('/', '-')}.{own}.o"
                jobs[path] = [str(cpp / f"{name}.cpp"), *flags, f"-DPYSIRUS_ISA={own}"]
                linked.append(path)
    folder.mkdir(parents=True, exist_ok=True)
    stale = {path: words for path, words in jobs.items() if not path.exists() or path.stat().st_mtime < newest}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda item: _run([*FLAGS, *include, "-c", *item[1], "-o", str(item[0])]), stale.items()))
    programs = {name: folder / name for name in targets}
    for name, path in programs.items():
        if stale or not path.exists():
            objects = [folder / f"{name}.o", *(linked if TARGETS[name] else [])]
            _run([*FLAGS, "-fsanitize=fuzzer", *map(str, objects), "-o", str(path)])
    return programs


def _run(words: Sequence[str]) -> None:
    compiler = clang()
    assert compiler is not None, "no clang++"
    subprocess.run([compiler, *words], check=True)

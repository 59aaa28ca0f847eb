"""Two commits in, the processor time of everyday jobs with each out, and their ratio.

``python -m benchmarks.versions 1243ca3`` compares a commit with the tree as it stands, ``... 1243ca3 2293a56`` two
commits. Each is built once into ``build/versions``. Versions take turns, in processes of one thread, so that a busy
moment meets both; what counts is the best of all rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import ROOT, best_of

BUILT = ROOT / "build" / "versions"
REPEATS = {"fit ozone": 40, "fit mpg": 40, "explain 330 rows, 20 times": 10, "tune ozone": 3}  # else a few


def jobs() -> dict[str, Callable[[], Any]]:
    """What people do, by name; with parameters that every version has."""
    from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, datasets

    every: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    ozone, mpg = datasets.load_ozone(return_X_y=True), datasets.load_mpg(return_X_y=True)
    X = np.random.default_rng(0).normal(size=(100_000, 50))
    y = X[:, 0] + 2 * (X[:, 1] > 0) * X[:, 2] + X[:, 3]
    classes = np.digitize(ozone[1], np.quantile(ozone[1], [0.33, 0.66]))
    model = SirusRegressor(n_trees=1_000, **every).fit(*ozone)
    large = SirusRegressor(n_trees=100, **every).fit(X, y)
    return {
        "fit ozone": lambda: SirusRegressor(n_trees=1_000, **every).fit(*ozone),
        "fit mpg": lambda: SirusRegressor(n_trees=1_000, **every).fit(*mpg),
        "fit 100,000 x 50, 100 trees": lambda: SirusRegressor(n_trees=100, **every).fit(X, y),
        "fit ozone, ten stages": lambda: SirusRegressor(n_trees=1_000, n_stages=10, n_rules=2, **every).fit(*ozone),
        "fit ozone, three classes": lambda: SirusClassifier(n_trees=1_000, **every).fit(ozone[0], classes),
        "tune ozone": lambda: SirusRegressorCV(n_trees=1_000, n_repeats=1, **every).fit(*ozone),
        "predict 100,000 rows": lambda: large.predict(X),
        "explain 330 rows, 20 times": lambda: [model.explain(ozone[0]).contributions for _ in range(20)],
    }


def build(commit: str) -> Path:
    """A folder with the package of a commit."""
    name = subprocess.run(["git", "rev-parse", "--short", commit], cwd=ROOT, text=True, stdout=subprocess.PIPE).stdout
    folder = BUILT / (name.strip() or commit)
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as tree:
            subprocess.run(["git", "worktree", "add", "--detach", tree, commit], cwd=ROOT, check=True)
            install = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder), tree]
            try:
                subprocess.run([sys.executable, "-m", *install], check=True)
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    return folder


def measure(folder: Path | None) -> dict[str, float]:
    """The seconds of each job with a version; None: the one that is installed."""
    paths = [str(folder), str(ROOT)] if folder else [str(ROOT)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(paths), "PYSIRUS_VERSION": str(folder or "")}
    command = [sys.executable, "-m", "benchmarks.versions", "--measure"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def measure_here() -> None:
    """Print the seconds of each job with the version that is imported."""
    wanted = os.environ["PYSIRUS_VERSION"]
    if wanted:  # an editable install finds its package before any path is looked at
        sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
    import pysirus

    assert str(pysirus.__file__).startswith(wanted), pysirus.__file__
    print(json.dumps({name: best_of({name: job}, REPEATS.get(name, 5))[name] for name, job in jobs().items()}))


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser("python -m benchmarks.versions", description=__doc__)
    parser.add_argument("commits", nargs="*", help="one, to compare with this tree, or two")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.measure:
        measure_here()
        return
    versions = [build(commit) for commit in wanted.commits]
    both: list[Path | None] = [*versions, None][:2]
    best: list[dict[str, float]] = [{}, {}]
    for _ in range(wanted.rounds):
        for own, version in zip(best, both):
            for name, seconds in measure(version).items():
                own[name] = min(own.get(name, seconds), seconds)
    for name, before in best[0].items():
        print(f"{name:30} {1e3 * before:9.2f} {1e3 * best[1][name]:9.2f} ms {best[1][name] / before:7.3f}")


if __name__ == "__main__":
    main()

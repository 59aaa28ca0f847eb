"""Predicting, importing and the command's start, as ratios to what everyone knows."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression

from benchmarks.clock import best_of
from benchmarks.problems import shipped
from benchmarks.rivals import ours
from pysirus import SirusRegressor


class Ratio(NamedTuple):
    """Our time over theirs, and the most it may be."""

    what: str
    ours: float
    theirs: float
    limit: float

    @property
    def value(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs

    @property
    def passes(self) -> bool:
        """Whether it is within its limit."""
        return self.value <= self.limit


def measure_predict(n_rounds: int) -> list[Ratio]:
    """1,000,000 rows against X.sum(), and one row against LinearRegression."""
    X = np.random.default_rng(0).normal(size=(1_000_000, 13))
    part = X[:5_000]
    y = part[:, 0] + part[:, 1] * part[:, 2] + part[:, 3]
    n_rules = 10
    while len((model := SirusRegressor(n_rules=n_rules, n_trees=1_000, random_state=0).fit(part, y)).rules_) < 10:
        n_rules += 1  # of those selected some may have no weight
    linear, row, times = LinearRegression().fit(part, y), X[:1], 300
    seconds = best_of(
        {
            "sum": X.sum,
            "predict": lambda: model.predict(X),
            "linear": lambda: [linear.predict(row) for _ in range(times)],
            "row": lambda: [model.predict(row) for _ in range(times)],
        },
        n_rounds,
    )
    return [
        Ratio("predict 1,000,000 x 13, 10 rules / X.sum()", seconds["predict"], seconds["sum"], 6.0),
        Ratio("predict one row / LinearRegression", seconds["row"] / times, seconds["linear"] / times, 1.5),
    ]


def measure_fit(n_rounds: int) -> Ratio:
    """A whole fit on Housing against growing its 10,000 trees."""
    problem = shipped("housing")
    forest = ours.make_forest(problem)
    jobs = {"grow": lambda: forest.grow(10_000), "fit": lambda: ours.fit(problem, 10_000)}
    seconds = best_of(jobs, 5 * n_rounds)  # they take but ten milliseconds each
    return Ratio("fit with 10,000 trees on Housing / growing them", seconds["fit"], seconds["grow"], 1.5)


def _process_seconds(arguments: Sequence[str]) -> float:
    """Processor seconds of a Python process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_start(n_rounds: int) -> list[Ratio]:
    """Imports and the command's help against importing scikit-learn's forests."""
    jobs = {
        "sklearn": ["-c", "import sklearn.ensemble"],
        "import pysirus": ["-c", "import pysirus"],
        "from pysirus import SirusRegressor": ["-c", "from pysirus import SirusRegressor"],
        "pysirus --help": ["-m", "pysirus", "--help"],
    }
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(n_rounds):
        for name, arguments in jobs.items():
            best[name] = min(best[name], _process_seconds(arguments))
    theirs = best.pop("sklearn")
    limits = {"pysirus --help": 2.0}
    return [
        Ratio(f"{name} / import sklearn.ensemble", ours, theirs, limits.get(name, 1.2)) for name, ours in best.items()
    ]

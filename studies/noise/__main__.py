"""Fits tables of noise and of little signal, and counts of how many it is said that nothing was learned.

``python -m studies.noise``: 20 tables of 300 x 10 for each law. Half of the columns are normal, the others uniform.
The target is normal noise, plus a signal that has a fifth of its variance: a slope in one column, slopes in three, or a
step in one. Each is tuned (``SirusRegressorCV``) and cross-validated at ten rules (``fit --cv``). A line for each table
goes to ``studies/noise/results.csv``; stop it at any time, it goes on where it stopped. ``--write`` puts the counts
into docs/tuning.md, and fits nothing.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pysirus import SirusRegressor, SirusRegressorCV
from pysirus._model.held_out import LEAST_SIGNAL
from studies.results import RESULTS as VERSION
from studies.results import markdown, put

RESULTS = Path(__file__).with_name("results.csv")
PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"
N_ROWS, N_COLUMNS, N_TABLES = 300, 10, 20
R2 = 0.2  # of the signal
Floats = NDArray[np.float64]
LAWS: dict[str, Callable[[Floats], Floats] | None] = {
    "noise": None,
    "slope": lambda X: X[:, 0],
    "slopes": lambda X: X[:, 0] + X[:, 1] - X[:, 5],
    "step": lambda X: (X[:, 0] > 0).astype(np.float64),
}
TITLES = {
    "noise": "pure noise",
    "slope": f"R² {R2}, a slope in one column",
    "slopes": f"R² {R2}, slopes in three columns",
    "step": f"R² {R2}, a step in one column",
}


@dataclass(frozen=True)
class Outcome:
    """What is said of a table, by tuning and by cross-validation at ten rules."""

    law: str
    table: int
    tuned: float  # share of the constant's error that is taken away, and the signal in standard errors
    tuned_signal: float
    cv: float
    cv_signal: float
    results: int = VERSION  # of the code that said it


def make_table(law: str, number: int) -> tuple[Floats, Floats]:
    """A table of its own for each law and number."""
    rng = np.random.default_rng([number, list(LAWS).index(law)])
    X = np.hstack([rng.normal(size=(N_ROWS, N_COLUMNS // 2)), rng.uniform(-1, 1, size=(N_ROWS, N_COLUMNS // 2))])
    signal, noise = LAWS[law], rng.normal(size=N_ROWS)
    if signal is None:
        return X, noise
    own = signal(X)
    return X, own / own.std() * np.sqrt(R2) + noise * np.sqrt(1 - R2)


def look(law: str, number: int, n_trees: int | str = "auto", n_repeats: int = 10) -> Outcome:
    """Fit one table both ways."""
    X, y = make_table(law, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned = SirusRegressorCV(random_state=number, n_trees=n_trees, n_repeats=n_repeats).fit(X, y).model_.out_of_fold
        plain = SirusRegressor(random_state=number, n_trees=n_trees).cross_validate(X, y)
    return Outcome(law, number, *tuned.gain, *plain.gain)


def read_outcomes(path: Path) -> list[Outcome]:
    """What an earlier run wrote; remove the file to begin again."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    return [
        Outcome(law, int(number), *map(float, figures[:4]), int(figures[4]) if figures[4:] else 1)
        for law, number, *figures in rows
    ]


def count(outcomes: list[Outcome], law: str) -> tuple[int, int, int]:
    """Tables of a law, and of how many tuning and cross-validation say that nothing was learned."""
    own = [o for o in outcomes if o.law == law]
    tuned = sum(o.tuned <= 0 or o.tuned_signal <= LEAST_SIGNAL for o in own)
    return len(own), tuned, sum(o.cv <= 0 or o.cv_signal <= LEAST_SIGNAL for o in own)


def table(outcomes: list[Outcome]) -> str:
    """What the page shows: the counts, and how the signal of noise varies."""
    counts = {law: count(outcomes, law) for law in LAWS}
    rows = [[TITLES[law], *map(str, counts[law])] for law in LAWS]
    noise = [o for o in outcomes if o.law == "noise"]
    tuned, plain = (np.std(own, ddof=1) for own in ([o.tuned_signal for o in noise], [o.cv_signal for o in noise]))
    n_tables = min(n for n, *_ in counts.values())
    return (
        f"{markdown(['target', 'tables', 'tuned', '`fit --cv`, 10 rules'], rows)}\n\nOn the tables of pure noise, the "
        f"test statistic has a standard deviation of {tuned:.1f} (tuned) and {plain:.1f} (`fit --cv`); 1 is intended. "
        f"So few tables say little about rare mistakes: even if none of {n_tables} is wrong, the error rate may be as "
        f"high as {1 - 0.05 ** (1 / n_tables):.0%} (95% confidence)."
    )


def summary(outcomes: list[Outcome]) -> str:
    """Of how many tables of each law it is said that nothing was learned."""
    lines = []
    for law in LAWS:
        n_tables, tuned, plain = count(outcomes, law)
        lines.append(f"{law}: {n_tables} tables; nothing learned, says tuning, of {tuned}, cross-validation of {plain}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Fit all tables, write the list, print the summary."""
    parser = argparse.ArgumentParser("python -m studies.noise", description=__doc__)
    parser.add_argument("--tables", type=int, default=N_TABLES)
    parser.add_argument("--trees", type=int, help="a fixed number, for less time; by default as many as it takes")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--write", action="store_true", help="write the table of docs/tuning.md from the results")
    wanted = parser.parse_args(arguments)
    outcomes = read_outcomes(wanted.results)
    if wanted.write:
        put(PAGE, "noise", table(outcomes))
        return 0
    done = {(o.law, o.table) for o in outcomes}
    with wanted.results.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([] if outcomes else [[own.name for own in fields(Outcome)]])
        for law, number in ((law, i) for i in range(wanted.tables) for law in LAWS):
            if (law, number) not in done:
                outcomes.append(look(law, number, wanted.trees or "auto", wanted.repeats))
                law_, number_, *figures, version = astuple(outcomes[-1])
                writer.writerow([law_, number_, *(f"{figure:.4f}" for figure in figures), version])
                file.flush()
                print(f"\r{len(outcomes)} {law} {number}\033[K", end="", file=sys.stderr, flush=True)
    print(f"\n{summary(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

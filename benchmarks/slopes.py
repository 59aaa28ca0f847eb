"""What slopes cost: growing with lines and fits of ten stages with slopes, as ratios to the same without.

``python -m benchmarks.slopes`` prints them for four tables and every family. Trees are of a fixed number: left to
itself, a fit grows more or fewer where lists differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.clock import best_of
from benchmarks.problems import Problem, made_up, shipped
from pysirus import SirusClassifier, SirusRegressor, SirusSurvival
from pysirus._bins.cuts import bin_table
from pysirus._bins.numeric import line_sums, line_values, lines_of, may_slope, with_grids
from pysirus._data.table import read_table
from pysirus._families.responses import IntegerRows, NumberResponse
from pysirus._forest.forest import Forest, Recipe

GROWN = (10_000, 100)  # trees on tables below and from 10,000 rows


def make_forests(problem: Problem) -> tuple[Forest, Forest]:
    """Forests without and with lines, that have no trees yet."""
    table, response = read_table(problem.X), NumberResponse(problem.y)
    binned = bin_table(table, response, n_bins=10, discrete_limit=10)
    numeric = [i for i, own in enumerate(binned.cuts) if may_slope(own)]
    beside = with_grids(binned, table, numeric)
    found = lines_of(binned.cuts, beside.grids, line_sums(beside, IntegerRows(response)))
    lines = line_values(found, len(binned.cuts), numeric)
    return Forest(binned, response, Recipe(seed=0, n_threads=1)), Forest(
        binned, response, Recipe(seed=0, n_threads=1, lines=lines)
    )


def growing(problem: Problem, n_rounds: int) -> float:
    """Growing with lines, as a multiple of growing without."""
    without, with_lines = make_forests(problem)
    n_trees = GROWN[len(problem.y) >= 10_000]
    seconds = best_of({"rules": lambda: without.grow(n_trees), "lines": lambda: with_lines.grow(n_trees)}, n_rounds)
    return seconds["lines"] / seconds["rules"]


def fits(problem: Problem) -> Mapping[str, Callable[[bool], Any]]:
    """A fit of ten stages for each family, with or without slopes."""
    options: dict[str, Any] = {"n_rules": 1, "n_stages": 10, "n_trees": 5_000, "random_state": 0, "n_jobs": 1}
    X, y = problem.X, (problem.y - problem.y.mean()) / problem.y.std()
    draw = np.random.default_rng(0)
    counts, amounts = draw.poisson(np.exp(0.5 * y)), np.exp(0.5 * y) * draw.gamma(2.0, size=len(y))
    amounts_and_zeros = np.where(draw.random(len(y)) < 0.3, 0.0, amounts)
    times = np.column_stack([draw.exponential(np.exp(-y)) + 0.01, draw.random(len(y)) < 0.7])
    two, three = y > 0, np.digitize(y, [-0.5, 0.5])

    def numbers(target: Any, **own: Any) -> Callable[[bool], Any]:
        return lambda slopes: SirusRegressor(slopes=slopes, **options, **own).fit(X, target)

    def classes(target: Any) -> Callable[[bool], Any]:
        return lambda slopes: SirusClassifier(slopes=slopes, **options).fit(X, target)

    return {
        "numbers": numbers(problem.y),
        "two classes": classes(two),
        "three classes": classes(three),
        "counts": numbers(counts, loss="poisson"),
        "amounts": numbers(amounts, loss="gamma"),
        "amounts and zeros": numbers(amounts_and_zeros, loss="tweedie"),
        "survival": lambda slopes: SirusSurvival(slopes=slopes, **options).fit(X, times),
    }


def fitting(fit: Callable[[bool], Any], n_rounds: int) -> float:
    """A fit with slopes, as a multiple of one without."""
    seconds = best_of({"rules": lambda: fit(False), "slopes": lambda: fit(True)}, n_rounds)
    return seconds["slopes"] / seconds["rules"]


def main() -> None:
    """Print growing and fits of every family, on four tables."""
    problems = [shipped("ozone"), shipped("housing"), made_up(2_000, 10), made_up(20_000, 10)]
    families = list(fits(problems[0]))
    table = Table("rows x columns", "growing", *families, box=None)
    for problem in problems:
        jobs = fits(problem)
        n_rounds = 40 if len(problem.y) < 10_000 else 5
        ratios = [growing(problem, n_rounds), *(fitting(jobs[name], n_rounds // 5) for name in families)]
        table.add_row(problem.name, *(f"{ratio:.3f}" for ratio in ratios))
    Console(highlight=False, soft_wrap=True).print(table)


if __name__ == "__main__":
    main()

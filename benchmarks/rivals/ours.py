"""pysirus, one thread."""

from __future__ import annotations

from benchmarks.problems import Problem
from pysirus import SirusRegressor
from pysirus._bins.cuts import bin_table
from pysirus._data.table import read_table
from pysirus._families.responses import NumberResponse
from pysirus._forest.forest import Forest, GrowingForest, Recipe


def make_forest(problem: Problem) -> Forest:
    """Bins, and a forest on them that has no trees yet."""
    response = NumberResponse(problem.y)
    binned = bin_table(read_table(problem.X), response, n_bins=10, discrete_limit=10)
    return Forest(binned, response, Recipe(seed=0, n_threads=1))


def forest(problem: Problem, n_trees: int) -> GrowingForest:
    """Bins and trees alone."""
    return make_forest(problem).grow_to(n_trees)


def forest_that_draws(problem: Problem, n_trees: int, n_rows: int) -> None:
    """Bins and trees alone, each tree on as many rows as it draws."""
    response = NumberResponse(problem.y)
    binned = bin_table(read_table(problem.X), response, n_bins=10, discrete_limit=10)
    share = min(1.0, n_rows / len(problem.y))
    Forest(binned, response, Recipe(seed=0, n_threads=1, max_samples=share, in_blocks=True)).grow_to(n_trees)


def fit(problem: Problem, n_trees: int) -> SirusRegressor:
    """A whole fit: bins, trees, selection, weights."""
    return SirusRegressor(n_trees=n_trees, n_jobs=1, random_state=0).fit(problem.X, problem.y)

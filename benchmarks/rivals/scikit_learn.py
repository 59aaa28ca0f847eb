"""scikit-learn's random forest, one thread."""

from __future__ import annotations

from sklearn.ensemble import RandomForestRegressor

from benchmarks.problems import Problem


def fit(problem: Problem, n_trees: int) -> RandomForestRegressor:
    """A forest with scikit-learn's defaults."""
    return RandomForestRegressor(n_trees, n_jobs=1, random_state=0).fit(problem.X, problem.y)

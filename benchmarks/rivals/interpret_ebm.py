"""The explainable boosting machine of interpret, with its defaults, one thread."""

from __future__ import annotations

import warnings

from benchmarks.problems import Problem

TITLE, VERSION_OF = "interpret, EBM", "interpret-core"


def ready() -> None:
    """Import the library."""
    from interpret.glassbox import ExplainableBoostingRegressor  # noqa: F401


def fit(problem: Problem) -> None:
    """Shape functions and pairs."""
    from interpret.glassbox import ExplainableBoostingRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ExplainableBoostingRegressor(n_jobs=1, random_state=0).fit(problem.X, problem.y)

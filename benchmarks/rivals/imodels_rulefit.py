"""RuleFit of imodels, with its defaults."""

from __future__ import annotations

import warnings

from benchmarks.problems import Problem

TITLE, VERSION_OF = "imodels, RuleFit", "imodels"


def ready() -> None:
    """Import the library."""
    import imodels  # noqa: F401


def fit(problem: Problem) -> None:
    """Rules and linear terms by the lasso."""
    from imodels import RuleFitRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RuleFitRegressor(random_state=0).fit(problem.X, problem.y)

"""RuleFit of the library imodels, one thread; None where it is not installed."""

from __future__ import annotations

import importlib.util
import warnings

from benchmarks.problems import Problem


def is_there() -> bool:
    """Whether imodels is installed."""
    return importlib.util.find_spec("imodels") is not None


def rulefit(problem: Problem) -> None:
    """RuleFit with imodels' defaults."""
    from imodels import RuleFitRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RuleFitRegressor(random_state=0).fit(problem.X, problem.y)

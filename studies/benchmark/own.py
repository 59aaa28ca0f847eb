"""The methods of this library behind one adapter: SIRUS, in stages, with slopes, and the two peers that it has.

They take the columns as they are. Everything is chosen inside the rows that they are given, with the library's defaults
but for the repetitions of their own cross-validation: two instead of up to ten, so that the study is days of processor
time and not weeks.
"""

from __future__ import annotations

from typing import Any

from pysirus import (
    NodeHarvestRegressor,
    RuleFitRegressor,
    SirusClassifierCV,
    SirusRegressorCV,
    SirusSurvivalCV,
)
from studies.benchmark.tables import COUNTS, SEVERAL, SURVIVAL, TWO, Problem
from studies.benchmark.terms import Fitted, of_pysirus, placed

FORMS: dict[str, dict[str, Any]] = {
    "sirus": {"n_stages": 1, "slopes": False, "n_repeats": 2},
    "stages": {"n_stages": "auto", "slopes": False, "n_repeats": 2},
    "slopes": {"n_stages": "auto", "slopes": "auto", "n_repeats": 2},
}


def _fitted(model: Any, problem: Problem) -> Fitted:
    if problem.kind in (TWO, SEVERAL):
        return Fitted(model.predict_proba, of_pysirus(model))
    return Fitted(model.predict, of_pysirus(model))


def sirus(form: str, problem: Problem, seed: int) -> Fitted:
    """A tuned list."""
    given = {**FORMS[form], "random_state": seed, "n_jobs": 1}
    if problem.kind == SURVIVAL:
        model: Any = SirusSurvivalCV(**given)
    elif problem.kind in (TWO, SEVERAL):
        model = SirusClassifierCV(**given)
    else:
        model = SirusRegressorCV(**given, loss="poisson" if problem.kind == COUNTS else "squared_error")
    return _fitted(model.fit(problem.X, problem.y), problem)


def rulefit(problem: Problem, seed: int) -> Fitted:
    """RuleFit with pre's trees, as the paper's authors ran it; without linear terms."""
    model = RuleFitRegressor(trees="conditional", n_trees=500, random_state=seed).fit(problem.X, problem.y)
    return Fitted(model.predict, placed(of_pysirus(model), problem.X))


def node_harvest(problem: Problem, seed: int) -> Fitted:
    """Node harvest with the defaults of its R package; a node counts from a weight of 0.025 on."""
    model = NodeHarvestRegressor(min_weight=0.025, random_state=seed).fit(problem.X, problem.y)
    return Fitted(model.predict, placed(of_pysirus(model), problem.X))

"""RuleFit against imodels' RuleFit on Housing, and Node harvest against the clock."""

from __future__ import annotations

from functools import partial

from benchmarks.clock import best_of
from benchmarks.problems import shipped
from benchmarks.rivals import imodels
from pysirus import NodeHarvestRegressor, RuleFitRegressor

RULEFIT_LIMIT = 1.0  # of the time of imodels' RuleFitRegressor
NODE_HARVEST_LIMIT = 5.0  # seconds


def measure_rule_models(n_rounds: int) -> tuple[str, bool]:
    """What was measured, in words, and whether it is within limits."""
    problem = shipped("housing")
    jobs = {
        "rulefit": lambda: RuleFitRegressor(random_state=0).fit(problem.X, problem.y),
        "node harvest": lambda: NodeHarvestRegressor(random_state=0).fit(problem.X, problem.y),
    }
    if imodels.is_there():
        jobs["imodels"] = partial(imodels.rulefit, problem)
    seconds = best_of(jobs, n_rounds)
    text = f"housing: RuleFit {seconds['rulefit']:.2f} s"
    within = seconds["node harvest"] <= NODE_HARVEST_LIMIT
    if "imodels" in seconds:
        ratio = seconds["rulefit"] / seconds["imodels"]
        within &= ratio <= RULEFIT_LIMIT
        limit = "" if ratio <= RULEFIT_LIMIT else f" [red](limit {RULEFIT_LIMIT})[/red]"
        text += f", {ratio:.2f} of imodels' {seconds['imodels']:.2f} s{limit}"
    else:
        text += " (imodels is not installed to compare with)"
    limit = "" if seconds["node harvest"] <= NODE_HARVEST_LIMIT else f" [red](limit {NODE_HARVEST_LIMIT} s)[/red]"
    return f"{text}; Node harvest {seconds['node harvest']:.2f} s{limit}", within

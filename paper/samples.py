"""A problem, a form of list and a kind of samples in; errors on held-out rows, sizes and what the lists share out.

Every form is fitted again on each sample, with whatever it chooses chosen inside, so errors are nested. Rows that a
sample has not seen judge it: the fold's own rows, those that a bootstrap sample left out, or the other half. The
error of a sample is its mean squared error on these rows over the variance of the target on all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from paper.problems import Problem
from pysirus import NodeHarvestRegressor, RuleFitRegressor, SirusRegressor, SirusRegressorCV
from pysirus._terms.stability import measure as measure_stability

Rows = NDArray[np.intp]
Sample = tuple[Rows, Rows]  # training rows, and those that judge
N_TERMS = 10  # of the forms whose names end in this number
N_FOLDS, N_BOOTSTRAPS = 10, 10
# As the authors of the paper ran them: the defaults of the R packages pre (without linear terms) and nodeHarvest. What
# weight a node of the latter must have to be counted is written nowhere; this one gives the published sizes.
RuleFit = partial(RuleFitRegressor, trees="conditional", n_trees=500)
NodeHarvest = partial(NodeHarvestRegressor, min_weight=0.025)

FORMS: dict[str, Callable[..., Any]] = {
    "sirus": partial(SirusRegressorCV, n_repeats=2, post_treatment="paper", n_jobs=1),
    "stages": partial(SirusRegressorCV, n_repeats=1, n_stages="auto", slopes=False, n_jobs=1),
    "slopes": partial(SirusRegressorCV, n_repeats=1, n_stages="auto", slopes=True, n_jobs=1),
    "rulefit": partial(RuleFit, n_bins=10),
    "node-harvest": partial(NodeHarvest, n_bins=10),
    "sirus-10": partial(SirusRegressor, n_rules=N_TERMS, post_treatment="paper", n_jobs=1),
    "stages-10": partial(SirusRegressor, n_rules=1, n_stages=N_TERMS, n_jobs=1),
    "slopes-10": partial(SirusRegressor, n_rules=1, n_stages=N_TERMS, slopes=True, n_jobs=1),
    "rulefit-10": partial(RuleFit, n_bins=10, n_rules=N_TERMS),
    "node-harvest-10": partial(NodeHarvest, n_bins=10, n_rules=N_TERMS),
}
KINDS = ("folds", "bootstraps", "halves")


def draw(kind: str, n_rows: int, repetition: int) -> list[Sample]:
    """Samples: ten folds, ten bootstrap samples, or two halves."""
    if kind == "folds":
        return list(KFold(N_FOLDS, shuffle=True, random_state=repetition).split(np.empty(n_rows)))
    rng = np.random.default_rng([repetition, KINDS.index(kind)])
    if kind == "halves":
        order = rng.permutation(n_rows)
        half = n_rows // 2
        first, second = np.sort(order[:half]), np.sort(order[half : 2 * half])
        return [(first, second), (second, first)]
    drawn = [np.sort(rng.integers(n_rows, size=n_rows)) for _ in range(N_BOOTSTRAPS)]
    return [(rows, np.setdiff1d(np.arange(n_rows), rows)) for rows in drawn]


def measure(problem: Problem, form: str, kind: str, repetition: int) -> dict[str, Any]:
    """Errors and sizes, one a sample, and the share of terms that pairs of lists have in common."""
    errors, sizes, lists = [], [], []
    spread = float(problem.y.var())
    for k, (train, test) in enumerate(draw(kind, len(problem.y), repetition)):
        model = FORMS[form](random_state=100 * repetition + k).fit(problem.X.iloc[train], problem.y[train])
        left = problem.y[test] - np.asarray(model.predict(problem.X.iloc[test]), dtype=float)
        errors.append(round(float((left**2).mean()) / spread, 5))
        sizes.append(len(model.rules_))
        lists.append(list(model.rules_))
    found = measure_stability(lists)
    shared = {name: [round(float(v), 5) for v in getattr(found, name) if v is not None] for name in ("dice", "nearby")}
    return {"errors": errors, "sizes": sizes, **shared}

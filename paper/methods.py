"""A problem in, one repetition of ten folds out: unexplained variance, size, stability, by method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from paper.problems import Array, Problem, as_bins, as_numbers
from paper.samples import NodeHarvest, RuleFit
from pysirus import SirusRegressor, SirusRegressorCV, stability

N_FOLDS = 10
N_EXTRACTED = 100  # rules of the columns "50 rules", before those without weight are left out
Result = dict[str, Any]  # numbers, and the errors of folds under ``errors``


def folds(problem: Problem, repetition: int) -> Iterator[tuple[Any, Any]]:
    """Training and held-out rows."""
    return KFold(N_FOLDS, shuffle=True, random_state=repetition).split(problem.X)


def errors_of(problem: Problem, repetition: int, predicted: Array) -> Result:
    """Squared error as a share of the variance: over all rows, and of each fold."""
    left, spread = (problem.y - predicted) ** 2, float(problem.y.var())
    by_fold = [round(float(left[test].mean()) / spread, 5) for _, test in folds(problem, repetition)]
    return {"error": float(left.mean()) / spread, "errors": by_fold}


def cross_validate(
    problem: Problem, repetition: int, fit: Callable[[pd.DataFrame, Array, int], Any]
) -> tuple[Result, list[Any]]:
    """The unexplained variance, and the model of each fold."""
    predicted, models = np.empty(len(problem.y)), []
    for k, (train, test) in enumerate(folds(problem, repetition)):
        model = fit(problem.X.iloc[train], problem.y[train], N_FOLDS * repetition + k)
        predicted[test] = model.predict(problem.X.iloc[test])
        models.append(model)
    return errors_of(problem, repetition, predicted), models


def mean_size(models: list[Any]) -> float:
    """Mean number of rules."""
    return float(np.mean([len(model.rules_) for model in models]))


# --------------------------------------------------------------------------------------------- forests and single trees


def _forest(problem: Problem, repetition: int, encode: Callable[..., tuple[Any, Any]]) -> Result:
    predicted = np.empty(len(problem.y))
    for k, (train, test) in enumerate(folds(problem, repetition)):
        inside, outside = encode(problem.X.iloc[train], problem.X.iloc[test], problem.y[train])
        # 500 trees, a third of the columns at each split, nodes of more than five rows are split: ranger's defaults
        model = RandomForestRegressor(
            500,
            max_features=max(1, inside.shape[1] // 3),
            min_samples_split=6,
            random_state=N_FOLDS * repetition + k,
        )
        predicted[test] = model.fit(inside, problem.y[train]).predict(outside)
    return errors_of(problem, repetition, predicted)


def forest(problem: Problem, repetition: int) -> Result:
    """Breiman's random forest."""
    return _forest(problem, repetition, as_numbers)


def forest_quantiles(problem: Problem, repetition: int) -> Result:
    """A random forest that cuts at ten quantiles."""
    return _forest(problem, repetition, as_bins)


def _pruned(X: Array, y: Array, seed: int, n_penalties: int = 20) -> DecisionTreeRegressor:
    """A tree pruned by cost and complexity, the penalty by ten-fold cross-validation."""
    shape = {"min_samples_split": 20, "min_samples_leaf": 7, "random_state": 0}
    penalties = y.var() * np.geomspace(1e-3, 0.3, n_penalties)
    errors = np.zeros(n_penalties)
    for train, test in KFold(10, shuffle=True, random_state=seed).split(X):
        for i, penalty in enumerate(penalties):
            tree = DecisionTreeRegressor(ccp_alpha=penalty, **shape).fit(X[train], y[train])
            errors[i] += ((y[test] - tree.predict(X[test])) ** 2).sum()
    return DecisionTreeRegressor(ccp_alpha=penalties[errors.argmin()], **shape).fit(X, y)


def cart(problem: Problem, repetition: int) -> Result:
    """A pruned tree; its size is its number of leaves."""
    predicted, sizes = np.empty(len(problem.y)), []
    for k, (train, test) in enumerate(folds(problem, repetition)):
        inside, outside = as_numbers(problem.X.iloc[train], problem.X.iloc[test], problem.y[train])
        tree = _pruned(inside, problem.y[train], N_FOLDS * repetition + k)
        predicted[test] = tree.predict(outside)
        sizes.append(tree.get_n_leaves())
    return {**errors_of(problem, repetition, predicted), "size": float(np.mean(sizes))}


# ---------------------------------------------------------------------------------------------------------- rule models


def _rule_model(problem: Problem, repetition: int, make: Callable[..., Any]) -> Result:
    """Cuts at ten quantiles, where the paper measured stability; and cuts anywhere, under names of their own."""
    fits = [
        cross_validate(problem, repetition, lambda X, y, s, n=n: make(random_state=s, n_bins=n).fit(X, y))
        for n in (10, None)
    ]
    (binned, lists), (free, free_lists) = fits
    return {
        **free,
        "size": mean_size(lists),
        "stability": stability(lists),
        "error_on_quantiles": binned["error"],
        "errors_on_quantiles": binned["errors"],
        "size_free": mean_size(free_lists),
    }


def rulefit(problem: Problem, repetition: int) -> Result:
    """RuleFit with rules alone."""
    return _rule_model(problem, repetition, RuleFit)


def node_harvest(problem: Problem, repetition: int) -> Result:
    """Node harvest."""
    return _rule_model(problem, repetition, NodeHarvest)


def _tuned(problem: Problem, seed: int, n_stages: int | str = 1) -> Result:
    settings = {"post_treatment": "paper", "slopes": False, "n_jobs": 1, "random_state": seed}
    model = SirusRegressorCV(n_repeats=10, n_stages=n_stages, **settings).fit(problem.X, problem.y)
    size = float(model.path_.n_rules[model.model_.tuning.step])
    return {"error": model.cv_error_, "size": size, "stability": model.cv_stability_, "p0": model.p0_}


def sirus(problem: Problem, repetition: int) -> Result:
    """SIRUS, p0 tuned over ten repetitions."""
    return _tuned(problem, repetition)


def sirus_stages(problem: Problem, repetition: int) -> Result:
    """SIRUS with forests on the residuals, beyond the paper."""
    return _tuned(problem, repetition, "auto")


def sirus_sparse(problem: Problem, repetition: int) -> Result:
    """SIRUS with three permuted copies of each column beside it."""
    return _tuned(problem.sparse(repetition), repetition)


def _fifty(problem: Problem, repetition: int, max_depth: int) -> Result:
    """A hundred rules of the forest, of which about fifty have a weight (notes.md tells of the other reading)."""
    errors, models = cross_validate(
        problem,
        repetition,
        lambda X, y, s: SirusRegressor(
            n_rules=N_EXTRACTED, max_depth=max_depth, post_treatment="paper", random_state=s
        ).fit(X, y),
    )
    return {**errors, "size": mean_size(models), "stability": stability(models)}


def sirus_50(problem: Problem, repetition: int) -> Result:
    """SIRUS with about fifty rules."""
    return _fifty(problem, repetition, 2)


def sirus_50_depth_3(problem: Problem, repetition: int) -> Result:
    """The same with trees of depth three."""
    return _fifty(problem, repetition, 3)


METHODS: dict[str, Callable[[Problem, int], Result]] = {
    "sirus": sirus,
    "sirus-stages": sirus_stages,
    "sirus-sparse": sirus_sparse,
    "sirus-50": sirus_50,
    "sirus-50-depth-3": sirus_50_depth_3,
    "rulefit": rulefit,
    "node-harvest": node_harvest,
    "cart": cart,
    "forest": forest,
    "forest-quantiles": forest_quantiles,
}
# Repetitions of the folds. The first two repeat them ten times themselves, so one job is the whole cell; the sparse
# setting is another draw in each repetition; others are repeated as often as ten minutes of 16 cores allow.
N_REPETITIONS = {"sirus": 1, "sirus-stages": 1, "sirus-50": 3, "rulefit": 3, "node-harvest": 3, "cart": 3}
N_REPETITIONS |= {"sirus-sparse": 3, "sirus-50-depth-3": 3, "forest": 3, "forest-quantiles": 3}

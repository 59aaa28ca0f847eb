"""Growing lists in, their tuning path out: how error and stability go on as rules or stages of rules are added.

Every stage adds PER_STAGE rules, so one sequence of forests in a fold gives its whole path. (A common p0 for all stages
needs a sequence for every p0, and was not better on six of eight datasets: docs/stages.md.) Without corrections a list
grows by one rule a step, the same number in every fold.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._forest.forest import Paths, Recipe
from pysirus._response.response import Response
from pysirus._select.select import Span, select
from pysirus._stages.correct import correct
from pysirus._tuning.path import IDEAL, TuningPath, mean_dice
from pysirus._weights.weights import Weighed, weigh_by_ridge
from pysirus.estimators.sirus import Training, rules_of

PER_STAGE = 1
STAGE_TREES = 2_000  # the most frequent path of a forest is known with fewer trees than its first fifty


def staged_lists(
    training: Training, paths: Paths, recipe: Recipe, n_stages: int | None, max_rules: int
) -> list[Weighed]:
    """The list after each stage; the first is the beginning of the plain list."""
    span = Span()
    kept = select(paths, training.binned, n_rules=min(PER_STAGE, max_rules), span=span)
    rules = rules_of(paths, kept, training.binned)
    first = weigh_by_ridge(rules, training.moments(rules), [len(rules)])
    if not rules:
        return [first]
    n_trees = min(STAGE_TREES, paths.n_trees)
    limits = {"first_tree": paths.n_trees, "n_trees": n_trees, "n_rules": PER_STAGE, "max_rules": max_rules}
    stages = correct(training, first, span, recipe, p0=None, **limits)
    return [first, *islice(stages, None if n_stages is None else n_stages - 1)]


@dataclass(frozen=True)
class GrowingList:
    """What a fold's list looks like after each step, and its squared error on the held-out rows."""

    in_use: tuple[frozenset[Hashable], ...]
    lowest: tuple[float, ...]  # frequency of the least frequent rule so far
    errors: tuple[float, ...]

    def after(self, step: int) -> int:
        """The entry of a step; a list that ended earlier stays as it is."""
        return min(step, len(self.errors) - 1)


def look_at_stages(lists: Sequence[Weighed], held_out: Table, response: Response) -> GrowingList:
    """Evaluate a fold's lists on its held-out rows."""
    assert response.values is not None
    weights = np.ones(response.n_rows) if response.weights is None else response.weights
    holds = np.array([rule.holds(held_out) for rule in lists[-1].rules]).reshape(-1, response.n_rows)
    errors = []
    for weighed in lists:
        prediction = np.full(response.n_rows, weighed.intercepts[-1], dtype=np.float64)
        for rule, inside, weight in zip(weighed.rules, holds, weighed.weights[-1]):
            prediction += weight * np.where(inside, np.float64(rule.inside), np.float64(rule.outside))  # type: ignore[arg-type]
        errors.append(float(weights @ (response.values - prediction) ** 2))
    lowest = [min((rule.frequency for rule in weighed.rules), default=1.0) for weighed in lists]
    return GrowingList(tuple(weighed.in_use()[-1] for weighed in lists), tuple(lowest), tuple(errors))


def growing_path(
    repetitions: Sequence[Sequence[GrowingList]], totals: Sequence[float], max_rules: int
) -> tuple[TuningPath, int]:
    """The path over steps, averaged over repetitions, and the step nearest to the ideal point (their median).

    ``totals`` are the sums of squares of the held-out responses of each repetition. The p0 of a step is the frequency
    of the least frequent rule so far, averaged over folds.
    """
    n_steps = max(len(fold.errors) for folds in repetitions for fold in folds)
    values: NDArray[np.float64] = np.empty((len(repetitions), 4, n_steps))
    for r, (folds, total) in enumerate(zip(repetitions, totals)):
        for step in range(n_steps):
            at = [(fold, fold.after(step)) for fold in folds]
            sets = [fold.in_use[k] for fold, k in at]
            values[r, :, step] = (
                np.mean([len(rules) for rules in sets]),
                sum(fold.errors[k] for fold, k in at) / (total or 1.0),
                mean_dice(sets),
                np.mean([fold.lowest[k] for fold, k in at]),
            )
    values = values[:, :, values[:, 0].mean(axis=0) <= max_rules]
    distance = np.hypot(values[:, 1] - IDEAL[0], values[:, 2] - IDEAL[1])
    step = int(np.floor(np.median(distance.argmin(axis=1))))
    mean, n = values.mean(axis=0), len(repetitions)
    error = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros_like(mean)
    return TuningPath(mean[3], mean[0], mean[1], mean[2], error[0], error[1], error[2], n), step

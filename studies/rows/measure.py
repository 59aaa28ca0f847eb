"""One sample of a table in, the lists that trees of so many rows give on it out, with errors and the time they took.

A sample is a fold, whose error is that of the rows left out, or a half of the rows, whose error is that of the other
half. Trees, stages and weights are those of a tuned model.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from pysirus import SirusClassifier, SirusRegressor
from pysirus._data.table import recode_table
from pysirus._families.responses import Response
from pysirus._learn.fit import StageLimits, add_stages, stage_trees, weighing_of
from pysirus._learn.grow import Limits, bin_rows, select_rules
from pysirus._learn.weigh import Weighing
from pysirus._weights.moments import values_in
from pysirus._weights.weighted import WeightedPrefixes, with_outputs
from studies.rows.problems import Problem

DRAWN = {"1000": 1_000, "3000": 3_000, "5000": 5_000, "10000": 10_000, "30000": 30_000, "share": None}  # None: no limit
NOW = "now"  # the limits of tuned models, and their trees of a stage
SIZES = (5, 10, 20)
N_FOLDS = 10
N_HALVES = 3  # pairs of them
N_TREES, STAGE_TREES = 10_000, 2_000
DIGITS = 5
Result = dict[str, Any]
Rows = NDArray[np.intp]


def n_samples() -> int:
    """Folds first, then the halves, pair by pair."""
    return N_FOLDS + 2 * N_HALVES


def sample(problem: Problem, number: int) -> tuple[Rows, Rows]:
    """Training and held-out rows of a sample."""
    n_splits, seed, which = N_FOLDS, 0, number
    if number >= N_FOLDS:
        n_splits, seed, which = 2, *divmod(number - N_FOLDS, 2)
    kind = StratifiedKFold if problem.classes else KFold
    return list(kind(n_splits, shuffle=True, random_state=seed).split(problem.X, problem.y))[which]


def short(rule: Hashable) -> str:
    """A name of a rule that is the same in every process."""

    def text(part: Any) -> str:
        if isinstance(part, (set, frozenset)):
            return "{" + ",".join(sorted(map(text, part))) + "}"
        return "(" + ",".join(map(text, part)) + ")" if isinstance(part, tuple) else repr(part)

    return hashlib.sha256(text(rule).encode()).hexdigest()[:8]


def _errors(weighing: Weighing, weighted: WeightedPrefixes, holds: NDArray[np.bool_], truth: Response) -> list[float]:
    """The error of the held-out rows for every size."""
    of = weighing.pooled_error([weighing.evaluate(weighted, holds[:, : len(weighted.rules)], truth)])
    return [round(float(of(np.array([[i]]))[0]), DIGITS) for i in range(len(weighted.sizes))]


def _names(lists: Iterable[frozenset[Hashable]]) -> list[str]:
    return [" ".join(sorted(map(short, rules))) for rules in lists]


def measure(problem: Problem, limit: str, number: int, n_trees: int = N_TREES) -> Result:
    """The lists of trees that draw so many rows at most, on one sample."""
    train, test = sample(problem, number)
    estimator = (SirusClassifier if problem.classes else SirusRegressor)(random_state=number, n_jobs=1, n_trees=n_trees)
    weighing, settings = weighing_of(estimator._family), estimator._settings()
    warnings.filterwarnings("ignore", message=".*unseen categor.*")
    table, response, target = estimator._read(problem.X, problem.y, None)
    training = bin_rows(table.take(train), response.take(train), target, settings)
    recipe, later = replace(settings, draws_few=True).recipe(training.n_rows), STAGE_TREES
    if limit == NOW:
        later = stage_trees(training.n_rows, recipe)
    else:
        recipe = replace(recipe, most_drawn=DRAWN[limit], most_in_stages=DRAWN[limit])

    start = time.process_time()
    paths = training.forest(recipe).grow_to(n_trees).paths()
    first_done = time.process_time()
    plain = select_rules(training, paths, Limits(max(SIZES)))
    rules = with_outputs(plain.rules, plain.moments, training.response)
    listed = weighing.weigh(training, rules, plain.moments, [min(size, len(rules)) for size in SIZES])
    limits = StageLimits(max(SIZES), Limits(1), max(SIZES), paths.n_trees, min(n_trees, later))
    start_stages = time.process_time()
    one = select_rules(training, paths, Limits(1))
    first = weighing.weigh(
        training, with_outputs(one.rules, one.moments, training.response), one.moments, [len(one.rules)]
    )
    stages = add_stages(training, first, one.span, weighing=weighing, recipe=recipe, limits=limits)
    done = time.process_time()

    chosen = [stages[min(size, len(stages)) - 1] for size in SIZES]
    held_out, truth = recode_table(table.take(test), training.features), response.take(test)
    holds_plain, holds = values_in(rules, held_out), values_in(stages[-1].rules, held_out)
    return {
        "error": [_errors(weighing, own, holds, truth)[0] for own in chosen],
        "plain_error": _errors(weighing, listed, holds_plain, truth),
        "seconds": round(done - start_stages, 2),
        "plain_seconds": round(first_done - start, 2),
        **_by_size("rules", _names(own.in_use()[0] for own in chosen)),
        **_by_size("plain_rules", _names(listed.in_use())),
    }


def _by_size(name: str, lists: Sequence[str]) -> dict[str, str]:
    return {f"{name}_{size}": own for size, own in zip(SIZES, lists)}

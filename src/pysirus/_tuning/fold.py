"""Folds in, what each learned and what its held-out rows say of it out, on as many threads as asked for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._data.table import Table, recode_table
from pysirus._forest.forest import Paths, Recipe
from pysirus._progress import show_folds
from pysirus._response.response import Response
from pysirus._rules.rule import Rule
from pysirus._training.grow import NO_PATHS, has_splits
from pysirus._training.required import with_required
from pysirus._training.training import Training, bin_rows
from pysirus._tuning.folds import Split, derive
from pysirus._tuning.held_out import HeldRows, Use, held_rows
from pysirus._tuning.path import FoldList
from pysirus._tuning.plan import TuningPlan
from pysirus._weights.weighted import WeightedPrefixes


@dataclass(frozen=True)
class GrowingList:
    """A fold's list after each step, and what its held-out rows say of it."""

    in_use: tuple[frozenset[Hashable], ...]
    lowest: tuple[float, ...]  # frequency of the least frequent rule so far
    judged: Any
    rows: HeldRows
    first: int = 0  # entry of ``judged`` that belongs to the first step

    def after(self, step: int) -> int:
        """The entry of a step; a list that ended earlier stays as it is."""
        return min(step, len(self.in_use) - 1)

    def use(self, step: int) -> Use:
        """The held-out rows, and the list of a step that predicts them."""
        return self.rows, self.after(step) + self.first


@dataclass(frozen=True)
class FoldResult:
    """What a fold learned, what its held-out rows say of every size, and its staged lists where they are asked for."""

    plain: FoldList
    judged: Any
    rows: HeldRows
    staged: GrowingList | None = None
    n_required: int = 0

    @property
    def by_length(self) -> GrowingList:
        """The plain list, one rule per step; the first has those that are required."""
        if not len(self.plain.frequencies):
            return GrowingList(self.plain.in_use, (1.0,), self.judged, self.rows)
        least = max(1, self.n_required)
        frequencies = tuple(self.plain.frequencies[least - 1 :])
        return GrowingList(self.plain.in_use[least:], frequencies, self.judged, self.rows, first=least)

    def use(self, p0: float) -> Use:
        """The held-out rows, and the list above p0 that predicts them."""
        return self.rows, int((self.plain.frequencies > p0).sum())


def holds_in(rules: Sequence[Rule], table: Table) -> NDArray[np.bool_]:
    """In which rows of a table each rule holds, [row, rule]."""
    holds = np.empty((table.n_rows, len(rules)), dtype=bool)
    for i, rule in enumerate(rules):
        holds[:, i] = rule.holds(table)
    return holds


def learn_fold(training: Training, plan: TuningPlan, recipe: Recipe, n_trees: int) -> tuple[Paths, WeightedPrefixes]:
    """The forest of a fold, and the weights of every prefix of its list."""
    paths = training.forest(recipe).grow_to(n_trees).paths() if has_splits(training) else NO_PATHS
    return paths, plan.plain_list(training, paths)


def judge_fold(
    weighted: WeightedPrefixes,
    holds: NDArray[np.bool_],
    response: Response,
    plan: TuningPlan,
    index: NDArray[np.integer[Any]],
) -> FoldResult:
    """What the held-out rows, numbered by ``index``, say of a fold's lists; ``holds`` is [row, rule]."""
    plain = FoldList(np.array([rule.frequency for rule in weighted.rules]), weighted.in_use())
    return FoldResult(plain, plan.kind.judge(weighted, holds, response), held_rows(weighted, holds, response, index))


def fit_fold(
    table: Table, response: Response, split: Split, plan: TuningPlan, n_trees: int, stop: _core.StopFlag
) -> FoldResult:
    """One fold: bins, forest, list, weights of every prefix, and what they say of the held-out rows."""
    train, test = split
    binned = bin_rows(table.take(train), response.take(train), plan.settings, "")
    training = with_required(binned, plan.kind.link, strict=False)
    recipe = replace(plan.settings.recipe(training.n_rows), n_threads=1, stop=stop)
    paths, weighted = learn_fold(training, plan, recipe, n_trees)
    held_out, answers = recode_table(table.take(test), training.features), response.take(test)
    result = judge_fold(weighted, holds_in(weighted.rules, held_out), answers, plan, test)
    if not plan.with_stages:
        return result
    staged = _judge_stages(plan.staged_lists(training, paths, recipe), held_out, answers, plan, test)
    return replace(result, staged=staged, n_required=len(training.required))


def _judge_stages(
    lists: Sequence[WeightedPrefixes], held_out: Table, response: Response, plan: TuningPlan, index: NDArray[np.intp]
) -> GrowingList:
    """Evaluate a fold's lists, each of which continues the one before, on its held-out rows."""
    last = lists[-1]
    weights = np.zeros((len(lists), len(last.rules)))
    for row, own in zip(weights, lists):
        row[: len(own.rules)] = own.weights[-1]
    intercepts = tuple(own.intercepts[-1] for own in lists)
    every = replace(last, sizes=tuple(len(own.rules) for own in lists), weights=weights, intercepts=intercepts)
    lowest = [min((rule.frequency for rule in own.rules), default=1.0) for own in lists]
    holds = holds_in(last.rules, held_out)
    judged = plan.kind.judge(every, holds, response)
    return GrowingList(every.in_use(), tuple(lowest), judged, held_rows(every, holds, response, index))


def fit_folds(
    table: Table, response: Response, splits: Sequence[Sequence[Split]], plan: TuningPlan, n_trees: int
) -> list[list[FoldResult]]:
    """All folds of all repetitions; an interrupt stops the forests at once."""
    stop = _core.StopFlag()
    jobs = [(r, f, split) for r, folds in enumerate(splits) for f, split in enumerate(folds)]
    results: list[list[Any]] = [[None] * len(folds) for folds in splits]
    settings = plan.settings
    with show_folds(settings.verbose, len(jobs)) as progress, ThreadPoolExecutor(settings.n_threads) as pool:

        def submit(r: int, f: int, split: Split) -> Any:
            own = replace(plan, settings=replace(settings, seed=derive(settings.seed, r, f)))
            return pool.submit(fit_fold, table, response, split, own, n_trees, stop)

        futures = {submit(*job): job[:2] for job in jobs}
        try:
            for future in as_completed(futures):
                r, f = futures[future]
                results[r][f] = future.result()
                progress()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return results

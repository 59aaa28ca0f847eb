"""Folds or resamples of rows in, what is learned from each out, on as many threads as asked for.

Of a fold also what its held-out rows say. Columns of resamples keep the kind that they have in the whole table: a
number with eleven values there has cuts at quantiles in every half of it, so that rules compare.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import Any

import numpy as np

from pysirus import _core
from pysirus._bins.cuts import Cuts, Grids
from pysirus._data.table import Feature, Table, recode_table
from pysirus._families.responses import Response
from pysirus._forest.forest import Paths, Recipe
from pysirus._learn.constraints import with_required
from pysirus._learn.fit import LEAST_ROWS, StageLimits, add_stages, stage_trees
from pysirus._learn.grow import NO_PATHS, Limits, Settings, bin_rows, has_splits, select_rules
from pysirus._learn.held_out import FoldList, FoldTerms, GrowingList, HeldOutRows, Use
from pysirus._learn.splits import FOREST, Periods, Rows, Split, derive
from pysirus._learn.training import Training
from pysirus._learn.weigh import Weighing
from pysirus._model.model import Model
from pysirus._model.tuning import IDEAL, Ideal
from pysirus._runtime.console import cancellable_pool, show_folds
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.moments import values_in
from pysirus._weights.weighted import WeightedPrefixes, joined, with_outputs

Learn = Callable[[Table, Response, Settings], Model]  # some rows and how to learn from them in, their model out

# Every stage adds this many rules, so one sequence of forests in a fold gives its whole path. (A common p0 for all
# stages needs a sequence for every p0, and was not better on six of eight datasets: docs/stages-study.md.)
PER_STAGE = 1


@dataclass(frozen=True)
class TuningPlan:
    """What tuning is asked to do."""

    weighing: Weighing
    settings: Settings
    max_rules: int
    criterion: str  # "stability": nearest to the ideal point, "error": the shortest list within two standard errors
    n_repeats: int | None  # None: until the choice is settled
    ideal: Ideal = IDEAL
    n_stages: int | None = 1  # None: as many as it takes
    slopes: bool | str = False  # whether staged lists may hold them; "auto": both are compared
    post_treatment: str = "sample"
    min_samples_leaf: int | float | None = None
    periods: Periods | None = None  # where folds look forward in time
    watch: Callable[..., None] | None = None  # is given the model and what lists of a p0 predict of held-out rows

    @property
    def with_stages(self) -> bool:
        """Whether corrected lists are compared too."""
        return self.n_stages != 1

    @property
    def kinds(self) -> tuple[bool, ...]:
        """The kinds of corrected lists that are compared: whether they may hold slopes."""
        if not self.with_stages:
            return ()
        return (False, True) if self.slopes == "auto" else (bool(self.slopes),)

    def each(self, n_rules: int, *, staged: bool | None = None) -> Limits:
        """How rules are selected for the plain or the staged list; where that is not said, for the one asked for."""
        default = LEAST_ROWS if (self.with_stages if staged is None else staged) else 1
        return Limits(n_rules, post_treatment=self.post_treatment, min_rows=self.min_samples_leaf or default)

    def plain_list(self, training: Training, paths: Paths) -> WeightedPrefixes:
        """Every prefix of the longest list worth looking at, so that max_rules of its rules may have a weight."""
        training = training.without_slopes()
        selected = select_rules(training, paths, self.each(2 * self.max_rules, staged=False))
        rules, moments = with_outputs(selected.rules, selected.moments, training.response), selected.moments
        sizes = self.weighing.sizes(training, rules, moments, self.max_rules)
        return self.weighing.weigh(training, rules[: sizes[-1]], moments.take(sizes[:-1]), sizes)

    def staged_lists(
        self, training: Training, paths: Paths, recipe: Recipe, *, slopes: bool = False
    ) -> list[WeightedPrefixes]:
        """The list after each stage, of rules or of rules and slopes."""
        training = training if slopes else training.without_slopes()
        each = self.each(PER_STAGE, staged=True)
        begin = replace(each, n_rules=max(PER_STAGE, len(training.required)))
        selected = select_rules(training, paths, begin)
        rules = with_outputs(selected.rules, selected.moments, training.response)
        first = self.weighing.weigh(training, rules, selected.moments, [len(rules)])
        n_trees = min(stage_trees(training.n_rows, recipe), paths.n_trees)
        limits = StageLimits(self.n_stages, each, self.max_rules, paths.n_trees, n_trees)
        return add_stages(training, first, selected.span, weighing=self.weighing, recipe=recipe, limits=limits)


@dataclass(frozen=True)
class FoldResult:
    """What a fold learned, what its held-out rows say of every size, and its staged lists where they are asked for."""

    plain: FoldList
    held_out_loss: Any
    lists: FoldTerms
    n_learned: int  # rows that it learned from
    n_held_out: int
    staged: tuple[GrowingList, ...] = ()  # one for each kind
    n_required: int = 0

    @property
    def share_left_out(self) -> float:
        """The share of the rows that it leaves out."""
        return self.n_held_out / (self.n_learned + self.n_held_out)

    @property
    def by_length(self) -> GrowingList:
        """The plain list, one rule per step; the first has those that are required."""
        if not len(self.plain.frequencies):
            return GrowingList(self.plain.in_use, (1.0,), self.held_out_loss, self.lists)
        least = max(1, self.n_required)
        frequencies = tuple(self.plain.frequencies[least - 1 :])
        return GrowingList(self.plain.in_use[least:], frequencies, self.held_out_loss, self.lists, first=least)

    def use(self, p0: float) -> Use:
        """The list above p0."""
        size = int((self.plain.frequencies > p0).sum())
        return Use(self.lists, size, self.held_out_loss, self.plain.in_use[size])


Repeated = tuple[HeldOutRows, Sequence[FoldResult]]  # the rows that the folds of a repetition hold out, and these


@dataclass(frozen=True)
class FoldLists:
    """What a fold learned: the prefixes of its plain list, and its lists after each stage, of each kind."""

    plain: WeightedPrefixes
    n_rows: int  # that it learned from
    staged: tuple[tuple[WeightedPrefixes, ...], ...] = ()
    n_required: int = 0

    @property
    def rules(self) -> tuple[tuple[FittedTerm, ...], ...]:
        """The terms of the plain list, then those of the last stage of each kind."""
        return (self.plain.rules, *(own[-1].rules for own in self.staged))

    def bare(self) -> FoldLists:
        """The same without what weights came from."""
        staged = tuple(tuple(own.bare() for own in kind) for kind in self.staged)
        return replace(self, plain=self.plain.bare(), staged=staged)


def learn_fold(training: Training, plan: TuningPlan, recipe: Recipe, n_trees: int) -> FoldLists:
    """The forest of a fold, the weights of every prefix of its list, and its corrections."""
    forest = training.forest(training.with_lines(recipe)) if has_splits(training) else None
    paths = NO_PATHS if forest is None else forest.grow_to(n_trees).paths()
    plain = plan.plain_list(training, paths)
    if not plan.with_stages:
        return FoldLists(plain, training.n_rows)
    staged = tuple(tuple(plan.staged_lists(training, paths, recipe, slopes=own)) for own in plan.kinds)
    return FoldLists(plain, training.n_rows, staged, len(training.required))


@dataclass(frozen=True)
class HeldOutLosses:
    """What the held-out rows of a fold say of its lists, which adds up over rows in several places."""

    n_rows: int
    losses: tuple[Any, ...]  # of the prefixes of the plain list, then of the stages of each kind

    def __add__(self, other: HeldOutLosses) -> HeldOutLosses:
        return HeldOutLosses(self.n_rows + other.n_rows, tuple(map(add, self.losses, other.losses)))


def judge_fold(lists: FoldLists, table: Table, response: Response, weighing: Weighing) -> HeldOutLosses:
    """What held-out rows, in columns as the fold knows them, say of its lists."""
    every = (lists.plain, *map(joined, lists.staged))
    losses = tuple(weighing.evaluate(own, values_in(own.rules, table), response) for own in every)
    return HeldOutLosses(table.n_rows, losses)


def fold_result(lists: FoldLists, features: tuple[Feature, ...], said: HeldOutLosses) -> FoldResult:
    """What a fold learned, and what all of its held-out rows say of it."""
    weighted = lists.plain.bare()
    plain = FoldList(np.array([rule.frequency for rule in weighted.rules]), weighted.in_use())
    own, *later = said.losses
    staged = []
    for kind, losses in zip(lists.staged, later):
        together = joined(kind)
        lowest = [min((rule.frequency for rule in stage.rules), default=1.0) for stage in kind]
        staged.append(GrowingList(together.in_use(), tuple(lowest), losses, FoldTerms(together, features)))
    terms = FoldTerms(weighted, features)
    return FoldResult(plain, own, terms, lists.n_rows, said.n_rows, tuple(staged), lists.n_required)


@dataclass(frozen=True)
class MemoryFolds:
    """The rows that each fold holds out, where all are in memory."""

    tests: tuple[Rows, ...]
    n_rows: int

    @property
    def each_once(self) -> bool:
        """Whether every row is held out by one of them."""
        times = np.bincount(np.concatenate(self.tests), minlength=self.n_rows)
        return bool((times == 1).all())

    def held_out(self, first_row: int, response: Response) -> Iterator[tuple[int, Rows]]:
        """The rows of each fold."""
        return ((fold, rows) for fold, rows in enumerate(self.tests) if len(rows))


def fit_fold(
    table: Table,
    response: Response,
    split: Split,
    plan: TuningPlan,
    n_trees: int,
    stop: _core.StopFlag,
    grids: Grids,
) -> FoldResult:
    """One fold: bins, forest, list, weights of every prefix, corrections, and what held-out rows say of them."""
    train, test = split
    rows = bin_rows(table.take(train), response.take(train), "", plan.settings, grids=grids)
    training = with_required(rows, plan.weighing.family.link, strict=False)
    recipe = replace(plan.settings.recipe(training.n_rows), stop=stop)
    lists = learn_fold(training, plan, recipe, n_trees)
    held_out = recode_table(table.take(test), training.features)
    said = judge_fold(lists, held_out, replace(response.take(test), part_of=response.scale), plan.weighing)
    return fold_result(lists, training.features, said)


def fit_folds(
    table: Table,
    response: Response,
    repetitions: Iterable[Sequence[Split]],
    plan: TuningPlan,
    whole: Training,
    n_trees: int,
) -> Iterator[Repeated]:
    """The folds of one repetition after the other, those of each side by side; an interrupt stops the forests at once.

    Where the number of repetitions is given, the next one begins before the last folds of this one are done.
    """
    stop, settings, ahead = plan.settings.stop or _core.StopFlag(), plan.settings, 2 if (plan.n_repeats or 1) > 1 else 1
    waiting: deque[tuple[MemoryFolds, list[Future[FoldResult]]]] = deque()
    with cancellable_pool(settings.n_threads, stop.set) as pool, show_folds(settings.verbose) as progress:
        for number, splits in enumerate(repetitions):
            n_threads = -(-settings.n_threads // (ahead * len(splits)))  # of a fold
            waiting.append((MemoryFolds(tuple(test for _, test in splits), response.n_rows), []))
            for fold, split in enumerate(splits):
                of_fold = replace(settings, seed=derive(settings.seed, number, fold), n_threads=n_threads)
                given = (table, response, split, replace(plan, settings=of_fold), n_trees, stop, whole.binned.grids)
                waiting[-1][1].append(pool.submit(fit_fold, *given))
            if len(waiting) == ahead:
                held, own = waiting.popleft()
                yield held, _results(own, partial(progress, (plan.n_repeats or number + 1) * len(splits)))
        for held, own in waiting:
            yield held, _results(own, partial(progress, (plan.n_repeats or 1) * len(own)))


def _results(futures: Sequence[Future[FoldResult]], progress: Callable[[], None]) -> list[FoldResult]:
    """What the folds of a repetition have learned, in their order."""
    for future in as_completed(futures):
        future.result()
        progress()
    return [future.result() for future in futures]


# ------------------------------------------------------------------------------------------------------------ resamples


def continuous_columns(cuts: Sequence[Cuts]) -> frozenset[str]:
    """The names of columns with cuts at quantiles."""
    return frozenset(own.column.name for own in cuts if any(kind == "quantile" for kind, _ in own.identities))


def fit_samples(
    table: Table, response: Response, samples: Sequence[Rows], settings: Settings, learn: Learn
) -> list[Model]:
    """The model of each sample, as many at a time as there are threads; an interrupt stops the forests at once.

    What a fit of some of the rows would warn of is said of the model itself, or of no interest.
    """
    stop = _core.StopFlag()

    def one(number: int) -> Model:
        seed = derive(settings.seed, FOREST, number)
        own = replace(settings, seed=seed, n_threads=1, verbose=0, stop=stop)
        rows = samples[number]
        return bare(learn(table.take(rows), response.take(rows), own))

    with (
        warnings.catch_warnings(),
        cancellable_pool(settings.n_threads, stop.set) as pool,
        show_folds(settings.verbose, "resampling", "samples") as progress,
    ):
        warnings.simplefilter("ignore")
        futures = [pool.submit(one, number) for number in range(len(samples))]
        for future in as_completed(futures):
            future.result()
            progress(len(futures))
        return [future.result() for future in futures]


def bare(model: Model) -> Model:
    """The model without what its weights came from."""
    return replace(model, moments=None, likelihood=None, tuning=None)

"""Rows in parts and folds in, what each fold learned and what its held-out rows say of it out: as in memory.

For each repetition the parts are read as often as for one fit: response, columns, neighbourhoods of quantiles, bins;
and once more for the rows that are held out. The forests of all folds grow together, level by level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Cuts, grids_of
from pysirus._data.column import MISSING, Column
from pysirus._data.table import Feature, Table, as_feature, recode_table
from pysirus._families.responses import Response
from pysirus._learn.constraints import with_required
from pysirus._learn.folds import (
    FoldLists,
    FoldResult,
    HeldOutLosses,
    Repeated,
    TuningPlan,
    fold_result,
    judge_fold,
    learn_fold,
)
from pysirus._learn.grow import Settings, features_of
from pysirus._learn.splits import derive
from pysirus._learn.weigh import Weighing
from pysirus._parameters import ParameterError
from pysirus._runtime.console import show_rows
from pysirus._runtime.sums import Scale
from pysirus._text.message import Parameter
from pysirus.engine.folds import BEFORE, Answers, FoldQuery, FoldSummaries, Repetition, fold_stats
from pysirus.engine.lockstep import run_lockstep
from pysirus.engine.parts import EngineOptions, Part, ShardDataset
from pysirus.engine.read import PartRows, ResponseStats
from pysirus.engine.shard import MappedShards, Shard, SizeQuery, ask_first, nothing
from pysirus.engine.train import BinningScheme, Encoder, ShardTraining, in_order, limits_of, scheme_of, training_in_bins

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class FoldRows:
    """A view: of a shard on the grid the rows that a fold learns from, in its own bins, numbered among themselves."""

    taken: NDArray[np.uint8]  # how often the fold takes a row, by its mark
    scale: Scale  # of these rows
    first_rows: Mapping[int, int]  # by number of the first row of the shard
    reading: GridReading

    def __call__(self, shard: Shard) -> Shard | None:
        rows = taken_rows(shard.bins[-1], self.taken)
        if not len(rows):
            return None
        response = replace(shard.response.take(rows), part_of=self.scale)
        return Shard(self.reading.bins(shard.bins[:-1], rows), response, self.first_rows[shard.first_row])


Learned = tuple[FoldLists, tuple[Feature, ...]]


@dataclass(frozen=True)
class HeldOutQuery(FoldQuery[int, HeldOutLosses]):
    """What do the rows that each fold holds out say of its lists?"""

    learned: tuple[Learned, ...]
    weighing: Weighing

    def answer(self, part: Part, table: Table, response: Response) -> Answers[int, HeldOutLosses]:
        """The losses of each fold."""
        found = {}
        for fold, rows in self.folds.held_out(self.first_row(part), response):
            lists, features = self.learned[fold]
            seen = recode_table(table.take(rows), features)
            found[fold] = judge_fold(lists, seen, response.take(rows), self.weighing)
        return Answers(found)


def fit_folds_of_parts(
    parts: PartRows,
    plan: TuningPlan,
    options: EngineOptions,
    repetitions: Iterable[Repetition],
    whole: ShardTraining,
    n_trees: int,
) -> Iterator[Repeated]:
    """The folds of one repetition after the other, once all rows are in bins."""
    tuning = FoldTuning(FoldsOfParts(parts.named(), whole, plan.settings, options), plan)
    return (tuning.repeat(number, folds, n_trees) for number, folds in enumerate(repetitions))


@dataclass(frozen=True)
class FoldsOfParts:
    """Learns from each of some folds of rows in parts, in as few passes as the longest of them takes."""

    parts: PartRows  # whose columns have names by now
    whole: ShardTraining
    settings: Settings
    options: EngineOptions

    def learn(
        self,
        folds: Repetition,
        seeds: Sequence[int],
        learn: Callable[[ShardTraining, Settings], Answer],
        doing: tuple[str, str] = ("tuning", "fold"),
    ) -> list[Answer]:
        """What each fold makes of the rows that it learns from, in its own bins."""
        extents = fold_stats(self.parts, folds)
        scales = tuple(stats.scale_of_some() for stats in extents)
        schemes = self._schemes(folds, scales)
        learned: list[Answer] = []
        for first, end, grid in groups_on_grids(self.whole.binned.cuts, schemes):
            learners = []
            for fold in range(first, end):
                first_rows = _renumbered(self.parts.stats, extents[fold])
                reading = GridReading.of(grid, schemes[fold])
                rows = FoldRows(folds.taken(fold, first), scales[fold], first_rows, reading)
                settings = replace(self.settings, seed=seeds[fold])
                learners.append(partial(self._learn, rows, schemes[fold], settings, end - first, learn))
            learned += self._on_grid(GridFolds(folds, first, end), grid, learners, doing)
        return learned

    def _schemes(self, folds: Repetition, scales: tuple[Scale, ...]) -> list[BinningScheme]:
        """The cuts of every fold."""
        whole, settings, classes = self.whole.binned.cuts, self.settings, self.parts.labels
        labels = frozenset(i for i, own in enumerate(whole) if not own.column.is_numeric)
        search, limits = FoldSummaries(self.parts, folds, scales, labels, settings.continuous), limits_of(settings)
        every = []
        for found in search.find(self.options.tally_of_fold(folds.n_folds), self.whole.near, limits):
            # a fold without known values in a column has the kind of the others
            known = [own if own.known.rows else replace(own, kind=c.column.kind) for own, c in zip(found, whole)]
            every.append(in_order(known, settings, classes))
        if self.options.exact:
            every = search.zoom(every, limits)
        return [replace(scheme_of(own, settings, classes), ends=self._ends) for own in every]

    @property
    def _ends(self) -> dict[int, tuple[float, float]]:
        """The ranges of columns whose numbers matter: those of all rows, so that all folds have the same places."""
        return {i: (own.lower, own.upper) for i, own in self.whole.binned.grids.items()}

    def _on_grid(
        self,
        folds: GridFolds,
        grid: tuple[Cuts, ...],
        learners: Sequence[Callable[[ShardDataset], Answer]],
        doing: tuple[str, str],
    ) -> list[Answer]:
        """Put all rows into the bins of a grid, and let the folds learn from them."""
        parts = self.parts
        numbers = grids_of(self._ends, len(grid))
        encoder = Encoder(parts.read, self.whole.features, grid, parts.stats.first_rows, grids=numbers, beside=folds)
        shards = parts.rows.encode(encoder)
        try:
            steady, _ = ask_first(shards, parts.detector, nothing)
            progress = partial(show_rows, parts.stats.n_rows) if self.settings.verbose else None
            return run_lockstep(steady, learners, self.settings.n_threads, progress, doing)
        finally:
            shards.close()

    def _learn(
        self,
        rows: FoldRows,
        scheme: BinningScheme,
        settings: Settings,
        n_together: int,
        learn: Callable[[ShardTraining, Settings], Answer],
        shards: ShardDataset,
    ) -> Answer:
        """What a fold makes of its rows, by asking all shards."""
        own = MappedShards(shards, rows)
        if any(cuts.shares is None for cuts in scheme.cuts):  # near quantiles: only counting the rows can tell
            scheme = scheme.with_sizes(own.map_reduce(SizeQuery([c.n_bins for c in scheme.cuts])).sizes)
        response = replace(self.parts.read.reading.no_rows(), part_of=rows.scale)
        others = {"idle": {}, "quantile_error": 0.0, "sum_bytes": self.options.sum_bytes // n_together}
        whole = {"named": self.whole.named, "target": self.whole.target}
        return learn(training_in_bins(scheme, own, response, settings, **whole, **others), settings)


@dataclass(frozen=True)
class FoldTuning:
    """Fits the folds of rows in parts."""

    folds: FoldsOfParts
    plan: TuningPlan

    def repeat(self, number: int, folds: Repetition, n_trees: int) -> Repeated:
        """All folds of a repetition."""
        plan, seed = self.plan, self.plan.settings.seed

        def learn(training: ShardTraining, settings: Settings) -> Learned:
            """Forest, list, weights and corrections of a fold."""
            required = with_required(training, plan.weighing.family.link, strict=False)
            recipe = settings.recipe(required.n_rows)
            lists = learn_fold(required, replace(plan, settings=settings), recipe, n_trees)
            return lists.bare(), training.features

        seeds = [derive(seed, number, fold) for fold in range(folds.n_folds)]
        return folds, self._judged(folds, self.folds.learn(folds, seeds, learn))

    def _judged(self, folds: Repetition, learned: Sequence[Learned]) -> list[FoldResult]:
        """Ask held-out rows, where they lie, what they say of the lists."""
        parts = self.folds.parts
        query = HeldOutQuery(parts.read, folds, parts.stats.first_rows, tuple(learned), self.plan.weighing)
        said = parts.ask(query).by_key
        return [fold_result(lists, features, said[fold]) for fold, (lists, features) in enumerate(learned)]


def _renumbered(whole: ResponseStats, fold: ResponseStats) -> dict[int, int]:
    """By the number of the first row of each part, its number among the rows that a fold learns from."""
    own = fold.first_rows
    return {first: own[part] for part, first in whole.first_rows.items()}


# ----------------------------------------------------------------------------------------------------------------- grid

# The cuts of several folds in, one grid of bins for all of them out, and how each fold reads its own bins off it.
#
# The cuts of a column differ a little from fold to fold. The grid has them all, so every row is put into bins once.
# What a fold makes of a bin of the grid is found by asking it of one value in that bin, in the way that it is asked of
# rows.


MAX_BINS = 256
ByteTable = NDArray[np.uint8]  # [256]: what becomes of each bin of a column of the grid


def grid_of(whole: Sequence[Cuts], folds: Sequence[BinningScheme]) -> tuple[Cuts, ...] | None:
    """The cuts of some folds and the levels of the whole table; None where a byte cannot number the bins."""
    grid = tuple(_column_grid(own, _thresholds(i, folds)) for i, own in enumerate(whole))
    return grid if all(cuts.n_bins <= MAX_BINS for cuts in grid) else None


def _thresholds(column: int, folds: Sequence[BinningScheme]) -> NDArray[np.float64]:
    """Where some folds cut a column, and where rules do that are given."""
    given = (condition for fold in folds for rule in fold.given for condition in rule.conditions)
    ends = [end for c in given if c.index == column for end in (c.lower, c.upper) if end is not None]
    return np.unique(np.concatenate([*(fold.cuts[column].thresholds for fold in folds), np.array(ends, np.float64)]))


def _column_grid(whole: Cuts, thresholds: NDArray[np.float64]) -> Cuts:
    column = whole.column
    n_cuts = len(thresholds) if column.is_numeric else max(0, len(column.levels) - 1)
    identities = tuple(("grid", k) for k in range(n_cuts))
    return Cuts(column, identities, thresholds, column.levels, has_missing=whole.has_missing)


def _one_of_each(grid: Cuts) -> Column:
    """A value in each bin of a column of the grid."""
    column, missing = grid.column, [np.nan if grid.column.is_numeric else MISSING] * grid.has_missing
    if column.is_numeric:
        return replace(column, values=np.array([-np.inf, *grid.thresholds, *missing]))
    codes = [*range(len(grid.levels))] or [MISSING]
    return replace(column, values=np.array([*codes, *missing], dtype=np.int16))


@dataclass(frozen=True)
class GridReading:
    """Bins of the grid in, the bins of a fold out."""

    columns: NDArray[np.uint8]  # [column, 256]: what it makes of each bin of a column of the grid
    given: tuple[tuple[tuple[int, ByteTable], ...], ...]  # of each given rule: column, 1 where a condition holds

    @classmethod
    def of(cls, grid: Sequence[Cuts], scheme: BinningScheme) -> GridReading:
        """How a fold with these cuts reads the grid."""
        features = features_of(scheme.cuts)
        one_of_each = [as_feature(_one_of_each(fine), feature) for fine, feature in zip(grid, features)]
        tables = np.zeros((len(one_of_each), MAX_BINS), dtype=np.uint8)
        for own, column, table in zip(scheme.cuts, one_of_each, tables):
            own.encode(column, table[: len(column.values)])
        given = []
        for rule in scheme.given:
            holds = [(c.index, c.holds(one_of_each[c.index])) for c in rule.conditions]
            given.append(tuple((i, np.resize(own.astype(np.uint8), MAX_BINS)) for i, own in holds))
        return cls(tables, tuple(given))

    def bins(self, grid: NDArray[np.uint8], rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """The bins of some rows: those of columns, then 1 where each given rule holds, then the places of numbers."""
        n_columns, n_given = len(self.columns), len(self.given)
        bins = np.empty((len(grid) + n_given, len(rows)), dtype=np.uint8)
        _core.recode(grid[:n_columns], rows, self.columns, bins)
        bins[n_columns : n_columns + n_given] = 1
        for conditions, out in zip(self.given, bins[n_columns:]):
            for i, table in conditions:
                out &= table[grid[i, rows]]
        bins[n_columns + n_given :] = grid[n_columns:, rows]
        return bins


@dataclass(frozen=True)
class GridFolds:
    """Which of the folds on a grid holds out each row of a part, or learns from it, in a byte."""

    folds: Repetition
    first: int
    end: int

    def __call__(self, first_row: int, response: Response) -> NDArray[np.uint8]:
        return self.folds.marks(self.folds.of_rows(first_row, response), self.first, self.end)


def taken_rows(marks: NDArray[np.uint8], taken: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The rows that a fold on a grid learns from, by how often it takes those of each mark."""
    often = taken[marks]
    rows = np.flatnonzero(often)
    return np.repeat(rows, often[rows]) if taken.max() > 1 else rows


def groups_on_grids(whole: Sequence[Cuts], folds: Sequence[BinningScheme]) -> list[tuple[int, int, tuple[Cuts, ...]]]:
    """Folds in groups, first and end, each as large as one grid can serve: mostly all of them."""
    groups, first = [], 0
    while first < len(folds):
        end = min(len(folds), first + BEFORE)
        while (grid := grid_of(whole, folds[first:end])) is None:
            if end == first + 1:
                raise ParameterError(
                    f"{Parameter('n_bins')} and the cuts of {Parameter('required_rules')} make more than 256 bins: "
                    f"set a smaller {Parameter('n_bins')}."
                )
            end = first + (end - first + 1) // 2
        groups.append((first, end, grid))
        first = end
    return groups

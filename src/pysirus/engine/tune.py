"""Rows in parts and folds in, what each fold learned and what its held-out rows say of it out: as in memory.

For each repetition the parts are read as often as for one fit: response, columns, neighbourhoods of quantiles, bins;
and once more for the rows that are held out. The forests of all folds grow together, level by level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pysirus._bins.cuts import Cuts, grids_of
from pysirus._data.table import Feature, recode_table
from pysirus._learn.constraints import with_required
from pysirus._learn.grow import candidates_of, features_of
from pysirus._learn.tuning.folds import (
    FoldLists,
    FoldResult,
    HeldOutLosses,
    Repeated,
    TuningPlan,
    derive,
    fold_result,
    judge_fold,
    learn_fold,
)
from pysirus._learn.weighing.base import Weighing
from pysirus._runtime.console import show_rows
from pysirus._runtime.sums import Scale
from pysirus.engine.fingerprints import Fingerprinted
from pysirus.engine.folds import Answers, FoldQuery, FoldSummaries, Repetition, fold_stats
from pysirus.engine.grid import GridFolds, GridReading, groups_on_grids, learned_rows
from pysirus.engine.lockstep import run_lockstep
from pysirus.engine.parts import EngineOptions, Part, ShardDataset
from pysirus.engine.read import PartRows, ResponseStats
from pysirus.engine.shard import Shard, SizeQuery
from pysirus.engine.train import BinningScheme, Encoder, ShardTraining, ask_lines, in_order, limits_of, scheme_of
from pysirus.engine.views import MappedShards, ask_first


@dataclass(frozen=True)
class FoldRows:
    """A view: of a shard on the grid the rows that a fold learns from, in its own bins, numbered among themselves."""

    fold: int  # among those on the grid
    forward: bool
    scale: Scale  # of these rows
    first_rows: Mapping[int, int]  # by number of the first row of the shard
    reading: GridReading

    def __call__(self, shard: Shard) -> Shard | None:
        rows = learned_rows(shard.bins[-1], self.fold, self.forward)
        if not len(rows):
            return None
        response = replace(shard.response.take(rows), part_of=self.scale)
        return Shard(self.reading.bins(shard.bins[:-1], rows), response, self.first_rows[shard.first_row])


Learned = tuple[FoldLists, tuple[Feature, ...]]


@dataclass(frozen=True)
class HeldOutQuery(FoldQuery):
    """What do the rows that each fold holds out say of its lists?"""

    learned: tuple[Learned, ...]
    weighing: Weighing

    def __call__(self, part: Part) -> Fingerprinted[Answers[int, HeldOutLosses]] | None:
        table, response, fingerprints = self.read(part)
        if not response.n_rows:
            return None
        found = {}
        for fold, rows in self.folds.held_out(self.first_row(part), response):
            lists, features = self.learned[fold]
            seen = recode_table(table.take(rows), features)
            found[fold] = judge_fold(lists, seen, response.take(rows), self.weighing)
        return Fingerprinted(Answers(found), fingerprints)


def fit_folds_of_parts(
    parts: PartRows,
    plan: TuningPlan,
    options: EngineOptions,
    repetitions: Iterable[Repetition],
    whole: ShardTraining,
    n_trees: int,
) -> Iterator[Repeated]:
    """The folds of one repetition after the other, once all rows are in bins."""
    tuning = FoldTuning(parts.named(), whole, plan, options)
    return (tuning.repeat(number, folds, n_trees) for number, folds in enumerate(repetitions))


@dataclass(frozen=True)
class FoldTuning:
    """Fits the folds of rows in parts."""

    parts: PartRows  # whose columns have names by now
    whole: ShardTraining
    plan: TuningPlan
    options: EngineOptions

    def repeat(self, number: int, folds: Repetition, n_trees: int) -> Repeated:
        """All folds of a repetition."""
        extents = fold_stats(self.parts, folds)
        scales = tuple(stats.scale_of_some() for stats in extents)
        schemes = self._schemes(folds, scales)
        learned: list[Learned] = []
        for first, end, grid in groups_on_grids(self.whole.binned.cuts, schemes):
            learners = []
            for fold in range(first, end):
                first_rows = _renumbered(self.parts.stats, extents[fold])
                rows = FoldRows(
                    fold - first, folds.forward, scales[fold], first_rows, GridReading.of(grid, schemes[fold])
                )
                seed = derive(self.plan.settings.seed, number, fold)
                learners.append(partial(self._learn, rows, schemes[fold], seed, n_trees, end - first))
            learned += self._on_grid(GridFolds(folds, first, end), grid, learners)
        return folds, self._judged(folds, learned)

    def _schemes(self, folds: Repetition, scales: tuple[Scale, ...]) -> list[BinningScheme]:
        """The cuts of every fold."""
        whole, settings, classes = self.whole.binned.cuts, self.plan.settings, self.parts.labels
        labels = frozenset(i for i, own in enumerate(whole) if not own.column.is_numeric)
        search, limits = FoldSummaries(self.parts, folds, scales, labels), limits_of(settings)
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
        self, folds: GridFolds, grid: tuple[Cuts, ...], learners: Sequence[Callable[[ShardDataset], Learned]]
    ) -> list[Learned]:
        """Put all rows into the bins of a grid, and let the folds learn from them."""
        parts = self.parts
        numbers = grids_of(self._ends, len(grid))
        encoder = Encoder(parts.read, self.whole.features, grid, parts.stats.first_rows, grids=numbers, beside=folds)
        shards = parts.rows.encode(encoder)
        try:
            steady, _ = ask_first(shards, parts.detector, _nothing)
            progress = partial(show_rows, parts.stats.n_rows) if self.plan.settings.verbose else None
            return run_lockstep(steady, learners, self.plan.settings.n_threads, progress)
        finally:
            shards.close()

    def _learn(
        self, rows: FoldRows, scheme: BinningScheme, seed: int, n_trees: int, n_together: int, shards: ShardDataset
    ) -> Learned:
        """Forest, list, weights and corrections of a fold."""
        plan, own = self.plan, MappedShards(shards, rows)
        if any(cuts.shares is None for cuts in scheme.cuts):  # near quantiles: only counting the rows can tell
            scheme = scheme.with_sizes(own.map_reduce(SizeQuery([c.n_bins for c in scheme.cuts])).sizes)
        settings = replace(plan.settings, seed=seed)
        training = ShardTraining(
            scheme.binned,
            replace(self.parts.read.reading.no_rows(), part_of=rows.scale),
            settings.seed,
            features_of(scheme.cuts),
            self.whole.named,
            self.whole.target,
            shards=own,
            idle={},
            quantile_error=0.0,
            sum_bytes=self.options.sum_bytes // n_together,
            constraints=scheme.constraints,
            required=scheme.required,
            lines=ask_lines(own, scheme),
            may_slope=candidates_of(scheme.binned, settings),
        )
        required = with_required(training, plan.weighing.family.link, strict=False)
        recipe = settings.recipe(required.n_rows)
        return learn_fold(required, replace(plan, settings=settings), recipe, n_trees).bare(), training.features

    def _judged(self, folds: Repetition, learned: Sequence[Learned]) -> list[FoldResult]:
        """Ask held-out rows, where they lie, what they say of the lists."""
        parts = self.parts
        query = HeldOutQuery(parts.read, folds, parts.stats.first_rows, tuple(learned), self.plan.weighing)
        said = parts.detector(parts.rows.map_reduce(query)).by_key
        return [fold_result(lists, features, said[fold]) for fold, (lists, features) in enumerate(learned)]


def _nothing(shard: Shard) -> int:
    return 0


def _renumbered(whole: ResponseStats, fold: ResponseStats) -> dict[int, int]:
    """By the number of the first row of each part, its number among the rows that a fold learns from."""
    own = fold.first_rows
    return {first: own[part] for part, first in whole.first_rows.items()}

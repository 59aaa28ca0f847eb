"""Rows in parts in, training rows in bins out: the response, the columns, then every row into its bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pysirus._bins.cuts import Binned, Cuts, with_sizes
from pysirus._constraints.given import read_given, rows_of_given
from pysirus._data.column import DataError
from pysirus._data.table import Feature, Table, check_columns, read_table, recode_table
from pysirus._device.choose import device_forest
from pysirus._forest.forest import GrowingForest, Recipe
from pysirus._kind.kind import Kind
from pysirus._response.response import Response
from pysirus._rules.rule import Rule
from pysirus._training.idle import name_idle
from pysirus._training.settings import Settings
from pysirus._training.training import Training, features_of
from pysirus._weights.likelihood import Patterns
from pysirus._weights.moments import MomentSums
from pysirus.engine.columns import (
    ZoomAnswer,
    ZoomPlan,
    cuts_of_columns,
    merge_summaries,
    needs_zoom,
    quantile_error,
    refine,
    summarise_columns,
    zoom_columns,
)
from pysirus.engine.device import in_shards
from pysirus.engine.forest import ShardForest
from pysirus.engine.ids import warn_of_ids
from pysirus.engine.marks import Marked, Marks, changed, marks_of
from pysirus.engine.options import EngineOptions
from pysirus.engine.parts import Part, RowHolder, ShardHolder
from pysirus.engine.response import Reading, naming, read_response
from pysirus.engine.shard import RuleMoments, RulePatterns, Shard, SizeQuestion
from pysirus.engine.steady import SteadyShards, WithMarks
from pysirus.engine.summary import ColumnSummary, order_summaries


@dataclass(frozen=True)
class ShardTraining(Training):
    """Training rows in bins, in several places."""

    shards: ShardHolder
    idle: dict[str, str]
    quantile_error: float
    sum_bytes: int

    @property
    def is_constant(self) -> bool:
        """Whether every row answers the same."""
        scale = self.response.scale
        return scale.low == scale.high

    @property
    def idle_columns(self) -> dict[str, str]:
        """Columns that add nothing to the forest, and why."""
        return self.idle

    @property
    def facts(self) -> dict[str, Any]:
        """What a model remembers of its training; how far from the true quantiles its cuts may be, if they are."""
        return {**super().facts, **({"quantile_error": self.quantile_error} if self.quantile_error else {})}

    def forest(self, recipe: Recipe, first_tree: int = 0) -> GrowingForest:
        """A forest on these rows, not yet grown, whose trees are numbered from ``first_tree`` on."""
        recipe = self.within(recipe)
        if recipe.device == "cpu":
            return ShardForest(self.shards, self.binned, self.response, recipe, self.sum_bytes, first_tree)
        source = in_shards(self.shards, self.binned, self.response)
        return device_forest(self.binned, self.response, recipe, first_tree, source, self.sum_bytes)

    def moment_sums(self, rules: Sequence[Rule]) -> MomentSums:
        """What outputs and weights of rules are computed from, as exact integers."""
        return self.shards.ask(RuleMoments(rules, self.binned, self.seed))

    def patterns(self, rules: Sequence[Rule]) -> Patterns:
        """Which rules hold together, and with which response."""
        return self.shards.ask(RulePatterns(rules, self.binned, self.seed))


# ---------------------------------------------------------------------------------------------------------- columns


@dataclass(frozen=True)
class PartReader:
    """A part in, its columns and response out, without rows of weight zero."""

    reading: Reading
    categorical: Any
    names: tuple[str, ...] | None = None  # of the columns, once they are known

    def __call__(self, part: Part) -> tuple[Table, Response, Marks]:
        with naming(part):
            part = part.weighing()
            table, response = read_table(part.X, categorical=self.categorical, part=True), self.reading(part)
            found = tuple(column.name for column in table.columns)
        if self.names is not None and found != self.names:
            raise changed(part.name, f"its columns are {', '.join(found[:8])}", self.reading.advice)
        return table, response, marks_of(part, response, table.columns)


@dataclass(frozen=True)
class Columns:
    """What the columns of some rows are like."""

    summaries: tuple[ColumnSummary, ...]
    named: bool
    part: str  # one that is so

    def __add__(self, other: Columns) -> Columns:
        try:
            return replace(self, summaries=merge_summaries(self.summaries, other.summaries))
        except DataError as error:
            raise DataError(f"{self.part} and {other.part} do not go together: {error}") from error


@dataclass(frozen=True)
class ColumnQuestion:
    """What are the columns like?"""

    read: PartReader
    budget: int

    def __call__(self, part: Part) -> Marked[Columns] | None:
        table, response, marks = self.read(part)
        if response.n_rows == 0:
            return None
        with naming(part):
            summaries = summarise_columns(table, response, budget=self.budget)
        return Marked(Columns(summaries, table.names is not None, part.name), marks)


@dataclass(frozen=True)
class ZoomQuestion:
    """Where exactly between two values are these quantiles?"""

    read: PartReader
    plan: ZoomPlan

    def __call__(self, part: Part) -> Marked[ZoomAnswer] | None:
        table, response, marks = self.read(part)
        return Marked(zoom_columns(table, response, self.plan), marks) if response.n_rows else None


@dataclass(frozen=True)
class Encoder:
    """In which bins are the rows?"""

    read: PartReader
    features: tuple[Feature, ...]
    cuts: tuple[Cuts, ...]
    first_rows: dict[int, int]
    given: tuple[Rule, ...] = ()  # rules of which is written where they hold

    def __call__(self, part: Part) -> Shard:
        table, response, marks = self.read(part)
        if part.number not in self.first_rows:
            raise changed(part.name, "it had no rows in an earlier pass", self.read.reading.advice)
        with naming(part):
            table = recode_table(table, self.features)
        bins = np.empty((len(self.cuts) + len(self.given), table.n_rows), dtype=np.uint8)
        for cuts, column, out in zip(self.cuts, table.columns, bins):
            cuts.encode(replace(column, values=np.ascontiguousarray(column.values)), out)
        for rule, out in zip(self.given, bins[len(self.cuts) :]):
            out[:] = rule.holds(table)
        return Shard(bins, response, self.first_rows[part.number], marks)


# --------------------------------------------------------------------------------------------------------- training


def train(
    rows: RowHolder, kind: Kind, settings: Settings, options: EngineOptions, *, categorical: Any, target: str
) -> ShardTraining:
    """Find the cuts of every column, and put every row into its bins."""
    reading, extent, watch = read_response(rows, kind)
    read = PartReader(reading, categorical)
    columns = watch(rows.ask(ColumnQuestion(read, options.tally)))
    summaries = columns.summaries
    check_columns(summaries)
    warn_of_ids(summaries)
    settings.check_columns(len(summaries))
    constraints = settings.known.read(summaries, len(reading.no_rows().labels or ()))
    summaries = order_summaries(summaries, constraints.directions)
    watch.names = tuple(summary.name for summary in summaries)
    read = replace(read, names=watch.names)
    limits = {"n_bins": settings.n_bins, "discrete_limit": settings.discrete_limit}
    while options.exact and (plan := needs_zoom(summaries, **limits)) is not None:
        summaries = refine(summaries, plan, watch(rows.ask(ZoomQuestion(read, plan))))
    cuts = cuts_of_columns(summaries, **limits)
    features = features_of(cuts)
    constraints, required = read_given(settings.known, constraints, cuts)
    given = tuple(rows_of_given(required))
    shards = rows.encode(Encoder(read, features, cuts, extent.first_rows, given))
    try:
        marked = shards.ask(WithMarks(SizeQuestion([c.n_bins for c in cuts])))
        sizes = watch(marked)
        cuts = tuple(with_sizes(own, size) for own, size in zip(cuts, sizes.sizes))
        return ShardTraining(
            Binned(np.empty((len(cuts), 0), dtype=np.uint8), cuts, {r.key: len(cuts) + i for i, r in enumerate(given)}),
            reading.no_rows(),
            settings.seed,
            features,
            columns.named,
            target,
            shards=SteadyShards(shards, marked.marks, watch.names, watch.advice),
            idle=name_idle(cuts, sizes.digests, lambda i, k: True),
            quantile_error=quantile_error(summaries, **limits),
            sum_bytes=options.sum_bytes,
            constraints=constraints,
            required=required,
        )
    except BaseException:
        shards.close()
        raise

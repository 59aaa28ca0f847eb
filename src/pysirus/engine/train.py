"""Rows in parts in, training rows in bins out: the response, the columns, then every row into its bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned, Cuts, with_sizes
from pysirus._data.column import DataError
from pysirus._data.table import Feature, Table, check_columns, read_table, recode_table
from pysirus._forest.forest import GrowingForest, Recipe
from pysirus._response.response import Response, Scale
from pysirus._rules.rule import Rule
from pysirus._weights.weights import Moments
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
from pysirus.engine.forest import ShardForest
from pysirus.engine.parts import Part, RowHolder, ShardHolder
from pysirus.engine.response import Extent, ExtentQuestion, LabelQuestion, Reading, naming
from pysirus.engine.shard import RuleMoments, Shard, SizeQuestion
from pysirus.engine.summary import ColumnSummary
from pysirus.estimators.sirus import TrainingBase, name_idle

SUM_BYTES = 1 << 28  # sums of nodes held at once
TALLY = 1 << 16  # distinct values of a column held at once ...
LEAST_TALLY = 1 << 10  # ... and of each of very many columns


@dataclass(frozen=True)
class ShardTraining(TrainingBase):
    """Training rows in bins, in several places."""

    shards: ShardHolder
    response: Response  # of no row: classes and scale
    idle: dict[str, str]
    quantile_error: float
    sum_bytes: int = SUM_BYTES

    @property
    def _scale(self) -> Scale:
        return self.response.scale

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return self._scale.n_rows

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels, for classes."""
        return self.response.classes

    @property
    def is_constant(self) -> bool:
        """Whether every row answers the same."""
        return self._scale.low == self._scale.high

    @property
    def idle_columns(self) -> dict[str, str]:
        """Columns that add nothing to the forest, and why."""
        return self.idle

    @property
    def facts(self) -> dict[str, Any]:
        """What a model remembers of its training; how far from the true quantiles its cuts may be, if they are."""
        return {**super().facts, **({"quantile_error": self.quantile_error} if self.quantile_error else {})}

    def forest(self, recipe: Recipe) -> GrowingForest:
        """A forest on these rows, not yet grown."""
        return ShardForest(self.shards, self.binned, self.response, recipe, self.sum_bytes)

    def moments(self, rules: Sequence[Rule]) -> Moments:
        """What outputs and weights of rules are computed from."""
        return self.shards.ask(RuleMoments(rules, self.binned, self.seed)).restore(self.response.moment_scale())


# ---------------------------------------------------------------------------------------------------------- columns


@dataclass(frozen=True)
class PartReader:
    """A part in, its columns and response out, without rows that weigh nothing."""

    reading: Reading
    categorical: Any

    def __call__(self, part: Part) -> tuple[Table, Response]:
        with naming(part):
            part = part.weighing()
            return read_table(part.X, categorical=self.categorical, part=True), self.reading(part)


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

    def __call__(self, part: Part) -> Columns | None:
        table, response = self.read(part)
        if response.n_rows == 0:
            return None
        with naming(part):
            summaries = summarise_columns(table, response, budget=self.budget)
        return Columns(summaries, table.names is not None, part.name)


@dataclass(frozen=True)
class ZoomQuestion:
    """Where exactly between two values are these quantiles?"""

    read: PartReader
    plan: ZoomPlan

    def __call__(self, part: Part) -> ZoomAnswer | None:
        table, response = self.read(part)
        return zoom_columns(table, response, self.plan) if response.n_rows else None


@dataclass(frozen=True)
class Encoder:
    """In which bins are the rows?"""

    read: PartReader
    features: tuple[Feature, ...]
    cuts: tuple[Cuts, ...]
    first_rows: dict[int, int]

    def __call__(self, part: Part) -> Shard:
        table, response = self.read(part)
        table = recode_table(table, self.features)
        bins = np.empty((len(self.cuts), table.n_rows), dtype=np.uint8)
        for cuts, column, out in zip(self.cuts, table.columns, bins):
            cuts.encode(replace(column, values=np.ascontiguousarray(column.values)), out)
        return Shard(bins, response, self.first_rows[part.number])


# --------------------------------------------------------------------------------------------------------- training


@dataclass(frozen=True)
class Wishes:
    """How rows in parts are trained on, beside the estimator's own parameters."""

    exact: bool = True  # as many passes over the columns as their true quantiles take
    tally: int = TALLY
    sum_bytes: int = SUM_BYTES


def tally_of_bytes(n_bytes: int, n_columns: int) -> int:
    """How many values of a column a tally may hold where those of all columns are to take so many bytes, 24 a value."""
    return min(TALLY, max(LEAST_TALLY, n_bytes // (24 * n_columns)))


def read_response(
    rows: RowHolder, classes: bool, factors: Callable[[NDArray[Any], Sequence[float]], NDArray[np.float64] | None]
) -> tuple[Reading, Extent]:
    """How the responses are to be read, and what they are like."""
    reading = Reading()
    if classes:
        labels = rows.ask_response(LabelQuestion())
        totals = [float(weight) for weight in labels.weights]
        reading = Reading(labels.classes, factors(labels.classes, totals))
    extent = rows.ask_response(ExtentQuestion(reading))
    return replace(reading, weighted=extent.weighted, scale=extent.scale()), extent


def train(
    rows: RowHolder,
    reading: Reading,
    extent: Extent,
    *,
    categorical: Any,
    n_bins: int,
    discrete_limit: int,
    seed: int,
    target: str,
    wishes: Wishes,
) -> ShardTraining:
    """Find the cuts of every column, and put every row into its bins."""
    read = PartReader(reading, categorical)
    columns = rows.ask(ColumnQuestion(read, wishes.tally))
    summaries = columns.summaries
    check_columns(summaries)
    while wishes.exact and (plan := needs_zoom(summaries, n_bins, discrete_limit)) is not None:
        summaries = refine(summaries, plan, rows.ask(ZoomQuestion(read, plan)))
    cuts = cuts_of_columns(summaries, n_bins=n_bins, discrete_limit=discrete_limit)
    features = tuple(Feature(c.column.name, c.column.kind, c.column.levels) for c in cuts)
    shards = rows.encode(Encoder(read, features, cuts, extent.first_rows))
    try:
        sizes = shards.ask(SizeQuestion([c.n_bins for c in cuts]))
        cuts = tuple(with_sizes(own, size) for own, size in zip(cuts, sizes.sizes))
        no_rows = np.zeros(0)
        response = Response(
            None if reading.classes is not None else no_rows,
            None if reading.classes is None else no_rows.astype(np.uint8),
            1 if reading.classes is None else len(reading.classes),
            no_rows if reading.weighted else None,
            reading.classes,
            reading.scale,
        )
        return ShardTraining(
            Binned(np.empty((len(cuts), 0), dtype=np.uint8), cuts),
            seed,
            features,
            columns.named,
            target,
            shards=shards,
            response=response,
            idle=name_idle(cuts, sizes.marks, lambda i, k: True),
            quantile_error=quantile_error(summaries, n_bins=n_bins, discrete_limit=discrete_limit),
            sum_bytes=wishes.sum_bytes,
        )
    except BaseException:
        shards.close()
        raise

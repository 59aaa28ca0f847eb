"""Rows in parts in, training rows in bins out: the response, the columns, then every row into its bins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned, Cuts, Grids, NumberGrid, as_compared, grids_of, with_sizes
from pysirus._bins.numeric import ColumnLine, lines_of
from pysirus._data.column import DataError
from pysirus._data.frame import say_index, warn_of_ids
from pysirus._data.table import Feature, Table, TooManyLevelsError, check_columns, recode_table
from pysirus._families.responses import Response
from pysirus._forest.forest import GrowingForest, Recipe
from pysirus._learn.constraints import read_given, rows_of_given
from pysirus._learn.grow import Settings, candidates_of, features_of, sloped_columns
from pysirus._learn.training import Answer, Residual, RowQuery, Training, name_idle
from pysirus._runtime.console import check_cancelled
from pysirus._terms.allowed import Constraints
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.term import Term
from pysirus._weights.likelihood import Patterns
from pysirus._weights.moments import MomentSums
from pysirus.engine.columns import (
    ZoomAnswer,
    ZoomPlan,
    cuts_of_columns,
    merge_summaries,
    needs_zoom,
    neighbourhoods,
    quantile_error,
    refine,
    summarise_columns,
    why_id,
    zoom_columns,
)
from pysirus.engine.parts import EngineOptions, Part, ShardDataset
from pysirus.engine.read import PartQuery, PartReader, PartRows, naming
from pysirus.engine.shard import (
    LineQuery,
    MappedShards,
    OnResiduals,
    ResidualExtremes,
    RuleMoments,
    RulePatterns,
    Shard,
    ShardForest,
    SizeQuery,
    ask_first,
    in_shards,
)
from pysirus.engine.summary import ColumnSummary, order_summaries


@dataclass(frozen=True)
class ShardTraining(Training):
    """Training rows in bins, in several places."""

    shards: ShardDataset
    idle: dict[str, str]
    quantile_error: float
    sum_bytes: int
    ask_table: Callable[[RowQuery[Any]], Any] | None = field(default=None, kw_only=True)  # of all rows, as they came
    near: ZoomPlan = field(default=ZoomPlan(()), kw_only=True)  # where the quantiles of most of the rows are

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
        from pysirus._forest.gpu import device_forest  # imports JAX

        return device_forest(self.binned, self.response, recipe, first_tree, source, self.sum_bytes)

    def moment_sums(self, rules: Sequence[Term]) -> MomentSums:
        """What outputs and weights of rules are computed from, as exact integers."""
        return self.shards.map_reduce(RuleMoments(rules, self.binned, self.seed))

    def patterns(self, rules: Sequence[Term]) -> Patterns:
        """Which rules hold together, and with which response."""
        return self.shards.map_reduce(RulePatterns(rules, self.binned, self.seed))

    def on_residuals(self, residual: Residual) -> ShardTraining | None:
        """The same rows with what a list leaves unexplained as their response, computed whenever it is asked for."""
        rounding = residual.rounding_for(self.shards.map_reduce(ResidualExtremes(residual, self.binned)))
        if rounding is None:
            return None
        view = OnResiduals(residual, self.binned, rounding, rounding.scale(self.response.scale))
        response = residual.of_rows(self.binned, self.response, rounding, view.scale)
        return replace(self, response=response, shards=MappedShards(self.shards, view))

    def ask_rows(self, question: RowQuery[Answer]) -> Answer:
        """Ask the rows as they came: one more pass over them."""
        assert self.ask_table is not None
        found: Answer = self.ask_table(question)
        return found

    def close(self) -> None:
        """Let go of the rows in bins."""
        self.shards.close()


# ---------------------------------------------------------------------------------------------------------- columns


@dataclass(frozen=True)
class Columns:
    """What the columns of some rows are like."""

    summaries: tuple[ColumnSummary, ...]
    named: bool
    part: str  # one that is so
    index: tuple[str, ...] = ()  # columns that were taken as a row index

    def __add__(self, other: Columns) -> Columns:
        try:
            return replace(self, summaries=merge_summaries(self.summaries, other.summaries))
        except TooManyLevelsError:  # in all parts together
            raise
        except DataError as error:
            raise DataError(f"{self.part} and {other.part} do not go together: {error.message}") from error


@dataclass(frozen=True)
class ColumnQuery(PartQuery[Columns]):
    """What are the columns like?"""

    budget: int

    def answer(self, part: Part, table: Table, response: Response) -> Columns:
        """A summary of each."""
        with naming(part):
            summaries = summarise_columns(table, response, budget=self.budget)
        return Columns(summaries, table.names is not None, part.name, table.index)


@dataclass(frozen=True)
class ZoomQuery(PartQuery[ZoomAnswer]):
    """Where exactly between two values are these quantiles?"""

    plan: ZoomPlan

    def answer(self, part: Part, table: Table, response: Response) -> ZoomAnswer:
        """The neighbourhood of each."""
        return zoom_columns(table, response, self.plan)


@dataclass(frozen=True)
class TableQuery(PartQuery[Answer]):
    """What does a question find in the columns as a model knows them?"""

    features: tuple[Feature, ...]
    first_rows: dict[int, int]
    question: RowQuery[Answer]

    def answer(self, part: Part, table: Table, response: Response) -> Answer:
        """What the question finds in a part."""
        with naming(part):
            table = recode_table(table, self.features)
        return self.question(table, response, self.read.first_row(part, self.first_rows))


@dataclass(frozen=True)
class Encoder:
    """In which bins are the rows?"""

    read: PartReader
    features: tuple[Feature, ...]
    cuts: tuple[Cuts, ...]
    first_rows: dict[int, int]
    given: tuple[Term, ...] = ()  # rules of which is written where they hold
    grids: Grids = field(default_factory=dict)  # of columns whose numbers are written too, in rows after these
    beside: Callable[[int, Response], NDArray[np.uint8]] | None = None  # a byte more for each row, the last

    def __call__(self, part: Part) -> Shard:
        table, response, fingerprints = self.read(part)
        first_row = self.read.first_row(part, self.first_rows)
        with naming(part):
            table = recode_table(table, self.features)
        n_bytes = len(self.cuts) + len(self.given) + 2 * len(self.grids) + (self.beside is not None)
        bins = np.empty((n_bytes, table.n_rows), dtype=np.uint8)
        for cuts, column, out in zip(self.cuts, table.columns, bins):
            check_cancelled()
            cuts.encode(replace(column, values=np.ascontiguousarray(column.values)), out)
        for rule, out in zip(self.given, bins[len(self.cuts) :]):
            out[:] = rule.holds(table)
        for i, grid in self.grids.items():
            check_cancelled()
            grid.write(as_compared(table.columns[i].values), bins)
        if self.beside is not None:
            bins[-1] = self.beside(first_row, response)
        return Shard(bins, response, first_row, fingerprints)


# --------------------------------------------------------------------------------------------------------- training


@dataclass(frozen=True)
class BinningScheme:
    """The cuts of training rows, and what is known before them, in these cuts."""

    cuts: tuple[Cuts, ...]
    constraints: Constraints | None
    required: tuple[FittedTerm, ...]
    ends: Mapping[int, tuple[float, float]] = field(default_factory=dict)  # of columns whose numbers matter

    @property
    def grids(self) -> dict[int, NumberGrid]:
        """The grids of these columns, in rows after all others."""
        return grids_of(self.ends, len(self.cuts) + len(self.given))

    @property
    def given(self) -> tuple[Term, ...]:
        """Required rules and each of their conditions: where they hold is kept beside the bins."""
        return tuple(rows_of_given(self.required))

    @property
    def binned(self) -> Binned:
        """The bins, without rows."""
        places = {rule.key: len(self.cuts) + i for i, rule in enumerate(self.given)}
        grids = self.grids
        n_bytes = len(self.cuts) + len(places) + 2 * len(grids)
        return Binned(np.empty((n_bytes, 0), dtype=np.uint8), self.cuts, places, grids)

    def with_sizes(self, sizes: Sequence[NDArray[np.int64]]) -> BinningScheme:
        """With the weight in each bin."""
        return replace(self, cuts=tuple(with_sizes(own, size) for own, size in zip(self.cuts, sizes)))


Labels = tuple[Any, ...] | None  # of classes


def limits_of(settings: Settings) -> dict[str, int]:
    """How many bins a column has."""
    return {"n_bins": settings.n_bins, "discrete_limit": settings.discrete_limit}


def in_order(summaries: Sequence[ColumnSummary], settings: Settings, labels: Labels) -> tuple[ColumnSummary, ...]:
    """The columns, those with a direction in their whole order."""
    constraints = settings.known.read(summaries, labels)
    return order_summaries(summaries, constraints.directions) if constraints else tuple(summaries)


def scheme_of(summaries: Sequence[ColumnSummary], settings: Settings, labels: Labels) -> BinningScheme:
    """The cuts of columns in order."""
    cuts = cuts_of_columns(summaries, **limits_of(settings))
    return BinningScheme(cuts, *read_given(settings.known, settings.known.read(summaries, labels), cuts))


def with_ends(scheme: BinningScheme, summaries: Sequence[ColumnSummary], settings: Settings) -> BinningScheme:
    """The scheme with the ranges of the columns whose numbers matter; a tally has the least and the greatest number."""
    columns = sloped_columns(scheme.cuts, scheme.required, settings)
    tallies = {i: summaries[i].tally.values for i in columns if len(summaries[i].tally.values)}
    ends = {i: (float(own[0]) + 0.0, float(own[-1]) + 0.0) for i, own in tallies.items()}
    return replace(scheme, ends=ends)


def ask_lines(shards: ShardDataset, scheme: BinningScheme) -> dict[int, ColumnLine]:
    """What straight lines in columns on grids are made of."""
    if not scheme.ends:
        return {}
    return lines_of(scheme.cuts, scheme.grids, shards.map_reduce(LineQuery(scheme.binned)))


def training_in_bins(
    scheme: BinningScheme, shards: ShardDataset, response: Response, settings: Settings, **others: Any
) -> ShardTraining:
    """Training rows in the bins of a scheme: all of them, or those of a fold."""
    return ShardTraining(
        scheme.binned,
        response,
        settings.seed,
        features_of(scheme.cuts),
        shards=shards,
        constraints=scheme.constraints,
        required=scheme.required,
        lines=ask_lines(shards, scheme),
        may_slope=candidates_of(scheme.binned, settings),
        **others,
    )


def bin_parts(
    parts: PartRows, target: str, options: EngineOptions, settings: Settings, *, share: float = 0.9
) -> ShardTraining:
    """Find the cuts of every column, and put every row into its bins; ``share`` is that of the rows of a fold."""
    detector, read, limits = parts.detector, parts.read, limits_of(settings)
    columns = parts.ask(ColumnQuery(read, options.tally))
    check_columns(columns.summaries)
    say_index(columns.index)
    if columns.named:
        warn_of_ids(columns.summaries, why_id)
    settings.check_columns(len(columns.summaries))
    summaries = in_order(columns.summaries, settings, parts.labels)
    detector.names = tuple(summary.name for summary in summaries)
    read = replace(read, names=detector.names)
    while options.exact and (plan := needs_zoom([summaries], **limits)) is not None:
        summaries = refine(summaries, plan, parts.ask(ZoomQuery(read, plan)))
    scheme = with_ends(scheme_of(summaries, settings, parts.labels), columns.summaries, settings)
    features = features_of(scheme.cuts)
    encoder = Encoder(read, features, scheme.cuts, parts.stats.first_rows, scheme.given, scheme.grids)
    shards = parts.rows.encode(encoder)

    def ask_table(question: RowQuery[Any]) -> Any:
        return parts.ask(TableQuery(read, features, parts.stats.first_rows, question))

    try:
        steady, sizes = ask_first(shards, detector, SizeQuery([c.n_bins for c in scheme.cuts]))
        scheme = scheme.with_sizes(sizes.sizes)
        return training_in_bins(
            scheme,
            steady,
            read.reading.no_rows(),
            settings,
            named=columns.named,
            target=target,
            idle=name_idle(scheme.cuts, sizes.digests, lambda i, k: True),
            quantile_error=quantile_error(summaries, **limits),
            sum_bytes=options.sum_bytes,
            ask_table=ask_table,
            near=neighbourhoods(summaries, **limits, share=share) if options.exact else ZoomPlan(()),
            columns=None if read.recipe is None else read.recipe.of_features(detector.names),
        )
    except BaseException:
        shards.close()
        raise

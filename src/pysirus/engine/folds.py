"""Rows in parts and folds in, what the rows are like that each fold learns from out.

Every part answers for the rows that each fold holds out; what a fold learns from is the sum of the others' answers. The
integers of a response depend on the range of the rows that are learned from, so a part answers once for each *key* of
making them: mostly one key, and two more for labels where two folds hold out the smallest and the largest response.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._families.responses import IntegerRows, Response
from pysirus._learn.splits import (
    FORWARD,
    Periods,
    StratifiedFolds,
    check_enough,
    check_known,
    derive,
    fold_of_groups,
    forward_folds,
    learns_from,
    read_times,
)
from pysirus._parameters import ParameterError, check_integer
from pysirus._runtime.sums import Scale
from pysirus._text.message import Parameter
from pysirus.engine.columns import (
    ZoomAnswer,
    ZoomPlan,
    has_quantiles,
    is_open,
    narrowed,
    needs_zoom,
    refine_column,
    summary_near,
    zoom_columns,
)
from pysirus.engine.parts import Part, sum_of_some
from pysirus.engine.read import PartQuery, PartRows, ResponseStats, naming, stats_of
from pysirus.engine.summary import ColumnSummary, summary_of

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")
ScaleKey = tuple[Any, ...]
NO_FOLD = 255  # the mark of a row that no fold on a grid holds out
BEFORE = 254  # of a row that all folds on it learn from, where they look forward


@dataclass(frozen=True)
class Answers(Generic[Key, Answer]):
    """Several answers at once, each of which adds up over the parts that give it."""

    by_key: Mapping[Key, Answer]

    def __add__(self, other: Answers[Key, Answer]) -> Answers[Key, Answer]:
        both = dict(self.by_key)
        for key, answer in other.by_key.items():
            both[key] = both[key] + answer if key in both else answer  # type: ignore[operator]
        return Answers(both)


@dataclass(frozen=True)
class Repetition:
    """The folds of one repetition of the cross-validation: stratified, by groups, or forward in time.

    Rows are in blocks, mostly those that each fold holds out. Looking forward, the last block is of no fold.
    """

    deal: StratifiedFolds
    ranks: Mapping[int, tuple[int, ...]]  # rows of each stratum before a part, by the number of its first row
    by_group: NDArray[np.unsignedinteger[Any]] | None = None  # [row]: the block of each, where groups stay together
    forward: bool = False  # whether a fold learns from the blocks before its own

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return self.deal.n_folds

    def __len__(self) -> int:
        return self.n_folds

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.n_folds + self.forward

    def learns(self, fold: int, block: int) -> bool:
        """Whether a fold learns from the rows of a block."""
        return bool(learns_from(block, fold, self.n_folds)) if self.forward else fold != block

    def sums(self, answers: Sequence[Any]) -> list[Any]:
        """For each fold the sum of the answers of the blocks that it learns from; None is no answer."""
        if not self.forward:
            return sums_without(answers)
        found = [answers[-1]]
        for answer in answers[: self.n_folds - 1]:
            found.append(sum_of_some([found[-1], answer]))
        return found

    @property
    def each_once(self) -> bool:
        """Whether every row is held out by one of them."""
        return not self.forward

    def of_rows(self, first_row: int, response: Response) -> NDArray[np.unsignedinteger[Any]]:
        """The blocks of the rows of a part."""
        if self.by_group is None:
            return self.deal.of_rows(response, self.ranks[first_row])
        return self.by_group[first_row : first_row + response.n_rows]

    def blocks(self, first_row: int, response: Response) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Of the rows of a part those of each block, where there are any."""
        own = self.of_rows(first_row, response)
        for block in range(self.n_blocks):
            rows = np.flatnonzero(own == block)
            if len(rows):
                yield block, rows

    def held_out(self, first_row: int, response: Response) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Of the rows of a part those that each fold holds out, where there are any."""
        return ((block, rows) for block, rows in self.blocks(first_row, response) if block < self.n_folds)

    def marks(self, blocks: NDArray[np.unsignedinteger[Any]], first: int, end: int) -> NDArray[np.uint8]:
        """The blocks of rows in a byte each, for the folds from ``first`` to ``end``."""
        own = np.where((blocks >= first) & (blocks < end), blocks - first, NO_FOLD)
        if self.forward:
            own = np.where((blocks < first) | (blocks == self.n_folds), BEFORE, own)
        return own.astype(np.uint8)

    def taken(self, fold: int, first: int) -> NDArray[np.uint8]:
        """How often a fold learns from a row, by its mark."""
        marks = np.arange(256)
        learned = (marks < fold - first) | (marks == BEFORE) if self.forward else marks != fold - first
        return np.asarray(learned, dtype=np.uint8)


@dataclass(frozen=True)
class Samples(Repetition):
    """Samples that are drawn together, as if they were folds: each learns from the rows of some blocks."""

    takes: tuple[tuple[int, ...], ...] = ()  # [sample][block]: how often each of its rows is taken

    @property
    def n_folds(self) -> int:
        """Number of samples."""
        return len(self.takes)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.takes[0])

    def learns(self, fold: int, block: int) -> bool:
        """Whether a sample has rows of a block."""
        return self.takes[fold][block] > 0

    def sums(self, answers: Sequence[Any]) -> list[Any]:
        """For each sample the sum of the answers of its blocks; None is no answer."""
        return [sum_of_some(own for own, n in zip(answers, takes) if n) for takes in self.takes]

    def blocks(self, first_row: int, response: Response) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Of the rows of a part those of each block, as often as they are taken, which is the same in all samples."""
        for block, rows in super().blocks(first_row, response):
            yield block, np.repeat(rows, max(1, *(takes[block] for takes in self.takes), 1))

    def marks(self, blocks: NDArray[np.unsignedinteger[Any]], first: int, end: int) -> NDArray[np.uint8]:
        """The blocks of rows."""
        return blocks.astype(np.uint8)

    def taken(self, fold: int, first: int) -> NDArray[np.uint8]:
        """How often a sample has a row, by its block."""
        found = np.zeros(256, dtype=np.uint8)
        found[: self.n_blocks] = self.takes[fold]
        return found


def sums_without(answers: Sequence[Any]) -> list[Any]:
    """For each answer the sum of all others; None is no answer."""
    before, after = [None], [None]
    for answer in answers[:-1]:
        before.append(sum_of_some([before[-1], answer]))
    for answer in answers[:0:-1]:
        after.append(sum_of_some([answer, after[-1]]))
    return [sum_of_some(pair) for pair in zip(before, after[::-1])]


# --------------------------------------------------------------------------------------------------------- queries


@dataclass(frozen=True)
class FoldQuery(PartQuery[Answers[Key, Answer]]):
    """A query that each part answers for the rows that each fold holds out."""

    folds: Repetition
    first_rows: Mapping[int, int]

    def first_row(self, part: Part) -> int:
        """The number of the first row of a part."""
        return self.read.first_row(part, self.first_rows)

    def blocks(self, part: Part, response: Response) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Of the rows of a part those of each block, where there are any."""
        return self.folds.blocks(self.first_row(part), response)


@dataclass(frozen=True)
class GroupQuery(PartQuery[Answers[int, NDArray[Any]]]):
    """Which group is each row in, or of which time is it?"""

    of_times: bool = False

    def answer(self, part: Part, table: Table, response: Response) -> Answers[int, NDArray[Any]]:
        """The groups of a part, checked."""
        groups = np.asarray(part.weighing().groups)
        with naming(part):
            (read_times if self.of_times else check_known)(groups)
        return Answers({part.number: groups})


@dataclass(frozen=True)
class FoldStatsQuery(FoldQuery[int, ResponseStats]):
    """Within which limits do the rows of each block answer and weigh?"""

    def answer(self, part: Part, table: Table, response: Response) -> Answers[int, ResponseStats]:
        """The limits of each block."""
        return Answers(
            {block: stats_of(part.number, response.take(rows)) for block, rows in self.blocks(part, response)}
        )


@dataclass(frozen=True)
class ScaledFoldQuery(FoldQuery[Any, Answer]):
    """A query about columns, whose answer depends on the scale on which the response becomes integers."""

    scales: tuple[Scale, ...]  # of the rows that each fold learns from
    labels: frozenset[int]  # the columns of labels

    def scale_key(self, fold: int, column: int | None = None) -> ScaleKey:
        """How integers are made for a fold, as far as a column depends on it; None is any column of numbers."""
        scale = self.scales[fold]
        own: ScaleKey = ()
        if self.read.reading.weighted:
            own = (scale.moment_weight_exponent, scale.whole, scale.repeated)
        return (*own, scale.low, scale.high) if column in self.labels else own

    def scales_by_key(self, block: int, column: int | None = None) -> dict[ScaleKey, Scale]:
        """The scales of the folds that learn from a block, by their keys."""
        return {
            self.scale_key(fold, column): self.scales[fold]
            for fold in range(self.folds.n_folds)
            if self.folds.learns(fold, block)
        }


@dataclass(frozen=True)
class FoldColumns(ScaledFoldQuery[ColumnSummary]):
    """What are the columns like in the rows that each fold holds out, those in a plan around some quantiles?"""

    budget: int
    plan: ZoomPlan

    def answer(self, part: Part, table: Table, response: Response) -> Answers[Any, ColumnSummary]:
        """Summaries by column, block and key."""
        found: dict[Any, ColumnSummary] = {}
        zooms = {zoom.index: zoom for zoom in self.plan.columns}
        for block, rows in self.blocks(part, response):
            answers, made = response.take(rows), dict[ScaleKey, IntegerRows]()
            for i, column in enumerate(table.take(rows).columns):
                for key, scale in self.scales_by_key(block, i).items():
                    own = made.setdefault(key, IntegerRows(replace(answers, part_of=scale)))
                    found[i, block, key] = (
                        summary_near(column, own, zooms[i], self.budget)
                        if i in zooms
                        else summary_of(column, own, self.budget)
                    )
        return Answers(found)


@dataclass(frozen=True)
class FoldZooms(ScaledFoldQuery[ZoomAnswer]):
    """Where exactly between two values are these quantiles, in the rows that each fold holds out?"""

    plan: ZoomPlan

    def answer(self, part: Part, table: Table, response: Response) -> Answers[Any, ZoomAnswer]:
        """Neighbourhoods by block and key."""
        found: dict[Any, ZoomAnswer] = {}
        for block, rows in self.blocks(part, response):
            own, answers = table.take(rows), response.take(rows)
            for key, scale in self.scales_by_key(block).items():
                found[block, key] = zoom_columns(own, replace(answers, part_of=scale), self.plan)
        return Answers(found)


# ------------------------------------------------------------------------------------------------------------- folds


def draw_repetitions(
    cv: Any, n_repeats: int, parts: PartRows, seed: int
) -> tuple[Periods | None, Iterator[Repetition]]:
    """The folds of one repetition after the other, as they are drawn in memory; and periods that are held out."""
    if isinstance(cv, str) and cv == FORWARD:
        return _forward(n_repeats, parts, seed)
    if isinstance(cv, bool) or not isinstance(cv, numbers.Integral):
        raise ParameterError(
            f"{Parameter('cv')} must be a number of folds, or 'forward', for files, Dask and Spark, got {cv!r}: folds "
            "are drawn by row number."
        )
    check_integer("cv", cv, 2)
    n_folds, stats = int(cv), parts.stats
    deals = (StratifiedFolds(n_folds, derive(seed, repeat), stats.sizes) for repeat in range(n_repeats))
    drawn = (Repetition(deal, stats.ranks_by_row) for deal in deals)
    if not parts.rows.grouped:
        check_enough(n_folds, stats.n_rows)
        return None, drawn
    groups = beside(parts, GroupQuery(parts.read))
    grouped = (replace(own, by_group=fold_of_groups(groups, n_folds, own.deal.seed)) for own in drawn)
    return None, chain([next(grouped)], grouped)  # whether there are enough groups is said before anything is grown


def beside(parts: PartRows, query: GroupQuery) -> NDArray[Any]:
    """The groups, or times, of all rows."""
    found = parts.ask_response(query).by_key
    return np.concatenate([found[part] for part in sorted(found)])


def _forward(n_repeats: int, parts: PartRows, seed: int) -> tuple[Periods, Iterator[Repetition]]:
    """Folds that learn from the rows before each period, the same in every repetition."""
    folds = forward_folds(read_times(beside(parts, GroupQuery(parts.read, of_times=True))))
    deal = StratifiedFolds(folds.n_folds, seed, parts.stats.sizes)
    return folds.periods, repeat(Repetition(deal, parts.stats.ranks_by_row, folds.fold, forward=True), n_repeats)


def fold_stats(parts: PartRows, folds: Repetition) -> tuple[ResponseStats, ...]:
    """What is known of the responses of the rows that each fold learns from."""
    whole = parts.stats
    query = FoldStatsQuery(parts.read, folds, whole.first_rows)
    blocks = parts.ask_response(query).by_key
    found, none = [], (0,) * len(whole.sizes)
    for fold, own in enumerate(folds.sums([blocks.get(block) for block in range(folds.n_blocks)])):
        learned = [blocks[block].strata for block in blocks if folds.learns(fold, block)]
        strata = {
            part: tuple(map(sum, zip(none, *(some[part] for some in learned if part in some)))) for part in whole.strata
        }
        found.append(replace(own, strata=strata))
    return tuple(found)


@dataclass(frozen=True)
class FoldSummaries:
    """Finds what the columns are like in the rows that each fold learns from, as exactly as cuts need it."""

    parts: PartRows
    folds: Repetition
    scales: tuple[Scale, ...]
    labels: frozenset[int]
    continuous: frozenset[str] = frozenset()  # columns with cuts at quantiles, however few values some rows have

    def find(self, budget: int, plan: ZoomPlan, limits: Mapping[str, int]) -> list[tuple[ColumnSummary, ...]]:
        """One pass over the columns; another one where the quantiles of a fold are not where the plan looks."""
        query = FoldColumns(self.parts.read, self.folds, self._first_rows, self.scales, self.labels, budget, plan)
        found = self.parts.ask(query).by_key
        planned = {zoom.index for zoom in plan.columns}
        columns, missed = [], set()
        for i in range(len(self.parts.detector.names)):
            keys = [query.scale_key(fold, i) for fold in range(self.folds.n_folds)]
            summaries = [self._of_kind(own) for own in self._without_each(keys, found, (i,))]
            if i not in planned:
                columns.append(summaries)
            elif all(has_quantiles(own, **limits) for own in summaries):
                columns.append([narrowed(own, limits["n_bins"]) for own in summaries])
            else:
                missed.add(i)
        return self.find(budget, plan.without(missed), limits) if missed else list(zip(*columns))

    def _of_kind(self, summary: ColumnSummary) -> ColumnSummary:
        return replace(summary, continuous=True) if summary.name in self.continuous else summary

    def zoom(
        self, summaries: Sequence[tuple[ColumnSummary, ...]], limits: Mapping[str, int]
    ) -> list[tuple[ColumnSummary, ...]]:
        """As many passes as the quantiles of all folds take, mostly one."""
        every = list(summaries)
        while plan := needs_zoom(every, **limits):
            query = FoldZooms(self.parts.read, self.folds, self._first_rows, self.scales, self.labels, plan)
            found = self.parts.ask(query).by_key
            keys = [query.scale_key(fold) for fold in range(self.folds.n_folds)]
            for place, zoom in enumerate(plan.columns):  # one after the other: sums of all at once take some room
                here = {key: ZoomAnswer(answer.columns[place : place + 1]) for key, answer in found.items()}
                for fold, answer in enumerate(self._without_each(keys, here, ())):
                    if is_open(every[fold][zoom.index], limits["discrete_limit"]):
                        every[fold] = refine_column(every[fold], zoom, answer, limits["n_bins"])
        return every

    @property
    def _first_rows(self) -> dict[int, int]:
        return self.parts.stats.first_rows

    def _without_each(self, keys: Sequence[ScaleKey], found: Mapping[Any, Any], column: tuple[int, ...]) -> list[Any]:
        """For every fold the sum of the blocks that it learns from, on its own scale."""
        blocks = range(self.folds.n_blocks)
        in_way = {
            key: self.folds.sums([found.get((*column, block, key)) for block in blocks]) for key in dict.fromkeys(keys)
        }
        return [in_way[key][fold] for fold, key in enumerate(keys)]

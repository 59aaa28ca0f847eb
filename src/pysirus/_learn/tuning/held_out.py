"""Lists that folds learned, and which each of them uses, in; what their held-out rows say of the choice out.

Rows are judged where they lie: a question takes the lists to them, and brings back sums.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._data.table import Feature, Table, recode_table
from pysirus._families.base import Family
from pysirus._families.class_metrics import Ladder
from pysirus._families.gain import FoldRows
from pysirus._families.responses import Response
from pysirus._families.row_metrics import Metrics, Predicted, Tally, Yardstick, blocks_of
from pysirus._families.target import GainTally
from pysirus._learn.training import RowQuery
from pysirus._learn.tuning.forward import Periods
from pysirus._model.held_out import MOST_BINS, Bins, Forward, HeldOut, bins_of_sums
from pysirus._runtime.sums import scores_of
from pysirus._terms.fitted import bounds_of, outputs_of, units_of
from pysirus._weights.moments import values_in
from pysirus._weights.weighted import WeightedPrefixes

BINS_OF_SEVERAL = 50  # for each of more than two classes


class HeldOutRows(Protocol):
    """Which rows the folds of a repetition hold out."""

    @property
    def each_once(self) -> bool:
        """Whether every row is held out by one of them."""
        ...

    def held_out(self, first_row: int, response: Response) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Of rows from ``first_row`` on those that each fold holds out, where there are any."""
        ...


@dataclass(frozen=True)
class FoldTerms:
    """The lists of a fold, on columns as it knows them."""

    weighted: WeightedPrefixes
    features: tuple[Feature, ...]

    def predict(self, table: Table, entry: int, family: Family) -> NDArray[np.float64]:
        """What one of the lists predicts of some rows, [row, output]."""
        weighted, used = self.weighted, np.flatnonzero(self.weighted.weights[entry])
        n_outputs = len(np.atleast_1d(np.asarray(weighted.mean)))
        terms = [weighted.rules[i] for i in used]
        inside, outside = outputs_of(terms, (n_outputs,))
        weights = weighted.weights[entry, used][:, None]
        base = np.atleast_1d(np.asarray(weighted.intercepts[entry])) + (weights * outside).sum(axis=0)
        steps = weights * ((inside - outside) * units_of(terms)[:, None])
        values = values_in(terms, recode_table(table, self.features))
        scores = np.empty((table.n_rows, n_outputs))
        for rows in blocks_of(len(scores)):
            scores[rows] = scores_of(values[rows], base, steps, bounds_of(terms))
        return family.respond(scores)


@dataclass(frozen=True)
class Use:
    """The list that a fold uses: its lists, the entry of these, what held-out rows say of all, and its rules."""

    lists: FoldTerms
    entry: int
    held_out_loss: Any
    rules: frozenset[Hashable]


@dataclass(frozen=True)
class FoldPrediction:
    """What a list predicts of the rows that its fold holds out."""

    index: NDArray[np.integer[Any]]  # their numbers among the rows that count
    response: Response
    values: NDArray[np.float64]  # [row, output]
    mean: Any  # of the rows that it learned from
    fold: int = 0


@dataclass(frozen=True)
class Chosen:
    """The lists that the folds of each repetition use, and the rows that they hold out."""

    held: tuple[HeldOutRows, ...]  # by repetition
    uses: tuple[tuple[tuple[FoldTerms, int], ...], ...]  # [repetition][fold]
    family: Family
    like: Yardstick
    periods: Periods | None = None  # where folds look forward in time

    def predict(self, table: Table, response: Response, first_row: int) -> list[list[FoldPrediction]]:
        """What they predict of some of the rows, numbered among these, [repetition]."""
        found: list[list[FoldPrediction]] = []
        for held, uses in zip(self.held, self.uses):
            found.append([])
            for fold, rows in held.held_out(first_row, response):
                lists, entry = uses[fold]
                values = lists.predict(table.take(rows), entry, self.family)
                found[-1].append(FoldPrediction(rows, response.take(rows), values, lists.weighted.mean, fold))
        return found

    def judge(self, found: Sequence[Sequence[FoldPrediction]]) -> Judgement:
        """What rows say of these predictions."""
        return judge(found, self.family, self.like, by_fold=self.periods is not None)

    @property
    def first_once(self) -> bool:
        """Whether the first repetition predicts every row once, so that predictions of lists of all folds compare."""
        return self.held[0].each_once and self.family.folds_compare


@dataclass(frozen=True)
class PredictionQuery(RowQuery[list[list[FoldPrediction]]]):
    """What do lists of folds predict of the rows that they hold out? Of rows in memory: answers do not add up."""

    chosen: Chosen

    def __call__(
        self, table: Table, response: Response, first_row: int, binned: Binned | None = None
    ) -> list[list[FoldPrediction]]:
        return self.chosen.predict(table, response, first_row)


def chosen_lists(
    held: Sequence[HeldOutRows],
    uses: Sequence[Sequence[Use]],
    family: Family,
    like: Yardstick,
    periods: Periods | None,
) -> Chosen:
    """The lists that folds use, [repetition][fold]."""
    lists = tuple(tuple((use.lists, use.entry) for use in own) for own in uses)
    return Chosen(tuple(held), lists, family, like, periods)


# -------------------------------------------------------------------------------------------------------- judgement


@dataclass(frozen=True)
class Judgement:
    """What held-out rows say of predictions; those of parts add up."""

    tallies: tuple[Tally | None, ...]  # by repetition
    gain: GainTally
    # by repetition and fold: rows and their tally, where folds are told apart
    by_fold: Mapping[tuple[int, int], tuple[int, Tally]] = field(default_factory=dict)

    def __add__(self, other: Judgement) -> Judgement:
        both, by_fold = zip(self.tallies, other.tallies), dict(self.by_fold)
        for key, (n_rows, tally) in other.by_fold.items():
            own = by_fold.get(key)
            by_fold[key] = (n_rows, tally) if own is None else (own[0] + n_rows, own[1] + tally)
        return Judgement(tuple(_added(a, b) for a, b in both), self.gain + other.gain, by_fold)

    def forward(self, periods: Periods, family: Family) -> tuple[Forward, ...]:
        """The metric of each period that was held out, averaged over repetitions."""
        found = []
        for fold, (period, n_before) in enumerate(zip(periods.names, periods.n_before)):
            own = [self.by_fold[repeat, fold] for repeat in range(len(self.tallies))]
            found.append(forward_metric(period, n_before, own[0][0], [tally.metrics() for _, tally in own], family))
        return tuple(found)

    def held_out(self, n_rules: int, n_folds: int) -> HeldOut:
        """The metrics, averaged over repetitions; groups of probabilities over all of them."""
        tallies = [tally for tally in self.tallies if tally is not None]
        every, gain = [tally.metrics() for tally in tallies], self.gain.gain()
        metrics = {name: _average([metrics[name] for metrics in every]) for name in every[0]}
        found = HeldOut(n_rules, n_folds, len(tallies), metrics, variance=tallies[0].variance)
        found = replace(found, gain=None if gain is None else (gain.share, gain.signal))
        together = reduce(add, tallies)
        if together.confused is None:
            return found
        return replace(found, bins=_bins(together.areas, len(tallies)), confusion=together.confused / len(tallies))


def evaluate(folds: Sequence[FoldPrediction], family: Family, n_rules: int) -> HeldOut:
    """What rows in memory say of one repetition."""
    rows = [Predicted(f.values, f.response.truth, family.metric_weights(f.response)) for f in folds]
    return judge([folds], family, Yardstick.of(rows)).held_out(n_rules, len(folds))


def _added(a: Tally | None, b: Tally | None) -> Tally | None:
    return b if a is None else a if b is None else a + b


def judge(
    repetitions: Sequence[Sequence[FoldPrediction]], family: Family, like: Yardstick, *, by_fold: bool = False
) -> Judgement:
    """What rows say of predictions of them, [repetition][fold]."""
    tallies, apart = [], {}
    for repeat, own in enumerate(repetitions):
        total: Tally | None = None
        for f in own:
            tally = family.tally(Predicted(f.values, f.response.truth, family.metric_weights(f.response)), like)
            total = _added(total, tally)
            if by_fold:
                apart[repeat, f.fold] = (len(f.values), tally)
        tallies.append(total)
    every = [fold for own in repetitions for fold in own]
    rows = [FoldRows(f.index, f.response.weights, f.response.truth, f.values, np.atleast_1d(f.mean)) for f in every]
    return Judgement(tuple(tallies), family.gain_of(rows), apart)


def forward_metric(period: str, n_before: int, n_rows: int, every: Sequence[Metrics], family: Family) -> Forward:
    """How well the rows of a period were predicted, once or several times, by what was learned before it."""
    name = family.score_metric
    pairs = [pair for metrics in every if (pair := metrics.get(name)) is not None]
    found = _average(pairs) if pairs else (None, None)
    return Forward(period, n_before, n_rows, name, *found)


def _bins(ladders: Sequence[Ladder], n_repeats: int) -> tuple[Bins, ...]:
    codes, most = ([1], MOST_BINS) if len(ladders) == 1 else (range(len(ladders)), BINS_OF_SEVERAL)
    found = []
    for code, ladder in zip(codes, ladders):
        members, others, _, _, sums = (own / n_repeats for own in ladder.floats())
        found.append(bins_of_sums(code, members, others, sums, most))
    return tuple(found)


def _average(pairs: Sequence[tuple[float, float | None]]) -> tuple[float, float | None]:
    """The mean over repetitions; they have the same rows, so the standard error does not fall with their number."""
    errors = [error for _, error in pairs if error is not None]
    return float(np.mean([value for value, _ in pairs])), float(np.mean(errors)) if errors else None


Predict = Callable[[float | None], list[list[FoldPrediction]]]  # of lists of a p0, or of those that were chosen

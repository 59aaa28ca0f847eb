"""Lists that folds learned in, their path, and what their held-out rows say of the choice out.

Rows are judged where they lie: a question takes the lists to them, and brings back sums.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
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
from pysirus._learn.splits import Periods
from pysirus._learn.training import RowQuery
from pysirus._learn.weigh import PooledError, Weighing
from pysirus._model.held_out import MOST_BINS, Bins, Forward, HeldOut, bins_of_sums
from pysirus._model.tuning import Ideal, TuningPath
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


# ------------------------------------------------------------------------------------------------------------- the path

# Folds in, their path out: error and stability as functions of p0, or as rules, or stages of rules, are added.
#
# Every fold has one list of rules in order of frequency. Walking p0 down (the paper's section "Tuning"; docs/method.md,
# "Tuning"), a fold uses its rules above p0: a prefix of its list. So the whole path is known at the frequencies
# themselves, and nothing is computed between them.


@dataclass(frozen=True)
class FoldList:
    """What one fold learned: the frequencies of its rules, falling, and the rules in use at each size 0, 1, 2, ..."""

    frequencies: NDArray[np.float64]
    in_use: tuple[frozenset[Hashable], ...]


@dataclass(frozen=True)
class GrowingList:
    """A fold's list after each step, and what its held-out rows say of it."""

    in_use: tuple[frozenset[Hashable], ...]
    lowest: tuple[float, ...]  # frequency of the least frequent rule so far
    held_out_loss: Any
    lists: FoldTerms
    first: int = 0  # entry of ``held_out_loss`` that belongs to the first step

    def after(self, step: int) -> int:
        """The entry of a step; a list that ended earlier stays as it is."""
        return min(step, len(self.in_use) - 1)

    def use(self, step: int) -> Use:
        """The list of a step."""
        k = self.after(step)
        return Use(self.lists, k + self.first, self.held_out_loss, self.in_use[k])


@dataclass(frozen=True)
class Steps:
    """Step functions of p0: entry i holds where ``edges[i] > p0 >= edges[i + 1]``; edges fall from 1 to 0."""

    edges: NDArray[np.float64]
    n_rules: NDArray[np.float64]
    error: NDArray[np.float64]
    stability: NDArray[np.float64]

    @property
    def p0(self) -> NDArray[np.float64]:
        """A p0 of each step, midway between its edges."""
        return np.asarray((self.edges[:-1] + self.edges[1:]) / 2)

    def at(self, p0: NDArray[np.float64]) -> NDArray[np.float64]:
        """Number of rules, error and stability at some p0, one row each."""
        step = np.searchsorted(-self.edges, -p0, side="right") - 1
        step = np.clip(step, 0, len(self.n_rules) - 1)
        return np.stack([self.n_rules[step], self.error[step], self.stability[step]])


def walk(folds: Sequence[FoldList], pooled_error: PooledError) -> Steps:
    """Walk p0 down the union of the folds' frequencies; only the folds whose list grows are looked at again."""
    edges = np.unique(np.concatenate([[1.0], *(fold.frequencies for fold in folds)]))[::-1]
    sizes = np.stack([np.searchsorted(-fold.frequencies, -edges, side="right") for fold in folds], axis=1)
    n_used = [np.array([len(rules) for rules in fold.in_use]) for fold in folds]
    n_rules = np.mean([used[k] for used, k in zip(n_used, sizes.T)], axis=0)
    return Steps(np.append(edges, 0.0), n_rules, pooled_error(sizes), _stabilities(folds, sizes))


def growing_steps(folds: Sequence[GrowingList], weighing: Weighing) -> NDArray[np.float64]:
    """Number of rules, error, stability and least frequency of a repetition, at every step."""
    at = np.array([[fold.after(step) for fold in folds] for step in range(max(len(fold.in_use) for fold in folds))])
    error = weighing.pooled_error([fold.held_out_loss for fold in folds])(at + [fold.first for fold in folds])
    sets = [[fold.in_use[k] for fold, k in zip(folds, row)] for row in at.tolist()]
    return np.array(
        [
            [np.mean([len(rules) for rules in step]) for step in sets],
            error,
            [mean_dice(step) for step in sets],
            [np.mean([fold.lowest[k] for fold, k in zip(folds, row)]) for row in at.tolist()],
        ]
    )


def _stabilities(folds: Sequence[FoldList], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """The mean Dice-Sorensen index over pairs of folds, at each step."""
    ids: dict[Hashable, int] = {}
    masks = [[_mask(rules, ids) for rules in fold.in_use] for fold in folds]
    now = [own[k] for own, k in zip(masks, sizes[0].tolist())]
    n = len(folds)
    common = [[_dice(a, b) for b in now] for a in now]
    total = sum(common[f][g] for f in range(n) for g in range(f))
    result = np.empty(len(sizes))
    grows = np.diff(sizes, axis=0, prepend=sizes[:1]) > 0
    for step, growing in enumerate(grows):
        for f in np.flatnonzero(growing).tolist():
            own = now[f] = masks[f][sizes[step, f]]
            for g in range(n):
                if g != f:
                    index = _dice(own, now[g])
                    total += index - common[f][g]
                    common[f][g] = common[g][f] = index
        result[step] = total
    return result / (n * (n - 1) / 2)


def mean_dice(lists: Sequence[frozenset[Hashable]]) -> float:
    """The mean Dice-Sorensen index over pairs of rule sets."""
    ids: dict[Hashable, int] = {}
    masks = [_mask(rules, ids) for rules in lists]
    return float(np.mean([_dice(a, b) for a, b in combinations(masks, 2)]))


def dice_by_fold(lists: Sequence[frozenset[Hashable]]) -> list[float]:
    """The mean Dice-Sorensen index of each rule set with the others."""
    ids: dict[Hashable, int] = {}
    masks = [_mask(rules, ids) for rules in lists]
    return [float(np.mean([_dice(own, b) for j, b in enumerate(masks) if j != i])) for i, own in enumerate(masks)]


def _mask(rules: frozenset[Hashable], ids: dict[Hashable, int]) -> int:
    """A set of rules as the bits of an integer."""
    return sum(1 << ids.setdefault(rule, len(ids)) for rule in rules)


def _dice(a: int, b: int) -> float:
    total = a.bit_count() + b.bit_count()
    return 2 * (a & b).bit_count() / total if total else 1.0


def average(repetitions: Sequence[Steps], max_rules: int, ideal: Ideal) -> TuningPath:
    """Average the repetitions' step functions over the union of their edges, from one to max_rules rules on average."""
    edges = np.unique(np.concatenate([steps.edges for steps in repetitions]))[::-1]
    p0 = (edges[:-1] + edges[1:]) / 2
    values = np.stack([steps.at(p0) for steps in repetitions])  # [repetition, function, p0]
    mean = values.mean(axis=0)
    n = len(repetitions)
    error = standard_errors(values)
    keep = (mean[0] >= 1) & (mean[0] <= max_rules)
    if not keep.any():
        keep = np.ones(len(p0), dtype=bool)
    means, errors = mean[:, keep], error[:, keep]
    return TuningPath(p0[keep], means[0], means[1], means[2], errors[0], errors[1], errors[2], n, ideal)


def choose_stable(repetitions: Sequence[Steps], max_rules: int, ideal: Ideal) -> float:
    """In each repetition the p0 nearest to the ideal point, the shorter list on a tie; then the median."""
    chosen = []
    for steps in repetitions:
        distance = ideal.distance(steps.error, steps.stability)
        usable = (steps.n_rules >= 1) & (steps.n_rules <= max_rules)
        if usable.any():
            distance = np.where(usable, distance, np.inf)
        chosen.append(steps.p0[int(distance.argmin())])
    return float(np.median(chosen))


def choose_accurate(path: TuningPath) -> float:
    """The largest p0 whose error is within two standard errors of the minimum."""
    return float(path.p0[first_within_two_errors(path)])


def growing_path(
    repetitions: Sequence[NDArray[np.float64]], max_rules: int, criterion: str, ideal: Ideal
) -> tuple[TuningPath, int]:
    """The path over steps, averaged over repetitions, and the step that the criterion takes.

    "stability" takes the step nearest to the ideal point (the median over repetitions). The p0 of a step is the
    frequency of the least frequent rule so far, averaged over folds. A repetition that ended earlier stays as it is.
    """
    n_steps = max(steps.shape[1] for steps in repetitions)
    values = np.stack([np.pad(s, [(0, 0), (0, n_steps - s.shape[1])], "edge") for s in repetitions])
    values = values[:, :, values[:, 0].mean(axis=0) <= max_rules]
    mean, error = values.mean(axis=0), standard_errors(values)
    path = TuningPath(mean[3], mean[0], mean[1], mean[2], error[0], error[1], error[2], len(repetitions), ideal)
    if criterion == "error":
        return path, first_within_two_errors(path)
    nearest = ideal.distance(values[:, 1], values[:, 2]).argmin(axis=1)
    return path, int(np.floor(np.median(nearest)))


def first_within_two_errors(path: TuningPath) -> int:
    """The first entry of a path (the shortest list) whose error is within two standard errors of the minimum."""
    best = int(path.error.argmin())
    return int(np.flatnonzero(path.error <= path.error[best] + 2 * path.error_se[best])[0])


def standard_errors(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of means over repetitions, the first axis; zero for a single one."""
    n = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(n)) if n > 1 else np.zeros(values.shape[1:])

"""A model and its training rows in, the model with sums of them out, which later rows are compared with, and marks.

Residuals are those of held-out rows where there are some: the first repetition of cross-validation has predicted every
row once, by a list that was learned without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import ALL_MISSING, Binned, Cuts
from pysirus._data.column import MASK, ColumnMark, mark_of_column, mark_of_labels, mark_of_marks, mark_of_numbers
from pysirus._data.table import Feature, Table
from pysirus._families.base import Family
from pysirus._families.responses import Response
from pysirus._learn.held_out import Chosen, FoldPrediction, Judgement
from pysirus._learn.training import RowQuery, Training
from pysirus._model.facts import Fingerprint, Later
from pysirus._model.keys import record
from pysirus._model.model import Model
from pysirus._model.reference import reference_of
from pysirus._model.row_sums import (
    N_MOMENTS,
    Judged,
    RowSums,
    SumsOfTerm,
    finest_cells,
    judge_rows,
    sum_term,
    values_of,
)
from pysirus._runtime import changed
from pysirus._terms.term import Term
from pysirus._weights.moments import rule_tables

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Marks:
    """The marks of columns, of the target and of weights; those of parts add up."""

    n_rows: int
    numbers: tuple[int, ...]  # of the features, the target and the weights

    def __add__(self, other: Marks) -> Marks:
        added = (a + b & MASK for a, b in zip(self.numbers, other.numbers))
        return Marks(self.n_rows + other.n_rows, tuple(added))

    @classmethod
    def none(cls, n_features: int) -> Marks:
        """Those of no rows."""
        return cls(0, (0,) * (n_features + 2))

    @classmethod
    def of(cls, columns: Sequence[ColumnMark], family: Family, response: Response, first_row: int) -> Marks:
        """Those of some rows."""
        own = weights_of(family, response)
        weights = 0 if own is None else mark_of_numbers(own, first_row)
        return cls(
            response.n_rows,
            (*(own.mark for own in columns), mark_of_truth(response.truth, response.labels, first_row), weights),
        )

    def in_one(self) -> str:
        """One number for the features and the target."""
        return f"{mark_of_marks(self.numbers[:-1]):016x}"

    def fingerprint(self, features: Sequence[Feature]) -> Fingerprint:
        """As a model remembers them."""
        *columns, target, weights = (f"{number:016x}" for number in self.numbers)
        named = tuple((feature.name, mark) for feature, mark in zip(features, columns))
        return Fingerprint(self.n_rows, named, target, weights if self.numbers[-1] else None)


def weights_of(family: Family, response: Response) -> Floats | None:
    """The weights of rows beside the heaviest one: in parts very large and small ones are divided."""
    weights = family.metric_weights(response)
    return None if weights is None else weights / response.scale.heaviest


def mark_of_truth(truth: NDArray[Any], labels: Sequence[Any] | None, first_row: int) -> int:
    """The mark of targets: numbers, codes of labels, or events and times."""
    if truth.dtype.names is not None:
        return mark_of_marks(mark_of_numbers(truth[name], first_row) for name in truth.dtype.names)
    if labels is None:
        return mark_of_numbers(truth, first_row)
    return mark_of_labels(truth, labels, first_row)


@dataclass(frozen=True)
class Remembered:
    """What is kept of some rows."""

    sums: BinSums
    marks: Marks
    judged: Judgement | None = None  # by held-out rows

    def __add__(self, other: Remembered) -> Remembered:
        both = None if self.judged is None or other.judged is None else self.judged + other.judged
        return Remembered(self.sums + other.sums, self.marks + other.marks, both)


@dataclass(frozen=True)
class SumQuery(RowQuery[Remembered]):
    """What do the rows add up to?"""

    model: Model
    bins: Binned  # of no row
    chosen: Chosen | None = None  # lists that predict held-out rows

    def __call__(self, table: Table, response: Response, first_row: int, binned: Binned | None = None) -> Remembered:
        family, n_rows = self.model.family, table.n_rows
        terms = self.model.watched_terms
        in_bins = _put_in_bins(table, self.bins, terms, first_row) if binned is None else binned
        rows = RowsInBins(table, in_bins, weights_of(family, response))

        def sums_with(values: Floats) -> BinSums:
            return rows.sums(terms, judge_rows(family, values, response.truth))

        sums = sums_with(self.model.decision(table).reshape(n_rows, -1))
        marks = Marks.of(in_bins.marks, family, response, first_row)
        if self.chosen is None:
            return Remembered(sums, marks)
        found = self.chosen.predict(table, response, first_row)
        if self.chosen.first_once:
            sums = replace(sums_with(in_order(found[0], n_rows)), fitted=sums)
        return Remembered(sums, marks, self.chosen.judge(found))


def _put_in_bins(table: Table, bins: Binned, terms: Sequence[Term], first_row: int) -> Binned:
    """Rows in the bins of all rows, and where terms hold that were given."""
    found = np.zeros((len(bins.bins), table.n_rows), dtype=np.uint8)
    for cuts, column, out in zip(bins.cuts, table.columns, found):
        cuts.encode(column, out)
    for term in terms:
        if term.key in bins.given:
            found[bins.given[term.key]] = term.holds(table)
    return replace(bins, bins=found, marks=tuple(mark_of_column(column, first_row) for column in table.columns))


def with_reference(model: Model, training: Training, chosen: Chosen | None = None) -> Model:
    """The model with sums of its training rows, and with what they say of lists that were learned without them."""
    bins, features = training.binned.without_rows(), training.features
    out_of_fold = chosen is not None and chosen.first_once
    kept = training.ask_rows(SumQuery(model, bins, chosen))
    sums = kept.sums

    def told() -> dict[str, Any]:  # holds no row
        cells = finest_cells(features, [own.thresholds for own in bins.cuts])
        found = sums.in_cells(model.watched_terms, features, bins.cuts)
        return reference_of(model, found, cells, out_of_fold=out_of_fold).to_facts()

    fingerprint = record(Fingerprint).write(kept.marks.fingerprint(features))
    facts = replace(model.facts, reference=Later(told), fingerprint=fingerprint)
    if chosen is not None and kept.judged is not None:
        found = kept.judged.held_out(len(model.selected), len(chosen.uses[0]))
        if chosen.periods is not None:
            found = replace(found, forward=kept.judged.forward(chosen.periods, chosen.family))
        facts = replace(facts, out_of_fold=found.to_facts())
    return changed(model, facts=facts)


def in_order(folds: Sequence[FoldPrediction], n_rows: int) -> Floats:
    """What folds predict of rows each of which one of them holds out, [row, output]."""
    found = np.empty((n_rows, folds[0].values.shape[1]))
    for fold in folds:
        found[fold.index] = fold.values
    return found


# -------------------------------------------------------------------------------------------------------------- sums


@dataclass(frozen=True)
class BinSums:
    """Sums over training rows, of which ``RowSums`` are made: those of the rows of each bin and of each rule.

    Of a row are added up its residuals, their squares and, for rules, what came true, all times its weight; then, where
    rows have weights, its weight and 1.
    """

    n_rows: int
    n_outputs: int
    squares: float  # of the weights
    low: Floats  # [column]
    high: Floats
    bins: Floats  # [bin of each column, sum]
    rows: NDArray[np.int64]  # [1 + rule]: all, and those in which the rule holds
    rules: Floats  # [1 + rule, sum]
    others: tuple[Floats, ...]  # [sum] of the other terms
    error: Floats  # [2]
    fitted: BinSums | None = None

    def __add__(self, other: BinSums) -> BinSums:
        names = ("n_rows", "squares", "bins", "rows", "rules", "error")
        added: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in names}
        return replace(
            self,
            **added,
            low=np.fmin(self.low, other.low),
            high=np.fmax(self.high, other.high),
            others=tuple(a + b for a, b in zip(self.others, other.others)),
            fitted=None if self.fitted is None or other.fitted is None else self.fitted + other.fitted,
        )

    @property
    def in_weights(self) -> tuple[Floats, Floats, Floats | None]:
        """The weight of the rows of each rule and each bin, and the rows of each bin, where they have weights."""
        k = 3 * self.n_outputs
        if self.rules.shape[1] == k:
            return self.rows.astype(np.float64), np.zeros(0), None
        return self.rules[:, k], self.bins[:, k], self.bins[:, k + 1]

    def in_cells(self, terms: Sequence[Term], features: Sequence[Feature], cuts: Sequence[Cuts]) -> RowSums:
        """The sums in the finest cells: categories in the order of the model, missing values last."""
        k, nan = self.n_outputs, np.nan
        of_rules, of_bins, rows = self.in_weights
        if rows is None:  # each weighs 1, and shares are of rows
            rows = of_bins = np.rint(np.concatenate([own.shares for own in cuts]) * self.n_rows)
        found = np.column_stack([of_bins, self.bins[:, : 2 * k], rows])
        first = [*accumulate((own.n_bins for own in cuts), initial=0)]
        cells = []
        for own, feature, (a, b) in zip(cuts, features, pairwise(first)):
            place, n_cells = _cells_of_bins(feature, own)
            cells.append(np.zeros((n_cells, 2 * k + 2)))
            cells[-1][place] = found[a:b]
        every = [_of_binary(sums, weight, k) for sums, weight in zip(self.rules, of_rules)]
        rules, others = iter(every[1:]), map(SumsOfTerm.of, self.others)
        of_terms = [next(rules if term.is_binary else others) for term in terms]
        return RowSums(
            n_rows=self.n_rows,
            weight=float(of_rules[0]),
            squares=self.squares,
            rows=tuple(own[:, -1].astype(np.int64) for own in cells),
            cells=tuple(own[:, :-1] for own in cells),
            beyond=np.zeros(len(cuts)),
            low=np.where(np.isfinite(self.low), self.low, nan),
            high=np.where(np.isfinite(self.high), self.high, nan),
            values=np.array([own.values for own in of_terms]).reshape(-1, N_MOMENTS),
            truth=np.array([own.truth for own in (every[0], *of_terms)]),
            residuals=np.array([own.residuals for own in (every[0], *of_terms)]),
            error=self.error,
            fitted=None if self.fitted is None else self.fitted.in_cells(terms, features, cuts),
        )


@dataclass(frozen=True)
class RowsInBins:
    """Training rows, also in bins."""

    table: Table
    binned: Binned
    weights: Floats | None

    def sums(self, terms: Sequence[Term], judged: Judged) -> BinSums:
        """The sums of rows by the terms of a list."""
        with np.errstate(over="ignore", invalid="ignore"):  # squares of very large numbers, which are left out then
            beside, error = self._beside(judged)
            n_bins = [cuts.n_bins for cuts in self.binned.cuts]
            k, w = judged.truth.shape[1], self.weights
            bins = _core.sum_bins(self.binned.bins, n_bins, beside, 2 * k if w is None else beside.shape[1])
            binary = [term for term in terms if term.is_binary]
            rows, rules = _core.sum_rules(self.binned.bins, *rule_tables(binary, self.binned), len(binary), beside)
            others = [
                sum_term(values_of(term, self.table), np.ones(self.table.n_rows) if w is None else w, judged).flat
                for term in terms
                if not term.is_binary
            ]
        return BinSums(
            n_rows=self.table.n_rows,
            n_outputs=k,
            squares=float(self.table.n_rows if w is None else (w * w).sum()),
            low=np.array([own.low for own in self.binned.marks]),
            high=np.array([own.high for own in self.binned.marks]),
            bins=bins,
            rows=np.append(self.table.n_rows, rows),
            rules=np.concatenate([[[column.sum() for column in beside.T]], rules]),
            others=tuple(others),
            error=error,
        )

    def _beside(self, judged: Judged) -> tuple[Floats, Floats]:
        """What is added up of each row, [row, sum]; and the sums of squared residuals, and of the squares of these."""
        n, k = judged.truth.shape
        w = self.weights
        beside = np.empty((n, 3 * k if w is None else 3 * k + 2))
        beside[:, :k] = judged.residuals
        np.multiply(judged.residuals, judged.residuals, out=beside[:, k : 2 * k])
        beside[:, 2 * k : 3 * k] = judged.truth
        squares = beside[:, k] if k == 1 else beside[:, k : 2 * k].sum(axis=1)
        weighted = squares if w is None else squares * w
        error = np.array([weighted.sum(), (weighted * squares).sum()])
        if w is not None:
            beside[:, : 3 * k] *= w[:, None]
            beside[:, 3 * k] = w
            beside[:, 3 * k + 1] = 1.0
        return beside, error


def _of_binary(sums: Floats, weight: float, k: int) -> SumsOfTerm:
    """The sums of a term that is 1 in some rows and else 0, from those of these rows."""
    left, squares = sums[:k], sums[k : 2 * k]
    return SumsOfTerm([weight] * N_MOMENTS, sums[2 * k : 3 * k], [left, left, squares, squares])


def _cells_of_bins(feature: Feature, cuts: Cuts) -> tuple[list[int], int]:
    """The cell of each bin of a column, and the number of cells."""
    if cuts.idle == ALL_MISSING:
        n_known = 1 if feature.kind == "numeric" else len(feature.levels) + 1
        return [n_known], n_known + 1
    if feature.kind == "numeric":
        return [*range(cuts.n_bins)], cuts.n_cuts + 2
    number = {level: i for i, level in enumerate(feature.levels)}
    known = [number[level] for level in cuts.levels]
    return known + [len(number) + 1] * cuts.has_missing, len(number) + 2

"""A model and its training rows in, the model with sums of them out, which later rows are compared with, and marks.

Residuals are those of held-out rows where there are some: the first repetition of cross-validation has predicted every
row once, by a list that was learned without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pysirus._data.fingerprint import MASK, mark_of_column, mark_of_labels, mark_of_numbers
from pysirus._data.table import Feature, Table
from pysirus._families.base import Family
from pysirus._families.responses import Response
from pysirus._learn.training import RowQuery, Training
from pysirus._learn.tuning.held_out import FoldPrediction
from pysirus._model.facts import Fingerprint
from pysirus._model.keys import record
from pysirus._model.model import Model
from pysirus._model.reference import reference_of
from pysirus._model.row_sums import Cells, RowSums, finest_cells, judge_rows, sum_rows

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
    def of(cls, family: Family, table: Table, response: Response, first_row: int) -> Marks:
        """Those of some rows."""
        columns = [mark_of_column(column, first_row) for column in table.columns]
        own = weights_of(family, response)
        weights = 0 if own is None else mark_of_numbers(own, first_row)
        return cls(table.n_rows, (*columns, _mark_of_target(response, first_row), weights))

    def fingerprint(self, features: Sequence[Feature]) -> Fingerprint:
        """As a model remembers them."""
        *columns, target, weights = (f"{number:016x}" for number in self.numbers)
        named = tuple((feature.name, mark) for feature, mark in zip(features, columns))
        return Fingerprint(self.n_rows, named, target, weights if self.numbers[-1] else None)


def weights_of(family: Family, response: Response) -> Floats | None:
    """The weights of rows beside the heaviest one: in parts very large and small ones are divided."""
    weights = family.metric_weights(response)
    return None if weights is None else weights / response.scale.heaviest


def _mark_of_target(response: Response, first_row: int) -> int:
    truth = response.truth
    if truth.dtype.names is not None:  # events and times
        marks = [mark_of_numbers(truth[name], first_row) for name in truth.dtype.names]
        return sum(mark * (2 * k + 1) for k, mark in enumerate(marks)) & MASK
    if response.labels is None:
        return mark_of_numbers(truth, first_row)
    return mark_of_labels(truth, response.labels, first_row)


@dataclass(frozen=True)
class Remembered:
    """What is kept of some rows."""

    sums: RowSums
    marks: Marks

    def __add__(self, other: Remembered) -> Remembered:
        return Remembered(self.sums + other.sums, self.marks + other.marks)


@dataclass(frozen=True)
class SumQuery(RowQuery[Remembered]):
    """What do the rows add up to?"""

    model: Model
    cells: tuple[Cells, ...]
    held_out: Floats | None = None  # predictions of all rows, [row, output]

    def __call__(self, table: Table, response: Response, first_row: int) -> Remembered:
        marks = Marks.of(self.model.family, table, response, first_row)
        return Remembered(self._sums(table, response, first_row), marks)

    def _sums(self, table: Table, response: Response, first_row: int) -> RowSums:
        family, n_rows = self.model.family, table.n_rows

        def sums_with(values: Floats) -> RowSums:
            judged = judge_rows(family, values, response.truth)
            return sum_rows(table, self.model.watched_terms, self.cells, weights_of(family, response), judged)

        fitted = sums_with(self.model.decision(table).reshape(n_rows, -1))
        if self.held_out is None:
            return fitted
        return replace(sums_with(self.held_out[first_row : first_row + n_rows]), fitted=fitted)


def with_reference(model: Model, training: Training, folds: Sequence[FoldPrediction] = ()) -> Model:
    """The model with sums of its training rows; ``folds`` are those of a repetition."""
    held_out = predictions_of(folds, training.n_rows) if model.family.folds_compare else None
    cells = finest_cells(training.features, [own.thresholds for own in training.binned.cuts])
    kept = training.ask_rows(SumQuery(model, cells, held_out))
    found = reference_of(model, kept.sums, cells, out_of_fold=held_out is not None)
    fingerprint = record(Fingerprint).write(kept.marks.fingerprint(training.features))
    return replace(model, facts=replace(model.facts, reference=found.to_facts(), fingerprint=fingerprint))


def predictions_of(folds: Sequence[FoldPrediction], n_rows: int) -> Floats | None:
    """What folds predict of the rows that they hold out, [row, output]; None unless each row is held out once."""
    if sum(len(fold.index) for fold in folds) != n_rows:
        return None
    found = np.full((n_rows, folds[0].values.shape[1]), np.nan)
    for fold in folds:
        found[fold.index] = fold.values
    return None if np.isnan(found).any() else found

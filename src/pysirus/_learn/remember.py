"""A model and its training rows in, the model with sums of them out, which later rows are compared with.

Residuals are those of held-out rows where there are some: the first repetition of cross-validation has predicted every
row once, by a list that was learned without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._families.responses import Response
from pysirus._learn.training import RowQuestion, Training
from pysirus._learn.tuning.held_out import FoldPrediction
from pysirus._model.model import Model
from pysirus._model.reference import reference_of
from pysirus._model.row_sums import Cells, RowSums, finest_cells, judge_rows, sum_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SumQuestion(RowQuestion[RowSums]):
    """What do the rows add up to?"""

    model: Model
    cells: tuple[Cells, ...]
    held_out: Floats | None = None  # predictions of all rows, [row, output]

    def __call__(self, table: Table, response: Response, first_row: int) -> RowSums:
        family, n_rows = self.model.family, table.n_rows

        def sums_with(values: Floats) -> RowSums:
            judged = judge_rows(family, values, response.truth)
            return sum_rows(table, self.model.watched_terms, self.cells, family.metric_weights(response), judged)

        fitted = sums_with(self.model.decision(table).reshape(n_rows, -1))
        if self.held_out is None:
            return fitted
        return replace(sums_with(self.held_out[first_row : first_row + n_rows]), fitted=fitted)


def with_reference(model: Model, training: Training, folds: Sequence[FoldPrediction] = ()) -> Model:
    """The model with sums of its training rows; ``folds`` are those of a repetition."""
    held_out = predictions_of(folds, training.n_rows) if model.family.folds_compare else None
    cells = finest_cells(training.features, [own.thresholds for own in training.binned.cuts])
    sums = training.ask_rows(SumQuestion(model, cells, held_out))
    found = reference_of(model, sums, cells, out_of_fold=held_out is not None)
    return replace(model, facts=replace(model.facts, reference=found.to_facts()))


def predictions_of(folds: Sequence[FoldPrediction], n_rows: int) -> Floats | None:
    """What folds predict of the rows that they hold out, [row, output]; None unless each row is held out once."""
    if sum(len(fold.index) for fold in folds) != n_rows:
        return None
    found = np.full((n_rows, folds[0].values.shape[1]), np.nan)
    for fold in folds:
        found[fold.index] = fold.values
    return None if np.isnan(found).any() else found

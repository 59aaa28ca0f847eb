"""A model, rows and their targets in, how well it predicts them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._data.zero_weights import without_weightless
from pysirus._kind.held_out import Predicted, figures_of
from pysirus._model.hazard import BaselineHazard
from pysirus._model.held_out import Figures, format_figures
from pysirus._model.model import Model
from pysirus._plain import one_line
from pysirus._response.read import UnknownLabelError, class_codes, read_labels, read_numbers, read_weights
from pysirus._response.read_survival import Times, read_survival
from pysirus._weights.survival_error import censoring, count_pairs, integrated_brier_score

BRIER_TIMES = 50


@dataclass(frozen=True)
class Score:
    """How well a model predicts some rows.

    Attributes
    ----------
    figures : dict
        By name a figure and its standard error over the rows (None where there is none). Classes: ``accuracy``,
        ``balanced_accuracy``, ``auc`` (of more than two classes the mean of each against the rest), ``log_loss``,
        ``brier`` (of two classes the squared error of the second's probability, of more summed over classes),
        ``calibration_error`` (ten groups of equal size). Numbers: ``r2``, ``rmse``, ``mae``, ``unexplained_variance``.
        Times to an event: ``concordance``, ``integrated_brier`` (between the first and last decile of their times).
    n_rows : int
        Rows that weigh something.
    target : str
        What is predicted.
    """

    figures: Figures
    n_rows: int
    target: str

    def __getitem__(self, name: str) -> float:
        return self.figures[name][0]

    def __str__(self) -> str:
        return f"{one_line(self.target)}, {self.n_rows:,} rows\n\n{format_figures(self.figures)}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        figures = {name: {"value": value, "standard_error": error} for name, (value, error) in self.figures.items()}
        return {"target": self.target, "n_rows": self.n_rows, "figures": figures}


def score(model: Model, X: Any, y: Any, sample_weight: Any = None) -> Score:
    """Compare predictions with the truth; see ``RuleModel.figures``."""
    with without_weightless(X, y, sample_weight) as (X, y, sample_weight):
        table = model.align(X)
        weights = read_weights(sample_weight, table.n_rows)
        found = model.decision(table)
        if model.survival is not None:
            times = read_survival(y, table.n_rows)
            figures = _survival_figures(model.survival.hazard, found, times, weights)
            return Score(figures, table.n_rows, model.target)
        if model.classes is None:
            predicted = Predicted(found[:, None], read_numbers(y, table.n_rows), weights)
        else:
            predicted = Predicted(found, read_codes(model, y, table.n_rows), weights)
    return Score(figures_of(predicted, model.classes is not None), len(predicted.truth), model.target)


def _survival_figures(
    hazard: BaselineHazard, scores: NDArray[np.float64], times: Times, weights: NDArray[np.float64] | None
) -> Figures:
    """Concordance and integrated Brier score, from the first to the ninth decile of the times of these rows."""
    pairs = count_pairs(times.times, times.events, np.round(scores, 12), weights)
    at = np.unique(np.quantile(times.times, np.linspace(0.1, 0.9, BRIER_TIMES)))
    known = censoring(times.times, times.events, weights)
    survival = hazard.survival(scores, at)
    brier = integrated_brier_score(times.times, times.events, survival, at, known, weights)
    return {"concordance": (pairs.concordance, None), "integrated_brier": (brier, None)}


def read_codes(model: Model, y: Any, n_rows: int) -> NDArray[np.uint8]:
    """Labels as classes of the model."""
    labels = read_labels(y, n_rows)
    try:
        return class_codes(labels, model.labels)
    except UnknownLabelError:
        known = model.labels.tolist()
        unknown = next(label for label in labels.tolist() if label not in known or type(label) is not type(known[0]))
        shown = ", ".join(map(repr, known[:8])) + (", ..." if len(known) > 8 else "")
        raise DataError(f"y holds {unknown!r}, which is not a class of the model. Its classes are {shown}.") from None

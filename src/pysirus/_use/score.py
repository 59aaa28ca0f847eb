"""A model, rows and their targets in, metrics out; for training rows from the sums that the model keeps of them.

With ``z_r`` one where rule r applies, a prediction is ``c + sum_r b_r z_r``, so its squared error over the training
rows needs no more than the sums of y, of y squared, of y where a rule holds, and of the rows where two rules hold.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, mark_of_column
from pysirus._data.frame import take, without_weightless
from pysirus._families.read import check_weights, name_of, read_weights
from pysirus._families.row_metrics import Metrics, Predicted
from pysirus._learn.remember import Marks, mark_of_truth
from pysirus._learn.tuning.forward import read_times
from pysirus._model.held_out import format_metrics, metrics_html, metrics_line
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._runtime.sums import times
from pysirus._text.format import one_line
from pysirus._text.message import TIME, setting


@dataclass(frozen=True)
class Score:
    """How well a model predicts some rows.

    Attributes
    ----------
    metrics : dict
        By name a metric and its standard error over the rows (None where there is none). Classes: ``accuracy``,
        ``balanced_accuracy``, ``auc`` (of more than two classes the mean of each against the rest), ``log_loss``,
        ``brier`` (of two classes the squared error of the second's probability, of more summed over classes),
        ``calibration_error`` (ten groups of equal size). Numbers: ``r2``, ``rmse``, ``mae``, ``unexplained_variance``.
        Counts and amounts: ``d2`` (the share of the deviance that is explained, as scikit-learn's
        ``d2_tweedie_score``), ``mean_deviance``, ``rmse``, ``mae``, ``unexplained_deviance``.
        Times to an event: ``concordance``, ``integrated_brier`` (between the first and last decile of their times).
    n_rows : int
        Rows that weigh something.
    target : str
        What is predicted.
    weighted_by : str or None
        The name of the weights; None where every row counts once.
    later : Score or None
        The same of the rows that are later than all training rows, where the model knows their times.
    after : str or float, optional
        The last time of the training rows, where the times of these rows are known too.
    fingerprint : str, optional
        A number of 64 bits, of every value and target and its row.
    """

    metrics: Metrics
    n_rows: int
    target: str
    weighted_by: str | None = None
    later: Score | None = None
    after: str | float | None = None
    fingerprint: str | None = None

    def __getitem__(self, name: str) -> float:
        return self.metrics[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __contains__(self, name: object) -> bool:
        return name in self.metrics

    def _head(self) -> str:
        weighted = "" if self.weighted_by is None else f", weighted by {one_line(self.weighted_by)}"
        return f"{one_line(self.target)}, {self.n_rows:,} rows{weighted}"

    def __str__(self) -> str:
        later = [self.out_of_time] if self.after is not None else []
        return "\n\n".join([self._head(), format_metrics(self.metrics), *later])

    def _repr_html_(self) -> str:
        """The metrics for a notebook."""
        later = f"<p>{html.escape(self.out_of_time)}</p>" if self.after is not None else ""
        return metrics_html(self._head(), self.metrics) + later

    @property
    def out_of_time(self) -> str:
        """What the rows say that are later than the training rows, in a line."""
        after = f"{self.after:g}" if isinstance(self.after, float) else one_line(str(self.after))
        if self.later is None:
            return f"out of time: no row is after {after}, the last time of the training rows"
        return f"out of time: {self.later.n_rows:,} rows after {after}, {metrics_line(self.later.metrics)}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        metrics = {name: {"value": value, "standard_error": error} for name, (value, error) in self.metrics.items()}
        weighted = {} if self.weighted_by is None else {"weighted_by": self.weighted_by}
        told = {"target": self.target, "n_rows": self.n_rows, **weighted, "metrics": metrics}
        if self.after is not None:
            told["after"] = self.after
            told["later"] = None if self.later is None else self.later.to_dict()
        return told


class Rows(NamedTuple):
    """Some rows, their targets and weights, and what messages call them."""

    X: Any
    y: Any
    weights: Any = None
    name: str | None = None


class _Compared(NamedTuple):
    """Predictions of some rows, the truth, and the weights."""

    found: NDArray[np.float64]
    truth: NDArray[Any]
    weights: NDArray[np.float64] | None


def score(model: Model, X: Any, y: Any, sample_weight: Any = None) -> Score:
    """Compare predictions with the truth; see ``RuleModel.metrics``."""
    found = score_parts(model, [Rows(X, y, sample_weight)])
    weighted_by = None if sample_weight is None else name_of(sample_weight) or "sample_weight"
    return replace(found, weighted_by=weighted_by)


def with_later(model: Model, found: Score, rows: Rows, time: Any) -> Score:
    """The score of some rows, and of those of them that are later than all training rows."""
    last = model.facts.last_time
    if last is None:
        raise ParameterError(
            f"The model does not know the times of its training rows: tune with {setting('cv', 'forward')}."
        )
    when = read_times(time, len(rows.y))
    kind = when.dtype.kind
    if isinstance(last, str) != (kind in "UOM"):
        raise DataError(f"{TIME} is of another kind than in training, where the last one is {last!r}.")
    late = when > (np.datetime64(last) if kind == "M" else last)
    if not late.any():
        return replace(found, after=last)
    some = (None if data is None else take(data, late) for data in (rows.X, rows.y, rows.weights))
    return replace(found, after=last, later=score_parts(model, [Rows(*some)]))


def score_parts(model: Model, parts: Iterable[Rows]) -> Score:
    """The same for rows in parts, one at a time: of each only the predictions, the truth and the weights are kept."""
    found, marks = [], Marks.none(len(model.features))
    for part in parts:
        own, mark = _compare(model, part, marks.n_rows)
        found.append(own)
        marks += mark
    compared = _together(found)
    n_rows = len(compared.found)
    rows = Predicted(compared.found.reshape(n_rows, -1), compared.truth, read_weights(compared.weights, n_rows))
    return Score(model.family.score_metrics(rows), n_rows, model.target, fingerprint=marks.in_one())


def one_number(model: Model, found: Score) -> float:
    """What scikit-learn calls the score: D² of counts and amounts, R² of other numbers, accuracy, or concordance.

    Where the truth is constant, nothing is explained: 0, or 1 if every row is met.
    """
    name = model.family.score_metric
    return found[name] if name in found.metrics else float(found["rmse"] == 0)


def _compare(model: Model, rows: Rows, first_row: int) -> tuple[_Compared, Marks]:
    try:
        return _predict(model, rows, first_row)
    except DataError as error:
        if rows.name is None:
            raise
        raise DataError(f"{rows.name}: {error.message}") from error


def _predict(model: Model, rows: Rows, first_row: int) -> tuple[_Compared, Marks]:
    with without_weightless(rows.X, rows.y, rows.weights) as (X, y, sample_weight):
        table = model.align(X)
        n_rows = table.n_rows
        weights = None if sample_weight is None else check_weights(sample_weight, n_rows)
        found = model.decision(table)
        truth = model.family.read_truth(y, n_rows, model.labels)
        own = mark_of_truth(truth, model.classes, first_row)
        marks = Marks(n_rows, (*(mark_of_column(column, first_row).mark for column in table.columns), own, 0))
        return _Compared(found, truth, weights), marks


def _together(parts: Sequence[_Compared]) -> _Compared:
    """All rows; of several parts without those that weigh nothing, where a part has no others."""
    if not parts:
        raise DataError("There are no rows.")
    if len(parts) == 1:
        return parts[0]
    columns = [None if column[0] is None else np.concatenate(column) for column in zip(*parts)]
    together = _Compared(*columns)  # type: ignore[arg-type]
    if together.weights is None or together.weights.all() or not together.weights.any():
        return together
    weighing = together.weights > 0
    return _Compared(*(None if column is None else column[weighing] for column in together))  # type: ignore[arg-type]


def training_metrics(model: Model) -> Metrics | None:
    """R² and errors of the training rows, for numbers; None where the model keeps no sums."""
    moments = model.moments
    if moments is None or not model.family.is_least_squares or model.terms:
        return None
    rules = list(model.selected)
    if not model.family.adds_up or len(rules) > moments.n_rules:
        return None
    own = moments.take(range(len(rules)))  # of a tuned model they are those of the longest list
    inside, outside = (np.array([rule.added[side][0] for rule in rules]) for side in (0, 1))
    start = float(np.asarray(model.intercept)) + float(outside.sum()) - own.centre
    jumps = inside - outside
    total, y_sum = float(own.fold_weight.sum()), float(own.y_sum.sum())
    pairs, rule_y = own.pair_weight.sum(axis=0), own.rule_y_sum.sum(axis=0)[:, 0]
    squares = float(own.y_square.sum())
    left = squares - 2 * (start * y_sum + float(times(jumps, rule_y)))
    left += start * start * total + 2 * start * float(times(jumps, own.term_weight.sum(axis=0)))
    left += float(times(times(pairs, jumps), jumps))
    spread = squares - y_sum * y_sum / total  # a product: a power raises an error where it overflows
    if not spread > 0 or not np.isfinite(left):
        return None
    share = max(0.0, left / spread)
    return {"r2": (1 - share, None), "rmse": (float(np.sqrt(share * spread / total)), None)}

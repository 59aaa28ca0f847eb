"""A model, rows and their targets in, metrics and cut-offs out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, mark_of_column
from pysirus._data.frame import rows_that_count, take, which_count, without_weightless
from pysirus._families.base import Family
from pysirus._families.class_metrics import WORDS, Basis, Decision
from pysirus._families.read import check_weights, name_of, read_weights
from pysirus._families.row_metrics import Metrics, Predicted, weights_or_ones
from pysirus._learn.remember import Marks, mark_of_truth
from pysirus._learn.splits import read_times
from pysirus._model.held_out import Bins, bins_of, format_metrics, metrics_html, metrics_line
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, label_number
from pysirus._text.format import format_label, format_levels, html_lines, one_line, percents_apart, signed
from pysirus._text.message import TIME, Parameter, setting


@dataclass(frozen=True)
class Score:
    """Metrics of a model on some rows. Prints as a table.

    Attributes
    ----------
    metrics : dict
        Metrics by name, each with its standard error over the rows, or None.

        - classification: ``accuracy``, ``balanced_accuracy``, ``auc`` (with several classes, the mean of each class
          against the rest), ``log_loss``, ``brier`` (the squared error of the probability of the second class, or
          summed over several classes), ``calibration_error`` (ten groups of equal size)
        - regression: ``r2``, ``rmse``, ``mae``, ``unexplained_variance``
        - counts and amounts: ``d2`` (as scikit-learn's ``d2_tweedie_score``), ``mean_deviance``, ``rmse``, ``mae``,
          ``unexplained_deviance``
        - survival: ``concordance``, ``integrated_brier`` (between the first and last decile of the times)
    n_rows : int
        The number of rows with positive weight.
    target : str
        The name of the target.
    weighted_by : str or None
        The name of the weights; None if all rows have weight 1.
    later : Score or None
        The metrics of the rows later than all training rows, if the model knows the times.
    after : str or float, optional
        The last time in the training rows, if the times of the new rows are known too.
    fingerprint : str, optional
        A 64-bit fingerprint of all values and targets, in the order of the rows.
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
        later = html_lines(self.out_of_time) if self.after is not None else ""
        return metrics_html(self._head(), self.metrics) + later

    @property
    def out_of_time(self) -> str:
        """What the rows say that are later than the training rows, in a line."""
        after = f"{self.after:g}" if isinstance(self.after, float) else one_line(str(self.after))
        if self.later is None:
            return f"out of time: no row is after {after}, the last time of the training rows"
        return f"out of time: {self.later.n_rows:,} rows after {after}, {metrics_line(self.later.metrics)}"

    def to_dict(self) -> dict[str, Any]:
        """The metrics as plain data, ready for JSON."""
        metrics = {name: {"value": value, "standard_error": error} for name, (value, error) in self.metrics.items()}
        weighted = {} if self.weighted_by is None else {"weighted_by": self.weighted_by}
        told = {"target": self.target, "n_rows": self.n_rows, **weighted, "metrics": metrics}
        if self.after is not None:
            told["after"] = self.after
            told["later"] = None if self.later is None else self.later.to_dict()
        return told


class Rows(NamedTuple):
    """Some rows, their targets and weights, what messages call them, and their times where these are asked for."""

    X: Any
    y: Any
    weights: Any = None
    name: str | None = None
    time: Any = None


class _Compared(NamedTuple):
    """Predictions of some rows, the truth, and the weights."""

    found: NDArray[np.float64]
    truth: NDArray[Any]
    weights: NDArray[np.float64] | None


def score(model: Model, X: Any, y: Any, sample_weight: Any = None, time: Any = None) -> Score:
    """Compare predictions with the truth; see ``RuleModel.metrics``."""
    found = score_parts(model, [Rows(X, y, sample_weight, time=time)])
    weighted_by = None if sample_weight is None else name_of(sample_weight) or "sample_weight"
    return replace(found, weighted_by=weighted_by)


def score_parts(model: Model, parts: Iterable[Rows]) -> Score:
    """The same for rows in parts, one at a time: of each only the predictions, the truth and the weights are kept.

    Of rows with times also for those that are later than all training rows.
    """
    found, late, marks, timed = [], [], Marks.none(len(model.features)), False
    for part in parts:
        own, mark = _compare(model, part, marks.n_rows)
        found.append(own)
        marks += mark
        if part.time is not None:
            timed, rest = True, _later(model, part)
            late += [] if rest is None else [_compare(model, rest, 0)[0]]
    whole = _scored(model, found)
    return replace(
        whole,
        later=_scored(model, late) if late else None,
        after=model.facts.last_time if timed else None,
        fingerprint=marks.in_one(),
    )


def with_truth(rows: Rows) -> Rows:
    """The rows that weigh something and have a target."""
    counting = which_count(rows.y, rows.weights, need_target=True)
    if counting is None:
        return rows
    X, y, weights, time = (None if own is None else take(own, counting) for own in (*rows[:3], rows.time))
    return Rows(X, y, weights, rows.name, time)


def score_known(model: Model, rows: Rows) -> Score:
    """The same for the rows that weigh something and have a target."""
    kept, time = which_count(rows.y, rows.weights, need_target=True), rows.time
    if time is not None and kept is not None and kept.any():
        time = take(time, kept)
    with rows_that_count(rows.X, rows.y, rows.weights, need_target=True) as taken:
        return score_parts(model, [Rows(*taken, time=time)])


def _later(model: Model, rows: Rows) -> Rows | None:
    """The rows that are later than all training rows; None where there are none."""
    last = model.facts.last_time
    if last is None:
        raise ParameterError(
            f"The model does not know the times of its training rows: tune with {setting('cv', 'forward')}."
        )
    when = read_times(rows.time, len(rows.y))
    kind = when.dtype.kind
    if isinstance(last, str) != (kind in "UOM"):
        raise DataError(f"{TIME} is of another kind than in training, where the last one is {last!r}.")
    late = when > (np.datetime64(last) if kind == "M" else last)
    if not late.any():
        return None
    X, y, weights = (None if data is None else take(data, late) for data in rows[:3])
    return Rows(X, y, weights, rows.name)


def _scored(model: Model, parts: Sequence[_Compared]) -> Score:
    """The metrics of rows that were compared."""
    compared = _together(parts)
    n_rows = len(compared.found)
    rows = Predicted(compared.found.reshape(n_rows, -1), compared.truth, read_weights(compared.weights, n_rows))
    return Score(model.family.score_metrics(rows), n_rows, model.target)


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


# ------------------------------------------------------------------------------------------------------------- cut-offs

# A model of classes and costs, or a rate, in, the model that decides by them out.
#
# Of two classes the cut-off is chosen on rows that the rules have not seen: the held-out rows of cross-validation,
# which a tuned model keeps in up to 200 groups of equal probability, or rows that are given. Where there are neither,
# the costs alone decide, as they would for probabilities that are right. Below is how the decision about one row is
# told.


Fitted = TypeVar("Fitted", bound=Model)
Floats = NDArray[np.float64]
MOST_DECIMALS = 12  # with more, a sum of floats says nothing
MOST_NAMED = 4  # classes whose probabilities are told in a line
MOST_GIVEN = 1_000_000  # groups of equal probability among rows that are given: all


def decide(
    model: Fitted,
    costs: Mapping[Any, float] | None = None,
    rate: float | None = None,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
) -> Fitted:
    """The model that decides by costs or by a rate; see ``RuleModel.decide``."""
    if model.classes is None or len(model.classes) < 2:
        raise ParameterError(f"Decisions are between classes, and this model predicts {model.family.predicts}.")
    if costs is None and rate is None:
        return replace(model, family=model.family.deciding_by(None))
    if costs is not None and rate is not None:
        raise ParameterError(f"Give {Parameter('costs')} or {Parameter('rate')}, not both.")
    prices = None if costs is None else _costs(model, costs)
    _check_rate(model, rate)
    found = _groups(model, X, y, sample_weight)
    if found is None and prices is None:
        raise ParameterError(
            f"A {Parameter('rate')} needs rows: this model was not tuned, so it has no held-out rows. Give rows that "
            "it was not fitted on."
        )
    if found is None or len(model.classes) > 2:
        assert prices is not None
        total = sum(prices)
        decision = Decision(tuple(price / total for price in prices), costs=prices)
    else:
        decision = _chosen(model, *found, prices, rate)
    return replace(model, family=model.family.deciding_by(decision))


def class_number(model: Model, label: Any, parameter: str) -> int | None:
    """The number of a class by its label, or by its text; None where none is said."""
    if label is None:
        return None
    if model.classes is None:
        raise ParameterError(f"{Parameter(parameter)} is a class, and this model predicts {model.family.predicts}.")
    found = label_number(label, model.classes)
    if found is None and isinstance(label, str):
        found = next((k for k, own in enumerate(model.classes) if str(own) == label), None)
    if found is None:
        raise ParameterError(
            f"{Parameter(parameter)} must be one of the classes {one_line(format_levels(model.classes[:10]))}, "
            f"got {label!r}."
        )
    return found


def _costs(model: Model, costs: Any) -> tuple[float, ...]:
    """The cost of a mistake about a row of each class, in the order of the classes."""
    if not isinstance(costs, Mapping):
        raise ParameterError(f"{Parameter('costs')} must be a dict from classes to numbers, got {costs!r}.")
    labels = model.classes or ()
    found: dict[int | None, Any] = {class_number(model, label, "costs"): cost for label, cost in costs.items()}
    absent = [label for k, label in enumerate(labels) if k not in found]
    if absent:
        raise ParameterError(f"{Parameter('costs')} must have every class; it lacks {one_line(format_levels(absent))}.")
    for k, cost in found.items():
        real = isinstance(cost, (int, float, np.integer, np.floating)) and not isinstance(cost, bool)
        if not real or not 0 < cost < 1e12:
            assert k is not None
            raise ParameterError(f"{Parameter('costs')} must be numbers above 0, got {cost!r} for {labels[k]!r}.")
    return tuple(float(found[k]) for k in range(len(labels)))


def _check_rate(model: Model, rate: Any) -> None:
    if rate is None:
        return
    if len(model.classes or ()) > 2:
        raise ParameterError(f"A {Parameter('rate')} is for two classes; give {Parameter('costs')}.")
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < 1:
        raise ParameterError(f"{Parameter('rate')} must be a number between 0 and 1 (both excluded), got {rate!r}.")


def _groups(model: Model, X: Any, y: Any, sample_weight: Any) -> tuple[Bins, Basis] | None:
    """Rows by the probability of the second class: those that are given, or held-out ones; None without either."""
    if X is not None or y is not None:
        if X is None or y is None:
            raise ParameterError("To choose a cut-off on rows give both X and y.")
        table = model.align(X)
        truth = model.family.read_truth(y, table.n_rows, model.labels)
        weights = weights_or_ones(None if sample_weight is None else np.asarray(sample_weight, dtype=float), truth)
        return bins_of(1, model.decision(table)[:, 1], truth == 1, weights, MOST_GIVEN), "given rows"
    held = model.out_of_fold
    if held is None or not held.bins:
        return None
    return held.bins[0], "held-out rows"


def _chosen(model: Model, rows: Bins, basis: Basis, costs: tuple[float, ...] | None, rate: float | None) -> Decision:
    """The cut-off of least cost, or whose rate is nearest; of equal ones the nearest to that of the costs, or lower."""
    ends = np.concatenate([[0.0], (rows.probability[1:] + rows.probability[:-1]) / 2, [1.0]])
    total = float((rows.members + rows.others).sum())

    def above(values: Floats) -> Floats:
        return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])

    second = above(rows.members + rows.others) / total
    selected = second if model.positive == 1 else 1 - second
    if costs is None:
        assert rate is not None
        best = int(np.argmin(np.abs(selected - rate)))
        return Decision((ends[best], 1 - ends[best]), basis, rate=rate, selected=float(selected[best]))
    missed = float(rows.members.sum()) - above(rows.members)
    paid = (costs[1] * missed + costs[0] * above(rows.others)) / total
    ratio = costs[0] / sum(costs)
    order = np.lexsort((np.abs(ends - ratio), np.round(paid, 12)))
    best, even = int(order[0]), int(np.searchsorted(rows.probability, 0.5, side="right"))
    shown = {"selected": float(selected[best]), "cost": float(paid[best]), "cost_before": float(paid[even])}
    return Decision((float(ends[best]), float(1 - ends[best])), basis, costs, **shown)


# ------------------------------------------------------------------------------------------------------------ one row


def told_class(family: Family, k: int) -> int:
    """The class in whose score class k is told: of two classes the positive one, everywhere."""
    return family.positive if len(family.classes or ()) == 2 else k


def cutoff_of(family: Family) -> tuple[float, float] | None:
    """Of two classes the probability above which the positive one is decided for, and its score there; else None."""
    if len(family.classes or ()) != 2:
        return None
    k, by = family.positive, family.decides_by
    share = 0.5 if by is None else by.cutoff(k)
    return share, share if not family.is_scored else 0.0 if by is None else by.cutoff_odds(k)


def decimals_apart(family: Family, values: Floats) -> int:
    """Decimals, at least two, in which the score of a row [output] and that of the cut-off do not print alike."""
    cutoff = cutoff_of(family)
    if cutoff is None:
        return 2
    own = float(values[family.positive])
    if family.is_scored:
        own = math.log(own / (1 - own)) if 0 < own < 1 else math.inf
    return next((n for n in range(2, MOST_DECIMALS) if signed(own, n) != signed(cutoff[1], n)), 2)


def chosen_by(family: Family) -> str:
    """What the cut-off was chosen by, in words."""
    by = family.decides_by
    if by is None:
        return "by the most likely class"
    return "; ".join(text for text in (by.asked(family.classes or ()), WORDS[by.basis]) if text)


def decided(family: Family, values: Floats) -> dict[str, Any]:
    """What is predicted of a row [output], as plain data; of classes the decision and the cut-off that made it."""
    labels = [label.item() if hasattr(label, "item") else label for label in family.classes or ()]
    if not labels:
        return {"prediction": float(values[0])}
    found, k, cutoff = {"decision": labels[int(family.choose(values[None])[0])]}, family.positive, cutoff_of(family)
    if cutoff is not None:
        told = {"class": labels[k], "probability": float(values[k]), "cutoff": cutoff[0], "cutoff_score": cutoff[1]}
        return {**found, **told}
    shares = dict(zip(map(str, labels), values.tolist()))
    weights = {} if family.decides_by is None else dict(zip(map(str, labels), family.decides_by.weights))
    return {**found, "probabilities": shares, **({"weights": weights} if weights else {})}


def decided_text(family: Family, values: Floats, *, whole: bool = True) -> str:
    """The same in a line; ``whole`` with what the cut-off was chosen by."""
    if not family.classes:
        equals = " " if family.has_hazard else " = "  # a factor says what it multiplies
        return one_line(f"prediction: {family.prediction_header(0)}{equals}{family.prediction_texts(values[:1])[0]}")
    names, by, cutoff = [format_label(label) for label in family.classes], family.decides_by, cutoff_of(family)
    if cutoff is not None:
        k, (share, score) = family.positive, cutoff
        first, second = percents_apart(float(values[k]), share)
        at = f" (log-odds {family.point_text(score, decimals_apart(family, values))})" if family.is_scored else ""
        said = f"Probability of {names[k]}: {first}, decided for above {second}{at}"
    else:
        weights = np.ones(len(values)) if by is None else np.array(by.weights)
        order = np.argsort(-values * weights, kind="stable")[:MOST_NAMED].tolist()
        times = [f" x {weights[j]:.3g}" if by is not None else "" for j in order]
        shown = ", ".join(f"{names[j]} {100 * values[j]:.1f}%{own}" for j, own in zip(order, times))
        said = f"Probabilities: {shown}{', ...' if len(values) > MOST_NAMED else ''}"
        said += "; by the largest product" if by else ""
    return one_line(
        f"decision: {names[int(family.choose(values[None])[0])]}. {said}{f'; {chosen_by(family)}' if whole else ''}"
    )

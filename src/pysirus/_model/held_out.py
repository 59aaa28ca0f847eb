"""What held-out rows say of a model, as it remembers it: metrics, and for classes how probabilities came true.

It stands in a model's facts as plain data (``out_of_fold``), which older versions keep without knowing it. Read from a
file, all of it is checked: the names of metrics, the number of numbers, and that weights are weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.class_metrics import MOST_CLASSES
from pysirus._families.row_metrics import Metrics
from pysirus._model.keys import key, option, record
from pysirus._model.kinds import ensure, fixed, items, line, map_of, nullable, number, number_line, one_of, read_line
from pysirus._text.format import format_number, html_lines, html_table, text_table

Floats = NDArray[np.float64]

# what a metric is called
METRICS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "r2": "R²",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "unexplained_variance": "unexplained variance",
    "d2": "D²",
    "mean_deviance": "mean deviance",
    "unexplained_deviance": "unexplained deviance",
    "concordance": "concordance",
    "integrated_brier": "integrated Brier score",
}
LEAST_SIGNAL = 2.0  # standard errors; below, nothing was learned
CLEAR_SHARE = (
    0.5  # of the constant's error; noise took away at most 0.05 (100 tables of 300 rows) and 0.27 (60 of 30 rows)
)
PERCENT = ("accuracy", "balanced_accuracy")
MOST_BINS = 200  # of probabilities, for two classes


def format_metrics(metrics: Metrics) -> str:
    """Metrics as a table, with their standard errors where they are known."""
    rows = [[METRICS[name], *metric_texts(name, *pair)] for name, pair in metrics.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        f"{name:<{widths[0]}}  {value:>{widths[1]}}{f' ± {error}' if error else ''}" for name, value, error in rows
    ]
    return "\n".join(lines)


def metrics_html(head: str, metrics: Metrics) -> str:
    """The same for a notebook, below a line that says of which rows."""
    rows = [[METRICS[name], *metric_texts(name, *pair)] for name, pair in metrics.items()]
    return html_lines(head) + html_table(["metric", "value", "standard error"], rows)


def metrics_line(metrics: Metrics) -> str:
    """Metrics in a line, without their standard errors."""
    return ", ".join(f"{METRICS[name]} {metric_texts(name, *pair)[0]}" for name, pair in metrics.items())


def metric_texts(name: str, value: float, error: float | None) -> list[str]:
    """A metric and its standard error as text."""
    if name in PERCENT:
        return [f"{100 * value:.1f}%", "" if error is None else f"{100 * error:.1f}%"]
    if name in ("rmse", "mae", "mean_deviance"):
        return [format_number(value, 4), "" if error is None else format_number(error, 2)]
    return [f"{value:.3f}", "" if error is None else f"{error:.3f}"]


def _short_line(values: Floats) -> str:
    """Numbers to six digits, in a line of text."""
    return number_line([float(f"{value:.6g}") for value in values.tolist()])


Line = Annotated[Any, line(_short_line)]


@dataclass(frozen=True)
class Bins:
    """Rows grouped by the probability of one class that was predicted for them."""

    code: int = key("Position of the class.", name="class", low=0, high=255)
    probability: Line = key("The mean probability of each group, rising.")
    members: Line = key("The weight of its rows that are of the class.")
    others: Line = key("The weight of its other rows.")

    @staticmethod
    def build(own: dict[str, Any], place: str, n_classes: int) -> Bins:
        """Of one of so many classes; a ``Damage`` where its lines do not go together."""
        ensure(own["code"] < n_classes, f"{place}.class", f"must be that of one of {n_classes} classes")
        count = own["probability"].count(" ") + 1
        ensure(count <= MOST_BINS, place, f"must have at most {MOST_BINS} probabilities")
        probability = read_line(own["probability"], count, f"{place}.probability")
        rising = bool((probability >= 0).all() and (probability <= 1).all() and (np.diff(probability) >= 0).all())
        ensure(rising, f"{place}.probability", "must rise from 0 to 1")
        members, others = (_weights(own[name], count, f"{place}.{name}") for name in ("members", "others"))
        ensure(float((members + others).sum()) > 0, place, "must have rows")
        return Bins(own["code"], probability, members, others)


def _weights(text: str, count: int, place: str) -> Floats:
    values = read_line(text, count, place)
    ensure(bool((values >= 0).all()), place, "must be weights of rows")
    return values


@dataclass(frozen=True)
class Forward:
    """How lists that were learned from the rows before a period predict it."""

    period: str = key("The period.")
    n_before: int = key("Rows before it.", low=0)
    n_rows: int = key("Rows of it.", low=0)
    metric: Annotated[str, one_of(*METRICS)] = key("What was measured.")
    value: float | None = key("The metric; null where the target does not vary.")
    standard_error: float | None = key("Its standard error, or null.")


def forward_rows(forward: Sequence[Forward]) -> tuple[list[str], list[list[str]]]:
    """A header and a row for each period."""
    rows = [[own.period, f"{own.n_before:,}", f"{own.n_rows:,}", _measured(own)] for own in forward]
    return ["period", "rows before", "rows", METRICS[forward[0].metric]], rows


def _measured(own: Forward) -> str:
    return (
        "" if own.value is None else " ± ".join(filter(None, metric_texts(own.metric, own.value, own.standard_error)))
    )


@dataclass(frozen=True)
class HeldOut:
    """What held-out rows say of lists like that of a model: each row was predicted by a list of the other folds."""

    n_rules: int = key("Rules of the lists, those of weight 0 included.", low=0)
    n_folds: int = key("Folds.", low=2)
    n_repeats: int = key("Repetitions of cross-validation.", low=1)
    metrics: Annotated[Metrics, map_of(fixed(number(), nullable(number())), tuple(METRICS))] = key(
        "Metrics by name: each with its standard error, or null.", name="figures"
    )
    gain: tuple[float, float] | None = option(
        "The share of the constant's error that the list takes away, and its signal in standard errors."
    )
    variance: float | None = option("Of the target of regression.", low=0)
    bins: tuple[Bins, ...] = key("Of two classes the second, of more an entry for each class.", absent=())
    confusion: Annotated[Any, items(line(_short_line))] = option(
        "For each class a line: the weight of its rows by the class that was predicted."
    )
    forward: tuple[Forward, ...] = key("Of folds that look forward in time: each period that was held out.", absent=())

    @property
    def learned(self) -> bool | None:
        """Whether the list is better than the constant, by a signal of two standard errors; None where not known.

        Where a few rows have most of the variance, no signal is large. So a gain that chance does not give is enough.
        """
        if self.gain is None:
            return None
        share, signal = self.gain
        return share > CLEAR_SHARE or (share > 0 and signal > LEAST_SIGNAL)

    @property
    def doubt(self) -> str:
        """A sentence, where nothing was learned; else nothing."""
        if self.gain is None or self.learned:
            return ""
        share, signal = self.gain
        return (
            "Nothing was learned: held-out rows are predicted no better than by the constant, or no better than by "
            f"chance (error {abs(share):.1%} {'below' if share > 0 else 'above'} the constant's, signal of "
            f"{signal:.1f} standard errors)."
        )

    @property
    def how(self) -> str:
        """How the metrics came about, in words."""
        repeats = f", {self.n_repeats} times" if self.n_repeats > 1 else ""
        if self.forward:
            return f"out of time: {self.n_folds} periods, each predicted from the rows before it{repeats}"
        return f"{self.n_folds}-fold cross-validation{repeats}"

    def _repr_html_(self) -> str:
        """The metrics for a notebook."""
        forward = html_table(*forward_rows(self.forward)) if self.forward else ""
        doubt = html_lines(self.doubt) if self.doubt else ""
        return metrics_html(self.how, self.metrics) + forward + doubt

    def __str__(self) -> str:
        doubt = f"\n\n{self.doubt}" if self.doubt else ""
        forward = f"\n\n{text_table(*forward_rows(self.forward))}" if self.forward else ""
        return f"{self.how}\n\n{format_metrics(self.metrics)}{forward}{doubt}"

    @staticmethod
    def build(own: dict[str, Any], place: str, n_classes: int) -> HeldOut:
        """Of a model of so many classes, 0 for regression; a ``Damage`` where it is of others."""
        most = min(n_classes, MOST_CLASSES)
        ensure(len(own["bins"]) <= most, f"{place}.bins", "has more entries than classes")
        lines, here = own.pop("confusion"), f"{place}.confusion"
        ensure(lines is None or len(lines) == n_classes, here, f"must have {n_classes} lines")
        rows = [_weights(text, n_classes, f"{here}[{i}]") for i, text in enumerate(lines or ())]
        return HeldOut(**own, confusion=None if lines is None else np.array(rows))

    def to_facts(self) -> dict[str, Any]:
        """As plain data."""
        written: dict[str, Any] = record(HeldOut).write(self)
        return written


def held_out_from(d: Mapping[str, Any] | None, n_classes: int) -> HeldOut | None:
    """What held-out rows say, from the facts; a ``Damage`` if it does not fit the classes (0 for regression)."""
    found: HeldOut | None = None if d is None else record(HeldOut).read(d, "facts.out_of_fold", n_classes)
    return found


def bins_of(code: int, probability: Floats, member: NDArray[np.bool_], weights: Floats, most: int) -> Bins:
    """Rows in groups of about equal weight by their probability; equal ones stay together."""
    distinct, place = np.unique(np.round(probability, 12), return_inverse=True)
    every = (weights * member, weights * ~member, weights * probability)
    members, others, sums = (np.asarray(np.bincount(place, own, len(distinct)), np.float64) for own in every)
    return bins_of_sums(code, members, others, sums, most)


def bins_of_sums(code: int, members: Floats, others: Floats, sums: Floats, most: int) -> Bins:
    """The same of distinct probabilities, rising: what rows of each weigh, and that times the probability."""
    mass = members + others
    before = np.cumsum(mass) - mass
    group = np.minimum((most * before / mass.sum()).astype(np.intp), most - 1)
    _, group = np.unique(group, return_inverse=True)
    n = int(group.max()) + 1
    total, members, sums = (np.asarray(np.bincount(group, own, n), np.float64) for own in (mass, members, sums))
    mean = sums / total
    return Bins(code, np.clip(np.maximum.accumulate(mean), 0.0, 1.0), members, total - members)

"""What held-out rows say of a model, as it remembers it: figures, and for classes how probabilities came true.

It stands in a model's facts as plain data (``out_of_fold``), which older versions keep without knowing it. Read from a
file, all of it is checked: the names of figures, the number of numbers, and that weights are weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.metrics.rows import Metrics
from pysirus._format import format_number
from pysirus._model.fields import Damage, ensure, fields, items, number, optional, text, whole
from pysirus._model.moment_text import number_line, read_line

Floats = NDArray[np.float64]

# what a figure is called
FIGURES = {
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
MOST_CLASSES = 20  # with bins of their own


def format_figures(figures: Metrics) -> str:
    """Metrics as a table, with their standard errors where they are known."""
    rows = [[FIGURES[name], *figure_texts(name, *pair)] for name, pair in figures.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        f"{name:<{widths[0]}}  {value:>{widths[1]}}{f' ± {error}' if error else ''}" for name, value, error in rows
    ]
    return "\n".join(lines)


def figures_line(figures: Metrics) -> str:
    """Metrics in a line, without their standard errors."""
    return ", ".join(f"{FIGURES[name]} {figure_texts(name, *pair)[0]}" for name, pair in figures.items())


def figure_texts(name: str, value: float, error: float | None) -> list[str]:
    """A figure and its standard error as text."""
    if name in PERCENT:
        return [f"{100 * value:.1f}%", "" if error is None else f"{100 * error:.1f}%"]
    if name in ("rmse", "mae", "mean_deviance"):
        return [format_number(value, 4), "" if error is None else format_number(error, 2)]
    return [f"{value:.3f}", "" if error is None else f"{error:.3f}"]


@dataclass(frozen=True)
class Bins:
    """Probabilities of one class, rising, and the weight of its members and of other rows that got them."""

    code: int  # of the class
    probability: Floats
    members: Floats
    others: Floats


@dataclass(frozen=True)
class HeldOut:
    """What held-out rows say of lists like that of a model: each row was predicted by a list of the other folds."""

    n_rules: int  # of the list, weight zero included
    n_folds: int
    n_repeats: int
    figures: Metrics
    bins: tuple[Bins, ...] = ()  # of two classes that of the second, of more one each
    confusion: Floats | None = None  # [class, predicted class], weight of rows
    gain: tuple[float, float] | None = None  # share of the constant's error, and signal in standard errors
    variance: float | None = None  # of a target of numbers

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
        """How the figures came about, in words."""
        repeats = f", {self.n_repeats} times" if self.n_repeats > 1 else ""
        return f"{self.n_folds}-fold cross-validation{repeats}"

    def __str__(self) -> str:
        doubt = f"\n\n{self.doubt}" if self.doubt else ""
        return f"{self.how}\n\n{format_figures(self.figures)}{doubt}"

    def to_facts(self) -> dict[str, Any]:
        """As plain data."""
        facts: dict[str, Any] = {
            "n_rules": self.n_rules,
            "n_folds": self.n_folds,
            "n_repeats": self.n_repeats,
            "figures": {name: list(pair) for name, pair in self.figures.items()},
        }
        if self.gain is not None:
            facts["gain"] = list(self.gain)
        if self.variance is not None:
            facts["variance"] = self.variance
        if self.bins:
            facts["bins"] = [
                {
                    "class": own.code,
                    "probability": _short_line(own.probability),
                    "members": _short_line(own.members),
                    "others": _short_line(own.others),
                }
                for own in self.bins
            ]
        if self.confusion is not None:
            facts["confusion"] = [_short_line(row) for row in self.confusion]
        return facts


def _short_line(values: Floats) -> str:
    """Numbers to six digits, in a line of text."""
    return number_line([float(f"{value:.6g}") for value in values.tolist()])


# ------------------------------------------------------------------------------------------------------ and back


def _figures(value: Any, place: str) -> None:
    if not isinstance(value, dict) or not set(value) <= set(FIGURES):
        raise Damage(f"{place} must be an object of {', '.join(FIGURES)}")
    for name, pair in value.items():
        items(optional(number()), length=2)(pair, f"{place}.{name}")
        number()(pair[0], f"{place}.{name}[0]")


OUT_OF_FOLD = fields(
    {"n_rules": whole(0), "n_folds": whole(2), "n_repeats": whole(1), "figures": _figures},
    besides={
        "bins": items(fields({"class": whole(0, 255), "probability": text, "members": text, "others": text})),
        "confusion": items(text),
        "gain": items(number(), length=2),
        "variance": number(),
    },
)


def held_out_from(d: Mapping[str, Any] | None, n_classes: int) -> HeldOut | None:
    """The out-of-fold figures among the facts; a ``Damage`` if they do not fit the classes (0 for numbers)."""
    if d is None:
        return None
    bins = d.get("bins", [])
    ensure(len(bins) <= min(n_classes, MOST_CLASSES), "facts.out_of_fold.bins", "has more entries than classes")
    confusion = d.get("confusion")
    if confusion is not None:
        ensure(len(confusion) == n_classes, "facts.out_of_fold.confusion", f"must have {n_classes} lines")
        place = "facts.out_of_fold.confusion"
        confusion = np.array([_weights(line, n_classes, f"{place}[{i}]") for i, line in enumerate(confusion)])
    figures = {name: (float(value), None if se is None else float(se)) for name, (value, se) in d["figures"].items()}
    own = tuple(_bins(each, n_classes, f"facts.out_of_fold.bins[{i}]") for i, each in enumerate(bins))
    gain = None if d.get("gain") is None else (float(d["gain"][0]), float(d["gain"][1]))
    variance = None if d.get("variance") is None else float(d["variance"])
    ensure(variance is None or variance >= 0, "facts.out_of_fold.variance", "must be that of numbers")
    return HeldOut(d["n_rules"], d["n_folds"], d["n_repeats"], figures, own, confusion, gain, variance)


def _weights(line: str, count: int, place: str) -> Floats:
    values = read_line(line, count, place)
    ensure(bool((values >= 0).all()), place, "must be weights of rows")
    return values


def _bins(d: Mapping[str, Any], n_classes: int, place: str) -> Bins:
    ensure(d["class"] < n_classes, f"{place}.class", f"must be that of one of {n_classes} classes")
    count = d["probability"].count(" ") + 1
    ensure(count <= MOST_BINS, place, f"must have at most {MOST_BINS} probabilities")
    probability = read_line(d["probability"], count, f"{place}.probability")
    rising = bool((probability >= 0).all() and (probability <= 1).all() and (np.diff(probability) >= 0).all())
    ensure(rising, f"{place}.probability", "must rise from 0 to 1")
    members, others = (_weights(d[name], count, f"{place}.{name}") for name in ("members", "others"))
    ensure(float((members + others).sum()) > 0, place, "must have rows")
    return Bins(d["class"], probability, members, others)


def bins_of(code: int, probability: Floats, member: NDArray[np.bool_], weights: Floats, most: int) -> Bins:
    """Rows in groups of about equal weight by their probability; equal ones stay together."""
    distinct, place = np.unique(np.round(probability, 12), return_inverse=True)
    mass = np.bincount(place, weights, len(distinct))
    before = np.cumsum(mass) - mass
    group = np.minimum((most * before / mass.sum()).astype(np.intp), most - 1)[place]
    _, group = np.unique(group, return_inverse=True)
    n = int(group.max()) + 1
    total, members, sums = (
        np.asarray(np.bincount(group, mass, n), dtype=np.float64)
        for mass in (weights, weights * member, weights * probability)
    )
    mean = sums / total
    return Bins(code, np.clip(np.maximum.accumulate(mean), 0.0, 1.0), members, total - members)

"""What a model file says of its target in, the family out; and the two families without a likelihood of single rows.

Times to an event are compared with each other. Classes with equal weights are predicted by the mean of the class
proportions of rules, which ranks rows and is no probability: the form of the authors' paper on classification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.base import START_DIGITS, Family, Task, start_texts
from pysirus._families.class_metrics import brier_losses
from pysirus._families.classes import Binomial, ClassFamily, Multinomial
from pysirus._families.links import (
    LABELS,
    ON_HAZARD,
    EffectScale,
    Floats,
    Form,
    Link,
    RulePart,
    fold_labels,
    format_factors,
    median_text,
    median_texts,
    unit_of,
)
from pysirus._families.numbers import Gamma, Gaussian, LogMean, Poisson, Tweedie, WeightedMean
from pysirus._families.row_metrics import Metrics, Predicted, censoring, integrated_brier_score
from pysirus._families.survival import read_survival
from pysirus._families.target import TimeTarget
from pysirus._text.format import format_number, format_percents, format_shares, one_line

if TYPE_CHECKING:
    from pysirus._weights.survival import Survival

BRIER_TIMES = 50


@dataclass(frozen=True)
class Cox(TimeTarget, Family):
    """A time for each row, and whether it ended with an event."""

    name: ClassVar[str] = "cox"
    task: ClassVar[Task] = "survival"
    link: ClassVar[Link] = "hazard"
    error_name: ClassVar[str] = "2 (1 - concordance)"
    score_metric: ClassVar[str] = "concordance"
    edit_metric: ClassVar[str] = "concordance"
    prediction_name: ClassVar[str] = "risk score"
    tells_totals: ClassVar[bool] = False
    value_name: ClassVar[str] = "risk score"
    number_names: ClassVar[tuple[str, ...]] = ("hazard if so", "hazard if not", "events if so", "events if not")
    has_hazard: ClassVar[bool] = True
    folds_compare: ClassVar[bool] = False  # each has a baseline of its own
    predicts: ClassVar[str] = "times to an event"
    effect_scale: ClassVar[EffectScale | None] = ON_HAZARD

    events: Survival = None  # type: ignore[assignment]  # known after the fit
    asked_event: Any = None  # for the fit

    @property
    def event_value(self) -> Any:
        """That which was asked for, or which a fitted model remembers."""
        return self.asked_event if self.events is None else self.events.event_value

    @property
    def residual_power(self) -> None:
        """None: what is expected depends on the time."""
        return None

    def residuals(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """Events less those that the hazard expects until the time of a row."""
        expected = _core.exp(values[:, 0]) * self.required_survival.hazard.at(truth["time"])
        return np.asarray(self.watched(truth) - expected[:, None])

    def score_metrics(self, rows: Predicted) -> Metrics:
        """Also the integrated Brier score, from the first to the ninth decile of the times of these rows."""
        times, events, scores = rows.truth["time"], rows.truth["event"], rows.values[:, 0]
        at = np.unique(np.quantile(times, np.linspace(0.1, 0.9, BRIER_TIMES)))
        known = censoring(times, events, rows.weights)
        survival = self.required_survival.hazard.survival(scores, at)
        brier = integrated_brier_score(times, events, survival, at, known, rows.weights)
        return {**self.metrics([rows]), "integrated_brier": (brier, None)}

    @property
    def survival(self) -> Survival:
        """The baseline hazard, the number of events and the median time."""
        return self.events

    @property
    def required_survival(self) -> Survival:
        """The same."""
        return self.events

    def with_hazard(self, cumulative: Sequence[float] | None) -> Cox:
        """With another cumulative hazard, at the same times."""
        return self if cumulative is None else replace(self, events=self.events.with_hazard(cumulative))

    @property
    def kind_text(self) -> str:
        """Times."""
        return "times to an event"

    @property
    def scale(self) -> str:
        """The logarithm of the hazard."""
        return "logarithm of the hazard"

    @property
    def adds_name(self) -> str:
        """By what rules multiply."""
        return "hazard"

    @property
    def effect_name(self) -> str:
        """Effects are measured in the logarithm of the hazard."""
        return self.scale

    @property
    def parts_name(self) -> str:
        """Factors."""
        return "Factors of the hazard"

    @property
    def points_names(self) -> list[str]:
        """By what each rule multiplies."""
        return ["factor"]

    def point_text(self, value: float, decimals: int = 2) -> str:
        """A factor."""
        return format_factors([value])[0]

    def prediction_texts(self, values: Floats) -> list[str]:
        """Factors."""
        return list(format_factors(values.tolist()))

    def prediction_text(self, value: float) -> str:
        """By what factor the hazard is that of an average row."""
        return f"hazard {format_factors([value])[0]}"

    def prediction_header(self, k: int) -> str:
        """The hazard, relative to that of an average row."""
        return "hazard"

    def outputs(self, rule: RulePart, *, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """Median times."""
        assert rule.survival is not None
        return median_texts(rule.survival, unit_of(self.target))

    def points_texts(self, points: Sequence[float]) -> tuple[str, str]:
        """Factors of the hazard."""
        first, second = format_factors(points)
        return first, second

    @property
    def outcome_text(self) -> str:
        """What became of all training rows: ``status: median 4.9 years, 299 events``."""
        median, n_events = self.survival.median, self.survival.n_events
        shown = median_text(median) + (unit_of(self.target) if median is not None else "")
        return one_line(f"{self.survival.event_text}: median {shown}, {n_events} event{'s' if n_events != 1 else ''}")

    def event_shares(self, rule: RulePart) -> list[float]:
        """The shares of rows with an event."""
        rows = (rule.n_inside or 1, rule.n_outside or 1)
        return [side.n_events / n for side, n in zip(rule.survival or (), rows)]

    def truths(self, y: Any, n_rows: int) -> list[tuple[float, bool]]:
        """Times, and whether each ended with an event."""
        found = read_survival(y, n_rows, self.events.event_value)
        return list(zip(found.times.tolist(), found.events.tolist()))

    def truth_text(self, truth: Any, number: Callable[[float], str]) -> str:
        """The time, and what it ended with."""
        time, event = truth
        return f"{number(time)} ({'event' if event else 'censored'})"

    def head(self, start: Floats) -> str:
        """What became of all rows."""
        return f"{one_line(self.target)} until {self.outcome_text}; each rule multiplies the hazard"

    @property
    def predicted_text(self) -> str:
        """The risk score of an event."""
        return f"risk score of {self.survival.event_text} ({self.target}): logarithm of the hazard, 0 on average"

    def head_pairs(self, start: Floats) -> list[tuple[str, str]]:
        """The median and the events."""
        return [(f"median {self.target}", median_text(self.survival.median)), ("events", str(self.survival.n_events))]

    def numbers(self, rule: RulePart) -> tuple[str, ...]:
        """Factors and events."""
        return (*self.added_texts(rule), *rule.event_texts)

    def start_line(self, intercept: Any) -> str:
        """The intercept and the baseline hazard."""
        hazard, end = self.survival.hazard, ""
        if len(hazard.times):
            last, total = (format_number(float(own[-1]), START_DIGITS) for own in (hazard.times, hazard.cumulative))
            mean = format_number(float(hazard.cumulative.mean()), START_DIGITS)
            end = f"; baseline hazard {total} until {last} ({mean} on average over {len(hazard.times)} times)"
        return f"score {start_texts(intercept)[0]} before the rules{end}"


@dataclass(frozen=True)
class ClassShares(ClassFamily):
    """Classes predicted by the mean of the rules' class proportions, all weights equal."""

    name: ClassVar[str] = "class shares"
    takes_corrections: ClassVar[bool] = False
    weighs_equally: ClassVar[bool] = True
    effect_scale: ClassVar[EffectScale | None] = None
    error_name: ClassVar[str] = "1 - AUC"
    row_loss_name: ClassVar[str] = "Brier score"
    form: ClassVar[Form] = "shares"
    sum_word: ClassVar[str] = "probability"
    start_name: ClassVar[str] = "intercept"

    criterion: ClassVar[str] = "error"

    def deciding(self, k: int) -> tuple[float, float]:
        """A share is multiplied by its weight."""
        return self.decision_weights[k], 0.0

    def row_loss(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """Brier's: a mean of proportions ranks rows, and is no probability to take the logarithm of."""
        return brier_losses(values, truth)

    @property
    def kind_text(self) -> str:
        """How many classes, and how rules are weighed."""
        return f"{super().kind_text} with equal weights"

    def ranking(self, scores: Floats) -> Floats:
        """The proportion of each class; of two that of the second less one half."""
        return np.asarray(scores[:, 1] - 0.5) if len(self.labels) == 2 else scores

    @property
    def scale(self) -> str:
        """The proportion of a class."""
        return "proportion"

    def points_texts(self, points: Sequence[float]) -> tuple[str, str]:
        """Percents."""
        first, second = format_percents(*points)
        return first, second

    def head(self, start: Floats) -> str:
        """The shares of the classes."""
        shares = format_shares(self.shares, fold_labels(self.labels, LABELS[0]) or (), decimals=1)
        return f"shares of {one_line(self.target)}: {one_line(shares)}"

    def start_line(self, intercept: Any) -> str:
        """The intercept of each class."""
        return self._named_starts("shares", intercept)


BY_LOSS: dict[str, type[LogMean]] = {family.name: family for family in (Poisson, Gamma, Tweedie)}
NO_FACTS: Mapping[str, Any] = {}


def family_of(
    link: Link,
    target: str,
    mean: float | tuple[float, ...],
    *,
    classes: tuple[Any, ...] | None = None,
    facts: Mapping[str, Any] = NO_FACTS,
    survival: Any = None,  # of times to an event; the checks of a file do without
    positive_class: Any = None,
    root_weight: float | None = None,
) -> Family:
    """The family of a fitted model; of counts and amounts its facts say which, of means the weight of the root."""
    if link == "hazard":
        return Cox(target, mean, survival)
    if link == "log":
        return BY_LOSS[facts.get("loss", "poisson")].from_facts(target, mean, facts)
    if link == "identity" and classes is None:
        return Gaussian(target, mean) if root_weight is None else WeightedMean(target, mean, root_weight)
    labels = classes or ()
    of_scores = Binomial if len(labels) == 2 else Multinomial
    return (ClassShares if link == "identity" else of_scores)(target, mean, labels, positive_class)

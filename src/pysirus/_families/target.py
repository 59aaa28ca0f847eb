"""A target as given in, its response out, in memory or in parts: what is asked of a family before there is a model.

One class for numbers, one for classes and one for times to an event. Each also says how predictions of held-out rows
are evaluated.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._families.class_metrics import ClassTally
from pysirus._families.gain import FoldRows, Gain, GainRows, GainSums
from pysirus._families.links import Loss
from pysirus._families.read import (
    UnknownLabelError,
    check_weights,
    class_codes,
    classes_of,
    read_labels,
    read_numbers,
    read_weights,
)
from pysirus._families.responses import ClassResponse, NumberResponse, Response
from pysirus._families.row_metrics import Metrics, NumberTally, PairTally, Predicted, Tally, Yardstick
from pysirus._families.survival import SurvivalResponse, Times, events_and_times, read_survival, survival_response
from pysirus._parameters import ParameterError, check_real, label_number
from pysirus._text.format import format_levels
from pysirus._text.message import TARGET, Parameter

Floats = NDArray[np.float64]


class LabelTotals(Protocol):
    """The classes of all rows, and the total weight of each."""

    @property
    def classes(self) -> NDArray[Any]: ...
    @property
    def weights(self) -> Sequence[Any]: ...


class PartReading(Protocol):
    """Reads the response of a part of the rows; it can be sent to where they lie."""

    def __call__(self, y: Any, weights: Any, n_rows: int) -> Response: ...
    def no_rows(self) -> Response:
        """The response of no row."""
        ...


class GainTally(Protocol):
    """What a gain is computed from, which adds up."""

    def __add__(self, other: Any) -> Any: ...
    def gain(self) -> Gain | None: ...


class Target(ABC):
    """How a target is read, and how held-out rows judge what is predicted of it."""

    if_constant: ClassVar[str]  # what a response is of which every row answers the same
    mean_name: ClassVar[str]  # what is predicted where there is no rule
    criterion: ClassVar[str] = "stability"  # how tuning chooses where nothing else is asked for
    takes_exposure: ClassVar[bool] = False  # whether it may be counted over something
    folds_compare: ClassVar[bool] = True  # whether predictions of lists of several folds do

    @property
    def deviance_loss(self) -> Loss | None:
        """The loss whose deviance judges counts and amounts; others have other metrics."""
        return None

    @property
    def residual_power(self) -> float | None:
        """A residual is the difference to the mean times the mean to the power of 1 less this; None if it is not."""
        return 1.0

    @abstractmethod
    def read(self, y: Any, sample_weight: Any, n_rows: int) -> Response:
        """The response of rows in memory, checked."""

    def read_like(self, y: Any, sample_weight: Any, n_rows: int, labels: NDArray[Any]) -> Response:
        """The response of other rows of a model; ``labels`` are its classes."""
        return self.read(y, sample_weight, n_rows)

    @abstractmethod
    def read_truth(self, y: Any, n_rows: int, labels: NDArray[Any]) -> NDArray[Any]:
        """What predictions of rows are held against; ``labels`` are the classes of the model."""

    @abstractmethod
    def watched(self, truth: NDArray[Any]) -> Floats:
        """What came true, in numbers [row, output] whose means say what the data do."""

    def told_mean(self, means: Floats, rule: Any) -> float:
        """What is told of the means [output] of that, beside a rule."""
        return float(means[0])

    @abstractmethod
    def residuals(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """What predictions [row, output] leave unexplained of that, [row, output]: minus the slope of the loss in the
        score."""

    @abstractmethod
    def part_reading(self, ask_labels: Callable[[], LabelTotals]) -> PartReading:
        """How the response of a part is read, once what must be known of all parts is asked for."""

    def check_range(self, low: float, high: float) -> None:  # noqa: B027 - most have nothing to say
        """Reject a smallest and a largest number from which nothing can be learned."""

    @abstractmethod
    def tally(self, rows: Predicted, like: Yardstick) -> Tally:
        """What metrics of some rows of a fold are computed from; tallies of folds and of parts add up."""

    def metrics(self, folds: Sequence[Predicted]) -> Metrics:
        """The metrics of the rows of some folds."""
        like = Yardstick.of(folds)
        return reduce(add, (self.tally(fold, like) for fold in folds)).metrics()

    def score_metrics(self, rows: Predicted) -> Metrics:
        """How well a model predicts new rows."""
        return self.metrics([rows])

    @abstractmethod
    def gain_of(self, folds: Sequence[FoldRows]) -> GainTally:
        """What tells how much better than by the constant the lists of folds predict; those of parts add up."""

    def metric_weights(self, response: Response) -> Floats | None:
        """The weights of rows in metrics of held-out rows; None where all are one."""
        return response.weights


class RowTarget(Target):
    """A target whose loss is a sum over rows."""

    @abstractmethod
    def row_loss(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """The loss of each held-out row, given what is predicted, [row, output], and the truth."""

    def gain_of(self, folds: Sequence[FoldRows]) -> GainSums:
        """Exact sums of losses and products."""
        return GainSums.of(folds, self.row_loss)


class NumberTarget(RowTarget):
    """One number per row."""

    if_constant: ClassVar[str] = "the target is constant"
    mean_name: ClassVar[str] = "mean"
    takes_exposure: ClassVar[bool] = True

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What a prediction loses."""

    def check(self, values: Floats) -> None:
        """Reject numbers that the target cannot be."""

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> NumberResponse:
        """Finite numbers, one per row."""
        values, weights = read_numbers(y, n_rows), read_weights(sample_weight, n_rows)
        self.check(values)
        response = NumberResponse(values, weights=weights)
        self.check_range(*response.range)
        return response

    def read_truth(self, y: Any, n_rows: int, labels: NDArray[Any]) -> Floats:
        """Numbers, which may all be the same."""
        truth = read_numbers(y, n_rows)
        self.check(truth)
        return truth

    def watched(self, truth: NDArray[Any]) -> Floats:
        """The numbers."""
        return np.asarray(truth, dtype=np.float64)[:, None]

    def residuals(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """The difference, or with a logarithm as link what its loss makes of it."""
        return np.asarray(-self.loss.slopes(self.watched(truth), self.scores_of(values)))

    def scores_of(self, means: Floats) -> Floats:
        """The scores that predict some means."""
        return means

    def part_reading(self, ask_labels: Callable[[], LabelTotals]) -> NumbersOfPart:
        """Numbers need nothing of other parts."""
        return NumbersOfPart(self)

    def tally(self, rows: Predicted, like: Yardstick) -> NumberTally:
        """For R² or D², errors and more."""
        return NumberTally.of(rows, self.deviance_loss, like)

    def row_loss(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """The deviance."""
        return self.loss.deviances_of_means(truth, values[:, 0])


@dataclass(frozen=True)
class NumbersOfPart:
    """Reads numbers from a part of the rows."""

    family: NumberTarget

    def __call__(self, y: Any, weights: Any, n_rows: int) -> NumberResponse:
        values = read_numbers(y, n_rows, part=True)
        own = np.ones(n_rows) if weights is None else check_weights(weights, n_rows)
        self.family.check(values)
        return NumberResponse(values, weights=own)

    def no_rows(self) -> NumberResponse:
        """The response of no row."""
        return NumberResponse(np.zeros(0), weights=np.zeros(0))


@dataclass(frozen=True)
class ClassesOfPart:
    """Reads labels from a part of the rows, as classes of the whole."""

    classes: NDArray[Any]
    factors: NDArray[np.float64] | None  # weights of the classes

    def __call__(self, y: Any, weights: Any, n_rows: int) -> ClassResponse:
        codes = class_codes(read_labels(y, n_rows), self.classes)
        own = np.ones(n_rows) if weights is None else check_weights(weights, n_rows)
        if self.factors is None:
            return ClassResponse(codes, self.classes, weights=own)
        return ClassResponse(codes, self.classes, weights=self.factors[codes] * own, base_weights=own)

    def no_rows(self) -> ClassResponse:
        """The response of no row."""
        return ClassResponse(np.zeros(0, np.uint8), self.classes, weights=np.zeros(0))


def check_positive_class(wanted: Any, labels: Sequence[Any]) -> None:
    """Reject a positive class that is no label, and one of several classes."""
    if wanted is None:
        return
    if len(labels) > 2:
        raise ParameterError(
            f"{Parameter('positive_class')} is for two classes, and {TARGET} has {len(labels)}: "
            f"{format_levels(labels[:10])}. Leave it out."
        )
    if label_number(wanted, labels) is None:
        raise ParameterError(f"{Parameter('positive_class')} must be one of {format_levels(labels)}, got {wanted!r}.")


class ClassTarget(RowTarget):
    """One class per row."""

    class_weight: Any
    spoken_of: Any

    if_constant: ClassVar[str] = "y has only one class"
    mean_name: ClassVar[str] = "share of each class"

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> ClassResponse:
        """Labels of one type, one per row, none missing; the weights of classes multiply those of rows."""
        labels, weights = read_labels(y, n_rows), read_weights(sample_weight, n_rows)
        classes = classes_of(labels)
        check_positive_class(self.spoken_of, classes.tolist())
        response = ClassResponse(class_codes(labels, classes), classes, weights=weights)
        if self.class_weight is None:
            return response
        codes, ones = response.codes, response.row_weights()
        totals = [math.fsum(ones[codes == k]) for k in range(len(classes))]
        factors = class_factors(self.class_weight, classes, totals)[codes]
        return replace(response, weights=factors if weights is None else factors * weights, base_weights=weights)

    def tally(self, rows: Predicted, like: Yardstick) -> ClassTally:
        """For accuracy, AUC, log loss and more."""
        return ClassTally.of(rows, like, self.choose(rows.values))

    def choose(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the class that is decided for in each row."""
        return np.asarray(probabilities.argmax(axis=1))

    def read_like(self, y: Any, sample_weight: Any, n_rows: int, labels: NDArray[Any]) -> ClassResponse:
        """Rows of known classes, whatever these weigh."""
        codes = codes_among(labels, y, n_rows)
        return ClassResponse(codes, labels, weights=read_weights(sample_weight, n_rows))

    def read_truth(self, y: Any, n_rows: int, labels: NDArray[Any]) -> NDArray[np.uint8]:
        """The codes of the classes."""
        return codes_among(labels, y, n_rows)

    def metric_weights(self, response: Response) -> NDArray[np.float64] | None:
        """Those of the rows; weights of classes are for learning, not for judging."""
        return response.weights if self.class_weight is None else response.base_weights

    def part_reading(self, ask_labels: Callable[[], LabelTotals]) -> ClassesOfPart:
        """Labels must be known before they are coded."""
        labels = ask_labels()
        check_positive_class(self.spoken_of, labels.classes.tolist())
        factors = None
        if self.class_weight is not None:
            heaviest = max(labels.weights)
            exponent = heaviest.numerator.bit_length() - heaviest.denominator.bit_length()
            totals = [float(weight / Fraction(2) ** exponent) for weight in labels.weights]  # which only compare
            factors = class_factors(self.class_weight, labels.classes, totals)
        return ClassesOfPart(labels.classes, factors)


def codes_among(known: NDArray[Any], y: Any, n_rows: int) -> NDArray[np.uint8]:
    """Labels as the classes of a model."""
    labels = read_labels(y, n_rows)
    try:
        return class_codes(labels, known)
    except UnknownLabelError:
        of_model = known.tolist()
        first = of_model[0]
        unknown = next(label for label in labels.tolist() if label not in of_model or type(label) is not type(first))
        shown = ", ".join(map(repr, of_model[:8])) + (", ..." if len(of_model) > 8 else "")
        raise DataError(
            f"{TARGET} holds {unknown!r}, which is not a class of the model. Its classes are {shown}."
        ) from None


def class_factors(class_weight: Any, classes: NDArray[Any], totals: Sequence[float]) -> NDArray[np.float64]:
    """The weight of each class, from the parameter and the total weight of its rows."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        # weighed and not counted, so that a weight of two is a row that stands twice
        sizes = np.array(totals)
        return np.asarray(sizes.sum() / (len(classes) * sizes))
    if isinstance(class_weight, Mapping):
        return _given_weights(class_weight, classes)
    raise ParameterError(f"{Parameter('class_weight')} must be a dict, 'balanced' or None, got {class_weight!r}.")


def _given_weights(class_weight: Mapping[Any, Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """A weight per class from a dict by label."""
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ParameterError(
            f"{Parameter('class_weight')} names {unknown[0]!r}, which is not a class. Classes are "
            f"{', '.join(map(repr, labels[:8]))}."
        )
    for label, weight in class_weight.items():
        check_real("class_weight", weight, 0, np.inf, of=f" of {label!r}")
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])


IN_MEMORY = "Survival needs all rows in memory: the likelihood of each event depends on all rows still at risk."
TOO_LARGE = (
    f"{IN_MEMORY} These take more than {Parameter('memory')} allows, {{:,}} bytes. Set {Parameter('memory')} to more, "
    "or fit a sample of the rows."
)


def read_times(y: Any, n_rows: int, event: Any = None) -> Times:
    """Times and events, at least one of them."""
    found = read_survival(y, n_rows, event)
    if not found.events.any() and event is not None:
        raise DataError(
            f"The event {event!r} is in no row of '{found.event_name}': nothing can be learned of when it happens. "
            "Check which value is the event."
        )
    if not found.events.any():
        raise DataError(
            f"There are no events in '{found.event_name}': nothing can be learned of when they happen. Check "
            "which value is the event, and that it is not the flag of censored rows."
        )
    return found


class TimeTarget(Target):
    """A time per row, and whether it ended with an event."""

    if_constant: ClassVar[str] = "all rows have their event, or are censored, at the same time"
    mean_name: ClassVar[str] = "same hazard for all rows"

    @property
    def event_value(self) -> Any:
        """The value that is an event, where it is not 1."""
        return None

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> SurvivalResponse:
        """Times above zero, with at least one event."""
        found = read_times(y, n_rows, self.event_value)
        weights = read_weights(sample_weight, n_rows)
        return survival_response(found.times, found.events, weights, found.time_name, found.event_name)

    def read_truth(self, y: Any, n_rows: int, labels: NDArray[Any]) -> NDArray[Any]:
        """Events and times; there need be no event."""
        found = read_survival(y, n_rows, self.event_value)
        return events_and_times(found.events, found.times)

    def watched(self, truth: NDArray[Any]) -> Floats:
        """Whether there was an event."""
        return np.asarray(truth["event"], dtype=np.float64)[:, None]

    def part_reading(self, ask_labels: Callable[[], LabelTotals]) -> NoReturn:
        """Rows in parts are refused."""
        raise ParameterError(IN_MEMORY)

    def tally(self, rows: Predicted, like: Yardstick) -> PairTally:
        """For the concordance."""
        return PairTally.of(rows)

    def gain_of(self, folds: Sequence[FoldRows]) -> GainRows:
        """The rows, which tell how far the concordance is above that of chance."""
        return GainRows(tuple(folds))

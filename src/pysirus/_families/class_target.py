"""Classes: how labels are read, in memory and in parts, whatever is learned from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._families.metrics.classes import class_metrics
from pysirus._families.metrics.rows import Metrics, Predicted, all_folds
from pysirus._families.response.read import (
    UnknownLabelError,
    check_weights,
    class_codes,
    classes_of,
    read_labels,
    read_weights,
)
from pysirus._families.response.response import ClassResponse, Response
from pysirus._families.target import LabelTotals, Target
from pysirus._format import format_levels
from pysirus._message import TARGET, Parameter
from pysirus._parameters import ParameterError, check_real
from pysirus._parameters.check import label_number


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
        return ClassResponse(codes, self.classes, weights=self.factors[codes] * own, repeats=own)

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


class ClassTarget(Target):
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
        return replace(response, weights=factors if weights is None else factors * weights, repeats=weights)

    def metrics(self, folds: Sequence[Predicted]) -> Metrics:
        """Accuracy, AUC, log loss and more."""
        return class_metrics(all_folds(folds))

    def read_like(self, y: Any, sample_weight: Any, n_rows: int, labels: NDArray[Any]) -> ClassResponse:
        """Rows of known classes, whatever these weigh."""
        codes = codes_among(labels, y, n_rows)
        return ClassResponse(codes, labels, weights=read_weights(sample_weight, n_rows))

    def read_truth(self, y: Any, n_rows: int, labels: NDArray[Any]) -> NDArray[np.uint8]:
        """The codes of the classes."""
        return codes_among(labels, y, n_rows)

    def metric_weights(self, response: Response) -> NDArray[np.float64] | None:
        """Those of the rows; weights of classes are for learning, not for judging."""
        return response.weights if self.class_weight is None else response.repeats

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

"""What is asked of a family before there is a model: how its target is read, and how held-out rows judge it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pysirus._families.losses import Loss
from pysirus._families.metrics.gain import FoldRows, Gain, gain_of
from pysirus._families.metrics.numbers import number_metrics
from pysirus._families.metrics.rows import Metrics, Predicted
from pysirus._families.response.read import check_weights, read_numbers, read_weights
from pysirus._families.response.response import NumberResponse, Response

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


class Target(ABC):
    """How a target is read, and how held-out rows judge what is predicted of it."""

    if_constant: ClassVar[str]  # what a response is of which every row answers the same
    mean_name: ClassVar[str]  # what is predicted where there is no rule
    criterion: ClassVar[str] = "stability"  # how tuning chooses where nothing else is asked for
    takes_exposure: ClassVar[bool] = False  # whether it may be counted over something

    @property
    def deviance_loss(self) -> Loss | None:
        """The loss whose deviance judges counts and amounts; others have other metrics."""
        return None

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
    def part_reading(self, ask_labels: Callable[[], LabelTotals]) -> PartReading:
        """How the response of a part is read, once what must be known of all parts is asked for."""

    def check_range(self, low: float, high: float) -> None:  # noqa: B027 - most have nothing to say
        """Reject a smallest and a largest number from which nothing can be learned."""

    @abstractmethod
    def metrics(self, folds: Sequence[Predicted]) -> Metrics:
        """The metrics of the rows of some folds."""

    def score_metrics(self, rows: Predicted) -> Metrics:
        """How well a model predicts new rows."""
        return self.metrics([rows])

    def row_loss(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """The loss of each held-out row, given what is predicted, [row, output], and the truth."""
        raise NotImplementedError

    def gain(self, folds: Sequence[FoldRows]) -> Gain | None:
        """How much better than by the constant the lists of folds predict."""
        return gain_of(folds, self.row_loss)

    def metric_weights(self, response: Response) -> Floats | None:
        """The weights of rows in metrics of held-out rows; None where all are one."""
        return response.weights


class NumberTarget(Target):
    """One number per row."""

    if_constant: ClassVar[str] = "the response is constant"
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

    def part_reading(self, ask_labels: Callable[[], LabelTotals]) -> NumbersOfPart:
        """Numbers need nothing of other parts."""
        return NumbersOfPart(self)

    def metrics(self, folds: Sequence[Predicted]) -> Metrics:
        """R² or D², errors and more."""
        return number_metrics(folds, self.deviance_loss)

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

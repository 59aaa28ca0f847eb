"""What the rooms that follow ask of a kind of response.

A kind is one file: how its response is read, what its rules answer, how they are weighed, what is left to explain, how
held-out rows judge it, and how it is spoken of. Estimators, stages, tuning and rows in parts know no other way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pysirus._families.base import Family
from pysirus._families.links import Link
from pysirus._families.losses import Loss
from pysirus._families.metrics.gain import FoldRows, Gain, gain_of
from pysirus._families.metrics.numbers import number_metrics
from pysirus._families.metrics.rows import Metrics, Predicted
from pysirus._families.of_model import family_of
from pysirus._learn.training import Residual, Training
from pysirus._model.facts import Facts
from pysirus._model.model import Model
from pysirus._response.response import Response
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import with_weights
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import WeightedPrefixes

# the size that each fold uses, one row a step -> the error at each step
PooledError = Callable[[NDArray[np.intp]], NDArray[np.float64]]


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


class Kind(ABC):
    """How one kind of response is read, learned from, judged and spoken of."""

    if_constant: ClassVar[str]  # what a response is of which every row answers the same
    mean_name: ClassVar[str]  # what is predicted where there is no rule
    criterion: ClassVar[str] = "stability"  # how tuning chooses where nothing else is asked for
    has_penalty: ClassVar[bool]  # whether a penalty is chosen
    has_stages: ClassVar[bool]  # whether its lists can be corrected
    link: ClassVar[Link] = "identity"  # what the sum of weighted outputs stands for

    @property
    def deviance_loss(self) -> Loss | None:
        """The loss whose deviance judges counts and amounts; None for others, which have other figures."""
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
    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Sizes of a list that tuning looks at, from 0 on, so that ``most`` of its rules may have a weight."""

    @abstractmethod
    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Weights of some prefixes of a list of rules with outputs."""

    @abstractmethod
    def residual(self, response: Response, weighted: WeightedPrefixes) -> Residual:
        """What the last of the weighted lists leaves unexplained of a row, the prediction being shrunk."""

    @abstractmethod
    def judge(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> Any:
        """What the pooled error needs to know of a fold's held-out rows, for every size; ``holds`` is [row, rule]."""

    @abstractmethod
    def pooled_error(self, judged: Sequence[Any]) -> PooledError:
        """The error of all held-out rows together, given the size that each fold uses."""

    @abstractmethod
    def row_loss(self, values: NDArray[np.float64], truth: NDArray[Any]) -> NDArray[np.float64]:
        """The loss of each held-out row, given what is predicted, [row, output], and the truth."""

    def gain(self, folds: Sequence[FoldRows]) -> Gain | None:
        """How much better than by the constant the lists of folds predict."""
        return gain_of(folds, self.row_loss)

    def metrics(self, folds: Sequence[Predicted]) -> Metrics:
        """How well the rows of some folds are predicted."""
        return number_metrics(folds, self.deviance_loss)

    def score_metrics(self, family: Family, rows: Predicted) -> Metrics:
        """How well a model predicts new rows."""
        return self.metrics([rows])

    def figure_weights(self, response: Response) -> NDArray[np.float64] | None:
        """The weights of rows in figures of held-out rows; None where all are one."""
        return response.weights

    def with_data(self, rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
        """Corrections with what the data say of their rows, where their outputs do not; the moments end with theirs."""
        return list(rules)

    def describe(self, training: Training, weighted: WeightedPrefixes) -> WeightedPrefixes:
        """What a model of these lists keeps besides weights; asked for on all rows, not in folds."""
        return weighted

    def family(self, training: Training, weighted: WeightedPrefixes, row: int) -> Family:
        """What the target of one of the weighted prefixes is."""
        return family_of(self.link, training.target, weighted.mean, classes=training.response.labels)

    def model(self, training: Training, weighted: WeightedPrefixes, row: int, n_trees: int) -> Model:
        """The model of one of the weighted prefixes."""
        size = weighted.sizes[row]
        facts = {**training.facts, "n_trees": n_trees, **training.response.facts}
        if self.has_penalty:
            facts["ridge_penalty"] = float(weighted.penalties[row])
        if weighted.n_dust and weighted.n_dust[row]:
            facts["n_dust"] = weighted.n_dust[row]
        if self.has_stages:
            facts["n_stages"] = max((rule.stage for rule in weighted.rules[:size]), default=1)
        return Model(
            selected=with_weights(weighted.rules[:size], weighted.weights[row, :size].tolist()),
            intercept=weighted.intercepts[row],
            family=self.family(training, weighted, row),
            features=training.features,
            named=training.named,
            recipe=training.columns,
            moments=weighted.moments,
            facts=Facts.of(facts),
            constraints=training.constraints,
        )

"""What the rooms that follow ask of a way to weigh rules, which is chosen by the family of the target (``table.py``).

A way to weigh is one file: which lists there are to weigh, their weights, what is left to explain, what held-out rows
say of each size, and the model. Stages, tuning and rows in parts know no other way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus._families.base import Family
from pysirus._families.of_model import family_of
from pysirus._families.response.response import Response
from pysirus._learn.training import Residual, Training
from pysirus._model.facts import Facts
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import with_weights
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import WeightedPrefixes

# the size that each fold uses, one row a step -> the error at each step
PooledError = Callable[[NDArray[np.intp]], NDArray[np.float64]]


@dataclass(frozen=True)
class Weighing(ABC):
    """How the rules of one family are weighed."""

    family: Family  # as it was asked for

    has_penalty: ClassVar[bool] = True  # whether a penalty is chosen
    has_stages: ClassVar[bool] = True  # whether its lists can be corrected

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

    def with_data(self, rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
        """Corrections with what the data say of their rows, where their outputs do not; the moments end with theirs."""
        return list(rules)

    def describe(self, training: Training, weighted: WeightedPrefixes) -> WeightedPrefixes:
        """What a model of these lists keeps besides weights; asked for on all rows, not in folds."""
        return weighted

    def fitted(self, training: Training, weighted: WeightedPrefixes, row: int) -> Family:
        """The family of one of the weighted prefixes."""
        return family_of(self.family.link, training.target, weighted.mean, classes=training.response.labels)

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
            family=self.fitted(training, weighted, row),
            features=training.features,
            named=training.named,
            recipe=training.columns,
            moments=weighted.moments,
            facts=Facts.of(facts),
            constraints=training.constraints,
        )

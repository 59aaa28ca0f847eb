"""Numbers, by squared error: rules answer with means, ridge weighs them, the error is the unexplained variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._families.metrics.rows import blocks_of, spread_of, weights_or_ones
from pysirus._families.response.response import NumberResponse, Response
from pysirus._learn.training import Extremes, Residual, Rounding, Training
from pysirus._learn.weighing.base import PooledError, Weighing
from pysirus._sums import weighted_sum
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.fitted import fitted_values
from pysirus._weights.gram import gram_of, n_fixed
from pysirus._weights.moments import Moments
from pysirus._weights.ridge import useful_sizes, weigh_by_ridge
from pysirus._weights.weighted import WeightedPrefixes

# The share of the prediction, as a distance from the mean, that the next stage takes as explained. With less than all
# of it, some of the main signal stays in the residuals, and lists are more alike from fold to fold; with much less,
# they repeat the same signal (docs/stages-study.md).
SHRINKAGE = 0.85


class SquaredErrors(NamedTuple):
    """The held-out rows of a fold, and the sum of their squared errors for every size."""

    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    errors: NDArray[np.float64]  # [size]


@dataclass(frozen=True)
class Deviation(Residual):
    """Numbers minus their mean and the shrunk prediction of a list."""

    weighted: WeightedPrefixes

    def raw(self, binned: Binned, response: Response) -> NDArray[np.float64]:
        """Residuals, and beside them what the prediction leaves where it is not shrunk."""
        y, mean = response.answers, float(np.asarray(self.weighted.mean))
        fitted = fitted_values(self.weighted, binned)
        both = np.empty((len(y), 2), order="F")
        both[:, 0], both[:, 1] = y - mean - SHRINKAGE * (fitted - mean), y - fitted
        return both

    def settle(self, found: Extremes) -> Rounding | None:
        """They are not rounded; None where the prediction leaves the same of every row."""
        if found.low[1] == found.high[1]:
            return None
        return Rounding(float(found.low[0]), float(found.high[0]))

    def response(self, raw: NDArray[np.float64], rounding: Rounding, response: Response) -> NumberResponse:
        """One number per row."""
        return NumberResponse(np.ascontiguousarray(raw[:, 0]), weights=response.weights, repeats=response.repeats)


class ByRidge(Weighing):
    """Numbers, by squared error."""

    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Up to the first list with more than ``most`` positive weights at the smallest penalty."""
        return useful_sizes(gram_of(moments, rules), most, n_fixed(rules))

    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Non-negative ridge."""
        return weigh_by_ridge(rules, moments, sizes)

    def residual(self, response: Response, weighted: WeightedPrefixes) -> Deviation:
        """The response minus the mean and the shrunk prediction."""
        return Deviation(weighted.bare())

    def judge(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> SquaredErrors:
        """Squared errors of every size."""
        y, w = response.answers, response.weights
        errors = np.zeros(len(weighted.sizes))
        for rows in blocks_of(len(y)):
            own = weights_or_ones(None if w is None else w[rows], y[rows])
            errors += weighted_sum(own, (y[rows, None] - weighted.scores(holds[rows])) ** 2)
        return SquaredErrors(y, w, errors)

    def pooled_error(self, judged: Sequence[SquaredErrors]) -> PooledError:
        """The unexplained variance: squared errors over the sum of squares about the mean."""
        _, total = spread_of([(fold.y, fold.weights) for fold in judged])
        errors = [fold.errors / (total or 1.0) for fold in judged]
        return lambda sizes: np.sum([error[k] for error, k in zip(errors, sizes.T)], axis=0)

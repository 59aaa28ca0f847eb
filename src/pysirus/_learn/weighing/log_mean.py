"""Counts and positive amounts, by penalised likelihood: rules multiply a rate, the error is the unexplained deviance.

Names and meaning are scikit-learn's: counts with exposure are y = count / exposure with the exposure as weight. The
logarithm of the mean is the sum of weighted outputs. Rules answer with mean responses, corrections with mean residuals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.log_mean import LogMean
from pysirus._families.losses import Loss
from pysirus._families.metrics.numbers import deviance_about_mean
from pysirus._families.metrics.rows import weights_or_ones
from pysirus._families.response.response import NumberResponse, Response
from pysirus._learn.training import Training
from pysirus._learn.weighing.base import PooledError
from pysirus._learn.weighing.likelihood import ByLikelihood
from pysirus._model.model import Model
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import WeightedPrefixes

Floats = NDArray[np.float64]


class JudgedNumbers(NamedTuple):
    """The held-out rows of a fold, and the deviance of every size."""

    y: Floats
    weights: Floats | None
    deviances: Floats  # [size]


@dataclass(frozen=True)
class MeansByLikelihood(ByLikelihood):
    """Counts and amounts."""

    family: LogMean

    def model(self, training: Training, weighted: WeightedPrefixes, row: int, n_trees: int) -> Model:
        """The model of one of the weighted prefixes, which remembers its loss."""
        model = super().model(training, weighted, row, n_trees)
        return replace(model, facts=replace(model.facts, **self.family.facts))

    def fitted(self, training: Training, weighted: WeightedPrefixes, row: int) -> LogMean:
        """That which was asked for, with the mean."""
        return replace(self.family, target=training.target, mean=weighted.mean)

    def loss_of(self, response: Response) -> Loss:
        """That of the family."""
        return self.family.loss

    def judge(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> JudgedNumbers:
        """Deviances of every size, and the numbers themselves."""
        return JudgedNumbers(response.answers, response.weights, super().judge(weighted, holds, response).sizes)

    def pooled_error(self, judged: Sequence[JudgedNumbers]) -> PooledError:
        """The unexplained deviance: that of the lists over that of the mean of all held-out rows, 1 - D²."""
        weights = sum(float(weights_or_ones(fold.weights, fold.y).sum()) for fold in judged)
        total = weights * deviance_about_mean(self.family.loss, [(fold.y, fold.weights) for fold in judged]) or 1.0
        return lambda sizes: np.sum([fold.deviances[k] / total for fold, k in zip(judged, sizes.T)], axis=0)

    def spread(self, training: Training, moments: Moments) -> float:
        """The standard deviation of the response."""
        mean = float(moments.y_sum.sum() / moments.fold_weight.sum())
        return math.sqrt(max(float(moments.y_square.sum() / moments.fold_weight.sum()) - mean * mean, 0.0))

    def moves(self, gaps: Floats, constant: Floats, spread: float) -> Floats:
        """A step of the logarithm moves the mean by as much of it."""
        return np.abs(gaps[:, 0]) * (float(_core.exp(constant[:1])[0]) / spread if spread > 0 else np.inf)

    def as_scores(self, outputs: Any) -> Floats:
        """One score."""
        return np.asarray(outputs, dtype=np.float64)[..., None]

    def as_output(self, scores: Floats) -> float:
        """One number."""
        return float(scores[0])

    def as_response(self, residuals: Floats, response: Response) -> NumberResponse:
        """One number per row."""
        column = np.ascontiguousarray(residuals[:, 0])
        return NumberResponse(column, weights=response.weights, repeats=response.repeats)

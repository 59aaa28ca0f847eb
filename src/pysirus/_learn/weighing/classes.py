"""Classes, by penalised likelihood: a score per class, probabilities by softmax, the error is the unexplained deviance.

The outputs of a rule are class proportions, those of a correction mean residuals, one per class, and a rule has one
weight. With two classes all of it is about the log-odds of the second: the difference of the two scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.classes import Multinomial
from pysirus._families.losses import LOGISTIC, SOFTMAX, Loss
from pysirus._families.response.residuals import OddsResiduals
from pysirus._families.response.response import Response, VectorResponse
from pysirus._learn.training import Training
from pysirus._learn.weighing.likelihood import ByLikelihood
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import WeightedPrefixes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClassesByLikelihood(ByLikelihood):
    """One class per row, predicted by the softmax of weighted outputs."""

    def loss_of(self, response: Response) -> Loss:
        """Of two classes logistic, of more softmax."""
        return LOGISTIC if len(response.labels or ()) == 2 else SOFTMAX

    def spread(self, training: Training, moments: Moments) -> float:
        """Classes have none but that of their proportions."""
        return 1.0

    def moves(self, gaps: Floats, constant: Floats, spread: float) -> Floats:
        """The class that moves most: its proportion p moves by p (1 - p) times its log-odds."""
        if len(constant) == 1:
            gaps, constant = np.hstack([-gaps / 2, gaps / 2]), np.array([-constant[0] / 2, constant[0] / 2])
        p = _core.exp(constant - constant.max())
        p /= p.sum()
        deviations = np.sqrt(p * (1 - p))
        moved = np.abs(p * (gaps - (gaps * p).sum(axis=1, keepdims=True)))
        spread_out = np.divide(moved, deviations, out=np.full_like(moved, np.inf), where=deviations > 0)
        return np.asarray(spread_out.max(axis=1))

    def as_scores(self, outputs: Any) -> Floats:
        """Of two classes the difference, of more each class."""
        every = np.asarray(outputs, dtype=np.float64)
        return every[..., 1:] - every[..., :1] if every.shape[-1] == 2 else every

    def as_output(self, scores: Floats) -> tuple[float, ...]:
        """The scores of all classes, which sum to zero."""
        return Multinomial.as_output(scores)

    def as_response(self, residuals: Floats, response: Response) -> Response:
        """Of two classes the residuals of the second, of more a vector."""
        shared: Any = {"weights": response.weights, "repeats": response.repeats}
        labels = response.labels or ()
        if len(labels) == 2:
            return OddsResiduals(np.ascontiguousarray(residuals[:, 0]), labels, **shared)
        return VectorResponse(residuals, labels, **shared)

    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Of several classes up to ``most`` rules: a weight of zero is rarer, and every size costs more."""
        if len(rules) > most and training.response.n_outputs > 2:
            return range(most + 1)
        return super().sizes(training, rules, moments, most)

    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """By likelihood; one class is certain, and there are no rules."""
        if training.response.n_outputs > 1:
            return super().weigh(training, rules, moments, sizes)
        mean, none = training.response.output(moments.means[0]), np.zeros((len(sizes), 0))
        return WeightedPrefixes((), tuple(sizes), none, ((0.0,),) * len(sizes), np.zeros(len(sizes)), mean)

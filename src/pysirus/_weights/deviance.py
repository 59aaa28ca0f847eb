"""Scores and responses in, what they stand for and their deviances out (docs/method.md).

Scores and responses are arrays [row, score]; see ``likelihood.responses_of``. Sums are rounded once (``math.fsum``), so
the order of rows does not matter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pysirus import _core

Floats = NDArray[np.float64]


def predicted_means(loss: str, scores: Floats) -> Floats:
    """What scores stand for: probabilities, means of counts or amounts, or the scores themselves."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if loss in ("logistic", "softmax"):
        return _core.loss_of_rows(loss, scores, np.zeros_like(scores))[1]
    if loss == "squared":
        return scores
    return _core.exp(scores.ravel()).reshape(scores.shape)


def row_deviances(loss: str, y: Floats, scores: Floats) -> Floats:
    """Twice the loss of each row, less that of a score that knows its response."""
    y, scores = (np.ascontiguousarray(array, dtype=np.float64) for array in (y, scores))
    return np.asarray(2 * (_core.loss_of_rows(loss, scores, y)[0] - _least_loss(loss, y)))


def _least_loss(loss: str, y: Floats) -> Floats:
    """The smallest loss that any score gives to each row."""
    if loss == "squared":
        return np.asarray(-(y**2).sum(axis=1) / 2)
    if loss == "gamma":
        if not (y > 0).all():
            raise ValueError(
                f"The gamma deviance needs responses above 0, found {y.min():g}: drop these rows, or use poisson."
            )
        return 1 + _core.log(y[:, 0])
    if (y < 0).any():
        raise ValueError(f"The {loss} deviance needs responses of at least 0, found {y.min():g}.")
    if loss == "poisson":
        return np.asarray(y - _times_log(y))[:, 0]
    return np.asarray(-(_times_log(y) + (_times_log(1 - y) if loss == "logistic" else 0.0)).sum(axis=1))


def _times_log(y: Floats) -> Floats:
    """y log(y), which is 0 at 0."""
    return y * _core.log(np.where(y > 0, y, 1.0).ravel()).reshape(y.shape)


def weighted_mean(values: Floats, weights: Floats | None = None) -> float:
    """The mean of one number a row, whatever the order of the rows."""
    if weights is None:
        return math.fsum(values) / len(values)
    return math.fsum(values * weights) / math.fsum(weights)

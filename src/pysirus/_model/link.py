"""Scores in, predictions out: what the sum of a model's weighted outputs stands for (docs/method.md, "Links").

The identity: the sum is the prediction. ``softmax``: one score per class, and probabilities that are proportional to
their exponentials; with two classes the difference of the scores is the log-odds of the second. ``log``: the logarithm
of a positive mean. ``hazard``: the logarithm of a hazard relative to that of an average row, which is the prediction.
The exponentials are the project's own, so that a prediction has the same bits on every machine.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pysirus import _core

Link = Literal["identity", "softmax", "log", "hazard"]
LINKS: tuple[Link, ...] = get_args(Link)


def respond(link: Link, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The predictions [row, output] of scores [row, output]."""
    if link == "softmax":
        if scores.shape[1] == 1:
            return np.ones_like(scores)
        scores = np.ascontiguousarray(scores)
        return _core.loss_of_rows("softmax", scores, np.zeros_like(scores))[1]
    if link == "log":
        return _core.exp(np.ascontiguousarray(scores).ravel()).reshape(scores.shape)
    return scores


def log_odds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of two classes the log-odds of the second, [...]; of more the scores themselves, [..., class]."""
    return np.asarray(scores[..., 1] - scores[..., 0]) if scores.shape[-1] == 2 else scores

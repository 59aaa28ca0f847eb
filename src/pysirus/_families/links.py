"""Scores in, predictions out: what the sum of a model's weighted outputs stands for (docs/method.md, "Links").

The identity: the sum is the prediction. ``softmax``: one score per class, and probabilities that are proportional to
their exponentials; with two classes the difference of the scores is the log-odds of the second. ``log``: the logarithm
of a positive mean. ``hazard``: the logarithm of a hazard relative to that of an average row, which is the prediction.
The exponentials are the project's own, so that a prediction has the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.losses import SOFTMAX

Floats = NDArray[np.float64]
Link = Literal["identity", "softmax", "log", "hazard"]
LINKS: tuple[Link, ...] = get_args(Link)

# How predictions follow from the sums of a list, for programs in other languages: the sum is the prediction, or its
# exponential is; the sums are probabilities of classes, or scores whose softmax they are, and the largest decides; one
# sum is the log-odds of the positive class of two. A language that can write these can write every family.
Form = Literal["sum", "exp", "shares", "softmax", "odds"]


def _same(scores: Floats) -> Floats:
    return scores


def _exp(scores: Floats) -> Floats:
    return _core.exp(np.ascontiguousarray(scores).ravel()).reshape(scores.shape)


def _softmax(scores: Floats) -> Floats:
    if scores.shape[1] == 1:
        return np.ones_like(scores)
    return SOFTMAX.means(scores)


INVERSE: dict[Link, Callable[[Floats], Floats]] = {
    "identity": _same,
    "softmax": _softmax,
    "log": _exp,
    "hazard": _same,
}


def log_odds(scores: Floats) -> Floats:
    """Of two classes the log-odds of the second, [...]; of more the scores themselves, [..., class]."""
    return np.asarray(scores[..., 1] - scores[..., 0]) if scores.shape[-1] == 2 else scores

"""Classes, by the mean of class proportions: the outputs of rules are class proportions, with equal weights.

This is the form of the authors' paper on classification and of their R package. The error is 1 - AUC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from pysirus._learn.kinds.auc import HeldOut, pooled_error
from pysirus._learn.kinds.classes import ClassKind
from pysirus._learn.kinds.gain import brier_loss
from pysirus._learn.kinds.kind import PooledError
from pysirus._learn.training import Training
from pysirus._message import Parameter, setting
from pysirus._parameters import ParameterError
from pysirus._response.response import Response
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.equal import weigh_equally
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import WeightedPrefixes

NO_STAGES = (
    f"{Parameter('n_stages')} must be 1 with {setting('weighting', 'equal')}: a mean of class proportions has no "
    "residuals to correct."
)


@dataclass(frozen=True)
class ClassShares(ClassKind):
    """One class per row, predicted by the mean of the rules' class proportions."""

    criterion: ClassVar[str] = "error"
    has_penalty: ClassVar[bool] = False
    has_stages: ClassVar[bool] = False

    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Every size: each rule has a weight."""
        return range(len(rules) + 1)

    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Equal weights."""
        return weigh_equally(rules, moments, training.response, sizes)

    def residual(self, response: Response, weighted: WeightedPrefixes) -> NoReturn:
        """A mean of class proportions has no residuals to correct."""
        raise ParameterError(NO_STAGES)

    def judge(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> HeldOut:
        """What ranks the held-out rows."""
        shape = (len(weighted.rules), response.n_outputs)
        inside = np.array([rule.inside for rule in weighted.rules], dtype=np.float64).reshape(shape)
        outside = np.array([rule.outside for rule in weighted.rules], dtype=np.float64).reshape(shape)
        return HeldOut(holds, inside, outside, np.asarray(weighted.mean), response.answers, response.weights)

    def row_loss(self, values: NDArray[np.float64], truth: NDArray[Any]) -> NDArray[np.float64]:
        """Brier's: a mean of proportions ranks rows, and is no probability to take the logarithm of."""
        return brier_loss(values, truth)

    def pooled_error(self, judged: Sequence[HeldOut]) -> PooledError:
        """1 - AUC; of more than two classes 1 - the mean AUC of each class against the rest."""
        return lambda sizes: np.array([pooled_error(judged, step) for step in sizes.tolist()])

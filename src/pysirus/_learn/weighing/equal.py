"""Classes, by the mean of class proportions: the outputs of rules are class proportions, with equal weights.

This is the form of the authors' paper on classification and of their R package. The error is 1 - AUC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from pysirus._families.metrics.classes import Ranks, merge, merged_auc, rank
from pysirus._families.response.response import Response
from pysirus._learn.training import Training
from pysirus._learn.weighing.base import PooledError, Weighing
from pysirus._message import Parameter, setting
from pysirus._parameters import ParameterError
from pysirus._sums import scores_of
from pysirus._terms.fitted import FittedTerm, outputs_of
from pysirus._weights.equal import weigh_equally
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import WeightedPrefixes

NO_STAGES = (
    f"{Parameter('n_stages')} must be 1 with {setting('weighting', 'equal')}: a mean of class proportions has no "
    "residuals to correct."
)


@dataclass(frozen=True)
class Equally(Weighing):
    """One class per row, predicted by the mean of the rules' class proportions."""

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
        inside, outside = outputs_of(weighted.rules, (response.n_outputs,))
        return HeldOut(holds, inside, outside, np.asarray(weighted.mean), response.answers, response.weights)

    def pooled_error(self, judged: Sequence[HeldOut]) -> PooledError:
        """1 - AUC; of more than two classes 1 - the mean AUC of each class against the rest."""
        return lambda sizes: np.array([pooled_error(judged, step) for step in sizes.tolist()])


class HeldOut:
    """The held-out rows of a fold: which rules hold, and how the shares of every prefix rank them."""

    def __init__(
        self,
        holds: NDArray[np.bool_],
        inside: NDArray[np.float64],
        outside: NDArray[np.float64],
        mean: NDArray[np.float64],
        codes: NDArray[np.uint8],
        weights: NDArray[np.float64] | None,
    ) -> None:
        self._holds = holds
        self._gap, self._outside, self._mean = inside - outside, outside, mean
        self._codes = codes
        self._weights = weights
        self._at: tuple[int, tuple[Ranks, ...]] | None = None

    @property
    def classes(self) -> Sequence[int]:
        """The classes to tell from the rest: of two the second, of more each."""
        return [1] if len(self._mean) == 2 else range(len(self._mean))

    def ranks(self, n_rules: int) -> tuple[Ranks, ...]:
        """The ranks by each class when the first ``n_rules`` rules are in use; the last answer is remembered."""
        if self._at is None or self._at[0] != n_rules:
            self._at = (n_rules, tuple(self._rank(n_rules, code) for code in self.classes))
        return self._at[1]

    def _rank(self, n_rules: int, code: int) -> Ranks:
        if n_rules == 0:
            scores = np.full(len(self._codes), self._mean[code])
        else:
            base, steps = self._outside[:n_rules, [code]].sum(axis=0), self._gap[:n_rules, [code]]
            scores = scores_of(self._holds[:, :n_rules], base, steps)[:, 0] / n_rules
        return rank(scores, self._codes == code, self._weights)


def pooled_error(folds: Sequence[HeldOut], sizes: Sequence[int]) -> float:
    """1 - AUC of the second of two classes, or 1 - the mean one-vs-rest AUC of more, over all held-out rows."""
    by_fold = [fold.ranks(size) for fold, size in zip(folds, sizes)]
    areas = [merged_auc(merge(ranks)) for ranks in zip(*by_fold)]
    known = [area for area in areas if area is not None]
    return 1 - float(np.mean(known)) if known else 0.5

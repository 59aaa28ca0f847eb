"""Class shares of held-out rows in, one minus the area under the ROC curve out, over all folds together.

Rows that a few rules put together have equal scores, so a fold is first reduced to its distinct scores and what each
of them weighs in members and others of a class; the folds are then merged, which costs no sorting of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysirus._sums import scores_of, weighted_sum

DIGITS = 12  # scores that agree to this many digits are equal: sums of the same shares in another order


@dataclass(frozen=True)
class Ranks:
    """Distinct scores, rising, and the weight of members and of others that have them."""

    scores: NDArray[np.float64]
    members: NDArray[np.float64]
    others: NDArray[np.float64]


def rank(scores: NDArray[np.float64], member: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> Ranks:
    """Reduce rows to their distinct scores."""
    distinct, place = np.unique(np.round(scores, DIGITS), return_inverse=True)
    mass = np.ones(len(scores)) if weights is None else weights
    return Ranks(distinct, _sums(place, mass * member, len(distinct)), _sums(place, mass * ~member, len(distinct)))


def _sums(place: NDArray[np.intp], mass: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(place, mass, n), dtype=np.float64)


def merge(folds: Sequence[Ranks]) -> Ranks:
    """The ranks of several folds together."""
    distinct, place = np.unique(np.concatenate([fold.scores for fold in folds]), return_inverse=True)
    members = _sums(place, np.concatenate([fold.members for fold in folds]), len(distinct))
    return Ranks(distinct, members, _sums(place, np.concatenate([fold.others for fold in folds]), len(distinct)))


def auc(ranks: Ranks) -> float | None:
    """The chance that a member scores above another row, ties counting half; None when one side is empty."""
    n_members, n_others = ranks.members.sum(), ranks.others.sum()
    if n_members <= 0 or n_others <= 0:
        return None
    below = np.cumsum(ranks.others) - ranks.others / 2
    return float(weighted_sum(ranks.members, below) / (n_members * n_others))


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
    areas = [auc(merge(ranks)) for ranks in zip(*by_fold)]
    known = [area for area in areas if area is not None]
    return 1 - float(np.mean(known)) if known else 0.5

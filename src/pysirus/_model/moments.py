"""Sums over ten folds of the training rows, from which the weights of any part of a list can be fitted again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 10


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of each fold, in units of the weights; the response is measured from ``centre``."""

    rows: NDArray[np.int64]  # [rule] rows inside
    n_rows: int
    fold_weight: NDArray[np.float64]  # [fold]
    pair_weight: NDArray[np.float64]  # [fold, rule, rule] of the rows where both hold
    y_sum: NDArray[np.float64]  # [fold, output]
    rule_y_sum: NDArray[np.float64]  # [fold, rule, output] over the rows where the rule holds
    y_square: NDArray[np.float64]  # [fold] sum of squares
    centre: float

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return len(self.rows)

    @cached_property
    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Mean response of all rows, and of the rows inside and outside each rule; one column per output."""
        weight, total = self.fold_weight.sum(), self.y_sum.sum(axis=0)
        inside = np.einsum("fii->i", self.pair_weight)[:, None]
        inside_sum = self.rule_y_sum.sum(axis=0)
        mean_inside = self.centre + inside_sum / inside
        mean_outside = self.centre + (total - inside_sum) / (weight - inside)
        return self.centre + total / weight, mean_inside, mean_outside

    def take(self, rules: Sequence[int]) -> Moments:
        """The moments of some of the rules."""
        i = np.asarray(rules, dtype=np.intp)
        pairs = self.pair_weight[:, i][:, :, i]
        return replace(self, rows=self.rows[i], pair_weight=pairs, rule_y_sum=self.rule_y_sum[:, i])

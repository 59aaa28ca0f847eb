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
    size: NDArray[np.float64]  # [fold]
    pair: NDArray[np.float64]  # [fold, rule, rule] size of where both hold
    sum: NDArray[np.float64]  # [fold, output]
    rule_sum: NDArray[np.float64]  # [fold, rule, output]
    square: NDArray[np.float64]  # [fold]
    centre: float

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return len(self.rows)

    @cached_property
    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Mean response of all rows, and of the rows inside and outside each rule; one column per output."""
        size, total = self.size.sum(), self.sum.sum(axis=0)
        inside = np.einsum("fii->i", self.pair)[:, None]
        inside_sum = self.rule_sum.sum(axis=0)
        mean_inside = self.centre + inside_sum / inside
        mean_outside = self.centre + (total - inside_sum) / (size - inside)
        return self.centre + total / size, mean_inside, mean_outside

    def take(self, rules: Sequence[int]) -> Moments:
        """The moments of some of the rules."""
        i = np.asarray(rules, dtype=np.intp)
        return replace(self, rows=self.rows[i], pair=self.pair[:, i][:, :, i], rule_sum=self.rule_sum[:, i])

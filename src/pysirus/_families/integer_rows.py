"""Rows in, how much they count out: integers, the same in any order of the rows and in any split into parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.fixed_point import Scale, group_sums
from pysirus._families.responses import MomentArrays, Response


@dataclass(frozen=True)
class Count:
    """How much some rows count: two disjoint sets of rows add up."""

    rows: int = 0
    weight: int = 0  # sum of the integer weights
    virtual_rows: int = 0  # what they amount to: whole weights are repeated rows, others are scaled to a mean of one

    def __add__(self, other: Count) -> Count:
        return Count(self.rows + other.rows, self.weight + other.weight, self.virtual_rows + other.virtual_rows)


@dataclass(frozen=True)
class IntegerRows:
    """The rows of a response in integers, made once for all columns."""

    response: Response

    @cached_property
    def scale(self) -> Scale:
        """What fixes the integers."""
        return self.response.scale

    @cached_property
    def weights(self) -> NDArray[np.int64] | None:
        """Integer weights; None where every row counts one."""
        return self.response.moment_weights()

    @cached_property
    def _arrays(self) -> MomentArrays:
        return self.response.moment_arrays()

    def count(self, mask: NDArray[np.bool_] | None = None) -> Count:
        """How much the rows of a mask count; None for all of them."""
        rows = self.response.n_rows if mask is None else int(np.count_nonzero(mask))
        if self.weights is None:
            return Count(rows, rows, rows)
        weight = int((self.weights if mask is None else self.weights[mask]).sum())
        if not self.scale.whole:
            repeats = self.response.base_weights if self.scale.repeated else None
            return Count(rows, weight, rows if repeats is None else int(repeats[... if mask is None else mask].sum()))
        exponent = self.scale.moment_weight_exponent
        return Count(rows, weight, weight >> exponent if exponent >= 0 else weight << -exponent)

    def sizes(self, groups: NDArray[Any], n_groups: int) -> NDArray[np.int64]:
        """The weight of each group of rows."""
        return group_sums(groups, self.weights, n_groups)

    def sums(self, groups: NDArray[Any], n_groups: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The weight of each group of rows, and what it answers: exact sums [group, output]."""
        return self.response.sums_by_group(groups, n_groups, self.weights, self._arrays)

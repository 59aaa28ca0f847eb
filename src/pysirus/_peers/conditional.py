"""A training table in, a tree of conditional inference out (Hothorn, Hornik, Zeileis 2006): what RuleFit grows in R.

A node is split in the column that is most significantly associated with the target, whatever its number of cuts, and
stays whole where none is: the test statistic is (n - 1) times the share of variance that a straight line explains, or
the means of the categories, beside the chi-squared distribution, with Bonferroni's correction for the number of
columns. Within that column the cut with the smallest squared error is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from pysirus._peers.tree_based import TreeTraining
from pysirus._peers.trees import Node
from pysirus._terms.rule import SplitSide

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
TINY = 1e-12  # of a variance: below it nothing varies


@dataclass(frozen=True)
class Growing:
    """When a node is split."""

    max_depth: int
    min_leaf: int
    min_split: int = 20
    significance: float = 0.05


class ConditionalTrees:
    """Trees on the rows of a training table, one for each target that it is asked for."""

    def __init__(self, training: TreeTraining, growing: Growing) -> None:
        self.coded, self.weights, self.growing = training.coded, training.weights, growing
        columns = training.table.columns
        codes = training.coded.codes
        # lines are tested on the values themselves, as positions among cuts would hide how far apart they lie
        self.values = np.column_stack(
            [own.values.astype(np.float64) if own.is_numeric else codes[:, j] for j, own in enumerate(columns)]
        ).astype(np.float64)
        self.known = ~np.isnan(codes)
        self.values[~self.known] = 0.0
        spread = self.values.std(axis=0)
        self.values = (self.values - self.values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self.categorical = [j for j, own in enumerate(columns) if not own.is_numeric]
        self.position = np.where(self.known, codes, 0).astype(np.intp)
        self.complete = bool(self.known.all())

    def grow(self, target: Floats, rows: Rows) -> tuple[list[Node], Floats]:
        """The nodes of a tree grown on some rows, parents first, and what the tree predicts for all rows."""
        nodes: list[Node] = []
        predicted = np.empty(len(target))
        waiting: list[tuple[Node, Rows, Rows]] = [((), rows, np.arange(len(target)))]
        while waiting:
            node, own, everywhere = waiting.pop(0)
            split = self._split(target, own) if len(node) < self.growing.max_depth else None
            if split is None:
                predicted[everywhere] = np.average(target[own], weights=self.weights[own])
                continue
            for less in (True, False):
                side = SplitSide(*split[:2], less, split[2])
                child = (*node, side)
                nodes.append(child)
                waiting.append((child, own[self._inside(side, own)], everywhere[self._inside(side, everywhere)]))
        return nodes, predicted

    def _inside(self, side: SplitSide, rows: Rows) -> NDArray[np.bool_]:
        less = self.position[rows, side.feature] <= side.cut
        return np.asarray(np.where(self.known[rows, side.feature], less == side.less, side.missing_inside))

    def _split(self, target: Floats, rows: Rows) -> tuple[int, int, bool] | None:
        """Column, cut and whether missing values go below it; None where a node stays whole."""
        if len(rows) < self.growing.min_split:
            return None
        y, weights = target[rows], self.weights[rows]
        for j in self._significant(y, weights, rows):
            if (cut := self._cut(y, weights, rows, j)) is not None:
                return j, *cut
        return None

    def _significant(self, y: Floats, weights: Floats, rows: Rows) -> list[int]:
        """The columns that are associated with the target, the most significant first."""
        x = self.values[rows]
        known = weights[:, None] * self.known[rows] if not self.complete else np.broadcast_to(weights[:, None], x.shape)
        size = known.sum(axis=0)
        size = np.where(size > 0, size, 1.0)
        mean_x, mean_y = (known * x).sum(axis=0) / size, (known.T @ y) / size
        var_x, var_y = (known * x * x).sum(axis=0) / size - mean_x**2, (known.T @ (y * y)) / size - mean_y**2
        product = (known * x).T @ y / size - mean_x * mean_y
        varies = (var_x > TINY) & (var_y > TINY * max(float(var_y.max(initial=0.0)), TINY))
        share = np.where(varies, product**2 / np.where(varies, var_x * var_y, 1.0), 0.0)
        freedom = np.ones(len(size))
        for j in self.categorical:
            own = self.known[rows, j]
            by = np.bincount(self.position[rows[own], j], weights[own])
            sums = np.bincount(self.position[rows[own], j], weights[own] * (y[own] - mean_y[j]))
            between = float((sums[by > 0] ** 2 / by[by > 0]).sum() / size[j])
            freedom[j] = max(1, int(np.count_nonzero(by)) - 1)
            share[j] = between / var_y[j] if var_y[j] > 0 and np.count_nonzero(by) > 1 else 0.0
        n_rows = np.count_nonzero(self.known[rows], axis=0)
        statistic = np.maximum(n_rows - 1, 0) * np.minimum(share, 1.0)
        chance = chdtrc(freedom, statistic)
        corrected = -np.expm1(len(size) * np.log1p(-np.minimum(chance, 1 - 1e-16)))
        order = np.lexsort((-statistic / freedom, chance))
        return [int(j) for j in order if corrected[j] < self.growing.significance and statistic[j] > 0]

    def _cut(self, y: Floats, weights: Floats, rows: Rows, j: int) -> tuple[int, bool] | None:
        """The cut of a column with the smallest squared error; missing values go to the larger side."""
        own = self.known[rows, j]
        position = self.position[rows[own], j]
        counts = np.bincount(position)
        size = np.cumsum(np.bincount(position, weights[own]))
        total = np.cumsum(np.bincount(position, weights[own] * (y[own] - np.average(y[own], weights=weights[own]))))
        below = np.cumsum(counts)
        least = self.growing.min_leaf
        allowed = (below >= least) & (below[-1] - below >= least) & (counts > 0)
        if not allowed.any():
            return None
        rest = size[-1] - size
        gain = np.where(allowed, total**2 / np.where(allowed, size * rest, 1.0), -1.0)
        cut = int(gain.argmax())
        return cut, bool(2 * below[cut] >= below[-1])

"""A forest in NumPy whose trees may refuse splits against a direction: what that would add to the filter at selection.

Slow and plain, for the study alone. Depth 2, one response column; without directions it grows trees like the core's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._forest.forest import GrowingForest

DEPTH = 2


class NumpyForest(GrowingForest):
    """Trees on rows in bins; with ``directed`` a split must go the way that its column has."""

    def __init__(self, training: Any, recipe: Any, first_tree: int, directed: bool) -> None:
        super().__init__(recipe, first_tree)
        self._binned = training.binned
        values, codes = training.response.forest_arrays()
        self._y = np.asarray(codes if values is None else values, dtype=np.float64).ravel()
        self._signs = training.constraints.directions if directed and training.constraints else {}

    def _splits(self, first_tree: int, n_trees: int, lines: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        return np.array([self._tree(first_tree + i) for i in range(n_trees)], dtype=np.int32)

    def _tree(self, tree: int) -> list[int]:
        rng = np.random.default_rng((self._recipe.seed, tree))
        counts = rng.poisson(self._recipe.max_samples, len(self._y))
        splits = [-1] * (2**DEPTH - 1)
        inside = {0: counts > 0}
        for node in range(len(splits)):
            rows = inside.get(node)
            if rows is None or counts[rows].sum() <= self._recipe.min_node_size or np.ptp(self._y[rows]) == 0:
                continue
            split = self._best(rows, counts, rng)
            if split is None:
                continue
            feature, local = split
            splits[node] = int(self._binned.split_offset[feature]) + local
            left = self._goes_left(feature, local)
            inside[2 * node + 1], inside[2 * node + 2] = rows & left, rows & ~left
        return splits

    def _goes_left(self, feature: int, local: int) -> NDArray[np.bool_]:
        bins, n_cuts = self._binned.bins[feature].astype(int), self._binned.cuts[feature].n_cuts
        missing = bins == n_cuts + 1
        if local < n_cuts:
            return np.asarray(bins <= local)
        return np.asarray(missing | (bins <= local - n_cuts) if local < 2 * n_cuts else ~missing)

    def _best(self, rows: Any, counts: Any, rng: np.random.Generator) -> tuple[int, int] | None:
        best: tuple[float, int, int] | None = None
        n_columns = len(self._binned.cuts)
        for feature in rng.permutation(n_columns)[: self._recipe.n_candidates(n_columns)].tolist():
            cuts = self._binned.cuts[feature]
            bins, weights = self._binned.bins[feature][rows], counts[rows]
            sizes = np.bincount(bins, weights, cuts.n_bins)
            sums = np.bincount(bins, weights * self._y[rows], cuts.n_bins)
            left = np.stack([sizes, sums])[:, : cuts.n_cuts + 1].cumsum(axis=1)
            ways = left[:, : cuts.n_cuts]
            if cuts.has_missing:
                gone = np.array([[sizes[-1]], [sums[-1]]])
                ways = np.concatenate([ways, ways + gone, left[:, -1:]], axis=1)
            n_left, s_left = ways
            n_right, s_right = sizes.sum() - n_left, sums.sum() - s_left
            gap = s_left * n_right - s_right * n_left  # above 0: the left has the larger mean
            with np.errstate(divide="ignore", invalid="ignore"):
                score = np.where((n_left > 0) & (n_right > 0), gap**2 / (n_left * n_right), -1.0)
            if sign := self._signs.get(feature):
                wrong = gap * sign > 0
                wrong[2 * cuts.n_cuts :] = False  # missing apart has no direction
                score[wrong] = -1.0
            at = int(score.argmax()) if len(score) else 0
            if len(score) and score[at] >= 0 and (best is None or score[at] > best[0]):
                best = (float(score[at]), feature, at)
        return None if best is None else best[1:]

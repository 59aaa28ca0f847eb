"""Folds in, their path out: error and stability as functions of p0, or as rules, or stages of rules, are added.

Every fold has one list of rules in order of frequency. Walking p0 down (the paper's section "Tuning"; docs/method.md,
"Tuning"), a fold uses its rules above p0: a prefix of its list. So the whole path is known at the frequencies
themselves, and nothing is computed between them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._learn.tuning.held_out import FoldTerms, Use
from pysirus._learn.weighing.base import PooledError, Weighing
from pysirus._model.tuning import Ideal, TuningPath


@dataclass(frozen=True)
class FoldList:
    """What one fold learned: the frequencies of its rules, falling, and the rules in use at each size 0, 1, 2, ..."""

    frequencies: NDArray[np.float64]
    in_use: tuple[frozenset[Hashable], ...]


@dataclass(frozen=True)
class GrowingList:
    """A fold's list after each step, and what its held-out rows say of it."""

    in_use: tuple[frozenset[Hashable], ...]
    lowest: tuple[float, ...]  # frequency of the least frequent rule so far
    held_out_loss: Any
    lists: FoldTerms
    first: int = 0  # entry of ``held_out_loss`` that belongs to the first step

    def after(self, step: int) -> int:
        """The entry of a step; a list that ended earlier stays as it is."""
        return min(step, len(self.in_use) - 1)

    def use(self, step: int) -> Use:
        """The list of a step."""
        k = self.after(step)
        return Use(self.lists, k + self.first, self.held_out_loss, self.in_use[k])


@dataclass(frozen=True)
class Steps:
    """Step functions of p0: entry i holds where ``edges[i] > p0 >= edges[i + 1]``; edges fall from 1 to 0."""

    edges: NDArray[np.float64]
    n_rules: NDArray[np.float64]
    error: NDArray[np.float64]
    stability: NDArray[np.float64]

    @property
    def p0(self) -> NDArray[np.float64]:
        """A p0 of each step, midway between its edges."""
        return np.asarray((self.edges[:-1] + self.edges[1:]) / 2)

    def at(self, p0: NDArray[np.float64]) -> NDArray[np.float64]:
        """Number of rules, error and stability at some p0, one row each."""
        step = np.searchsorted(-self.edges, -p0, side="right") - 1
        step = np.clip(step, 0, len(self.n_rules) - 1)
        return np.stack([self.n_rules[step], self.error[step], self.stability[step]])


def walk(folds: Sequence[FoldList], pooled_error: PooledError) -> Steps:
    """Walk p0 down the union of the folds' frequencies; only the folds whose list grows are looked at again."""
    edges = np.unique(np.concatenate([[1.0], *(fold.frequencies for fold in folds)]))[::-1]
    sizes = np.stack([np.searchsorted(-fold.frequencies, -edges, side="right") for fold in folds], axis=1)
    n_used = [np.array([len(rules) for rules in fold.in_use]) for fold in folds]
    n_rules = np.mean([used[k] for used, k in zip(n_used, sizes.T)], axis=0)
    return Steps(np.append(edges, 0.0), n_rules, pooled_error(sizes), _stabilities(folds, sizes))


def growing_steps(folds: Sequence[GrowingList], weighing: Weighing) -> NDArray[np.float64]:
    """Number of rules, error, stability and least frequency of a repetition, at every step."""
    at = np.array([[fold.after(step) for fold in folds] for step in range(max(len(fold.in_use) for fold in folds))])
    error = weighing.pooled_error([fold.held_out_loss for fold in folds])(at + [fold.first for fold in folds])
    sets = [[fold.in_use[k] for fold, k in zip(folds, row)] for row in at.tolist()]
    return np.array(
        [
            [np.mean([len(rules) for rules in step]) for step in sets],
            error,
            [mean_dice(step) for step in sets],
            [np.mean([fold.lowest[k] for fold, k in zip(folds, row)]) for row in at.tolist()],
        ]
    )


def _stabilities(folds: Sequence[FoldList], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """The mean Dice-Sorensen index over pairs of folds, at each step."""
    ids: dict[Hashable, int] = {}
    masks = [[_mask(rules, ids) for rules in fold.in_use] for fold in folds]
    now = [own[k] for own, k in zip(masks, sizes[0].tolist())]
    n = len(folds)
    common = [[_dice(a, b) for b in now] for a in now]
    total = sum(common[f][g] for f in range(n) for g in range(f))
    result = np.empty(len(sizes))
    grows = np.diff(sizes, axis=0, prepend=sizes[:1]) > 0
    for step, growing in enumerate(grows):
        for f in np.flatnonzero(growing).tolist():
            own = now[f] = masks[f][sizes[step, f]]
            for g in range(n):
                if g != f:
                    index = _dice(own, now[g])
                    total += index - common[f][g]
                    common[f][g] = common[g][f] = index
        result[step] = total
    return result / (n * (n - 1) / 2)


def mean_dice(lists: Sequence[frozenset[Hashable]]) -> float:
    """The mean Dice-Sorensen index over pairs of rule sets."""
    ids: dict[Hashable, int] = {}
    masks = [_mask(rules, ids) for rules in lists]
    return float(np.mean([_dice(a, b) for a, b in combinations(masks, 2)]))


def dice_by_fold(lists: Sequence[frozenset[Hashable]]) -> list[float]:
    """The mean Dice-Sorensen index of each rule set with the others."""
    ids: dict[Hashable, int] = {}
    masks = [_mask(rules, ids) for rules in lists]
    return [float(np.mean([_dice(own, b) for j, b in enumerate(masks) if j != i])) for i, own in enumerate(masks)]


def _mask(rules: frozenset[Hashable], ids: dict[Hashable, int]) -> int:
    """A set of rules as the bits of an integer."""
    return sum(1 << ids.setdefault(rule, len(ids)) for rule in rules)


def _dice(a: int, b: int) -> float:
    total = a.bit_count() + b.bit_count()
    return 2 * (a & b).bit_count() / total if total else 1.0


def average(repetitions: Sequence[Steps], max_rules: int, ideal: Ideal) -> TuningPath:
    """Average the repetitions' step functions over the union of their edges, from one to max_rules rules on average."""
    edges = np.unique(np.concatenate([steps.edges for steps in repetitions]))[::-1]
    p0 = (edges[:-1] + edges[1:]) / 2
    values = np.stack([steps.at(p0) for steps in repetitions])  # [repetition, function, p0]
    mean = values.mean(axis=0)
    n = len(repetitions)
    error = standard_errors(values)
    keep = (mean[0] >= 1) & (mean[0] <= max_rules)
    if not keep.any():
        keep = np.ones(len(p0), dtype=bool)
    means, errors = mean[:, keep], error[:, keep]
    return TuningPath(p0[keep], means[0], means[1], means[2], errors[0], errors[1], errors[2], n, ideal)


def choose_stable(repetitions: Sequence[Steps], max_rules: int, ideal: Ideal) -> float:
    """In each repetition the p0 nearest to the ideal point, the shorter list on a tie; then the median."""
    chosen = []
    for steps in repetitions:
        distance = ideal.distance(steps.error, steps.stability)
        usable = (steps.n_rules >= 1) & (steps.n_rules <= max_rules)
        if usable.any():
            distance = np.where(usable, distance, np.inf)
        chosen.append(steps.p0[int(distance.argmin())])
    return float(np.median(chosen))


def choose_accurate(path: TuningPath) -> float:
    """The largest p0 whose error is within two standard errors of the minimum."""
    return float(path.p0[first_within_two_errors(path)])


def growing_path(
    repetitions: Sequence[NDArray[np.float64]], max_rules: int, criterion: str, ideal: Ideal
) -> tuple[TuningPath, int]:
    """The path over steps, averaged over repetitions, and the step that the criterion takes.

    "stability" takes the step nearest to the ideal point (the median over repetitions). The p0 of a step is the
    frequency of the least frequent rule so far, averaged over folds. A repetition that ended earlier stays as it is.
    """
    n_steps = max(steps.shape[1] for steps in repetitions)
    values = np.stack([np.pad(s, [(0, 0), (0, n_steps - s.shape[1])], "edge") for s in repetitions])
    values = values[:, :, values[:, 0].mean(axis=0) <= max_rules]
    mean, error = values.mean(axis=0), standard_errors(values)
    path = TuningPath(mean[3], mean[0], mean[1], mean[2], error[0], error[1], error[2], len(repetitions), ideal)
    if criterion == "error":
        return path, first_within_two_errors(path)
    nearest = ideal.distance(values[:, 1], values[:, 2]).argmin(axis=1)
    return path, int(np.floor(np.median(nearest)))


def first_within_two_errors(path: TuningPath) -> int:
    """The first entry of a path (the shortest list) whose error is within two standard errors of the minimum."""
    best = int(path.error.argmin())
    return int(np.flatnonzero(path.error <= path.error[best] + 2 * path.error_se[best])[0])


def standard_errors(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of means over repetitions, the first axis; zero for a single one."""
    n = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(n)) if n > 1 else np.zeros(values.shape[1:])

"""Folds in, a tuning path and a choice of p0 out (the paper's section "Tuning"; spec, section 7).

Every fold has one list of rules in order of frequency. Walking p0 down, a fold uses its rules above p0: a prefix of its
list. So the whole path is known at the frequencies themselves, and nothing is computed between them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._format import make_frame
from pysirus._rules.rule import RuleSet

IDEAL = (0.0, 0.9)  # error, stability
# the size that each fold uses, one row a step -> the error at each step
PooledError = Callable[[NDArray[np.intp]], NDArray[np.float64]]


@dataclass(frozen=True)
class FoldList:
    """What one fold learned: the frequencies of its rules, falling, and the rules in use at each size 0, 1, 2, ..."""

    frequencies: NDArray[np.float64]
    in_use: tuple[frozenset[Hashable], ...]


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


def _mask(rules: frozenset[Hashable], ids: dict[Hashable, int]) -> int:
    """A set of rules as the bits of an integer."""
    return sum(1 << ids.setdefault(rule, len(ids)) for rule in rules)


def _dice(a: int, b: int) -> float:
    total = a.bit_count() + b.bit_count()
    return 2 * (a & b).bit_count() / total if total else 1.0


@dataclass(frozen=True)
class Size:
    """A model of the first ``n_rules`` rules: its weights, and what cross-validation says of such lists."""

    n_rules: int
    p0: float
    error: float
    stability: float
    weights: tuple[float, ...]
    intercept: float | tuple[float, ...]
    penalty: float


@dataclass(frozen=True, eq=False)
class TuningPath:
    """Number of rules, error and stability against p0, averaged over repetitions.

    Attributes
    ----------
    p0 : ndarray
        Falling; one entry for each step of the averaged functions.
    n_rules, error, stability : ndarray
        Means over the repetitions of the mean number of rules in a fold, the pooled out-of-fold error, and the mean
        Dice-Sorensen index over pairs of folds.
    n_rules_se, error_se, stability_se : ndarray
        Their standard errors over the repetitions (zero for a single one).
    n_repeats : int
        Number of repetitions.
    """

    p0: NDArray[np.float64]
    n_rules: NDArray[np.float64]
    error: NDArray[np.float64]
    stability: NDArray[np.float64]
    n_rules_se: NDArray[np.float64]
    error_se: NDArray[np.float64]
    stability_se: NDArray[np.float64]
    n_repeats: int

    def __len__(self) -> int:
        return len(self.p0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TuningPath):
            return NotImplemented
        return (self.columns(), self.n_repeats) == (other.columns(), other.n_repeats)

    __hash__ = None  # type: ignore[assignment]

    def at(self, p0: float) -> int:
        """The entry that holds at a p0: the nearest one."""
        return int(np.abs(self.p0 - p0).argmin())

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distance to the ideal point of no error and a stability of 0.9."""
        return np.hypot(self.error - IDEAL[0], self.stability - IDEAL[1])

    def columns(self) -> dict[str, list[float]]:
        """The path as plain lists."""
        names = ("p0", "n_rules", "error", "stability", "n_rules_se", "error_se", "stability_se")
        return {name: getattr(self, name).tolist() for name in names}

    def to_frame(self, backend: str | None = None) -> Any:
        """The path as a data frame; ``backend`` is "pandas", "polars" or "pyarrow"."""
        return make_frame(self.columns(), backend)


@dataclass(frozen=True)
class Tuning:
    """All that tuning found: the path, the choice, and the list of every size on the full data."""

    path: TuningPath
    p0: float
    error: float
    stability: float
    criterion: str
    step: int  # the entry of the path that was chosen
    changed: float  # share of the rows that a fold leaves out
    rules: RuleSet  # the longest list, with outputs; a model of size k has the first k
    sizes: tuple[Size, ...]

    def sentence(self, n_rules: int, stability: float) -> str:
        """What stability means, in plain words."""
        if n_rules == 0:
            return "The model has no rules."
        share = "a tenth" if abs(self.changed - 0.1) < 0.005 else f"{100 * self.changed:.0f}%"
        rules = (
            f"Of the {n_rules} rules, about {stability * n_rules:.0f} come"
            if n_rules > 1
            else (f"In {100 * stability:.0f} of 100 cases the one rule comes")
        )
        return f"{rules} back when {share} of the data changes (stability {stability:.2f})."


def average(repetitions: Sequence[Steps], max_rules: int) -> TuningPath:
    """Average the repetitions' step functions over the union of their edges, from one to max_rules rules on average."""
    edges = np.unique(np.concatenate([steps.edges for steps in repetitions]))[::-1]
    p0 = (edges[:-1] + edges[1:]) / 2
    values = np.stack([steps.at(p0) for steps in repetitions])  # [repetition, function, p0]
    mean = values.mean(axis=0)
    n = len(repetitions)
    error = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros_like(mean)
    keep = (mean[0] >= 1) & (mean[0] <= max_rules)
    if not keep.any():
        keep = np.ones(len(p0), dtype=bool)
    means, errors = mean[:, keep], error[:, keep]
    return TuningPath(p0[keep], means[0], means[1], means[2], errors[0], errors[1], errors[2], n)


def choose_stable(repetitions: Sequence[Steps], max_rules: int) -> float:
    """In each repetition the p0 nearest to the ideal point, the shorter list on a tie; then the median."""
    chosen = []
    for steps in repetitions:
        distance = np.hypot(steps.error - IDEAL[0], steps.stability - IDEAL[1])
        usable = (steps.n_rules >= 1) & (steps.n_rules <= max_rules)
        if usable.any():
            distance = np.where(usable, distance, np.inf)
        chosen.append(steps.p0[int(distance.argmin())])
    return float(np.median(chosen))


def choose_accurate(path: TuningPath) -> float:
    """The largest p0 whose error is within two standard errors of the least."""
    best = int(path.error.argmin())
    good = path.error <= path.error[best] + 2 * path.error_se[best]
    return float(path.p0[int(np.flatnonzero(good)[0])])

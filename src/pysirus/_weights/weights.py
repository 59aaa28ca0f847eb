"""Rules in, outputs and weights out: how a list of rules becomes a prediction (the paper's rule aggregation; spec,
section 6).

Everything is computed from moments: how often rules and pairs of rules hold, and with which response, in each of ten
folds. The rows are read once. The training moments of a fold are all moments minus its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._response.response import FixedPoint, Response
from pysirus._rules.rule import Condition, Rule

N_FOLDS = 10
# From 100 to 1/10 of the largest variance of a rule's output, four a decade. Smaller penalties were tried, down to
# 1/10000: errors stay what they are (Ozone 0.332, Machine 0.281) but weights fall to zero and back between samples, and
# the stability at ten rules of Ozone goes down from 0.62 to 0.57. The authors' package stops at 1/10 as well.
PENALTY_GRID = np.logspace(2, -1, 13)
# Corrections have smaller outputs than the rules they correct, and a penalty made for those would hold them back
# (docs/stages.md).
STAGES_GRID = np.logspace(2, -3, 21)


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of each fold, in units of the weights; the response is measured from ``centre``."""

    rows: NDArray[np.int64]  # [rule] rows inside
    n_rows: int
    size: NDArray[np.float64]  # [fold]
    pair: NDArray[np.float64]  # [fold, rule, rule] size of where both hold
    sum: NDArray[np.float64]  # [fold, slot]
    rule_sum: NDArray[np.float64]  # [fold, rule, slot]
    square: NDArray[np.float64]  # [fold]
    centre: float

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return len(self.rows)

    @cached_property
    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Mean response of all rows, and of the rows inside and outside each rule; one column a slot."""
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


def bins_inside(condition: Condition, binned: Binned) -> NDArray[np.bool_]:
    """Which bins of its feature satisfy a condition of a rule that came from these bins."""
    cuts = binned.cuts[condition.index]
    position = {identity: i for i, identity in enumerate(cuts.identities)}
    bins = np.arange(256)
    inside = np.full(256, condition.known)
    if condition.lower_cut is not None:
        inside &= bins > position[condition.lower_cut]
    if condition.upper_cut is not None:
        inside &= bins <= position[condition.upper_cut]
    if cuts.has_missing:
        inside[cuts.n_cuts + 1] = bool(condition.missing)
    return inside


def rule_tables(rules: Sequence[Rule], binned: Binned) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """For each feature in use a table bin -> bits of the rules that the bin does not rule out."""
    n_words = max(1, -(-len(rules) // 64))
    features = sorted({condition.index for rule in rules for condition in rule.conditions})
    allowed = np.ones((len(features), 256, 64 * n_words), dtype=bool)
    for r, rule in enumerate(rules):
        for condition in rule.conditions:
            allowed[features.index(condition.index), :, r] = bins_inside(condition, binned)
    words = np.packbits(allowed, axis=2, bitorder="little").view(np.dtype("<u8")).astype(np.uint64)
    return np.array(features, dtype=np.int32), np.ascontiguousarray(words)


@dataclass(frozen=True)
class MomentSums:
    """The moments of rules over some rows as exact integers: those of several parts add up."""

    n_rows: int
    arrays: _core.MomentArrays

    def __add__(self, other: MomentSums) -> MomentSums:
        arrays = {name: array + other.arrays[name] for name, array in self.arrays.items()}  # type: ignore[literal-required]
        arrays |= {name: _carry(arrays[name]) for name in ("sum", "rule_sum", "square")}
        return MomentSums(self.n_rows + other.n_rows, arrays)  # type: ignore[arg-type]

    def restore(self, fixed: FixedPoint | None) -> Moments:
        """The moments in units of the response."""
        arrays = self.arrays
        lower = arrays["pair"].astype(np.float64)
        high, cross, low = np.moveaxis(_join(arrays["square"]), 1, 0)
        in_units = (lambda array: array) if fixed is None else fixed.restore
        return Moments(
            rows=arrays["rows"],
            n_rows=self.n_rows,
            size=arrays["size"].astype(np.float64),
            pair=lower + np.tril(lower, -1).transpose(0, 2, 1),
            sum=in_units(_join(arrays["sum"])),
            rule_sum=in_units(_join(arrays["rule_sum"])),
            square=in_units(in_units(np.ldexp(high, 44) + np.ldexp(cross, 23) + low)),
            centre=0.0 if fixed is None else fixed.centre,
        )


def _carry(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sums of halves as halves: what lows have above their 48 bits goes to the high half, or it would pile up."""
    high, low = halves[..., 0], halves[..., 1]
    return np.stack([high + (low >> 48), low & ((1 << 48) - 1)], axis=-1)


def _join(halves: NDArray[np.int64]) -> NDArray[np.float64]:
    """Exact integers ``high * 2**48 + low`` as real numbers."""
    return np.asarray(np.ldexp(halves[..., 0].astype(np.float64), 48) + halves[..., 1])


def moment_sums(rules: Sequence[Rule], binned: Binned, response: Response, seed: int, first_row: int = 0) -> MomentSums:
    """One pass over the rows: the moments of the rules in each fold."""
    features, tables = rule_tables(rules, binned)
    arrays = _core.rule_moments(
        binned.bins,
        features,
        tables,
        len(rules),
        response.moment_values(),
        response.slots,
        response.n_slots,
        response.moment_weights(),
        seed,
        N_FOLDS,
        first_row,
    )
    return MomentSums(response.n_rows, arrays)


def rule_moments(rules: Sequence[Rule], binned: Binned, response: Response, seed: int) -> Moments:
    """The moments of rules over rows in memory."""
    return moment_sums(rules, binned, response, seed).restore(response.moment_scale())


def with_outputs(rules: Sequence[Rule], moments: Moments, classes: tuple[Any, ...] | None = None) -> list[Rule]:
    """Give rules their outputs and supports."""
    _, inside, outside = moments.means

    def output(means: NDArray[np.float64]) -> float | tuple[float, ...]:
        return tuple(map(float, means)) if classes is not None else float(means[0])

    return [
        replace(
            rule,
            inside=output(inside[i]),
            outside=output(outside[i]),
            n_inside=int(moments.rows[i]),
            n_outside=int(moments.n_rows - moments.rows[i]),
            classes=classes,
        )
        for i, rule in enumerate(rules)
    ]


@dataclass(frozen=True)
class Gram:
    """Covariances of rule outputs with each other and with the response, over all rows and fold by fold.

    ``train_*`` are covariances over the other folds; ``test_*`` are sums over the fold's own rows of products of
    deviations from the means of the other folds, divided by the size of all folds.
    """

    gram: NDArray[np.float64]
    cross: NDArray[np.float64]
    mean_output: NDArray[np.float64]
    mean: float
    variance: float
    train_gram: NDArray[np.float64]
    train_cross: NDArray[np.float64]
    test_gram: NDArray[np.float64]
    test_cross: NDArray[np.float64]
    test_square: NDArray[np.float64]


def _covariances(
    size: NDArray[np.float64],
    hold: NDArray[np.float64],
    pair: NDArray[np.float64],
    total: NDArray[np.float64],
    rule_total: NDArray[np.float64],
    gap: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Covariance matrices of outputs, and their covariances with the response, from sums."""
    m, y = hold / size[..., None], total / size
    gram = (pair / size[..., None, None] - m[..., :, None] * m[..., None, :]) * (gap[:, None] * gap)
    cross = (rule_total / size[..., None] - m * y[..., None]) * gap
    return gram, cross


def gram_of(moments: Moments, rules: Sequence[Rule]) -> Gram:
    """The Gram matrices of a list of rules with outputs, for regression."""
    inside = np.array([rule.inside for rule in rules], dtype=np.float64)
    outside = np.array([rule.outside for rule in rules], dtype=np.float64)
    gap = inside - outside
    size, pair, total, rule_total = moments.size, moments.pair, moments.sum[:, 0], moments.rule_sum[:, :, 0]
    hold = np.einsum("fii->fi", pair)
    n = size.sum()
    gram, cross = _covariances(n, hold.sum(0), pair.sum(0), total.sum(), rule_total.sum(0), gap)
    use = (size > 0) & (size < n)
    size_t, hold_t = n - size[use], hold.sum(0) - hold[use]
    total_t = total.sum() - total[use]
    train_gram, train_cross = _covariances(
        size_t, hold_t, pair.sum(0) - pair[use], total_t, rule_total.sum(0) - rule_total[use], gap
    )
    m, y = hold_t / size_t[:, None], total_t / size_t
    s, h = size[use], hold[use]
    both = pair[use] - m[:, :, None] * h[:, None, :] - h[:, :, None] * m[:, None, :]
    both += s[:, None, None] * m[:, :, None] * m[:, None, :]
    own = rule_total[use] - m * total[use][:, None] - h * y[:, None] + s[:, None] * m * y[:, None]
    square = moments.square[use] - 2 * y * total[use] + s * y * y
    mean = total.sum() / n
    return Gram(
        gram=gram,
        cross=cross,
        mean_output=outside + gap * hold.sum(0) / n,
        mean=float(moments.centre + mean),
        variance=float(moments.square.sum() / n - mean * mean),
        train_gram=train_gram,
        train_cross=train_cross,
        test_gram=both * (gap[:, None] * gap) / n,
        test_cross=own * gap / n,
        test_square=square / n,
    )


@dataclass(frozen=True)
class Weighed:
    """Rules with outputs, and the models of several prefixes of their list."""

    rules: tuple[Rule, ...]
    sizes: tuple[int, ...]
    weights: NDArray[np.float64]  # [size, rule], zero behind the prefix
    intercepts: tuple[float | tuple[float, ...], ...]
    penalties: NDArray[np.float64]
    mean: float | tuple[float, ...]  # of the response
    moments: Moments | None = None  # what the weights came from

    def in_use(self) -> tuple[frozenset[Hashable], ...]:
        """The rules of positive weight in each model."""
        keys = [rule.key for rule in self.rules]
        return tuple(frozenset(key for key, weight in zip(keys, row) if weight > 0) for row in self.weights)


def ridge_weights(
    gram: Gram, sizes: Sequence[int], penalty_grid: NDArray[np.float64] = PENALTY_GRID
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Non-negative ridge for some prefixes of a list of rules, and its penalty by cross-validation.

    One rule has weight 1.
    """
    n_rules = max(sizes, default=0)
    weights = np.zeros((len(sizes), len(gram.cross)))
    penalties = np.zeros(len(sizes))
    if n_rules >= 2:
        part = np.s_[:n_rules]
        largest = np.maximum.accumulate(np.diag(gram.gram)[part])
        grid = largest[:, None] * penalty_grid
        errors = _core.ridge_errors(
            np.ascontiguousarray(gram.train_gram[:, part, part]),
            np.ascontiguousarray(gram.train_cross[:, part]),
            np.ascontiguousarray(gram.test_gram[:, part, part]),
            np.ascontiguousarray(gram.test_cross[:, part]),
            gram.test_square,
            grid,
        )
        best = np.ascontiguousarray(grid[np.arange(n_rules), errors.argmin(axis=1)])
        solved = _core.ridge_weights(
            np.ascontiguousarray(gram.gram[part, part]), np.ascontiguousarray(gram.cross[part]), best
        )
        for row, size in enumerate(sizes):
            if size >= 2:
                weights[row, part], penalties[row] = solved[size - 1], best[size - 1]
    weights[np.flatnonzero(np.asarray(sizes) == 1), :1] = 1.0
    return weights, penalties


def useful_sizes(gram: Gram, most: int) -> range:
    """0, 1, 2, ... rules, up to the first list with more than ``most`` positive weights at the smallest penalty."""
    n_rules = len(gram.cross)
    penalties = np.maximum.accumulate(np.diag(gram.gram)) * PENALTY_GRID[-1]
    positive = (_core.ridge_weights(gram.gram, gram.cross, penalties) > 0).sum(axis=1)
    too_many = np.flatnonzero(positive > most)
    return range(n_rules + 1 if not len(too_many) else int(too_many[0]) + 2)


def weigh_by_ridge(rules: Sequence[Rule], moments: Moments, sizes: Sequence[int]) -> Weighed:
    """Outputs, weights and intercepts for regression."""
    return weigh_moments(with_outputs(rules, moments), moments, sizes)


def weigh_moments(rules: Sequence[Rule], moments: Moments, sizes: Sequence[int]) -> Weighed:
    """Weights and intercepts of rules with outputs. One rule has no intercept; no rule at all is the mean."""
    gram = gram_of(moments, rules)
    grid = PENALTY_GRID if all(rule.stage == 1 for rule in rules) else STAGES_GRID
    weights, penalties = ridge_weights(gram, sizes, grid)
    intercepts = np.where(np.asarray(sizes) == 1, 0.0, gram.mean - weights @ gram.mean_output)
    return Weighed(tuple(rules), tuple(sizes), weights, tuple(intercepts.tolist()), penalties, gram.mean, moments)


def weigh_by_mean(rules: Sequence[Rule], moments: Moments, labels: NDArray[Any], sizes: Sequence[int]) -> Weighed:
    """Outputs and equal weights for classes. No rule at all is the share of each class."""
    classes = tuple(labels.tolist())
    mean = tuple(map(float, moments.means[0]))
    size = np.asarray(sizes)[:, None]
    weights = (np.arange(len(rules)) < size) / np.maximum(size, 1)
    intercepts = tuple((0.0,) * len(classes) if k else mean for k in sizes)
    outputs = tuple(with_outputs(rules, moments, classes))
    return Weighed(outputs, tuple(sizes), weights, intercepts, np.zeros(len(sizes)), mean)

"""Moments in, covariances of rule outputs out: all that ridge needs to know of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pysirus._terms.fitted import FittedTerm, outputs_of
from pysirus._weights.moments import Moments

LEAST_PENALTY = 1e-3  # of ridge, as a share of the largest variance of an output


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


def gram_of(moments: Moments, rules: Sequence[FittedTerm]) -> Gram:
    """The Gram matrices of a list of rules with outputs, for regression."""
    inside, outside = outputs_of(rules)
    gap = inside - outside
    size, pair, total, rule_total = (
        moments.fold_weight,
        moments.pair_weight,
        moments.y_sum[:, 0],
        moments.rule_y_sum[:, :, 0],
    )
    hold = moments.term_weight
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
    square = moments.y_square[use] - 2 * y * total[use] + s * y * y
    mean = total.sum() / n
    return Gram(
        gram=gram,
        cross=cross,
        mean_output=outside + gap * hold.sum(0) / n,
        mean=float(moments.centre + mean),
        variance=float(moments.y_square.sum() / n - mean * mean),
        train_gram=train_gram,
        train_cross=train_cross,
        test_gram=both * (gap[:, None] * gap) / n,
        test_cross=own * gap / n,
        test_square=square / n,
    )


def take_rules(gram: Gram, rules: NDArray[np.intp]) -> Gram:
    """The same of some of the rules."""
    both = np.ix_(np.arange(len(gram.train_gram)), rules, rules)
    return replace(
        gram,
        gram=gram.gram[np.ix_(rules, rules)],
        cross=gram.cross[rules],
        mean_output=gram.mean_output[rules],
        train_gram=gram.train_gram[both],
        train_cross=gram.train_cross[:, rules],
        test_gram=gram.test_gram[both],
        test_cross=gram.test_cross[:, rules],
    )


def n_fixed(rules: Sequence[FittedTerm]) -> int:
    """How many rules at the head of a list have a fixed effect; they come first, and no other has one."""
    return sum(rule.effect is not None for rule in rules)


def less_fixed(gram: Gram, n_fixed: int) -> Gram:
    """The same of the rules after those with a fixed effect, and of the response less what these add."""
    held, free = np.s_[:n_fixed], np.s_[n_fixed:]
    both = gram.test_gram[:, held, held].sum(axis=(1, 2))
    return Gram(
        gram=np.ascontiguousarray(gram.gram[free, free]),
        cross=gram.cross[free] - gram.gram[free, held].sum(axis=1),
        mean_output=gram.mean_output[free],
        mean=gram.mean - float(gram.mean_output[held].sum()),
        variance=gram.variance - 2 * float(gram.cross[held].sum()) + float(gram.gram[held, held].sum()),
        train_gram=gram.train_gram[:, free, free],
        train_cross=gram.train_cross[:, free] - gram.train_gram[:, free, held].sum(axis=2),
        test_gram=gram.test_gram[:, free, free],
        test_cross=gram.test_cross[:, free] - gram.test_gram[:, free, held].sum(axis=2),
        test_square=gram.test_square - 2 * gram.test_cross[:, held].sum(axis=1) + both,
    )

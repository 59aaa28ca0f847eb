"""Rules with outputs in, non-negative ridge weights out (the paper's rule aggregation; docs/method.md, "Weights").

The work is done on Gram matrices; the penalty is chosen by ten-fold cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._runtime.sums import powers_of_ten, times
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.moments import Gram, Moments, gram_of, less_fixed, n_fixed, take_rules
from pysirus._weights.weighted import Bools, Floats, WeightedPrefixes, prune

# From 100 to 1/10 of the largest variance of a rule's output, four a decade. Smaller penalties were tried, down to
# 1/10000: errors stay what they are (Ozone 0.332, Machine 0.281) but weights fall to zero and back between samples, and
# the stability at ten rules of Ozone goes down from 0.62 to 0.57. The authors' package stops at 1/10 as well.
PENALTY_GRID = powers_of_ten(2, -1, 13)
# Corrections have smaller outputs than the rules they correct, and a penalty made for those would hold them back
# (docs/stages-study.md). The last is LEAST_PENALTY.
STAGES_GRID = powers_of_ten(2, -3, 21)


def ridge_weights(
    gram: Gram, sizes: Sequence[int], penalty_grid: NDArray[np.float64] = PENALTY_GRID, *, least: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Non-negative ridge for some prefixes of a list of rules, and its penalty by cross-validation.

    One rule has weight 1, unless the ``least`` list that is fitted is of one.
    """
    n_rules = max(sizes, default=0)
    weights = np.zeros((len(sizes), len(gram.cross)))
    penalties = np.zeros(len(sizes))
    if n_rules >= least:
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
            if size >= least:
                weights[row, part], penalties[row] = solved[size - 1], best[size - 1]
    if least == 2:
        weights[np.flatnonzero(np.asarray(sizes) == 1), :1] = 1.0
    return weights, penalties


def useful_sizes(gram: Gram, most: int, n_fixed: int = 0) -> range:
    """0, 1, 2, ... rules, up to the first list with more than ``most`` positive weights at the smallest penalty."""
    if n_fixed:
        free = useful_sizes(less_fixed(gram, n_fixed), max(0, most - n_fixed))
        return range(n_fixed + len(free))
    n_rules = len(gram.cross)
    if not n_rules:
        return range(1)
    penalties = np.maximum.accumulate(np.diag(gram.gram)) * PENALTY_GRID[-1]
    positive = (_core.ridge_weights(gram.gram, gram.cross, penalties) > 0).sum(axis=1)
    too_many = np.flatnonzero(positive > most)
    return range(n_rules + 1 if not len(too_many) else int(too_many[0]) + 2)


def weigh_by_ridge(rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]) -> WeightedPrefixes:
    """Weights and intercepts of some prefixes of a list. One rule has no intercept; no rule at all is the mean.

    Rules with a fixed effect have weight 1, and the others are fitted to what they leave. Negligible
    rules have weight 0.
    """
    gram, held = gram_of(moments, rules), n_fixed(rules)
    grid = PENALTY_GRID if all(rule.stage == 1 for rule in rules) else STAGES_GRID
    if held:
        weights = (np.arange(len(rules)) < np.minimum(sizes, held)[:, None]).astype(np.float64)
        free = [max(0, size - held) for size in sizes]
        weights[:, held:], penalties = ridge_weights(less_fixed(gram, held), free, grid, least=1)
    else:
        weights, penalties = ridge_weights(gram, sizes, grid)
    free_gram = less_fixed(gram, held) if held else gram

    def fit_again(kept: Bools, lists: list[int]) -> Floats:
        places = np.flatnonzero(kept[held:])
        own = [int(np.count_nonzero(places < sizes[row] - held)) for row in lists]
        found = np.zeros((len(lists), len(rules)))
        found[:, :held] = 1.0
        found[:, held + places], penalties[lists] = ridge_weights(take_rules(free_gram, places), own, grid, least=1)
        return found

    gaps = np.array([rule.gap for rule in rules])
    sd = np.sqrt(max(gram.variance, 0.0))
    n_pruned = prune(weights, gaps / sd, rules, fit_again) if sd > 0 else ()
    alone = (np.asarray(sizes) == 1) & (held == 0) & all(rule.is_binary for rule in rules[:1])
    intercepts = np.where(alone, 0.0, gram.mean - times(weights, gram.mean_output))
    return WeightedPrefixes(
        tuple(rules),
        tuple(sizes),
        weights,
        tuple(intercepts.tolist()),
        penalties,
        gram.mean,
        moments,
        n_pruned=n_pruned,
    )

"""Rules and their moments in, rule lists with outputs and weights out: all prefixes of a list at once.

In the order of the file: the outputs of rules, the lists of all sizes, the pruning of negligible rules, equal weights,
and the values that weighted rules give to training rows.

A rule is negligible if it can move no prediction by more than a thousandth of the standard deviation of the response:
its weight times the gap between its outputs is not larger. Where the sum of the rules is a score, a step of the score
is taken for what it does to the response at the mean: a step of the logarithm of a mean by as much of the mean, one of
log-odds by p (1 - p), one of a log-hazard by as much of the share of rows with an event, whose standard deviation is
that of a count. Negligible rules get weight 0, and the others are fitted again, until none is left. Required rules
stay, and so does the rule with the largest effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._families.responses import Output, Response
from pysirus._runtime import changed
from pysirus._runtime.sums import powers_of_ten, scores_of, times
from pysirus._terms.fitted import FittedTerm, bounds_of, outputs_of, units_of
from pysirus._terms.term import Term
from pysirus._weights.moments import Gram, Moments, gram_of, less_fixed, n_fixed, take_rules


def with_outputs(rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
    """Give rules their outputs, the mean answers inside and outside, and their supports.

    A rule with a fixed effect answers with it, and with nothing outside.
    """
    _, inside, outside = moments.means
    found = []
    for i, rule in enumerate(rules):
        first, second = rule.answers((inside[i], outside[i]), moments.slopes[i])
        means = response.output(first), response.output(second)
        outputs: dict[str, Any] = {"inside": means[0], "outside": means[1]}
        if rule.effect is not None:
            added = rule.effect.output(response.labels)
            shows_means = response.shows_means and rule.is_binary
            nothing = (0.0,) * len(added) if isinstance(added, tuple) else 0.0
            outputs = {"inside": added, "outside": nothing, "observed": means if shows_means else None}
        n_inside = int(moments.rows[i])
        support: dict[str, Any] = {"n_inside": n_inside, "n_outside": int(moments.n_rows - n_inside)}
        found.append(changed(rule, **outputs, **support, classes=response.labels))
    return found


def with_observed(rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
    """Give corrections the mean answers inside and outside; the moments end with theirs."""
    _, inside, outside = moments.means
    first = moments.n_rules - len(rules)
    return [
        replace(rule, observed=(response.output(inside[first + i]), response.output(outside[first + i])))
        if rule.is_binary
        else rule
        for i, rule in enumerate(rules)
    ]


@dataclass(frozen=True)
class WeightedPrefixes:
    """Rules with outputs, and the models of several prefixes of their list."""

    rules: tuple[FittedTerm, ...]
    sizes: tuple[int, ...]
    weights: NDArray[np.float64]  # [size, rule], zero behind the prefix
    intercepts: tuple[Output, ...]
    penalties: NDArray[np.float64]
    mean: Output  # of the response
    moments: Moments | None = None  # what the weights came from
    constant: tuple[float, ...] = ()  # the link of the mean, where weights come from a likelihood
    hazard_times: NDArray[np.float64] | None = None  # of events, where they are what is predicted
    hazards: NDArray[np.float64] | None = None  # [size, time] cumulative baseline hazards
    spread: float = math.nan  # of the response, as weights by likelihood take it
    n_pruned: tuple[int, ...] = ()  # rules of each list that left it because they were negligible
    patterns: Any = field(default=None, compare=False, repr=False)  # what they came from then, while it is at hand

    def bare(self) -> WeightedPrefixes:
        """The same without what the weights came from."""
        return replace(self, moments=None, patterns=None)

    def at(self, row: int) -> WeightedPrefixes:
        """One of the models alone, without a hazard."""
        one = slice(row, row + 1)
        own = replace(self, sizes=self.sizes[one], weights=self.weights[one], intercepts=self.intercepts[one])
        return replace(own, penalties=self.penalties[one], hazards=None, n_pruned=self.n_pruned[one])

    def scores(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Intercept plus weighted outputs for every size, [row, size], of rows whose terms have whole values."""
        inside, outside = outputs_of(self.rules)
        base = np.asarray(self.intercepts) + times(self.weights, outside)
        steps = (self.weights * ((inside - outside) * units_of(self.rules))).T
        return scores_of(values, base, steps, bounds_of(self.rules))

    def in_use(self) -> tuple[frozenset[Hashable], ...]:
        """The rules of positive weight in each model."""
        keys = [rule.key for rule in self.rules]
        return tuple(frozenset(key for key, weight in zip(keys, row) if weight > 0) for row in self.weights)


def joined(lists: Sequence[WeightedPrefixes]) -> WeightedPrefixes:
    """Lists, each of which continues the one before: the last model of each, as prefixes of the last list."""
    last = lists[-1]
    weights = np.zeros((len(lists), len(last.rules)))
    for row, own in zip(weights, lists):
        row[: own.weights.shape[1]] = own.weights[-1]
    return replace(
        last,
        sizes=tuple(own.sizes[-1] for own in lists),
        weights=weights,
        intercepts=tuple(own.intercepts[-1] for own in lists),
        penalties=np.array([own.penalties[-1] for own in lists]),
        hazards=None,
        n_pruned=tuple(n for own in lists for n in own.n_pruned[-1:]),
    )


NEGLIGIBLE = 1e-3  # of the standard deviation of the response

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FitAgain = Callable[[Bools, list[int]], Floats]  # rules that stay and numbers of lists in, their weights out


def prune(weights: Floats, effects: Floats, rules: Sequence[FittedTerm], fit_again: FitAgain) -> tuple[int, ...]:
    """Fit lists without their negligible rules, in place; how many rules each of them loses.

    ``weights`` are [list, rule]; ``effects`` are the standard deviations by which rules of weight 1 move a prediction.
    """
    gone = np.zeros(weights.shape, dtype=bool)
    free = np.array([not rule.given for rule in rules], dtype=bool)
    rows = list(range(len(weights)))
    while rows := [row for row in rows if _prune_once(weights[row], effects, free, gone[row])]:
        for kept in {gone[row].tobytes(): ~gone[row] for row in rows}.values():  # lists without the same rules at once
            own = [row for row in rows if (gone[row] != kept).all()]
            weights[own] = fit_again(kept, own)
    return tuple(gone.sum(axis=1).tolist())


def _prune_once(weights: Floats, effects: Floats, free: Bools, gone: Bools) -> bool:
    """Add the negligible rules of a list to what is gone; whether there were any."""
    moved = weights * effects
    negligible = free & (weights > 0) & (moved <= NEGLIGIBLE)
    if not negligible.any():
        return False
    negligible[moved.argmax()] = False
    gone |= negligible
    return bool(negligible.any())


def weigh_equally(
    rules: Sequence[FittedTerm], moments: Moments, response: Response, sizes: Sequence[int]
) -> WeightedPrefixes:
    """Equal weights for some prefixes of a list of rules with outputs. No rule at all is the mean of all rows."""
    mean = response.output(moments.means[0])
    zero = response.output(np.zeros(response.n_outputs))
    size = np.asarray(sizes)[:, None]
    weights = (np.arange(len(rules)) < size) / np.maximum(size, 1)
    intercepts = tuple(zero if k else mean for k in sizes)
    return WeightedPrefixes(tuple(rules), tuple(sizes), weights, intercepts, np.zeros(len(sizes)), mean)


BLOCK_ROWS = 1 << 15  # rows that stay in the cache


def holds_in_bins(rule: Term, binned: Binned) -> NDArray[np.bool_]:
    """Which training rows are inside a rule that came from these bins."""
    return np.asarray(rule.row_values(binned, binned.bins))


def _outputs(values: NDArray[Any], outside: float, inside: float) -> NDArray[np.float64]:
    """What a term adds at its whole values: of yes and no one of two outputs as it is."""
    if values.dtype == np.bool_:
        return np.array([outside, inside])[values.view(np.uint8)]
    return np.asarray(values * inside)


def fitted_values(weighted: WeightedPrefixes, binned: Binned) -> NDArray[np.float64]:
    """The prediction of the last of the weighted lists on the training rows, term by term.

    The forest is grown on it, so it is added up in a fixed order, unlike ``WeightedPrefixes.scores``.
    """
    total = np.full(binned.bins.shape[1], weighted.intercepts[-1], dtype=np.float64)
    used = [(rule, weight) for rule, weight in zip(weighted.rules, weighted.weights[-1]) if weight > 0]
    steps = [weight * np.array([rule.outside, rule.inside], dtype=np.float64) * rule.unit for rule, weight in used]
    for start in range(0, len(total), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        bins, own = binned.bins[:, block], total[block]
        for (rule, _), step in zip(used, steps):
            own += _outputs(rule.row_values(binned, bins), *step)
    return total


# ---------------------------------------------------------------------------------------------------------------- ridge

# Rules with outputs in, non-negative ridge weights out (the paper's rule aggregation; docs/method.md, "Weights").
#
# The work is done on Gram matrices; the penalty is chosen by ten-fold cross-validation.


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

    ``least`` is the number of rules from which on a list is fitted: 1, or 2, where a single rule has weight 1.
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

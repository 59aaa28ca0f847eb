"""Weights of lists in, weights without dust out.

Dust is a rule that can move no prediction by more than a thousandth of the standard deviation of the response: its
weight times the gap between its outputs is not larger. Where the sum of the rules is a score, a step of the score is
taken for what it moves the response at the mean: a step of the logarithm of a mean by as much of the mean, one of
log-odds by p (1 - p), one of a log-hazard by as much of the share of rows with an event, whose standard deviation is
that of a count. Dust gets weight 0, as other rules do that a list can do without, and the others are fitted again,
until none is left. Rules that were given stay, and so does the rule that moves most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pysirus._terms.fitted import FittedTerm

DUST = 1e-3  # of the standard deviation of the response

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FitAgain = Callable[[Bools, list[int]], Floats]  # rules that stay and numbers of lists in, their weights out


def sweep(weights: Floats, moves: Floats, rules: Sequence[FittedTerm], fit_again: FitAgain) -> tuple[int, ...]:
    """Fit lists without their dust, in place; how many rules each of them loses.

    ``weights`` are [list, rule]; ``moves`` says how many standard deviations a rule of weight 1 moves a prediction.
    """
    gone = np.zeros(weights.shape, dtype=bool)
    free = np.array([not rule.given for rule in rules], dtype=bool)
    rows = list(range(len(weights)))
    while rows := [row for row in rows if _take_dust(weights[row], moves, free, gone[row])]:
        for kept in {gone[row].tobytes(): ~gone[row] for row in rows}.values():  # lists without the same rules at once
            own = [row for row in rows if (gone[row] != kept).all()]
            weights[own] = fit_again(kept, own)
    return tuple(gone.sum(axis=1).tolist())


def _take_dust(weights: Floats, moves: Floats, free: Bools, gone: Bools) -> bool:
    """Add the dust of a list to what is gone; whether there was any."""
    moved = weights * moves
    dust = free & (weights > 0) & (moved <= DUST)
    if not dust.any():
        return False
    dust[moved.argmax()] = False
    gone |= dust
    return bool(dust.any())

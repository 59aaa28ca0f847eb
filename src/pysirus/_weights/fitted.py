"""Weighted rules and training rows in bins in, their fitted values out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._terms.term import Term
from pysirus._weights.moments import bin_values, row_values
from pysirus._weights.weighted import WeightedPrefixes

BLOCK_ROWS = 1 << 15  # rows that stay in the cache


def holds_in_bins(rule: Term, binned: Binned) -> NDArray[np.bool_]:
    """Which training rows are inside a rule that came from these bins."""
    return row_values(bin_values(rule, binned), binned.bins)


def _outputs(values: NDArray[Any], outside: float, inside: float) -> NDArray[np.float64]:
    """What lies at a value between two outputs: of yes and no one of them as it is."""
    if values.dtype == np.bool_:
        return np.array([outside, inside])[values.view(np.uint8)]
    return values * inside + (1 - values) * outside


def fitted_values(weighted: WeightedPrefixes, binned: Binned) -> NDArray[np.float64]:
    """The prediction of the last of the weighted lists on the training rows, term by term.

    The forest is grown on it, so it is added up in a fixed order, unlike ``WeightedPrefixes.scores``.
    """
    total = np.full(binned.bins.shape[1], weighted.intercepts[-1], dtype=np.float64)
    used = [(rule, weight) for rule, weight in zip(weighted.rules, weighted.weights[-1]) if weight > 0]
    steps = [weight * np.array([rule.outside, rule.inside], dtype=np.float64) for rule, weight in used]
    asked = [bin_values(rule, binned) for rule, _ in used]
    for start in range(0, len(total), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        bins, own = binned.bins[:, block], total[block]
        for step, values in zip(steps, asked):
            own += _outputs(row_values(values, bins), *step)
    return total

"""Weighted rules and training rows in bins in, their fitted values out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._rules.rule import Rule
from pysirus._weights.moments import bins_of_rule
from pysirus._weights.weighted import WeightedPrefixes


def holds_in_bins(rule: Rule, binned: Binned) -> NDArray[np.bool_]:
    """Which training rows are inside a rule that came from these bins."""
    inside = np.ones(binned.bins.shape[1], dtype=bool)
    for row, satisfied in bins_of_rule(rule, binned):
        inside &= satisfied[binned.bins[row]]
    return inside


def fitted_values(weighted: WeightedPrefixes, binned: Binned) -> NDArray[np.float64]:
    """The prediction of the last of the weighted lists on the training rows, rule by rule.

    The forest is grown on it, so it is added up in a fixed order, unlike ``WeightedPrefixes.scores``.
    """
    total = np.full(binned.bins.shape[1], weighted.intercepts[-1], dtype=np.float64)
    for rule, weight in zip(weighted.rules, weighted.weights[-1]):
        if weight > 0:
            outputs = np.array([rule.outside, rule.inside], dtype=np.float64)
            total += weight * outputs[holds_in_bins(rule, binned).astype(np.intp)]
    return total

"""A model of two classes with slopes in, one of rules alone out: each slope as ranges of a round size, for a scorecard.

A range has the points of its middle, so no value is further off than half a range; a missing value has a line of its
own. Of the ranges of a slope exactly one holds in a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pysirus._families.links import log_odds
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule

MOST_RANGES = 10
LEAST_RANGES = 2
SIZES = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class InRanges:
    """A model without slopes; the numbers of the rules that are ranges of each, and what ranges cost in log-odds."""

    model: Model
    groups: tuple[tuple[int, ...], ...] = ()
    cost: float = 0.0


def in_ranges(model: Model, sign: float, factor: float) -> InRanges:
    """The model with ranges for slopes; ``sign`` is that of the log-odds of the second class that give points."""
    rules: list[FittedTerm] = []
    groups, cost, start = [], 0.0, 0.0
    for rule in model.rules:
        if not rule.line_values:
            rules.append(rule)
            continue
        own, base, half = _ranges(rule, sign, factor)
        groups.append(tuple(range(len(rules), len(rules) + len(own))))
        rules += own
        cost, start = cost + half, start + base
    if not groups:
        return InRanges(model)
    intercept = tuple((np.asarray(model.intercept) + _scores(sign * start)).tolist())
    found = replace(model, selected=RuleSet(rules), intercept=intercept, tuning=None, moments=None, likelihood=None)
    return InRanges(found, tuple(groups), cost)


def _ranges(slope: FittedTerm, sign: float, factor: float) -> tuple[list[FittedRule], float, float]:
    """A rule for each range, what all of them have in common, and what half a range is worth."""
    line, (index,) = slope.line_values, slope.columns
    rate = sign * float(log_odds(np.asarray(line["per_unit"], dtype=np.float64)))
    edges = round_edges(line["lower"], line["upper"], factor * abs(rate))
    bounds = [line["lower"], *edges, line["upper"]]
    values = [rate * ((a + b) / 2 - line["zero_at"]) for a, b in pairwise(bounds)]
    base = min(0.0, *values)
    half = abs(rate) * max(b - a for a, b in pairwise(bounds)) / 2
    ends: Sequence[tuple[float | None, float | None]] = list(zip([None, *edges], [*edges, None]))
    share = 1.0 / len(values)
    conditions = [
        Condition(
            slope.feature,
            lower,
            upper,
            missing=False,
            index=index,
            lower_cut=None if lower is None else ("value", lower),
            upper_cut=None if upper is None else ("value", upper),
            share=share,
        )
        for lower, upper in ends
    ]
    gap = (slope.n_outside or 0) / max(1, (slope.n_inside or 0) + (slope.n_outside or 0))
    conditions.append(Condition(slope.feature, missing=True, only_missing=True, index=index, share=gap))
    rules = [
        FittedRule(
            (condition,),
            frequency=slope.frequency,
            inside=tuple(_scores(sign * (value - base)).tolist()),
            outside=(0.0, 0.0),
            weight=1.0,
            classes=slope.classes,
            stage=2,
        )
        for condition, value in zip(conditions, [*values, 0.0])
    ]
    return rules, base, half


def _scores(odds: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The scores of two classes whose log-odds are these."""
    return np.array([-odds / 2, odds / 2])


def round_edges(lower: float, upper: float, points: float) -> list[float]:
    """Round numbers within a range that part it into at most ten, and into no more than it has points."""
    span = upper - lower
    most = min(MOST_RANGES, max(LEAST_RANGES, round(points * span)))
    if not 0 < span < math.inf:
        return []
    power = 10.0 ** math.floor(math.log10(span / most))
    size = next(size * power for size in SIZES if span / (size * power) <= most + 1e-9)
    first, last = math.floor(lower / size) + 1, math.ceil(upper / size) - 1
    return [float(f"{k * size:.12g}") for k in range(first, last + 1)]

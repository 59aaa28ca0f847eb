"""Conditions that are forbidden in, the same out, in the cuts that part the training rows as their numbers do.

What a list shows is not the quantile but the shortest number with the same rows on both sides, and a condition may be
copied from a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pysirus._bins.cuts import CutIdentity
from pysirus._bins.gaps import Place
from pysirus._learn.training import Training
from pysirus._terms.rule import Condition


def with_forbidden_cuts(training: Training) -> Training:
    """The training rows with what is forbidden in their cuts."""
    cuts, forbidden = training.binned.cuts, training.constraints.forbidden
    conditions = [c for rule in forbidden for c in rule.conditions if c.levels is None]
    every = dict.fromkeys((c.index, v) for c in conditions for v in (c.lower, c.upper) if v is not None)
    places = [(index, number) for index, number in every if number not in cuts[index].thresholds]
    if not places:
        return training
    found: dict[Place, CutIdentity] = {}
    for (index, number), gap in zip(places, training.gaps(places)):
        for identity, threshold in zip(cuts[index].identities, cuts[index].thresholds.tolist()):
            if threshold in gap:
                found[index, number] = identity
    rules = tuple(replace(r, conditions=tuple(_in_cuts(c, found) for c in r.conditions)) for r in forbidden)
    return replace(training, constraints=replace(training.constraints, forbidden=rules))


def _in_cuts(condition: Condition, found: Mapping[Place, CutIdentity]) -> Condition:
    ends = ((condition.lower, condition.lower_cut), (condition.upper, condition.upper_cut))
    new = [cut if value is None else found.get((condition.index, value), cut) for value, cut in ends]
    if len({cut[0] for cut in new if cut is not None}) > 1:  # one end is no cut
        return condition
    return replace(condition, lower_cut=new[0], upper_cut=new[1])

"""Rules and training rows in, the same rules with short thresholds out, and cuts for conditions that are forbidden.

What a list shows is not the quantile but the shortest number with the same rows on both sides. Only what a condition
compares with changes (``lower``, ``upper``): its cuts, by which rules are compared, and the quantiles in the path of
its rule stay what they were. A condition that is forbidden may be copied from such a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pysirus._bins.cuts import CutIdentity
from pysirus._bins.numeric import Bracket, Threshold, shortest_date_in, shortest_in
from pysirus._learn.training import Training
from pysirus._model.model import Model
from pysirus._terms.constraints import Constraints
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition
from pysirus._terms.term import changed

CutPlace = tuple[int, CutIdentity]  # the number of a column, and a cut in it


def with_short_thresholds(model: Model, training: Training) -> Model:
    """The model that was learned from some rows, with the shortest thresholds that part them as its cuts do."""
    return with_brackets(model, training.brackets(threshold_places(model)))


def threshold_places(model: Model) -> list[Threshold]:
    """The numbers that conditions compare with, by column, whose neighbours among the rows are to be known."""
    return [(index, number) for (index, _), number in _cuts_of(model.all_rules)[0].items()]


def with_brackets(model: Model, brackets: Sequence[Bracket]) -> Model:
    """The model with the shortest thresholds in the brackets of its places."""
    short = _short_thresholds(model, brackets)
    model = replace(model, selected=_with_thresholds(model.selected, short))
    if model.tuning is None:
        return model
    return replace(model, tuning=replace(model.tuning, rules=_with_thresholds(model.tuning.rules, short)))


def _cuts_of(rules: Iterable[FittedTerm]) -> tuple[dict[CutPlace, float], dict[CutPlace, float]]:
    """The numbers of cuts that were found, and of those that somebody gave."""
    found: dict[CutPlace, float] = {}
    given: dict[CutPlace, float] = {}
    for rule in rules:
        for condition in rule.conditions:
            (given if rule.given else found).update(_ends(condition))
    return found, given


def _short_thresholds(model: Model, brackets: Sequence[Bracket]) -> dict[CutPlace, float]:
    """The threshold of each cut between numbers. A number that somebody gave stays as it is.

    Two cuts in one bracket split the rows in the same way, and the same number for both would leave nothing between
    them: they stay where they are.
    """
    found, given = _cuts_of(model.all_rules)
    at = [(index, bracket) for (index, _), bracket in zip(found, brackets)]
    alone = {cut: bracket for cut, bracket, own in zip(found, brackets, at) if at.count(own) == 1}
    short = {}
    for cut, bracket in alone.items():
        shortest = shortest_date_in if model.features[cut[0]].is_date else shortest_in
        short[cut] = shortest(bracket, found[cut])
    return found | short | given


def _ends(condition: Condition) -> dict[CutPlace, float]:
    """The numbers that a condition compares with, by their cuts."""
    ends = ((condition.lower_cut, condition.lower), (condition.upper_cut, condition.upper))
    return {(condition.index, cut): value for cut, value in ends if cut is not None and value is not None}


def _with_thresholds(rules: RuleSet, short: Mapping[CutPlace, float]) -> RuleSet:
    return RuleSet([rule.map_conditions(lambda condition: _shorten(condition, short)) for rule in rules])


def _shorten(condition: Condition, short: Mapping[CutPlace, float]) -> Condition:
    if condition.levels is not None:
        return condition
    lower, upper = (
        None if cut is None else short[condition.index, cut] for cut in (condition.lower_cut, condition.upper_cut)
    )
    return changed(condition, lower=lower, upper=upper)


# -------------------------------------------------------------------------------------------------------- forbidden


def with_forbidden_cuts(training: Training, constraints: Constraints) -> Training:
    """The training rows with what is forbidden in their cuts."""
    cuts, forbidden = training.binned.cuts, constraints.forbidden
    conditions = [c for rule in forbidden for c in rule.conditions if c.levels is None]
    every = dict.fromkeys((c.index, v) for c in conditions for v in (c.lower, c.upper) if v is not None)
    places = [(index, number) for index, number in every if number not in cuts[index].thresholds]
    if not places:
        return training
    found: dict[Threshold, CutIdentity] = {}
    for (index, number), bracket in zip(places, training.brackets(places)):
        for identity, threshold in zip(cuts[index].identities, cuts[index].thresholds.tolist()):
            if threshold in bracket:
                found[index, number] = identity
    rules = tuple(rule.map_conditions(lambda c: _in_cuts(c, found)) for rule in forbidden)
    return replace(training, constraints=replace(constraints, forbidden=rules))


def _in_cuts(condition: Condition, found: Mapping[Threshold, CutIdentity]) -> Condition:
    ends = ((condition.lower, condition.lower_cut), (condition.upper, condition.upper_cut))
    new = [cut if value is None else found.get((condition.index, value), cut) for value, cut in ends]
    if len({cut[0] for cut in new if cut is not None}) > 1:  # one end is no cut
        return condition
    return replace(condition, lower_cut=new[0], upper_cut=new[1])

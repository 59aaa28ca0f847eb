"""Models with the thresholds that they were selected with: the quantiles in the paths of their rules."""

from dataclasses import replace

from pysirus._terms.listing import RuleSet


def at_its_cuts(rule):
    """The rule with the quantiles of its path for thresholds, as it was selected."""
    ends = {"<": [], ">=": []}
    for split in rule.path:
        if split.op in ends:
            ends[split.op].append((split.feature, split.value))
    conditions = []
    for c in rule.conditions:
        lower = max((v for name, v in ends[">="] if name == c.feature), default=None)
        upper = min((v for name, v in ends["<"] if name == c.feature), default=None)
        conditions.append(replace(c, lower=lower, upper=upper) if c.levels is None and not c.only_missing else c)
    return replace(rule, conditions=tuple(conditions))


def before(model):
    """The model with the thresholds that it would have had."""
    return replace(model, selected=RuleSet([at_its_cuts(rule) for rule in model.selected]))

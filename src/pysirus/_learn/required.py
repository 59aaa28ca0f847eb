"""Training rows and the rules that are required in, rules that a list can begin with out.

On all rows one that cannot be kept is an error. In a fold it is left out: there it may hold nowhere, or turn round.
Rules with a fixed effect come first: what they add is taken off the response before the others are weighed.
"""

from __future__ import annotations

from dataclasses import replace

from pysirus._families.base import Family
from pysirus._families.links import Link
from pysirus._families.of_model import family_of
from pysirus._learn.thresholds import with_forbidden_cuts
from pysirus._learn.training import Training
from pysirus._message import Parameter
from pysirus._parameters import ParameterError
from pysirus._terms.dependence import Span, condition_vector, independent_columns
from pysirus._terms.effect import EffectError
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Rule
from pysirus._weights.weighted import with_outputs


def with_required(training: Training, link: Link, *, strict: bool = True) -> Training:
    """The training rows with the required rules that can be kept, all of them where that is ``strict``."""
    if strict and training.constraints and training.constraints.forbidden:
        training = with_forbidden_cuts(training, training.constraints)
    if not training.required:
        return training
    family = family_of(link, training.target, 0.0, classes=training.response.labels)
    every = [settle_effect(rule, family, "required_rules") for rule in training.required]
    every.sort(key=lambda rule: rule.effect is None)
    settled = [_settle(rule, training) for rule in every]
    sums = training.moment_sums(settled)
    gram = sums.gram()
    partial = [i for i in range(len(settled)) if 0 < gram[1 + i, 1 + i] < gram[0, 0]]  # neither nowhere nor everywhere
    some = [settled[i] for i in partial]
    answered = dict(zip(partial, with_outputs(some, training.restore(sums.take(partial)), training.response)))
    span, kept = Span(), []
    for i, (rule, is_fresh) in enumerate(zip(settled, independent_columns(gram)[1:].tolist())):
        fault = _fault(answered.get(i), training, span, is_fresh)
        if fault and strict:
            what = f"the rule '{rule.condition_text}' cannot be kept"
            raise ParameterError(f"{Parameter('required_rules')}: {what}: {fault}.")
        if not fault:
            kept.append(rule)
    return replace(training, required=tuple(kept))


def settle_effect(rule: FittedTerm, family: Family, parameter: str) -> FittedTerm:
    """The rule with its effect as the model can take it; an error where it cannot."""
    if rule.effect is None:
        return rule
    try:
        return replace(rule, effect=rule.effect.settled(family.effect_scale, family.classes))
    except EffectError as error:
        what = f"the effect of '{rule.text}' cannot be taken"
        raise ParameterError(f"{Parameter(parameter)}: {what}: {error.message}.") from error


def _fault(rule: FittedTerm | None, training: Training, span: Span, is_fresh: bool) -> str:
    """Why a rule cannot be kept; the span takes it in where it can."""
    if rule is None:
        return "it holds in every row or in none"
    if not is_fresh or not span.add(condition_vector(rule, training.binned)):
        return "it is a combination of the required rules before it"
    return next(iter(training.constraints.faults(rule)), "") if training.constraints else ""


def _settle(rule: FittedTerm, training: Training) -> FittedTerm:
    """The rule with the share of rows that satisfy each condition; values it cannot judge go where most rows are."""
    gram = training.moment_sums([Rule((condition,)) for condition in rule.conditions]).gram()
    shares = (float(gram[i, i] / gram[0, 0]) for i in range(1, len(gram)))
    return rule.map_conditions(lambda condition: condition.with_share(next(shares)))

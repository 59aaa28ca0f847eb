"""A model in, sentences out: what its held-out rows and its rules give reason to doubt.

Three doubts: held-out rows are predicted no better than by the constant; the longest list that was looked at was
chosen; a rule's two outputs differ by no more than two standard errors.
"""

from __future__ import annotations

import numpy as np

from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._text.message import Parameter

TWO = 2.0  # standard errors


def doubts(model: Model) -> list[str]:
    """What is to be said of a model that was cross-validated, the gravest first: messages, which each door words."""
    found, sentences = model.out_of_fold, []
    if found is not None and found.doubt:
        sentences.append(found.doubt)
    if _is_longest(model):
        sentences.append(
            f"The longest list that was looked at was chosen: more rules may be better. Raise {Parameter('max_rules')}."
        )
    noisy = [i for i, rule in enumerate(model.rules, start=1) if _is_noise(rule, model)]
    if noisy:
        which = f"rule {noisy[0]}" if len(noisy) == 1 else f"rules {', '.join(map(str, noisy))}"
        sentences.append(f"The two outputs of {which} differ by no more than chance: by less than two standard errors.")
    return sentences


def _is_longest(model: Model) -> bool:
    """Whether tuning ended at the largest size that it was allowed."""
    limit, tuning = model.facts.max_rules, model.tuning
    if limit is None or tuning is None or len(tuning.path) < 2 or len(model.selected) < 2:
        return False
    return bool(tuning.path.n_rules[min(tuning.step, len(tuning.path) - 1)] > limit - 1)


def _is_noise(rule: FittedTerm, model: Model) -> bool:
    """Whether the target differs by less than two standard errors between the rows inside and outside."""
    found = model.out_of_fold
    if found is None or rule.effect is not None or not rule.is_binary or not rule.n_inside or not rule.n_outside:
        return False
    variance = model.family.variance(found.variance)
    if variance is None:
        return False
    inside, outside = (np.atleast_1d(np.asarray(side, dtype=np.float64)) for side in rule.means)
    if rule.stage > 1 and rule.observed is None:  # its outputs are residuals
        variance = variance * min(1.0, found.metrics.get("unexplained_variance", (1.0, None))[0])
    error = np.sqrt(variance * (1 / rule.n_inside + 1 / rule.n_outside))
    return bool((np.abs(inside - outside) < TWO * error).all())

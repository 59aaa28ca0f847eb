"""A model in, a model with other rules out, its weights fitted again without the data.

A model stores the sums over ten folds that its weights were computed from (``RuleModel.moments``). They contain those
of every part of its list, so the weights of a shorter list are those that a fit on the same data with that list would
give. Classifiers weight their rules equally and need no sums. The tuning results of the full list do not apply to an
edited one, so the edited model has no tuning path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pysirus._model.model import Model
from pysirus._parameters import check_integer
from pysirus._rules.rule import Rule, with_weights
from pysirus._weights.ridge import weigh_by_ridge

Fitted = TypeVar("Fitted", bound=Model)


def _positions(model: Model, which: Rule | int | Sequence[Rule | int]) -> list[int]:
    """Positions among the selected rules of rules given as such or by their number in ``rules``."""
    items = list(which) if isinstance(which, (Sequence, np.ndarray)) else [which]
    shown = model.rules
    positions = []
    for item in items:
        if isinstance(item, (int, np.integer)):
            if not -len(shown) <= item < len(shown):
                raise IndexError(f"There is no rule number {item}: the model has rules 0 to {len(shown) - 1}.")
            item = shown[item]
        if item not in model.selected:
            raise ValueError(f"The model has no rule '{item}'. Pass one of its rules_, or a position in rules_.")
        positions.append(list(model.selected).index(item))
    return positions


def without(model: Fitted, rules: Rule | int | Sequence[Rule | int]) -> Fitted:
    """Remove rules and fit the weights of the others again; see ``RuleModel.without``."""
    struck = set(_positions(model, rules))
    texts = [model.selected[i].condition_text for i in sorted(struck)]
    edited = refit(model, [i for i in range(len(model.selected)) if i not in struck])
    return replace(edited, facts={**edited.facts, "struck_rules": [*model.facts.get("struck_rules", []), *texts]})


def with_rules(model: Fitted, n_rules: int) -> Fitted:
    """Keep the first rules of the list; see ``RuleModel.with_rules``. A tuned model has them ready."""
    kept = [] if model.tuning is None else [size.n_rules for size in model.tuning.sizes]
    check_integer("n_rules", n_rules, 0, max([len(model.selected), *kept]))
    if n_rules in kept:
        return model.at_size(n_rules)
    return refit(model, list(range(n_rules)))


def refit(model: Fitted, kept: Sequence[int]) -> Fitted:
    """The model of some of the selected rules."""
    rules = [model.selected[i] for i in kept]
    if model.classes is not None:
        if len({rule.weight for rule in model.selected}) > 1:
            raise ValueError("The rules of this model have unequal weights, and it keeps no sums to fit them again.")
        intercept: Any = tuple(np.zeros(len(model.classes)).tolist()) if rules else model.mean
        weights = [1 / len(rules) for _ in rules]
        return replace(model, selected=with_weights(rules, weights), intercept=intercept, tuning=None)
    if model.moments is None:
        raise ValueError(
            "This model keeps no sums to fit its weights again: it comes from another method, or from a file of a very "
            "long list. Fit it again on its data."
        )
    weighted = weigh_by_ridge(rules, model.moments.take(kept), [len(rules)])
    facts = {**model.facts, "ridge_penalty": float(weighted.penalties[0])}
    if "n_stages" in facts:
        facts["n_stages"] = max((rule.stage for rule in rules), default=1)
    return replace(
        model,
        selected=with_weights(weighted.rules, weighted.weights[0].tolist()),
        intercept=weighted.intercepts[0],
        moments=weighted.moments,
        tuning=None,
        facts=facts,
    )

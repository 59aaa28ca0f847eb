"""A rule of a document with a fixed effect in, nothing out, or a ``Damage`` where its fields do not say that effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysirus._families.base import Family
from pysirus._model.fields import Damage, ensure
from pysirus._terms.effect import Effect, EffectError

Entry = Mapping[str, Any]
ROUNDING = 1e-12  # of a logarithm, which another machine may round otherwise


def check_effect(rule: Entry, document: Entry, family: Family, place: str) -> None:
    """A given rule of the first stage and of weight 1, whose outputs are the effect and nothing."""
    here, found = f"{place}.effect", rule["effect"]
    ensure(("adds" in found) != ("times" in found), here, "must have either adds or times")
    ensure("for" not in found or "adds" in found, here, "names a class, and has a factor")
    ensure(rule.get("given", False) and rule.get("stage", 1) == 1, here, "is of a rule that is not given")
    ensure(document["aggregation"] == "sum", here, "is for sums")
    ensure(rule["weight"] in (None, 1), f"{place}.weight", "must be 1 where the effect is fixed")
    effect = Effect(float(found.get("adds", found.get("times", 0.0))), "times" in found, found.get("for"))
    try:
        settled = effect.settled(family.effect_scale, family.classes)
    except EffectError as error:
        raise Damage(f"{here} cannot be taken: {error}") from error
    ensure(settled == effect and type(settled.label) is type(effect.label), here, "must name a class as it is")
    inside, outside = (np.asarray(rule[name], dtype=np.float64) for name in ("inside", "outside"))
    wanted = np.asarray(settled.output(family.classes), dtype=np.float64)
    near = np.abs(inside - wanted) <= ROUNDING * np.abs(wanted)
    ensure(bool(near.all()), f"{place}.inside", "must be what the effect adds")
    ensure(not outside.any(), f"{place}.outside", "must be 0 where the effect is fixed")
    shown = family.has_hazard or rule.get("observed") is not None
    ensure(shown, f"{place}.observed", "must have the means of a rule with an effect")

"""What a model file says of its target in, the family out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysirus._families.base import Family
from pysirus._families.class_shares import ClassShares
from pysirus._families.classes import Binomial, Multinomial
from pysirus._families.cox import Cox
from pysirus._families.links import Link
from pysirus._families.numbers import Gamma, Gaussian, LogMean, Poisson, Tweedie, WeightedMean

BY_LOSS: dict[str, type[LogMean]] = {family.name: family for family in (Poisson, Gamma, Tweedie)}
NO_FACTS: Mapping[str, Any] = {}


def family_of(
    link: Link,
    target: str,
    mean: float | tuple[float, ...],
    *,
    classes: tuple[Any, ...] | None = None,
    facts: Mapping[str, Any] = NO_FACTS,
    survival: Any = None,  # of times to an event; the checks of a file do without
    positive_class: Any = None,
    root_weight: float | None = None,
) -> Family:
    """The family of a fitted model; of counts and amounts its facts say which, of means the weight of the root."""
    if link == "hazard":
        return Cox(target, mean, survival)
    if link == "log":
        return BY_LOSS[facts.get("loss", "poisson")].from_facts(target, mean, facts)
    if link == "identity" and classes is None:
        return Gaussian(target, mean) if root_weight is None else WeightedMean(target, mean, root_weight)
    labels = classes or ()
    of_scores = Binomial if len(labels) == 2 else Multinomial
    return (ClassShares if link == "identity" else of_scores)(target, mean, labels, positive_class)

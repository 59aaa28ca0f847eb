"""What a model file says of its target in, the family out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysirus._families.base import Family
from pysirus._families.classes import Binomial, ClassShares, Multinomial
from pysirus._families.cox import Cox
from pysirus._families.gaussian import Gaussian
from pysirus._families.links import Link
from pysirus._families.log_mean import Gamma, LogMean, Poisson

if TYPE_CHECKING:
    from pysirus._weights.hazard import Survival

BY_LOSS: dict[str, type[LogMean]] = {family.name: family for family in (Poisson, Gamma)}


def family_of(
    link: Link,
    target: str,
    mean: float | tuple[float, ...],
    *,
    classes: tuple[Any, ...] | None = None,
    loss: str = "poisson",
    survival: Survival | None = None,
    positive_class: Any = None,
) -> Family:
    """The family of a fitted model; of counts and amounts the loss says which."""
    if survival is not None:
        return Cox(target, mean, survival)
    if link == "log":
        return BY_LOSS[loss](target, mean)
    if classes is None:
        return Gaussian(target, mean)
    if link == "identity":
        return ClassShares(target, mean, classes, positive_class)
    return (Binomial if len(classes) == 2 else Multinomial)(target, mean, classes, positive_class)

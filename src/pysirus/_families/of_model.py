"""What a model file says of its target in, the family out; and the family that is no likelihood of anything.

Classes with equal weights are predicted by the mean of the class proportions of rules, which ranks rows and is no
probability: the form of the authors' paper on classification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus._families.base import Family
from pysirus._families.class_metrics import brier_losses
from pysirus._families.classes import Binomial, ClassFamily, Multinomial
from pysirus._families.cox import Cox
from pysirus._families.links import LABELS, EffectScale, Floats, Form, Link, fold_labels
from pysirus._families.numbers import Gamma, Gaussian, LogMean, Poisson, Tweedie, WeightedMean
from pysirus._text.format import format_percents, format_shares, one_line


@dataclass(frozen=True)
class ClassShares(ClassFamily):
    """Classes predicted by the mean of the rules' class proportions, all weights equal."""

    name: ClassVar[str] = "class shares"
    takes_corrections: ClassVar[bool] = False
    weighs_equally: ClassVar[bool] = True
    effect_scale: ClassVar[EffectScale | None] = None
    error_name: ClassVar[str] = "1 - AUC"
    row_loss_name: ClassVar[str] = "Brier score"
    form: ClassVar[Form] = "shares"
    sum_word: ClassVar[str] = "probability"
    start_name: ClassVar[str] = "intercept"

    criterion: ClassVar[str] = "error"

    def deciding(self, k: int) -> tuple[float, float]:
        """A share is multiplied by its weight."""
        return self.decision_weights[k], 0.0

    def row_loss(self, values: Floats, truth: NDArray[Any]) -> Floats:
        """Brier's: a mean of proportions ranks rows, and is no probability to take the logarithm of."""
        return brier_losses(values, truth)

    @property
    def kind_text(self) -> str:
        """How many classes, and how rules are weighed."""
        return f"{super().kind_text} with equal weights"

    def ranking(self, scores: Floats) -> Floats:
        """The proportion of each class; of two that of the second less one half."""
        return np.asarray(scores[:, 1] - 0.5) if len(self.labels) == 2 else scores

    @property
    def scale(self) -> str:
        """The proportion of a class."""
        return "proportion"

    def points_texts(self, points: Sequence[float]) -> tuple[str, str]:
        """Percents."""
        first, second = format_percents(*points)
        return first, second

    def head(self, start: Floats) -> str:
        """The shares of the classes."""
        shares = format_shares(self.shares, fold_labels(self.labels, LABELS[0]) or (), decimals=1)
        return f"shares of {one_line(self.target)}: {one_line(shares)}"

    def start_line(self, intercept: Any) -> str:
        """The intercept of each class."""
        return self._named_starts("shares", intercept)


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

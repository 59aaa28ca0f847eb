"""Classes with equal weights: the mean of the rules' class proportions, which ranks rows and is no probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus._families.class_metrics import brier_losses
from pysirus._families.classes import ClassFamily
from pysirus._families.links import LABELS, EffectScale, Floats, Form, fold_labels
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

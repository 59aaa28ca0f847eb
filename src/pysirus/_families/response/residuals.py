"""What a list leaves unexplained of classes, as a response that a forest can be grown on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.response.response import NumberResponse


@dataclass(frozen=True)
class OddsResiduals(NumberResponse):
    """Two classes: residuals of the second; those of the first are the same with the other sign."""

    classes: tuple[Any, ...]

    @property
    def labels(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The labels of the classes."""
        return self.classes

    def output(self, means: NDArray[np.float64]) -> tuple[float, ...]:  # type: ignore[override]
        """The mean residual of each class as an output."""
        return -float(means[0]), float(means[0])

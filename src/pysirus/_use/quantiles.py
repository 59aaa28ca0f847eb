"""A column in, a scale from 0 to 1 out on which distances are measured: the share of rows below a value.

With rows it is their distribution, a value that several rows have counting by half. Without rows it is what the model
knows: the shares of the training rows that conditions on the column hold for, and the ends of a slope; between them
the scale is straight, and beyond them it stands halfway to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import Column
from pysirus._model.model import Model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Quantiles:
    """The share of rows below a value: of ``values``, sorted, or as ``shares`` at them say."""

    values: Floats
    shares: Floats | None = None

    def __call__(self, value: float) -> float:
        """The place of a value on the scale."""
        if self.shares is None:
            sides = [int(np.searchsorted(self.values, value, side=side)) for side in ("left", "right")]
            return sum(sides) / 2 / max(1, len(self.values))
        if not len(self.values):
            return 0.5
        if value < self.values[0]:
            return float(self.shares[0] / 2)
        if value > self.values[-1]:
            return float((1 + self.shares[-1]) / 2)
        return float(np.interp(value, self.values, self.shares))

    @classmethod
    def of(
        cls,
        model: Model,
        index: int,
        edges: Sequence[float],
        ends: Sequence[tuple[float, float]],
        column: Column | None,
    ) -> Quantiles:
        """The scale of a column, from its rows or from what the model knows of it."""
        if column is not None:
            values = column.values.astype(np.float64)
            return cls(np.sort(values[~np.isnan(values)]))
        known: dict[float, float] = {}
        for condition in (c for rule in model.all_rules for c in rule.conditions if c.index == index):
            if condition.share is not None and condition.upper is not None and condition.lower is None:
                known.setdefault(condition.upper, condition.share)
            if condition.share is not None and condition.lower is not None and condition.upper is None:
                known.setdefault(condition.lower, 1 - condition.share)
        for low, high in ends:
            known |= {low: 0.0, high: 1.0}
        if not known:
            known = {edge: (i + 1) / (len(edges) + 1) for i, edge in enumerate(edges)}
        places = np.array(sorted(known))
        return cls(places, np.maximum.accumulate(np.array([known[place] for place in places.tolist()])))

"""Features in, numbers out: the one preparation of every method that needs numbers, learned from training rows only.

A text is a column of zeros and ones for each of its levels in the training rows, a missing one being a level too; a
level that training never saw is zeros. A missing number is the median, with a column of zeros and ones beside it that
says where. Nothing is scaled here: methods that want that scale for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Origin:
    """What a column of numbers says: a feature, one of its levels, or where it is missing."""

    feature: str
    level: str | None = None
    missing: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is the feature itself."""
        return self.level is None and not self.missing


class Encoder:
    """The preparation, as the training rows have it."""

    def __init__(self, X: pd.DataFrame) -> None:
        self.origins: list[Origin] = []
        self.medians: dict[str, float] = {}
        for name, column in X.items():
            gaps = bool(column.isna().any())
            if column.dtype == object:
                self.origins += [Origin(str(name), level) for level in sorted(set(column.dropna()))]
            else:
                median = float(column.median())
                self.medians[str(name)] = 0.0 if np.isnan(median) else median
                self.origins.append(Origin(str(name)))
            if gaps:
                self.origins.append(Origin(str(name), missing=True))

    def __call__(self, X: pd.DataFrame) -> Floats:
        """Some rows as numbers."""
        return np.column_stack([self._column(X[own.feature], own) for own in self.origins])

    def _column(self, column: pd.Series, own: Origin) -> Floats:
        if own.missing:
            return column.isna().to_numpy(dtype=float)
        if own.level is not None:
            return (column == own.level).to_numpy(dtype=float)
        return column.fillna(self.medians[own.feature]).to_numpy(dtype=float)


class Codes:
    """For methods that take categories as numbers and missing values as they are: texts by their alphabetical rank."""

    def __init__(self, X: pd.DataFrame) -> None:
        self.levels = {str(name): sorted(set(c.dropna())) for name, c in X.items() if c.dtype == object}
        self.categorical = [i for i, name in enumerate(X) if str(name) in self.levels]

    def __call__(self, X: pd.DataFrame) -> Floats:
        """Some rows as numbers; a text that training never saw is missing."""
        columns: list[Any] = []
        for name, column in X.items():
            if str(name) in self.levels:
                ranks = {level: float(k) for k, level in enumerate(self.levels[str(name)])}
                columns.append([ranks.get(value, np.nan) for value in column])
            else:
                columns.append(column.to_numpy(dtype=float))
        return np.column_stack(columns).astype(float)

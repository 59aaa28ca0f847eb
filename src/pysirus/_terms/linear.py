"""A column in, its part of a prediction out: the linear term, a second kind of term beside the rule.

A term is ``weight * x`` with ``x`` held within its limits (winsorised), so that a value far out cannot run away with
the prediction (Friedman and Popescu 2008, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._format import format_date, format_number, format_threshold
from pysirus._plain import apart


@dataclass(frozen=True)
class LinearTerm:
    """A numeric column times a weight.

    Attributes
    ----------
    feature : str
        Name of the column.
    weight : float
        Change of the prediction per unit of the column.
    lower, upper : float
        Values are clipped to these limits.
    missing : float
        Replaces a missing value: the mean of the clipped training column.
    """

    feature: str
    weight: float
    lower: float
    upper: float
    missing: float
    index: int = field(default=0, compare=False)
    is_date: bool = field(default=False, compare=False, repr=False)

    def values(self, table: Table) -> NDArray[np.float64]:
        """The column within its limits, missing values filled in."""
        column = np.clip(table.columns[self.index].values.astype(np.float64), self.lower, self.upper)
        return np.where(np.isnan(column), self.missing, column)

    def __str__(self) -> str:
        ends = (self.lower, self.upper)
        limits = " to ".join(format_date(end) if self.is_date else format_threshold(end, rounded=True) for end in ends)
        return f"{format_number(self.weight, 3)} * {apart(self.feature)}, within {limits}"

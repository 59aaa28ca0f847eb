"""What a list leaves unexplained of a row, as a function of its bins and its answer.

Rows may lie in several places. A residual is computed where its row lies, number by number, so it has the same bits
everywhere. What must be known of all rows is the range of the residuals: the extremes of parts add up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._response.fixed_point import Scale
from pysirus._response.response import Response

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Extremes:
    """The smallest and the largest number of each column of some rows."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Floats) -> Extremes:
        """Those of numbers [row, column]."""
        return cls(values.min(axis=0), values.max(axis=0))

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True)
class Rounding:
    """What fixes the residuals of all rows: their range, and to which power of two they are rounded, if they are."""

    low: float
    high: float
    exponent: int | None = None

    def scale(self, of_response: Scale) -> Scale:
        """What fixes the integers of residuals, given that of the response."""
        return replace(of_response, low=self.low, high=self.high)


class Residual(ABC):
    """What a list leaves unexplained; it can be sent to where rows lie."""

    @abstractmethod
    def raw(self, binned: Binned, response: Response) -> Floats:
        """What extremes and responses are made of, [row, column], before anything is known of other rows."""

    @abstractmethod
    def settle(self, found: Extremes) -> Rounding | None:
        """Given the extremes of all rows, how residuals are rounded; None where the list explains all."""

    @abstractmethod
    def response(self, raw: Floats, rounding: Rounding, response: Response) -> Response:
        """The residuals of some rows as their response."""

    def of_rows(self, binned: Binned, response: Response, rounding: Rounding, scale: Scale) -> Response:
        """The same for rows in bins, as some of those whose scale is given."""
        return replace(self.response(self.raw(binned, response), rounding, response), part_of=scale)

"""Times and events in, the curve of Kaplan and Meier out, and its median."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # of a product of shares that should be one half


@dataclass(frozen=True)
class Curve:
    """The share without an event: 1 before the first time, then as it is from each time on."""

    times: Floats  # of events, rising
    share: Floats
    last: float  # the longest time of any row

    @property
    def median(self) -> float | None:
        """The first time from which at most half are without an event; None where it is not reached."""
        reached = np.flatnonzero(self.share <= 0.5 + ROUNDING)
        return float(self.times[reached[0]]) if len(reached) else None


def kaplan_meier(times: Floats, events: NDArray[np.bool_], weights: Floats | None = None) -> Curve:
    """The curve of some rows. At equal times events come before censoring."""
    distinct, place = np.unique(times, return_inverse=True)
    weight = np.ones(len(times)) if weights is None else weights
    everyone, ended = (np.bincount(place, own, len(distinct)).astype(np.float64) for own in (weight, weight * events))
    at_risk = np.cumsum(everyone[::-1])[::-1]
    own = ended > 0
    share = np.asarray(np.cumprod(np.clip(1 - ended[own] / at_risk[own], 0.0, 1.0)), dtype=np.float64)
    return Curve(distinct[own], share, float(distinct[-1]) if len(distinct) else 0.0)

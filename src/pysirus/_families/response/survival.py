"""Times and events in, a response out: what a forest is grown on is the martingale residual of the null model.

The residual of a row is its events (0 or 1) less those expected of it where all rows have the same hazard: the
cumulative hazard of Nelson and Aalen until its time, which is the baseline of a model without rules. A row twice is a
row of weight two here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus._families.response.response import NumberResponse

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NULL_BITS = 44  # of the largest residual; rounded once, so that another order of the rows gives the same numbers


@dataclass(frozen=True)
class SurvivalResponse(NumberResponse):
    """Rows that answer with a time each, and whether it ended with an event. The numbers are residuals."""

    shows_means: ClassVar[bool] = False

    times: Floats
    events: Flags
    time_name: str = "time"
    event_name: str = "event"

    @property
    def strata(self) -> NDArray[np.uint8]:
        """Whether there was an event: every fold should have some."""
        return self.events.astype(np.uint8)

    @property
    def n_strata(self) -> int:
        """Rows with an event and rows without."""
        return 2

    @property
    def truth(self) -> NDArray[Any]:
        """Events and times in one array."""
        return events_and_times(self.events, self.times)

    def take(self, rows: NDArray[np.intp]) -> SurvivalResponse:
        """The response of some rows, whose residuals are their own."""
        weights = None if self.weights is None else self.weights[rows]
        return survival_response(self.times[rows], self.events[rows], weights, self.time_name, self.event_name)

    def row_arrays(self) -> dict[str, NDArray[Any]]:
        """The fields that have one entry per row."""
        return {**super().row_arrays(), "times": self.times, "events": self.events}


def survival_response(
    times: Floats, events: Flags, weights: Floats | None = None, time_name: str = "time", event_name: str = "event"
) -> SurvivalResponse:
    """The response of rows with a time each."""
    residuals = null_residuals(times, events, weights)
    return SurvivalResponse(residuals, times, events, time_name, event_name, weights=weights)


def null_residuals(times: Floats, events: Flags, weights: Floats | None = None) -> Floats:
    """Events less the cumulative hazard at their times."""
    distinct, place = np.unique(times, return_inverse=True)
    weight = np.ones(len(times)) if weights is None else weights
    everyone, ended = (np.bincount(place, own, len(distinct)) for own in (weight, weight * events))
    at_risk = np.cumsum(everyone[::-1])[::-1]
    residuals = events - np.cumsum(ended / np.where(at_risk > 0, at_risk, 1.0))[place]
    largest = float(np.abs(residuals).max(initial=0.0))
    exponent = NULL_BITS - int(np.frexp(largest)[1]) if largest > 0 else 0
    return np.ldexp(np.rint(np.ldexp(residuals, exponent)), -exponent)


def events_and_times(events: Flags, times: Floats) -> NDArray[Any]:
    """Events and times in one array."""
    both = np.empty(len(times), dtype=[("event", bool), ("time", np.float64)])
    both["event"], both["time"] = events, times
    return both

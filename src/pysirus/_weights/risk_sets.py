"""Times and events in, risk sets out: who could still have an event when somebody had one.

A row is at risk at every time of an event up to its own time, that time included. Its span is their number; nothing
else of its time matters to Cox's partial likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RiskSets:
    """Who is at risk when."""

    event_times: Floats  # the distinct times of events, rising
    span: NDArray[np.int32]  # [row] how many of them the row is at risk at
    events: NDArray[np.uint8]  # [row] 1 for an event, at the last time of the span; 0 for a censored row

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.span)


def risk_sets(times: Floats, events: NDArray[np.bool_]) -> RiskSets:
    """The risk sets of rows with a time each, and whether it ended with an event."""
    times, events = np.asarray(times, dtype=np.float64), np.asarray(events, dtype=bool)
    event_times = np.unique(times[events])
    span = np.searchsorted(event_times, times, side="right").astype(np.int32)
    return RiskSets(event_times, span, events.astype(np.uint8))

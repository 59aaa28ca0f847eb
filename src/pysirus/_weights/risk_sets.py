"""Times and events in, risk sets out: who could still have an event when somebody had one.

A row is at risk at every time of an event up to its own time, that time included. Its span is their number; nothing
else of its time matters to Cox's partial likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RiskSets:
    """Who is at risk when."""

    event_times: Floats  # the distinct times of events, rising
    span: NDArray[np.int32]  # [row] how many of them the row is at risk at
    events: NDArray[np.uint8]  # [row] 1 for an event, at the last time of the span; 0 for a censored row
    copies: NDArray[np.int64] | None  # [row] tied events of the same number are copies of one row; None: none are

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.span)


def risk_sets(times: Floats, events: NDArray[np.bool_], binned: Binned | None = None) -> RiskSets:
    """The risk sets of rows with a time each, and whether it ended with an event.

    With ``binned``, tied events that no column tells apart are copies of one row: their weights add up and among ties
    they count once. So a row twice is a row of weight two, which Efron's formula alone does not give. Without it every
    row stands for itself, as in R's survival.
    """
    times, events = np.asarray(times, dtype=np.float64), np.asarray(events, dtype=bool)
    event_times = np.unique(times[events])
    span = np.searchsorted(event_times, times, side="right").astype(np.int32)
    copies = None if binned is None else _copies(span, events, len(event_times), binned)
    return RiskSets(event_times, span, events.astype(np.uint8), copies)


def _copies(
    span: NDArray[np.int32], events: NDArray[np.bool_], n_times: int, binned: Binned
) -> NDArray[np.int64] | None:
    """Equal numbers for tied events that share all their bins; None where nothing is tied."""
    tied = np.flatnonzero(events & (np.bincount(span[events], minlength=n_times + 1)[span] > 1))
    if len(tied) == 0:
        return None
    copies = np.zeros(len(span), dtype=np.int64)
    if len(binned.bins) > 0:
        rows = np.ascontiguousarray(binned.bins[:, tied].T)
        copies[tied] = np.unique(rows.view(f"V{rows.shape[1]}").ravel(), return_inverse=True)[1]
    return copies

"""Scores of training rows in, the baseline hazard out; with it, scores of any rows into survival functions.

The cumulative hazard of a row of score 0 is a step function that rises at each time of an event, by the number of
events over who is at risk, tied events taken out in equal shares as in the likelihood (R's ``basehaz`` with Efron's
ties). With it the expected events of the training rows add up to those observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._weights.cox import hazard_rises
from pysirus._weights.risk_sets import RiskSets

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BaselineHazard:
    """The cumulative hazard of a row of score 0: 0 before the first time, then as it is from each time on."""

    times: Floats  # rising
    cumulative: Floats

    def at(self, times: Floats) -> Floats:
        """The cumulative hazard at some times; after the last event it stays what it is."""
        found = np.searchsorted(self.times, np.asarray(times, dtype=np.float64), side="right")
        return np.concatenate([[0.0], self.cumulative])[found]

    def cumulative_hazard(self, scores: Floats, times: Floats) -> Floats:
        """The cumulative hazard [row, time] of rows with a score each."""
        # one exponential of a sum: e^score alone may be infinite where the hazard is 0
        logs = np.ravel(scores)[:, None] + _core.log(np.ravel(self.at(times)))[None, :]
        return _core.exp(np.ascontiguousarray(logs).ravel()).reshape(logs.shape)

    def survival(self, scores: Floats, times: Floats) -> Floats:
        """The probability [row, time] of no event until each time, that time included."""
        hazard = self.cumulative_hazard(scores, times)
        return _core.exp(-hazard.ravel()).reshape(hazard.shape)


def baseline_hazard(risk: RiskSets, scores: Floats, weights: Floats | None = None) -> BaselineHazard:
    """The baseline hazard that belongs to the scores of the training rows. Without events it is 0."""
    return BaselineHazard(risk.event_times, np.cumsum(hazard_rises(risk, scores, weights)))

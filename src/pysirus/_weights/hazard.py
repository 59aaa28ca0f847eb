"""Scores of training rows in, the baseline hazard out.

It rises at each time of an event by the weight of the events over the weight of who is at risk, each times ``exp`` of
its score (Breslow's estimate). With it the expected events of the training rows add up to those observed, time by time;
Efron's shares would expect more. Where all scores are 0 it is the hazard of Nelson and Aalen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pysirus._model.hazard import BaselineHazard
from pysirus._weights.cox import hazard_rises
from pysirus._weights.risk_sets import RiskSets

Floats = NDArray[np.float64]


def baseline_hazard(risk: RiskSets, scores: Floats, weights: Floats | None = None) -> BaselineHazard:
    """The baseline hazard that belongs to the scores of the training rows. Without events it is 0."""
    return BaselineHazard(risk.event_times, np.cumsum(hazard_rises(risk, scores, weights)))

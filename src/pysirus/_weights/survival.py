"""Scores of training rows in, the baseline hazard out, with which scores become survival functions.

The cumulative hazard of a row of score 0 is a step function. It rises at each time of an event by the weight of the
events over the weight of who is at risk, each times ``exp`` of its score (Breslow's estimate). With it the expected
events of the training rows add up to those observed, time by time; Efron's shares would expect more. Where all scores
are 0 it is the hazard of Nelson and Aalen. That of another row is ``exp(score)`` times as high. A model keeps it at up
to 2,000 of these times; where there are more, at those evenly spread over the events, where it is exact.

``StepFunction`` is a function of time that changes in steps, as in scikit-survival: ``x``, ``y``, and a call at any
time. ``kaplan_meier`` is the observed curve, to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._weights.cox import RiskSets, hazard_rises

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepFunction:
    """What it is from each time on.

    Attributes
    ----------
    x : ndarray of shape (n_times,)
        Times, rising.
    y : ndarray of shape (n_times,)
        The value from each time on.
    start : float
        The value before the first time.

    Examples
    --------
    >>> import numpy as np
    >>> from pysirus._weights.survival import StepFunction
    >>> alive = StepFunction(np.array([1.0, 2.0]), np.array([0.8, 0.5]), start=1.0)
    >>> alive([0.5, 1.0, 7.0]).tolist()
    [1.0, 0.8, 0.5]
    """

    x: Floats
    y: Floats
    start: float = 0.0

    def __call__(self, x: Any) -> Any:
        """The value at one time, or at several."""
        times = np.asarray(x, dtype=np.float64)
        if not np.isfinite(times).all() or (times < 0).any():
            raise ValueError("x must be times from 0 on, without missing ones.")
        found = np.searchsorted(self.x, times, side="right")
        values = np.concatenate([[self.start], self.y])[found]
        return float(values) if values.ndim == 0 else values

    @property
    def domain(self) -> tuple[float, float]:
        """The times that it is known for; after the last it stays what it is."""
        return 0.0, float(self.x[-1]) if len(self.x) else 0.0

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"StepFunction(x={self.x!r}, y={self.y!r}, start={self.start!r})"


def step_functions(times: Floats, values: Floats, start: float) -> NDArray[np.object_]:
    """One function for each row of values [row, time]."""
    functions = np.empty(len(values), dtype=object)
    for i, own in enumerate(values):
        functions[i] = StepFunction(times, own, start)
    return functions


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


MOST_TIMES = 2_000


@dataclass(frozen=True, eq=False)
class BaselineHazard:
    """The cumulative hazard of a row of score 0: 0 before the first time, then as it is from each time on."""

    times: Floats  # rising
    cumulative: Floats

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaselineHazard):
            return NotImplemented
        return np.array_equal(self.times, other.times) and np.array_equal(self.cumulative, other.cumulative)

    __hash__ = None  # type: ignore[assignment]

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


def kept_times(times: Floats) -> NDArray[np.intp]:
    """The places of the times that a model keeps."""
    if len(times) <= MOST_TIMES:
        return np.arange(len(times))
    return np.unique(np.rint(np.linspace(0, len(times) - 1, MOST_TIMES)).astype(np.intp))


@dataclass(frozen=True)
class Survival:
    """What a survival model keeps besides its rules."""

    event: str  # what the column of events is called
    n_events: int
    median: float | None  # of all training rows
    hazard: BaselineHazard
    event_value: Any = None  # of the column of events, where it is not 1, true or yes

    @property
    def event_text(self) -> str:
        """What is waited for: the column, and the value that is the event where it was said."""
        return self.event if self.event_value is None else f"{self.event} = {self.event_value}"

    def with_hazard(self, cumulative: Sequence[float]) -> Survival:
        """The same with another cumulative hazard, at the same times."""
        return replace(self, hazard=BaselineHazard(self.hazard.times, np.array(cumulative)))


def baseline_hazard(risk: RiskSets, scores: Floats, weights: Floats | None = None) -> BaselineHazard:
    """The baseline hazard that belongs to the scores of the training rows. Without events it is 0."""
    return BaselineHazard(risk.event_times, np.cumsum(hazard_rises(risk, scores, weights)))

"""The baseline hazard of a survival model: with it, scores become survival functions.

The cumulative hazard of a row of score 0 is a step function that rises at each time of an event. That of another row is
``exp(score)`` times as high. A model keeps it at up to 2,000 of these times; where there are more, at those evenly
spread over the events, where it is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._model.fields import ensure
from pysirus._model.moment_text import number_line, read_line
from pysirus._response.read_survival import LARGEST_TIME

Floats = NDArray[np.float64]

MOST_TIMES = 2_000
LARGEST = LARGEST_TIME  # of a time or hazard in a file


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


def times_from_line(line: str, place: str) -> Floats:
    """Times of a file; a ``Damage`` unless they are above zero and rise."""
    count = line.count(" ") + bool(line)
    ensure(count <= MOST_TIMES, place, f"must have at most {MOST_TIMES} times, found {count}")
    times = read_line(line, count, place)
    rises = bool((np.diff(times, prepend=0.0) > 0).all() and (times <= LARGEST).all())
    ensure(rises, place, "must be times above 0 that rise")
    return times


def hazard_from_line(line: str, count: int, place: str) -> Floats:
    """A cumulative hazard of a file; a ``Damage`` unless it is one."""
    values = read_line(line, count, place)
    rises = bool((values >= 0).all() and (np.diff(values) >= 0).all() and (values <= LARGEST).all())
    ensure(rises, place, "must be a cumulative hazard: from 0 on, never falling")
    return values


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


def survival_to_json(survival: Survival) -> dict[str, Any]:
    """As it stands in a model file."""
    return {
        "event": survival.event,
        **({} if survival.event_value is None else {"event_value": survival.event_value}),
        "n_events": survival.n_events,
        "median": survival.median,
        "times": number_line(survival.hazard.times),
        "cumulative_hazard": number_line(survival.hazard.cumulative),
    }


def survival_from_json(d: Mapping[str, Any] | None) -> Survival | None:
    """Back from a file; a ``Damage`` if the hazard is none."""
    if d is None:
        return None
    times = times_from_line(d["times"], "survival.times")
    hazard = hazard_from_line(d["cumulative_hazard"], len(times), "survival.cumulative_hazard")
    median = None if d["median"] is None else float(d["median"])
    return Survival(d["event"], d["n_events"], median, BaselineHazard(times, hazard), d.get("event_value"))

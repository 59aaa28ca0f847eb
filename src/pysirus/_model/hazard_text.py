"""What a survival model keeps besides its rules as fields of a file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.response.read_survival import LARGEST_TIME
from pysirus._model.fields import ensure
from pysirus._model.moment_text import number_line, read_line
from pysirus._weights.hazard import MOST_TIMES, BaselineHazard, Survival

Floats = NDArray[np.float64]

LARGEST = LARGEST_TIME  # of a time or hazard in a file


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


def survival_to_json(survival: Survival | None) -> dict[str, Any] | None:
    """As it stands in a model file, where there is something to say."""
    if not survival:
        return None
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

"""What became of some rows that were followed until an event or the end of their observation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pysirus._format import decimals_for, format_number, format_outputs

NOT_REACHED = "not reached"
# names of columns that say in what their times are measured
UNITS = ["second", "minute", "hour", "day", "week", "month", "year", "cycle", "kilometre", "kilometer", "mile"]


@dataclass(frozen=True)
class Outcome:
    """Events and the median time to them.

    Attributes
    ----------
    n_events : int
        Rows with an event.
    median : float or None
        The time at which half of the rows had one (Kaplan and Meier); None where it is not reached.
    """

    n_events: int
    median: float | None


def unit_of(name: str) -> str:
    """The unit that a column of times is named after, with a space before it; else nothing."""
    return f" {name}" if name.lower().removesuffix("s") in UNITS else ""


def median_text(median: float | None) -> str:
    """A median with three digits, or that it is not reached."""
    return NOT_REACHED if median is None else f"{median:.{decimals_for([median], 0.0)}f}"


def median_texts(sides: Sequence[Outcome], unit: str = "") -> tuple[str, str]:
    """Medians inside and outside as text: ``median 3.1 years``, ``9.8``; one that is not reached is said so."""
    inside, outside = (side.median for side in sides)
    if inside is None or outside is None:
        first, second = map(median_text, (inside, outside))
    else:
        first, second = format_outputs(inside, outside, None)
    return f"median {first}{unit if inside is not None else ''}", second


def format_factors(logs: Iterable[float]) -> tuple[str, ...]:
    """By what factors logarithms multiply, as text."""
    return tuple(f"×{format_number(math.exp(min(float(value), 700.0)), 3)}" for value in logs)

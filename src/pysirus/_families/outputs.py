"""What a family reads of a term, and how outputs and classes are written on a line.

Of any term a family reads what it adds, of a fitted rule also what the data say of it. With times to an event these
are events and medians; effects on a logarithm are written as factors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pysirus._text.format import decimals_for, format_number, format_outputs, one_line


class Part(Protocol):
    """A term of a list, with its weight."""

    @property
    def weight(self) -> float | None: ...
    @property
    def inside(self) -> Any: ...
    @property
    def added(self) -> tuple[list[float], list[float]]: ...
    def contributions(self, values: Any, /) -> Any: ...
    def average_output(self, mean: Any, /) -> Any: ...


class RulePart(Part, Protocol):
    """A fitted rule: its outputs, what the data say inside and outside, and how many rows are there."""

    def average_output(self, mean: Any, /) -> NDArray[np.float64]: ...
    def added_from(self, average: Any, /) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    @property
    def outside(self) -> Any: ...
    @property
    def means(self) -> tuple[Any, Any]: ...
    @property
    def n_inside(self) -> int | None: ...
    @property
    def n_outside(self) -> int | None: ...
    @property
    def survival(self) -> Any: ...
    @property
    def event_texts(self) -> Any: ...


LABELS = (24, 14, 8)  # characters of a class in a line of the default view
FOLD = "…"  # stands for the middle of a long name


def fold_middle(text: str, longest: int | None) -> str:
    """A text cut to ``longest`` characters by leaving out its middle."""
    if longest is None or len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}{FOLD}{text[len(text) - tail :]}"


def fold_labels(classes: Sequence[Any] | None, longest: int | None) -> tuple[Any, ...] | None:
    """Classes as they are named in a line; numbers stay numbers."""
    if classes is None or longest is None:
        return None if classes is None else tuple(classes)
    return tuple(fold_middle(one_line(label), longest) if isinstance(label, str) else label for label in classes)


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

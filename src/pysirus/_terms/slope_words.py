"""A slope and what a unit of it adds in, its words out: ``+0.21 per unit``, and ``-6.9 to +7.4`` at its two ends.

What a step adds is printed with all its digits, for it is rounded already; the ends are rounded to where the rounding
of the slope leaves off, so that a prediction that is computed from a printed line is right to that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pysirus._families.outputs import fold_labels, fold_middle, format_factors
from pysirus._text.format import (
    apart,
    format_label,
    format_number,
    format_pair,
    format_threshold,
    one_line,
    short_exponent,
)

MOST_NAMED = 4  # classes in a folded line
DIGITS = 10  # of a number that is rounded to fewer, and has the errors of a product
RANGE_NOTE = "Beyond its range a slope stays at the end of the range; a missing value changes nothing."


class ToldSlope(Protocol):
    """What is told of a slope."""

    @property
    def feature(self) -> str: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def reach(self) -> float: ...
    @property
    def step(self) -> float: ...
    @property
    def decimals(self) -> int | None: ...
    @property
    def multiplies(self) -> bool: ...
    @property
    def classes(self) -> tuple[Any, ...] | None: ...
    @property
    def effect(self) -> Any: ...


def rate_text(term: ToldSlope, points: NDArray[np.float64], longest: int | None = None) -> str:
    """What a unit adds, or a step where that is told; points are those of the positive of two classes, or of each."""
    unit = "per unit" if term.step == 1.0 else f"per {format_threshold(term.step)}"
    if points.size == 1:
        added = float(points.reshape(-1)[0]) * term.step
        odds = f" (odds {_times(math.exp(min(added, 700.0)), exact=False)})" if len(term.classes or ()) == 2 else ""
        return f"{_added_text(term, added)} {unit}{odds}"
    labels = fold_labels(term.classes, longest) or ()
    order = np.argsort(-np.abs(points), kind="stable") if longest is not None else np.arange(points.size)
    shown = order if longest is None else order[:MOST_NAMED]
    texts = [f"{one_line(format_label(labels[k]))} {_added_text(term, points[k] * term.step)}" for k in shown]
    return f"{', '.join(texts)}{', ...' if len(shown) < points.size else ''} {unit}"


def _added_text(term: ToldSlope, added: float) -> str:
    """What a step adds, or multiplies by."""
    exact = term.decimals is not None or term.effect is not None
    if term.multiplies:
        return _times(math.exp(min(added, 700.0)), exact)
    text = short_exponent(f"{added:.{DIGITS}g}") if exact else format_number(added, 3)
    return text if text.startswith("-") else f"+{text}"


def _times(factor: float, exact: bool) -> str:
    return f"×{short_exponent(f'{factor:.{DIGITS}g}') if exact else format_number(factor, 3)}"


def ends_text(term: ToldSlope, points: NDArray[np.float64], k: int = 0) -> str:
    """What it adds at the lower and at the upper end of its range, to the score of class ``k``."""
    own = float(np.atleast_1d(points)[k if points.size > 1 else 0])
    ends = (term.lower - term.mean) * own, (term.upper - term.mean) * own
    if term.multiplies:
        return " to ".join(format_factors(ends))
    largest = max(map(abs, ends))
    if term.decimals is None or not 1e-5 <= largest < 1e12:
        return " to ".join(format_pair(*ends, signed=True))
    decimals = term.decimals - math.floor(math.log10(term.reach / term.step))
    decimals = min(max(decimals, 1 - math.floor(math.log10(largest)), 0), 10)
    return " to ".join(f"{round(end, decimals) + 0.0:+,.{decimals}f}" for end in ends)


def fold_slope(term: ToldSlope, sides: Sequence[str], width: int | None) -> str:
    """The line of a slope, with what a unit adds and what its ends do; a long name loses its middle."""
    limits = f"from {format_threshold(term.lower)} to {format_threshold(term.upper)}"
    ends = f" ({sides[1]})" if sides[1] else ""
    rest, name = one_line(f": {sides[0]}, {limits}{ends}"), apart(term.feature)
    room = None if width is None else max(width - len(rest), 8)
    return one_line(fold_middle(name, room)) + rest

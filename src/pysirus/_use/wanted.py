"""A model and a wanted decision in, the margins by which its sums reach it out: all of them must be above 0.

Of classes it is a label, of numbers a range: ``(20, None)``, ``(None, 5.5)``, ``(20, 30)``, or text such as
``">= 20"``, ``"<= 5.5"`` and ``"20 to 30"``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._text.format import format_label, format_threshold
from pysirus._text.message import Parameter
from pysirus._use.reasons import class_number

NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
ONE_SIDED = re.compile(rf"\s*(<=|>=|<|>)\s*{NUMBER}\s*")
TWO_SIDED = re.compile(rf"\s*{NUMBER}\s*to\s*{NUMBER}\s*")


@dataclass(frozen=True)
class Wish:
    """What is wanted: margins are ``start + mix @ sums``; what the model decides has the last word."""

    mix: NDArray[np.float64]  # [margin, sum]
    start: NDArray[np.float64]
    text: str
    outcome: int | None = None
    low: float = -math.inf
    high: float = math.inf

    def holds(self, model: Model, table: Table) -> bool:
        """Whether the row of a table is decided so."""
        found = model.decision(table)
        if self.outcome is not None:
            return int(model.choose(found)[0]) == self.outcome
        return bool(self.low <= found[0] <= self.high)


def read_wish(model: Model, to: Any) -> Wish:
    """What is wanted, checked."""
    outcome = None if model.classes is None else class_number(model, to, "to")
    if outcome is not None:
        mix, start = model.family.winning_margins(outcome)
        return Wish(mix, start, format_label(model.labels[outcome]), outcome)
    if model.classes is not None:
        raise ParameterError(f"{Parameter('to')} must be the class that is wanted, got {to!r}.")
    low, high = _range(to)
    ends = [(1.0, low), (-1.0, high)]
    known = [(sign, model.family.score_at(end)) for sign, end in ends if math.isfinite(end)]
    mix = np.array([[sign] for sign, _ in known])
    start = np.array([-sign * score for sign, score in known])
    texts = [
        f"{word} {format_threshold(end, rounded=True)}"
        for word, end in ((">=", low), ("<=", high))
        if math.isfinite(end)
    ]
    return Wish(mix, start, f"{model.target} {' and '.join(texts)}", None, low, high)


def _range(to: Any) -> tuple[float, float]:
    """The lower and the upper end that are wanted, infinite where there is none."""
    pair = to
    if isinstance(to, str):
        one, two = ONE_SIDED.fullmatch(to), TWO_SIDED.fullmatch(to)
        if one is not None:
            pair = (float(one[2]), None) if one[1] in (">", ">=") else (None, float(one[2]))
        elif two is not None:
            pair = (float(two[1]), float(two[2]))
    numbers = isinstance(pair, (tuple, list)) and len(pair) == 2
    numbers = numbers and all(
        end is None or (isinstance(end, (int, float)) and not isinstance(end, bool) and end == end) for end in pair
    )
    low, high = (
        (-math.inf if pair[0] is None else float(pair[0]), math.inf if pair[1] is None else float(pair[1]))
        if numbers
        else (0.0, 0.0)
    )
    if not numbers or not low <= high or not (math.isfinite(low) or math.isfinite(high)):
        raise ParameterError(
            f"{Parameter('to')} must be a range of predictions, such as '>= 20', '<= 5.5' or '20 to 30', got {to!r}."
        )
    return low, high

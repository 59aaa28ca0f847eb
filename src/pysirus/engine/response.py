"""The responses of parts in, what fixes their integers out: the same scale for every row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, check_same_type
from pysirus._data.zero_weights import counting, rows_that_weigh
from pysirus._response.response import (
    ALL_ZERO,
    Response,
    Scale,
    all_whole,
    check_spread,
    check_weights,
    classes_of,
    read_labels,
    read_numbers,
    slots_of,
)
from pysirus.engine.parts import Part


@contextmanager
def naming(part: Part) -> Iterator[None]:
    """Complaints about a part say which one it is."""
    try:
        with counting(rows_that_weigh(part.weights)):
            yield
    except DataError as error:
        raise DataError(f"{part.name}: {error}") from error


def exact_sum(values: NDArray[np.float64]) -> Fraction:
    """The sum of numbers without rounding."""
    rest, total = values.tolist(), Fraction(0)
    while rounded := math.fsum(rest):
        total += Fraction(rounded)
        rest.append(-rounded)
    return total


@dataclass(frozen=True)
class Labels:
    """The classes of some rows, and what the rows of each weigh together."""

    classes: NDArray[Any]
    weights: tuple[Fraction, ...]

    def __add__(self, other: Labels) -> Labels:
        check_same_type("y", [*self.classes.tolist(), *other.classes.tolist()])
        classes = classes_of(np.concatenate([self.classes, other.classes]))
        total = dict.fromkeys(classes.tolist(), Fraction(0))
        for some in (self, other):
            for label, weight in zip(some.classes.tolist(), some.weights):
                total[label] += weight
        return Labels(classes, tuple(total.values()))


@dataclass(frozen=True)
class LabelQuestion:
    """Which classes are there?"""

    def __call__(self, part: Part) -> Labels | None:
        with naming(part):
            labels, weights = _labels_and_weights(part.weighing())
            classes = classes_of(labels)
        if not len(classes):
            return None
        slots = slots_of(labels, classes)
        return Labels(classes, tuple(exact_sum(weights[slots == k]) for k in range(len(classes))))


def _labels_and_weights(part: Part) -> tuple[NDArray[Any], NDArray[np.float64]]:
    n_rows = len(part.y)
    labels = read_labels(part.y, n_rows)
    return labels, np.ones(n_rows) if part.weights is None else check_weights(part.weights, n_rows)


@dataclass(frozen=True)
class Reading:
    """How the response of a part is read: as numbers, or as classes with their weights."""

    classes: NDArray[Any] | None = None
    factors: NDArray[np.float64] | None = None  # of the classes
    weighted: bool = True  # whether some row weighs other than one
    scale: Scale | None = None  # of all rows, once it is known

    def __call__(self, part: Part) -> Response:
        """The response of rows that weigh something."""
        n_rows = len(part.y)
        if self.classes is None:
            values = read_numbers(part.y, n_rows, part=True)
            weights = np.ones(n_rows) if part.weights is None else check_weights(part.weights, n_rows)
            response = Response(values, None, 1, weights, None, self.scale)
        else:
            labels, weights = _labels_and_weights(part)
            slots, repeats = slots_of(labels, self.classes), None
            if self.factors is not None:
                weights, repeats = self.factors[slots] * weights, weights
            response = Response(None, slots, len(self.classes), weights, self.classes, self.scale, repeats)
        return response if self.weighted else replace(response, weights=None)


@dataclass(frozen=True)
class Extent:
    """The rows that weigh something in each part, and the range of their answers and weights."""

    rows: dict[int, int]
    low: float
    high: float
    heaviest: float
    whole: bool  # whether every weight is a whole number
    repeated: bool  # whether every weight was one before class weights
    weighted: bool  # whether one is not 1

    def __add__(self, other: Extent) -> Extent:
        return Extent(
            {**self.rows, **other.rows},
            min(self.low, other.low),
            max(self.high, other.high),
            max(self.heaviest, other.heaviest),
            self.whole and other.whole,
            self.repeated and other.repeated,
            self.weighted or other.weighted,
        )

    @property
    def first_rows(self) -> dict[int, int]:
        """The number of the first row of each part."""
        ends = np.cumsum([self.rows[number] for number in sorted(self.rows)]).tolist()
        return dict(zip(sorted(self.rows), [0, *ends]))

    def scale(self) -> Scale:
        """What fixes the integers of all rows."""
        n_rows = sum(self.rows.values())
        if n_rows == 0:
            raise DataError(ALL_ZERO)
        if n_rows < 2:
            raise DataError("Found array with 1 sample(s): the table has 1 row(s), while a minimum of 2 is required.")
        check_spread(self.low, self.high)
        return Scale(n_rows, self.low, self.high, self.heaviest, self.whole, self.repeated)


@dataclass(frozen=True)
class ExtentQuestion:
    """How many rows are there, and within which limits do they answer and weigh?"""

    reading: Reading

    def __call__(self, part: Part) -> Extent:
        with naming(part):
            response = self.reading(part.weighing())
        assert response.weights is not None
        if response.n_rows == 0:
            return Extent({part.number: 0}, math.inf, -math.inf, 0.0, True, True, False)
        answers = response.slots if response.values is None else response.values
        assert answers is not None
        return Extent(
            {part.number: response.n_rows},
            float(answers.min()),
            float(answers.max()),
            float(response.weights.max()),
            all_whole(response.weights),
            response.repeats is None or all_whole(response.repeats),
            bool((response.weights != 1).any()),
        )

"""Rows in parts in, how each part is read out: its columns and its response, on one scale, the same in every pass."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, check_same_type
from pysirus._data.derived import ColumnRecipe
from pysirus._data.frame import counting
from pysirus._data.table import Table, read_part, read_table
from pysirus._families.read import (
    ALL_ZERO,
    UnknownLabelError,
    check_spread,
    check_weights,
    class_codes,
    classes_of,
    reach_of,
    read_labels,
    within_reach,
)
from pysirus._families.responses import ClassResponse, Response
from pysirus._families.target import PartReading, Target
from pysirus._runtime.sums import Scale, all_whole
from pysirus._text.message import TARGET, WEIGHTS
from pysirus.engine.parts import (
    Answer,
    ChangeDetector,
    Fingerprinted,
    Fingerprints,
    Part,
    RowDataset,
    about,
    changed,
    fingerprints_of,
)


@contextmanager
def naming(part: Part) -> Iterator[None]:
    """Complaints about a part say which one it is."""
    why = "weight zero or without a target" if part.may_lack_target else "weight zero"
    with about(part.name), counting(part.counting, why):
        yield


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
        check_same_type(str(TARGET), [*self.classes.tolist(), *other.classes.tolist()])
        classes = classes_of(np.concatenate([self.classes, other.classes]))
        total = dict.fromkeys(classes.tolist(), Fraction(0))
        for some in (self, other):
            for label, weight in zip(some.classes.tolist(), some.weights):
                total[label] += weight
        return Labels(classes, tuple(total.values()))


@dataclass(frozen=True)
class LabelQuery:
    """Which classes are there?"""

    def __call__(self, part: Part) -> Fingerprinted[Labels] | None:
        with naming(part):
            part = part.weighing()
            labels, weights = _labels_and_weights(part)
            classes = classes_of(labels)
        if not len(classes):
            return None
        codes = class_codes(labels, classes)
        found = Labels(classes, tuple(exact_sum(weights[codes == k]) for k in range(len(classes))))
        return Fingerprinted(found, fingerprints_of(part, ClassResponse(codes, classes, weights=weights)))


def _labels_and_weights(part: Part) -> tuple[NDArray[Any], NDArray[np.float64]]:
    n_rows = len(part.y)
    labels = read_labels(part.y, n_rows)
    return labels, np.ones(n_rows) if part.weights is None else check_weights(part.weights, n_rows)


@dataclass(frozen=True)
class Reading:
    """How the response of a part is read, with the scale of all rows once it is known."""

    read: PartReading
    weighted: bool = True  # whether some row weighs other than one
    scale: Scale | None = None
    advice: str = ""  # where these rows are not those of an earlier pass
    reach: int = 0  # a power of two that weights are divided by

    def __call__(self, part: Part) -> Response:
        """The response of rows of positive weight."""
        try:
            response = self._settled(self.read(part.y, self._weights(part), len(part.y)))
        except UnknownLabelError as error:
            raise DataError(f"{error.message} {self.advice}".rstrip()) from error
        if self.scale is not None and response.n_rows:
            self._check_within(response, self.scale)
        return response

    def no_rows(self) -> Response:
        """The response of no row."""
        return self._settled(self.read.no_rows())

    def _weights(self, part: Part) -> Any:
        """The weights of a part as they are, or divided."""
        return within_reach(check_weights(part.weights, len(part.y)), self.reach) if self.reach else part.weights

    def _check_within(self, response: Response, scale: Scale) -> None:
        """Reject what is beyond the range of an earlier pass: integers of that scale cannot hold it."""
        ranges = [(TARGET, *response.range, scale.low, scale.high)] if not response.by_class else []
        if response.weights is not None:
            ranges.append((WEIGHTS, response.weights.min(), response.weights.max(), 0.0, scale.heaviest))
        for what, least, most, low, high in ranges:
            if not low <= least <= most <= high:
                raise DataError(
                    f"{what} reaches from {least:g} to {most:g}, and no further than from {low:g} to {high:g} in an "
                    f"earlier pass over the rows. {self.advice}".rstrip()
                )

    def _settled(self, response: Response) -> Response:
        response = replace(response, part_of=self.scale)
        return response if self.weighted else replace(response, weights=None)


@dataclass(frozen=True)
class ResponseStats:
    """The rows that weigh something in each part, and the range of their answers and weights."""

    strata: dict[int, tuple[int, ...]]  # how many of each stratum
    low: float
    high: float
    heaviest: float
    whole: bool  # whether every weight is a whole number
    repeated: bool  # whether every weight was one before class weights
    weighted: bool  # whether one is not 1
    given: float  # the largest weight before class weights

    def __add__(self, other: ResponseStats) -> ResponseStats:
        return ResponseStats(
            {**self.strata, **other.strata},
            min(self.low, other.low),
            max(self.high, other.high),
            max(self.heaviest, other.heaviest),
            self.whole and other.whole,
            self.repeated and other.repeated,
            self.weighted or other.weighted,
            max(self.given, other.given),
        )

    @property
    def first_rows(self) -> dict[int, int]:
        """The number of the first row of each part."""
        return {number: sum(ranks) for number, ranks in self.ranks.items()}

    @property
    def ranks(self) -> dict[int, tuple[int, ...]]:
        """How many rows of each stratum come before each part."""
        before = np.cumsum([[0] * len(self.sizes), *(self.strata[number] for number in sorted(self.strata))], axis=0)
        return dict(zip(sorted(self.strata), map(tuple, before.tolist())))

    @property
    def ranks_by_row(self) -> dict[int, tuple[int, ...]]:
        """The same by the number of the first row of each part."""
        return {sum(own): own for own in self.ranks.values()}

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each stratum of all parts."""
        return tuple(map(sum, zip(*self.strata.values())))

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return sum(self.sizes)

    def scale(self) -> Scale:
        """What fixes the integers of all rows, checked."""
        n_rows = self.n_rows
        if n_rows == 0:
            raise DataError(ALL_ZERO)
        if n_rows < 2:
            raise DataError("Found array with 1 sample(s): the table has 1 row(s), while a minimum of 2 is required.")
        check_spread(self.low, self.high)
        return self.scale_of_some()

    def scale_of_some(self) -> Scale:
        """What fixes the integers of these rows, some of those that were checked."""
        return Scale(self.n_rows, self.low, self.high, self.heaviest, self.whole, self.repeated, self.given)


@dataclass(frozen=True)
class ResponseStatsQuery:
    """How many rows are there, and within which limits do they answer and weigh?"""

    reading: Reading

    def __call__(self, part: Part) -> Fingerprinted[ResponseStats]:
        with naming(part):
            part = part.weighing()
            response = self.reading(part)
        return Fingerprinted(stats_of(part.number, response), fingerprints_of(part, response))


def stats_of(part: int, response: Response) -> ResponseStats:
    """What fixes the integers of the responses of some rows of a part."""
    weights = response.row_weights()
    strata = {part: response.stratum_sizes}
    if response.n_rows == 0:
        return ResponseStats(strata, math.inf, -math.inf, 0.0, True, True, False, 0.0)
    answers = response.row_values
    return ResponseStats(
        strata,
        float(answers.min()),
        float(answers.max()),
        float(weights.max()),
        all_whole(weights),
        response.base_weights is None or all_whole(response.base_weights),
        bool((weights != 1).any()),
        float((weights if response.base_weights is None else response.base_weights).max()),
    )


def read_response(rows: RowDataset, family: Target) -> tuple[Reading, ResponseStats, ChangeDetector]:
    """How the responses are to be read, what they are like, and who watches that they stay so."""
    detector = ChangeDetector(rows.advice)
    reading = Reading(family.part_reading(lambda: detector(rows.map_reduce_response(LabelQuery()))), advice=rows.advice)
    stats = detector(rows.map_reduce_response(ResponseStatsQuery(reading)))
    if reach := reach_of(stats.given):  # weights beyond measure: the same again, once they are divided
        reading = replace(reading, reach=reach)
        stats = detector(rows.map_reduce_response(ResponseStatsQuery(reading)))
    family.check_range(stats.low, stats.high)
    return replace(reading, weighted=stats.weighted, scale=stats.scale()), stats, detector


NO_COLUMNS = Table((), 0, None)


@dataclass(frozen=True)
class PartReader:
    """A part in, its columns and response out, without rows of weight zero; no columns where it came without."""

    reading: Reading
    categorical: Any
    names: tuple[str, ...] | None = None  # of the columns, once they are known
    recipe: ColumnRecipe | None = None  # how features are made of columns, where they are not the same

    def __call__(self, part: Part) -> tuple[Table, Response, Fingerprints]:
        with naming(part):
            part = part.weighing()
            table, response = self._table(part.X), self.reading(part)
            found = tuple(column.name for column in table.columns)
        if part.X is not None and self.names is not None and found != self.names:
            raise changed(part.name, f"its columns are {', '.join(found[:8])}", self.reading.advice)
        return table, response, fingerprints_of(part, response, table.columns)

    def _table(self, X: Any) -> Table:
        if X is None:
            return NO_COLUMNS
        if self.recipe is None:
            return read_table(X, categorical=self.categorical, part=True)
        return read_part(X, self.recipe, categorical=self.categorical)

    def first_row(self, part: Part, first_rows: Mapping[int, int]) -> int:
        """The number of the first row of a part, which an earlier pass has found."""
        if part.number not in first_rows:
            raise changed(part.name, "it had no rows in an earlier pass", self.reading.advice)
        return first_rows[part.number]


@dataclass(frozen=True)
class PartQuery(ABC, Generic[Answer]):
    """A query about columns and response. A part with rows always answers: its fingerprint says that it is there."""

    read: PartReader

    def __call__(self, part: Part) -> Fingerprinted[Answer] | None:
        table, response, fingerprints = self.read(part)
        return Fingerprinted(self.answer(part, table, response), fingerprints) if response.n_rows else None

    @abstractmethod
    def answer(self, part: Part, table: Table, response: Response) -> Answer:
        """What the rows of a part answer."""


@dataclass(frozen=True)
class PartRows:
    """Rows in parts as they came, and what one look at their response has found."""

    rows: RowDataset
    read: PartReader
    stats: ResponseStats
    detector: ChangeDetector

    def ask(self, query: Callable[[Part], Fingerprinted[Answer] | None]) -> Answer:
        """What all parts answer together, once they are what they were in the pass before."""
        return self.detector(self.rows.map_reduce(query))

    def ask_response(self, query: Callable[[Part], Fingerprinted[Answer] | None]) -> Answer:
        """The same of a query that reads the response and the weights alone."""
        return self.detector(self.rows.map_reduce_response(query))

    def prepared(self, recipe: ColumnRecipe | None) -> PartRows:
        """The same, with features that are made of columns."""
        return replace(self, read=replace(self.read, recipe=recipe))

    def named(self) -> PartRows:
        """The same, once a pass has found the names of the columns, which must stay."""
        return replace(self, read=replace(self.read, names=tuple(self.detector.names)))

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes; None for numbers."""
        return self.read.reading.no_rows().labels


def scan_response(rows: RowDataset, family: Target, categorical: Any) -> PartRows:
    """Ask for the range of the response, and for the classes."""
    reading, stats, detector = read_response(rows, family)
    return PartRows(rows, PartReader(reading, categorical), stats, detector)

"""What a model adds up in, blocks of lines out for a scorecard: of the lines of a block exactly one applies to a row.

By rule, a rule is a line of its own, with points where it applies and elsewhere, and a slope becomes a block of ranges.
By attribute, what reads the same columns is one block: a single column gives the ranges between its cuts, or its
categories, and rules of several columns give a grid of them, in which neighbours of equal worth are one line. A slope
has round ranges, each with the points of its middle, so that no value is further off than half a range; everything else
is exact. A missing value has a line of its own, in a grid where it is worth what no other line is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import MISSING, UNSEEN, Column
from pysirus._data.table import Feature
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Condition, FittedRule
from pysirus._text.format import apart, format_threshold
from pysirus.export._addends import Addend, Branch, Line, Listing
from pysirus.export._conditions import ExportError

Floats = NDArray[np.float64]
MOST_RANGES = 10
LEAST_RANGES = 2
SIZES = (1.0, 2.0, 5.0, 10.0)
MOST_CELLS = 100_000  # of the grid of a block


@dataclass(frozen=True)
class Block:
    """Lines of which exactly one applies: the first of them, how many, and the columns that they read."""

    first: int
    size: int
    title: str

    @property
    def lines(self) -> list[int]:
        """Their numbers."""
        return list(range(self.first, self.first + self.size))


@dataclass(frozen=True)
class Step:
    """The ranges of a slope: how wide they are, between which ends, and what one is worth in each sum."""

    feature: str
    size: float
    lower: float
    upper: float
    worth: Floats

    def text(self, k: int) -> str:
        """What a step is worth in a sum, in words."""
        lower, upper, size = (format_threshold(own, rounded=True) for own in (self.lower, self.upper, self.size))
        points = f"{self.worth[k]:+.3g} points for each {size}"
        return f"{apart(self.feature)}: {points}, from {lower} to {upper}, before rounding."


@dataclass
class Lines:
    """The lines of a scorecard, what each adds to every sum where it applies and elsewhere, and from where sums start.

    All of it is in points, not yet whole: [line, sum].
    """

    by: str  # "rule" or "attribute"
    blank: FittedRule  # a rule that says nothing, from which lines of blocks are made
    start: Floats
    cost: Floats  # what the ranges of slopes lose at most
    rules: list[FittedTerm] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    inside: list[Floats] = field(default_factory=list)
    outside: list[Floats] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def add_rule(self, branch: Branch, scale: Floats) -> None:
        """A rule, which gives its points on one side and none on the other."""
        inside, outside = scale * np.array(branch.inside), scale * np.array(branch.outside)
        least = np.minimum(inside, outside)
        self.start = self.start + least
        self.rules.append(branch.rule)
        self.texts.append(branch.rule.condition_text)
        self.inside.append(inside - least)
        self.outside.append(outside - least)

    def add_block(self, title: str, lines: Sequence[tuple[list[tuple[Condition, str]], Floats]]) -> None:
        """Lines of which one applies; the one of least worth has no points."""
        values = np.array([value for _, value in lines])
        least = values.min(axis=0)
        self.start = self.start + least
        if len(lines) < 2:
            return
        self.blocks.append(Block(len(self.rules), len(lines), title))
        for asked, value in lines:
            conditions = tuple(replace(condition, share=1.0 / len(lines)) for condition, _ in asked)
            self.rules.append(replace(self.blank, conditions=conditions))
            texts = [text for _, text in asked]
            self.texts.append(" & ".join(f"({own})" if " or " in own and len(texts) > 1 else own for own in texts))
            self.inside.append(value - least)
            self.outside.append(np.zeros_like(value))


def lines_of(model: Model, listing: Listing, by: str, scale: Floats) -> Lines:
    """The lines of a scorecard by rule or by attribute; 1 in a sum is worth ``scale`` points."""
    nothing = (0.0,) * len(model.classes or ())
    blank = FittedRule(inside=nothing, outside=nothing, weight=1.0, classes=model.classes, stage=2)
    found = Lines(by, blank, scale * np.array(listing.start), np.zeros(len(scale)))
    if by == "rule":
        for branch in listing.branches:
            found.add_rule(branch, scale)
        for line in listing.lines:
            _add_grid(found, model, (line.index,), [line], scale)
        return found
    for indices, addends in _by_columns(listing.addends):
        _add_grid(found, model, indices, addends, scale)
    return found


def _by_columns(addends: Sequence[Addend]) -> list[tuple[tuple[int, ...], list[Addend]]]:
    """What reads the same columns together, in the order of the list; single columns first."""
    found: dict[tuple[int, ...], list[Addend]] = {}
    for own in addends:
        read = {test.index for test in own.tests} if isinstance(own, Branch) else {own.index}
        found.setdefault(tuple(sorted(read)), []).append(own)
    return sorted(found.items(), key=lambda pair: len(pair[0]))


# ------------------------------------------------------------------------------------------------------------- an axis


@dataclass(frozen=True)
class Axis:
    """The places of a column that nothing tells apart within, one value of each as a column of a table.

    Of numbers they are the ranges between ``edges``, then "missing"; of categories each of them, then "any other" and
    "missing".
    """

    feature: Feature
    index: int
    edges: tuple[float, ...]
    column: Column

    @classmethod
    def of(cls, model: Model, index: int, edges: set[float]) -> Axis:
        """The places of a column."""
        own, ends = model.features[index], tuple(sorted(edges))
        if own.kind == "numeric":
            first = math.nextafter(ends[0], -math.inf) if ends else 0.0
            column = Column(own.name, "numeric", np.array([first, *ends, math.nan]), is_date=own.is_date)
            return cls(own, index, ends, column)
        codes = np.array([*range(len(own.levels)), UNSEEN, MISSING])
        if own.other and own.other in own.levels:  # which an unseen category is read as
            codes[-2] = own.levels.index(own.other)
        return cls(own, index, (), Column(own.name, own.kind, codes, levels=own.levels, other=own.other))

    @property
    def n_places(self) -> int:
        """The number of places; the last is "missing"."""
        return len(self.column.values)

    def runs(self, worth: Sequence[bytes], alone: bool) -> list[list[int]]:
        """Places that are one line: equal neighbours among numbers, equal ones among categories.

        Where the column is ``alone``, missing values are a line of their own.
        """
        last = self.n_places - 1
        if self.feature.kind == "numeric":
            runs = [[place for place, _ in own] for _, own in groupby(enumerate(worth[:last]), key=lambda own: own[1])]
        else:
            equal: dict[bytes, list[int]] = {}
            for place, value in enumerate(worth[:last]):
                equal.setdefault(value, []).append(place)
            runs = list(equal.values())
        with_missing = None if alone else next((run for run in runs if worth[run[0]] == worth[last]), None)
        if with_missing is None:
            return [*runs, [last]]
        with_missing.append(last)
        return runs

    def asked(self, run: Sequence[int]) -> tuple[Condition, str]:
        """What is asked of the column for a run of places, and its text."""
        last, own = self.n_places - 1, self.feature
        known = [place for place in run if place != last]
        found = Condition(own.name, missing=last in run, index=self.index, is_date=own.is_date)
        if not known:
            found = replace(found, only_missing=True, levels=None if own.kind == "numeric" else ())
            return found, str(found)
        if own.kind == "numeric":
            lower = self.edges[known[0] - 1] if known[0] else None
            upper = self.edges[known[-1]] if known[-1] < len(self.edges) else None
            ends = [None if end is None else ("value", end) for end in (lower, upper)]
            found = replace(found, lower=lower, upper=upper, lower_cut=ends[0], upper_cut=ends[1])
            return found, str(found)
        levels, unseen = tuple(own.levels[place] for place in known if place < last - 1), last - 1 in known
        found = replace(found, levels=levels, unseen=unseen, column_levels=own.levels, lower_cut=("levels", levels))
        if not levels:
            return found, f"{apart(own.name)} is any other"
        return found, f"{found}{' or any other' if unseen and not own.other else ''}"


# -------------------------------------------------------------------------------------------------------------- a grid


def _add_grid(found: Lines, model: Model, indices: tuple[int, ...], addends: Sequence[Addend], scale: Floats) -> None:
    """The lines of all that reads some columns, and what the ranges of its slopes lose."""
    if not indices:
        found.start = found.start + scale * sum(np.array(own.inside) for own in addends if isinstance(own, Branch))
        return
    edges: dict[int, set[float]] = {index: set() for index in indices}
    for own in addends:
        if isinstance(own, Line):
            edges[own.index] |= set(_own_edges(found, own, scale))
        else:
            for test in own.tests:
                edges[test.index] |= {end for end in (test.lower, test.upper) if end is not None}
    axes = [Axis.of(model, index, edges[index]) for index in indices]
    shape = [axis.n_places for axis in axes]
    title = " and ".join(apart(axis.feature.name) for axis in axes)
    if math.prod(shape) > MOST_CELLS:
        raise ExportError(
            f"A grid of {title} has {math.prod(shape):,} cells, too many to read. Make a scorecard by rule."
        )
    worth = np.zeros((*shape, len(scale)))
    for own in addends:
        if isinstance(own, Line):
            values, lost = _along(own, axes[0].edges)
            worth += values[:, None] * np.array(own.slopes)
            found.cost = found.cost + lost * np.abs(np.array(own.slopes) * scale)
        else:
            by_index = {condition.index: condition for condition in own.rule.conditions}
            holds = reduce(np.multiply.outer, (by_index[axis.index].holds(axis.column) for axis in axes))
            worth += np.where(holds[..., None], own.inside, own.outside)
    found.add_block(title, list(_lines(axes, worth * scale, alone=len(axes) == 1)))


def _lines(axes: Sequence[Axis], worth: Floats, alone: bool) -> Iterator[tuple[list[tuple[Condition, str]], Floats]]:
    """The lines of a grid: what is asked, with its text, and what it is worth."""
    if not axes:
        yield [], worth
        return
    axis, rest = axes[0], axes[1:]
    for run in axis.runs([worth[place].tobytes() for place in range(axis.n_places)], alone):
        own = [] if len(run) == axis.n_places else [axis.asked(run)]
        for asked, value in _lines(rest, worth[run[0]], alone):
            yield [*own, *asked], value


# -------------------------------------------------------------------------------------------------------------- slopes


def _own_edges(found: Lines, line: Line, scale: Floats) -> list[float]:
    """The round edges of a slope."""
    unit = np.array(line.slopes) * scale
    edges = round_edges(line.lower, line.upper, float(np.abs(unit).max()))
    if len(edges) > 1:
        size = edges[1] - edges[0]
        found.steps.append(Step(line.feature, size, line.lower, line.upper, unit * size))
    return edges


def _along(line: Line, edges: Sequence[float]) -> tuple[Floats, float]:
    """The value of a slope in the middle of each range and where it is missing, and half the widest range."""
    ends = np.clip([line.lower, *edges, line.upper], line.lower, line.upper)
    middles = [(a + b) / 2 - line.centre for a, b in pairwise(ends.tolist())]
    return np.array([*middles, line.missing - line.centre]), float(np.diff(ends).max()) / 2


def round_edges(lower: float, upper: float, points: float) -> list[float]:
    """Round numbers within a range that part it into at most ten, and into no more than it has points."""
    span = upper - lower
    most = min(MOST_RANGES, max(LEAST_RANGES, round(points * span)))
    if not 0 < span < math.inf:
        return []
    power = 10.0 ** math.floor(math.log10(span / most))
    size = next(size * power for size in SIZES if span / (size * power) <= most + 1e-9)
    first, last = math.floor(lower / size) + 1, math.ceil(upper / size) - 1
    return [float(f"{k * size:.12g}") for k in range(first, last + 1)]

"""A column in, a line out: the slope, a term that rises or falls evenly between the ends of its training values.

Its value in a row is ``x - mean`` with ``x`` held within ``lower`` and ``upper``, and 0 where ``x`` is missing. A unit
of the column adds ``slope`` to the score: the weight times the output ``inside``, rounded to the decimals that matter.
The product is rounded and not its factors, so that a list of another size, or one that was edited, rounds its own.
Predictions, texts and exports all read ``slope``: what is printed is what is used.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import MIDDLE, NO_PLACE, Binned, NumberGrid
from pysirus._bins.numeric import Bracket, ColumnLine, shortest_in
from pysirus._data.column import Column
from pysirus._data.table import Table
from pysirus._families.links import LABELS, log_odds
from pysirus._terms.fitted import FittedTerm, Floats, Reading
from pysirus._terms.term import Builder, Numbers, Term
from pysirus._terms.words import LINE, RANGE_NOTE, Sides, ends_text, fold_slope, rate_text
from pysirus._text.format import apart, format_label, format_number, format_threshold, in_quotes, one_line

Named = TypeVar("Named", bound="Slope")
STEPS = 40  # in which a line is shown
LEAST_UNITS, MOST_UNITS = 1.0, 1000.0  # of a range that is told per unit
RANGE_SHARE = 5e-4  # of the range, by which its ends and the mean may move to be short
PREDICTION_SHARE = 5e-3  # of the standard deviation of the target, by which a rounded slope may move a prediction


@dataclass(frozen=True, eq=False, repr=False)
class Slope(Term):
    """A numeric column less its mean, constant beyond a range and 0 where it is missing.

    Attributes
    ----------
    feature : str
        Name of the column.
    index : int
        Its number.
    lower, upper : float
        The smallest and the largest training value; beyond them the value stays what it is there.
    mean : float
        Where the value is 0: the mean of the known training values.
    grid : NumberGrid or None
        Where training rows have their numbers; None where none are known.
    """

    kind: ClassVar[str] = "Slope"
    is_binary: ClassVar[bool] = False
    note: ClassVar[str] = RANGE_NOTE
    file_version: ClassVar[int] = 3

    feature: str = ""
    index: int = 0
    lower: float = float("nan")
    upper: float = float("nan")
    mean: float = float("nan")
    grid: NumberGrid | None = field(default=None, kw_only=True)  # on which training rows have their numbers

    @property
    def key(self) -> Hashable:
        """The column that it reads: no place of it can differ between fits."""
        return "slope", self.feature

    @property
    def columns(self) -> tuple[int, ...]:
        """The number of its feature."""
        return (self.index,)

    @property
    def missing(self) -> float:
        """What replaces a missing value."""
        return self.mean

    @property
    def centre(self) -> float:
        """What is taken from a value."""
        return self.mean

    def factor(self, index: int, column: Column) -> NDArray[np.float64]:
        """The column within its range, less its mean."""
        held = np.clip(column.values.astype(np.float64), self.lower, self.upper)
        return np.where(np.isnan(held), 0.0, held - self.mean)

    def holds(self, table: Table) -> NDArray[np.bool_]:
        """The rows where its column is known."""
        return np.asarray(~np.isnan(table.columns[self.index].values.astype(np.float64)))

    @property
    def value_ends(self) -> tuple[float, float]:
        """The ends of its range, less its mean."""
        return self.lower - self.mean, self.upper - self.mean

    def between(self, values: NDArray[np.float64], inside: Any, outside: Any) -> NDArray[np.float64]:
        """Its value times what a unit has; at 0 there is nothing."""
        return np.asarray(values * inside)

    def average(self, mean: float) -> float:
        """The mean of its column within its range, where a missing value counts as the mean of training."""
        return mean + self.mean

    def average_text(self, average: float) -> str:
        """The same in words."""
        return f"mean {format_number(average, 4)}"

    def contrast(self, mean: float, deviation: float) -> tuple[float, float]:
        """A standard deviation above and below the mean: few rows may be near the ends of its range."""
        return mean + deviation, mean - deviation

    def row_values(self, binned: Binned, bins: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Its value in each of these rows, in places of its grid."""
        return self.from_places(self.on_grid.read(bins))

    @property
    def unit(self) -> float:
        """How far two places of its grid are apart."""
        return self.on_grid.unit

    @property
    def bound(self) -> int:
        """As many places as a grid has at most."""
        return 2 * MIDDLE

    @property
    def extent(self) -> float:
        """Its range."""
        return self.upper - self.lower

    @property
    def centre_place(self) -> int:
        """The place on the grid where its whole value is 0."""
        return self.on_grid.place(self.mean)

    @property
    def on_grid(self) -> NumberGrid:
        """The grid, which is known in training."""
        assert self.grid is not None
        return self.grid

    def whole_values(self, table: Table) -> NDArray[np.int32]:
        """Its value in each row of a table, in places of its grid."""
        held = np.clip(table.columns[self.index].values.astype(np.float64), self.lower, self.upper)
        return self.from_places(self.on_grid.places(held))

    def from_places(self, places: NDArray[np.int32]) -> NDArray[np.int32]:
        """The same of places."""
        return np.where(places == NO_PLACE, 0, places - np.int32(self.centre_place))

    def directions(self) -> dict[int, int]:
        """It rises in its column."""
        return {self.index: 1}

    def build(self, into: Builder, inside: Numbers, outside: Numbers) -> None:
        """Add the column within its range, less its mean, times what a unit adds."""
        into.line(self, inside)

    def with_names(self: Named, names: Mapping[int, str]) -> Named:
        """The slope of a column of another name."""
        return replace(self, feature=names[self.index])

    def steps_on(self, index: int) -> set[float]:
        """The ends of its range, between which its line is drawn."""
        return {self.lower, self.upper} if index == self.index else set()

    @property
    def reach(self) -> float:
        """The largest value that it can have, without its sign."""
        return max(self.upper - self.mean, self.mean - self.lower)

    @property
    def range_text(self) -> str:
        """Its range as text; empty where it is not known."""
        if math.isnan(self.lower) or math.isnan(self.upper):
            return ""
        return f", from {format_threshold(self.lower)} to {format_threshold(self.upper)}"

    @property
    def condition_text(self) -> str:
        """What it reads, as the parser reads it back."""
        return f"slope of {apart(self.feature)}{self.range_text}"

    @property
    def exact_text(self) -> str:
        """The same in the form that is read in one way only."""
        return f"slope of {in_quotes(self.feature)}"


@dataclass(frozen=True, eq=False, repr=False)
class FittedSlope(FittedTerm, Slope):
    """A slope of a model, or a candidate for one.

    ``inside`` is the least-squares slope of what was left to explain, a number for each class that sum to zero, and
    ``outside`` is 0. ``frequency`` is the proportion of trees whose line it is, ``n_inside`` counts the training rows
    where its column is known and ``n_outside`` the others.

    Attributes
    ----------
    step : float
        Of how many units is told what they add: 1 where that reads well, else a power of ten.
    decimals : int or None
        To how many decimals that is rounded; None where it is not.
    multiplies : bool
        Whether it is told as a factor, and rounded as one.
    """

    step: float = 1.0
    decimals: int | None = None
    multiplies: bool = False

    @property
    def slope(self) -> float | tuple[float, ...]:
        """What a unit of its column adds to the score, or to that of each class: as it is printed and used."""
        raw = (self.weight or 0.0) * np.atleast_1d(np.asarray(self.inside, dtype=np.float64))
        found = raw.tolist()
        if self.decimals is not None and self.effect is None and np.any(raw != 0):
            found = [_per_unit(told, self.step) for told in self._told(raw * self.step, self.decimals)]
        return tuple(found) if isinstance(self.inside, tuple) else found[0]

    def _told(self, added: Floats, decimals: int) -> list[float]:
        """What a step adds, rounded; as a factor where it is one, of two classes as log-odds."""
        if self.multiplies:
            factor = round_number(math.exp(added[0]), decimals, from_=1.0)
            return [float(_core.log(np.array([factor]))[0])]
        if len(added) == 2:
            odds = round_number(float(added[1] - added[0]), decimals)
            return [-odds / 2, odds / 2]
        return [round_number(float(added[0]), decimals)] if len(added) == 1 else _round_zero_sum(added, decimals)

    def round_slope(self, spread: float, *, multiplies: bool = False) -> FittedSlope:
        """The slope with the step and the decimals that matter.

        Parameters
        ----------
        spread : float
            The standard deviation of the target, in units of the score. A rounded slope moves no prediction by more
            than half a hundredth of it (``PREDICTION_SHARE``).
        multiplies : bool, default=False
            Whether scores are logarithms, which are told as factors.
        """
        step = told_step(self.lower, self.upper)
        most = PREDICTION_SHARE * spread * step / self.reach if self.reach > 0 else 0.0
        decimals = math.ceil(-math.log10(2 * most)) if 0 < most < math.inf else None
        return replace(self, step=step, decimals=decimals, multiplies=multiplies)

    def shift(self, line: ColumnLine) -> tuple[float, float]:
        """Its mean value over the training rows: as whole values have it, and as predictions do."""
        at_centre = self.on_grid.number(self.centre_place)
        return line.known * (line.mean - at_centre), line.known * (line.mean - self.mean)

    def answers(self, means: tuple[Floats, Floats], slope: Floats) -> tuple[Floats, Floats]:
        """What it answers at the values 1 and 0: the slope, and nothing."""
        return slope, np.zeros_like(slope)

    def outputs(self, values: Floats) -> Floats:
        """Its output in each row: its value times what a unit has."""
        inside = np.asarray(self.inside, dtype=np.float64)
        return np.asarray(values.reshape(-1, *(1 for _ in inside.shape)) * inside)

    def contributions(self, values: Floats) -> Floats:
        """What it adds in each row, by the slope that is printed."""
        slope = np.asarray(self.slope)
        return np.asarray(values.reshape(-1, *(1 for _ in slope.shape)) * slope)

    @property
    def added(self) -> tuple[list[float], list[float]]:
        """What it adds to each sum at the values 1 and 0."""
        slope = np.atleast_1d(np.asarray(self.slope)).tolist()
        return slope, [0.0] * len(slope)

    def added_from(self, average: Floats) -> tuple[Floats, Floats]:
        """What it adds at the values 1 and 0; on average nothing."""
        slope = np.asarray(self.slope)
        return slope, np.zeros_like(slope)

    @property
    def gap(self) -> float:
        """How far its outputs are apart at most; for classes the share that changes class."""
        return super().gap * (self.upper - self.lower)

    def average_output(self, mean: float | tuple[float, ...]) -> Floats:
        """Nothing: values are measured from their mean."""
        return np.zeros_like(np.asarray(mean, dtype=np.float64))

    @property
    def added_ends(self) -> tuple[Floats, Floats]:
        """What it adds at the upper and at the lower end of its range."""
        slope = np.asarray(self.slope)
        return np.asarray((self.upper - self.mean) * slope), np.asarray((self.lower - self.mean) * slope)

    # ---------------------------------------------------------------------------------------------------------- words

    def points(self, reading: Reading | None = None) -> Floats:
        """What a unit adds to what a reader looks at: of two classes the log-odds of the positive one."""
        own = np.atleast_1d(np.asarray(self.slope, dtype=np.float64))
        return np.atleast_1d(log_odds(own) if reading is None else reading.added(self)[0])

    def read_by(self, reading: Reading | None, *, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """What a unit adds and, unless a column of the table says it, what the ends of the range do."""
        points = self.points(reading)
        if points.size > 1:  # of several classes where it adds nothing, which tells them all
            return rate_text(self, points, longest), f"0 at {format_threshold(self.mean)}"
        return rate_text(self, points, longest), "" if reading and reading.adds_name else ends_text(self, points)

    def adds_by(self, reading: Reading) -> str:
        """What it adds at the lower and at the upper end of its range."""
        points, k = self.points(reading), reading.shown_class(self)
        own = f"{format_label(self.classes[k])} " if self.classes and points.size > 1 else ""
        return own + ends_text(self, points, k)

    def texts_with(self, classes: Sequence[Any] | None) -> tuple[str, str]:
        """What a unit adds, and what the ends of the range do."""
        return self.read_by(None)

    def _sides(self, longest: int | None = None) -> tuple[str, str] | None:
        """The same, class names cut to ``longest`` characters, and few of them."""
        return self.read_by(None, longest=longest) if self.has_sides else None

    @property
    def effect_text(self) -> str:
        """Nothing: a line says what a unit adds, whoever says so."""
        return ""

    @property
    def has_sides(self) -> bool:
        """Whether it has a slope yet, which a line says."""
        return self.inside is not None

    @property
    def text(self) -> str:
        """Where it is asked for: the column and, if it is fixed, what a unit adds."""
        asked = f"slope of {apart(self.feature)}"
        return asked if self.effect is None else one_line(f"{self.effect} per unit of {apart(self.feature)}")

    def folded(self, width: int = LINE) -> str:
        """``condition_text`` for display."""
        return self.fold(width)

    def sentence(self, sides: Sides, width: int | None, after: str = "") -> str:
        """The slope in one line: ``temp: +0.21 per unit, from 25 to 93 (-6.9 to +7.4)``."""
        found = sides(None)
        if found is None:
            return super().sentence(sides, width, after)
        whole = fold_slope(self, found, None)
        return whole if width is None or len(whole) <= width else fold_slope(self, sides(LABELS[-1]) or found, width)

    def line(self, conditions: str) -> str:
        """The slope in one line, whole."""
        return self.sentence(self._sides, None)

    @property
    def line_values(self) -> dict[str, Any]:
        """What a unit adds, the range, and where it adds nothing."""
        return {"per_unit": self.slope, "lower": self.lower, "upper": self.upper, "zero_at": self.mean}


def slope_of(feature: str, index: int, line: ColumnLine, grid: NumberGrid, frequency: float) -> FittedSlope:
    """The slope of a column, without outputs, its range and its mean in few digits."""
    return FittedSlope(feature, index, *short_range(line.lower, line.upper, line.mean), grid=grid, frequency=frequency)


def told_step(lower: float, upper: float) -> float:
    """Of how many units a person says what they add: one, or a power of ten of which a range has ten to a hundred."""
    span = upper - lower
    if LEAST_UNITS <= span < MOST_UNITS or not 0 < span < math.inf:
        return 1.0
    return float(f"1e{math.floor(math.log10(span)) - 1}")


def short_range(lower: float, upper: float, mean: float) -> tuple[float, float, float]:
    """The range and the mean of a column in few digits, each within a two-thousandth of the range."""
    most = RANGE_SHARE * (upper - lower)
    low, high, middle = (shortest_in(Bracket(own - most, own + most), own) for own in (lower, upper, mean))
    return low, high, min(max(middle, low), high)


def round_number(value: float, decimals: int, from_: float = 0.0) -> float:
    """A number with these decimals, or with more where it would differ from ``from_`` by less than two digits."""
    gap = abs(value - from_)
    if gap > 0 and math.isfinite(gap):
        decimals = max(decimals, 1 - math.floor(math.log10(gap)))
    if 0 < abs(value) < 1 and from_:  # a factor: digits count
        decimals += -math.floor(math.log10(abs(value))) - 1
    return round(value, decimals) + 0.0 if decimals <= 300 else value


def _per_unit(told: float, step: float) -> float:
    """What a unit adds of what a step adds, in the digits of that."""
    return told if step == 1.0 else float(Decimal(repr(float(told))) / Decimal(repr(step)))


def _round_zero_sum(added: Floats, decimals: int) -> list[float]:
    """Numbers that sum to zero with these decimals; those that rounding moved most give way to the sum."""
    decimals = max(decimals, 1 - math.floor(math.log10(float(np.abs(added).max()))))
    grain = Decimal(1).scaleb(-decimals)
    exact = [Decimal(value) / grain for value in added.tolist()]
    whole = [int(value.to_integral_value()) for value in exact]
    excess = sum(whole)
    sign = 1 if excess > 0 else -1
    order = sorted(range(len(whole)), key=lambda k: (whole[k] - exact[k]) * -sign)
    for k in order[: abs(excess)]:
        whole[k] -= sign
    return [float(value * grain) for value in whole]

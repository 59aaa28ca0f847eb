"""The columns of parts in, how those of dates and times become features out: the recipe of preparation in memory.

Each part says of each of its columns whether it holds dates, and what is known of them; answers add up in the order of
the rows. Only then is it known in which order days and months stand, which clock they show, and which parts vary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import Column, DataError, label_column
from pysirus._data.prepare import Preparation, SetAside, say_aside, zone_of_offsets
from pysirus._data.recipe import ColumnRecipe, Derived, spread
from pysirus._data.table import columns_named
from pysirus._data.written import (
    MINUTE,
    ORDERS,
    PARTS,
    UTC,
    are_times,
    in_zone,
    is_missing_word,
    moments_of,
    part_of,
    read_dates,
    read_offsets,
)
from pysirus.engine.parts import Part
from pysirus.engine.read import naming

if TYPE_CHECKING:
    from pysirus.engine.backends.files import FileRows

VARYING = tuple(part for part in PARTS if part != "date")
Moments = NDArray[np.datetime64]


@dataclass(frozen=True)
class Span:
    """Some moments in the order of their rows: the least and the greatest of each part, and whether they rise."""

    low: tuple[float, ...] = (np.inf,) * len(VARYING)
    high: tuple[float, ...] = (-np.inf,) * len(VARYING)
    ends: tuple[int, int] | None = None  # the first and the last, in microseconds
    rises: bool = True
    some: frozenset[int] = frozenset()  # of them, up to three that differ

    def __add__(self, other: Span) -> Span:
        if self.ends is None or other.ends is None:
            return other if self.ends is None else self
        return Span(
            tuple(map(min, self.low, other.low)),
            tuple(map(max, self.high, other.high)),
            (self.ends[0], other.ends[1]),
            self.rises and other.rises and self.ends[1] <= other.ends[0],
            frozenset(sorted(self.some | other.some)[:3]),
        )

    @property
    def varying(self) -> list[str]:
        """The parts that are not the same in all rows, and the date itself."""
        return [part for part, low, high in zip(VARYING, self.low, self.high) if high > low] + ["date"]


def _span(moments: Moments) -> Span:
    known = moments[~np.isnat(moments)].astype("M8[us]")
    if not len(known):
        return Span()
    parts = [part_of(known, part) for part in VARYING]
    micro = known.astype(np.int64)
    low, high = (tuple(float(end(values)) for values in parts) for end in (np.min, np.max))
    some = frozenset(np.unique(micro)[:3].tolist())
    return Span(low, high, (int(micro[0]), int(micro[-1])), bool((micro[1:] >= micro[:-1]).all()), some)


@dataclass(frozen=True)
class DateColumn:
    """What some rows of a column say of its dates."""

    written: Mapping[str, Span] = field(default_factory=dict)  # by order; empty for a type of dates
    in_utc: Mapping[str, Span] = field(default_factory=dict)  # the same where they have offsets
    zone: str | None = None  # of a type of dates
    offsets: Mapping[int | None, str] = field(default_factory=dict)  # of written dates, each with the least text
    least: str = ""  # of all texts
    has_points: bool = True  # whether all texts have one
    has_times: bool = False  # whether all are times of day instead
    is_known: bool = False  # whether there was any value

    def __add__(self, other: DateColumn) -> DateColumn:
        if not self.is_known or not other.is_known:
            return other if other.is_known else self
        if self.zone != other.zone:
            kinds = [f"of the time zone {own.zone}" if own.zone else "without a time zone" for own in (self, other)]
            raise DataError(f"holds moments {' and moments '.join(kinds)}. All parts must have the same type.")
        orders = [order for order in self.written if order in other.written]
        examples = {**self.offsets, **other.offsets}
        both = [offset for offset in self.offsets if offset in other.offsets]
        return DateColumn(
            {order: self.written[order] + other.written[order] for order in orders},
            {order: self.in_utc[order] + other.in_utc[order] for order in orders},
            self.zone,
            examples | {offset: min(self.offsets[offset], other.offsets[offset]) for offset in both},
            min(self.least, other.least),
            self.has_points and other.has_points,
            self.has_times and other.has_times,
            True,
        )

    @property
    def may_be(self) -> bool:
        """Whether all values so far are dates, or all are times of day."""
        return bool(self.written) or self.has_times or not self.is_known

    def order(self) -> str:
        """The order in which days and months stand, as ``date_orders`` finds it."""
        orders = list(self.written)
        if len(orders) > 1 and self.has_points:
            return "dmy"
        rising = [order for order, span in self.written.items() if span.rises and len(span.some) > 2]
        found = orders if len(orders) == 1 else rising
        if len(found) != 1:
            raise SetAside(f"dates such as {self.least!r}, of which the day or the month may come first")
        return found[0]


def _typed(array: pa.ChunkedArray) -> DateColumn:
    if pa.types.is_time(array.type):
        return DateColumn(has_times=True, is_known=True)
    zone = (array.type.tz if pa.types.is_timestamp(array.type) else None) or ""
    moments = moments_of(array)
    span = _span(in_zone(moments, zone) if zone else moments)
    return DateColumn({"": span}, {"": span}, zone, is_known=span.ends is not None)


def _written(name: str, array: pa.ChunkedArray) -> DateColumn:
    texts: Column = label_column(name, array)
    known = [text for text in texts.levels if not is_missing_word(text)]
    if not known:
        return DateColumn()
    some = known[:: max(1, len(known) // 50)]
    orders = [order for order in ORDERS if not np.isnat(read_dates(some, order)).any()]
    orders = [order for order in orders if not np.isnat(read_dates(known, order)).any()]
    offsets = read_offsets(texts.levels) if orders else []
    shift = np.array([MINUTE * (minutes or 0) for minutes in offsets], "m8[us]")
    found = {order: read_dates(texts.levels, order) for order in orders}
    named = [(offset, text) for offset, text in zip(offsets, texts.levels) if not is_missing_word(text)]
    return DateColumn(
        {order: _span(spread(moments, texts)) for order, moments in found.items()},
        {order: _span(spread(moments - shift, texts)) for order, moments in found.items()},
        offsets=dict(reversed(named)),  # of each offset the first text, which is the least
        least=texts.levels[0],
        has_points=all("." in text for text in known),
        has_times=not orders and are_times(known),
        is_known=True,
    )


@dataclass(frozen=True)
class DateColumns:
    """The same of several columns."""

    columns: Mapping[str, DateColumn]

    def __add__(self, other: DateColumns) -> DateColumns:
        added = {}
        for name, own in self.columns.items():
            try:
                added[name] = own + other.columns[name]
            except DataError as error:
                raise DataError(f"Column '{name}' {error}") from error
        return DateColumns(added)


def is_text_type(kind: pa.DataType) -> bool:
    """Whether a column holds plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def may_hold_dates(kind: pa.DataType) -> bool:
    """Whether a column of this type may hold dates, or times of day."""
    return bool(
        is_text_type(kind) or any(test(kind) for test in (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time))
    )


def most_features(kind: pa.DataType) -> int:
    """How many features a column of this type becomes at the most; of text, if it is no dates."""
    return len(PARTS) if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else 1


@dataclass(frozen=True)
class DateQuery:
    """Which of these columns hold dates, and which?"""

    names: Sequence[str]

    def __call__(self, part: Part) -> DateColumns | None:
        part = part.weighing()
        if not len(part.X):
            return None
        with naming(part):
            return DateColumns({name: self._look(name, part.X[name]) for name in self.names})

    def _look(self, name: str, array: pa.ChunkedArray) -> DateColumn:
        return _written(name, array) if is_text_type(array.type) else _typed(array)


def date_recipe(names: Sequence[str], found: DateColumns | None) -> ColumnRecipe | None:
    """How the columns of a table that hold dates become features; None where none does."""
    if found is None:
        return None
    preparation = Preparation(names, 0)
    derived: list[Derived] = []
    aside: dict[str, str] = {}
    for name in (name for name in names if name in found.columns):
        own = found.columns[name]
        if own.has_times:
            derived.append(preparation.hours_of(name))
        if not own.written or (own.zone is None and not own.is_known):
            continue
        try:
            if not own.is_known:
                raise SetAside("all missing")
            order = own.order() if own.zone is None else ""
            zone = zone_of_offsets(name, own.offsets) if own.zone is None else own.zone
            by_utc = own.zone is None and zone == UTC
            span = (own.in_utc if by_utc else own.written)[order]
            derived += preparation.parts_of(name, span.varying, order, zone)
        except SetAside as reason:
            aside[name] = str(reason)
    say_aside(aside)
    return ColumnRecipe(tuple(names), tuple(derived), aside) if derived or aside else None


def recipe_of_files(rows: FileRows, categorical: Any) -> ColumnRecipe | None:
    """How columns of files that hold dates become features; rows without a target are told of first, as in memory."""
    rows.say_dropped()
    forced = columns_named(categorical, tuple(rows.features))
    labels = [name for i, name in enumerate(rows.features) if i in forced]
    return date_recipe(rows.features, rows.date_columns(labels))

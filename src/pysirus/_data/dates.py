"""The dates of some rows of a column in, what they say of it out; of two parts of a column it adds up in their order.

Only of all rows is it known in which order days and months stand, which clock they show, and which parts vary. A table
in memory is one part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import Column, DataError
from pysirus._data.derived import Derived, on_the_wall, spread
from pysirus._data.written import (
    MINUTE,
    ORDERS,
    PARTS,
    are_times,
    is_missing_word,
    moments_of,
    part_of,
    read_dates,
    read_offsets,
)

VARYING = tuple(part for part in PARTS if part != "date")
Moments = NDArray[np.datetime64]


class SetAside(Exception):
    """A column cannot be used, and why."""


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
        """The order in which days and months stand: of two the one that dates with points have, or that rises."""
        orders = list(self.written)
        if len(orders) > 1 and self.has_points:
            return "dmy"
        rising = [order for order, span in self.written.items() if span.rises and len(span.some) > 2]
        found = orders if len(orders) == 1 else rising
        if len(found) != 1:
            raise SetAside(f"dates such as {self.least!r}, of which the day or the month may come first")
        return found[0]


def typed_dates(name: str, array: pa.Array | pa.ChunkedArray) -> DateColumn:
    """What a column of a type of dates or times says."""
    if pa.types.is_time(array.type):
        return DateColumn(has_times=True, is_known=True)
    zone = (array.type.tz if pa.types.is_timestamp(array.type) else None) or ""
    span = _span(on_the_wall(Derived(name, name, "date", zone=zone), moments_of(array), zone))
    return DateColumn({"": span}, {"": span}, zone, is_known=span.ends is not None)


def written_dates(texts: Column) -> DateColumn:
    """What a column of texts says: dates if all of its texts are, in one order or in two."""
    known = [text for text in texts.levels if not is_missing_word(text)]
    if not known:
        return DateColumn()
    some = known[:: max(1, len(known) // 50)]  # most columns are no dates, which a few texts show
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

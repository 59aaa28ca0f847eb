"""Dates, times and durations in, numbers out that rules can ask for: year, month, weekday, hour, the date itself.

Moments are the clock on the wall, to the microsecond, for the hour of the day is what matters. The zone of a column is
that of its type. Text has the offset that all of its moments have, or UTC where they have several. New rows are
converted to the zone of training.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pysirus._data.written import is_missing_word

UTC = "UTC"
OFFSET = r"(?:Z|UTC|[+-]\d\d(?::?\d\d)?)"  # after a time of day
ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]*|[+-][0-9]{2}:[0-9]{2}")
MINUTE = 60_000_000  # microseconds
_WITH_OFFSET = rf":[0-5]\d(?:[.,]\d+)?\s*(?:[AaPp]\.?[Mm]\.?)?\s*(?P<offset>{OFFSET})\s*$"


class UnknownZoneError(LookupError):
    """A time zone that no database of zones has."""


def _minutes(offset: str) -> int:
    """Minutes east of UTC of an offset such as Z, +05, +0530 or -05:30."""
    digits = offset[1:].replace(":", "")
    if not digits.isdigit():
        return 0
    return (-1 if offset[0] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:] or 0))


def offset_minutes(zone: str) -> int | None:
    """Minutes east of UTC of a zone that is an offset; None for one with a name."""
    return _minutes(zone) if zone[:1] in ("+", "-") else None


def offset_name(minutes: int) -> str:
    """The zone of an offset: UTC, +05:00."""
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else UTC


def read_offsets(texts: Sequence[str]) -> list[int | None]:
    """The minutes east of UTC that texts of moments name; None for those that name no offset."""
    found = pc.struct_field(pc.extract_regex(pa.array(texts, pa.string()), pattern=_WITH_OFFSET), "offset")
    return [None if offset is None else _minutes(offset) for offset in found.to_pylist()]


def in_zone(utc: NDArray[np.datetime64], zone: str) -> NDArray[np.datetime64]:
    """What the clock on the wall of a zone shows at moments of UTC."""
    if (minutes := offset_minutes(zone)) is not None:
        return utc + np.timedelta64(minutes * MINUTE, "us")
    try:
        wall = pc.local_timestamp(pa.array(utc, pa.timestamp("us", tz=zone)))
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise UnknownZoneError(zone) from error
    return np.asarray(wall.to_numpy(zero_copy_only=False))


def has_several_zones(items: Sequence[Any]) -> bool:
    """Whether objects are moments of several time zones, or some of them of none."""
    moments = [item for item in items if isinstance(item, datetime.datetime)]
    return len({str(item.tzinfo) for item in moments}) > 1


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
PARTS = ("year", "month", "weekday", "hour", "date")
ORDERS = ("ymd", "dmy", "mdy", "named")
DURATIONS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
DAY = 86_400_000_000  # microseconds

_SECONDS = r"(?::(?P<second>[0-5]\d)(?P<fraction>[.,]\d+)?)?"
_NOON = r"\s*(?P<noon>[AaPp]\.?[Mm]\.?)?"
_TIME = rf"(?P<hour>\d{{1,2}}):(?P<minute>[0-5]\d){_SECONDS}{_NOON}"
_ISO_TIME = rf"(?P<hour>\d{{1,2}})(?::(?P<minute>[0-5]\d){_SECONDS})?{_NOON}"  # as Arrow reads 2024-05-09T10
_REST = rf"(?:(?:T|,?\s+){_TIME}\s*{OFFSET}?)?\s*$"
_NAMES = r"(?P<name>(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[A-Za-z]{0,6})"
_WEEKDAY = r"^\s*(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,?\s+)?"
_PATTERNS = {
    "ymd": (
        rf"^\s*(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_REST.replace(_TIME, _ISO_TIME)}",
    ),
    "dmy": (rf"^\s*(?P<day>\d{{1,2}})[-/.](?P<month>\d{{1,2}})[-/.](?P<year>\d{{4}}|\d{{2}}){_REST}",),
    "mdy": (rf"^\s*(?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})[-/.](?P<year>\d{{4}}|\d{{2}}){_REST}",),
    "named": (
        rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s./-]*{_NAMES}\.?[\s,./-]*(?P<year>\d{{4}}|\d{{2}}){_REST}",
        rf"{_WEEKDAY}{_NAMES}\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}}){_REST}",
    ),
}


def _whole(found: pa.Array, name: str, empty: int = 0) -> NDArray[np.int64]:
    """The whole numbers of a part, ``empty`` where it is not written."""
    text = pc.struct_field(found, name)
    text = pc.if_else(pc.equal(text, ""), None, text)
    return np.asarray(pc.fill_null(pc.cast(text, pa.int64()), empty).to_numpy(zero_copy_only=False))


def _clock(found: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The time of day in microseconds, and whether there is such a time."""
    hour, noon = _whole(found, "hour"), pc.utf8_lower(pc.fill_null(pc.struct_field(found, "noon"), ""))
    is_pm = pc.starts_with(noon, "p").to_numpy(zero_copy_only=False)
    is_12 = pc.not_equal(noon, "").to_numpy(zero_copy_only=False)
    good = np.where(is_12, (hour >= 1) & (hour <= 12), True)
    hour = np.where(is_12, hour % 12 + 12 * is_pm, hour)
    # what is beyond microseconds is cut off, as it is from columns of a type of dates
    fraction = pc.utf8_slice_codeunits(pc.fill_null(pc.struct_field(found, "fraction"), ""), 0, 7)
    fraction = pc.replace_substring(pc.if_else(pc.equal(fraction, ""), "0", fraction), ",", ".")
    micro = np.round(pc.cast(fraction, pa.float64()).to_numpy(zero_copy_only=False) * 1e6).astype(np.int64)
    return ((hour * 60 + _whole(found, "minute")) * 60 + _whole(found, "second")) * 1_000_000 + micro, good


def _months(found: pa.Array) -> NDArray[np.int64]:
    names = pc.utf8_lower(pc.utf8_slice_codeunits(pc.struct_field(found, "name"), 0, 3))
    return np.asarray(pc.fill_null(pc.index_in(names, pa.array(MONTHS)), -1).to_numpy(zero_copy_only=False)) + 1


def _years(found: pa.Array) -> NDArray[np.int64]:
    """Years; of two digits, from 1969 to 2068."""
    year = _whole(found, "year")
    length = pc.fill_null(pc.utf8_length(pc.struct_field(found, "year")), 4).to_numpy(zero_copy_only=False)
    return np.where(length == 2, year + np.where(year >= 69, 1900, 2000), year)


def read_dates(texts: Sequence[str], order: str) -> NDArray[np.datetime64]:
    """The moments that texts write in an order of day, month and year; NaT for those that are none."""
    array = pa.array(texts, pa.string())
    moments = np.full(len(texts), np.datetime64("NaT", "us"))
    for pattern in _PATTERNS[order]:
        found = pc.extract_regex(array, pattern=pattern)
        year, day = _years(found), _whole(found, "day", 1)
        month = _months(found) if order == "named" else _whole(found, "month", 1)
        clock, good = _clock(found)
        start = ((year - 1970) * 12 + (month - 1)).astype("M8[M]")
        date = start.astype("M8[D]") + (day - 1)
        good &= (month >= 1) & (month <= 12) & (day >= 1) & (date.astype("M8[M]") == start)
        good &= (clock < DAY) & found.is_valid().to_numpy(zero_copy_only=False)
        moments[good] = (date.astype("M8[us]") + clock)[good]
    return moments


def read_times(texts: Sequence[str]) -> NDArray[np.float64]:
    """The hours that texts such as 10:22:00 write; NaN for those that are none."""
    found = pc.extract_regex(pa.array(texts, pa.string()), pattern=rf"^\s*{_TIME}\s*$")
    clock, good = _clock(found)
    good &= found.is_valid().to_numpy(zero_copy_only=False)
    return np.where(good, clock / 3.6e9, np.nan)


def _is_rising(moments: NDArray[np.datetime64]) -> bool:
    known = moments[~np.isnat(moments)]
    return bool((known[1:] >= known[:-1]).all()) and len(np.unique(known)) > 2


def date_orders(texts: Sequence[str], codes: NDArray[Any]) -> list[str]:
    """The orders in which all of these texts are dates: none, one, or two where day and month cannot be told apart.

    ``codes`` are the texts of the rows: dates that rise from row to row in one order only are in that order.
    """
    known = [text for text in texts if not is_missing_word(text)]
    if not known:
        return []
    some = known[:: max(1, len(known) // 50)]  # most columns are no dates, which a few texts show
    orders = [order for order in ORDERS if not np.isnat(read_dates(some, order)).any()]
    orders = [order for order in orders if not np.isnat(read_dates(known, order)).any()]
    if len(orders) < 2:
        return orders
    if all("." in text for text in known):  # nobody writes month.day.year
        return ["dmy"]
    rows = codes[codes >= 0]
    rising = [order for order in orders if _is_rising(read_dates(texts, order)[rows])]
    return rising if len(rising) == 1 else orders


def are_times(texts: Sequence[str]) -> bool:
    """Whether all of these texts are times of day, or durations written like them."""
    known = [text for text in texts if not is_missing_word(text)]
    some = known[:: max(1, len(known) // 50)]
    return bool(known) and not np.isnan(read_times(some)).any() and not np.isnan(read_times(known)).any()


# ------------------------------------------------------------------------------------------- columns of a type of dates


def moments_of(array: pa.Array | pa.ChunkedArray) -> NDArray[np.datetime64]:
    """Dates or timestamps as moments: those of a time zone in UTC, others as the clock on the wall."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    zone = array.type.tz if pa.types.is_timestamp(array.type) else None
    return np.asarray(array.cast(pa.timestamp("us", tz=zone), safe=False).to_numpy(zero_copy_only=False))


def seconds_of(array: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """Times of day or durations in seconds, NaN for missing."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    per = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[array.type.unit]
    whole = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return np.asarray(whole.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)) / per


# --------------------------------------------------------------------------------------------------------------- parts


def part_of(moments: NDArray[np.datetime64], part: str, since: str | None = None) -> NDArray[np.float64]:
    """A part of moments as numbers, NaN for missing: weekdays from 0 for Monday, days from ``since`` or from 1970."""
    missing = np.isnat(moments)
    filled = np.where(missing, np.datetime64(0, "us"), moments)
    if part == "year":
        values = filled.astype("M8[Y]").astype(np.int64) + 1970.0
    elif part == "month":
        values = filled.astype("M8[M]").astype(np.int64) % 12 + 1.0
    elif part == "weekday":
        values = (filled.astype("M8[D]").astype(np.int64) + 3) % 7 + 0.0
    elif part == "hour":
        values = filled.astype(np.int64) // 3_600_000_000 % 24 + 0.0
    else:
        values = (filled - np.datetime64(since or "1970-01-01", "us")).astype(np.int64) / DAY
    values[missing] = np.nan
    return np.asarray(values)

"""Text in, the numbers that it writes out: `$1,234.50`, `12 km`, `0.4%`, `1.234,50`.

A form says how numbers are written: their unit, their decimal mark, the mark of thousands. A column has a form if all
of its texts have the same one; where they have not, it is no column of numbers.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# how people and programs write that a value is missing, where the reader of the file has not seen it
_NOTHING = "|-|--|---|.|..|?|*|na|n/a|n.a.|nan|null|none|nil|missing|unknown|#n/a|#na|k.a.|keine angabe|—|–"
MISSING_WORDS = frozenset(_NOTHING.split("|"))
CURRENCIES = ("$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "US$")
# units that follow a number and cannot be the letter of a code (as in `12a`)
_UNITS = (
    "%|‰|km|m|cm|mm|mi|mile|miles|ft|feet|in|inch|inches|yd|kg|g|mg|lb|lbs|oz|t|l|L|ml|cl|s|sec|secs|min|mins|h|hr|hrs|"
    "hour|hours|day|days|week|weeks|month|months|year|years|yr|yrs|ms|hp|kW|W|kWh|V|Hz|kHz|MHz|GHz|kB|KB|MB|GB|TB|°C|°F|"
    "mph|km/h|kph|m/s|mpg|px|sqft|sqm|m2|m²|km2|km²|ha|acres|bpm|bps|pts"
)
UNITS = frozenset(_UNITS.split("|"))
MARKS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"))  # decimal, thousands
_MARK_NAMES = {"": "nothing", ",": "a comma", ".": "a point", " ": "a space", "'": "an apostrophe"}
DECIMALS, THOUSANDS = (".", ","), ("", ",", ".", " ", "'")
_BEFORE = "|".join(map(re.escape, sorted(CURRENCIES, key=len, reverse=True)))
_AFTER = rf"{_BEFORE}|[%‰]|°?[A-Za-z]+(?:/[A-Za-z]+)?[²2]?"
# sign, unit, sign, digits and marks, exponent, unit; \x{A0} and \x{202F} are spaces that do not break
_NUMBER = (
    rf"^\s*(?P<sign>[-+−]?)\s?(?P<before>{_BEFORE})?\s?(?P<sign2>[-+−]?)"
    rf"(?P<digits>\d[\d.,' \x{{A0}}\x{{202F}}]*|\.\d+)(?P<exponent>[eE][-+]?\d+)?"
    rf"[\s\x{{A0}}\x{{202F}}]*(?P<after>{_AFTER})?\s*$"
)


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a column are written."""

    unit: str = ""
    decimal: str = "."
    thousands: str = ""

    @property
    def digits(self) -> str:
        """A pattern of a number without its sign, exponent and unit."""
        point = re.escape(self.decimal)
        whole = r"\d+"
        if self.thousands:
            whole = rf"(?:[1-9]\d{{0,2}}(?:{re.escape(self.thousands)}\d{{3}})+|\d+)"
        return rf"(?:{whole}(?:{point}\d*)?|{point}\d+)"

    @property
    def pattern(self) -> str:
        """The same of a whole text."""
        return rf"^{self.digits}$"

    def __str__(self) -> str:
        thousands = _MARK_NAMES[self.thousands]
        unit = f", in {self.unit}" if self.unit else ""
        example = f"1{self.thousands}234{self.decimal}5"
        return f"with {_MARK_NAMES[self.decimal]} before decimals and {thousands} between thousands ({example}){unit}"


def is_missing_word(text: str) -> bool:
    """Whether a text says that there is no value."""
    return text.strip().casefold() in MISSING_WORDS


def _parts(texts: pa.Array) -> dict[str, pa.Array]:
    """The parts of numbers as they are written; null where a text is none."""
    found = pc.extract_regex(texts, pattern=_NUMBER)
    parts = {name: pc.struct_field(found, name) for name in ("sign", "before", "sign2", "digits", "exponent", "after")}
    digits = pc.replace_substring_regex(parts["digits"], pattern=r"[\x{A0}\x{202F}]", replacement=" ")
    return {**parts, "digits": pc.utf8_trim_whitespace(digits)}


def _units(parts: dict[str, pa.Array]) -> pa.Array:
    """The unit of each number, an empty text for none; one that stands before and after counts twice."""
    return pc.binary_join_element_wise(parts["before"], parts["after"], "")


def _same_unit(unit: str, other: str) -> bool:
    """Whether two units are one: `year` and `years` are."""
    return unit == other or (len(unit) > 1 and unit.isalpha() and unit.rstrip("s") == other.rstrip("s"))


def _unit_of(units: Sequence[str]) -> str | None:
    """The unit of all numbers of a column; None where they have several, or what is no unit."""
    named = sorted({unit for unit in units if unit}, key=len, reverse=True)  # the plural first
    if not named:
        return ""
    longest = named[0]
    known = longest in UNITS or longest in CURRENCIES
    return longest if known and all(_same_unit(longest, unit) for unit in named) else None


def _forms(unit: str, decimal: str) -> Iterator[NumberForm]:
    """The forms that numbers may have; first those with the decimal mark of their file, where it is known."""
    marks = sorted(MARKS, key=lambda pair: (pair[0] != decimal, not pair[1])) if decimal else MARKS
    return (NumberForm(unit, *pair) for pair in marks)


def number_form(texts: Sequence[str], decimal: str = "") -> NumberForm | None:
    """How all of these texts write numbers; None where one of them is none, or they are codes such as 0123.

    ``decimal`` is the decimal mark of their file, where that is known: `4.000 km` may be read in two ways.
    """
    known = [text for text in texts if not is_missing_word(text)]
    if not known:
        return None
    parts = _parts(pa.array(known, pa.string()))
    if parts["digits"].null_count:
        return None
    unit = _unit_of(pc.unique(_units(parts)).to_pylist())
    digits = parts["digits"]
    if unit is None or (not unit and pc.any(pc.match_substring_regex(digits, r"^0\d")).as_py()):
        return None
    for form in _forms(unit, decimal):
        if pc.all(pc.match_substring_regex(digits, form.pattern)).as_py():
            return form
    return None


def read_written(texts: Sequence[str], form: NumberForm) -> tuple[NDArray[np.float64], list[str]]:
    """The numbers of texts in a form, NaN for those that are none; and which of these say not that they are missing."""
    array = pa.array(texts, pa.string())
    parts = _parts(array)
    fits = pc.match_substring_regex(parts["digits"], form.pattern)
    units = _units(parts).to_pylist()
    right = pa.array([not unit or _same_unit(form.unit, unit) for unit in units], pa.bool_())
    fits = pc.fill_null(pc.and_(fits, right), False)
    digits: Any = parts["digits"]
    if form.thousands:
        digits = pc.replace_substring(digits, form.thousands, "")
    digits = pc.replace_substring(digits, form.decimal, ".")
    digits = pc.replace_substring_regex(digits, pattern=r"\.$", replacement="")
    text = pc.if_else(fits, pc.binary_join_element_wise(digits, parts["exponent"], ""), None)
    values = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False).copy()
    signs = [pc.is_in(parts[name], pa.array(["-", "−"])).to_numpy(zero_copy_only=False) for name in ("sign", "sign2")]
    values[signs[0] != signs[1]] *= -1
    values[np.isinf(values)] = np.nan
    odd = [text for text, unread in zip(texts, np.isnan(values)) if unread and not is_missing_word(text)]
    return values, odd


def written_otherwise(texts: Sequence[str], unit: str) -> str | None:
    """The first of these texts that writes a number of this unit, or of none, with any marks; None if none does."""
    for form in _forms(unit, ""):
        values, _ = read_written(texts, form)
        if not np.isnan(values).all():
            return texts[int(np.flatnonzero(~np.isnan(values))[0])]
    return None


# ---------------------------------------------------------------------------------------------------------------- dates

# Dates, times and durations in, numbers out that rules can ask for: year, month, weekday, hour, the date itself.
#
# Moments are the clock on the wall, to the microsecond, for the hour of the day is what matters. The zone of a column
# is that of its type. Text has the offset that all of its moments have, or UTC where they have several. New rows are
# converted to the zone of training.


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

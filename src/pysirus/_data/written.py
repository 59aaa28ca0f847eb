"""Text in, the numbers that it writes out: `$1,234.50`, `12 km`, `0.4%`, `1.234,50`.

A form says how numbers are written: their unit, their decimal mark, the mark of thousands. A column has a form if all
of its texts have the same one; where they have not, it is no column of numbers.
"""

from __future__ import annotations

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

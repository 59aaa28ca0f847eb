"""A condition in, what it asks out, in the few words that every target language has.

A rule is a conjunction, and each of its conditions is one of: a test of known values, with missing values added or not.
For categories the test lists the categories that satisfy it, or those that do not: an unseen category is in neither
list, so which of the two is written decides where it goes (the condition's ``unseen``).

A condition on a date asks for the moment, or for a part of it. A moment is the clock on the wall. Where training had a
time zone the column must have one, and is converted; where training had none it must have none. An engine that can tell
fails in words where that is not so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pysirus._data.derived import DATES, Derived
from pysirus._data.written import DAY, offset_minutes
from pysirus._model.model import Model
from pysirus._terms.rule import Condition
from pysirus._text.message import SafeTextError

ISO = ("", "ymd")  # dates of a type of dates, or written so that everybody reads them alike


class ExportError(SafeTextError, ValueError):
    """The format cannot say what the model says; the message names it."""


@dataclass(frozen=True)
class Test:
    """What a condition asks, resolved.

    ``kind`` is "interval", "in", "not in", "known" (any known value) or "never" (no known value); ``missing`` says
    whether missing values pass.
    """

    feature: str
    index: int
    numeric: bool
    kind: str
    missing: bool
    lower: float | None = None
    upper: float | None = None
    levels: tuple[Any, ...] = ()


def resolve(condition: Condition, model: Model) -> Test:
    """The test that a condition amounts to."""
    feature = model.features[condition.index]
    numeric = feature.kind == "numeric"
    missing = condition.unseen if condition.missing is None else condition.missing
    names = (condition.feature, condition.index, numeric)
    if numeric:
        if condition.only_missing:
            return Test(*names, "never", missing)
        if condition.lower is None and condition.upper is None:
            return Test(*names, "known", missing)
        return Test(*names, "interval", missing, condition.lower, condition.upper)
    wanted = tuple(
        level for level in feature.levels if not condition.only_missing and level in (condition.levels or ())
    )
    others = tuple(level for level in feature.levels if level not in wanted)
    unseen = condition.unseen
    if feature.other and feature.other in feature.levels:  # it stands for all that is not listed
        unseen = feature.other in wanted
        wanted, others = (tuple(v for v in levels if v != feature.other) for levels in (wanted, others))
    if unseen:
        return Test(*names, "not in" if others else "known", missing, levels=others)
    return Test(*names, "in" if wanted else "never", missing, levels=wanted)


def check_derived(model: Model, format: str, *, dates: bool = False) -> None:
    """Reject features that are made of a column in a way that the format does not know; grouped levels are fine.

    ``dates`` says that it knows dates, of a type of dates or as year, month, day.
    """
    for index in used_features(model):
        own = None if model.recipe is None else model.recipe.of(model.features[index].name)
        if own is not None and own.take in DATES and dates:
            _check_date(model, own, index, format)
        elif own is not None and own.take != "group":
            what = {"number": "a number written as text", "finite": "numbers with infinite ones", "time": "a time"}
            raise ExportError(
                f"The rules use '{own.feature}', made of column '{own.column}' "
                f"({what.get(own.take, 'a length of time' if own.take == 'duration' else 'a date')}), which {format} "
                f"does not do. Make that column in the table itself and fit again, or predict in Python."
            )


def _check_date(model: Model, own: Derived, index: int, format: str) -> None:
    if own.order not in ISO:
        raise ExportError(
            f"The rules use '{own.feature}', made of column '{own.column}', which held dates as text in training, not "
            f"written as 2024-05-31: {format} may read them in another way. Make it a column of dates and fit again."
        )
    if format != "python" and any(term.index == index for term in model.terms):
        raise ExportError(f"The model has a linear term of '{own.feature}', a date, which {format} does not do.")


def used_features(model: Model) -> list[int]:
    """The columns that rules look at, in the order of the table."""
    return sorted(model.columns_of(model.rules))


def number(value: float) -> str:
    """A number that every language reads back as the same double."""
    assert math.isfinite(value)
    return repr(float(value))


def level_type(model: Model, index: int, format: str) -> type:
    """str, bool, int or float: what the levels of a column are; anything else cannot be exported."""
    kinds = {type(level) for level in model.features[index].levels}
    for kind in (str, bool, int, float):
        if kinds <= {kind} or (kind is float and kinds <= {int, float}):
            return kind
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ExportError(
        f"Column '{model.features[index].name}' has categories of type {found}, which {format} cannot hold. "
        "Fit with categories that are text, numbers or true and false."
    )


def check_doubles(model: Model, index: int, format: str) -> None:
    """Reject levels that are whole numbers of more digits than a double holds: several would be one."""
    feature = model.features[index]
    for level in feature.levels:
        if isinstance(level, int) and float(level) != level:
            raise ExportError(
                f"Column '{feature.name}' has the category {level}, which has more digits than a number of {format}. "
                "Fit with categories that are text."
            )


def check_labels(model: Model, format: str) -> None:
    """Reject classes that are neither text nor numbers nor true and false."""
    for label in model.classes or ():
        if not isinstance(label, (str, int, float)):
            raise ExportError(
                f"The class {label!r} is of type {type(label).__name__}, which {format} cannot hold. "
                "Fit with labels that are text, numbers or true and false."
            )


def date_of(model: Model, index: int) -> Derived | None:
    """How a feature is made of dates; None if it is not."""
    own = None if model.recipe is None else model.recipe.of(model.features[index].name)
    return own if own is not None and own.take in DATES else None


def column_of(model: Model, index: int) -> str:
    """The column of the table that a feature is made of."""
    name = model.features[index].name
    return name if model.recipe is None else model.recipe.column_of(name)


def first_moment(days: float, own: Derived) -> np.datetime64:
    """The first moment, to the microsecond, that is not before a threshold."""
    micro = int(-(-Fraction(days) * DAY // 1))
    while (micro - 1) / DAY >= days:  # the quotient is rounded
        micro -= 1
    return np.datetime64(own.since or "1970-01-01", "us") + np.timedelta64(micro, "us")


@dataclass(frozen=True)
class Clock:
    """How an engine reads dates.

    ``moment`` has a place for the column, ``zoned`` for the column and the time zone; ``parts`` and ``literal`` have
    one for a moment and for its text. ``is_zoned`` asks whether a column has a time zone, ``fail`` is an error in
    words, of the text and of the column. Weekdays count from 0 for Monday.
    """

    moment: str
    literal: str
    parts: Mapping[str, str]
    zoned: str = ""
    is_zoned: str = ""
    fail: str = ""
    short: bool = False  # whether moments compare as text: zeros at the end would count

    def compared(self, days: float, own: Derived) -> str:
        """The first moment, to the microsecond, that is not before a threshold."""
        text = str(first_moment(days, own)).replace("T", " ")
        if self.short:
            text = text.removesuffix(".000000").removesuffix(":00").removesuffix(" 00:00")
            text = text.rstrip("0") if "." in text else text
        return self.literal.format(text)

    def read(self, column: str, own: Derived, engine: str, literal: Callable[[str], str]) -> str:
        """The clock on the wall that a column shows."""
        if own.zone and not self.zoned:
            raise ExportError(
                f"Column '{own.column}' held moments of the time zone {own.zone} in training, and time zones of "
                f"{engine} are not supported. Convert the column to that zone and fit again without a zone."
            )
        if own.zone:
            minutes = offset_minutes(own.zone)
            value = self.zoned.format(column, literal(own.zone if minutes is None else "UTC"))
            value = f"({value} + INTERVAL '{minutes}' MINUTE)" if minutes else value
        else:
            value = self.moment.format(column)
        if not self.is_zoned or own.zone is None:
            return value
        held = f"of the time zone {own.zone}" if own.zone else "without a time zone"
        wish = f"Column '{own.column}' held moments {held} in training, and here it is the other way round."
        wrong = self.is_zoned.format(column) if not own.zone else f"NOT ({self.is_zoned.format(column)})"
        return f"CASE WHEN {wrong} THEN {self.fail.format(literal(wish), column)} ELSE {value} END"

    def part(self, moment: str, own: Derived, engine: str) -> str:
        """A part of a moment, as a number; the moment itself where that is what is compared."""
        if own.take in ("date", "days"):
            return moment
        if own.take not in self.parts:
            raise ExportError(f"The rules use '{own.feature}', which is not supported for {engine}.")
        return self.parts[own.take].format(moment)


def extracted(form: str, weekday: str) -> dict[str, str]:
    """Parts of a moment where only the weekday has a form of its own."""
    parts = {part: form.replace("PART", part.upper()) for part in ("year", "month", "hour")}
    return {**parts, "weekday": weekday} if weekday else parts


_EXTRACT = "EXTRACT(PART FROM {})"
STANDARD_CLOCK = Clock("CAST({} AS TIMESTAMP)", "CAST('{}' AS TIMESTAMP)", extracted(_EXTRACT, ""))
POSTGRES_CLOCK = Clock(
    "CAST({} AS timestamp)",
    "TIMESTAMP '{}'",
    extracted(_EXTRACT, "(EXTRACT(ISODOW FROM {}) - 1)"),
    zoned="(CAST({} AS timestamptz) AT TIME ZONE {})",
    is_zoned="pg_typeof({0}) = 'timestamptz'::regtype OR CAST({0} AS text) ~ ':[0-9.]+ ?(Z|[+-][0-9]{{2}}[0-9:]*)$'",
    fail="CAST({} || left(CAST({} AS text), 0) AS timestamp)",  # not a constant, which would fail at once
)
DUCKDB_CLOCK = Clock(
    "CAST({} AS TIMESTAMP)",
    "TIMESTAMP '{}'",
    extracted(_EXTRACT, "(EXTRACT(ISODOW FROM {}) - 1)"),
    zoned="(CAST({} AS TIMESTAMPTZ) AT TIME ZONE {})",
    is_zoned="typeof({0}) LIKE '%TIME ZONE' OR (typeof({0}) = 'VARCHAR' AND "
    "regexp_matches(CAST({0} AS VARCHAR), ':[0-9.]+ ?(Z|[+-][0-9]{{2}}[0-9:]*)$'))",
    fail="error({0})",
)
_SQLITE_MOMENT = (  # text, in the order of time; what is no date, or has an offset, is missing
    "CASE WHEN {0} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' AND DATETIME({0}) IS NOT NULL "
    "AND NOT {0} GLOB '*[Z+]*' AND NOT {0} GLOB '*:*-*' THEN REPLACE(RTRIM({0}), 'T', ' ') END"
)
SQLITE_CLOCK = Clock(
    _SQLITE_MOMENT,
    "'{}'",
    {  # cut out of the text: SQLite would round to milliseconds
        "year": "CAST(SUBSTR({}, 1, 4) AS INTEGER)",
        "month": "CAST(SUBSTR({}, 6, 2) AS INTEGER)",
        "hour": "CAST('0' || SUBSTR({}, 12, 2) AS INTEGER)",
        "weekday": "((STRFTIME('%w', SUBSTR({}, 1, 10)) + 6) % 7)",
    },
    short=True,
)
MYSQL_CLOCK = Clock("CAST({} AS DATETIME(6))", "TIMESTAMP '{}'", extracted("PART({})", "WEEKDAY({})"))
SPARK_CLOCK = Clock("CAST({} AS TIMESTAMP_NTZ)", "TIMESTAMP_NTZ '{}'", extracted("PART({})", "WEEKDAY({})"))

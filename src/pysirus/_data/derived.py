"""Columns of a table in, features derived from them out, by a recipe that is remembered for new rows.

A feature is a column as it is, unless the recipe derives it: a part of a date, the number that a text writes, a
category of which the rare levels are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import Column, DataError, is_missing, label_column, with_levels
from pysirus._data.frame import Source
from pysirus._data.written import (
    DURATIONS,
    MINUTE,
    PARTS,
    WEEKDAYS,
    NumberForm,
    UnknownZoneError,
    has_several_zones,
    in_zone,
    is_missing_word,
    moments_of,
    number_form,
    part_of,
    read_dates,
    read_offsets,
    read_times,
    read_written,
    seconds_of,
    written_otherwise,
)
from pysirus._runtime.console import warn_user
from pysirus._text.format import one_line

# what is taken of a column: parts of a date; hours of a time; a length of time; a written number; finite numbers;
# the most frequent levels
# days from the first date were taken before the date itself: model files may have them
DATES = (*PARTS, "days")
TAKES = (*DATES, "time", "duration", "number", "finite", "group")


@dataclass(frozen=True)
class Derived:
    """A feature that is made of a column."""

    feature: str
    column: str
    take: str  # one of TAKES
    form: NumberForm = field(default_factory=NumberForm)  # of written numbers; of a duration, its unit
    order: str = ""  # of written dates
    since: str = ""  # of days, the first
    other: str = ""  # of a group, what the rare levels are called
    zone: str | None = None  # of dates: the time zone whose clock they show, empty for none; None where it is not known

    def __str__(self) -> str:
        return f"'{one_line(self.feature)}' from '{one_line(self.column)}'"


@dataclass(frozen=True)
class ColumnRecipe:
    """How the columns of a table become features."""

    columns: tuple[str, ...]  # of the table, in their order
    derived: tuple[Derived, ...] = ()
    aside: Mapping[str, str] = field(default_factory=dict)  # columns that are not used, and why

    def of(self, feature: str) -> Derived | None:
        """How a feature is derived; None for a column as it is."""
        return next((own for own in self.derived if own.feature == feature), None)

    def of_features(self, features: Iterable[str]) -> ColumnRecipe:
        """The same with those columns alone that features are made of, or that were set aside."""
        used = {self.column_of(feature) for feature in features} | set(self.aside)
        return replace(self, columns=tuple(name for name in self.columns if name in used))

    def column_of(self, feature: str) -> str:
        """The column that a feature is made of."""
        own = self.of(feature)
        return feature if own is None else own.column


# ----------------------------------------------------------------------------------------------------------- reading


def as_arrow(source: Source) -> pa.Array | pa.ChunkedArray:
    """A column as Arrow has it; objects that it has no type for are text."""
    if isinstance(source, nw.Series) and not isinstance(source.dtype, nw.Object):
        return source.to_arrow()
    items = source.to_list() if isinstance(source, nw.Series) else source.tolist()
    items = [None if is_missing(item) else item for item in items]
    if has_several_zones(items):  # Arrow would take the zone of the first, and moments without one for UTC
        return pa.array([item.isoformat() if hasattr(item, "isoformat") else item for item in items], pa.string())
    try:
        return pa.array(items)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([None if item is None else str(item) for item in items])


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, also as a dictionary."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view")


def is_number_type(kind: pa.DataType) -> bool:
    """Whether a column holds numbers, or nothing."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def spread(values: NDArray[Any], texts: Column) -> NDArray[Any]:
    """What the texts of a column stand for, row by row; the last entry is for missing ones."""
    nothing = np.datetime64("NaT", "us") if values.dtype.kind == "M" else np.nan
    return np.asarray(np.append(values, np.array([nothing], dtype=values.dtype))[texts.values])


def as_numbers(array: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers as doubles, NaN for missing and for infinite ones."""
    values = np.array(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    values[np.isinf(values)] = np.nan
    return values


class Deriver:
    """Derives features from the columns of some rows; each column is read once."""

    def __init__(self, warn: bool = True) -> None:
        self._moments: dict[tuple[str, str], NDArray[np.datetime64]] = {}
        self._warn = warn

    def column(self, own: Derived, source: Source) -> Column:
        """A derived feature of a column; a group is left to the model, which knows its levels."""
        if own.take in DATES:
            return self._part(own, source)
        if own.take == "finite":
            return Column(own.feature, "numeric", as_numbers(as_arrow(source)))
        return Column(own.feature, "numeric", self._number(own, as_arrow(source)))

    def moments(self, own: Derived, source: Source) -> NDArray[np.datetime64]:
        """The dates of a column, as the clock shows them that the recipe goes by."""
        key = (own.column, own.order)
        if key not in self._moments:
            self._moments[key] = self._read_moments(own, as_arrow(source))
        return self._moments[key]

    def _part(self, own: Derived, source: Source) -> Column:
        values = part_of(self.moments(own, source), own.take, own.since)
        if own.take != "weekday":
            return Column(own.feature, "numeric", values, is_date=own.take == "date")
        codes = np.where(np.isnan(values), -1, values).astype(np.int64)
        return with_levels(Column(own.feature, "ordered", codes, WEEKDAYS, WEEKDAYS), codes)

    def _read_moments(self, own: Derived, array: pa.Array | pa.ChunkedArray) -> NDArray[np.datetime64]:
        kind = array.type
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            zone = kind.tz if pa.types.is_timestamp(kind) else None
            return on_the_wall(own, moments_of(array), zone or "")
        if is_text(kind):
            texts = label_column(own.column, array)
            values = read_dates(texts.levels, own.order or "ymd")
            self._complain(own, texts, np.isnat(values), "dates")
            return spread(_written_on_the_wall(own, texts.levels, values), texts)
        if pa.types.is_null(kind):
            return np.full(len(array), np.datetime64("NaT", "us"))
        raise wrong_type(own, "dates", kind)

    def _number(self, own: Derived, array: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
        kind = array.type
        if own.take == "duration" and pa.types.is_duration(kind):
            return seconds_of(array) / DURATIONS[own.form.unit]
        if own.take == "time" and pa.types.is_time(kind):
            return seconds_of(array) / 3600
        if is_number_type(kind) and (own.take == "number" or pa.types.is_null(kind)):
            return as_numbers(array)
        if own.take == "duration" or not is_text(kind):
            raise wrong_type(own, {"number": "numbers", "time": "times", "duration": "durations"}[own.take], kind)
        texts = label_column(own.column, array)
        values = read_times(texts.levels) if own.take == "time" else read_written(texts.levels, own.form)[0]
        self._complain(own, texts, np.isnan(values), "times" if own.take == "time" else "numbers")
        return spread(values, texts)

    def _complain(self, own: Derived, texts: Column, unread: NDArray[np.bool_], what: str) -> None:
        """Warn of texts that are not what they were in training; those that say that nothing is known are fine.

        A number with other marks is an error: it has a value, and nobody can tell which.
        """
        odd = [i for i in np.flatnonzero(unread) if not is_missing_word(texts.levels[i])] if self._warn else []
        if odd and own.take == "number":
            text = written_otherwise([texts.levels[i] for i in odd], own.form.unit)
            if text is not None:
                raise wrong_form(own.column, own.form, text)
        if odd:
            n_rows = int(np.isin(texts.values, odd).sum())
            warn_user(
                f"Column '{one_line(own.column)}' held {what} in training. Now {n_rows} of {len(texts.values)} rows "
                f"hold something else, for example {texts.levels[odd[0]]!r}, and are taken as missing."
            )


def on_the_wall(own: Derived, moments: NDArray[np.datetime64], zone: str) -> NDArray[np.datetime64]:
    """Moments, in UTC if they are of a zone, as the clock that the recipe goes by shows them."""
    if own.zone is None:  # the clock of the column itself, whichever it is
        return in_zone(moments, zone) if zone else moments
    if bool(zone) != bool(own.zone) and not np.isnat(moments).all():
        raise _wrong_zone(own, f"of the time zone {zone}" if zone else "without a time zone")
    try:
        return in_zone(moments, own.zone) if own.zone else moments
    except UnknownZoneError as error:
        raise DataError(
            f"Column '{own.column}' held moments of the time zone '{own.zone}' in training, which this computer does "
            "not know. Install the package tzdata, or correct the name in the model file."
        ) from error


def _written_on_the_wall(own: Derived, texts: Sequence[str], values: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """Written moments as the clock that the recipe goes by shows them."""
    if own.zone is None:
        return values
    offsets = read_offsets(texts)
    for text, offset, value in zip(texts, offsets, values):
        if not np.isnat(value) and (offset is None) == bool(own.zone):
            raise _wrong_zone(own, f"{'without a time zone' if own.zone else 'with an offset'}, for example {text!r}")
    if not own.zone:
        return values
    return on_the_wall(own, values - np.array([MINUTE * (m or 0) for m in offsets], "m8[us]"), own.zone)


def _wrong_zone(own: Derived, found: str) -> DataError:
    """The error for moments that cannot be told by the clock of training."""
    held = f"of the time zone {own.zone}" if own.zone else "without a time zone"
    wanted = "an offset or a time zone, in which they are converted" if own.zone else "neither offset nor time zone"
    return DataError(
        f"Column '{own.column}' held moments {held} in training, now it holds moments {found}. Give them with {wanted}."
    )


def wrong_form(name: str, form: NumberForm, text: str) -> DataError:
    """The error for text that is no number in the form that the numbers of a column had in training."""
    if number_form([text]) is None:
        return DataError(
            f"Column '{name}' was numeric in training, now it holds labels such as {text!r}. Convert it to numbers."
        )
    return DataError(
        f"Column '{name}' holds {text!r}. In training its numbers were written {form}. Write them as in training, or "
        "learn the model from files that are written like this one."
    )


def wrong_type(own: Derived, what: str, kind: Any) -> DataError:
    """The error for a column that is no longer what it was."""
    return DataError(
        f"Column '{own.column}' held {what} in training, now it has type {kind}. Give it as {what}, as before."
    )

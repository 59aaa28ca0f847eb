"""Moments of any time zone or offset in, what the clock on the wall shows in one zone out.

The zone of a column is that of its type. Text has the offset that all of its moments have, or UTC where they have
several. New rows are converted to the zone of training.
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

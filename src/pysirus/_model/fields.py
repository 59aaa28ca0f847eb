"""A value of a document in, nothing out, or a ``Damage`` that says where it is and what was expected there.

A check is a function of a value and its place, such as ``rules[2].weight``. Those below make checks: of one value, of
the items of a list, of the fields of an object.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from pysirus._plain import one_line

Check = Callable[[Any, str], None]
SHOWN = 60  # characters of a value in a message
DEEPEST = 8  # lists within lists, in what is kept but not looked at


class Damage(ValueError):
    """What is wrong with a document, and where."""


def refuse(place: str, wanted: str, found: Any) -> NoReturn:
    """Say what a place must hold, and what it holds."""
    text = one_line(repr(found)[: 4 * SHOWN])
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    raise Damage(f"{place} must be {wanted}, found {shown}")


def ensure(holds: bool, place: str, fault: str) -> None:
    """Complain of what a place says where something does not hold."""
    if not holds:
        raise Damage(f"{place} {fault}")


def inner(place: str, key: str) -> str:
    """The place of a field."""
    return f"{place}.{key}" if place else key


def _entry(place: str, key: Any) -> str:
    """The place of an entry; a long key is cut short, or it would be copied for every value under it."""
    return f"{place}[{key!r:.{SHOWN}}]"


# -------------------------------------------------------------------------------------------------------- single values


def text(value: Any, place: str) -> None:
    """Text."""
    if not isinstance(value, str):
        refuse(place, "text", value)


def flag(value: Any, place: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        refuse(place, "true or false", value)


def is_real(value: Any) -> bool:
    """Whether a value is a finite number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no double holds
        return False


def _range(low: float | None, high: float | None) -> str:
    ends = [f"at least {low:g}"] if low is not None else []
    ends += [f"at most {high:g}"] if high is not None else []
    return f" of {' and '.join(ends)}" if ends else ""


def number(low: float | None = None, high: float | None = None) -> Check:
    """A finite number from low to high."""

    def check(value: Any, place: str) -> None:
        if not is_real(value) or (low is not None and value < low) or (high is not None and value > high):
            refuse(place, f"a finite number{_range(low, high)}", value)

    return check


def whole(low: int, high: int = 2**64) -> Check:
    """A whole number from low to high."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            refuse(place, f"a whole number{_range(low, high if high < 2**64 else None)}", value)

    return check


def one_of(*choices: Any) -> Check:
    """One of a few values."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, (str, int)) or value not in choices:
            refuse(place, f"one of {', '.join(map(repr, choices))}", value)

    return check


def label(value: Any, place: str) -> None:
    """A level or a class: text, a finite number, or true and false."""
    if not isinstance(value, (str, bool)) and not is_real(value):
        refuse(place, "text, a finite number, true or false", value)


def anything(value: Any, place: str, depth: int = DEEPEST) -> None:
    """What is kept but not looked at: values as above, in lists and objects that are not deep."""
    if isinstance(value, (list, dict)):
        if depth == 0:
            raise Damage(f"{place} has lists or objects within each other, more than {DEEPEST} deep")
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            anything(item, _entry(place, key), depth - 1)
    elif value is not None:
        label(value, place)


# ------------------------------------------------------------------------------------------------------ several values


def optional(check: Check) -> Check:
    """null, or what another check takes."""

    def checked(value: Any, place: str) -> None:
        if value is not None:
            check(value, place)

    return checked


def items(check: Check, length: int | None = None, least: int = 0, most: int | None = None) -> Check:
    """A list whose items pass a check."""

    def checked(value: Any, place: str) -> None:
        if not isinstance(value, list):
            refuse(place, "a list", value)
        if length is not None and len(value) != length:
            refuse(place, f"a list of {length}", f"{len(value)} items")
        if most is not None and len(value) > most:
            refuse(place, f"a list of at most {most}", f"{len(value)} items")
        if len(value) < least:
            refuse(place, f"a list of at least {least}", f"{len(value)} items")
        for i, item in enumerate(value):
            check(item, f"{place}[{i}]")

    return checked


def fields(required: Mapping[str, Check], besides: Mapping[str, Check] | None = None, *, more: bool = False) -> Check:
    """An object of these fields; ``besides`` may be missing, others only with ``more``."""
    known = {**required, **(besides or {})}

    def checked(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            refuse(place or "the document", "an object", value)
        for key in required:
            if key not in value:
                raise Damage(f"{place or 'the document'} lacks the entry '{key}'")
        for key, item in value.items():
            if key in known:
                known[key](item, inner(place, key))
            elif more:
                anything(item, inner(place, key[:SHOWN]))
            else:
                raise Damage(f"{place or 'the document'} has the entry {key!r}, which this version does not know")

    return checked


def mapping(check: Check) -> Check:
    """An object whose values pass a check, under any names."""

    def checked(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            refuse(place, "an object", value)
        for key, item in value.items():
            check(item, _entry(place, key))

    return checked


def distinct(values: Sequence[Any], place: str) -> None:
    """No value twice; 1 and True differ, 1 and 1.0 do not."""
    seen = set()
    for value in values:
        key = (isinstance(value, bool), value)
        if key in seen:
            raise Damage(f"{place} holds {value!r:.{SHOWN}} twice")
        seen.add(key)


def one_type(values: Sequence[Any], place: str) -> None:
    """All text, all numbers, or all true and false."""
    kinds = {"number" if is_real(value) else type(value).__name__ for value in values}
    if len(kinds) > 1:
        raise Damage(f"{place} mixes types ({', '.join(sorted(kinds))})")

"""The bytes of a model file in, its JSON document out, or a ``Damage`` that says what is wrong and where.

Stricter than JSON readers are by themselves: no key twice, no NaN, no number beyond a double, nothing nested without
end; and the number of values is known before the first of them is made. Long lists of numbers are lines of text, which
are counted before they are parsed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pysirus._families.read import MOST_LABEL
from pysirus._text.format import one_line

# What is read at most. A model of 2,000 rules takes some megabytes; long lists of levels take the most.
MAX_BYTES = 100_000_000
MAX_VALUES = 4_000_000  # a value takes some seventy bytes of memory, and as little as two in a file
MAX_DIGITS = 20
MAX_INTEGER = MOST_LABEL
MAX_DEPTH = 64  # Python's reader recurses, and how deep it can depends on the stack that its thread was given
STEPS = np.zeros(256, dtype=np.int8)  # what a byte outside of strings adds to the depth
STEPS[list(b"[{")], STEPS[list(b"]}")] = 1, -1
BLOCK = 1 << 20
HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
SHOWN = 60  # characters of a value in a message
LONGEST_NUMBER = 320  # characters; whole numbers are written without an exponent
NUMBERS = re.compile(r"[-+0-9.e ]*")


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


def distinct(values: Sequence[Any], place: str) -> None:
    """No value twice; 1 and True differ, 1 and 1.0 do not."""
    seen = set()
    for value in values:
        key = (isinstance(value, bool), value)
        if key in seen:
            raise Damage(f"{place} holds {value!r:.{SHOWN}} twice")
        seen.add(key)


# ----------------------------------------------------------------------------------------------------------- text


def size_fault(text: str) -> str | None:
    """Why a text is too large for a model file; None if it is not."""
    n_values = sum(map(text.count, ",[{")) + 1  # at most; commas in names count too
    if len(text) > MAX_BYTES:
        return f"it has {len(text):,} characters, more than the {MAX_BYTES:,} that are read"
    return f"it has some {n_values:,} values, more than the {MAX_VALUES:,} read" if n_values > MAX_VALUES else None


def _depth(text: str) -> int:
    """How deep lists and objects are nested, in blocks, so that a hostile text takes no more memory than another."""
    marks = np.frombuffer(text.replace("\\\\", "").replace('\\"', "").encode(errors="replace"), dtype=np.uint8)
    deepest = depth = n_quotes = 0
    for start in range(0, len(marks), BLOCK):
        block = marks[start : start + BLOCK]
        quotes = n_quotes + (block == ord('"')).cumsum()
        depths = depth + np.where(quotes % 2, 0, STEPS[block]).cumsum()
        deepest, depth, n_quotes = max(deepest, int(depths.max())), int(depths[-1]), int(quotes[-1])
    return deepest


def _constant(word: str) -> NoReturn:
    raise Damage(f"it holds {word}, which is not a JSON number")


def _integer(word: str) -> int:
    if len(word) > MAX_DIGITS + 1 or abs(int(word)) > MAX_INTEGER:
        raise Damage(f"it holds a whole number of {len(word.lstrip('-'))} digits ({word[:20]}...)")
    return int(word)


def _real(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise Damage(f"it holds the number {word[:40]}, which is too large")
    return value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Damage(f"an object holds the entry {twice!r:.60} twice")
    return found


def parse(text: str) -> Any:
    """The JSON of a text; ``json.JSONDecodeError`` where it is none."""
    if (fault := size_fault(text)) is not None:
        raise Damage(fault)
    if _depth(text) > MAX_DEPTH:
        raise Damage("its lists and objects are nested too deeply")
    hooks: dict[str, Any] = {"parse_int": _integer, "parse_float": _real, "parse_constant": _constant}
    document = json.loads(text, object_pairs_hook=_object, **hooks)
    if HALF_A_CHARACTER.search(text):
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Damage("its text holds half a character (a lone surrogate), which cannot be written") from None
    return document


# --------------------------------------------------------------------------------------------------- lines of numbers


def number_line(values: Any) -> str:
    """Numbers in one line of text, as a list of them would take a line each; most are counts, without a point."""
    return " ".join(
        repr(int(v) if v.is_integer() else v) for v in np.asarray(values, dtype=np.float64).ravel().tolist()
    )


def read_line(text: str, n_numbers: int, place: str) -> NDArray[np.float64]:
    """``n_numbers`` finite numbers of a line; they are counted before they are parsed."""
    n_found = text.count(" ") + bool(text)
    if n_found != n_numbers or len(text) > LONGEST_NUMBER * n_numbers:
        raise Damage(f"{place} must be a line of {n_numbers} numbers, found {n_found} in {len(text)} characters")
    ensure(NUMBERS.fullmatch(text) is not None, place, "must be a line of numbers, found something else in it")
    try:
        values = np.array([float(word) for word in text.split(" ")] if text else [], dtype=np.float64)
    except ValueError as error:
        raise Damage(f"{place} must be a line of numbers: {error}") from None
    ensure(bool(np.isfinite(values).all()), place, "must be a line of finite numbers")
    return values

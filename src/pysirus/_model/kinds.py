"""The text of a model file in, what stands there out, or a ``Damage`` that says what is wrong and where.

The document is read more strictly than JSON readers do by themselves: no key twice, no NaN, no number beyond a double,
nothing nested without end; and the number of values is known before the first of them is made. Long lists of numbers
are lines of text, which are counted before they are parsed. A kind says what may stand at a place, such as
``rules[2].weight``: it checks a value, reads and writes it. ``keys`` makes records of kinds, ``spec`` the model file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pysirus._families.read import MOST_LABEL
from pysirus._text.format import one_line

# What is read at most. A model of 2,000 rules takes some megabytes; long lists of levels take the most.
MAX_BYTES = 100_000_000
MAX_VALUES = 4_000_000  # a value takes some seventy bytes of memory, and as little as two in a file
MAX_DIGITS = 20
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
    if len(word) > MAX_DIGITS + 1 or abs(int(word)) > MOST_LABEL:
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


# -------------------------------------------------------------------------------------------------------------- kinds


DEEPEST = 8  # lists within lists, in what is kept but not looked at
MOST_WHOLE = 2**64
Json = dict[str, Any]
Limit = float | None


def _as_it_is(value: Any, place: str = "", known: Any = None) -> Any:
    return value


@dataclass(frozen=True)
class Kind:
    """What may stand at a place; one with a ``name`` is a definition of the schema.

    Attributes
    ----------
    words, short : str
        What it is, in messages and in the reference.
    check : function of a value and its place
        Raises a ``Damage`` unless the value is of this kind.
    schema : function of definitions
        Its JSON Schema; definitions that this refers to are added to them.
    read : function of a value that was checked, its place, and what the file says elsewhere
        What stands for it in the model.
    write : function of what stands in the model
        The value in the file.
    """

    words: str
    check: Callable[[Any, str], None]
    schema: Callable[[Json], Json]
    read: Callable[[Any, str, Any], Any] = _as_it_is
    write: Callable[[Any], Any] = _as_it_is
    name: str = ""
    short: str = ""


def refer(kind: Kind, definitions: Json) -> Json:
    """The schema of a kind, by reference where it has a name."""
    if not kind.name:
        return kind.schema(definitions)
    if kind.name not in definitions:
        definitions[kind.name] = {}  # before those that it refers to
        definitions[kind.name] = kind.schema(definitions)
    return {"$ref": f"#/$defs/{kind.name}"}


def said(**entries: Any) -> Json:
    """The entries of a JSON schema that are not None."""
    return {name: value for name, value in entries.items() if value is not None}


def _single(words: str, holds: Callable[[Any], bool], schema: Json, **more: Any) -> Kind:
    """A kind of single values."""

    def check(value: Any, place: str) -> None:
        if not holds(value):
            refuse(place, words, value)

    return Kind(words, check, lambda _: dict(schema), **{"short": words, **more})


# -------------------------------------------------------------------------------------------------------- single values


def is_real(value: Any) -> bool:
    """Whether a value is a finite number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no double holds
        return False


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST_WHOLE


def text(
    accepts: Callable[[str], bool] | None = None,
    words: str = "text",
    pattern: str | None = None,
    most: int | None = None,
) -> Kind:
    """Text; with ``accepts`` only some, which the pattern of the schema need not tell in full."""

    def holds(value: Any) -> bool:
        return isinstance(value, str) and len(value) <= (most or len(value)) and (accepts is None or accepts(value))

    return _single(words, holds, said(type="string", pattern=pattern, maxLength=most))


def line(write: Callable[[Any], str] = number_line) -> Kind:
    """Numbers in one line of text; it is read where it is known how many there must be."""
    schema = {"type": "string", "pattern": "^[-+0-9.e ]*$"}
    holds = lambda value: isinstance(value, str)  # noqa: E731
    return _single("a line of numbers", holds, schema, write=write, short="line of numbers")


def number(
    low: Limit = None, high: Limit = None, above: Limit = None, below: Limit = None, whole: bool = False
) -> Kind:
    """A finite number from ``low`` to ``high``, or between ``above`` and ``below``; it is read as a double."""
    ends = [("at least", low), ("at most", high), ("above", above), ("below", below)]
    shown = " and ".join(f"{name} {limit:g}" for name, limit in ends if limit is not None)
    words = (
        f"a {'whole' if whole else 'finite'} number{' of ' if shown.startswith('at') else ' ' if shown else ''}{shown}"
    )
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    over, under = -math.inf if above is None else above, math.inf if below is None else below
    is_one = _is_whole if whole else is_real

    def holds(value: Any) -> bool:
        return is_one(value) and least <= value <= most and over < value < under

    limits = said(minimum=low, maximum=high, exclusiveMinimum=above, exclusiveMaximum=below)
    signs = {"minimum": "≥", "maximum": "≤", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
    schema = {"type": "integer" if whole else "number", **limits}
    short = f"{schema['type']} {', '.join(f'{signs[name]} {limit}' for name, limit in limits.items())}".rstrip()
    return _single(words, holds, schema, short=short, **({} if whole else {"read": lambda value, *_: float(value)}))


def whole(low: int | None = None, high: int | None = None) -> Kind:
    """A whole number from low to high, of 64 bits at most."""
    return number(low, high, whole=True)


def one_of(*choices: Any) -> Kind:
    """One of a few texts or whole numbers; true is not 1."""
    words = f"one of {', '.join(map(repr, choices))}" if len(choices) > 1 else repr(choices[0])
    schema = {"enum": list(choices)} if len(choices) > 1 else {"const": choices[0]}
    holds = lambda value: any(type(value) is type(choice) and value == choice for choice in choices)  # noqa: E731
    return _single(words, holds, schema, short=" or ".join(f"`{json.dumps(choice)}`" for choice in choices))


def flag(*, negated: bool = False) -> Kind:
    """True or false; negated, the model says the opposite."""
    turn: dict[str, Any] = {"read": lambda value, *_: not value, "write": lambda value: not value}
    holds = lambda value: isinstance(value, bool)  # noqa: E731
    return _single("true or false", holds, {"type": "boolean"}, **(turn if negated else {}))


LABEL = _single(
    "text, a finite number, true or false",
    lambda value: isinstance(value, (str, bool)) or is_real(value),
    {"type": ["string", "number", "boolean"]},
    short="label",
)
NOTHING = _single("null", lambda value: value is None, {"type": "null"})


def entry(place: str, key: Any) -> str:
    """The place of an entry; a long key is cut short, or it would be copied for every value under it."""
    return f"{place}[{key!r:.{SHOWN}}]"


def _check_anything(value: Any, place: str, depth: int = DEEPEST) -> None:
    if isinstance(value, (list, dict)):
        if depth == 0:
            raise Damage(f"{place} has lists or objects within each other, more than {DEEPEST} deep")
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _check_anything(item, entry(place, key), depth - 1)
    elif value is not None:
        LABEL.check(value, place)


ANYTHING = Kind("anything", _check_anything, lambda _: {}, short="anything")  # what is kept but not looked at


# ------------------------------------------------------------------------------------------------------ several values


def nullable(kind: Kind) -> Kind:
    """null, or another kind."""

    def check(value: Any, place: str) -> None:
        if value is not None:
            kind.check(value, place)

    def schema(definitions: Json) -> Json:
        own = refer(kind, definitions)
        plain = isinstance(own.get("type"), str)
        return {**own, "type": [own["type"], "null"]} if plain else {"anyOf": [own, {"type": "null"}]}

    def read(value: Any, place: str, known: Any) -> Any:
        return None if value is None else kind.read(value, place, known)

    def write(value: Any) -> Any:
        return None if value is None else kind.write(value)

    return Kind(f"{kind.words}, or null", check, schema, read, write, short=f"{kind.short} or `null`")


def _check_length(value: Any, least: int, most: int | None, place: str) -> None:
    if not isinstance(value, list):
        refuse(place, "a list", value)
    if not least <= len(value) <= (len(value) if most is None else most):
        limit = f"{least}" if least == most else f"at least {least}" if len(value) < least else f"at most {most}"
        raise Damage(f"{place} must be a list of {limit} items, found {len(value)}")


def items(kind: Kind, least: int = 0, most: int | None = None, unique: bool = False) -> Kind:
    """A list of values of one kind, in the model a tuple."""

    def check(value: Any, place: str) -> None:
        _check_length(value, least, most, place)
        for i, item in enumerate(value):
            kind.check(item, f"{place}[{i}]")
        if unique:
            distinct(value, place)

    def schema(definitions: Json) -> Json:
        limits = said(minItems=least or None, maxItems=most, uniqueItems=unique or None)
        return {"type": "array", "items": refer(kind, definitions), **limits}

    def read(value: Any, place: str, known: Any) -> tuple[Any, ...]:
        return tuple(kind.read(item, f"{place}[{i}]", known) for i, item in enumerate(value))

    def write(value: Any) -> list[Any]:
        return [kind.write(item) for item in value]

    size = f"{least}" if least == most else f"{least} to {most}" if most else f"at least {least}" if least else ""
    short = f"list of {kind.short}{f', {size} of them' if size else ''}{', each once' if unique else ''}"
    return Kind("a list", check, schema, read, write, short=short)


def fixed(*kinds: Kind) -> Kind:
    """A list of as many values as there are kinds, in the model a tuple."""
    n = len(kinds)

    def check(value: Any, place: str) -> None:
        _check_length(value, n, n, place)
        for i, (kind, item) in enumerate(zip(kinds, value)):
            kind.check(item, f"{place}[{i}]")

    def schema(definitions: Json) -> Json:
        own = [refer(kind, definitions) for kind in kinds]
        return {"type": "array", "prefixItems": own, "items": False, "minItems": n}

    def read(value: Any, place: str, known: Any) -> tuple[Any, ...]:
        return tuple(kind.read(item, f"{place}[{i}]", known) for i, (kind, item) in enumerate(zip(kinds, value)))

    def write(value: Any) -> list[Any]:
        return [kind.write(item) for kind, item in zip(kinds, value)]

    short = f"list of {n}: {', '.join(dict.fromkeys(kind.short for kind in kinds))}"
    return Kind("a list", check, schema, read, write, short=short)


def map_of(kind: Kind, names: tuple[str, ...] = ()) -> Kind:
    """An object whose values are of one kind, under any names or some."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            refuse(place, "an object", value)
        for key, item in value.items():
            if names and key not in names:
                raise Damage(f"{place} has the entry {key!r:.{SHOWN}}, which is none of {', '.join(names)}")
            kind.check(item, entry(place, key))

    def schema(definitions: Json) -> Json:
        limits = {"propertyNames": {"enum": list(names)}} if names else {}
        return {"type": "object", "additionalProperties": refer(kind, definitions), **limits}

    def read(value: Mapping[str, Any], place: str, known: Any) -> dict[str, Any]:
        return {key: kind.read(item, entry(place, key), known) for key, item in value.items()}

    def write(value: Mapping[str, Any]) -> Json:
        return {key: kind.write(item) for key, item in value.items()}

    return Kind("an object", check, schema, read, write, short=f"object of {kind.short}")


def either(list_kind: Kind, other: Kind, name: str = "") -> Kind:
    """A list, or something else."""

    def of(value: Any) -> Kind:
        return list_kind if isinstance(value, (list, tuple)) else other

    return Kind(
        f"{other.words}, or {list_kind.words}",
        lambda value, place: of(value).check(value, place),
        lambda definitions: {"anyOf": [refer(other, definitions), refer(list_kind, definitions)]},
        lambda value, place, known: of(value).read(value, place, known),
        lambda value: of(value).write(value),
        name,
        f"{other.short} or {list_kind.short}",
    )

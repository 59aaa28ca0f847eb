"""Records of a model file: dataclasses whose fields are keys, each with a type, limits and a line that describes it.

A new key is a new field. What it says is checked, read, written, and told to JSON Schema and to the reference in
docs/model-file.md. A record stands for the dataclass itself or for another class (``BUILDS``), whose attributes have
the names of its fields; where they do not match one to one it has ``build`` and ``parts``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pysirus._model.kinds import (
    ANYTHING,
    SHOWN,
    Damage,
    Json,
    Kind,
    fixed,
    flag,
    inner,
    items,
    map_of,
    nullable,
    number,
    one_of,
    refer,
    refuse,
    text,
    whole,
)

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT"})()  # in a model: what its file does not have
PLAIN: dict[Any, Callable[..., Kind]] = {str: text, bool: flag, float: number, int: whole}
RECORDS: dict[str, type] = {}  # by the name in the schema


@dataclass(frozen=True)
class Key:
    """A key of a record: the attribute that it is of, its kind, and when it is there."""

    name: str
    attribute: str
    kind: Kind
    description: str
    absent: Any  # what its absence stands for; ABSENT: it must be there
    always: bool  # written also where it is that
    reads: bool  # or is there for people alone

    @property
    def required(self) -> bool:
        """Whether it must be there."""
        return self.absent is ABSENT

    def says(self, value: Any) -> bool:
        """Whether a value is written."""
        if self.required or self.always or value is ABSENT or value is None or self.absent is None:
            return value is not ABSENT and (value is not None or self.required or self.always)
        return bool(value != self.absent)


def key(
    description: str,
    *,
    name: str = "",
    absent: Any = ABSENT,
    always: bool = False,
    null: bool = False,
    reads: bool = True,
    **limits: Any,
) -> Any:
    """A field of a record.

    The type ``X | None`` is X or null where the key is required, and where it may be absent X alone unless it may be
    ``null`` too. ``limits`` are those of the type's kind: ``low`` and ``high`` of numbers, ``least`` and ``most`` of
    lists.
    """
    told = {"description": description, "name": name, "absent": absent, "always": always, "reads": reads}
    metadata = {"key": told, "null": null, "limits": limits}
    return field(metadata=metadata) if absent is ABSENT else field(default=absent, metadata=metadata)


def option(description: str, **limits: Any) -> Any:
    """A field of a record that may be absent: None in the model."""
    return key(description, absent=None, **limits)


def kind_of(hint: Any, *, null: bool = True, **limits: Any) -> Kind:
    """The kind that a type says; None in it is null, or is not in the file."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return next(own for own in hint.__metadata__ if isinstance(own, Kind))
    if origin is Literal:
        return one_of(*parts)
    if origin in (Union, UnionType):
        (own,) = (part for part in parts if part is not type(None))
        return nullable(kind_of(own, **limits)) if null else kind_of(own, **limits)
    if origin is tuple:
        return items(kind_of(parts[0]), **limits) if parts[-1] is ... else fixed(*map(kind_of, parts))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return map_of(kind_of(parts[1]), **limits)
    own = PLAIN.get(hint)
    return record(hint) if own is None else own(**limits)


@cache
def keys_of(cls: Any) -> dict[str, Key]:
    """The keys of a record, by name, in the order in which they are written."""
    hints, found = get_type_hints(cls, include_extras=True), {}
    for own in fields(cls):
        if "key" in own.metadata:
            told, hint = own.metadata["key"], hints[own.name]
            kind = kind_of(hint, null=told["absent"] is not None or own.metadata["null"], **own.metadata["limits"])
            name = told["name"] or own.name
            found[name] = Key(**{**told, "name": name}, attribute=own.name, kind=kind)
    return found


class _Record:
    """A dataclass of keys. One that is ``OPEN`` is a mapping, and keeps keys that it does not know."""

    def __init__(self, cls: Any) -> None:
        self.cls, self.keys, self.is_open = cls, keys_of(cls), getattr(cls, "OPEN", False)
        self.required = [name for name, own in self.keys.items() if own.required]

    def check(self, value: Any, place: str) -> None:
        """An object of these keys."""
        here = place or "the document"
        if not isinstance(value, dict):
            refuse(here, "an object", value)
        for name in self.required:
            if name not in value:
                raise Damage(f"{here} lacks the entry '{name}'")
        for name, item in value.items():
            if name in self.keys:
                self.keys[name].kind.check(item, inner(place, name))
            elif self.is_open:
                ANYTHING.check(item, inner(place, name[:SHOWN]))
            else:
                raise Damage(f"{here} has the entry {name!r}, which this version does not know")

    def read(self, value: Mapping[str, Any], place: str, known: Any) -> Any:
        """What it stands for."""
        if self.is_open:
            return self.cls.of(value)
        own = {
            key.attribute: key.kind.read(value[name], inner(place, name), known) if name in value else key.absent
            for name, key in self.keys.items()
            if key.reads
        }
        return self.cls.build(own, place, known) if hasattr(self.cls, "build") else _made_by(self.cls)(**own)

    def write(self, value: Any) -> Json:
        """And back."""
        if self.is_open:
            return dict(value)
        own = self.cls.parts(value) if hasattr(self.cls, "parts") else value
        found = ((key, getattr(own, key.attribute)) for key in self.keys.values())
        return {key.name: key.kind.write(item) for key, item in found if key.says(item)}

    def schema(self, definitions: Json) -> Json:
        """An object of these properties."""
        own = {name: {**refer(k.kind, definitions), "description": k.description} for name, k in self.keys.items()}
        more = {} if self.is_open else {"additionalProperties": False}
        told = {"description": summary(self.cls), "type": "object"}
        return {**told, "properties": own, "required": self.required, **more}


def _made_by(cls: Any) -> Any:
    """The class of what a record stands for."""
    return getattr(cls, "BUILDS", cls)


@cache
def record(cls: Any) -> Kind:
    """The kind of a dataclass of keys."""
    name, own = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__.removesuffix("Keys")).lower(), _Record(cls)
    RECORDS[name] = cls
    return Kind("an object", own.check, own.schema, own.read, own.write, name, f"[{name}](#{name})")


def summary(cls: type) -> str:
    """What a record is, the first paragraph of its docstring."""
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def tagged(tag: str, plain: type, **others: type) -> Kind:
    """Records of several classes: one without the key ``tag`` is of ``plain``, else the class that it names.

    A class that is tagged has a key of that name, whose type is one text.
    """
    kinds = {"": record(plain), **{name: record(cls) for name, cls in others.items()}}
    made = {_made_by(cls): name for name, cls in {"": plain, **others}.items()}

    def check(value: Any, place: str) -> None:
        if isinstance(value, dict) and tag in value:
            one_of(*others).check(value[tag], inner(place, tag))
        of(value).check(value, place)

    def of(value: Any) -> Kind:
        return kinds[value.get(tag, "") if isinstance(value, dict) else ""]

    def write(value: Any) -> Any:
        own = next((made[cls] for cls in type(value).__mro__ if cls in made), None)
        if own is None:
            raise TypeError(f"{type(value).__name__} has no record of its keys, as {plain.__name__} is one.")
        return kinds[own].write(value)

    return Kind(
        "an object",
        check,
        lambda definitions: {"anyOf": [refer(kind, definitions) for kind in kinds.values()]},
        lambda value, place, known: of(value).read(value, place, known),
        write,
        short=" or ".join(kind.short for kind in kinds.values()),
    )

"""A recipe of columns, and marks of numbers, in, JSON out, and back; a ``Damage`` where they do not fit the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pysirus._data.dates import DURATIONS, ORDERS, WEEKDAYS
from pysirus._data.marks import Marks
from pysirus._data.recipe import DATES, TAKES, ColumnRecipe, Derived
from pysirus._data.written import DECIMALS, THOUSANDS, NumberForm
from pysirus._data.zones import ZONE
from pysirus._model.fields import distinct, ensure, fields, items, mapping, one_of, refuse, text

Entry = Mapping[str, Any]
LONGEST_ZONE = 64  # characters
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def day(value: Any, place: str) -> None:
    """A day such as 2024-05-09."""
    text(value, place)
    try:
        good = _DAY.fullmatch(value) is not None and str(np.datetime64(value, "D")) == value
    except ValueError:
        good = False
    if not good:
        refuse(place, "a day such as '2024-05-09'", value)


def zone(value: Any, place: str) -> None:
    """A time zone such as Asia/Tokyo or +05:00, or an empty text."""
    text(value, place)
    if value and (len(value) > LONGEST_ZONE or ZONE.fullmatch(value) is None):
        refuse(place, "a time zone such as 'Asia/Tokyo' or '+05:00', or an empty text", value)


# what each feature says besides its name, its column and what is taken
BESIDES = {
    "unit": text,
    "decimal": one_of(*DECIMALS),
    "thousands": one_of(*THOUSANDS),
    "order": one_of(*ORDERS),
    "since": day,
    "other": text,
    "zone": zone,
}
_OF = {
    "number": {"unit", "decimal", "thousands"},
    "duration": {"unit"},
    "group": {"other"},
    "days": {"order", "since", "zone"},
    "time": set[str](),
    "finite": set[str](),
}
_NEEDED = {"duration": "unit", "group": "other", "days": "since"}

RECIPE = fields(
    {
        "columns": items(text, least=1),
        "derived": items(fields({"feature": text, "column": text, "take": one_of(*TAKES)}, besides=BESIDES)),
        "aside": mapping(text),
    }
)

MARKS = mapping(fields({"decimal": BESIDES["decimal"], "thousands": BESIDES["thousands"]}))


def _derived(own: Derived) -> dict[str, Any]:
    form = {"unit": own.form.unit, "decimal": own.form.decimal, "thousands": own.form.thousands}
    entries = {**form, "order": own.order, "since": own.since, "other": own.other}
    said = {name: value for name, value in entries.items() if value and name in _allowed(own.take)}
    said |= {"zone": own.zone} if own.zone is not None else {}
    return {"feature": own.feature, "column": own.column, "take": own.take, **said}


def _allowed(take: str) -> set[str]:
    return _OF.get(take, {"order", "zone"})


def recipe_to_json(recipe: ColumnRecipe | None) -> dict[str, Any] | None:
    """A recipe as JSON."""
    if recipe is None:
        return None
    derived = [_derived(own) for own in recipe.derived]
    return {"columns": list(recipe.columns), "derived": derived, "aside": dict(recipe.aside)}


def recipe_from_json(d: Entry | None) -> ColumnRecipe | None:
    """A recipe back from a document that was checked."""
    if d is None:
        return None
    derived = []
    for entry in d["derived"]:
        form = NumberForm(entry.get("unit", ""), entry.get("decimal", "."), entry.get("thousands", ""))
        rest = {name: entry.get(name, "") for name in ("order", "since", "other")} | {"zone": entry.get("zone")}
        derived.append(Derived(entry["feature"], entry["column"], entry["take"], form, **rest))
    return ColumnRecipe(tuple(d["columns"]), tuple(derived), dict(d["aside"]))


def marks_to_json(marks: Marks) -> dict[str, Any]:
    """How numbers are written in text files, by column, as JSON."""
    return {name: {"decimal": form.decimal, "thousands": form.thousands} for name, form in marks.items()}


def marks_from_json(d: Mapping[str, Entry]) -> Marks:
    """The same back from a document that was checked."""
    return {name: NumberForm("", entry["decimal"], entry["thousands"]) for name, entry in d.items()}


# -------------------------------------------------------------------------------------------------------- agreement


def check_recipe(recipe: Entry, features: Sequence[Entry]) -> None:
    """Hold a recipe against the features that it makes."""
    columns = recipe["columns"]
    distinct(columns, "recipe.columns")
    distinct([entry["feature"] for entry in recipe["derived"]], "recipe.derived: its features")
    known = {feature["name"]: feature for feature in features}
    used = set(known)
    for i, entry in enumerate(recipe["derived"]):
        place = f"recipe.derived[{i}]"
        ensure(entry["feature"] in known, place, f"makes {entry['feature']!r:.60}, which is no feature")
        _check_entry(entry, known[entry["feature"]], place)
        used.discard(entry["feature"])
    _check_clocks(recipe["derived"])
    sources = used | {entry["column"] for entry in recipe["derived"]}
    for name in sorted(sources | set(recipe["aside"])):
        ensure(name in columns, "recipe.columns", f"lacks {name!r:.60}, which is used or set aside")
    both = sources & set(recipe["aside"])
    ensure(not both, "recipe.aside", f"has {next(iter(both), '')!r:.60}, which is used")


def _check_clocks(derived: Sequence[Entry]) -> None:
    """The dates of a column are read once."""
    clocks: dict[str, tuple[Any, Any]] = {}
    for i, entry in enumerate(derived):
        if entry["take"] in DATES:
            own = entry.get("order"), entry.get("zone")
            agrees = clocks.setdefault(entry["column"], own) == own
            ensure(agrees, f"recipe.derived[{i}]", "has another order or zone than an earlier part of the same column")


def _check_entry(entry: Entry, feature: Entry, place: str) -> None:
    take, levels = entry["take"], feature["levels"]
    for name in entry:
        ensure(name not in BESIDES or name in _allowed(take), place, f"has {name!r}, which a {take} has not")
    if (needed := _NEEDED.get(take)) is not None:
        ensure(needed in entry, place, f"lacks {needed!r}, which a {take} has")
    kind = {"weekday": "ordered", "group": "categorical"}.get(take, "numeric")
    ensure(feature["kind"] == kind, place, f"makes a {kind} feature, and {feature['name']!r:.60} is {feature['kind']}")
    if take == "weekday":
        ensure(levels == [d for d in WEEKDAYS if d in levels], place, "has levels that are no weekdays in their order")
    if take == "group":
        ensure(entry["other"] in levels, place, f"has {entry['other']!r:.60}, which is no level of its feature")
    if take == "duration":
        ensure(entry["unit"] in DURATIONS, place, f"has a unit that is none of {', '.join(DURATIONS)}")
    if take == "number":
        _check_pair(entry.get("decimal", "."), entry.get("thousands", ""), place)


def check_marks(marks: Mapping[str, Entry]) -> None:
    """Hold the marks of each column against one another."""
    for name, entry in marks.items():
        _check_pair(entry["decimal"], entry["thousands"], f"marks[{name!r:.60}]")


def _check_pair(decimal: str, thousands: str, place: str) -> None:
    ensure(decimal != thousands, place, "has the same mark for decimals and thousands")

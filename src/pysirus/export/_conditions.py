"""A condition in, what it asks out, in the few words that every target language has.

A rule is a conjunction, and each of its conditions is one of: a test of known values, with missing values added or not.
For categories the test lists the levels that hold, or those that do not: an unseen category is in neither
list, so which of the two is written decides where it goes (the condition's ``unseen``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pysirus._data.recipe import DATES, Derived
from pysirus._message import PlainError
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Condition

ISO = ("", "ymd")  # dates of a type of dates, or written so that everybody reads them alike


class ExportError(PlainError, ValueError):
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


def tests_of(rule: FittedTerm, model: Model) -> list[Test]:
    """The tests of a rule; all must pass."""
    return [resolve(condition, model) for condition in rule.conditions]


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
        f"Column '{model.features[index].name}' has levels of type {found}, which {format} cannot hold. "
        "Fit with levels that are text, numbers or true and false."
    )


def check_doubles(model: Model, index: int, format: str) -> None:
    """Reject levels that are whole numbers of more digits than a double holds: several would be one."""
    feature = model.features[index]
    for level in feature.levels:
        if isinstance(level, int) and float(level) != level:
            raise ExportError(
                f"Column '{feature.name}' has the level {level}, which has more digits than a number of {format}. "
                "Fit with levels that are text."
            )


def check_labels(model: Model, format: str) -> None:
    """Reject classes that are neither text nor numbers nor true and false."""
    for label in model.classes or ():
        if not isinstance(label, (str, int, float)):
            raise ExportError(
                f"The class {label!r} is of type {type(label).__name__}, which {format} cannot hold. "
                "Fit with labels that are text, numbers or true and false."
            )

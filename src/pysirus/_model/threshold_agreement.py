"""The rules of a document in, nothing out, or a ``Damage``: do thresholds, cuts and the quantiles in paths agree?

The threshold of a condition is a number in the gap of its cut, and no quantile in a path is between the two: a cut has
one threshold in all rules, and of two cuts of a column the later one, with its quantile, is above the earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from pysirus._model.fields import ensure

Entry = Mapping[str, Any]
Cut = tuple[str, Any]  # the name of a column and the cut, as it is written
Found = dict[Cut, float]


def check_thresholds(rules: Sequence[Entry], place: str) -> None:
    """Hold the numbers of all rules of a list against each other."""
    in_use: Found = {}
    in_paths: Found = {}
    quantiles: dict[str, dict[int, list[float]]] = {}  # all that is said of each, by column
    for r, rule in enumerate(rules):
        own: set[tuple[Any, ...]] = set()
        here = f"{place}[{r}]"
        for split in rule["path"]:
            if split["cut"][0] in ("quantile", "value") and isinstance(split["value"], (int, float)):
                own.add((split["feature"], *split["cut"]))
                _agree(in_paths, split["feature"], split["cut"], split["value"], f"{here}.path")
                _check_value(split["cut"], split["value"], f"{here}.path", free=False)
        for condition in rule["conditions"]:
            for name in ("lower", "upper"):
                cut, value = condition[f"{name}_cut"], condition[name]
                if cut is not None and value is not None:
                    _agree(in_use, condition["feature"], cut, value, f"{here}.conditions")
                    _check_value(cut, value, f"{here}.conditions", free=(condition["feature"], *cut) in own)
    for (feature, (kind, number)), value in chain(in_use.items(), in_paths.items()):
        if kind == "quantile":
            quantiles.setdefault(feature, {}).setdefault(number, []).append(value)
    for feature, column in quantiles.items():
        for before, after in pairwise(sorted(column)):
            rises = max(column[before]) < min(column[after])
            ensure(rises, place, f"has cuts of {feature!r:.60} whose thresholds do not rise")


def _agree(found: Found, feature: str, cut: Sequence[Any], value: float, place: str) -> None:
    """A cut is at one number."""
    known = found.setdefault((feature, tuple(cut)), value)
    ensure(known == value, place, f"has a cut of {feature!r:.60} at {value!r}, which is at {known!r} elsewhere")


def _check_value(cut: Sequence[Any], value: float, place: str, *, free: bool) -> None:
    """A cut at a value: its threshold is not above it and, of a rule that was given, is it."""
    kind, identity = cut
    fits = kind != "value" or (value <= identity if free else value == identity)
    ensure(fits, place, f"has a cut at {identity!r}, and the threshold is {value!r}")

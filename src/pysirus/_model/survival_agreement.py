"""The document of a survival model in, nothing out, or a ``Damage`` where what it says of events disagrees.

A survival model has a hazard as its link, a baseline hazard (for each size of a tuned list too), and events and medians
inside and outside each rule. No other model has any of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysirus._families.base import Family
from pysirus._model.fields import ensure, inner

Entry = Mapping[str, Any]


def check_survival(document: Entry, family: Family) -> None:
    """Hazards and outcomes go together."""
    tuning = document.get("tuning") or {"rules": [], "sizes": []}
    lists = {"rules": document["rules"], "tuning.rules": tuning["rules"]}
    _check_there(document, "survival", "", family)
    for place, rules in lists.items():
        for r, rule in enumerate(rules):
            _check_there(rule, "survival", f"{place}[{r}]", family)
    for k, size in enumerate(tuning["sizes"]):
        _check_there(size, "cumulative_hazard", f"tuning.sizes[{k}]", family)
    if not family.has_hazard:
        return
    survival = document["survival"]
    for place, rules in lists.items():
        _check_outcomes(rules, survival, place)
    n_rows = document["facts"].get("n_rows")
    few = n_rows is None or survival["n_events"] <= n_rows
    ensure(few, "survival.n_events", f"is {survival['n_events']}, of {n_rows} rows")
    ensure(document.get("moments") is None, "moments", "must be null for survival")
    ensure(document.get("likelihood") is None, "likelihood", "must be null for survival")
    n_rules = len(document["rules"])
    if 0 < n_rules <= len(tuning["sizes"]):
        same = tuning["sizes"][n_rules - 1]["cumulative_hazard"] == survival["cumulative_hazard"]
        ensure(same, "survival.cumulative_hazard", f"must be that of tuning.sizes[{n_rules - 1}]")


def _check_there(entry: Entry, key: str, place: str, family: Family) -> None:
    ensure((key in entry) == family.has_hazard, inner(place, key), "is there for survival, and only there")


def _check_outcomes(rules: Sequence[Entry], survival: Entry, place: str) -> None:
    for r, rule in enumerate(rules):
        here, sides = f"{place}[{r}].survival", rule["survival"]
        total = sum(side["n_events"] for side in sides)
        known = survival["n_events"]
        ensure(total == known, here, f"has {total} events inside and outside, the model {known}")
        for side, name in zip(sides, ("n_inside", "n_outside")):
            few = rule[name] is None or side["n_events"] <= rule[name]
            ensure(few, here, f"has more events than {name}")

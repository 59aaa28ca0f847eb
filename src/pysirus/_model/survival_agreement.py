"""The document of a survival model in, nothing out, or a ``Damage`` where what it says of events disagrees.

A survival model has a hazard as its link, a baseline hazard (for each size of a tuned list too), and events and medians
inside and outside each rule. No other model has any of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysirus._model.fields import ensure

Entry = Mapping[str, Any]


def check_survival(document: Entry) -> None:
    """Task, link, hazards and outcomes go together."""
    survival, tuning = document.get("survival"), document.get("tuning")
    follows = document["task"] == "survival"
    ensure(follows == (document.get("link") == "hazard"), "link", "is 'hazard' for survival, and only there")
    ensure(follows == (survival is not None), "survival", "is there for survival, and only there")
    lists = [("rules", document["rules"])] + ([] if tuning is None else [("tuning.rules", tuning["rules"])])
    for place, rules in lists:
        _check_outcomes(rules, survival, place)
    for k, size in enumerate([] if tuning is None else tuning["sizes"]):
        kept = "cumulative_hazard" in size
        ensure(kept == follows, f"tuning.sizes[{k}].cumulative_hazard", "is there for survival, and only there")
    if survival is None:
        return
    n_rows = document["facts"].get("n_rows")
    few = n_rows is None or survival["n_events"] <= n_rows
    ensure(few, "survival.n_events", f"is {survival['n_events']}, of {n_rows} rows")
    ensure(document.get("moments") is None, "moments", "must be null for survival")
    ensure(document.get("likelihood") is None, "likelihood", "must be null for survival")
    n_rules = len(document["rules"])
    if tuning is not None and 0 < n_rules <= len(tuning["sizes"]):
        same = tuning["sizes"][n_rules - 1]["cumulative_hazard"] == survival["cumulative_hazard"]
        ensure(same, "survival.cumulative_hazard", f"must be that of tuning.sizes[{n_rules - 1}]")


def _check_outcomes(rules: Sequence[Entry], survival: Entry | None, place: str) -> None:
    for r, rule in enumerate(rules):
        here, sides = f"{place}[{r}].survival", rule.get("survival")
        ensure((sides is None) == (survival is None), here, "is there for survival, and only there")
        if sides is None or survival is None:
            continue
        total = sum(side["n_events"] for side in sides)
        known = survival["n_events"]
        ensure(total == known, here, f"has {total} events inside and outside, the model {known}")
        for side, name in zip(sides, ("n_inside", "n_outside")):
            few = rule[name] is None or side["n_events"] <= rule[name]
            ensure(few, here, f"has more events than {name}")

"""The rules of a document in, nothing out, or a ``Damage`` where the keys of a rule, or of two, disagree.

What a rule reads and what it computes come from different keys (a name and a number of its column, a cut and its
threshold): here they are held against each other. The threshold of a condition is a number in the gap of its cut, and
no quantile in a path is between the two: a cut has one threshold in all rules, and of two cuts of a column the later
one, with its quantile, is above the earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from pysirus._families.base import Family
from pysirus._model.keys import record
from pysirus._model.kinds import Damage, distinct, ensure, inner, refuse
from pysirus._model.term_spec import EffectKeys, SlopeKeys
from pysirus._terms.fitted import Effect, EffectError

Entry = Mapping[str, Any]
Cut = tuple[str, Any]  # the name of a column and the cut, as it is written
Found = dict[Cut, float]
ROUNDING = 1e-12  # of a logarithm, which another machine may round otherwise
LARGEST_LOG = 700.0  # whose exponential is a number, as is that of its negative
BALANCE = 1e-6  # of numbers that sum to zero, as a share of their sizes
ROUNDED = 1.06  # by how much more a slope may be that is rounded to two digits


def check_rules(rules: Sequence[Entry], document: Entry, family: Family, place: str) -> None:
    """Each rule and slope by itself, and all of them together."""
    seen: set[Any] = set()
    n_rows = None
    for r, rule in enumerate(rules):
        here = f"{place}[{r}]"
        corrects = rule.get("stage", 1) > 1
        may = family.takes_corrections or not corrects
        ensure(may, inner(here, "stage"), "corrects shares, which only scores do")
        key = CHECKS[rule.get("kind", "")](rule, document, family, here)
        if "effect" in rule:
            _check_effect(rule, document, family, here)
            ensure(r == 0 or "effect" in rules[r - 1], here, "has a fixed effect, and comes after one that has none")
        found, of = rule.get("returned", (0, 0))
        ensure(found <= of, inner(here, "returned"), f"is {found} of {of} folds")
        ensure(key not in seen, here, "is in the list twice")
        seen.add(key)
        rows = _rows_of(rule, here)
        ensure(rows is None or n_rows in (None, rows), here, f"is of {rows} rows, an earlier rule of {n_rows}")
        n_rows = rows if n_rows is None else n_rows
    _check_thresholds([rule for rule in rules if "kind" not in rule], place)


def _check_rule(rule: Entry, document: Entry, family: Family, here: str) -> Any:
    """A rule by itself; returns what it reads."""
    conditions, features = rule["conditions"], document["features"]
    for i, condition in enumerate(conditions):
        _check_condition(condition, features, f"{here}.conditions[{i}]")
    distinct([c["index"] for c in conditions], f"{here}.conditions: their columns")
    own = {c["feature"]: features[c["index"]] for c in conditions}
    for i, split in enumerate(rule["path"]):
        _check_split(split, own, f"{here}.path[{i}]")
    fault = family.residual_fault if rule.get("stage", 1) > 1 else family.output_fault
    for name in ("inside", "outside"):
        check_output(rule[name], family, inner(here, name))
        ensure_none("" if "effect" in rule else fault(rule[name]), inner(here, name))
    if "effect" in rule:
        shown = family.has_hazard or rule.get("observed") is not None
        ensure(shown, f"{here}.observed", "must have the means of a rule with an effect")
    for value in rule.get("observed") or ():
        check_output(value, family, inner(here, "observed"))
        ensure_none(family.output_fault(value), inner(here, "observed"))
    return frozenset(_reading(c) for c in conditions)


def _check_slope(slope: Entry, document: Entry, family: Family, here: str) -> Any:
    """A slope by itself; returns what it reads."""
    ensure(document["version"] > 2, here, "is a slope, which files of version 3 and later have")
    ensure(family.adds_up and family.effect_scale is not None, here, "is a slope, and these rules do not add up")
    feature = column_of(slope, document["features"], here)
    ensure(feature["kind"] == "numeric", here, f"is a slope of {feature['name']!r:.60}, which is not numeric")
    rises = slope["lower"] <= slope["mean"] <= slope["upper"]
    ensure(rises, here, "must have its mean between its lower and its upper end")
    for name in ("inside", "slope"):
        check_output(slope[name], family, inner(here, name))
        values = np.atleast_1d(np.asarray(slope[name], dtype=np.float64))
        balance = abs(values.sum()) <= BALANCE * np.abs(values).sum()
        ensure(not family.shape or bool(balance), inner(here, name), "must be numbers that sum to 0")
    scale = family.effect_scale
    multiplies = scale is not None and scale.multiplies
    ensure(multiplies or not slope.get("multiplies", False), here, "is told as a factor, and slopes add here")
    if slope.get("multiplies", False):
        log = (slope["weight"] or 0.0) * np.ravel(slope["inside"])[0] * slope["step"]
        ensure(abs(log) < LARGEST_LOG, here, "must have a factor, exp(weight * inside * step), that is a number")
    known = SimpleNamespace(classes=family.classes)
    wanted, found = (np.asarray(own) for own in (record(SlopeKeys).read(slope, here, known).slope, slope["slope"]))
    near = np.isfinite(wanted) & (np.abs(wanted - found) <= ROUNDING * np.abs(wanted))
    ensure(bool(near.all()), f"{here}.slope", "must be weight times inside, rounded by step and decimals")
    return "slope", slope["feature"]


CHECKS = {"": _check_rule, "slope": _check_slope}  # by kind


def ends_of(rule: Entry) -> tuple[Any, Any]:
    """Outputs between which all others lie: inside and outside, of a slope at both ends of its range."""
    inside = np.asarray(rule["inside"], dtype=np.float64)
    if "kind" not in rule:
        return inside, np.asarray(rule["outside"], dtype=np.float64)
    return inside * (rule["lower"] - rule["mean"]) * ROUNDED, inside * (rule["upper"] - rule["mean"]) * ROUNDED


def _reading(condition: Entry) -> tuple[Any, ...]:
    """What a condition reads, as rules compare by it."""
    cuts = (repr(condition["lower_cut"]), repr(condition["upper_cut"]))
    return (condition["feature"], *cuts, bool(condition["missing"]), condition["known"])


def _rows_of(rule: Entry, place: str) -> int | None:
    inside, outside = rule["n_inside"], rule["n_outside"]
    ensure((inside is None) == (outside is None), place, "must have both n_inside and n_outside, or none of them")
    return None if inside is None else int(inside + outside)


# ------------------------------------------------------------------------------------------------- conditions and paths


def column_of(entry: Entry, features: Sequence[Entry], place: str) -> Entry:
    """The column that an entry means by number and by name."""
    index, name = entry["index"], entry["feature"]
    if index >= len(features):
        refuse(inner(place, "index"), f"the number of a column, 0 to {len(features) - 1}", index)
    found = features[index]["name"]
    ensure(found == name, place, f"is of column {index}, which is {found!r:.60}, and says {name!r:.60}")
    return features[index]


def _check_listed(levels: Sequence[Any], feature: Entry, place: str) -> None:
    """Levels of a column, each once."""
    known = {(type(level), level) for level in feature["levels"]}
    for level in levels:
        ensure(
            (type(level), level) in known,
            place,
            f"has {level!r:.60}, which is not a category of {feature['name']!r:.60}",
        )
    distinct(levels, place)


def _check_cut(cut: Sequence[Any], feature: Entry, place: str) -> None:
    """A cut and its column; ``_check_thresholds`` holds it against its threshold."""
    kind, identity = cut
    if feature["kind"] == "numeric":
        ensure(kind in ("quantile", "value"), place, f"is one of {kind}, and the column is numeric")
        return
    ensure(kind == "levels", place, f"is one of {kind}, and the column is {feature['kind']}")
    _check_listed(identity, feature, place)
    ensure(sorted(identity, key=str) == identity, place, "must list its categories in order")


def _check_condition(condition: Entry, features: Sequence[Entry], place: str) -> None:
    feature = column_of(condition, features, place)
    cuts = [condition["lower_cut"], condition["upper_cut"]]
    if not condition["known"]:  # `is missing`
        ensure(condition["missing"] is True, place, "takes neither known nor missing values")
        ensure(cuts == [None, None], place, "is of missing values only, and has a cut")
    elif cuts == [None, None]:  # `is known`
        ensure(condition["missing"] is False, place, "has no cut and takes missing values: it says nothing")
    if feature["kind"] == "numeric":
        _check_interval(condition, feature, place)
    else:
        _check_levels(condition, feature, place)


def _check_interval(condition: Entry, feature: Entry, place: str) -> None:
    ensure(condition["levels"] is None, place, "has categories, and its column is numeric")
    cuts = []
    for name in ("lower", "upper"):
        end, cut = condition[name], condition[f"{name}_cut"]
        ensure((end is None) == (cut is None), place, f"must have both {name} and {name}_cut, or none of them")
        if cut is not None:
            _check_cut(cut, feature, f"{place}.{name}_cut")
            cuts.append(cut)
    if len(cuts) == 2:
        ensure(condition["lower"] < condition["upper"], place, "must have its lower end below its upper end")
        ensure(cuts[0][0] == cuts[1][0], place, "has cuts of two kinds")
        ensure(cuts[0][1] < cuts[1][1], place, "must have its lower cut below its upper cut")


def _check_levels(condition: Entry, feature: Entry, place: str) -> None:
    ends = (condition["lower"], condition["upper"])
    ensure(ends == (None, None), place, f"has a threshold, and its column is {feature['kind']}")
    levels = condition["levels"]
    if levels is None:
        refuse(f"{place}.levels", "a list", None)
    _check_listed(levels, feature, f"{place}.levels")
    lower, upper = condition["lower_cut"], condition["upper_cut"]
    for name, cut in (("lower_cut", lower), ("upper_cut", upper)):
        if cut is not None:
            _check_cut(cut, feature, f"{place}.{name}")
    taken = set(feature["levels"] if upper is None else upper[1]) - set(() if lower is None else lower[1])
    ensure(set(levels) == taken, f"{place}.levels", "must be the categories between its two cuts")
    order = sorted(levels) if feature["kind"] == "categorical" else [v for v in feature["levels"] if v in taken]
    ensure(levels == order, f"{place}.levels", "must be in order")


SIDES = {"<": "numeric", ">=": "numeric", "in": "labels", "not in": "labels", "known": None, "missing": None}


def _check_split(split: Entry, features: Mapping[str, Entry], place: str) -> None:
    feature = features.get(split["feature"])
    if feature is None:
        refuse(f"{place}.feature", "a column of the rule's conditions", split["feature"])
    op, value, cut = split["op"], split["value"], split["cut"]
    if SIDES[op] is None:
        ensure(value is None and cut == ["missing", None], place, f"says '{op}' and has a value or a cut")
        return
    kind = "numeric" if feature["kind"] == "numeric" else "labels"
    listed = "labels" if isinstance(value, list) else None if value is None else "numeric"
    ensure(SIDES[op] == kind == listed, place, f"says '{op}', which does not go with its value or its column")
    _check_cut(cut, feature, f"{place}.cut")
    if kind == "labels":
        _check_listed(value, feature, f"{place}.value")
        ensure(set(cut[1]) == set(value), place, "has a cut that differs from its categories")


# ------------------------------------------------------------------------------------------------ outputs and effects


def check_output(value: Any, family: Family, place: str) -> None:
    """As many numbers as the family has outputs."""
    found = (len(value),) if isinstance(value, list) else ()
    if found != family.shape:
        refuse(place, family.output_words, value)


def ensure_none(fault: str, place: str) -> None:
    """Complain of a fault, if there is one."""
    ensure(not fault, place, fault)


def _check_effect(rule: Entry, document: Entry, family: Family, place: str) -> None:
    """A given rule of the first stage and of weight 1, whose outputs are the effect and nothing."""
    here, found = f"{place}.effect", rule["effect"]
    ensure(("adds" in found) != ("times" in found), here, "must have either adds or times")
    ensure("for" not in found or "adds" in found, here, "names a class, and has a factor")
    ensure(rule.get("given", False) and rule.get("stage", 1) == 1, here, "is of a rule that is not given")
    ensure(document["aggregation"] == "sum", here, "is for sums")
    ensure(rule["weight"] in (None, 1), f"{place}.weight", "must be 1 where the effect is fixed")
    effect: Effect = record(EffectKeys).read(found, here, None)
    try:
        resolved = effect.resolved(family.effect_scale, family.classes)
    except EffectError as error:
        raise Damage(f"{here} is not allowed: {error}") from error
    ensure(resolved == effect and type(resolved.label) is type(effect.label), here, "must name a class as it is")
    inside, outside = (np.asarray(rule.get(name, 0.0), dtype=np.float64) for name in ("inside", "outside"))
    wanted = np.asarray(resolved.output(family.classes), dtype=np.float64)
    near = np.abs(inside - wanted) <= ROUNDING * np.abs(wanted)
    ensure(bool(near.all()), f"{place}.inside", "must be what the effect adds")
    ensure(not outside.any(), f"{place}.outside", "must be 0 where the effect is fixed")


# ---------------------------------------------------------------------------------------------------------- thresholds


def _check_thresholds(rules: Sequence[Entry], place: str) -> None:
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

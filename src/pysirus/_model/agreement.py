"""A document whose fields each hold what they should in, nothing out, or a ``Damage`` where two of them disagree.

What a rule reads and what it computes come from different fields (a name and a number of its column, a cut and its
threshold): here they are held against each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import MAX_LEVELS
from pysirus._families.base import Family
from pysirus._families.of_model import family_of
from pysirus._families.response.read import MAX_CLASSES
from pysirus._model.effect_agreement import check_effect
from pysirus._model.fields import Damage, distinct, ensure, inner, one_type, refuse
from pysirus._model.recipe_text import check_marks, check_recipe
from pysirus._model.survival_agreement import check_survival
from pysirus._model.threshold_agreement import check_thresholds
from pysirus._parameters.check import label_number

Entry = Mapping[str, Any]
LABEL_TYPES = re.compile(r"\|b1|[<>]?[iuf][1248]|[<>|]?[iu]1|[<>]U([0-9]{1,5})|\|?O")


def check_agreement(document: Entry) -> None:
    """Hold the sections of a document against each other."""
    _check_columns(document["features"])
    if "marks" in document:
        ensure(document["version"] == 2, "marks", "are in files of version 2 only")
        check_marks(document["marks"])
    if "recipe" in document:
        ensure(document["version"] == 2, "recipe", "is in files of version 2 only")
        check_recipe(document["recipe"], document["features"])
        numbered = [f"x{i}" for i in range(len(document["recipe"]["columns"]))]
        ensure(
            document["named"] or document["recipe"]["columns"] == numbered,
            "named",
            "is false, so the columns of the recipe are those of an array: x0, x1, ...",
        )
    _check_classes(document)
    family = _family_of(document)
    if document["aggregation"] == "mean":
        _check_mean(document, family)
    for place in ("mean", "intercept"):
        _check_output(document[place], family, place)
    _ensure_none(family.mean_fault(document["mean"]), "mean")
    _check_rules(document["rules"], document, family, "rules")
    _check_terms(document, family)
    weights = [rule["weight"] or 0.0 for rule in document["rules"]]
    ensure(document["facts"].get("n_dust", 0) <= weights.count(0), "facts.n_dust", "is more than the rules of weight 0")
    _check_reach(document, family, document["rules"], [weights], [document["intercept"]], "rules")
    if document.get("tuning") is not None:
        _check_tuning(document, family, document["tuning"])
    check_survival(document, family)


# ---------------------------------------------------------------------------------------------- columns and classes


def _check_columns(features: Sequence[Entry]) -> None:
    names = [feature["name"] for feature in features]
    distinct(names, "the names of the features")
    for i, feature in enumerate(features):
        place, levels = f"features[{i}].levels", feature["levels"]
        if feature["kind"] == "numeric":
            ensure(not levels, place, "must be empty for a numeric column")
        ensure(len(levels) <= MAX_LEVELS, place, f"has {len(levels)} levels; at most {MAX_LEVELS} are taken")
        one_type(levels, place)
        distinct(levels, place)


def _check_classes(document: Entry) -> None:
    classes = document["classes"] or []
    ensure(len(classes) <= MAX_CLASSES, "classes", f"has {len(classes)} labels; at most {MAX_CLASSES} are taken")
    one_type(classes, "classes")
    distinct(classes, "classes")
    ensure(sorted(classes) == classes, "classes", "must be in order")
    if "positive_class" in document:
        known = len(classes) == 2 and label_number(document["positive_class"], classes) is not None
        ensure(known, "positive_class", "must be one of two classes")
    kind = document["facts"].get("label_type")
    if kind is None:
        return
    place = "facts.label_type"
    if not LABEL_TYPES.fullmatch(kind):  # before NumPy makes an array of it: '<U99999999' would take gigabytes
        refuse(place, "a type of labels such as '<U8' or '<i8'", kind)
    try:
        found = np.asarray(classes, dtype=kind).tolist()
    except (OverflowError, TypeError, ValueError):
        found = None
    same = found == classes and [type(label) for label in found or ()] == [type(label) for label in classes]
    ensure(same, place, f"is {kind!r}, which does not hold the classes")


# ----------------------------------------------------------------------------------------------------------- rules


def _column_of(entry: Entry, features: Sequence[Entry], place: str) -> Entry:
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
        ensure((type(level), level) in known, place, f"has {level!r:.60}, which is no level of {feature['name']!r:.60}")
    distinct(levels, place)


def _check_cut(cut: Sequence[Any], feature: Entry, place: str) -> None:
    """A cut and its column; ``threshold_agreement`` holds it against its threshold."""
    kind, identity = cut
    if feature["kind"] == "numeric":
        ensure(kind in ("quantile", "value"), place, f"is one of {kind}, and the column is numeric")
        return
    ensure(kind == "levels", place, f"is one of {kind}, and the column is {feature['kind']}")
    _check_listed(identity, feature, place)
    ensure(sorted(identity, key=str) == identity, place, "must list its levels in order")


def _check_condition(condition: Entry, features: Sequence[Entry], place: str) -> None:
    feature = _column_of(condition, features, place)
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
    ensure(condition["levels"] is None, place, "has levels, and its column is numeric")
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
    ensure(set(levels) == taken, f"{place}.levels", "must be the levels between its two cuts")
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
        ensure(set(cut[1]) == set(value), place, "has a cut that differs from its levels")


def _check_output(value: Any, family: Family, place: str) -> None:
    found = (len(value),) if isinstance(value, list) else ()
    if found != family.shape:
        refuse(place, family.output_words, value)


def _ensure_none(fault: str, place: str) -> None:
    ensure(not fault, place, fault)


def _family_of(document: Entry) -> Family:
    """What task, link and classes say together."""
    labels = None if document["classes"] is None else tuple(document["classes"])
    ensure((document["version"] == 1) == ("link" not in document), "link", "is in files of version 2, and only there")
    link, facts = document.get("link", "identity"), document["facts"]
    family = family_of(link, document["target"], document["mean"], classes=labels, facts=facts)
    goes = ("power" in family.facts) == ("power" in facts)
    ensure(goes, "facts.power", "must be there for the loss 'tweedie', and only then")
    fits = (family.task, family.classes) == (document["task"], labels)
    others = f"{len(labels or ()) or 'no'} classes and the link {family.link!r}"
    ensure(fits, "task", f"is {document['task']!r}, which does not go with {others}")
    kept = document.get("likelihood") is not None
    ensure(family.is_scored or not kept, "likelihood", "is for a model with a link")
    return family


def _check_rules(rules: Sequence[Entry], document: Entry, family: Family, place: str) -> None:
    features = document["features"]
    seen: set[Any] = set()
    n_rows = None
    for r, rule in enumerate(rules):
        here = f"{place}[{r}]"
        conditions = rule["conditions"]
        for i, condition in enumerate(conditions):
            _check_condition(condition, features, f"{here}.conditions[{i}]")
        distinct([c["index"] for c in conditions], f"{here}.conditions: their columns")
        own = {c["feature"]: features[c["index"]] for c in conditions}
        for i, split in enumerate(rule["path"]):
            _check_split(split, own, f"{here}.path[{i}]")
        corrects = rule.get("stage", 1) > 1
        may = family.takes_corrections or not corrects
        ensure(may, inner(here, "stage"), "corrects shares, which only scores do")
        fault = family.residual_fault if corrects else family.output_fault
        for name in ("inside", "outside"):
            _check_output(rule[name], family, inner(here, name))
            _ensure_none("" if "effect" in rule else fault(rule[name]), inner(here, name))
        if "effect" in rule:
            check_effect(rule, document, family, here)
            ensure(r == 0 or "effect" in rules[r - 1], here, "has a fixed effect, and comes after one that has none")
        for value in rule.get("observed") or ():
            _check_output(value, family, inner(here, "observed"))
            _ensure_none(family.output_fault(value), inner(here, "observed"))
        key = frozenset(_reading(c) for c in conditions)
        ensure(key not in seen, here, "is in the list twice")
        seen.add(key)
        rows = _rows_of(rule, here)
        ensure(rows is None or n_rows in (None, rows), here, f"is of {rows} rows, an earlier rule of {n_rows}")
        n_rows = rows if n_rows is None else n_rows
    check_thresholds(rules, place)


def _reading(condition: Entry) -> tuple[Any, ...]:
    """What a condition reads, as rules compare by it."""
    cuts = (repr(condition["lower_cut"]), repr(condition["upper_cut"]))
    return (condition["feature"], *cuts, bool(condition["missing"]), condition["known"])


def _rows_of(rule: Entry, place: str) -> int | None:
    inside, outside = rule["n_inside"], rule["n_outside"]
    ensure((inside is None) == (outside is None), place, "must have both n_inside and n_outside, or none of them")
    return None if inside is None else int(inside + outside)


# ----------------------------------------------------------------------------------------------- sums and terms


def _check_terms(document: Entry, family: Family) -> None:
    terms = document["terms"]
    for t, term in enumerate(terms):
        place = f"terms[{t}]"
        feature = _column_of(term, document["features"], place)
        ensure(feature["kind"] == "numeric", place, f"is linear in {feature['name']!r:.60}, which is not numeric")
        ensure(term["lower"] <= term["upper"], place, "must have its lower limit below its upper limit")
    distinct([term["index"] for term in terms], "terms: their columns")
    ensure(not terms or not family.shape, "terms", "must be empty for classes")


def _check_mean(document: Entry, family: Family) -> None:
    """A weighted mean is of numbers, without terms, and its weights are not negative."""
    ensure(not family.is_scored, "link", f"is {family.link!r}, which is for sums")
    ensure(not family.shape, "aggregation", "is 'mean', which is not for classes")
    ensure(not document["terms"], "aggregation", "is 'mean', which has no linear terms")
    for r, rule in enumerate(document["rules"]):
        ensure((rule["weight"] or 0.0) >= 0, f"rules[{r}].weight", "must not be negative in a weighted mean")


def _check_reach(
    document: Entry,
    family: Family,
    rules: Sequence[Entry],
    weights: Sequence[Sequence[float]],
    starts: Sequence[Any],
    place: str,
) -> None:
    """No prediction can overflow, whatever the row: for the weights and intercepts of one list or of several."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.abs(np.atleast_1d(np.asarray(document["mean"], dtype=np.float64)))
        largest = np.zeros((len(rules), len(mean)))
        for r, rule in enumerate(rules):
            sides = [np.abs(np.atleast_1d(np.asarray(rule[name], dtype=np.float64))) for name in ("inside", "outside")]
            largest[r] = sides[0] + sides[1] + mean
        terms = [
            abs(float(t["weight"])) * (abs(float(t["lower"])) + abs(float(t["upper"])) + abs(float(t["missing"])))
            for t in document["terms"]
        ]
        spans = [float(t["upper"]) - float(t["lower"]) for t in document["terms"]]
        base = sum(terms) + sum(spans) + float(document["root_weight"]) + mean
        for own, start in zip(weights, starts):
            sizes: NDArray[np.float64] = np.abs(np.asarray(own, dtype=np.float64))
            total = base + np.abs(np.asarray(start, dtype=np.float64)) + sizes @ largest[: len(sizes)] + sizes.sum()
            if not np.isfinite(8 * total).all() or not np.isfinite(8 * largest).all():
                raise Damage(f"{place}: their numbers are so large that their sum overflows")
            if family.largest_score < np.inf and _largest_score(rules, own, start) > family.largest_score:
                raise Damage(f"{place}: their numbers are so large that the exponential of their sum overflows")


def _largest_score(rules: Sequence[Entry], weights: Sequence[float], start: Any) -> float:
    """The most that the sum of weighted outputs can reach."""
    sides = (
        max(weight * float(rule["inside"]), weight * float(rule["outside"])) for rule, weight in zip(rules, weights)
    )
    return float(start) + sum(sides)


# --------------------------------------------------------------------------------------------------------- tuning


def _check_tuning(document: Entry, family: Family, tuning: Entry) -> None:
    rules, sizes, path = tuning["rules"], tuning["sizes"], tuning["path"]
    _check_rules(rules, document, family, "tuning.rules")
    _check_path(tuning, path)
    for k, size in enumerate(sizes):
        place = f"tuning.sizes[{k}]"
        ensure(size["n_rules"] == k + 1 <= len(rules), place, f"must be of {k + 1} rules, of a list of {len(rules)}")
        n_weights = len(size["weights"])
        ensure(n_weights == k + 1, place, f"must have {k + 1} weights, found {n_weights}")
        n_idle = size["weights"].count(0)
        ensure(size.get("n_dust", 0) <= n_idle, f"{place}.n_dust", f"is more than the {n_idle} rules of weight 0")
        for rule, weight in zip(rules, size["weights"]):
            ensure("effect" not in rule or weight == 1, f"{place}.weights", "must be 1 for a rule with a fixed effect")
        _check_output(size["intercept"], family, f"{place}.intercept")
    ensure(bool(sizes) == bool(rules), "tuning.sizes", "must be there for a list of rules, and for no other")
    starts = [size["intercept"] for size in sizes]
    _check_reach(document, family, rules, [size["weights"] for size in sizes], starts, "tuning")
    _check_chosen(document, rules, sizes)


def _check_path(tuning: Entry, path: Entry) -> None:
    lengths = {name: len(column) for name, column in path.items()}
    ensure(len(set(lengths.values())) == 1, "tuning.path", f"has columns of unequal length {lengths}")
    n_steps = lengths["p0"]
    ensure(n_steps > 0 or not tuning["rules"], "tuning.path", "is empty")
    ensure(tuning["step"] < max(n_steps, 1), "tuning.step", f"is beyond the {n_steps} entries of the path")
    p0 = path["p0"]
    falls = all(later <= earlier + 1e-9 for earlier, later in pairwise(p0))
    ensure(falls, "tuning.path.p0", "must fall")


def _check_chosen(document: Entry, rules: Sequence[Entry], sizes: Sequence[Entry]) -> None:
    """The model is one of its sizes."""
    chosen = document["rules"]
    if not sizes and not chosen:
        return
    ensure(0 < len(chosen) <= len(sizes), "rules", f"has {len(chosen)} rules, which is no size of the tuned list")
    for r, (rule, known) in enumerate(zip(chosen, rules)):
        ensure(_asks(rule) == _asks(known), f"rules[{r}]", f"differs from tuning.rules[{r}]")
    size = sizes[len(chosen) - 1]
    weights = [rule["weight"] for rule in chosen]
    ensure(weights == size["weights"], "rules", f"must have the weights of tuning.sizes[{len(chosen) - 1}]")
    same = document["intercept"] == size["intercept"]
    ensure(same, "intercept", f"must be that of tuning.sizes[{len(chosen) - 1}]")


def _asks(rule: Entry) -> dict[str, Any]:
    """A rule without its weight."""
    return {name: value for name, value in rule.items() if name not in ("text", "weight")}

"""A document whose keys each hold what they should in, nothing out, or a ``Damage`` where two of them disagree.

``spec`` says what every key holds by itself, ``rule_agreement`` what goes together in rules; lines of numbers are
checked as they are read. A document that passes all of them is a model of which nothing fails later. No check allocates
more than the file holds already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.derived import DATES
from pysirus._data.written import DURATIONS, WEEKDAYS
from pysirus._families.base import Family
from pysirus._families.of_model import family_of
from pysirus._model.keys import keys_of
from pysirus._model.kinds import Damage, distinct, ensure, inner, is_real, refuse
from pysirus._model.model import Model
from pysirus._model.rule_agreement import check_output, check_rules, column_of, ends_of, ensure_none
from pysirus._model.spec import DOCUMENT
from pysirus._model.term_spec import DerivedKeys, taken_with
from pysirus._parameters import label_number
from pysirus._terms.fitted import FittedTerm
from pysirus._text.message import Parameter

Entry = Mapping[str, Any]
LABEL_TYPES = re.compile(r"\|b1|[<>]?[iuf][1248]|[<>|]?[iu]1|[<>]U([0-9]{1,5})|\|?O")
NEEDED = {"duration": "unit", "group": "other", "days": "since"}  # by what is taken of a column


def check_document(document: Entry) -> None:
    """Check all that a document says but for its lines of numbers, which are checked as they are read."""
    DOCUMENT.check(document, "")
    check_agreement(document)


def check_agreement(document: Entry) -> None:
    """Hold the sections of a document against each other."""
    _check_columns(document["features"])
    if "marks" in document:
        ensure(document["version"] > 1, "marks", "are in files of version 2 and later")
        _check_marks(document["marks"])
    if "recipe" in document:
        ensure(document["version"] > 1, "recipe", "is in files of version 2 and later")
        _check_recipe(document["recipe"], document["features"])
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
        check_output(document[place], family, place)
    ensure_none(family.mean_fault(document["mean"]), "mean")
    check_rules(document["rules"], document, family, "rules")
    _check_terms(document, family)
    weights = [rule["weight"] or 0.0 for rule in document["rules"]]
    ensure(
        document["facts"].get("n_pruned", 0) <= weights.count(0), "facts.n_pruned", "is more than the rules of weight 0"
    )
    _check_reach(document, family, document["rules"], [weights], [document["intercept"]], "rules")
    if document.get("tuning") is not None:
        _check_tuning(document, family, document["tuning"])
    _check_survival(document, family)


# ---------------------------------------------------------------------------------------------- columns and classes


def _check_columns(features: Sequence[Entry]) -> None:
    names = [feature["name"] for feature in features]
    distinct(names, "the names of the features")
    for i, feature in enumerate(features):
        place, levels = f"features[{i}].levels", feature["levels"]
        if feature["kind"] == "numeric":
            ensure(not levels, place, "must be empty for a numeric column")
        _one_type(levels, place)


def _check_classes(document: Entry) -> None:
    classes = document["classes"] or []
    _one_type(classes, "classes")
    ensure(sorted(classes) == classes, "classes", "must be in order")
    if "positive_class" in document:
        known = len(classes) == 2 and label_number(document["positive_class"], classes) is not None
        ensure(known, "positive_class", "must be one of two classes")
    for name in ("weights", "costs"):
        own = document.get("decision", {}).get(name)
        fits = own is None or (len(own) == len(classes) and min(own) >= 0 and max(own) > 0)
        ensure(fits, f"decision.{name}", f"must be {len(classes)} numbers from 0 on, one for each class")
    kind = document["facts"].get("label_type")
    if kind is None:
        return
    place = "facts.label_type"
    if not LABEL_TYPES.fullmatch(kind):  # before NumPy makes an array of it: '<U99999999' would take gigabytes
        refuse(place, "a type of class labels such as '<U8' or '<i8'", kind)
    try:
        found = np.asarray(classes, dtype=kind).tolist()
    except (OverflowError, TypeError, ValueError):
        found = None
    same = found == classes and [type(label) for label in found or ()] == [type(label) for label in classes]
    ensure(same, place, f"is {kind!r}, which does not hold the classes")


def _one_type(values: Sequence[Any], place: str) -> None:
    """All text, all numbers, or all true and false."""
    kinds = {"number" if is_real(value) else type(value).__name__ for value in values}
    if len(kinds) > 1:
        raise Damage(f"{place} mixes types ({', '.join(sorted(kinds))})")


def _family_of(document: Entry) -> Family:
    """What task, link and classes say together."""
    labels = None if document["classes"] is None else tuple(document["classes"])
    has_link = "link" in document
    ensure((document["version"] > 1) == has_link, "link", "is in files of version 2 and later, and only there")
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


# ----------------------------------------------------------------------------------------------------------- recipes


def _check_recipe(recipe: Entry, features: Sequence[Entry]) -> None:
    """Hold a recipe against the features that it makes."""
    columns = recipe["columns"]
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
        ensure(name in columns, "recipe.columns", f"lacks {name!r:.60}, which is used or ignored")
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
    own = [name for name, key in keys_of(DerivedKeys).items() if key.required]
    for name in entry:
        ensure(name in own or name in taken_with(take), place, f"has {name!r}, which a {take} has not")
    if (needed := NEEDED.get(take)) is not None:
        ensure(needed in entry, place, f"lacks {needed!r}, which a {take} has")
    kind = {"weekday": "ordered", "group": "categorical"}.get(take, "numeric")
    ensure(feature["kind"] == kind, place, f"makes a {kind} feature, and {feature['name']!r:.60} is {feature['kind']}")
    if take == "weekday":
        ensure(
            levels == [d for d in WEEKDAYS if d in levels],
            place,
            "has categories that are not the weekdays in their order",
        )
    if take == "group":
        ensure(entry["other"] in levels, place, f"has {entry['other']!r:.60}, which is not a category of its feature")
    if take == "duration":
        ensure(entry["unit"] in DURATIONS, place, f"has a unit that is none of {', '.join(DURATIONS)}")
    if take == "number":
        _check_pair(entry.get("decimal", "."), entry.get("thousands", ""), place)


def _check_marks(marks: Mapping[str, Entry]) -> None:
    """Hold the marks of each column against one another."""
    for name, entry in marks.items():
        _check_pair(entry["decimal"], entry["thousands"], f"marks[{name!r:.60}]")


def _check_pair(decimal: str, thousands: str, place: str) -> None:
    ensure(decimal != thousands, place, "has the same mark for decimals and thousands")


# ----------------------------------------------------------------------------------------------- sums and terms


def _check_terms(document: Entry, family: Family) -> None:
    terms = document["terms"]
    for t, term in enumerate(terms):
        place = f"terms[{t}]"
        feature = column_of(term, document["features"], place)
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
            inside, outside = (np.abs(np.atleast_1d(side)) for side in ends_of(rule))
            largest[r] = inside + outside + mean
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
    sides = (max(float(weight * side) for side in ends_of(rule)) for rule, weight in zip(rules, weights))
    return float(start) + sum(sides)


# --------------------------------------------------------------------------------------------------------- tuning


def _check_tuning(document: Entry, family: Family, tuning: Entry) -> None:
    rules, sizes, path = tuning["rules"], tuning["sizes"], tuning["path"]
    check_rules(rules, document, family, "tuning.rules")
    _check_path(tuning, path)
    for k, size in enumerate(sizes):
        place = f"tuning.sizes[{k}]"
        ensure(size["n_rules"] == k + 1 <= len(rules), place, f"must be of {k + 1} rules, of a list of {len(rules)}")
        n_weights = len(size["weights"])
        ensure(n_weights == k + 1, place, f"must have {k + 1} weights, found {n_weights}")
        returned, n_folds = size.get("returned"), tuning.get("n_folds", 0)
        fits = returned is None or (len(returned) == k + 1 and max(returned) <= n_folds)
        ensure(fits, f"{place}.returned", f"must have {k + 1} numbers of at most {n_folds} folds")
        n_idle = size["weights"].count(0)
        ensure(size.get("n_pruned", 0) <= n_idle, f"{place}.n_pruned", f"is more than the {n_idle} rules of weight 0")
        for rule, weight in zip(rules, size["weights"]):
            ensure("effect" not in rule or weight == 1, f"{place}.weights", "must be 1 for a rule with a fixed effect")
        check_output(size["intercept"], family, f"{place}.intercept")
    ensure(bool(sizes) == bool(rules), "tuning.sizes", "must be there for a rule list, and for no other model")
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
    """A rule without what depends on the size of its list, and a slope without what comes of its weight."""
    return {name: value for name, value in rule.items() if name not in ("text", "weight", "slope", "returned")}


# --------------------------------------------------------------------------------------------------------- survival


def _check_survival(document: Entry, family: Family) -> None:
    """Hazards and outcomes go together."""
    tuning = document.get("tuning") or {"rules": [], "sizes": []}
    lists = {"rules": document["rules"], "tuning.rules": tuning["rules"]}
    every = [(f"{name}[{r}]", rule) for name, rules in lists.items() for r, rule in enumerate(rules)]
    with_sides = [(place, rule) for place, rule in every if "kind" not in rule]  # slopes have none
    _check_there(document, "survival", "", family)
    for place, rule in with_sides:
        _check_there(rule, "survival", place, family)
    for k, size in enumerate(tuning["sizes"]):
        _check_there(size, "cumulative_hazard", f"tuning.sizes[{k}]", family)
    if not family.has_hazard:
        return
    survival = document["survival"]
    for place, rule in with_sides:
        _check_outcomes(rule, survival, f"{place}.survival")
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


def _check_outcomes(rule: Entry, survival: Entry, here: str) -> None:
    sides = rule["survival"]
    total = sum(side["n_events"] for side in sides)
    known = survival["n_events"]
    ensure(total == known, here, f"has {total} events inside and outside, the model {known}")
    for side, name in zip(sides, ("n_inside", "n_outside")):
        few = rule[name] is None or side["n_events"] <= rule[name]
        ensure(few, here, f"has more events than {name}")


# --------------------------------------------------------------------------------------------------------------- doubts

# A model in, sentences out: what its held-out rows and its rules give reason to doubt.
#
# Four doubts: held-out rows are predicted no better than by the constant; the longest list considered was chosen;
# fewer than half of the folds selected a rule; its two outputs differ by no more than two standard errors.


TWO = 2.0  # standard errors


def doubts(model: Model) -> list[str]:
    """What is to be said of a model that was cross-validated, the gravest first: messages, which each door words."""
    found, sentences = model.out_of_fold, []
    if found is not None and found.doubt:
        sentences.append(found.doubt)
    if _is_longest(model):
        sentences.append(
            f"The chosen list is the longest one considered; more rules may be better. Raise {Parameter('max_rules')}."
        )
    if rare := _rare(model):
        sentences.append(
            f"Fewer than half of the folds selected {_which([f'{i} ({n} of {folds})' for i, n, folds in rare])}: "
            f"with other rows the list would probably have {'another' if len(rare) == 1 else 'others'} instead."
        )
    noisy = [i for i, rule in enumerate(model.rules, start=1) if _is_noise(rule, model)]
    if noisy:
        which = _which(list(map(str, noisy)))
        sentences.append(f"The two outputs of {which} differ by no more than chance: by less than two standard errors.")
    return sentences


def _which(rules: Sequence[str]) -> str:
    """Rules by their numbers."""
    return f"rule {rules[0]}" if len(rules) == 1 else f"rules {', '.join(rules[:-1])} and {rules[-1]}"


def _rare(model: Model) -> list[tuple[int, int, int]]:
    """The numbers of the rules that fewer than half of the folds selected, and how many of them did; rarest first."""
    found = [(i, *rule.returned) for i, rule in enumerate(model.rules, start=1) if rule.returned is not None]
    return sorted((own for own in found if 2 * own[1] < own[2]), key=lambda own: (own[1] / own[2], own[0]))


def _is_longest(model: Model) -> bool:
    """Whether tuning ended at the largest size that it was allowed."""
    limit, tuning = model.facts.max_rules, model.tuning
    if limit is None or tuning is None or len(tuning.path) < 2 or len(model.selected) < 2:
        return False
    return bool(tuning.path.n_rules[min(tuning.step, len(tuning.path) - 1)] > limit - 1)


def _is_noise(rule: FittedTerm, model: Model) -> bool:
    """Whether the target differs by less than two standard errors between the rows inside and outside."""
    found = model.out_of_fold
    if found is None or rule.effect is not None or not rule.is_binary or not rule.n_inside or not rule.n_outside:
        return False
    variance = model.family.variance(found.variance)
    if variance is None:
        return False
    inside, outside = (np.atleast_1d(np.asarray(side, dtype=np.float64)) for side in rule.means)
    if rule.stage > 1 and rule.observed is None:  # its outputs are residuals
        variance = variance * min(1.0, found.metrics.get("unexplained_variance", (1.0, None))[0])
    error = np.sqrt(variance * (1 / rule.n_inside + 1 / rule.n_outside))
    return bool((np.abs(inside - outside) < TWO * error).all())

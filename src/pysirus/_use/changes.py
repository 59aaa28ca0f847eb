"""Two models in, every value that a prediction reads and that differs between them out.

The documents of the two model files are walked through. What is left out is named (``ASIDE``): all else is compared,
also what later versions add. Rules are compared where both models have them; ``diff`` lists the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysirus._families.labels import fold_middle
from pysirus._model.fields import inner
from pysirus._model.file import model_to_json, rule_to_json
from pysirus._model.model import Model
from pysirus._plain import in_quotes, one_line
from pysirus._terms.fitted import FittedTerm

# of a document: what no prediction reads, and what is compared below by its name and not by its place
ASIDE = {"format", "version", "facts", "tuning", "moments", "likelihood", "constraints", "rules", "features", "terms"}
# of a rule and its conditions: how it was found, on how many rows, in which words
RULE_ASIDE = {"text", "path", "frequency", "n_inside", "n_outside", "observed", "survival", "share", "index", "given"}
SHOWN = 36  # characters of a value


@dataclass(frozen=True)
class Change:
    """A value that differs: where it stands, what it was and what it is; None where there is none."""

    place: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{one_line(self.place)}: {_shown(self.old)} -> {_shown(self.new)}"


def _shown(value: Any) -> str:
    return "nothing" if value is None else fold_middle(one_line(repr(value)), SHOWN)


def _leaves(value: Any, place: str, aside: set[str]) -> Iterator[tuple[str, Any]]:
    """Every value, with its place."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in aside:
                yield from _leaves(item, inner(place, str(key)), aside)
    elif isinstance(value, (list, tuple)):
        yield f"{place}: how many", len(value)
        for i, item in enumerate(value):
            yield from _leaves(item, f"{place}[{i}]", aside)
    elif isinstance(value, str) and value.count(" ") > 0 and place.startswith("survival."):
        yield from _leaves(value.split(" "), place, aside)  # a line of numbers
    else:
        yield place, value


def _by_name(entries: Sequence[Mapping[str, Any]], key: str) -> dict[str, Any]:
    return {in_quotes(str(entry[key])): entry for entry in entries}


def _read_by_predictions(model: Model) -> dict[str, Any]:
    """What predictions read besides the rules, by place."""
    document = model_to_json(model)
    document["link"] = model.link
    named = {
        "feature": _by_name(document["features"], "name"),
        "order of columns": None if model.named else [feature.name for feature in model.features],
        "linear term": _by_name(document["terms"], "feature"),
        "facts": {"label_type": model.facts.label_type},
    }
    found = dict(_leaves(document, "", ASIDE))
    return {**found, **dict(_leaves(named, "", {"index"}))}


def _rule_values(rule: FittedTerm) -> dict[str, Any]:
    values = rule_to_json(rule)
    values["conditions"] = {in_quotes(entry["feature"]): entry for entry in values["conditions"]}
    return dict(_leaves(values, "", RULE_ASIDE))


def _differing(old: Mapping[str, Any], new: Mapping[str, Any], place: str = "") -> Iterator[Change]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        alike = type(before) is type(after) or (_is_number(before) and _is_number(after))
        if not alike or before != after:
            yield Change(f"{place}{key}", before, after)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def changes_between(old: Model, new: Model, stayed: Sequence[tuple[FittedTerm, FittedTerm]]) -> list[Change]:
    """All that differs in what predictions read, apart from rules that only one of the models has."""
    found = list(_differing(_read_by_predictions(old), _read_by_predictions(new)))
    for before, after in stayed:
        found += _differing(_rule_values(before), _rule_values(after), f"rule '{after.folded(60)}': ")
    places = {after: i for i, after in enumerate(new.rules)}
    order = [places[after] for _, after in stayed]
    if order != sorted(order):  # sums of doubles depend on it
        found.append(Change("order of the rules that stayed", sorted(order), order))
    return found

"""Constraints in, a section of a model file out, and back; every rule of the file is held against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysirus._constraints.constraints import Constraints
from pysirus._data.table import Feature
from pysirus._forest.interactions import MOST_GROUPS, InteractionConstraint
from pysirus._model.fields import Damage, ensure, fields, items, mapping, one_of, optional, text, whole
from pysirus._parameters.check import label_number
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.read import columns_of_rules, read_rules
from pysirus._terms.text_error import RuleTextError

CONSTRAINTS = fields(
    {
        "monotonic": mapping(one_of(-1, 1)),
        "most_together": optional(whole(1)),
        "groups": items(items(text), most=MOST_GROUPS),
        "apart": items(items(text, least=1)),
    },
    besides={"forbidden": items(text)},
)


def constraints_to_json(constraints: Constraints | None, features: Sequence[Feature]) -> dict[str, Any]:
    """The section of a document, with constraints by the names of columns; nothing where there are none."""
    if constraints is None:
        return {}
    together = constraints.together

    def named(columns: frozenset[int]) -> list[str]:
        return [features[i].name for i in sorted(columns)]

    section: dict[str, Any] = {
        "monotonic": {features[i].name: sign for i, sign in constraints.directions.items()},
        "most_together": together.most,
        "groups": [named(group) for group in together.groups],
        "apart": sorted(named(group) for group in together.apart),
    }
    if constraints.forbidden:
        section["forbidden"] = [rule.exact_text for rule in constraints.forbidden]
    return {"constraints": section}


def constraints_from_json(
    section: Mapping[str, Any] | None,
    features: Sequence[Feature],
    classes: Sequence[Any] | None,
    rules: Sequence[FittedTerm],
    positive: Any = None,
) -> Constraints | None:
    """Constraints back; a ``Damage`` where they do not go with the columns."""
    if section is None:
        return None
    position = {feature.name: i for i, feature in enumerate(features)}

    def number(name: str, place: str) -> int:
        ensure(name in position, f"constraints.{place}", f"names {name!r:.60}, which is no column")
        return position[name]

    def numbers(names: Sequence[str], place: str) -> frozenset[int]:
        return frozenset(number(name, place) for name in names)

    directions = {number(name, "monotonic"): sign for name, sign in section["monotonic"].items()}
    for i in directions:
        has_order = features[i].kind != "categorical" or not features[i].levels
        ensure(has_order, "constraints.monotonic", f"names {features[i].name!r:.60}, whose levels have no order")
    ensure(not directions or len(classes or ()) <= 2, "constraints.monotonic", "is for numbers and two classes")
    groups = tuple(numbers(group, "groups") for group in section["groups"])
    apart = frozenset(numbers(group, "apart") for group in section["apart"])
    ensure(all(len(group) <= 2 for group in apart), "constraints.apart", "is of single columns and pairs")
    forbidden = _conditions(section.get("forbidden", ()), features, rules)
    is_first = positive is not None and label_number(positive, classes or ()) == 0
    return Constraints(directions, InteractionConstraint(section["most_together"], groups, apart), forbidden, is_first)


def _conditions(
    texts: Sequence[str], features: Sequence[Feature], rules: Sequence[FittedTerm]
) -> tuple[FittedTerm, ...]:
    try:
        return tuple(read_rules(texts, columns_of_rules(features, rules)))
    except RuleTextError as error:
        said = f"has {error.text[:60]!r:.60}, which is no text of a rule: {error.problem}"
        raise Damage(f"constraints.forbidden {said}") from error


def check_obedience(constraints: Constraints | None, rules: Sequence[FittedTerm], place: str) -> None:
    """Every rule of a file obeys what the file says it does, with a weight that is not negative."""
    if constraints is None:
        return
    for r, rule in enumerate(rules):
        if faults := constraints.faults(rule):
            raise Damage(f"{place}[{r}] breaks the constraints: {faults[0]}")
        ensure((rule.weight or 0.0) >= 0, f"{place}[{r}].weight", "must not be negative under constraints")

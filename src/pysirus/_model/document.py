"""The document of a model file in, nothing out, or a ``Damage`` that names the first fault in it.

The tables say what every field holds, taken by itself, as ``model.schema.json`` says it to other programs. What fields
say together is in ``agreement``, the sums over folds in ``moment_text``. A document that passes all of them is a
model of which nothing fails later. No check allocates more than the file holds already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysirus._families.links import LINKS
from pysirus._model.agreement import check_agreement
from pysirus._model.constraint_fields import CONSTRAINTS
from pysirus._model.facts import COUNT, FACTS, FREQUENCY, ROUNDING, STABILITY
from pysirus._model.fields import (
    anything,
    fields,
    flag,
    items,
    label,
    mapping,
    number,
    one_of,
    optional,
    refuse,
    text,
    whole,
)
from pysirus._model.recipe_text import MARKS, RECIPE
from pysirus._model.roles import ROLES
from pysirus._terms.parse import MOST_CONDITIONS

FORMAT = "pysirus-model"
VERSIONS = (1, 2)  # 2 has a link, and may have a recipe, constraints and given rules

SHARE = number(0, 1 + ROUNDING)  # a sum of shares of the training weight


def output(value: Any, place: str) -> None:
    """A mean response, or a number for each class."""
    if isinstance(value, list):
        items(number(), least=1)(value, place)
    else:
        number()(value, place)


def cut(value: Any, place: str) -> None:
    """The identity of a cut: the number of a quantile, a value, some levels, or that of the missing values."""
    kinds = {"quantile": whole(1, 254), "value": number(), "levels": items(label, least=1), "missing": optional(_never)}
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str) or value[0] not in kinds:
        refuse(place, f"a pair of {', '.join(kinds)} and what is cut at", value)
    kinds[value[0]](value[1], f"{place}[1]")


def _never(value: Any, place: str) -> None:
    refuse(place, "null", value)


def split_value(value: Any, place: str) -> None:
    """A threshold, or the levels on one side."""
    if isinstance(value, list):
        items(label, least=1)(value, place)
    else:
        optional(number())(value, place)


FEATURE = fields({"name": text, "kind": one_of("numeric", "categorical", "ordered"), "levels": items(label)})

CONDITION = fields(
    {
        "feature": text,
        "index": COUNT,
        "lower": optional(number()),
        "upper": optional(number()),
        "levels": optional(items(label, least=1)),
        "missing": optional(flag),
        "known": flag,
        "otherwise": flag,
        "lower_cut": optional(cut),
        "upper_cut": optional(cut),
        "share": SHARE,
    }
)

SPLIT = fields(
    {
        "feature": text,
        "op": one_of("<", ">=", "in", "not in", "known", "missing"),
        "value": split_value,
        "cut": cut,
        "missing": optional(flag),
    }
)

OUTCOME = fields({"n_events": COUNT, "median": optional(number(0))})

EFFECT = fields({}, besides={"adds": number(), "times": number(0), "for": label})

RULE = fields(
    {
        "text": text,
        "conditions": items(CONDITION, least=1, most=MOST_CONDITIONS),
        "path": items(SPLIT),
        "frequency": optional(FREQUENCY),
        "inside": output,
        "outside": output,
        "n_inside": optional(COUNT),
        "n_outside": optional(COUNT),
        "weight": optional(number()),
    },
    besides={
        "stage": whole(1, 2**31),
        "given": flag,
        "effect": EFFECT,
        "observed": optional(items(output, length=2)),
        "survival": items(OUTCOME, length=2),
    },
)

TERM = fields(
    {"feature": text, "index": COUNT, "weight": number(), "lower": number(), "upper": number(), "missing": number()}
)

MOST_RULES = number(0, 1e6)  # the mean length of lists; figures have a point for each length
PATH = fields(
    {
        "p0": items(FREQUENCY),
        "n_rules": items(MOST_RULES),
        "error": items(number()),
        "stability": items(STABILITY),
        "n_rules_se": items(number(0)),
        "error_se": items(number(0)),
        "stability_se": items(number(0)),
    }
)

SIZE = fields(
    {
        "n_rules": whole(1),
        "p0": FREQUENCY,
        "error": number(),
        "stability": STABILITY,
        "weights": items(number()),
        "intercept": output,
        "penalty": number(0),
    },
    besides={"cumulative_hazard": text, "n_dust": whole(1)},
)

TUNING = fields(
    {
        "p0": FREQUENCY,
        "error": number(),
        "stability": STABILITY,
        "criterion": one_of("stability", "error"),
        "step": COUNT,
        "changed": SHARE,
        "n_repeats": whole(1),
        "path": PATH,
        "rules": items(RULE),
        "sizes": items(SIZE),
    }
)

MOMENTS = fields(
    {
        "rows": text,
        "n_rows": COUNT,
        "size": text,
        "pair": items(text),
        "sum": text,
        "rule_sum": items(text),
        "square": text,
        "centre": number(),
    }
)

LIKELIHOOD = fields({"linear": text, "curvature": text})

SURVIVAL = fields(
    {"event": text, "n_events": COUNT, "median": optional(number(0)), "times": text, "cumulative_hazard": text},
    {"event_value": label},
)

ESTIMATOR = fields({"name": text, "parameters": mapping(anything)})

DOCUMENT = fields(
    {
        "format": one_of(FORMAT),
        "version": one_of(*VERSIONS),
        "task": one_of("regression", "classification", "survival"),
        "target": text,
        "classes": optional(items(label, least=1)),
        "named": flag,
        "features": items(FEATURE, least=1),
        "mean": output,
        "intercept": output,
        "aggregation": one_of("sum", "mean"),
        "root_weight": number(0),
        "rules": items(RULE),
        "terms": items(TERM),
        "facts": FACTS,
    },
    besides={
        "link": one_of(*LINKS),
        "survival": SURVIVAL,
        "recipe": RECIPE,
        "roles": ROLES,
        "marks": MARKS,
        "positive_class": label,
        "tuning": optional(TUNING),
        "moments": optional(MOMENTS),
        "likelihood": optional(LIKELIHOOD),
        "estimator": ESTIMATOR,
        "constraints": optional(CONSTRAINTS),
    },
)


def check_document(document: Mapping[str, Any]) -> None:
    """Check all that a document says but for its sums over folds, which are checked as they are read."""
    DOCUMENT(document, "")
    check_agreement(document)

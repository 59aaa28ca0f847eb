"""A model in, a JSON document out, and back: exact, versioned, readable, no pickle. docs/model-file.md describes it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pysirus._bins.cuts import CutIdentity
from pysirus._data.recipe import ColumnRecipe
from pysirus._data.table import Feature
from pysirus._families.base import Family
from pysirus._families.of_model import family_of
from pysirus._families.outcome import Outcome
from pysirus._message import FEWER, PlainError
from pysirus._model.constraint_fields import check_obedience, constraints_from_json, constraints_to_json
from pysirus._model.document import FORMAT, VERSIONS, check_document
from pysirus._model.facts import Facts
from pysirus._model.fields import Damage, ensure
from pysirus._model.hazard_text import hazard_from_line, survival_from_json, survival_to_json
from pysirus._model.held_out import held_out_from
from pysirus._model.model import Model
from pysirus._model.moment_text import moments_from_json, moments_to_json, number_line
from pysirus._model.parse import MAX_BYTES, parse, size_fault
from pysirus._model.quadratic_text import quadratic_from_json, quadratic_to_json
from pysirus._model.recipe_text import marks_from_json, marks_to_json, recipe_from_json, recipe_to_json
from pysirus._model.roles import roles_from_json, roles_to_json
from pysirus._model.tuning import Size, Tuning, TuningPath
from pysirus._output import check_name, write_text
from pysirus._terms.effect import Effect
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.linear import LinearTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule, Split
from pysirus._weights.hazard import Survival

LONGEST_FAULT = 400  # characters; names in it may be long


class ModelFileError(PlainError, ValueError):
    """A file is not a model that this version can read."""


def _said(**entries: Any) -> dict[str, Any]:
    """What there is to say."""
    return {name: value for name, value in entries.items() if value is not None}


def _output(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _real(value: Any) -> Any:
    """A number; other programs write whole ones without a point."""
    return None if value is None else float(value)


def _from_output(value: Any) -> Any:
    return tuple(map(float, value)) if isinstance(value, list) else float(value)


def _cut(cut: CutIdentity | None) -> Any:
    if cut is None:
        return None
    kind, value = cut
    return [kind, sorted(value, key=str) if isinstance(value, frozenset) else value]


def _from_cut(cut: Any) -> CutIdentity | None:
    if cut is None:
        return None
    kind, value = cut
    return (kind, frozenset(value) if isinstance(value, list) else float(value) if kind == "value" else value)


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "feature": condition.feature,
        "index": condition.index,
        "lower": condition.lower,
        "upper": condition.upper,
        "levels": None if condition.levels is None else list(condition.levels),
        "missing": condition.missing,
        "known": not condition.only_missing,
        "otherwise": condition.unseen,
        "lower_cut": _cut(condition.lower_cut),
        "upper_cut": _cut(condition.upper_cut),
        "share": condition.share,
    }


def _from_condition(d: Mapping[str, Any], features: Sequence[Feature]) -> Condition:
    values = {**d, **{name: _real(d.get(name)) for name in ("lower", "upper", "share")}}
    values["levels"] = None if d["levels"] is None else tuple(d["levels"])
    values["only_missing"], values["unseen"] = not values.pop("known"), values.pop("otherwise")
    values["lower_cut"], values["upper_cut"] = _from_cut(d["lower_cut"]), _from_cut(d["upper_cut"])
    feature = features[d["index"]]
    return Condition(**values, column_levels=feature.levels, is_date=feature.is_date)


def _split(split: Split) -> dict[str, Any]:
    value = list(split.value) if isinstance(split.value, tuple) else split.value
    return {"feature": split.feature, "op": split.op, "value": value, "cut": _cut(split.cut), "missing": split.missing}


def _from_split(d: Mapping[str, Any]) -> Split:
    value = tuple(d["value"]) if isinstance(d["value"], list) else _real(d["value"])
    cut = _from_cut(d["cut"])
    assert cut is not None
    return Split(d["feature"], d["op"], value, cut, d["missing"])


def _effect(effect: Effect) -> dict[str, Any]:
    label = {} if effect.label is None else {"for": effect.label}
    return {"times" if effect.is_factor else "adds": effect.size, **label}


def _from_effect(d: Mapping[str, Any] | None) -> Effect | None:
    return None if d is None else Effect(float(d.get("adds", d.get("times", 0.0))), "times" in d, d.get("for"))


def rule_to_json(rule: FittedTerm) -> dict[str, Any]:
    """A rule as JSON; its text is there for the reader and not read back."""
    return {
        "text": rule.file_text,
        "conditions": [_condition(c) for c in rule.conditions],
        "path": [_split(s) for s in rule.path],
        "frequency": None if math.isnan(rule.frequency) else rule.frequency,
        "inside": _output(rule.inside),
        "outside": _output(rule.outside),
        "n_inside": rule.n_inside,
        "n_outside": rule.n_outside,
        "weight": rule.weight,
        "stage": rule.stage,
        **_said(
            given=rule.given or None,
            effect=None if rule.effect is None else _effect(rule.effect),
            observed=None if rule.observed is None else [_output(value) for value in rule.observed],
            survival=[asdict(side) for side in rule.survival or ()] or None,
        ),
    }


def _from_outcomes(sides: Any) -> tuple[Outcome, Outcome] | None:
    if sides is None:
        return None
    inside, outside = (Outcome(side["n_events"], _real(side["median"])) for side in sides)
    return inside, outside


def rule_from_json(d: Mapping[str, Any], classes: tuple[Any, ...] | None, features: Sequence[Feature]) -> FittedTerm:
    """A rule back from JSON, on these columns."""
    return FittedRule(
        conditions=tuple(_from_condition(c, features) for c in d["conditions"]),
        path=tuple(_from_split(s) for s in d["path"]),
        frequency=math.nan if d["frequency"] is None else float(d["frequency"]),
        inside=_from_output(d["inside"]),
        outside=_from_output(d["outside"]),
        n_inside=d["n_inside"],
        n_outside=d["n_outside"],
        weight=_real(d["weight"]),
        classes=classes,
        stage=d.get("stage", 1),
        given=d.get("given", False),
        effect=_from_effect(d.get("effect")),
        observed=tuple(map(_from_output, d["observed"])) if d.get("observed") is not None else None,
        survival=_from_outcomes(d.get("survival")),
    )


def _size(size: Size) -> dict[str, Any]:
    fields = {**vars(size), "weights": list(size.weights), "intercept": _output(size.intercept)}
    hazard, n_dust = fields.pop("hazard"), fields.pop("n_dust")
    return {**fields, **_said(n_dust=n_dust or None, cumulative_hazard=None if hazard is None else number_line(hazard))}


def _tuning(tuning: Tuning) -> dict[str, Any]:
    sizes = [_size(size) for size in tuning.sizes]
    return {
        "p0": tuning.p0,
        "error": tuning.error,
        "stability": tuning.stability,
        "criterion": tuning.criterion,
        "step": tuning.step,
        "changed": tuning.changed,
        "n_repeats": tuning.path.n_repeats,
        "path": tuning.path.columns(),
        "rules": [rule_to_json(rule) for rule in tuning.rules],
        "sizes": sizes,
    }


def _from_size(d: Mapping[str, Any], n_times: int, place: str) -> Size:
    numbers = {name: float(d[name]) for name in ("p0", "error", "stability", "penalty")}
    weights = tuple(map(float, d["weights"]))
    hazard = None
    if "cumulative_hazard" in d:
        hazard = tuple(hazard_from_line(d["cumulative_hazard"], n_times, f"{place}.cumulative_hazard").tolist())
    return Size(
        n_rules=d["n_rules"],
        weights=weights,
        intercept=_from_output(d["intercept"]),
        hazard=hazard,
        n_dust=d.get("n_dust", 0),
        **numbers,
    )


def _from_tuning(d: Mapping[str, Any], read: Callable[[Mapping[str, Any]], FittedTerm], n_times: int) -> Tuning:
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in d["path"].items()}
    return Tuning(
        path=TuningPath(**columns, n_repeats=d["n_repeats"]),
        p0=float(d["p0"]),
        error=float(d["error"]),
        stability=float(d["stability"]),
        criterion=d["criterion"],
        step=d["step"],
        changed=float(d["changed"]),
        rules=RuleSet([read(rule) for rule in d["rules"]]),
        sizes=tuple(_from_size(size, n_times, f"tuning.sizes[{k}]") for k, size in enumerate(d["sizes"])),
    )


def _has_moved(rule: FittedTerm) -> bool:
    """Whether a cut at a value has another number for a threshold, which pysirus 0.1 takes for a fault."""
    ends = ((end, cut) for c in rule.conditions for end, cut in ((c.lower, c.lower_cut), (c.upper, c.upper_cut)))
    return any(cut is not None and cut[0] == "value" and cut[1] != end for end, cut in ends)


def model_to_json(model: Model) -> dict[str, Any]:
    """A model as a JSON document."""
    signed = model.constraints is not None or any(rule.given or _has_moved(rule) for rule in model.all_rules)
    swept = model.tuning is not None and any(size.n_dust for size in model.tuning.sizes)
    said = model.recipe is not None or model.roles is not None or bool(model.marks)
    family = model.family
    old = not family.is_scored and not said and not signed and not swept
    version = 1 if old else 2  # the lowest that can say it
    return {
        "format": FORMAT,
        "version": version,
        "task": family.task,
        "target": family.target,
        "classes": list(family.classes or ()) or None,
        **_said(positive_class=family.positive_class),
        "named": model.named,
        "features": [{"name": f.name, "kind": f.kind, "levels": list(f.levels)} for f in model.features],
        **_said(recipe=None if model.recipe is None else recipe_to_json(model.recipe)),
        **roles_to_json(model.roles),
        **_said(marks=marks_to_json(model.marks) or None),
        "mean": _output(family.mean),
        "intercept": _output(model.intercept),
        "aggregation": family.aggregation,
        "root_weight": family.root_weight,
        **_said(link=None if old else family.link, survival=survival_to_json(family.survival)),
        "rules": [rule_to_json(rule) for rule in model.selected],
        "terms": [_term(term) for term in model.terms],
        "facts": dict(model.facts),
        "tuning": None if model.tuning is None else _tuning(model.tuning),
        "moments": moments_to_json(model.moments),
        **({"likelihood": quadratic_to_json(model.likelihood)} if family.is_scored else {}),
        **constraints_to_json(model.constraints, model.features),
    }


def model_from_json(document: Mapping[str, Any]) -> Model:
    """A model back from a document that was checked; a ``Damage`` if its sums over folds are invalid."""
    classes = None if document["classes"] is None else tuple(document["classes"])
    recipe = recipe_from_json(document.get("recipe"))
    features = tuple(_from_feature(feature, recipe) for feature in document["features"])

    def read(rule: Mapping[str, Any]) -> FittedTerm:
        return rule_from_json(rule, classes, features)

    selected = RuleSet([read(rule) for rule in document["rules"]])
    survival = survival_from_json(document.get("survival"))
    n_times = len(survival.hazard.times) if survival else 0
    tuning = None if document.get("tuning") is None else _from_tuning(document["tuning"], read, n_times)
    held_out_from(document["facts"].get("out_of_fold"), len(classes or ()))  # which says what is wrong with it
    longest = selected if tuning is None else tuning.rules
    positive = document.get("positive_class")
    constraints = constraints_from_json(document.get("constraints"), features, classes, longest, positive)
    check_obedience(constraints, selected, "rules")
    if tuning is not None:
        check_obedience(constraints, tuning.rules, "tuning.rules")
        for k, size in enumerate(tuning.sizes):
            rises = constraints is None or min(size.weights) >= 0
            ensure(rises, f"tuning.sizes[{k}].weights", "must not be negative under constraints")
    return Model(
        selected=selected,
        intercept=_from_output(document["intercept"]),
        family=_from_target(document, classes, survival),
        features=features,
        named=document["named"],
        facts=Facts.of(document["facts"]),
        tuning=tuning,
        moments=moments_from_json(document.get("moments"), longest),
        likelihood=quadratic_from_json(document.get("likelihood"), len(longest), len(classes or (None,))),
        terms=tuple(_from_term(term, features) for term in document["terms"]),
        constraints=constraints,
        recipe=recipe,
        roles=roles_from_json(document.get("roles")),
        marks=marks_from_json(document.get("marks", {})),
    )


def _from_target(d: Mapping[str, Any], classes: tuple[Any, ...] | None, survival: Survival | None) -> Family:
    return family_of(
        d.get("link", "identity"),
        d["target"],
        _from_output(d["mean"]),
        classes=classes,
        facts=d["facts"],
        survival=survival,
        positive_class=d.get("positive_class"),
        root_weight=float(d["root_weight"]) if d["aggregation"] == "mean" else None,
    )


def _from_feature(d: Mapping[str, Any], recipe: ColumnRecipe | None) -> Feature:
    own = None if recipe is None else recipe.of(d["name"])
    is_date = own is not None and own.take == "date"
    return Feature(d["name"], d["kind"], tuple(d["levels"]), "" if own is None else own.other, is_date)


def _term(term: LinearTerm) -> dict[str, Any]:
    return {name: value for name, value in asdict(term).items() if name != "is_date"}  # which the recipe says


def _from_term(d: Mapping[str, Any], features: Sequence[Feature]) -> LinearTerm:
    numbers = {name: float(d[name]) for name in ("weight", "lower", "upper", "missing")}
    return LinearTerm(feature=d["feature"], index=d["index"], is_date=features[d["index"]].is_date, **numbers)


def document_text(document: Mapping[str, Any]) -> str:
    """A model's document as the text of its file."""
    try:
        text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"The model cannot be written as JSON: {error}.") from error
    if (fault := size_fault(text)) is not None:
        raise ModelFileError(f"The model is too large for a file: {fault}. Keep fewer rules{FEWER}.")
    return text


def write_document(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a model's document, if it is one that is read back; else nothing."""
    text = document_text(document)
    try:
        again = parse(text)
        check_document(again)
        model_from_json(again)
    except Damage as damage:
        fault = str(damage)[:LONGEST_FAULT].rstrip(".")
        raise ModelFileError(f"The model cannot be saved, as its file could not be read back: {fault}.") from damage
    write_text(path, text)


def _read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, unless it is too large for a model."""
    check_name(path)
    with Path(path).open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"'{path}' is not a pysirus model file: it is larger than {MAX_BYTES:,} bytes.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"'{path}' is not a pysirus model file: it is not text.") from error


def damaged(path: str | os.PathLike[str], damage: Damage) -> ModelFileError:
    """The error of a damaged file."""
    fault = str(damage)
    return ModelFileError(f"'{path}' is a damaged pysirus model file: {fault[:LONGEST_FAULT].rstrip('.')}.")


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a model's document and check that it is one, of this version and not damaged."""
    text = _read_text(path)
    try:
        document = parse(text)
    except json.JSONDecodeError as error:
        raise ModelFileError(
            f"'{path}' is not a pysirus model file, or it is truncated: {error.msg} in line {error.lineno}."
        ) from error
    except Damage as damage:
        raise damaged(path, damage) from damage
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"'{path}' is JSON but not a pysirus model file.")
    version = document.get("version")
    if isinstance(version, bool) or version not in VERSIONS:
        raise ModelFileError(
            f"'{path}' is a model file of version {version!r:.40}; this pysirus reads versions "
            f"{' and '.join(map(str, VERSIONS))}. Install the pysirus that wrote it, or save the model again."
        )
    try:
        check_document(document)
    except Damage as damage:
        raise damaged(path, damage) from damage
    return document

"""A model in, a JSON document out, and back: exact, versioned, readable, no pickle. docs/model-file.md describes it.

``spec`` has what each key holds. Here is what goes beyond keys: which version is written, constraints by the names of
columns, and files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pysirus._data.derived import ColumnRecipe
from pysirus._data.table import Feature
from pysirus._families.of_model import family_of
from pysirus._forest.forest import InteractionConstraint
from pysirus._model.agreement import check_document
from pysirus._model.held_out import held_out_from
from pysirus._model.keys import ABSENT, record
from pysirus._model.kinds import MAX_BYTES, Damage, ensure, parse, size_fault
from pysirus._model.model import Model
from pysirus._model.reference import Reference
from pysirus._model.spec import DOCUMENT, FORMAT, VERSIONS
from pysirus._model.sums import MAX_MOMENTS, likelihood_of, moments_of
from pysirus._model.term_spec import TERM, ConstraintsKeys, FeatureKeys, RecipeKeys
from pysirus._parameters import label_number
from pysirus._runtime.output import check_name, write_text
from pysirus._terms.allowed import Constraints
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.from_text import columns_of_rules, read_rules
from pysirus._terms.lexicon import RuleTextError
from pysirus._text.message import FEWER, SafeTextError

LONGEST_FAULT = 400  # characters; names in it may be long
EARLIER_KEYS = {"n_dust": "n_pruned", "struck_rules": "removed_rules"}  # of files written before the first release


class ModelFileError(SafeTextError, ValueError):
    """A file is not a model that this version can read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from pysirus import ModelFileError, load
    >>> _ = Path("broken.json").write_text("{}")
    >>> try:
    ...     load("broken.json")
    ... except ModelFileError as error:
    ...     print(error)
    'broken.json' is JSON but not a pysirus model file.
    """


def rule_to_json(rule: FittedTerm) -> dict[str, Any]:
    """A rule or a slope as JSON; its text is there for the reader and not read back."""
    document: dict[str, Any] = TERM.write(rule)
    return document


def _has_moved(rule: FittedTerm) -> bool:
    """Whether a cut at a value has another number as its threshold, which pysirus 0.1 rejects."""
    ends = ((end, cut) for c in rule.conditions for end, cut in ((c.lower, c.lower_cut), (c.upper, c.upper_cut)))
    return any(cut is not None and cut[0] == "value" and cut[1] != end for end, cut in ends)


def _version_of(model: Model) -> int:
    """The lowest version that can say it."""
    new = any(rule.given or rule.reason or _has_moved(rule) for rule in model.all_rules)
    signed = new or model.constraints is not None or model.family.decides_by is not None
    pruned = model.tuning is not None and any(size.n_pruned for size in model.tuning.sizes)
    said = model.recipe is not None or model.roles is not None or bool(model.marks)
    least = 2 if model.family.is_scored or said or signed or pruned else 1
    return max([least, *(rule.file_version for rule in model.all_rules)])


def _kept(sums: Any) -> Any:
    """Sums and likelihoods, but for those of very long lists."""
    return None if sums is None or sums.n_rules > MAX_MOMENTS else sums


def model_to_json(model: Model) -> dict[str, Any]:
    """A model as a JSON document."""
    family, version = model.family, _version_of(model)
    told = {name: getattr(family, name) for name in ("task", "target", "positive_class", "mean", "aggregation")}
    own = {
        name: getattr(model, name) for name in ("named", "features", "recipe", "roles", "intercept", "terms", "facts")
    }
    document: dict[str, Any] = DOCUMENT.write(
        SimpleNamespace(
            format=FORMAT,
            version=version,
            classes=family.classes or None,
            marks=model.marks or None,
            root_weight=family.root_weight,
            link=family.link if version > 1 else None,
            survival=family.survival,
            rules=model.selected,
            tuning=model.tuning,
            moments=_kept(model.moments),
            likelihood=_kept(model.likelihood) if family.is_scored else ABSENT,
            constraints=_named(model.constraints, model.features),
            estimator=None,
            decision=family.decides_by,
            **told,
            **own,
        )
    )
    return document


@dataclass(frozen=True)
class _Known:
    """What the parts of a document are read with."""

    recipe: ColumnRecipe | None
    classes: tuple[Any, ...] | None
    n_times: int
    features: tuple[Feature, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> _Known:
        """What the other parts say."""
        recipe = record(RecipeKeys).read(document["recipe"], "recipe", None) if "recipe" in document else None
        classes = None if document["classes"] is None else tuple(document["classes"])
        times = document["survival"]["times"] if "survival" in document else ""
        known = cls(recipe, classes, times.count(" ") + bool(times))
        features = tuple(record(FeatureKeys).read(feature, "", known) for feature in document["features"])
        return cls(recipe, classes, known.n_times, features)


def model_from_json(document: Mapping[str, Any]) -> Model:
    """A model back from a document that was checked; a ``Damage`` if its lines of numbers are invalid."""
    known = _Known.of(document)
    own = DOCUMENT.read(document, "", known)
    classes, tuning = known.classes, own.tuning
    held_out_from(own.facts.out_of_fold, len(classes or ()))  # which says what is wrong with it
    if own.facts.reference is not None:  # so does this
        Reference.read(own.facts.reference, len(known.features))
    longest = own.rules if tuning is None else tuning.rules
    constraints = _constraints_of(own.constraints, known, longest, own.positive_class)
    _check_obedience(constraints, own.rules, "rules")
    if tuning is not None:
        _check_obedience(constraints, tuning.rules, "tuning.rules")
        for k, size in enumerate(tuning.sizes):
            rises = constraints is None or min(size.weights) >= 0
            ensure(rises, f"tuning.sizes[{k}].weights", "must not be negative under constraints")
    family = family_of(
        own.link or "identity",
        own.target,
        own.mean,
        classes=classes,
        facts=own.facts,
        survival=own.survival,
        positive_class=own.positive_class,
        root_weight=own.root_weight if own.aggregation == "mean" else None,
    ).deciding_by(own.decision)
    return Model(
        selected=own.rules,
        intercept=own.intercept,
        family=family,
        features=known.features,
        named=own.named,
        facts=own.facts,
        tuning=tuning,
        moments=moments_of(own.moments, longest),
        likelihood=likelihood_of(own.likelihood, len(longest), len(classes or (None,))),
        terms=own.terms,
        constraints=constraints,
        recipe=own.recipe,
        roles=own.roles,
        marks=own.marks or {},
    )


# ------------------------------------------------------------------------------------------------------ constraints


def _named(constraints: Constraints | None, features: Sequence[Feature]) -> ConstraintsKeys | None:
    """Constraints by the names of columns."""
    if constraints is None:
        return None
    together = constraints.together

    def names(columns: frozenset[int]) -> tuple[str, ...]:
        return tuple(features[i].name for i in sorted(columns))

    return ConstraintsKeys(
        monotonic={features[i].name: sign for i, sign in constraints.directions.items()},
        most_together=together.most,
        groups=tuple(map(names, together.groups)),
        apart=tuple(sorted(map(names, together.apart))),
        forbidden=tuple(rule.exact_text for rule in constraints.forbidden),
    )


def _constraints_of(
    named: ConstraintsKeys | None, known: _Known, rules: Sequence[FittedTerm], positive: Any
) -> Constraints | None:
    """Constraints back; a ``Damage`` where they do not go with the columns."""
    if named is None:
        return None
    features, classes = known.features, known.classes or ()
    position = {feature.name: i for i, feature in enumerate(features)}

    def number(name: str, place: str) -> int:
        ensure(name in position, f"constraints.{place}", f"names {name!r:.60}, which is no column")
        return position[name]

    def numbers(names: Sequence[str], place: str) -> frozenset[int]:
        return frozenset(number(name, place) for name in names)

    directions = {number(name, "monotonic"): sign for name, sign in named.monotonic.items()}
    for i in directions:
        has_order = features[i].kind != "categorical" or not features[i].levels
        ensure(has_order, "constraints.monotonic", f"names {features[i].name!r:.60}, whose categories have no order")
    ensure(not directions or len(classes) <= 2, "constraints.monotonic", "is for regression and two classes")
    groups = tuple(numbers(group, "groups") for group in named.groups)
    apart = frozenset(numbers(group, "apart") for group in named.apart)
    try:
        forbidden = tuple(read_rules(named.forbidden, columns_of_rules(features, rules)))
    except RuleTextError as error:
        said = f"has {error.text[:60]!r:.60}, which is no text of a rule: {error.problem}"
        raise Damage(f"constraints.forbidden {said}") from error
    is_first = positive is not None and label_number(positive, classes) == 0
    return Constraints(directions, InteractionConstraint(named.most_together, groups, apart), forbidden, is_first)


def _check_obedience(constraints: Constraints | None, rules: Sequence[FittedTerm], place: str) -> None:
    """Every rule of a file obeys what the file says it does, with a weight that is not negative."""
    if constraints is None:
        return
    for r, rule in enumerate(rules):
        if faults := constraints.faults(rule):
            raise Damage(f"{place}[{r}] breaks the constraints: {faults[0]}")
        ensure((rule.weight or 0.0) >= 0, f"{place}[{r}].weight", "must not be negative under constraints")


# ------------------------------------------------------------------------------------------------------------ files


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


def _with_present_keys(document: dict[str, Any]) -> dict[str, Any]:
    """A document whose facts and sizes have the keys of today, whatever version of pysirus wrote it."""
    tuning = document.get("tuning")
    sizes = tuning.get("sizes") if isinstance(tuning, dict) else None
    for entry in (document.get("facts"), *(sizes if isinstance(sizes, list) else ())):
        for earlier in EARLIER_KEYS.keys() & entry.keys() if isinstance(entry, dict) else ():
            entry.setdefault(EARLIER_KEYS[earlier], entry.pop(earlier))
    return document


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
            f"{', '.join(map(str, VERSIONS[:-1]))} and {VERSIONS[-1]}. Install the pysirus that wrote it, or save the "
            "model again."
        )
    try:
        check_document(_with_present_keys(document))
    except Damage as damage:
        raise damaged(path, damage) from damage
    return document

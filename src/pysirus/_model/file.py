"""A model in, a JSON document out, and back: exact, versioned, readable, no pickle. docs/model-file.md describes it."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pysirus._bins.cuts import CutIdentity
from pysirus._data.table import Feature
from pysirus._model.model import AGGREGATIONS, Model
from pysirus._model.moments import Moments
from pysirus._model.tuning import Size, Tuning, TuningPath
from pysirus._rules.rule import Condition, Rule, RuleSet, Split
from pysirus._rules.term import LinearTerm

FORMAT = "pysirus-model"
MAX_MOMENTS = 200  # rules; about half a megabyte
VERSION = 1


class ModelFileError(ValueError):
    """A file is not a model that this version can read."""


def _output(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _from_output(value: Any) -> Any:
    return tuple(map(float, value)) if isinstance(value, list) else value


def _cut(cut: CutIdentity | None) -> Any:
    if cut is None:
        return None
    kind, value = cut
    return [kind, sorted(value, key=str) if isinstance(value, frozenset) else value]


def _from_cut(cut: Any) -> CutIdentity | None:
    if cut is None:
        return None
    kind, value = cut
    return (kind, frozenset(value) if isinstance(value, list) else value)


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "feature": condition.feature,
        "index": condition.index,
        "lower": condition.lower,
        "upper": condition.upper,
        "levels": None if condition.levels is None else list(condition.levels),
        "missing": condition.missing,
        "known": condition.known,
        "otherwise": condition.otherwise,
        "lower_cut": _cut(condition.lower_cut),
        "upper_cut": _cut(condition.upper_cut),
        "share": condition.share,
    }


def _from_condition(d: Mapping[str, Any]) -> Condition:
    values = dict(d)
    values["levels"] = None if d["levels"] is None else tuple(d["levels"])
    values["lower_cut"], values["upper_cut"] = _from_cut(d["lower_cut"]), _from_cut(d["upper_cut"])
    return Condition(**values)


def _split(split: Split) -> dict[str, Any]:
    value = list(split.value) if isinstance(split.value, tuple) else split.value
    return {"feature": split.feature, "op": split.op, "value": value, "cut": _cut(split.cut), "missing": split.missing}


def _from_split(d: Mapping[str, Any]) -> Split:
    value = tuple(d["value"]) if isinstance(d["value"], list) else d["value"]
    cut = _from_cut(d["cut"])
    assert cut is not None
    return Split(d["feature"], d["op"], value, cut, d["missing"])


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """A rule as JSON; its text is there for the reader and not read back."""
    return {
        "text": str(rule),
        "conditions": [_condition(c) for c in rule.conditions],
        "path": [_split(s) for s in rule.path],
        "frequency": None if math.isnan(rule.frequency) else rule.frequency,
        "inside": _output(rule.inside),
        "outside": _output(rule.outside),
        "n_inside": rule.n_inside,
        "n_outside": rule.n_outside,
        "weight": rule.weight,
        "stage": rule.stage,
    }


def rule_from_json(d: Mapping[str, Any], classes: tuple[Any, ...] | None) -> Rule:
    """A rule back from JSON."""
    return Rule(
        conditions=tuple(_from_condition(c) for c in d["conditions"]),
        path=tuple(_from_split(s) for s in d["path"]),
        frequency=math.nan if d["frequency"] is None else d["frequency"],
        inside=_from_output(d["inside"]),
        outside=_from_output(d["outside"]),
        n_inside=d["n_inside"],
        n_outside=d["n_outside"],
        weight=d["weight"],
        classes=classes,
        stage=d.get("stage", 1),
    )


def _tuning(tuning: Tuning) -> dict[str, Any]:
    sizes = [
        {**vars(size), "weights": list(size.weights), "intercept": _output(size.intercept)} for size in tuning.sizes
    ]
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


def _from_tuning(d: Mapping[str, Any], classes: tuple[Any, ...] | None) -> Tuning:
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in d["path"].items()}
    sizes = [
        Size(**{**size, "weights": tuple(size["weights"]), "intercept": _from_output(size["intercept"])})
        for size in d["sizes"]
    ]
    return Tuning(
        path=TuningPath(**columns, n_repeats=d["n_repeats"]),
        p0=d["p0"],
        error=d["error"],
        stability=d["stability"],
        criterion=d["criterion"],
        step=d["step"],
        changed=d["changed"],
        rules=RuleSet([rule_from_json(rule, classes) for rule in d["rules"]]),
        sizes=tuple(sizes),
    )


def _line(values: Any) -> str:
    """Numbers in one line of text, as a list of them would take a line each; most are counts, without a point."""
    return " ".join(
        repr(int(v) if v.is_integer() else v) for v in np.asarray(values, dtype=np.float64).ravel().tolist()
    )


def _from_line(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def _moments(moments: Moments | None) -> dict[str, Any] | None:
    """Sums over each fold; of the symmetric pairs the lower triangle. Those of very long lists are not kept."""
    if moments is None or moments.n_rules > MAX_MOMENTS:
        return None
    lower = np.tril_indices(moments.n_rules)
    return {
        "rows": _line(moments.rows),
        "n_rows": moments.n_rows,
        "size": _line(moments.size),
        "pair": [_line(fold[lower]) for fold in moments.pair],
        "sum": _line(moments.sum),
        "rule_sum": [_line(fold) for fold in moments.rule_sum],
        "square": _line(moments.square),
        "centre": moments.centre,
    }


def _from_moments(d: Mapping[str, Any] | None) -> Moments | None:
    if d is None:
        return None
    rows, size = _from_line(d["rows"]), np.array(_from_line(d["size"]))
    n_rules, n_folds = len(rows), len(size)
    i, j = np.tril_indices(n_rules)
    pair = np.zeros((n_folds, n_rules, n_rules))
    pair[:, i, j] = np.array([_from_line(fold) for fold in d["pair"]]).reshape(n_folds, len(i))
    pair[:, j, i] = pair[:, i, j]
    return Moments(
        rows=np.array(rows, dtype=np.int64),
        n_rows=d["n_rows"],
        size=size,
        pair=pair,
        sum=np.array(_from_line(d["sum"])).reshape(n_folds, -1),
        rule_sum=np.array([_from_line(fold) for fold in d["rule_sum"]]).reshape(n_folds, n_rules, -1 if n_rules else 1),
        square=np.array(_from_line(d["square"])),
        centre=d["centre"],
    )


def model_to_json(model: Model) -> dict[str, Any]:
    """A model as a JSON document."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "task": "regression" if model.classes is None else "classification",
        "target": model.target,
        "classes": None if model.classes is None else list(model.classes),
        "named": model.named,
        "features": [{"name": f.name, "kind": f.kind, "levels": list(f.levels)} for f in model.features],
        "mean": _output(model.mean),
        "intercept": _output(model.intercept),
        "aggregation": model.aggregation,
        "root_weight": model.root_weight,
        "rules": [rule_to_json(rule) for rule in model.selected],
        "terms": [asdict(term) for term in model.terms],
        "facts": dict(model.facts),
        "tuning": None if model.tuning is None else _tuning(model.tuning),
        "moments": _moments(model.moments),
    }


def model_from_json(document: Mapping[str, Any]) -> Model:
    """A model back from its JSON document."""
    classes = None if document["classes"] is None else tuple(document["classes"])
    if (classes is None) != (document["task"] == "regression"):
        raise ValueError(f"task {document['task']!r}, which does not go with classes {classes}")
    aggregation = document["aggregation"]
    if aggregation not in AGGREGATIONS:
        raise ValueError(f"aggregation {aggregation!r}, which is none of {', '.join(AGGREGATIONS)}")
    return Model(
        selected=RuleSet([rule_from_json(rule, classes) for rule in document["rules"]]),
        intercept=_from_output(document["intercept"]),
        mean=_from_output(document["mean"]),
        features=tuple(Feature(f["name"], f["kind"], tuple(f["levels"])) for f in document["features"]),
        named=document["named"],
        target=document["target"],
        classes=classes,
        facts=document["facts"],
        tuning=None if document.get("tuning") is None else _from_tuning(document["tuning"], classes),
        moments=_from_moments(document.get("moments")),
        terms=tuple(LinearTerm(**term) for term in document["terms"]),
        aggregation=aggregation,
        root_weight=float(document["root_weight"]),
    )


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path`, moved into its place at the end, so that nothing is lost half way."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder '{path.parent}' to write '{path.name}' into.")
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder. Give the name of a file.")
    if path.exists() and not path.is_file():  # a terminal or a pipe, such as /dev/stdout: nothing to replace
        yield path
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file as a whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """The same for a binary file."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def document_text(document: Mapping[str, Any]) -> str:
    """A model's document as the text of its file."""
    try:
        return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"The model cannot be written as JSON: {error}.") from error


def write_document(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a model's document."""
    write_text(path, document_text(document))


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a model's document and check that it is one."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"'{path}' is not a pysirus model file: it is not text.") from error
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelFileError(
            f"'{path}' is not a pysirus model file, or it is truncated: {error.msg} in line {error.lineno}."
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"'{path}' is JSON but not a pysirus model file.")
    if document.get("version") != VERSION:
        raise ModelFileError(
            f"'{path}' is a model file of version {document.get('version')!r}; this pysirus reads version {VERSION}. "
            "Install the pysirus that wrote it, or save the model again."
        )
    return document

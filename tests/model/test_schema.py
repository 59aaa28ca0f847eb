"""Saved models fit the JSON Schema, and the schema is strict enough to refuse what is no model."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from pysirus import SirusClassifier, SirusRegressor
from pysirus.datasets import load_mpg, load_ozone

SCHEMA = json.loads(resources.files("pysirus").joinpath("model.schema.json").read_text(encoding="utf-8"))
VALID = jsonschema.Draft202012Validator(SCHEMA)


def saved(estimator: Any, X: Any, y: Any, path: Path) -> dict[str, Any]:
    estimator.fit(X, y).save(path)
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("kind", ["frame", "array", "missing", "labels", "classes", "edited", "no rules"])
def test_saved_model_fits_the_schema(tmp_path: Path, kind: str) -> None:
    estimator: Any = SirusRegressor(n_rules=8, n_trees=200, random_state=0)
    X, y = load_mpg(return_X_y=True, as_frame=True) if kind == "missing" else load_ozone(return_X_y=True, as_frame=True)
    if kind == "array":
        X, y = X.to_numpy(), y.to_numpy()
    elif kind == "labels":
        X = X.assign(month=np.where(X["doy"] > 180, "late", "early"), temp=X["temp"].astype(str).astype("category"))
    elif kind == "classes":
        estimator, y = SirusClassifier(n_rules=8, n_trees=200, random_state=0), np.where(y > 10, "high", "low")
    elif kind == "edited":
        labels = np.where(y > 10, "high", "low")
        model = SirusClassifier(n_rules=8, n_trees=300, random_state=0).fit(X, labels)
        model.cross_validate(X, labels, cv=3)
        for each in (model, model.without(1)):
            each.save(tmp_path / "m.json")
            document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
            assert document["likelihood"]
            VALID.validate(document)
        return
    elif kind == "no rules":
        with pytest.warns(UserWarning, match="no rules"):
            document = saved(estimator, X, np.ones(len(y)), tmp_path / "m.json")
        VALID.validate(document)
        return
    document = saved(estimator, X, y, tmp_path / "m.json")
    assert document["rules"]
    VALID.validate(document)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("rules"),
        lambda d: d.update(version=4),
        lambda d: d.update(surprise=1),
        lambda d: d["rules"][0].pop("weight"),
        lambda d: d["rules"][0].update(frequency=2),
        lambda d: d["rules"][0]["conditions"][0].update(lower="low"),
        lambda d: d["features"][0].update(kind="date"),
    ],
)
def test_schema_refuses_damage(tmp_path: Path, damage: Any) -> None:
    X, y = load_ozone(return_X_y=True)
    document = saved(SirusRegressor(n_rules=3, n_trees=500, random_state=0), X, y, tmp_path / "m.json")
    damage(document)
    with pytest.raises(jsonschema.ValidationError):
        VALID.validate(document)

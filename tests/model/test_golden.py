"""Model files of every format version answer as on the day they were made, and are written again as they were.

``tests/golden/make.py`` says how they were made.
"""

from __future__ import annotations

import json
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import pysirus

GOLDEN = sorted(
    p for p in (Path(__file__).parents[1] / "golden").glob("v*/*.json") if not p.name.endswith(".rows.json")
)
VALID = jsonschema.Draft202012Validator(
    json.loads(files("pysirus").joinpath("model.schema.json").read_text(encoding="utf-8"))
)


# what models were before there was a parameter for it
BEFORE = {"post_treatment": "paper", "weighting": "equal", "n_stages": 1, "loss": "squared_error"}
BEFORE |= {"monotonic_cst": None, "interaction_cst": None, "prepare": False, "max_levels": 255}
BEFORE |= {"forbidden": None, "required_rules": None, "event": None, "positive_class": None}
BEFORE |= {"min_samples_leaf": None, "slopes": False, "keep_folds": False, "nested": False}
BEFORE |= {"target_stability": 0.9, "stability_weight": 1.0}
BEFORE |= {"trees": "cart", "max_depth": 3, "n_rules": None, "min_weight": 0.0}  # of RuleFit and Node harvest


def rows_of(path: Path) -> tuple[Any, dict[str, Any]]:
    """The rows to ask about, and the answers of the day."""
    record = json.loads(path.with_suffix(".rows.json").read_text(encoding="utf-8"))
    if record["array"]:
        return np.array(list(record["columns"].values()), dtype=np.float64).T, record
    numeric = {name: all(isinstance(v, (float, type(None))) for v in vs) for name, vs in record["columns"].items()}
    columns = {
        name: pd.Series(values, dtype=np.float64 if numeric[name] else object)
        for name, values in record["columns"].items()
    }
    return pd.DataFrame(columns), record


def ask(model: Any, X: Any) -> dict[str, Any]:
    """The answers of a model, as they are recorded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of levels and missing values that training never saw
        answers = model.predict(X).tolist()
        if model._as_model().survival is not None:
            alive = model.predict_survival_function(X, return_array=True)
            curves = [[v.hex() for v in row] for row in alive.tolist()]
            return {"predict": [v.hex() for v in answers], "predict_proba": None, "survival": curves}
        if getattr(model, "classes_", None) is None:
            return {"predict": [v.hex() for v in answers], "predict_proba": None}
        return {
            "predict": answers,
            "predict_proba": [[v.hex() for v in row] for row in model.predict_proba(X).tolist()],
        }


def test_there_are_golden_files():
    assert len(GOLDEN) >= 28


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_golden_file_answers_as_on_the_day_it_was_made(path, tmp_path):
    X, record = rows_of(path)
    expected = {name: record[name] for name in ("predict", "predict_proba", "survival") if name in record}
    model = pysirus.load(path)
    assert ask(model, X) == expected
    model.save(tmp_path / "again.json")
    written, again = (json.loads(p.read_text(encoding="utf-8")) for p in (path, tmp_path / "again.json"))
    if "estimator" in written:  # parameters that are younger than the file have the value it was made with
        parameters = again["estimator"]["parameters"]
        younger = {name: parameters.pop(name) for name in set(parameters) - set(written["estimator"]["parameters"])}
        assert younger.items() <= BEFORE.items()
    assert json.dumps(again) == json.dumps(written)
    assert ask(pysirus.load(tmp_path / "again.json"), X) == expected


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_golden_file_fits_the_schema(path):
    assert list(VALID.iter_errors(json.loads(path.read_text(encoding="utf-8")))) == []

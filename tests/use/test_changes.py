"""Whatever changes a prediction is a difference: one value of a model file at a time; and `show` tells models apart."""

import copy
import json
import random
import warnings

import numpy as np
import pytest

import pysirus
from damage.life import rows_for
from damage.mutants import GOLDEN, at, is_number, places, put
from pysirus._model.agreement import check_document
from pysirus._model.file import model_from_json
from pysirus._model.kinds import Damage
from pysirus._use.diff import diff
from sampled import FULL, few

FILES = sorted(path for path in GOLDEN.glob("v2/*.json") if not path.name.endswith(".rows.json"))
FILES += [GOLDEN / "v1" / name for name in ("array.json", "classes_int.json")]
SKIPPED = {"tuning", "moments", "likelihood", "estimator", "constraints"}


def answers(model, X):
    """All that a model predicts."""
    found = [model.raw_predict(X), model.predict(X).astype(str)]
    if model.survival is not None:
        found += [model.predict_survival_function(X, return_array=True), model.survival.hazard.times]
    return found


def same(a, b):
    return len(a) == len(b) and all(x.shape == y.shape and bool((x == y).all()) for x, y in zip(a, b))


def changed_values(document, rng, n):
    """Documents with one value changed: a number, a flag, a text or a line of numbers."""
    every = [p for p in places(document) if p[0] not in SKIPPED and not isinstance(at(document, p), (dict, list))]
    shapes = {}
    for place in every:
        shapes.setdefault(".".join(str(key) for key in place if isinstance(key, str)), []).append(place)
    for own in shapes.values():
        for place in rng.sample(own, min(n, len(own))):
            other, value = copy.deepcopy(document), at(document, place)
            if is_number(value):
                new = value + 1 if isinstance(value, int) else value * 1.25 + 0.125
            elif isinstance(value, bool):
                new = not value
            elif isinstance(value, str) and place[0] == "survival" and " " in value:
                words = value.split(" ")
                words[-1] = repr(float(words[-1]) * 1.5)
                new = " ".join(words)
            else:
                continue
            put(other, place, new)
            yield place, other
    if document["classes"] and all(isinstance(label, str) for label in document["classes"]):
        other = copy.deepcopy(document)
        other["classes"][-1] += "z"
        yield ("classes",), other


@pytest.mark.parametrize("path", few(FILES), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_whatever_changes_a_prediction_is_a_difference(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    document["tuning"] = document["moments"] = None
    document.get("facts", {}).pop("out_of_fold", None)
    if document.get("likelihood") is not None:
        document["likelihood"] = None
    model = model_from_json(document)
    n_changed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = rows_for(model)
        expected = answers(model, X)
        for place, other in changed_values(document, random.Random(0), 9 if FULL else 2):
            try:
                check_document(other)
                new = model_from_json(other)
                found = answers(new, X)
            except (Damage, ValueError):
                continue  # refused at load, or another table
            if not same(expected, found):
                n_changed += 1
                assert not diff(model, new).is_same, place
                assert diff(new, model).to_dict()["same"] is False
    assert n_changed > 0
    assert diff(model, model).is_same and str(diff(model, model)).endswith("same in all that predictions read.")


def test_a_difference_of_the_intercept_is_printed():
    document = json.loads((GOLDEN / "v1" / "array.json").read_text(encoding="utf-8"))
    document["tuning"] = document["moments"] = None
    other = {**document, "intercept": document["intercept"] + 1000.0}
    found = diff(model_from_json(document), model_from_json(other))
    assert found.stability == 1 and not found.is_same
    assert str(found).splitlines()[-1] == f"intercept: {document['intercept']!r} -> {other['intercept']!r}"
    assert "intercept: " in found._repr_html_()
    assert found.to_dict()["changes"] == [
        {"what": "intercept", "old": document["intercept"], "new": other["intercept"]}
    ]


def fitted(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    options = {"n_trees": 40, "n_rules": 4, "random_state": 0}
    if kind == "classes":
        return pysirus.SirusClassifier(**options).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    if kind == "counts":
        return pysirus.SirusRegressor(loss="poisson", **options).fit(X, rng.poisson(np.exp(X[:, 0])))
    times = np.column_stack([rng.random(150) < 0.7, rng.exponential(np.exp(X[:, 0]))])
    return pysirus.SirusSurvival(**options).fit(X, times)


@pytest.mark.parametrize("kind", ["classes", "counts", "survival"])
def test_show_and_diff_tell_models_of_other_starts_apart(kind, tmp_path, capsys):
    from pysirus.cli import main

    fitted(kind).save(tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    document["likelihood"] = None
    if kind == "survival":
        hazard = [float(word) for word in document["survival"]["cumulative_hazard"].split(" ")]
        document["survival"]["cumulative_hazard"] = " ".join(repr(2 * value) for value in hazard)
    elif kind == "classes":
        document["intercept"] = [value + 0.01 * i for i, value in enumerate(document["intercept"])]
    else:
        document["intercept"] += 0.01
    (tmp_path / "b.json").write_text(json.dumps(document), encoding="utf-8")
    said = []
    for name in ("a.json", "b.json"):
        with pytest.raises(SystemExit) as left:
            main(["show", str(tmp_path / name)])
        assert left.value.code == 0
        said.append(capsys.readouterr().out)
    assert said[0] != said[1] and "before the rules" in said[0]
    found = pysirus.load(tmp_path / "a.json").model_.diff(pysirus.load(tmp_path / "b.json"))
    assert not found.is_same and ("intercept" in str(found) or "survival.cumulative_hazard" in str(found))

"""Models in MLflow: saved without a pickle, logged to a store of files, loaded as a pyfunc."""

import json

import numpy as np
import pandas as pd
import pytest

from pysirus import SirusClassifier, SirusRegressor, SirusSurvival

mlflow = pytest.importorskip("mlflow")
flavor = pytest.importorskip("pysirus.mlflow")

SMALL = {"n_trees": 100, "random_state": 1, "n_jobs": 1}


def rows(n=150):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "n": rng.integers(0, 9, n), "k": rng.choice(["x", "y"], n), "idle": 1.0})
    y = np.where(X.a + X.n / 9 > 0.5, "yes", "no")
    return X.assign(a=X.a.where(X.index % 9 > 0)), y, rng


def models():
    X, y, rng = rows()
    times = pd.DataFrame({"event": rng.integers(0, 2, len(X)), "time": rng.exponential(size=len(X)) + 0.1})
    yield SirusClassifier(n_rules=3, **SMALL).fit(X, y)
    yield SirusRegressor(n_rules=3, **SMALL).fit(X, (y == "yes") * 2.0)
    yield SirusClassifier(n_rules=3, **SMALL).fit(X, y).without(1)
    yield SirusSurvival(n_rules=2, **SMALL).fit(X, times)


@pytest.mark.parametrize("number", range(4), ids=["classes", "numbers", "edited", "survival"])
def test_saved_model_loads_as_itself_and_as_a_pyfunc(number, tmp_path):
    model, X = list(models())[number], rows()[0]
    flavor.save_model(model, tmp_path / "m", input_example=X[:3], metadata={"owner": "Ann"})
    assert not [path for path in (tmp_path / "m").rglob("*") if path.suffix in (".pkl", ".pickle")]
    model.save(tmp_path / "own.json")
    assert json.loads((tmp_path / "m/model.json").read_text()) == json.loads((tmp_path / "own.json").read_text())
    again, function = flavor.load_model(tmp_path / "m"), mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert type(again) is type(model)
    for predict in (again.predict, function.predict):
        assert np.array_equal(predict(X), model.predict(X))
    assert function.metadata.metadata == {"owner": "Ann"}
    needed = function.metadata.signature.inputs.input_dict()
    assert not needed["idle"].required and np.array_equal(function.predict(X.drop(columns="idle")), model.predict(X))


def test_model_is_logged_to_a_store_of_files_and_loaded_from_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    model, X = next(models()), rows()[0]
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    try:
        with mlflow.start_run():
            info = flavor.log_model(model, "credit", input_example=X[:3])
        assert info.signature is not None
        assert np.array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(X), model.predict(X))
        assert str(flavor.load_model(info.model_uri)) == str(model)
    finally:
        mlflow.set_tracking_uri(before)


def test_folder_with_files_is_not_written_into(tmp_path):
    (tmp_path / "x.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not empty"):
        flavor.save_model(next(models()), tmp_path)


def test_what_is_no_fitted_model_is_refused_and_leaves_no_folder(tmp_path):
    for model, error in (({"a": 1}, TypeError), (SirusClassifier(), ValueError)):
        with pytest.raises(error, match="fitted"):
            flavor.save_model(model, tmp_path / "m")
        assert not (tmp_path / "m").exists()

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


def frame_of_every_type(n=300):
    """A frame with a column of each type that pandas has for what a model reads."""
    rng = np.random.default_rng(5)
    size, number, day = rng.choice(["lo", "mid", "hi"], n), rng.integers(0, 5, n), rng.integers(0, 300, n)
    dates = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(day, "D"))
    X = pd.DataFrame({"float": rng.normal(size=n), "float32": rng.normal(size=n).astype("f4"), "int": number})
    X["int8"], X["bool"] = rng.integers(0, 5, n).astype("i1"), rng.random(n) < 0.5
    X["Int64"], X["boolean"] = pd.array(number, dtype="Int64"), pd.array(day > 150, dtype="boolean")
    X["text"], X["object"] = pd.array(size, dtype="string"), pd.Series(size, dtype=object)
    X["category"], X["ordered"] = pd.Categorical(size), pd.Categorical(size, ["lo", "mid", "hi"], ordered=True)
    X["category of numbers"], X["mixed"] = pd.Categorical(number), [1 if k else "none" for k in number]
    X["date"], X["time"], X["zone"] = dates.dt.date, dates, dates.dt.tz_localize("Europe/Berlin")
    X["date as text"] = dates.dt.strftime("%Y-%m-%d")
    gaps = X.copy()
    for i, name in enumerate(X.columns):
        if name not in ("int", "int8", "bool"):
            gaps.loc[i::7, name] = None
    return X, gaps


@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
def test_pyfunc_takes_every_type_of_column_that_the_model_takes(missing, tmp_path):
    X = frame_of_every_type()[missing]
    rng = np.random.default_rng(2)
    for i, name in enumerate(X.columns):
        own = X[[name]].assign(other=X["float"])
        y = np.where(pd.factorize(X[name].astype(str))[0] % 3 + rng.random(len(X)) > 1.5, "yes", "no")
        prepare = name in ("mixed", "date", "time", "zone", "date as text")
        model = SirusClassifier(n_rules=4, prepare=prepare, **SMALL).fit(own, y)
        flavor.save_model(model, tmp_path / str(i), input_example=own[:5])
        function = mlflow.pyfunc.load_model(str(tmp_path / str(i)))
        assert function.metadata.signature.inputs.input_names() == [name, "other"]
        for rows in (own, own[:5], own[:1], own[:1].assign(**{name: [None]})):
            assert np.array_equal(function.predict(rows), model.predict(rows)), name


def test_loading_unpickles_nothing(tmp_path, monkeypatch):
    import pickle

    import cloudpickle

    def refuse(*_, **__):
        raise AssertionError("a pickle is read")

    model, X = next(models()), rows()[0]
    flavor.save_model(model, tmp_path / "m", input_example=X[:3])
    for module in (pickle, cloudpickle):
        for name in ("load", "loads"):
            monkeypatch.setattr(module, name, refuse)
    assert np.array_equal(mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(X), model.predict(X))


def test_signature_says_what_is_predicted_and_served_rows_are_predicted_alike(tmp_path):
    X = rows()[0]
    for i, (labels, kind) in enumerate((((0, 1), "long"), ((False, True), "boolean"), (("no", "yes"), "string"))):
        model = SirusClassifier(n_rules=3, **SMALL).fit(X, np.asarray(labels)[(X.n > 4).astype(int)])
        folder = tmp_path / str(i)
        flavor.save_model(model, folder, input_example=X[:20])
        assert [own.type.name for own in mlflow.models.get_model_info(str(folder)).signature.outputs] == [kind]
        served = json.loads((folder / "serving_input_example.json").read_text())["dataframe_split"]
        found = mlflow.pyfunc.load_model(str(folder)).predict(pd.DataFrame(**served))
        assert np.array_equal(found, model.predict(X[:20]))


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

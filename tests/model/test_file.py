"""Model files: an exact round trip, every damage named, never half a file."""

import json
import os
import stat
from importlib.resources import files

import joblib
import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import ModelFileError, SirusClassifier, SirusRegressor
from pysirus._runtime.output import write_text


@pytest.fixture(scope="module")
def model(ozone):
    return SirusRegressor(n_trees=2000, n_rules=8, random_state=3).fit(*ozone)


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "m.json"
    model.save(path)
    return path


def test_a_model_comes_back_exactly(model, saved, ozone):
    X, _ = ozone
    again = pysirus.load(saved)
    assert type(again) is SirusRegressor
    assert again.get_params() == model.get_params()
    assert again.rules_ == model.rules_
    assert again.selected_ == model.selected_
    for ours, theirs in zip(again.selected_, model.selected_):
        assert ours.__getstate__() == theirs.__getstate__()
    assert again.intercept_ == model.intercept_
    assert (again.n_trees_, again.ridge_penalty_) == (model.n_trees_, model.ridge_penalty_)
    assert again.n_features_in_ == model.n_features_in_
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert np.array_equal(again.predict(X), model.predict(X))
    assert str(again) == str(model)


def test_a_loaded_model_saves_to_the_same_file(saved, tmp_path):
    pysirus.load(saved).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == saved.read_bytes()


def test_a_model_of_an_array_with_missing_values_comes_back(rng, tmp_path):
    X = rng.normal(size=(300, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.where(np.isnan(X[:, 0]), 5.0, np.nan_to_num(X[:, 0])) + 0.1 * rng.normal(size=300)
    model = SirusRegressor(n_trees=500, random_state=0).fit(X, y)
    assert any(c.missing is not None for rule in model.rules_ for c in rule.conditions)
    model.save(tmp_path / "m.json")
    again = pysirus.load(str(tmp_path / "m.json"))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.rules_ == model.rules_
    assert not hasattr(again, "feature_names_in_")


@pytest.mark.parametrize("scale", [1e-130, 1e60, 1e130])
def test_a_model_of_a_very_large_or_small_response_comes_back(ozone, tmp_path, scale):
    X, y = ozone
    model = SirusRegressor(n_trees=200, n_rules=5, n_stages=2, random_state=0).fit(X, y * scale)
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.without(1).predict(X), model.without(1).predict(X))


def test_a_model_of_no_rules_comes_back(tmp_path):
    with pytest.warns(UserWarning, match="constant"):
        model = SirusRegressor().fit([[1.0], [2.0]], [3.0, 3.0])
    model.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").predict([[7.0]]).tolist() == [3.0]


def test_odd_names_come_back(rng, tmp_path):
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=['é"<\n', "日本"])
    model = SirusRegressor(n_trees=200, random_state=0).fit(X, X.iloc[:, 0])
    model.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").rules_ == model.rules_


def test_a_generator_as_seed_can_be_saved(ozone, tmp_path):
    model = SirusRegressor(n_trees=200, random_state=np.random.default_rng(0)).fit(*ozone)
    model.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").rules_ == model.rules_


@pytest.mark.parametrize("labels", [[False, True], [0, 1], ["no", "yes"], [1.0, 2.0]])
def test_class_weights_come_back_with_their_labels(rng, tmp_path, labels):
    X, y = rng.random((80, 3)), np.array(labels)[rng.integers(0, 2, 80)]
    weights = dict(zip(np.array(labels), (1.5, np.float64(3))))
    model = SirusClassifier(n_trees=50, class_weight=weights, random_state=np.int64(7)).fit(X, y)
    model.save(tmp_path / "m.json")
    loaded = pysirus.load(tmp_path / "m.json")
    assert (loaded.class_weight, loaded.random_state) == (weights, 7)
    assert str(loaded.fit(X, y)) == str(model)


def test_joblib_works_too(model, ozone, tmp_path):
    joblib.dump(model, tmp_path / "m.joblib")
    again = joblib.load(tmp_path / "m.joblib")
    assert again.rules_ == model.rules_
    assert again.candidates_ == model.candidates_
    assert np.array_equal(again.predict(ozone[0]), model.predict(ozone[0]))


def test_the_file_is_json_that_says_what_it_is(saved, model):
    document = json.loads(saved.read_text())
    assert document["format"] == "pysirus-model"
    assert document["version"] == 1
    assert len(document["rules"]) == len(model.selected_)
    assert document["rules"][0]["text"] == str(model.selected_[0])


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 0.99])
def test_a_truncated_file_is_named(saved, share):
    text = saved.read_text()
    saved.write_text(text[: int(len(text) * share)])
    with pytest.raises(ModelFileError, match=r"m\.json' is not a pysirus model file, or it is truncated"):
        pysirus.load(saved)


@pytest.mark.parametrize("version", [0, 4, "1", None])
def test_a_file_of_another_version_is_named(saved, version):
    saved.write_text(json.dumps({**json.loads(saved.read_text()), "version": version}))
    with pytest.raises(ModelFileError, match=r"version .* this pysirus reads versions 1, 2 and 3"):
        pysirus.load(saved)


@pytest.mark.parametrize("text", ["{}", "[]", "3", '"pysirus-model"', "null", '{"format": "onnx", "version": 1}'])
def test_a_file_that_is_not_ours_is_named(tmp_path, text):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ModelFileError, match="is JSON but not a pysirus model file"):
        pysirus.load(tmp_path / "m.json")


def test_a_file_that_is_not_text_is_named(tmp_path):
    (tmp_path / "m.json").write_bytes(bytes(range(256)))
    with pytest.raises(ModelFileError, match="it is not text"):
        pysirus.load(tmp_path / "m.json")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        pysirus.load(tmp_path / "nowhere.json")


REQUIRED = json.loads(files("pysirus").joinpath("model.schema.json").read_text(encoding="utf-8"))["required"]


@pytest.mark.parametrize("key", sorted(set(REQUIRED) - {"format", "version"}))
def test_a_missing_entry_is_a_damaged_file(saved, key):
    document = json.loads(saved.read_text())
    del document[key]
    saved.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=rf"m\.json' is a damaged pysirus model file: .*{key}"):
        pysirus.load(saved)


@pytest.mark.parametrize("key", ["rules", "features", "classes", "facts", "task", "estimator"])
@pytest.mark.parametrize("value", [17, "x", [3], {"a": 1}])
def test_a_wrong_entry_is_a_damaged_file(saved, key, value):
    saved.write_text(json.dumps({**json.loads(saved.read_text()), key: value}))
    with pytest.raises(ModelFileError, match=r"m\.json"):
        pysirus.load(saved)


@pytest.mark.parametrize("key", ["conditions", "path", "inside", "weight", "n_inside", "frequency"])
def test_a_rule_that_lacks_an_entry_is_a_damaged_file(saved, key):
    document = json.loads(saved.read_text())
    del document["rules"][1][key]
    saved.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="damaged"):
        pysirus.load(saved)


def test_an_unknown_estimator_is_named(saved):
    document = json.loads(saved.read_text())
    document["estimator"]["name"] = "Oracle"
    saved.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="holds a Oracle, which this pysirus does not know"):
        pysirus.load(saved)


def test_a_file_without_estimator_is_a_bare_model(saved, model, ozone):
    document = json.loads(saved.read_text())
    del document["estimator"]
    saved.write_text(json.dumps(document))
    again = pysirus.load(saved)
    assert isinstance(again, pysirus.RuleModel)
    assert np.array_equal(again.predict(ozone[0]), model.predict(ozone[0]))


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        SirusRegressor().save(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["replace", "chmod"])
def test_a_failing_write_leaves_the_old_file_and_nothing_else(saved, model, monkeypatch, call):
    before = saved.read_bytes()

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"pathlib.Path.{call}", fail)
    with pytest.raises(OSError, match="No space left"):
        model.save(saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["m.json"]


def test_text_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.json"
    write_text(path, "old")
    with pytest.raises(ValueError, match="no valid Unicode"):
        write_text(path, "x" * 100_000 + "\ud800")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_a_folder_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        model.save(tmp_path / "no" / "m.json")


def test_a_file_has_the_usual_permissions(saved):
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o666 & ~mask


def test_a_folder_is_not_written_and_a_device_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Give the name of a file"):
        write_text(tmp_path, "text")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "text")
    assert os.read(reader, 10) == b"text" and pipe.is_fifo()
    os.close(reader)

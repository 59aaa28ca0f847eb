"""What fit accepts is saved and read back, or refused in words; a file is written only if it can be read."""

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import ModelFileError
from pysirus._data.column import DataError
from sampled import FULL

OPTIONS = {"n_trees": 30, "n_rules": 4, "random_state": 0}
X = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 2)), columns=["a", "b"])


@pytest.mark.parametrize("label", [2**70, -(2**65), 10**30])
def test_labels_beyond_64_bits_are_refused_by_fit(label):
    y = np.array([label if value > 0 else 1 for value in X["a"]], dtype=object)
    with pytest.raises(DataError, match=r"beyond 64 bits\. Turn its labels into text"):
        pysirus.SirusClassifier(**OPTIONS).fit(X, y)


@pytest.mark.parametrize("label", [10**30, -(10**30)])
def test_categories_beyond_64_bits_are_refused_by_fit(label):
    own = X.assign(c=pd.Series([label if value > 0 else 1 for value in X["a"]], dtype=object))
    with pytest.raises(DataError, match="'c'"):
        pysirus.SirusRegressor(categorical_features=["c"], **OPTIONS).fit(own, X["a"])


@pytest.mark.parametrize("scale", [1e101, 1e150, 1e300])
def test_times_that_no_file_holds_are_refused_by_fit(scale):
    y = np.column_stack([X["b"] < 0.5, scale * np.exp(X["a"])])
    with pytest.raises(DataError, match=r"times may be at most 1e\+100"):
        pysirus.SirusSurvival(**OPTIONS).fit(X, y)


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    path = tmp_path / "m.json"
    model = pysirus.SirusRegressor(**OPTIONS).fit(X, X["a"])
    model.save(path)
    before = path.read_bytes()
    for value in (float("inf"), 10**30, "three", None):
        broken = model.model_.of(model.model_)
        object.__setattr__(broken, "intercept", value)
        with pytest.raises(ModelFileError, match="cannot be"):
            broken.save(path)
        assert path.read_bytes() == before and [own.name for own in tmp_path.iterdir()] == ["m.json"]


LABELS = [0, 1, 2**63, 2**64, -(2**63), 2**65, 0.5, 1e300, -1e-300, "", " a", "a\nb", "é", True, False, np.int8(3)]


def some_case(rng):
    """An estimator, a table and a target of extreme sizes and labels."""
    scale = 10.0 ** rng.integers(-320, 308)
    table = X * 10.0 ** rng.integers(-300, 300) if rng.random() < 0.5 else X.copy()
    if rng.random() < 0.4:
        levels = [LABELS[i] for i in rng.choice(len(LABELS), 3)]
        table["c"] = pd.Series([levels[i] for i in rng.integers(0, 3, len(X))], dtype=object)
    signal = X["a"].to_numpy() + 0.1 * X["b"].to_numpy()
    kind = rng.choice(["numbers", "classes", "counts", "amounts", "survival", "linear", "harvest"])
    if kind == "classes":
        labels = [LABELS[i] for i in rng.choice(len(LABELS), 3, replace=False)]
        y = np.empty(len(X), dtype=object)
        y[:] = [labels[i] for i in np.digitize(signal, [-0.5, 0.5])]
        return pysirus.SirusClassifier(**OPTIONS), table, y
    if kind == "survival":
        return pysirus.SirusSurvival(**OPTIONS), table, np.column_stack([X["b"] < 0.5, scale * np.exp(signal)])
    if kind in ("counts", "amounts"):
        loss = "poisson" if kind == "counts" else "gamma"
        return pysirus.SirusRegressor(loss=loss, **OPTIONS), table, scale * np.exp(signal)
    estimator = {
        "numbers": pysirus.SirusRegressor(**OPTIONS),
        "linear": pysirus.RuleFitRegressor(n_trees=10, random_state=0),
        "harvest": pysirus.NodeHarvestRegressor(n_nodes=15, random_state=0),
    }[kind]
    return estimator, table, scale * signal


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(400) if FULL else range(40))
def test_what_fit_accepts_is_read_back_or_refused_in_words(seed, tmp_path):
    estimator, table, y = some_case(np.random.default_rng(seed))
    path = tmp_path / "m.json"
    try:
        model = estimator.fit(table, y)
        model.save(path)
    except (ValueError, TypeError) as error:
        assert str(error) and not path.exists() and not list(tmp_path.iterdir())
        return
    again = pysirus.load(path)
    assert np.array_equal(again.predict(table), model.predict(table))

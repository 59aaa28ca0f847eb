"""Derived columns in exports: grouped levels are applied everywhere, what only Python can derive is refused by name."""

import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest

from pysirus import SirusClassifier, SirusRegressor
from pysirus.export import DATED, FORMATS, LISTS, ExportError

N = 300


def rows(seed):
    rng = np.random.default_rng(seed)
    days = (np.datetime64("2023-01-02") + rng.integers(0, 500, N)).tolist()
    city = [f"c{k}" for k in rng.zipf(1.5, N) % 60]
    return pd.DataFrame({"city": city, "when": days, "x": rng.normal(size=N)})


@pytest.fixture(scope="module")
def grouped():
    X = rows(0)
    y = 2.0 * (X["city"] == "c1") - 3.0 * (X["city"] == "c2") + (X["x"] > 0)
    model = SirusRegressor(n_trees=50, n_rules=8, random_state=0, prepare=True, max_levels=5)
    return model.fit(X[["city", "x"]], y)


@pytest.fixture(scope="module")
def new_rows():
    X = rows(1)[["city", "x"]]
    X.loc[:3, "city"] = ["other", "never seen", None, "c1"]
    return X


def test_rules_use_the_group_on_both_sides(grouped):
    sides = {"other" in c.levels for rule in grouped.rules_ for c in rule.conditions if c.feature == "city"}
    assert sides == {True, False}


def test_grouped_levels_in_python(grouped, new_rows):
    space = {}
    exec(grouped.export("python"), space)
    found = [space["predict"](row) for row in new_rows.to_dict("records")]
    np.testing.assert_allclose(found, grouped.predict(new_rows), rtol=1e-12)


def test_grouped_levels_in_sql(grouped, new_rows):
    with sqlite3.connect(":memory:") as base:
        new_rows.to_sql("t", base, index=False)
        found = pd.read_sql(grouped.export("sql", table="t"), base)["prediction"]
    np.testing.assert_allclose(found, grouped.predict(new_rows), rtol=1e-12)


def test_grouped_levels_in_onnx(grouped, new_rows):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(grouped.export("onnx"), providers=["CPUExecutionProvider"])
    city = new_rows["city"].where(new_rows["city"].notna(), "").to_numpy(dtype=object)[:, None]
    (found, *_) = session.run(None, {"city": city, "x": new_rows["x"].to_numpy()[:, None]})
    np.testing.assert_allclose(np.ravel(found), grouped.predict(new_rows), rtol=1e-12)


@pytest.mark.parametrize("format", ["pmml", "excel", "scorecard"])
def test_grouped_levels_in_other_formats_list_what_is_kept(grouped, format):
    model = grouped
    if format == "scorecard":
        X = rows(0)[["city", "x"]]
        model = SirusClassifier(n_trees=50, n_rules=4, random_state=0, prepare=True, max_levels=5)
        model.fit(X, X["city"].isin(["c1", "c3"]))
    assert model.export(format)


@pytest.mark.parametrize("format", [format for format in FORMATS if format not in (*LISTS, *DATED)])
def test_dates_are_refused_by_name(format):
    X = rows(0)
    y = np.array([day.weekday() >= 5 for day in X["when"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SirusClassifier(n_trees=20, n_rules=2, random_state=0, prepare=True).fit(X[["when"]], y)
    with pytest.raises(ExportError, match=rf" of when', made of column 'when' \(a date\), which {format} does"):
        model.export(format)
    for listed in LISTS:
        assert model.export(listed)

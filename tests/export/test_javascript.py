"""The JavaScript export: what Node computes is what ``predict`` computes, on names and values that try to break it."""

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from hostile import COLOUR, make_model, make_table
from pysirus import SirusClassifier, SirusRegressor
from pysirus.export import ExportError
from sampled import few

NODE = shutil.which("node")
KINDS = [
    "regression",
    "slopes",
    "classes",
    "two scores",
    "four scores",
    "counts",
    "survival",
    "linear terms",
    "weighted mean",
]
RUN = """const own = require("./model.js");
const rows = JSON.parse(require("fs").readFileSync("rows.json"));
const plain = (value) => value instanceof Map ? [...value.values()] : value;
const found = rows.map((row) => [own.predict(row), plain((own.predict_proba || own.predict)(row)),
  own.predict(new Map(Object.entries(row)))]);
console.log(JSON.stringify(found));
"""


def in_node(model, X, folder):
    """Predictions and probabilities by Node, of rows as objects and as Maps."""
    if NODE is None:
        pytest.skip("there is no node here")
    (folder / "model.js").write_text(model.export("javascript"), encoding="utf-8")
    rows = [
        {name: None if value is None or value != value else value for name, value in row.items()}
        for row in X.astype(object).to_dict("records")
    ]
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "run.js").write_text(RUN, encoding="utf-8")
    found = subprocess.run([NODE, "run.js"], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def hostile_rows():
    X, _ = make_table(2000, seed=2)
    X.loc[5:60, COLOUR] = "never </script> seen"
    X.loc[X.index % 7 == 0, "=cmd|'/c calc'!A1"] = np.nan
    return X


@pytest.mark.filterwarnings("ignore:.*unseen category")
@pytest.mark.parametrize("kind", few(list(KINDS)))
def test_node_predicts_two_thousand_hostile_rows_as_python_does(kind, tmp_path):
    model, X = make_model(kind).model_, hostile_rows()
    first, shares, mapped = zip(*in_node(model, X, tmp_path))
    assert first == mapped
    wanted = model.predict(X)
    if model.family.shape:
        assert list(first) == wanted.tolist()
        assert np.abs(np.array(shares) - model.predict_proba(X)).max() < 1e-12
    elif model.family.needs_exp:
        assert np.abs(np.array(first) / wanted - 1).max() < 1e-12
    else:
        assert np.array_equal(np.array(first), wanted)


def test_names_of_objects_and_absent_columns_are_missing_values(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["toString", "__proto__"])
    model = SirusRegressor(n_rules=4, n_trees=100, random_state=0).fit(X, X.sum(axis=1)).model_
    empty = pd.DataFrame({"toString": [np.nan], "__proto__": [np.nan]})
    assert in_node(model, pd.DataFrame([{}]), tmp_path)[0][0] == model.predict(empty)[0]
    assert [row[0] for row in in_node(model, X[["toString"]].assign(__proto__=1.0)[:0], tmp_path)] == []


def test_labels_keep_their_type_and_long_ones_are_refused(tmp_path):
    X = pd.DataFrame({"a": np.r_[0.0:1.0:60j]})
    for labels in ([False, True], [3, 7], ["</script>", "b"]):
        y = np.array(labels, dtype=object)[(X.a > 0.5).astype(int)]
        model = SirusClassifier(n_rules=1, n_trees=50, random_state=0).fit(X, y).model_
        assert [row[0] for row in in_node(model, X, tmp_path)] == model.predict(X).tolist()
        assert "</script>" not in model.export("javascript")
    long = SirusClassifier(n_rules=1, n_trees=50, random_state=0).fit(X, np.where(X.a > 0.5, 2**60 + 1, 1))
    with pytest.raises(ExportError, match="more digits than a number of JavaScript"):
        long.export("javascript")
    for name in ("class", "_x", "1a", "a b"):
        with pytest.raises(ValueError, match="JavaScript identifier"):
            model.export("javascript", name=name)

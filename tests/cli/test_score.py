"""``pysirus score``, ``fit --cv`` and what ``show`` says of held-out rows."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import pysirus

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two halves of a table with text as target, and codes of it as text that looks like numbers."""
    folder = tmp_path_factory.mktemp("tables")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = X.iloc[:, :6].assign(kind=y.map({0: "bad", 1: "good"}), code=y.map({0: "01", 1: "02"}), w=1 + y)
    frame[::2].to_csv(folder / "a.csv", index=False)
    frame[1::2].to_csv(folder / "b.csv", index=False)
    return folder


def test_score_is_the_metrics_of_the_model(run, tables: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    columns = ("--drop", "code,w", "--rules", 4, "--trees", 100)
    code, out, err = run("fit", tables / "a.csv", "-t", "kind", *columns, "-m", model)
    assert code == 0 and out.startswith("probability of good: ") and "not cross-validated" in err
    code, out, err = run("score", model, tables / "b.csv")
    assert code == 0 and err == ""
    rows = pd.read_csv(tables / "b.csv")
    features = rows.drop(columns=["kind", "code", "w"])
    found = pysirus.load(model).metrics(features, rows["kind"])
    assert out.strip() == str(found)
    assert out.splitlines()[0] == "kind, 284 rows" and out.splitlines()[2].startswith("accuracy ")
    code, out, _ = run("score", model, tables / "b.csv", "--json", "--sample-weight", "w")
    weighed = pysirus.load(model).metrics(features, rows["kind"], sample_weight=rows["w"])
    assert code == 0 and json.loads(out) == weighed.to_dict()
    rows.rename(columns={"kind": "truth"}).to_csv(tmp_path / "renamed.csv", index=False)
    code, out, _ = run("score", model, tmp_path / "renamed.csv", "--target", "truth", "--json")
    assert code == 0 and json.loads(out)["metrics"] == found.to_dict()["metrics"]


def test_score_says_what_is_wrong(run, tables: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    run("fit", tables / "a.csv", "-t", "kind", "--drop", "code,w", "--rules", 2, "--trees", 50, "-m", model)
    rows = pd.read_csv(tables / "b.csv")
    rows.drop(columns="kind").to_csv(tmp_path / "none.csv", index=False)
    code, out, err = run("score", model, tmp_path / "none.csv")
    assert code != 0 and out == "" and "kind" in err
    rows.assign(kind="ugly").to_csv(tmp_path / "ugly.csv", index=False)
    code, _, err = run("score", model, tmp_path / "ugly.csv")
    assert code != 0 and "'ugly', which is not a class of the model" in err


def test_labels_that_look_like_numbers_stay_text(run, tables: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    frame = pd.read_csv(tables / "a.csv", dtype={"code": str})
    X = frame.drop(columns=["kind", "code", "w"])
    pysirus.SirusClassifier(n_rules=2, n_trees=50, random_state=0).fit(X, frame["code"]).save(model)
    code, out, err = run("score", model, tables / "b.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["target"] == "code"


def test_numbers_have_metrics_too(run, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    code, _, err = run("fit", "ozone", "--rules", 3, "--trees", 50, "--cv", "-m", model)
    assert code == 0 and "10-fold cross-validation: R² " in err
    code, out, _ = run("score", model, "ozone")
    assert code == 0 and out.splitlines()[2].startswith("R² ")
    code, _, err = run("show", model)
    assert code == 0 and "10-fold cross-validation: R² " in err


def test_cross_validation_takes_one_table(run, tmp_path: Path) -> None:
    for arguments in (("ozone", "--memory", "1GB"), (tmp_path, "--target", "O3")):
        code, _, err = run("fit", *arguments, "--cv")
        assert code == 2 and "--cv" in err

"""``pysirus predict`` and ``pysirus score`` of several Parquet files: what memory gives, batch by batch."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pysirus
from pysirus.cli import _predict
from pysirus.engine.backends import streams

pytestmark = pytest.mark.filterwarnings("ignore")
N = 2500


def make_frame():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), "id": np.arange(N)})
    frame["group"] = np.array(["left", "right", None], dtype=object)[rng.integers(0, 3, N)]
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, N), unit="D")
    frame["y"] = 3.0 * (frame["a"] > 0) + (frame["group"] == "left") + rng.normal(size=N) + frame["day"].dt.year % 2
    frame["kind"] = np.where(frame["y"] > 2, "much", "little")
    frame["w"] = rng.integers(0, 3, N).astype(float)
    frame.loc[1000:1400, "w"] = 0.0  # a part in which nothing weighs
    frame.loc[::17, "a"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table in three files, one of them without rows and one deeper than the others, and models of it."""
    folder = tmp_path_factory.mktemp("parts")
    frame = make_frame()
    frame.to_parquet(folder / "all.parquet", index=False)
    (folder / "new" / "more").mkdir(parents=True)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table[:700], folder / "new" / "a.parquet")
    pq.write_table(table[700:700], folder / "new" / "b.parquet")
    pq.write_table(table[700:], folder / "new" / "more" / "a.parquet", row_group_size=300)
    features = frame[["a", "b", "group", "day"]]
    numbers = pysirus.SirusRegressor(n_rules=6, n_trees=60, random_state=0, prepare=True)
    numbers.fit(features, frame["y"]).save(folder / "numbers.json")
    classes = pysirus.SirusClassifier(n_rules=6, n_trees=60, random_state=0, prepare=True)
    classes.fit(features, frame["kind"]).save(folder / "classes.json")
    return folder


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(streams, "BATCH_ROWS", (128, 128))


def test_predictions_of_files_in_one_file_are_those_of_memory(run, folder, tmp_path):
    rows = pd.read_parquet(folder / "all.parquet")
    expected = pysirus.load(folder / "numbers.json").predict(rows[["a", "b", "group", "day"]])
    for name in ("out.parquet", "out.csv"):
        code, out, err = run("predict", folder / "numbers.json", folder / "new", "--keep", "id", "-o", tmp_path / name)
        assert (code, out) == (0, ""), err
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert found["id"].tolist() == rows["id"].tolist()
    assert found["prediction"].tolist() == expected.tolist()
    assert pd.read_csv(tmp_path / "out.csv", float_precision="round_trip").equals(found)
    code, out, _ = run("predict", folder / "numbers.json", folder / "new", "--keep", "id")
    assert code == 0 and out == (tmp_path / "out.csv").read_text()


def test_predictions_of_files_in_a_folder_have_a_file_for_each(run, folder, tmp_path):
    rows = pd.read_parquet(folder / "all.parquet")
    options = ("--probabilities", "-o", tmp_path / "out")
    code, out, err = run("predict", folder / "classes.json", folder / "new/**/*.parquet", *options)
    assert (code, out) == (0, "") and "2 files with 2,500 rows" in err
    found = [pd.read_parquet(tmp_path / "out" / name) for name in ("a.parquet", "more/a.parquet")]
    assert [len(part) for part in found] == [700, 1800]
    assert sorted(p.name for p in (tmp_path / "out").rglob("*")) == ["a.parquet", "a.parquet", "more"]
    code, _, _ = run("predict", folder / "classes.json", folder / "all.parquet", *options[:2], tmp_path / "all.parquet")
    assert code == 0
    assert pd.concat(found, ignore_index=True).equals(pd.read_parquet(tmp_path / "all.parquet"))
    assert len(rows) == 2500


@pytest.mark.parametrize("kind, target", [("numbers", "y"), ("classes", "kind")])
@pytest.mark.parametrize("weights", [None, "w"])
def test_scores_of_files_are_those_of_memory(run, folder, kind, target, weights):
    options = ["--json", *([] if weights is None else ["--sample-weight", weights])]
    model = folder / f"{kind}.json"
    code, out, err = run("score", model, folder / "all.parquet", *options)
    assert code == 0, err
    code, found, err = run("score", model, folder / "new", *options)
    assert code == 0, err
    assert json.loads(found) == json.loads(out) and json.loads(out)["target"] == target


def test_complaints_about_files_say_where(run, folder, tmp_path):
    frame = make_frame()
    model = folder / "numbers.json"
    (tmp_path / "new").mkdir()
    frame.to_parquet(tmp_path / "new" / "a.parquet")
    frame.drop(columns=["a"]).to_parquet(tmp_path / "new" / "b.parquet")
    code, _, err = run("predict", model, tmp_path / "new", "-o", tmp_path / "out")
    assert code == 1 and "b.parquet': The model needs a column that the table does not have: a." in err
    assert not (tmp_path / "out").exists()
    frame.loc[2000, "a"] = np.inf
    frame.to_parquet(tmp_path / "new" / "b.parquet")
    code, _, err = run("predict", model, tmp_path / "new", "-o", tmp_path / "out.csv")
    assert code == 1 and "rows 1,921 to 2,048 of " in err and "infinity (inf), first in row 2001." in err
    assert not (tmp_path / "out.csv").exists() and len(list(tmp_path.iterdir())) == 1
    frame.assign(y=np.nan).to_parquet(tmp_path / "new" / "b.parquet")
    code, _, err = run("score", model, tmp_path / "new")
    assert code == 1 and "rows 1 to 128 of " in err
    frame[:0].to_parquet(tmp_path / "new" / "a.parquet")
    frame[:0].to_parquet(tmp_path / "new" / "b.parquet")
    code, _, err = run("score", model, tmp_path / "new")
    assert code == 1 and "has columns but no rows, as have the others" in err


def test_predictions_are_not_written_over_what_is_read(run, folder, tmp_path):
    before = (folder / "new" / "a.parquet").read_bytes()
    code, _, err = run("predict", folder / "numbers.json", folder / "new", "-o", folder / "new")
    assert code == 2 and "is an input, and writing there would destroy it" in err
    assert (folder / "new" / "a.parquet").read_bytes() == before
    code, _, err = run("predict", folder / "numbers.json", folder / "new", "-o", tmp_path / "no" / "out")
    assert code == 2 and "There is no folder" in err


def test_a_file_that_changes_while_it_is_read_is_refused(run, folder, tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    path = tmp_path / "new" / "a.parquet"
    make_frame().to_parquet(path)
    write = _predict.predict_table

    def change(*arguments):
        make_frame()[:50].to_parquet(path)
        return write(*arguments)

    monkeypatch.setattr(_predict, "predict_table", change)
    code, _, err = run("predict", folder / "numbers.json", tmp_path / "new", "-o", tmp_path / "out.csv")
    assert code == 1 and "changed while it was read" in err and not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample-weight", "w"], "column 'w', the sample weights, contains a negative weight: -1.0 in row 3"),
        (["--loss", "gamma"], "With --loss gamma column 'price', the target, must be above 0, found -3 in row 1"),
        (["--drop", "w", "--max-levels", 3], "--max-levels: files in batches are taken as they are"),
        (["--drop", "w"], "Error: Column 'id' has 300 categories; at most 255 are supported"),
    ],
)
def test_complaints_about_batches_say_what_was_typed(run, tmp_path, options, message):
    table = pa.table(
        {"x": range(300), "id": [f"i{i}" for i in range(300)], "price": range(-3, 297), "w": [1.0, 1.0, -1.0] * 100}
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    code, _, err = run("tune", tmp_path / "a.parquet", "--target", "price", *options, "--memory", "64MB")
    assert code in (1, 2) and message in err


def test_what_cannot_be_read_in_batches_is_said(run, tmp_path):
    for name, said in (("-", "standard input"), ("rows.xlsx", "'rows.xlsx'")):
        code, _, err = run("fit", name, "--target", "y", "--memory", "64MB")
        assert code == 2 and f"--memory: {said} cannot be read in batches" in err

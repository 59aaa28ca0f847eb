"""CSV files in batches: the types, and so the model, that memory finds; and what is refused."""

import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pysirus import DataError, SirusClassifier, SirusRegressor, load
from pysirus._data.read import read_file
from pysirus.cli import main
from pysirus.engine.backends import sources
from pysirus.engine.backends.files import FileRows
from pysirus.engine.backends.sources import find_files, scan_files

pytestmark = pytest.mark.filterwarnings("ignore")
N = 900


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK", 1 << 12)


def make_frame():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=N).round(4), "late": np.arange(N) % 50, "empty": [None] * N})
    frame["late"] = frame["late"].astype(object)
    frame.loc[N - 5 :, "late"] = 0.5  # whole numbers but for the last rows
    frame["group"] = np.array(["left", "right", None], dtype=object)[rng.integers(0, 3, N)]
    frame["code"] = np.array(["007", "8", "12"])[rng.integers(0, 3, N)]
    frame["words"] = [f'of "row"\n{i % 7}' for i in range(N)]
    frame["w"] = rng.integers(0, 3, N)
    frame["y"] = (3.0 * (frame["a"] > 0) + (frame["group"] == "left") + rng.normal(size=N)).round(3)
    frame["kind"] = np.where(frame["y"] > 2, "much", "little")
    frame.loc[::17, "a"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv")
    frame = make_frame()
    frame.to_csv(folder / "all.csv", index=False)
    (folder / "parts").mkdir()
    for i, (begin, end) in enumerate([(0, 300), (300, 310), (310, N)]):
        frame[begin:end].to_csv(folder / "parts" / f"part-{i}.csv", index=False)
    return folder


@pytest.mark.parametrize("estimator, target", [(SirusRegressor, "y"), (SirusClassifier, "kind")])
@pytest.mark.parametrize("weights", [None, "w"])
def test_a_model_from_csv_in_batches_is_that_of_memory(folder, estimator, target, weights):
    table = read_file(folder / "all.csv", labels=["code"])
    drop = ["empty", "words", "y", "kind", "w"]
    features = table.drop_columns(drop)
    options = {"n_rules": 8, "n_trees": 100, "random_state": 0, "categorical_features": ["code"]}
    expected = estimator(**options).fit(features, table[target], None if weights is None else table[weights])
    drop = [name for name in drop if name not in (target, weights)]
    for paths in (folder / "all.csv", folder / "parts", folder / "parts" / "*.csv"):
        found = estimator(**options).fit_files(paths, target, sample_weight=weights, drop=drop, memory=1 << 26)
        assert found.model_.selected == expected.model_.selected
        assert found.model_.intercept == expected.model_.intercept
        assert found.model_.features == expected.model_.features


LATE = {
    "whole": [*range(2000), -7],
    "real": [*range(2000), 0.5],
    "text": [*range(2000), "x"],
    "nothing": [None] * 2001,
    "number after nothing": [None] * 2000 + [3],
    "truth": ["true"] * 2000 + ["false"],
    "zero and truth": [0] * 2000 + ["true"],
    "truth and number": ["true"] * 2000 + [2],
    "day": ["2024-01-31"] * 2001,
    "day and time": ["2024-01-31"] * 2000 + ["2024-01-31 10:00:00"],
    "day and number": ["2024-01-31"] * 2000 + [7],
    "large": [*range(2000), 2**70],
    "words for nothing": ["NA", "1"] * 1000 + ["nan"],
}


@pytest.mark.parametrize("name", LATE)
def test_types_are_those_of_memory(tmp_path, name):
    path = tmp_path / "a.csv"
    pd.DataFrame({"": np.arange(2001), "x": pd.Series(LATE[name], dtype=object)}).to_csv(path, index=False)
    [file] = scan_files([path])
    expected = read_file(path)
    assert file.schema == expected.schema and file.n_rows == 2001
    with file.batches(file.schema.names, 100) as batches:
        assert pa.Table.from_batches(list(batches)).equals(expected)


def test_types_are_those_of_all_files(tmp_path):
    for name, values in {"a": [1, 2], "b": [0.5, 1], "c": [3, 4]}.items():
        pd.DataFrame({"x": values, "y": [1, 2]}).to_csv(tmp_path / f"{name}.csv", index=False)
    files = scan_files(find_files(tmp_path))
    assert [file.schema.field("x").type for file in files] == [pa.float64()] * 3
    pd.DataFrame({"x": ["far"], "y": [1]}).to_csv(tmp_path / "d.csv", index=False)
    assert {file.schema.field("x").type for file in scan_files(find_files(tmp_path))} == {pa.string()}


def test_compressed_and_separated_files_are_read(tmp_path):
    text = "x;label\n" + "".join(f"{i};l{i % 3}\n" for i in range(3000))
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "c.tsv").write_text(text.replace(";", "\t"))
    assert [(file.n_rows, file.schema.names) for file in scan_files(find_files(tmp_path))] == [
        (3000, ["x", "label"])
    ] * 3


REFUSED = {
    "latin": ("x,y\n\xe4,1\n".encode("latin-1"), "is not in UTF-8"),
    "utf-16": ("x,y\n1,2\n".encode("utf-16"), "is in UTF-16"),
    "nothing": (b"", "is empty"),
    "ragged": (b"x,y\n1,2\n3\n", "cannot be read as CSV: .*Expected 2 columns"),
    "commas": (b"x;y\n1,5;2.5\n", "'x' of .* has numbers with decimal commas"),
    "twice": (b"x,x,y\n1,2,3\n", "'x' occurs more than once"),
    "no rows": (b"x,y\n", "no rows"),
    "long row": (b"x,y\n" + b"a" * (1 << 14) + b",2\n", "cannot be read as CSV"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_named(tmp_path, name):
    content, message = REFUSED[name]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        SirusRegressor(n_trees=10).fit_files(tmp_path / "a.csv", "y")


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("how", ["value", "longer", "gone"])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, monkeypatch, passes, how):
    path = tmp_path / "a.csv"
    make_frame()[["a", "y"]].to_csv(path, index=False)
    original, seen = FileRows._parts, []

    def parts(self, features):
        seen.append(features)
        if len(seen) > passes:
            change(path, how)
        return original(self, features)

    monkeypatch.setattr(FileRows, "_parts", parts)
    with pytest.raises(DataError, match=r"a\.csv' (changed while the model was learned|cannot be read any more)"):
        SirusRegressor(n_trees=20, random_state=0).fit_files(path, "y", memory=1 << 26)


def change(path, how):
    if not path.exists():
        return
    if how == "gone":
        path.unlink()
    elif how == "longer":
        with path.open("a") as file:
            file.write("1.0,2.0\n")
    else:
        status, text = path.stat(), path.read_text()
        path.write_text(text[:-3] + ("7" if text[-3] != "7" else "8") + text[-2:])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_the_command_line_takes_csv_in_batches(folder, tmp_path, capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as leaving:
            main([str(a) for a in arguments])
        captured = capsys.readouterr()
        assert not leaving.value.code, captured.err
        return captured.out

    options = (
        "-t",
        "kind",
        "--drop",
        "words,y,w,empty",
        "--categorical",
        "code",
        "--rules",
        5,
        "--trees",
        60,
        "--seed",
        1,
    )
    memory, files = tmp_path / "memory.json", tmp_path / "files.json"
    run("fit", folder / "all.csv", *options, "--strict", "-m", memory)
    run("fit", folder / "parts", *options, "--strict", "--memory", "100MB", "-m", files)
    assert load(files).model_.selected == load(memory).model_.selected
    assert run("score", files, folder / "parts/*.csv", "--json") == run("score", memory, folder / "all.csv", "--json")
    keep = ("--keep", "code", "--probabilities")
    assert run("predict", files, folder / "parts/*.csv", *keep) == run("predict", memory, folder / "all.csv", *keep)
    run("predict", files, folder / "parts", "-o", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"part-{i}.parquet" for i in range(3)]

"""Awkward tables through every kind of source: the model and the warnings of memory, or its error."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from awkward import TABLES, TARGETS, A, B
from everywhere import ENDS, EVERY, SOURCES, by_query, file_of, heard, in_partitions, nothing_fits, written
from pysirus import DataError, SirusClassifier, SirusRegressor
from pysirus._data.read import read_file
from pysirus.engine.backends.streams import Reading, opened
from sampled import FULL

FAMILIES: dict[str, Any] = {
    "y": lambda **options: SirusRegressor(n_rules=4, n_trees=60, random_state=0, **options),
    "count": lambda **options: SirusRegressor(
        n_rules=1, n_stages=2, loss="poisson", n_trees=60, random_state=0, **options
    ),
    "label": lambda **options: SirusClassifier(n_rules=4, n_trees=60, random_state=0, **options),
}
# Sources that do not keep some types. The rows as such a source keeps them, in memory, are what is compared with.
KEEPS: dict[str, Any] = {
    "csv": lambda table, folder: read_file(written(table, folder, "rows.csv")),
    "duckdb": lambda table, folder: pa.table(by_query(table, folder)),
    "polars": lambda table, folder: pl.from_arrow(table),
    "pandas": lambda table, folder: table.to_pandas(),
    "dask": lambda table, folder: in_partitions(table, folder).compute(),
}
KEPT_BY = {"csv": "csv", "pattern": "csv", "query": "duckdb", "lazy frame": "polars", "narwhals": "polars"}
TIMES = ["moments", "moments in UTC", "moments of a zone", "times of day", "lengths of time"]
TEXTS = ["numbers as text", "codes", "empty text", "text that says missing"]
CHANGES = {
    "csv": [
        "all missing",
        "ordered categories",
        "narrow numbers",
        "decimals",
        "bytes",
        "written times",
        *TIMES,
        *TEXTS,
    ],
    "duckdb": ["ordered categories", "moments in UTC", "moments of a zone", "lengths of time", "times of day"],
    "polars": ["ordered categories", "bytes", "times of day"],
    "pandas": ["all missing", "dates", "times of day", "decimals", "lists", "bytes"],
    "dask": ["all missing", "missing values", "dates", "times of day", "decimals", "lists", "bytes"],
}
# What is prepared: in batches dates, times of day and rows without a target; on Dask nothing.
PREPARED = ["dates", "moments", "moments in UTC", "moments of a zone", "written dates", "times of day"]
PREPARED += ["written times", "missing target", "plain", "unicode"]
CASES = [
    (name, source, target, prepare)
    for i, name in enumerate(TABLES)
    for j, source in enumerate(EVERY)
    for k, target in enumerate(["y"] if name.endswith("target") else FAMILIES)
    for prepare in ([False, True] if name in PREPARED and source != "dask" else [False])
    if (FULL or ((i + j + 2 * prepare) % 5 == 0 and (i + j // 5 + k) % 3 == 0))
    and not (name == "lists" and source.startswith(("csv", "pattern")))  # which CSV files cannot hold
]


def kept_by(name: str, source: str) -> str:
    """What keeps the rows, where it changes their types."""
    keeper = KEPT_BY.get(source.split(", ")[0], source.split(", ")[0])
    return keeper if name in CHANGES.get(keeper, ()) else "memory"


def outcome(estimator: Any, X: Any, target: str, folder: Path, **options: Any) -> tuple[list[str], str | None]:
    """What a fit says, and the model's file."""
    said = heard(estimator, X, target, **options)
    return said, file_of(estimator, folder / "model.json") if hasattr(estimator, "model_") else None


@cache
def of_memory(name: str, keeper: str, target: str, prepare: bool) -> tuple[list[str], str | None]:
    """The outcome of a table in memory."""
    with TemporaryDirectory() as made:
        folder, table = Path(made), TABLES[name](target)
        X = table if keeper == "memory" else KEEPS[keeper](table, folder)
        return outcome(FAMILIES[target](prepare=prepare), X, target, folder)


PART = re.compile(r"(?:rows ([\d,]+) to [\d,]+ of (?:'[^']*?(?:pieces/(\d))?[^/']*'|the source)|partition (\d)): ")
HINT = re.compile(r" Or try prepare=True: .*$")


def in_words_of_memory(text: str) -> str:
    """An error about a part of the rows as one about the table: rows are counted in all of it."""
    found = PART.search(text)
    if found is not None:
        start = ENDS[int(found[2] or found[3] or 0)]
        text = re.sub(r"\bin row (\d+)", lambda row: f"in row {start + int(row[1])}", text.replace(found[0], "", 1))
    return re.sub(r"(: |^)C", r"\1C", re.sub("column '(.*?)', the target,", r"Column '\1', the target,", text))


@pytest.mark.parametrize(("name", "source", "target", "prepare"), CASES)
def test_awkward_tables_are_those_of_memory(name, source, target, prepare, tmp_path, monkeypatch):
    warned, expected = of_memory(name, kept_by(name, source), target, prepare)
    kind, *batched = source.split(", ")
    if batched:
        nothing_fits(monkeypatch)
    X = SOURCES[kind](TABLES[name](target), tmp_path)
    said, found = outcome(FAMILIES[target](prepare=prepare), X, target, tmp_path, scratch=tmp_path)
    if name == "no rows":
        assert len(said) == 1 and re.search(r"no rows|0 sample\(s\)", said[0])
        return
    said = [re.sub("binary_view|large_binary", "Binary", own) for own in said]  # as polars hands its bytes on
    assert [in_words_of_memory(own) for own in said] == [
        HINT.sub("", own) if batched or kind == "dask" else own for own in map(in_words_of_memory, warned)
    ]
    assert found == expected and (found is None) == any(own.startswith("DataError") for own in said)


# -------------------------------------------------------------------------------------------------------- text in files


def with_commas(folder: Path) -> tuple[Path, list[Path]]:
    """Rows with decimal commas in a file with semicolons, and in two of them."""
    frame = TABLES["whole numbers, some missing"]("y").to_pandas()
    (folder / "two").mkdir()
    ways = [(folder / "all.csv", frame), *((folder / "two" / f"{k}.csv", frame[k::2]) for k in (0, 1))]
    for path, rows in ways:
        rows.to_csv(path, sep=";", decimal=",", index=False)
    return folder / "all.csv", [path for path, _ in ways[1:]]


@pytest.mark.parametrize("batched", [False, True])
def test_decimal_commas_are_remembered_wherever_they_were_read(batched, tmp_path, monkeypatch):
    alone, two = with_commas(tmp_path)
    estimator = FAMILIES["y"]()
    expected = estimator.fit(read_file(alone), "y").model_
    halves = estimator.fit(pa.concat_tables(map(read_file, two), promote_options="permissive"), "y").model_
    if batched:
        nothing_fits(monkeypatch)
    for X, memory in ((alone, expected), (str(alone.parent / "all.*"), expected), (two, halves)):
        found = estimator.fit(X, "y")
        assert (found.model_.selected, found.model_.intercept) == (memory.selected, memory.intercept)
        assert {form.decimal for form in found.model_.marks.values()} == {","}
        assert np.array_equal(found.predict(alone), found.predict(read_file(alone)))  # which has no decimal points


@pytest.mark.parametrize(
    ("file", "encoding"), [("rows.txt", "utf-8"), ("rows", "utf-8"), ("rows.csv", "utf-16"), ("rows.csv", "cp1252")]
)
def test_one_file_is_read_as_the_command_line_reads_it(file, encoding, tmp_path):
    table = TABLES["unicode"]("y").drop_columns(["都市"])
    path = tmp_path / file
    path.write_text(table.to_pandas().to_csv(index=False), encoding=encoding)
    estimator = FAMILIES["y"]()
    said, found = outcome(estimator, path, "y", tmp_path)
    assert found == outcome(FAMILIES["y"](), table, "y", tmp_path)[1]
    assert np.array_equal(estimator.predict(str(path)), estimator.predict(table))
    assert estimator.metrics(path, "y").metrics == estimator.metrics(table, "y").metrics
    assert len(said) == (encoding == "cp1252") and all("read as Windows-1252" in own for own in said)


def test_compressed_text_is_measured_as_it_is(tmp_path):
    path = tmp_path / "rows.csv.gz"
    TABLES["plain"]("y").to_pandas().to_csv(path, index=False)
    size = len(TABLES["plain"]("y").to_pandas().to_csv(index=False))
    assert path.stat().st_size < size
    for memory, table in ((4 * size, True), (4 * (size - 1), False)):
        with opened(path, Reading(memory=memory)) as there:
            assert (there.table is not None) == table


# ---------------------------------------------------------------------------------------------------- names of columns


def twice(folder: Path) -> dict[str, Any]:
    """Tables with a name that occurs twice."""
    columns = [pa.array(column) for column in (A, B, TARGETS["y"])]
    table = pa.Table.from_arrays(columns, names=["a", "a", "y"])
    frame = pd.DataFrame({"a": A, "b": B, "y": TARGETS["y"]})
    csv = folder / "rows.csv"
    frame.rename(columns={"b": "a"}).to_csv(csv, index=False)
    return {
        "pandas": frame.rename(columns={"b": "a"}),
        "pyarrow table": table,
        "reader": table.to_reader(),
        "parquet": written(table, folder, "rows.parquet"),
        "csv": csv,
        "query": duckdb.from_arrow(table.rename_columns(["a", "b", "y"])).query("t", "select a, b as a, y from t"),
        "dask": dd.from_pandas(frame, npartitions=2).rename(columns={"b": "a"}),
    }


@pytest.mark.parametrize("batched", [False, True])
def test_a_name_that_occurs_twice_is_refused_everywhere(batched, tmp_path, monkeypatch):
    if batched:
        nothing_fits(monkeypatch)
    for X in twice(tmp_path).values():
        with pytest.raises(DataError, match=r"Column name 'a' occurs more than once. Rename or drop one"):
            FAMILIES["y"]().fit(X, "y")


@pytest.mark.parametrize("source", [source for source in EVERY if source != "dask"])
def test_a_column_to_drop_that_is_nowhere_is_refused_everywhere(source, tmp_path, monkeypatch):
    kind, *batched = source.split(", ")
    if batched:
        nothing_fits(monkeypatch)
    X = SOURCES[kind](TABLES["plain"]("y"), tmp_path)
    with pytest.raises(DataError, match=r"There is no column 'aa' for the parameter drop\. Did you mean 'a'\?"):
        FAMILIES["y"]().fit(X, "y", drop=["b", "aa"])


@pytest.mark.skipif(not hasattr(pa, "opaque"), reason="an older pyarrow")
@pytest.mark.parametrize("batched", [False, True])
def test_numbers_that_a_database_sends_as_text_are_numbers(batched, tmp_path, monkeypatch):
    """NUMERIC of PostgreSQL, the usual type of amounts of money."""
    plain = TABLES["missing values"]("y")
    kind = pa.opaque(pa.string(), "numeric", "PostgreSQL")
    amounts = {name: plain[name].cast(pa.string()).combine_chunks() for name in ("c", "y")}
    table = plain
    for name, own in amounts.items():
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.ExtensionArray.from_storage(kind, own))
    if batched:
        nothing_fits(monkeypatch)
    expected = outcome(FAMILIES["y"](), plain, "y", tmp_path)
    assert outcome(FAMILIES["y"](), table.to_reader(50), "y", tmp_path) == expected

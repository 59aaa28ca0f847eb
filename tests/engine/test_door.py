"""One door: whatever rows come from, the model is that of the same rows in memory."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import dask.dataframe as dd
import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import servers
from engines import skipping
from everywhere import EVERY, SOURCES, file_of, heard, nothing_fits, written
from pysirus import (
    DataError,
    SirusClassifier,
    SirusClassifierCV,
    SirusRegressor,
    SirusRegressorCV,
    SirusSurvival,
    SirusSurvivalCV,
)
from pysirus._data.elsewhere import is_elsewhere
from pysirus._parameters import ParameterError
from pysirus.engine.backends.streams import Reading, opened
from sampled import FULL, ON_ENGINES, in_turns

FAST = {"n_trees": 200, "random_state": 0}
FAMILIES: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "numbers": (SirusRegressor, SirusRegressorCV, {}, "y"),
    "counts": (SirusRegressor, SirusRegressorCV, {"loss": "poisson"}, "count"),
    "amounts": (SirusRegressor, SirusRegressorCV, {"loss": "gamma"}, "cost"),
    "classes": (SirusClassifier, SirusClassifierCV, {}, "label"),
}
MANNERS = ["plain", "tuned", "staged", "with slopes"]


def estimator_of(family: str, manner: str) -> tuple[Any, str]:
    """An estimator, not fitted, and the column that it predicts."""
    fixed, tuned, options, target = FAMILIES[family]
    if manner == "plain":
        return fixed(n_rules=5, **FAST, **options), target
    if manner == "staged":
        return fixed(n_rules=1, n_stages=3, **FAST, **options), target
    if manner == "with slopes":
        return fixed(n_rules=1, n_stages=3, slopes=True, **FAST, **options), target
    return tuned(cv=3, n_repeats=1, max_rules=5, **FAST, **options), target


def rows(n_rows: int = 240) -> pd.DataFrame:
    """Numbers, a category, a target of each kind."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"a": draw.normal(size=n_rows).round(3), "b": draw.integers(0, 40, n_rows)})
    frame["town"] = draw.choice(["Oslo", "Rome", "Bern"], n_rows)
    signal = 2 * (frame["a"] > 0.3) + (frame["town"] == "Rome")
    frame["w"] = draw.integers(1, 4, n_rows)
    frame["y"] = (signal + draw.normal(0, 0.2, n_rows)).round(3)
    frame["count"] = draw.poisson(1 + signal)
    frame["cost"] = draw.gamma(2, 1 + signal).round(3)
    frame["label"] = np.where(signal + draw.normal(0, 0.5, n_rows) > 1, "yes", "no")
    return frame


def one_target(frame: pd.DataFrame, target: str) -> pd.DataFrame:
    return frame[["a", "b", "town", target]]


def document(model: Any, path: Path) -> dict[str, Any]:
    """The file of a model."""
    model.save(path)
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@cache
def of_memory(family: str, manner: str) -> tuple[str, list[str]]:
    """The model file of a frame in memory, and what its fit warns of."""
    estimator, target = estimator_of(family, manner)
    said = heard(estimator, one_target(rows(), target), target)
    with TemporaryDirectory() as folder:
        return file_of(estimator, Path(folder) / "model.json"), said


@pytest.mark.parametrize(("source", "family", "manner"), in_turns(EVERY, list(FAMILIES), MANNERS)[:: 1 if FULL else 3])
def test_every_source_gives_the_model_of_memory(source, family, manner, tmp_path, monkeypatch):
    estimator, target = estimator_of(family, manner)
    name, *batched = source.split(", ")
    if batched:
        nothing_fits(monkeypatch)
    expected, warned = of_memory(family, manner)
    assert heard(estimator, SOURCES[name](one_target(rows(), target), tmp_path), target, scratch=tmp_path) == warned
    assert file_of(estimator, tmp_path / "found.json") == expected


@pytest.mark.parametrize("source", ["parquet", "query", "lazy frame", "dataset", "reader"])
def test_rows_beyond_the_memory_are_read_in_batches(source, tmp_path, monkeypatch):
    nothing_fits(monkeypatch)
    estimator, target = estimator_of("numbers", "plain")
    frame = one_target(rows(), target)
    expected = document(estimator.fit(frame.drop(columns=target), frame[target]), tmp_path / "expected.json")
    with opened(SOURCES[source](frame, tmp_path / _made(tmp_path, "a")), Reading()) as there:
        assert there.table is None and len(there.files) in (1, 5)
    scratch = tmp_path / _made(tmp_path, "scratch")
    found = estimator.fit(SOURCES[source](frame, tmp_path / _made(tmp_path, "b")), target, scratch=scratch)
    assert document(found, tmp_path / "found.json") == expected
    assert not list(scratch.iterdir())


def _made(folder: Path, name: str) -> str:
    (folder / name).mkdir()
    return name


@pytest.mark.parametrize("source", ["parquet", "csv", "query"])
def test_rows_without_a_target_are_left_out_in_batches_too(source, tmp_path, monkeypatch):
    nothing_fits(monkeypatch)
    frame = one_target(rows(), "y").assign(w=np.arange(240) % 3)
    frame["y"] = frame["y"].where(np.arange(240) % 7 != 3)
    estimator = SirusRegressor(n_rules=5, prepare=True, **FAST)
    said = heard(estimator, frame, "y", "w")
    expected = file_of(estimator, tmp_path / "expected.json")
    assert said == ["22 of 240 rows have no target and are left out."]
    assert heard(estimator, SOURCES[source](frame, tmp_path), "y", "w", scratch=tmp_path) == said
    assert file_of(estimator, tmp_path / "found.json") == expected
    (refused,) = heard(SirusRegressor(**FAST), SOURCES[source](frame, tmp_path), "y", scratch=tmp_path)
    where = "the source" if source == "query" else f"'{tmp_path / 'rows.'}{source}'"
    assert refused.startswith(f"DataError: rows 0 to 239 of {where}: column 'y', the target, contains NaN")


@pytest.mark.parametrize("source", ["pandas", "parquet", "query", "dask"])
def test_roles_are_columns_by_name(source, tmp_path):
    frame = rows()[["a", "b", "town", "w", "count"]].assign(years=1.5, who=np.arange(240) // 4)
    make = SOURCES[source](frame, tmp_path)
    tuned = SirusRegressorCV(loss="poisson", cv=3, n_repeats=1, max_rules=3, **FAST)
    found = tuned.fit(make, "count", "w", "who", exposure="years", drop=["b"])
    assert found.feature_names_in_.tolist() == ["a", "town"]
    roles = found.model_.roles
    assert (roles.target, roles.weights, roles.exposure, roles.groups) == ("count", "w", "years", "who")
    again = SirusRegressorCV(loss="poisson", cv=3, n_repeats=1, max_rules=3, **FAST).fit(
        frame[["a", "town"]], frame["count"] / 1.5, sample_weight=frame["w"] * 1.5, groups=frame["who"]
    )
    assert found.rules_ == again.rules_ and found.cv_error_ == again.cv_error_


def times() -> pd.DataFrame:
    """Rows until an event."""
    return rows()[["a", "b", "town"]].assign(months=rows()["y"].abs() + 0.1, died=rows()["label"] == "yes")


@pytest.mark.parametrize("source", list(SOURCES))
def test_survival_reads_every_source_into_one_table(source, tmp_path):
    frame, outcome = times(), ("died", "months")
    estimator = SirusSurvival(n_rules=3, **FAST)
    expected = file_of(estimator.fit(frame[["a", "b", "town"]], frame[["died", "months"]]), tmp_path / "a.json")
    X = SOURCES[source](frame, tmp_path)
    assert file_of(estimator.fit(X, outcome, memory=1 << 20), tmp_path / "b.json") == expected
    if is_elsewhere(X):
        with pytest.raises(ParameterError, match=r"Survival needs all rows in memory.* Set memory to more, or fit a"):
            estimator.fit(SOURCES[source](frame, tmp_path), outcome, memory=1000)


def test_survival_is_tuned_on_dask_as_in_memory(tmp_path):
    tuned, outcome = SirusSurvivalCV(max_rules=3, cv=3, n_repeats=1, **FAST), ("died", "months")
    expected = document(tuned.fit(times(), outcome), tmp_path / "a.json")
    assert document(tuned.fit(SOURCES["dask"](times(), tmp_path), outcome), tmp_path / "b.json") == expected
    with pytest.raises(ParameterError, match=r"Survival needs all rows in memory.* Give fit the files"):
        tuned.fit_files(written(times(), tmp_path, "rows.parquet"), outcome)


@pytest.mark.parametrize("source", ["parquet", "csv", "query", "dask"])
def test_survival_is_scored_where_rows_lie(source, tmp_path):
    frame = times()
    model = SirusSurvival(n_rules=3, **FAST).fit(frame, ("died", "months"))
    found = model.metrics(SOURCES[source](frame, tmp_path), ("died", "months"))
    assert found.metrics == model.metrics(frame, ("died", "months")).metrics


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "dask"])
def test_predictions_and_metrics_take_the_same_sources(source, tmp_path):
    frame = one_target(rows(), "label")
    X = frame.drop(columns="label")
    model = SirusClassifier(n_rules=5, **FAST).fit(X, frame["label"])
    assert (model.predict(SOURCES[source](frame, tmp_path)) == model.predict(X)).all()
    (tmp_path / "more").mkdir()
    found = model.predict_proba(SOURCES[source](frame, tmp_path / "more"))
    assert (found == model.predict_proba(X)).all()
    (tmp_path / "most").mkdir()
    scored = model.metrics(SOURCES[source](frame, tmp_path / "most"), "label")
    assert scored.metrics == model.metrics(X, frame["label"]).metrics


@pytest.mark.parametrize("source", ["pandas", "parquet", "csv", "query", "reader"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_are_written_where_asked(source, ending, tmp_path):
    frame = one_target(rows(), "label").assign(id=np.arange(240))
    model = SirusClassifier(n_rules=5, **FAST).fit(frame, "label", drop=["id"])
    output = tmp_path / f"found.{ending}"
    assert model.predict_to(SOURCES[source](frame, tmp_path), output, keep=["id"], probabilities=True) == 240
    found = pd.read_csv(output) if ending == "csv" else pd.read_parquet(output)
    assert found.columns.tolist() == ["id", "prediction", "probability_no", "probability_yes"]
    assert found["id"].tolist() == list(range(240)) and (found["prediction"] == model.predict(frame)).all()
    assert (found[["probability_no", "probability_yes"]].to_numpy() == model.predict_proba(frame)).all()


def test_predictions_are_not_written_over_their_source_or_by_halves(tmp_path):
    frame = one_target(rows(), "y")
    model, path = SirusRegressor(n_rules=3, **FAST).fit(frame, "y"), written(frame, tmp_path, "rows.parquet")
    with pytest.raises(OSError, match=r"rows\.parquet"):
        model.predict_to(path, path)
    with pytest.raises(DataError, match="There is no column 'id'"):
        model.predict_to(path, tmp_path / "out.csv", keep="id")
    with pytest.raises(ParameterError, match=r"must end in \.csv or \.parquet"):
        model.predict_to(path, tmp_path / "out.xlsx")
    assert sorted(own.name for own in tmp_path.iterdir()) == ["rows.parquet"]


@pytest.mark.parametrize("source", ["parquet", "csv", "query", "lazy frame", "dataset", "reader", "dask"])
def test_monitoring_takes_the_same_sources(source, tmp_path):
    frame = one_target(rows(), "y").assign(month=np.repeat(["2025-01", "2025-02"], 120))
    model = SirusRegressor(n_rules=3, **FAST).fit(frame.drop(columns="month"), "y")
    new = frame.assign(a=frame["a"] + 1)
    expected = model.monitor(new.drop(columns=["y", "month"]), new["y"], time=new["month"]).to_dict()
    found = model.monitor(SOURCES[source](new, tmp_path), "y", time="month").to_dict()
    assert rounded(found) == rounded(expected)  # sums of batches are sums of decimals
    if source == "dask":
        found = model.monitor(dd.from_pandas(new, npartitions=2)).to_dict()
        assert rounded(found) == rounded(model.monitor(new.drop(columns=["y", "month"])).to_dict())


def rounded(value: Any) -> Any:
    """Plain data, its numbers to ten digits."""
    if isinstance(value, dict):
        return {name: rounded(own) for name, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(own) for own in value]
    return f"{value:.10g}" if isinstance(value, float) else value


def test_predictions_on_dask_are_not_computed_yet():
    frame = one_target(rows(), "label")
    model = SirusClassifierCV(cv=3, n_repeats=1, max_rules=3, **FAST).fit(frame, "label")
    found = model.predict(rows_there := dd.from_pandas(frame, npartitions=3))
    assert isinstance(found, dd.Series) and (found.compute() == model.predict(frame)).all()
    assert model.metrics(rows_there, "label").metrics == model.metrics(frame, "label").metrics
    assert model.without(1, rows_there, "label").rules == model.without(1, frame, "label").rules


def test_score_of_a_file_is_that_of_its_table(tmp_path):
    frame = one_target(rows(), "y")
    model = SirusRegressor(n_rules=3, **FAST).fit(frame, "y")
    path = written(frame, tmp_path, "rows.parquet")
    assert model.score(path, "y") == pytest.approx(model.score(frame.drop(columns="y"), frame["y"]), abs=1e-12)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ("nowhere.parquet", "y", "No Parquet or CSV file matches"),
        (np.zeros((3, 2)), "y", "X is an array without names"),
        (rows(), "z", "There is no column 'z' for the target"),
        (rows(), da.zeros(240), "y is a Dask Array"),
    ],
)
def test_what_cannot_be_read_is_said(X, y, said):
    with pytest.raises(DataError, match=said):
        SirusRegressor(n_rules=2, **FAST).fit(X, y)


def test_an_array_beside_a_path_is_refused(tmp_path):
    path = written(rows(), tmp_path, "rows.parquet")
    with pytest.raises(ParameterError, match=r"y must be the name of a column where X is a path, found numpy\.ndarray"):
        SirusRegressor().fit(path, np.zeros(240))
    with pytest.raises(ParameterError, match="y must be the name of one column, found 2: y, count"):
        SirusRegressor().fit_files(path, ("y", "count"))
    with pytest.raises(ParameterError, match="'y' has two roles"):
        SirusRegressor().fit(rows(), "y", drop=["y"])


def test_tables_in_memory_are_not_elsewhere():
    frame = rows()
    tables = [frame, pl.from_pandas(frame), pa.table({"a": [1]}), np.zeros((2, 2)), nw.from_native(frame), [[1, 2]]]
    assert not any(map(is_elsewhere, tables))
    assert not is_elsewhere(frame["a"]) and not is_elsewhere(pa.chunked_array([[1]]))


def test_delta_lake_comes_through_its_dataset(tmp_path):
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    estimator, target = estimator_of("numbers", "plain")
    table = pa.Table.from_pandas(one_target(rows(), target), preserve_index=False)
    for start in (0, 100):  # two versions
        deltalake.write_deltalake(
            str(tmp_path / "houses"), table.slice(start, 100 + 40 * (start // 100)), mode="append"
        )
    lake = deltalake.DeltaTable(str(tmp_path / "houses"))
    expected = estimator.fit(lake.to_pyarrow_table(), target).rules_
    assert len(lake.to_pyarrow_table()) == 240
    assert estimator.fit(lake.to_pyarrow_dataset(), target).rules_ == expected


def test_iceberg_comes_through_its_reader(tmp_path):
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")
    catalogs = pytest.importorskip("pyiceberg.catalog.memory", reason="a catalog needs pyiceberg[sql-sqlite]")
    estimator, target = estimator_of("numbers", "plain")
    table = pa.Table.from_pandas(one_target(rows(), target), preserve_index=False)
    catalog = catalogs.InMemoryCatalog("tests", warehouse=str(tmp_path))
    catalog.create_namespace("town")
    houses = catalog.create_table("town.houses", table.schema)
    houses.append(table)
    assert estimator.fit(houses.scan().to_arrow_batch_reader(), target).rules_ == estimator.fit(table, target).rules_


# ---------------------------------------------------------------------------------------------------- the command line


@pytest.fixture
def databases(tmp_path: Path) -> dict[str, Path]:
    """The same rows in DuckDB and in SQLite."""
    frame = one_target(rows(), "y")
    found = {"duckdb": tmp_path / "warehouse.duckdb", "sqlite": tmp_path / "shop.db"}
    with duckdb.connect(str(found["duckdb"])) as connection:
        connection.execute("create table houses as select * from frame")
    with closing(sqlite3.connect(found["sqlite"])) as connection:
        frame.to_sql("houses", connection, index=False)
    return found


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_query_on_the_command_line_is_the_table(kind, databases, run, tmp_path):
    frame = one_target(rows(), "y")
    csv = written(frame, tmp_path, "rows.csv")
    options = ("--target", "y", "--rules", 3, "--trees", 200, "--quiet")
    code, _, err = run(
        "fit", databases[kind], "--sql", "select * from houses", *options, "--model", tmp_path / "a.json"
    )
    assert code == 0, err
    run("fit", csv, *options, "--model", tmp_path / "b.json")
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads((tmp_path / "b.json").read_text())
    query = ("--sql", "select a, b, town, y from houses")
    assert (
        run("predict", tmp_path / "a.json", databases[kind], *query)[1] == run("predict", tmp_path / "a.json", csv)[1]
    )
    assert run("score", tmp_path / "a.json", databases[kind], *query)[1] == run("score", tmp_path / "a.json", csv)[1]


@ON_ENGINES
def test_a_query_of_postgres_is_the_table(run, tmp_path):
    frame = one_target(rows(), "y")
    csv = written(frame, tmp_path, "rows.csv")
    options = ("--target", "y", "--rules", 3, "--trees", 200, "--quiet")
    with skipping(servers.postgres) as connection:
        address = f"postgresql://tests@127.0.0.1:{connection.info.port}/postgres"
        with connection.cursor() as cursor:
            cursor.execute("create table houses (id serial, a numeric, b bigint, town text, y numeric(9, 3))")
            with cursor.copy("copy houses (a, b, town, y) from stdin") as copy:
                for row in frame.itertuples(index=False):
                    copy.write_row(tuple(row))
        connection.commit()
        query = ("--sql", "select a, b, town, y from houses order by id")
        code, _, err = run("fit", address, *query, *options, "--model", tmp_path / "a.json")
        assert code == 0, err
        predicted = run("predict", tmp_path / "a.json", address, *query)[1]
        scored = run("score", tmp_path / "a.json", address, *query)[1]
        code, _, err = run("fit", address, "--sql", "select * from hauses", *options)
        assert code == 1 and "hauses" in err and "cannot be answered" in " ".join(err.split())
        code, _, err = run("fit", address, "--sql", "delete from houses returning *", *options)
        assert code == 1 and "read-only transaction" in " ".join(err.split())
    run("fit", csv, *options, "--model", tmp_path / "b.json")
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads((tmp_path / "b.json").read_text())
    assert predicted == run("predict", tmp_path / "a.json", csv)[1]
    assert scored == run("score", tmp_path / "a.json", csv)[1]


def test_queries_that_fail_are_told_in_one_sentence(databases, run, tmp_path):
    for database, sql, said in [
        (databases["duckdb"], "select * from hauses", "The query cannot be answered"),
        (databases["sqlite"], "select * from hauses", "The query cannot be answered"),
        (databases["duckdb"], "select * from houses where false", "The query answers no rows."),
        (tmp_path / "none.duckdb", "select 1", "There is no database"),
        (written(rows(), tmp_path, "rows.csv"), "select 1", "neither of DuckDB nor of SQLite. To query a file of rows"),
    ]:
        code, out, err = run("fit", database, "--sql", sql, "--target", "y")
        assert code != 0 and not out and said in " ".join(err.split())
    code, _, err = run("fit", databases["duckdb"], "--target", "y")
    assert code != 0 and "say which rows to take" in " ".join(err.split())


def test_a_password_is_not_shown():
    from pysirus.engine.backends.streams import _shown

    assert _shown("postgresql://me:secret@host/db") == "postgresql://host/db"

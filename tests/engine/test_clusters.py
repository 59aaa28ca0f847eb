"""Real clusters give the models of memory, whoever is killed: a master of Spark and two workers with their executors.

Tuning is compared in every place where rows may be. Takes minutes, so it runs where it is asked for: make clusters.
"""

import os
import shutil
import sys
from functools import lru_cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pysirus
from deadly import make_deadly, this_executor
from parts import assert_equal_models, make_frame, response_of
from pysirus import spark as on_spark
from pysirus.engine.backends.spark import SparkRows, SparkShards
from sampled import CLUSTERS, in_turns

if not CLUSTERS:
    pytest.skip("a cluster takes minutes: make clusters", allow_module_level=True)
pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pysirus[spark]")
pytest.importorskip("distributed", reason="Dask is not installed: pip install pysirus[dask]")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support", "ignore:Nothing was learned")

import dask.dataframe as dd  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import standalone  # noqa: E402
from pysirus import dask as on_dask  # noqa: E402

FIT = {"n_trees": 100, "random_state": 5, "n_rules": 10}
TUNE = {"n_trees": 100, "random_state": 1, "cv": 3, "n_repeats": 1, "max_rules": 8}


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = tmp_path_factory.mktemp("spark")
    with standalone.cluster(folder) as address, standalone.session(address, folder) as session:
        yield session


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@lru_cache
def make_rows(kind):
    """Numbers, labels, flags, gaps, weights; rows are numbered by id, in another order than they stand in."""
    n_rows = 900
    frame, _, rng = make_frame(n_rows)
    steps = frame["wide"] > 0, frame["narrow"] > 0.3, frame["colour"] == "red", frame["holes"] > 1, frame["count"] < 400
    y = np.asarray(sum(step * size for step, size in zip(steps, (2.0, 1.5, 1.5, 1.0, 1.0)))) - 2
    y = y + 0.3 * rng.normal(size=n_rows)
    if kind == "counts":
        name, target, weights, loss = "SirusRegressor", rng.poisson(np.exp(y)), rng.exponential(size=n_rows), "poisson"
    else:
        estimator, target, weights = response_of(kind, y, rng)
        name, target, loss = estimator.__name__, target.to_numpy(), None
    frame = frame.drop(columns=["size", "copy"]).assign(target=target, w=1.0 if weights is None else weights)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.append_column("id", pa.array(rng.permutation(n_rows)))
    return name, table, {} if loss is None else {"loss": loss}


def in_order(table):
    return table.take(pc.sort_indices(table["id"])).drop_columns("id")


def of_memory(name, table, options):
    rows = in_order(table)
    X = rows.drop_columns(["target", "w"])
    y = pd.Series(rows["target"].to_numpy(zero_copy_only=False), name="target")
    return getattr(pysirus, name)(**options).fit(X, y, sample_weight=rows["w"])


def of_spark(spark, name, table, options, n_partitions):
    frame = spark.createDataFrame(table).repartition(n_partitions)
    return getattr(on_spark, name)(**options).fit(frame, target="target", sample_weight="w", row_id="id")


def assert_equal_tuning(found, expected):
    assert (found.p0_, found.path_) == (expected.p0_, expected.path_)
    assert found.model_.tuning.sizes == expected.model_.tuning.sizes
    assert_equal_models(found.model_, expected.model_)


@pytest.mark.parametrize("kind, n_partitions", [("numbers weighted", 4), ("four whole", 13), ("counts", 13)])
def test_fits_are_those_of_memory(spark, kind, n_partitions):
    name, table, loss = make_rows(kind)
    expected = of_memory(name, table, {**FIT, **loss})
    assert len(expected.rules_) > 4
    assert_equal_models(of_spark(spark, name, table, {**FIT, **loss}, n_partitions).model_, expected.model_)


@lru_cache
def tuned_in_memory(kind, n_stages):
    name, table, loss = make_rows(kind)
    return of_memory(f"{name}CV", table, {**TUNE, **loss, "n_stages": n_stages})


@pytest.mark.parametrize(
    "kind, n_stages, place",
    in_turns(
        ["numbers weighted", "two weighted", "four", "counts"],
        [1, "auto"],
        ["files 1", "files 7", "files 50", "Dask 1", "Dask 3", "Dask 16", "Spark 4", "Spark 13"],
    ),
)
def test_tuning_is_that_of_memory(kind, n_stages, place, spark, client, tmp_path):
    """Row groups of a file, partitions of Dask on two processes, of Spark on two executors."""
    name, table, loss = make_rows(kind)
    options = {**TUNE, **loss, "n_stages": n_stages}
    where, n_pieces = place.split()[0], int(place.split()[1])
    if where == "Spark":
        found = of_spark(spark, f"{name}CV", table, options, n_pieces)
    elif where == "Dask":
        frame = dd.from_pandas(in_order(table).to_pandas(), npartitions=n_pieces)
        assert frame.npartitions == n_pieces
        found = getattr(on_dask, f"{name}CV")(**options).fit(frame, "target", sample_weight="w")
    else:
        path = tmp_path / "rows.parquet"
        pq.write_table(in_order(table), path, row_group_size=len(table) // n_pieces)
        assert pq.ParquetFile(path).num_row_groups in (n_pieces, n_pieces + 1)
        found = getattr(pysirus, f"{name}CV")(**options).fit_files(path, "target", sample_weight="w", memory=1 << 27)
    expected = tuned_in_memory(kind, n_stages)
    assert found.n_stages_ == expected.n_stages_ and (expected.n_stages_ > 1) == (n_stages == "auto")
    assert len(expected.rules_) > 2
    assert_equal_tuning(found, expected)


OWNERS = [
    (SparkRows, "map_reduce"),
    (SparkRows, "map_reduce_response"),
    (SparkRows, "encode"),
    (SparkShards, "map_reduce"),
]


def test_an_executor_that_is_killed_in_a_fit_changes_nothing(spark, monkeypatch, tmp_path):
    name, table, _ = make_rows("numbers weighted")
    kinds = ["ColumnQuery", "Encoder", "NodeSums"]
    make_deadly(monkeypatch, OWNERS, kinds, tmp_path, this_executor)
    found = of_spark(spark, name, table, FIT, 4)
    assert sorted(mark.name for mark in tmp_path.iterdir()) == sorted(kinds)
    assert_equal_models(found.model_, of_memory(name, table, FIT).model_)


def test_executors_that_are_killed_in_tuning_change_nothing(spark, monkeypatch, tmp_path):
    name, table, _ = make_rows("numbers weighted")
    kinds = ["FoldColumns", "NodeSums of folds", "HeldOutQuery"]
    make_deadly(monkeypatch, OWNERS, kinds, tmp_path, this_executor)
    found = of_spark(spark, f"{name}CV", table, TUNE, 4)
    assert sorted(mark.name for mark in tmp_path.iterdir()) == sorted(kinds)
    assert_equal_tuning(found, of_memory(f"{name}CV", table, TUNE))

"""A real cluster of Spark, a master and two workers with their executors: the models of memory, whoever is killed.

Takes minutes, so it runs where it is asked for: make clusters.
"""

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pysirus
from deadly import make_deadly, this_executor
from parts import assert_equal_models, make_frame, response_of
from pysirus import spark as on_spark
from pysirus.engine.holders.spark import SparkRows, SparkShards
from sampled import CLUSTERS

if not CLUSTERS:
    pytest.skip("a cluster takes minutes: make clusters", allow_module_level=True)
pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pysirus[spark]")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support", "ignore:Nothing was learned")

import standalone  # noqa: E402

FIT = {"n_trees": 100, "random_state": 5, "n_rules": 10}
TUNE = {"n_trees": 40, "random_state": 1, "cv": 3, "n_repeats": 1, "max_rules": 6}


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = tmp_path_factory.mktemp("spark")
    with standalone.cluster(folder) as address, standalone.session(address, folder) as session:
        yield session


def make_rows(kind):
    """Numbers, labels, flags, gaps, weights; rows are numbered by id, in another order than they stand in."""
    frame, y, rng = make_frame(600)
    if kind == "counts":
        name, target, weights, loss = "SirusRegressor", np.floor(np.abs(y)), rng.exponential(size=600), "poisson"
    else:
        estimator, target, weights = response_of(kind, y, rng)
        name, target, loss = estimator.__name__, target.to_numpy(), None
    frame = frame.drop(columns="size").assign(target=target, w=1.0 if weights is None else weights)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.append_column("id", pa.array(rng.permutation(600)))
    return name, table, {} if loss is None else {"loss": loss}


def of_memory(name, table, options):
    rows = table.take(pc.sort_indices(table["id"]))
    X = rows.drop_columns(["id", "target", "w"])
    y = pd.Series(rows["target"].to_numpy(zero_copy_only=False), name="target")
    return getattr(pysirus, name)(**options).fit(X, y, sample_weight=rows["w"])


def of_spark(spark, name, table, options, n_partitions):
    frame = spark.createDataFrame(table).repartition(n_partitions)
    return getattr(on_spark, name)(**options).fit(frame, target="target", weights="w", row_id="id")


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


@pytest.mark.parametrize(
    "kind, n_stages, n_partitions",
    [("numbers weighted", 1, 13), ("numbers weighted", "auto", 4), ("two weighted", 1, 4), ("four", "auto", 4)],
)
def test_tuning_is_that_of_memory(spark, kind, n_stages, n_partitions):
    name, table, loss = make_rows(kind)
    options = {**TUNE, **loss, "n_stages": n_stages}
    expected = of_memory(f"{name}CV", table, options)
    assert_equal_tuning(of_spark(spark, f"{name}CV", table, options, n_partitions), expected)


OWNERS = [(SparkRows, "ask"), (SparkRows, "ask_response"), (SparkRows, "encode"), (SparkShards, "ask")]


def test_an_executor_that_is_killed_in_a_fit_changes_nothing(spark, monkeypatch, tmp_path):
    name, table, _ = make_rows("numbers weighted")
    kinds = ["ColumnQuestion", "Encoder", "NodeSums"]
    make_deadly(monkeypatch, OWNERS, kinds, tmp_path, this_executor)
    found = of_spark(spark, name, table, FIT, 4)
    assert sorted(mark.name for mark in tmp_path.iterdir()) == sorted(kinds)
    assert_equal_models(found.model_, of_memory(name, table, FIT).model_)


def test_executors_that_are_killed_in_tuning_change_nothing(spark, monkeypatch, tmp_path):
    name, table, _ = make_rows("numbers weighted")
    kinds = ["FoldColumns", "NodeSums of folds", "HeldOutQuestion"]
    make_deadly(monkeypatch, OWNERS, kinds, tmp_path, this_executor)
    found = of_spark(spark, f"{name}CV", table, TUNE, 4)
    assert sorted(mark.name for mark in tmp_path.iterdir()) == sorted(kinds)
    assert_equal_tuning(found, of_memory(f"{name}CV", table, TUNE))

"""Awkward tables, and rows that must be in one place, on Spark: the model of memory, or its error."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from awkward import COLUMNS, TABLES, TARGETS, A, B
from sampled import ENGINES

if not ENGINES:
    pytest.skip("seconds of Spark: make test-engines", allow_module_level=True)

from test_spark import F, spark

from everywhere import file_of, heard
from pysirus import DataError, SirusRegressor, SirusSurvival
from pysirus._parameters import ParameterError

__all__ = ["spark"]
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
ABSENT = ["categories", "ordered categories", "times of day", "lengths of time"]  # Spark has no such types
DATES = ["dates", "moments", "moments in UTC", "moments of a zone", "written dates"]
REFUSED = ["infinity", "numbers as text", "codes", "lists", "bytes", *DATES]


def all_at_once() -> pa.Table:
    """All columns that can be learned from, in one table: a fit is a dozen jobs."""
    columns = {"a": pa.array(A), "b": pa.array(B)}
    for name, some in COLUMNS.items():
        if name not in (*ABSENT, *REFUSED):
            columns |= {f"{name}: {own}": values for own, values in some.items() if own not in ("none", "u")}
    return pa.table({**columns, "y": TARGETS["y"]})


def in_partitions(spark, table):
    """The rows in order: of five partitions one has a row, and one none."""
    numbered = table.append_column("id", pa.array(range(len(table))))
    frame = spark.createDataFrame(numbered)
    return frame.repartitionByRange(5, F.col("id")).where("id = 0 or id >= 48 and id < 96 or id >= 144")


def rows_of(table):
    """The same rows in memory."""
    ids = np.arange(len(table))
    return table.filter(pa.array((ids == 0) | ((ids >= 48) & (ids < 96)) | (ids >= 144)))


def test_all_that_can_be_learned_from_is_that_of_memory(spark, tmp_path):
    table, estimator = all_at_once(), SirusRegressor(n_rules=8, n_trees=200, random_state=0)
    frame = in_partitions(spark, table)
    rows = frame.toArrow().drop_columns("id")
    assert len(rows) == len(rows_of(table)) and rows["y"].to_pylist() == rows_of(table)["y"].to_pylist()
    said = heard(estimator, rows, "y")
    expected = file_of(estimator, tmp_path / "a.json")
    assert [own for own in heard(estimator, frame, "y", drop=["id"]) if not own.startswith("PySpark")] == said
    assert len(said) == 2  # all missing, likely ids
    assert file_of(estimator, tmp_path / "b.json") == expected


@pytest.mark.parametrize("name", [*REFUSED, "infinite target", "missing target", "no features"])
def test_what_memory_refuses_is_refused(spark, name):
    table = TABLES[name]("y")
    frame = spark.createDataFrame(table)
    for X in (frame.toArrow(), frame):
        with pytest.raises(DataError, match=r"^(?:partition \d: )?(?:[Cc]olumn '|No feature)"):
            SirusRegressor(n_trees=20, random_state=0).fit(X, "y")


def test_counts_have_an_exposure_as_in_memory(spark, tmp_path):
    table = pa.table({"a": A, "b": B, "count": TARGETS["count"], "years": 0.5 + B % 4, "w": 1 + B % 3})
    estimator = SirusRegressor(n_rules=3, n_trees=100, loss="poisson", random_state=0)
    for weights in (None, "w"):
        expected = file_of(estimator.fit(rows_of(table), "count", weights, exposure="years"), tmp_path / "a.json")
        estimator.fit(in_partitions(spark, table), "count", weights, exposure="years", row_id="id")
        assert file_of(estimator, tmp_path / "b.json") == expected
    nothing = table.set_column(3, "years", pa.array(0.0 * B))
    with pytest.raises(DataError, match=r"partition \d: Column 'years', the exposure, must hold numbers above 0"):
        estimator.fit(in_partitions(spark, nothing), "count", exposure="years", drop="id")


def test_survival_is_read_from_partitions_in_the_order_of_row_id(spark, tmp_path):
    died = TARGETS["label"] == "yes"
    table = pa.table({"a": A, "b": B, "months": np.abs(TARGETS["y"]) + 0.1, "died": died})
    estimator = SirusSurvival(n_rules=3, n_trees=100, random_state=0)
    expected = file_of(estimator.fit(rows_of(table), ("died", "months")), tmp_path / "a.json")
    frame = in_partitions(spark, table)
    shuffled = frame.orderBy(F.rand(seed=1))
    for X in (frame.drop("id"), shuffled):
        estimator.fit(X, ("died", "months"), row_id="id" if X is shuffled else None)
        assert file_of(estimator, tmp_path / "b.json") == expected
    scored = estimator.metrics(frame, ("died", "months"))
    assert scored.metrics == estimator.metrics(rows_of(table), ("died", "months")).metrics
    with pytest.raises(ParameterError, match=r"Survival needs all rows in memory.* Set memory to more"):
        estimator.fit(frame, ("died", "months"), memory=100)

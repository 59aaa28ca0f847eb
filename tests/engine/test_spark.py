"""Rows of a Spark data frame give the rules of rows in memory, and Spark predicts what memory predicts.

Of each kind of check there is one; the others, marked ``MORE``, are for ``make test-full``: a session takes ten seconds
to start, and a fit some seconds more.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hostile_sql
import pysirus
from hostile import KINDS, SCORED, make_model, new_rows
from parts import assert_equal_models, draw_at_most, make_frame, response_of
from pysirus import SirusClassifier, SirusRegressor
from pysirus import spark as on_spark
from pysirus._data.column import DataError
from pysirus._learn.fit import fit
from pysirus._learn.grow import bin_rows
from pysirus._model.facts import ColumnRoles
from pysirus._parameters import ParameterError
from pysirus._text.message import say
from pysirus.engine.backends import spark as engine
from pysirus.export._dialects import SPARK
from sampled import ENGINES, FULL, ON_ENGINES, in_turns

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pysirus[spark]")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support", "ignore:.*unseen category")

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

MORE = pytest.mark.skipif(not FULL, reason="Spark takes seconds for each: make test-full")
OPTIONS = {"n_trees": 128, "random_state": 3, "n_rules": 8}
# it lives for a minute: not worth optimizing or verifying, which takes a quarter of the time of a first fit
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
QUICK += ["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]


@pytest.fixture(scope="module")
def spark():
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": " ".join(QUICK),
        "spark.python.daemon.module": "spark_daemon",
    }
    session = SparkSession.builder.master("local[2]").appName("pysirus")
    for name, value in settings.items():
        session = session.config(name, value)
    path = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(path))  # where the daemon is
        session = session.getOrCreate()
    yield session
    session.stop()


def make_rows(kind):
    """A table of what Spark has: numbers with NaN and with nulls, text with nulls, booleans; rows in a random order."""
    frame, y, rng = make_frame(600)
    estimator, y, weights = response_of(kind, y, rng)
    n = len(frame)
    columns = {name: pa.array(frame[name].astype(str if name == "size" else frame[name].dtype)) for name in frame}
    columns["holes"] = pa.array(frame["holes"].to_numpy())  # NaN stays NaN
    columns["count"] = pa.array(frame["count"].to_numpy(), mask=rng.random(n) < 0.1)
    columns["price"] = columns["wide"].cast(pa.float32()).cast(pa.decimal128(10, 2), safe=False)
    columns["a.b `c`"] = pa.array(rng.integers(0, 50, n), pa.int32())
    columns |= {"id": pa.array(rng.permutation(n) * 7 - 1000), "target": pa.array(y.to_numpy()), "w": pa.array(weights)}
    return estimator, pa.table(columns)


def fit_memory(estimator, table, n_stages=1):
    y, w = table["target"], table["w"]
    return estimator(**OPTIONS, n_stages=n_stages).fit(table.drop_columns(["id", "target", "w"]), y, sample_weight=w)


def fit_spark(estimator, frame, n_stages=1, **options):
    name = estimator.__name__
    return getattr(on_spark, name)(**OPTIONS, n_stages=n_stages).fit(
        frame, target="target", sample_weight="w", **options
    )


def n_kept(spark):
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def assert_same(found, expected):
    target = replace(expected.model_, family=replace(expected.model_.family, target="target"))
    assert_equal_models(found.model_, target)
    assert found.model_.target == "target"


@pytest.mark.parametrize(
    "kind, n_partitions", in_turns(["numbers weighted", "two weighted"], [2, 3])[: None if ENGINES else 1]
)
def test_partitions_give_the_model_of_memory(spark, kind, n_partitions, monkeypatch):
    estimator, table = make_rows(kind)
    frame = spark.createDataFrame(table).repartition(n_partitions)
    if kind == "two weighted" and n_partitions == 3:
        monkeypatch.setattr(engine, "FAN_IN", 2)  # answers meet on executors first
    if n_partitions == 3:
        frame = frame.where(F.spark_partition_id() != 1).persist()  # one is empty, and the user keeps them
    else:
        monkeypatch.setattr(engine, "PART_BYTES", 1)
        monkeypatch.setattr(engine, "LEAST_ROWS", 64)  # several parts a partition
    rows = frame.toArrow()
    assert len(rows) >= 400
    n_stages = 2 if FULL and kind.startswith("numbers") else 1  # every stage is another dozen jobs
    expected = fit_memory(estimator, rows, n_stages)
    kept = n_kept(spark)
    found = fit_spark(estimator, frame, n_stages, drop="id")
    assert len(expected.rules_) > 2 and expected.n_stages_ == n_stages
    assert_same(found, expected)
    assert n_kept(spark) == kept and frame.is_cached == (n_partitions == 3)
    X = rows.drop_columns(["id", "target", "w"])
    assert np.array_equal(found.predict(X), expected.predict(X))
    frame.unpersist()


@ON_ENGINES
@pytest.mark.filterwarnings("ignore:Nothing was learned")
def test_frames_are_tuned_in_groups_as_memory_is(spark, monkeypatch):
    draw_at_most(monkeypatch, 100)
    _, table = make_rows("numbers weighted")
    options = {"n_trees": 40, "random_state": 1, "cv": 3, "n_repeats": 1, "max_rules": 5}
    rows, groups = table.take(pc.sort_indices(table["id"])), "a.b `c`"
    columns = rows.drop_columns(["id", "target", "w", groups])
    expected = pysirus.SirusRegressorCV(**options).fit(
        columns, rows["target"], sample_weight=rows["w"], groups=rows[groups]
    )
    frame = spark.createDataFrame(table).repartition(2)
    kept = n_kept(spark)
    found = on_spark.SirusRegressorCV(**options).fit(
        frame, target="target", sample_weight="w", row_id="id", groups=groups
    )
    assert (found.p0_, found.path_) == (expected.p0_, expected.path_)
    assert_same(found, expected)
    assert n_kept(spark) == kept


@ON_ENGINES
@pytest.mark.filterwarnings("ignore:Nothing was learned")
def test_folds_look_forward_in_time_as_in_memory_and_so_does_evidence(spark):
    _, table = make_rows("numbers weighted")
    rows, time = table.sort_by("id"), "a.b `c`"
    options = {"n_trees": 40, "random_state": 1, "cv": "forward", "n_repeats": 1, "max_rules": 4}
    expected = pysirus.SirusRegressorCV(**options).fit(
        rows.drop_columns(["id", "target", "w", time]), rows["target"], rows["w"], time=rows[time]
    )
    frame = spark.createDataFrame(table).repartition(2)
    found = pysirus.SirusRegressorCV(**options).fit(frame, "target", "w", time=time, row_id="id")
    assert [own.period for own in found.model_.out_of_fold.forward] == [
        own.period for own in expected.model_.out_of_fold.forward
    ]
    assert (found.p0_, found.path_) == (expected.p0_, expected.path_)
    assert_same(found, expected)
    frame.persist()  # partitions that are made again may have their rows in another order
    for options in ({"how": "periods", "time": "id"}, {"groups": time}):
        told = [found.evidence(own, "target", "w", n_resamples=4, **options) for own in (frame, frame.toArrow())]
        assert told[0].to_dict() == told[1].to_dict() and told[0].n_rows > 500
    frame.unpersist()


@ON_ENGINES
def test_slopes_in_several_partitions_are_those_of_memory(spark):
    _, table = make_rows("numbers weighted")
    rising = pc.add(table["target"], pc.multiply(table["wide"], 2.0))
    table = table.set_column(table.schema.get_field_index("target"), "target", rising)
    options = {"n_trees": 128, "random_state": 3, "n_rules": 1, "n_stages": 4, "slopes": True}
    rows = table.sort_by("id")
    expected = SirusRegressor(**options).fit(
        rows.drop_columns(["id", "target", "w"]), rows["target"], sample_weight=rows["w"]
    )
    frame = spark.createDataFrame(table).repartition(3)
    found = SirusRegressor(**options).fit(frame, "target", sample_weight="w", row_id="id")
    assert any(not term.is_binary for term in expected.selected_)
    assert_same(found, expected)
    lines = [[own for own in model.selected_ if not own.is_binary] for model in (found, expected)]
    names = ("lower", "upper", "mean", "slope", "weight")
    assert [[getattr(own, name) for name in names] for own in lines[0]] == [
        [getattr(own, name) for name in names] for own in lines[1]
    ]


@MORE
def test_stages_constraints_and_given_rules_are_those_of_memory(spark):
    _, table = make_rows("two weighted")
    known = {
        **OPTIONS,
        "monotonic_cst": {"wide": 1, "holes": -1, "flag": -1},
        "interaction_cst": [["wide", "colour", "size"]],
        "required_rules": ["+0.5 if count < 512", "holes is missing"],
        "forbidden": ["few"],
        "n_stages": 2,
        "n_rules": 5,
    }
    kept = n_kept(spark)
    found = on_spark.SirusClassifier(**known).fit(
        spark.createDataFrame(table).repartition(2), target="target", sample_weight="w", row_id="id"
    )
    assert n_kept(spark) == kept
    in_order = table.sort_by("id")
    rows = in_order.drop_columns(["id", "target", "w"])
    memory = SirusClassifier(**known).fit(rows, in_order["target"], sample_weight=in_order["w"])
    assert memory.n_stages_ == 2 and found.model_.constraints == memory.model_.constraints
    assert [rule.frequency_text for rule in found.rules_[:2]] == ["given, fixed", "given"]
    assert_same(found, memory)
    assert np.array_equal(found.predict_proba(rows), memory.predict_proba(rows))


@MORE
@pytest.mark.parametrize("n_partitions", [2, 8])
def test_rows_are_numbered_by_row_id(spark, n_partitions):
    estimator, table = make_rows("numbers weighted")
    expected = fit_memory(estimator, table.sort_by("id"))
    kept = n_kept(spark)
    frame = spark.createDataFrame(table).repartition(n_partitions)
    assert_same(fit_spark(estimator, frame, row_id="id"), expected)
    assert n_kept(spark) == kept


def test_complaints_that_need_no_job(spark):
    from pyspark.ml.linalg import Vectors

    frame = spark.createDataFrame([(1.0, 2.0, "a", Vectors.dense([1.0]))], ["y", "x", "text", "vector"])
    frame = frame.withColumn("day", F.lit("2020-01-01").cast("date"))
    model = on_spark.SirusRegressor()
    with pytest.raises(DataError, match=r"'vector' holds vector objects.*vector_to_array"):
        model.fit(frame, "y")
    with pytest.raises(DataError, match="'day' holds dates"):
        model.fit(frame, "y", drop=["vector"])
    with pytest.raises(DataError, match=r"'age' holds dates or times \(interval"):
        model.fit(frame.select("y", F.expr("interval 1 month").alias("age")), "y")
    with pytest.raises(DataError, match=r"no column 'Text' for the target. Did you mean 'text'"):
        model.fit(frame, "Text")
    with pytest.raises(DataError, match=r"'x' is double; a row_id holds whole numbers"):
        model.fit(frame.select("y", "x", "text"), "y", row_id="x")
    with pytest.raises(DataError, match="No feature is left"):
        model.fit(frame.select("y"), "y")
    with pytest.raises(ParameterError, match="'y' has two roles, y and groups"):
        on_spark.SirusRegressorCV().fit(frame.select("y", "x"), "y", groups="y")
    with pytest.raises(DataError, match=r"takes a Spark data frame, found pandas\..*DataFrame"):
        model.fit(new_rows(), "y")


def infinite_row(spark):
    """A frame of three partitions, with an infinite value in the last."""
    frame = spark.range(0, 30, 1, 3).select(F.col("id"), F.col("id").cast("double").alias("y"))
    return frame.withColumn("x.1", F.when(F.col("id") == 25, F.lit("inf").cast("double")).otherwise(F.col("y")))


def test_a_bad_partition_is_named_and_nothing_is_left(spark):
    kept = n_kept(spark)
    with pytest.raises(DataError, match=r"^partition 2: Column 'x\.1' contains infinity \(inf\), first in row 5"):
        on_spark.SirusRegressor(n_trees=64).fit(infinite_row(spark), "y")
    assert n_kept(spark) == kept


@MORE
def test_a_bad_target_or_row_id_is_named_and_an_interrupt_leaves_nothing(spark, monkeypatch):
    kept, frame, model = n_kept(spark), infinite_row(spark), on_spark.SirusRegressor(n_trees=64)
    with pytest.raises(DataError, match=r"^partition 1: .*y contains NaN"):
        model.fit(frame.withColumn("y", F.expr("if(id = 15, null, y)")), "y", drop="x.1")
    for double, found in (("15", "15 more than once"), ("null", "a missing value")):
        repeated = frame.withColumn("row", F.expr(f"if(id = 16, {double}, id)"))
        with pytest.raises(DataError, match=rf"^partition \d: Column 'row' holds {found}"):
            model.fit(repeated, "y", row_id="row")
    assert n_kept(spark) == kept

    def interrupt(training, settings, **words):
        assert n_kept(spark) == kept + 2  # the rows, and the rows in bins
        raise KeyboardInterrupt

    monkeypatch.setattr("pysirus._learn.fit.grow_paths", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(frame, "y", drop="x.1")
    assert n_kept(spark) == kept


def test_parts_of_a_partition_have_the_same_rows_whatever_the_batches():
    named = {"x0": "x", "target": "y", "id": "row"}, ColumnRoles("y")
    table = pa.table({"target": np.arange(1000.0), "id": np.arange(1000), "x0": np.arange(1000)})
    for size in (1, 37, 250, 1000, 5000):
        parts = list(engine.PartsOf(*named, 250, "row")(table.to_batches(max_chunksize=size), 3))
        assert [part.number - 3 * engine.PARTS for part in parts] == [0, 1, 2, 3]
        assert [part.y.to_pylist() for part in parts] == [list(range(i, i + 250)) for i in range(0, 1000, 250)]
        assert say(parts[1].name) == "rows 250 to 499 of partition 3" and parts[1].X.column_names == ["x"]
    double = pa.table({"target": np.arange(4.0), "id": [0, 1, 1, 2]})
    with pytest.raises(DataError, match="rows 2 to 3 of partition 0: Column 'row' holds 1 more than once"):
        list(engine.PartsOf(*named, 2, "row")(double.to_batches(), 0))


# ------------------------------------------------------------------------------------------------------- prediction


def arrow_of(frame):
    """A pandas frame with its NaN as they are in numbers, and as nulls elsewhere."""
    return pa.table({name: pa.array(frame[name], from_pandas=frame[name].dtype == object) for name in frame})


@pytest.fixture(scope="module")
def hostile(spark):
    """New rows twice, with NaN in numbers and with nulls instead; kept, or Spark would compute them in its planner."""
    table = arrow_of(new_rows())
    assert table["a b"].null_count == 0 and np.isnan(table["a b"].to_numpy()).any()
    nulls = pa.table({name: pa.array(new_rows()[name], from_pandas=True) for name in new_rows()})
    return spark.createDataFrame(pa.concat_tables([table, nulls])).withColumn("other", F.lit(1)).persist()


@ON_ENGINES
@pytest.mark.parametrize("kind", [*KINDS, *SCORED] if FULL else ["four staged scores", "slopes"])
def test_spark_predicts_what_memory_predicts(hostile, kind):
    model, rows, frame = make_model(kind), new_rows(), hostile
    predicted = on_spark.transform(model, frame, "found")
    plan = predicted._jdf.queryExecution().executedPlan().toString()
    assert "Project" in plan and "Python" not in plan and "mapInArrow" not in plan
    classes = model.model_.classes
    names = [] if classes is None else [f"probability_{label}" for label in classes]
    assert predicted.columns == [*frame.columns, *names, "found"]
    found = predicted.select("found", *(F.col(f"`{name}`") for name in names)).toArrow()
    if model.model_.link == "log":  # the exponential is Spark's
        assert np.allclose(found["found"], np.tile(model.predict(rows), 2), rtol=1e-14, atol=0)
    else:
        assert found["found"].to_pylist() == 2 * model.predict(rows).tolist()
    if classes is not None:
        shares = np.column_stack([found[name] for name in names])
        difference = np.abs(shares - np.tile(model.predict_proba(rows), (2, 1))).max()
        assert difference <= (hostile_sql.TOLERANCE if kind in SCORED else 0.0)


@pytest.fixture(scope="module")
def view(spark):
    """The rows that databases read in their own way, as the table data."""
    rows = hostile_sql.new_rows()
    frame = spark.createDataFrame(rows.append_column("id", pa.array(range(rows.num_rows)))).coalesce(1).persist()
    frame.createOrReplaceTempView("data")
    return rows


def ask(spark, text, rows, model):
    """The largest difference and the wrong rows of a query whose first column numbers the rows."""
    found = spark.sql(text).toArrow().sort_by("id")
    added = [column.to_pylist() for column in found.columns[found.column_names.index("id") + 1 :]]
    return hostile_sql.wrong_rows(model, rows, added)


@ON_ENGINES
@pytest.mark.parametrize("kind", hostile_sql.MODELS if FULL else ["two classes"])
def test_spark_sql_predicts_the_same(spark, view, kind):
    model = hostile_sql.make_model(kind)
    spark.conf.set("spark.sql.parser.escapedStringLiterals", kind == "two classes")  # backslashes escape, or do not
    try:
        difference, n_wrong = ask(spark, model.export("sql", table="data", dialect="spark"), view, model)
        assert n_wrong == 0 and (difference == 0.0 or model.link != "identity")
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")


@ON_ENGINES
def test_spark_predicts_from_text_that_it_reads_as_another_type(spark):
    random = np.random.default_rng(0)
    words = random.choice(["TRUE", "FALSE", "never", "1.50"], 300)
    X = pa.table({"Records": words.tolist(), "age": random.normal(size=300)})
    options = {"n_rules": 6, "n_trees": 100, "random_state": 0, "categorical_features": ["Records"]}
    model = SirusRegressor(**options).fit(X, 3.0 * (words == "TRUE") + X["age"].to_numpy())
    query = model.export("sql", table="guessed", dialect="spark")
    spark.sql("SELECT * FROM VALUES (TRUE, 0.5D), (FALSE, 0.5D) AS t(Records, age)").createOrReplaceTempView("guessed")
    found = {row["Records"]: row["prediction"] for row in spark.sql(query).collect()}
    rows = pa.table({"Records": ["TRUE", "FALSE"], "age": [0.5, 0.5]})
    assert [found[True], found[False]] == model.predict(rows).tolist()
    spark.sql("SELECT * FROM VALUES (1.5D, 0.5D) AS t(Records, age)").createOrReplaceTempView("guessed")
    with pytest.raises(Exception, match=r"'Records' was text when the model was trained.*Read it as text"):
        spark.sql(query).collect()


@ON_ENGINES
def test_spark_fails_where_a_column_is_missing(spark, view):
    model = hostile_sql.long_model(3)
    with pytest.raises(Exception, match=r"UNRESOLVED_COLUMN.*`x`"):
        spark.sql(f"SELECT {model.export('sql', dialect='spark')} FROM VALUES (1) AS bare(other)")


@MORE
def test_spark_adds_long_lists(spark, view):
    model, rows = hostile_sql.long_model(SPARK.longest_sum + 10), view.select(["x"])[:20]
    found = on_spark.transform(model, spark.createDataFrame(rows).coalesce(1).persist()).toArrow()["prediction"]
    assert np.abs(found.to_numpy() - model.predict(rows)).max() < 1e-12


@ON_ENGINES
@pytest.mark.filterwarnings("ignore:All values are missing in 'none'")
def test_estimators_predict_frames_and_tables(spark):
    X = pa.table({"x": np.arange(60.0), "k": pa.array(np.arange(60) % 3), "none": pa.nulls(60)})
    y = np.where(np.arange(60) < 30, "Low", "high")
    model = on_spark.SirusClassifier(n_trees=64, random_state=0, categorical_features=["k"])
    settings = model._settings()
    table, response, target = model._read(X, y, None)
    model._keep(fit(partial(bin_rows, table, response, target), model._plan(settings)))
    frame = spark.createDataFrame(X)
    for method in (model.predict, model.predict_proba):
        rows = method(frame).toArrow()
        assert rows["prediction"].to_pylist() == model.predict(X).tolist() == y.tolist()
        assert np.allclose(rows["probability_Low"], model.predict_proba(X)[:, 0], rtol=0, atol=1e-12)
    with pytest.raises(DataError, match="no column 'x'"):
        model.transform(frame.drop("x"))
    with pytest.raises(DataError, match="'x' held numbers in training, now it is string"):
        model.transform(frame.withColumn("x", F.lit("1")))
    with pytest.raises(DataError, match="'prediction' would be added, and there is 'Prediction' already"):
        model.transform(frame.withColumn("Prediction", F.lit("1")))


# ----------------------------------------------------------------------------------------------------- without Spark


def test_a_model_loads_without_pyspark_which_is_asked_for_by_the_name_of_its_extra(tmp_path, ozone):
    model = on_spark.SirusRegressor(n_trees=64, random_state=0)
    SirusRegressor.fit(model, *ozone)
    path = tmp_path / "model.json"
    model.save(path)
    assert type(pysirus.load(path)) is SirusRegressor
    assert issubclass(on_spark.SirusClassifier, SirusClassifier)
    code = (
        "import sys, pysirus; m = pysirus.load(sys.argv[1]); print(type(m), m)\n"
        "print([name for name in sys.modules if name.endswith('spark')])\n"
        "sys.modules['pyspark'] = None\n"
        "from pysirus.spark import SirusRegressor as S\n"
        "try: S().fit([[1]], 'y')\n"
        "except ImportError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    assert said == f"{SirusRegressor} {model}\n[]\npysirus.spark needs pyspark: pip install pysirus[spark].\n"

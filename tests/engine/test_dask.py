"""Dask collections give the rules of rows in memory, on two worker processes, one of which may die."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context
from sklearn.base import clone

import pysirus
from deadly import Slow, make_deadly
from parts import assert_equal_models, draw_at_most, make_frame, response_of
from pysirus import DataError
from pysirus._parameters import ParameterError
from pysirus.dask import SirusClassifier, SirusRegressor
from pysirus.engine.backends.dask import DaskRows, DaskShards, Scheduler
from pysirus.engine.parts import EngineOptions
from pysirus.engine.shard import NodeSums
from sampled import ENGINES, FULL, ON_ENGINES, in_turns

ON_DASK = {pysirus.SirusRegressor: SirusRegressor, pysirus.SirusClassifier: SirusClassifier}
OPTIONS = {"n_trees": 100, "random_state": 5, "n_rules": 12}


@pytest.fixture(scope="module")
def cluster():
    """Two workers, forked from a process that has made their imports, which take longer than most tests."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", "dask.dataframe", "pysirus.dask"])
    quiet = {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "10s"}
    with (
        dask.config.set({**quiet, "distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as client:
        yield client


def tasks_left(cluster):
    """How many tasks the scheduler still knows of, once it had time to forget."""
    for _ in range(100):
        if not cluster.scheduler.tasks:
            break
        time.sleep(0.1)
    return len(cluster.scheduler.tasks)


@pytest.mark.parametrize(
    "kind, n_partitions",
    in_turns(["numbers", "numbers weighted", "two weighted", "four whole"], [1, 16, 3])
    if FULL
    else [("numbers weighted", 7), ("four whole", 3)],
)
def test_frames_give_the_model_of_memory(kind, n_partitions, client):
    frame, y, rng = make_frame()
    estimator, y, weights = response_of(kind, y, rng)
    expected = estimator(**OPTIONS).fit(frame, y, sample_weight=weights)
    table = dd.from_pandas(frame.assign(y=y, **({} if weights is None else {"w": weights})), npartitions=n_partitions)
    assert table.npartitions == n_partitions
    found = ON_DASK[estimator](**OPTIONS).fit(table, "y", sample_weight=None if weights is None else "w")
    assert len(expected.rules_) > 5
    assert_equal_models(found.model_, expected.model_)
    assert [str(rule) for rule in found.candidates_] == [str(rule) for rule in expected.candidates_]
    assert found.idle_columns_ == expected.idle_columns_


@ON_ENGINES
def test_counts_give_the_model_of_memory_and_predict_the_same(client):
    frame, y, rng = make_frame()
    counts, exposure, weights = np.floor(np.abs(y)), rng.integers(1, 9, len(y)) / 4, rng.integers(1, 4, len(y))
    expected = pysirus.SirusRegressor(**OPTIONS, loss="poisson").fit(frame, counts / exposure, sample_weight=exposure)
    table = dd.from_pandas(frame.assign(y=counts / exposure, w=exposure), npartitions=3)
    found = SirusRegressor(**OPTIONS, loss="poisson").fit(table, "y", sample_weight="w")
    assert_equal_models(found.model_, expected.model_)
    predicted = found.predict(table.drop(columns=["y", "w"])).compute().to_numpy()
    assert np.array_equal(predicted, expected.predict(frame))
    table = dd.from_pandas(frame.assign(y=counts, years=exposure, w=weights), npartitions=3)
    expected = pysirus.SirusRegressor(**OPTIONS, loss="poisson").fit(frame, counts, weights, exposure=exposure)
    for X, *apart in ((table, "y", "w", "years"), (table[list(frame)], table["y"], table["w"], table["years"])):
        found.fit(X, apart[0], apart[1], exposure=apart[2])
        assert found.model_.selected == expected.model_.selected and found.model_.exposure == "years"
    with pytest.raises(DataError, match=r"partition 0: Column 'years', the exposure, must hold numbers above 0"):
        found.fit(table.assign(years=0.0), "y", exposure="years")


@pytest.mark.filterwarnings("ignore:Nothing was learned")
@pytest.mark.parametrize(
    "kind, n_stages, n_partitions, most",
    [("numbers weighted", "auto", 3, 50), ("two weighted", 1, 1, None)],  # all: test_clusters.py
)
def test_frames_are_tuned_as_memory_is(kind, n_stages, n_partitions, most, client, monkeypatch):
    draw_at_most(monkeypatch, most)
    frame, y, rng = make_frame(200)
    _, y, weights = response_of(kind, y, rng)
    name = "SirusRegressorCV" if kind.startswith("numbers") else "SirusClassifierCV"
    options = {"n_trees": 40, "random_state": 1, "cv": 3, "n_repeats": 1, "max_rules": 4, "n_stages": n_stages}
    expected = getattr(pysirus, name)(**options).fit(frame, y, sample_weight=weights)
    table = dd.from_pandas(frame.assign(y=y, w=1.0 if weights is None else weights), npartitions=n_partitions)
    found = getattr(pysirus.dask, name)(**options).fit(table, "y", sample_weight="w")
    assert (found.p0_, found.path_) == (expected.p0_, expected.path_)
    assert found.model_.tuning.sizes == expected.model_.tuning.sizes
    assert_equal_models(found.model_, expected.model_)


@ON_ENGINES
@pytest.mark.filterwarnings("ignore:Nothing was learned")
@pytest.mark.parametrize("large", [1 << 20, 0])  # queries with every task, or once for all
def test_groups_stay_together(client, monkeypatch, large):
    monkeypatch.setattr("pysirus.engine.backends.dask.LARGE", large)
    frame, y, rng = make_frame(120)
    frame = frame[["wide", "holes", "colour"]]
    groups, weights = rng.choice([f"group {i}" for i in range(12)], 120), rng.integers(0, 3, 120)
    options = {"n_trees": 20, "cv": 3, "n_repeats": 1, "random_state": 0, "max_rules": 4}
    y = pd.Series(y, name="y")
    expected = pysirus.SirusRegressorCV(**options).fit(frame, y, sample_weight=weights, groups=groups)
    whole = frame.assign(y=y, w=weights, group=groups)
    model = pysirus.dask.SirusRegressorCV(**options)
    table = dd.from_pandas(whole, npartitions=3)
    for X, own in ((table, "group"), (table.drop(columns="group"), table["group"])):
        found = model.fit(X, "y", sample_weight="w", groups=own)
        assert (found.p0_, found.path_) == (expected.p0_, expected.path_)
        assert_equal_models(found.model_, expected.model_)
    with pytest.raises(ParameterError, match="'y' has two roles, y and groups"):
        model.fit(table, "y", groups="y")
    with pytest.raises(DataError, match=r"X has 3 partition\(s\), groups has 2"):
        model.fit(table, "y", groups=dd.from_pandas(whole["group"], npartitions=2))
    with pytest.raises(DataError, match=r"groups must be a Dask Series.* found numpy\.ndarray"):
        model.fit(table, "y", groups=groups)
    with pytest.raises(DataError, match="column 'group', the groups, holds missing values"):
        model.fit(dd.from_pandas(whole.assign(group=None), npartitions=3), "y", groups="group")
    assert model.fit(frame, y, sample_weight=weights, groups=groups).path_ == expected.path_


@ON_ENGINES
def test_series_and_the_scheduler_of_this_process(cluster, client):
    frame, y, rng = make_frame()
    _, y, weights = response_of("two weighted", y, rng)
    expected = pysirus.SirusClassifier(**OPTIONS, class_weight="balanced").fit(frame, y, sample_weight=weights)
    table = dd.from_pandas(frame.assign(y=y, w=weights), npartitions=4)
    with dask.config.set(scheduler="threads"):
        model = SirusClassifier(**OPTIONS, class_weight="balanced")
        found = model.fit(table[list(frame)], table["y"], sample_weight=table["w"])
    assert_equal_models(found.model_, expected.model_)
    assert tasks_left(cluster) == 0


@ON_ENGINES
def test_many_partitions_are_asked_in_groups(client, monkeypatch):
    frame, y, _ = make_frame()
    table = dd.from_pandas(frame.assign(y=y), npartitions=20)
    monkeypatch.setattr("pysirus.engine.backends.dask.LEAST_GROUPS", 1)
    n_groups = []
    init = DaskShards.__init__
    monkeypatch.setattr(DaskShards, "__init__", lambda *a: (n_groups.append(len(a[2])), init(*a))[1])
    found = SirusRegressor(**OPTIONS).fit(table, "y")
    assert n_groups == [10]  # at most 16, eight for each of two threads
    assert_equal_models(found.model_, pysirus.SirusRegressor(**OPTIONS).fit(frame, pd.Series(y, name="y")).model_)


def numbers(n_rows=600):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 5))
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    return X, 2.0 * (X[:, 0] > 0) + X[:, 1] + rng.normal(size=n_rows), rng.exponential(size=n_rows)


@pytest.mark.parametrize(
    "chunks, known", [((200, -1), True), ((250, 2), False), ((91, 3), True)][:: 1 if ENGINES else 3]
)
def test_arrays_give_the_model_of_memory(chunks, known, client):
    X, y, weights = numbers()
    expected = pysirus.SirusRegressor(**OPTIONS).fit(X, y, sample_weight=weights)
    arrays = [da.from_array(X, chunks=chunks), da.from_array(y, chunks=chunks[0]), da.from_array(weights, chunks[0])]
    if not known:
        arrays = [array[da.from_array(np.ones(len(X), dtype=bool), chunks=chunks[0])] for array in arrays]
        assert np.isnan(arrays[0].shape[0])
    found = SirusRegressor(**OPTIONS).fit(*arrays)
    assert_equal_models(found.model_, expected.model_)
    answer = found.predict(arrays[0])
    assert isinstance(answer, da.Array) and answer.ndim == 1
    assert np.array_equal(answer.compute(), expected.predict(X))


def test_empty_and_weightless_partitions(client):
    frame, y, rng = make_frame()
    _, y, weights = response_of("numbers weighted", y, rng)
    weights[200:300] = 0.0
    whole = frame.assign(y=y, w=weights)
    limits = [0, 0, 200, 300, 300, 700, 700]
    table = dd.concat([dd.from_pandas(whole[a:b], npartitions=1) for a, b in pairwise(limits)])
    assert table.map_partitions(len).compute().tolist() == [0, 200, 100, 0, 400, 0]
    found = SirusRegressor(**OPTIONS).fit(table, "y", sample_weight="w")
    expected = pysirus.SirusRegressor(**OPTIONS).fit(frame, y, sample_weight=weights)
    assert_equal_models(found.model_, expected.model_)
    assert np.array_equal(found.predict(table).compute(), expected.predict(frame))
    with pytest.raises(DataError, match="sample_weight is zero for every row"):
        SirusRegressor().fit(table, "y", sample_weight=table["w"] * 0)
    with pytest.raises(DataError, match="no rows"):
        SirusRegressor().fit(table[table["y"] > 1e9], "y")


# --------------------------------------------------------------------------------------------------------- prediction


def test_predictions_are_lazy_and_equal(client):
    frame, y, _ = make_frame()
    labels = np.where(y > 1, "yes", "no")
    frame.index = pd.RangeIndex(10, 10 + len(frame), name="id")
    table = dd.from_pandas(frame.assign(answer=labels), npartitions=3)
    model = SirusClassifier(**OPTIONS).fit(table, "answer")
    before = pysirus.SirusClassifier(**OPTIONS).fit(frame, labels)
    answer, shares = model.predict(table), model.predict_proba(table)
    assert isinstance(answer, dd.Series) and answer.name == "answer" and answer.divisions == table.divisions
    assert isinstance(shares, dd.DataFrame) and list(shares.columns) == ["no", "yes"]
    pd.testing.assert_series_equal(answer.compute(), pd.Series(before.predict(frame), frame.index, name="answer"))
    assert answer.dtype == answer.compute().dtype
    assert np.array_equal(shares.compute(), before.predict_proba(frame))
    assert shares.compute().index.equals(frame.index)
    assert model.score(table, table["answer"]) == before.score(frame, labels)
    assert np.array_equal(model.predict(frame), before.predict(frame))
    assert np.array_equal(model.predict_proba(frame), before.predict_proba(frame))
    with pytest.raises(DataError, match="seen at fit time, yet now missing:\n- colour"):
        model.predict(table.drop(columns="colour")).compute()
    with pytest.raises(DataError, match="found a Series"):
        model.predict(table["wide"])


@ON_ENGINES
def test_shares_of_arrays(client):
    X, y, _ = numbers()
    classes = np.digitize(y, [0, 1, 2])
    model = SirusClassifier(**OPTIONS).fit(da.from_array(X, chunks=(200, 3)), da.from_array(classes, chunks=200))
    shares = model.predict_proba(da.from_array(X, chunks=(150, 2)))
    assert shares.shape == (600, 4) and shares.chunks == ((150,) * 4, (4,))
    assert np.array_equal(shares.compute(), model.predict_proba(X))
    assert np.array_equal(model.predict(da.from_array(X, chunks=(150, 2))).compute(), model.predict(X))


def test_tables_in_memory_are_fitted_in_memory():
    X, y, weights = numbers()
    found = clone(SirusRegressor(**OPTIONS)).fit(X, y, weights)
    assert_equal_models(found.model_, pysirus.SirusRegressor(**OPTIONS).fit(X, y, weights).model_)


def test_a_model_file_needs_no_dask(tmp_path, client):
    X, y, _ = numbers()
    model = SirusRegressor(**OPTIONS).fit(da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200))
    model.save(tmp_path / "model.json")
    assert type(pysirus.load(tmp_path / "model.json")) is pysirus.SirusRegressor
    np.save(tmp_path / "X.npy", X)
    code = """
import sys
for name in ("dask", "distributed"):
    sys.modules[name] = None
import numpy, pysirus
model = pysirus.load("model.json")
numpy.save("found.npy", model.predict(numpy.load("X.npy")))
try:
    import pysirus.dask
except ImportError as error:
    print(type(model).__module__, error)
"""
    answer = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout == "pysirus.estimators.regressor Dask collections need dask: pip install pysirus[dask].\n"
    assert np.array_equal(np.load(tmp_path / "found.npy"), model.predict(X))


# -------------------------------------------------------------------------------------------------------- complaints


def test_a_bad_partition_is_named(cluster, client):
    frame, y, _ = make_frame()
    whole = frame.assign(y=y)
    for column, value, message in (
        ("wide", np.inf, r"^partition 3: Column 'wide' contains infinity"),
        ("y", np.nan, r"^partition 3: column 'y', the target, contains NaN or infinity: nan in row 50"),
    ):
        bad = whole.copy()
        bad.loc[350, column] = value
        with pytest.raises(DataError, match=message) as caught:
            SirusRegressor(**OPTIONS).fit(dd.from_pandas(bad, npartitions=7), "y")
        files = {str(entry.path) for entry in caught.traceback}
        assert not any("distributed" in file for file in files)
    assert tasks_left(cluster) == 0


def test_partitions_of_different_kinds_are_named(client):
    frame, y, _ = make_frame(60)
    whole = frame.assign(y=y)
    parts = [whole[:20], whole[20:40].assign(wide=list("ab") * 10), whole[40:]]
    table = dd.from_map(lambda i: parts[i], range(3), meta=whole[:0])
    with pytest.raises(DataError, match=r"partition 0 and partition 1 .*'wide' holds labels and numbers"):
        SirusRegressor(**OPTIONS).fit(table, "y")


def test_partitions_must_line_up(client):
    X, y, _ = numbers()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=3)
    series = pd.Series(y, name="y")
    array = da.from_array(X, chunks=(200, -1))
    model = SirusRegressor(**OPTIONS)
    with pytest.raises(DataError, match=r"X has 3 partition\(s\), y has 4"):
        model.fit(frame, dd.from_pandas(series, npartitions=4))
    with pytest.raises(DataError, match="X and y have different divisions"):
        model.fit(frame, dd.from_pandas(series, npartitions=1).repartition(divisions=[0, 100, 200, 599]))
    with pytest.raises(DataError, match="partition 0: X has 200 rows, sample_weight has 100 rows"):
        model.fit(array, da.from_array(y, chunks=200), da.from_array(y, chunks=((100, 300, 200),)))
    with pytest.raises(DataError, match="partition 1: X has 200 rows, y has 300 rows"):
        model.fit(frame, da.from_array(y, chunks=((200, 300, 100),)))
    with pytest.raises(DataError, match=r"y must be a Dask Series.* found pandas\.Series"):
        model.fit(frame, series)
    with pytest.raises(DataError, match=r"y is a Dask Array, while X is numpy\.ndarray"):
        model.fit(X, da.from_array(y))
    with pytest.raises(DataError, match="array without names"):
        model.fit(array, "y")
    with pytest.raises(DataError, match="no column 'aa' for the target"):
        model.fit(frame, "aa")
    with pytest.raises(DataError, match="No feature is left"):
        model.fit(frame[["a", "b"]], "a", "b")
    with pytest.raises(DataError, match="X must be a table"):
        model.fit(da.from_array(y), da.from_array(y))


# ------------------------------------------------------------------------------------------------------- lost workers


def test_a_lost_worker_changes_nothing(cluster, client, monkeypatch):
    frame, y, _ = make_frame(6_000)
    options = {**OPTIONS, "n_trees": 256}
    expected = pysirus.SirusRegressor(**options).fit(frame, pd.Series(y, name="y"))
    table = dd.from_pandas(frame.assign(y=y), npartitions=6)
    pids = client.run(os.getpid)
    growing, killed = threading.Event(), threading.Event()
    asked = []  # of each level of trees: whether the worker was gone before it was asked for
    ask = DaskShards.map_reduce

    def watched(self, query):
        if isinstance(getattr(query, "query", None), NodeSums):
            asked.append(killed.is_set())
            if len(asked) == 4:
                growing.set()
        answer = ask(self, query)
        if growing.is_set():
            assert killed.wait(30)
        return answer

    def kill():
        growing.wait()
        time.sleep(0.02)  # into the tasks of this level
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        killed.set()

    monkeypatch.setattr(DaskShards, "map_reduce", watched)
    monkeypatch.setattr(
        "pysirus.engine.backends.dask.OPTIONS", EngineOptions(sum_bytes=1)
    )  # blocks of 64 trees: eight levels to ask for
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = SirusRegressor(**options).fit(table, "y")
    killer.join()
    assert asked.count(False) == 4 and asked.count(True) == 4
    assert_equal_models(found.model_, expected.model_)
    client.wait_for_workers(2, timeout=30)
    assert set(client.run(os.getpid).values()) != set(pids.values())
    assert tasks_left(cluster) == 0


# of the rows as they came and in bins, of all rows and of folds; between them every way in which Dask is asked
OWNERS = [(DaskShards, "map_reduce"), *((DaskRows, name) for name in ("map_reduce", "map_reduce_response", "encode"))]
KINDS = ["FoldColumns", "NodeSums of folds"]
KINDS += ["ColumnQuery", "Encoder", "NodeSums", "RuleMoments", "FoldStatsQuery"] * FULL
KINDS += ["RuleMoments of folds", "HeldOutQuery", "TableQuery"] * FULL


@ON_ENGINES
@pytest.mark.filterwarnings("ignore:Nothing was learned")
def test_workers_that_die_at_every_kind_of_query_of_tuning_change_nothing(cluster, client, monkeypatch, tmp_path):
    frame, y, _ = make_frame(300)
    frame = frame[["wide", "count", "colour", "holes"]]
    options = {"n_trees": 40, "random_state": 1, "cv": 3, "n_repeats": 1, "max_rules": 6}
    expected = pysirus.SirusRegressorCV(**options).fit(frame, pd.Series(y, name="y"))

    make_deadly(monkeypatch, OWNERS, KINDS, tmp_path)
    pids = set(client.run(os.getpid).values())
    found = pysirus.dask.SirusRegressorCV(**options).fit(dd.from_pandas(frame.assign(y=y), npartitions=4), "y")
    assert sorted(mark.name for mark in tmp_path.iterdir()) == sorted(KINDS)  # so many workers are gone
    assert (found.p0_, found.path_) == (expected.p0_, expected.path_)
    assert found.model_.tuning.sizes == expected.model_.tuning.sizes
    assert_equal_models(found.model_, expected.model_)
    client.wait_for_workers(2, timeout=30)
    assert set(client.run(os.getpid).values()) != pids
    assert tasks_left(cluster) == 0


@pytest.mark.skipif(not FULL, reason="it takes long, as it should: make test-full")
@pytest.mark.filterwarnings("ignore:Nothing was learned")
def test_a_slow_worker_changes_nothing(client, monkeypatch):
    frame, y, _ = make_frame(300)
    options = {"n_trees": 40, "random_state": 1, "cv": 3, "n_repeats": 1, "max_rules": 6}
    expected = pysirus.SirusRegressorCV(**options).fit(frame, pd.Series(y, name="y"))
    slow = next(iter(client.run(os.getpid).values()))
    for owner, name in OWNERS:
        ask = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda self, query, ask=ask: ask(self, Slow(query, slow)))
    found = pysirus.dask.SirusRegressorCV(**options).fit(dd.from_pandas(frame.assign(y=y), npartitions=6), "y")
    assert (found.p0_, found.path_) == (expected.p0_, expected.path_)
    assert_equal_models(found.model_, expected.model_)


def die_once(path):
    """A shard of 7; the first time the worker goes with it."""
    if not path.exists():
        path.write_text("gone")
        os.kill(os.getpid(), signal.SIGKILL)
    return [7]


@ON_ENGINES
def test_a_shard_that_took_its_worker_along_is_tried_again(cluster, client, monkeypatch, tmp_path):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)  # the first loss is an error, KilledWorker
    shards = DaskShards(Scheduler(), [dask.delayed(die_once, pure=False)(tmp_path / "mark")])
    assert shards.map_reduce(float) == 7.0
    assert (tmp_path / "mark").exists()
    shards.close()
    assert tasks_left(cluster) == 0


def test_an_interrupt_cancels_the_tasks(cluster, client, interrupts):
    slow = dask.delayed(time.sleep, pure=False)
    timer = threading.Timer(0.3, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        Scheduler().sum([[slow(1) for _ in range(30)]])
    assert tasks_left(cluster) == 0  # in less time than the tasks take

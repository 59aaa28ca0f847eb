"""Dask partitions that are not the same each time, and clusters without a worker: an error that says so, in time."""

import time
from collections import Counter

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import pysirus
from pysirus import DataError
from pysirus._parameters import ParameterError
from pysirus.dask import SirusClassifier, SirusRegressor
from pysirus.engine.backends.dask import TIMEOUT_KEY, DaskShards, Scheduler
from sampled import FULL

ESTIMATORS = {"numbers": SirusRegressor, "classes": SirusClassifier}
# how often a partition is computed: for the range of the target, the columns, their quantiles, the encoding, in the end
# the values next to cuts; for the labels before that
N_PASSES = {"numbers": 6, "classes": 7}  # the last one for what monitoring compares with
N_PARTITIONS = 3


def table_of(kind, number, n_rows=600):
    rng = np.random.default_rng(number)
    x = rng.normal(size=(4, n_rows))
    y = 2.0 * (x[0] > 0) + x[1]
    columns = {f"x{i}": column for i, column in enumerate(x)}
    columns["group"] = pd.Series(rng.choice(["left", "middle", "right"], n_rows), dtype=object)
    return pd.DataFrame({**columns, "y": y if kind == "numbers" else np.where(y > 1, "yes", "no")})


CHANGES = {
    "numbers beyond the range": lambda frame: frame.assign(y=frame.y * 1e9) if frame.y.dtype == float else None,
    "numbers within the range": lambda frame: frame.assign(y=frame.y / 2) if frame.y.dtype == float else None,
    "a new label": lambda frame: None if frame.y.dtype == float else frame.assign(y=frame.y.replace("no", "aye")),
    "labels of other rows": lambda frame: None if frame.y.dtype == float else frame.assign(y="yes"),
    "labels of another type": lambda frame: frame.assign(y=np.arange(len(frame)) % 2 > 0),
    "other values": lambda frame: frame.assign(x1=frame.x1 + 1),
    "one other value": lambda frame: frame.assign(x3=np.append(frame.x3[:-1], 0.0)),
    "opposite signs": lambda frame: frame.assign(x3=-frame.x3),
    "other categories": lambda frame: frame.assign(group=frame.group.replace("left", "new")),
    "fewer rows": lambda frame: frame[:100],
    "no rows": lambda frame: frame[:0],
    "more rows": lambda frame: pd.concat([frame, frame]),
    "text for numbers": lambda frame: frame.assign(x0=[f"level {i % 5}" for i in range(len(frame))]),
    "numbers for text": lambda frame: frame.assign(group=np.arange(len(frame)) % 3),
    "a column less": lambda frame: frame.drop(columns="x2"),
    "a column more": lambda frame: frame.assign(x9=frame.x0),
}
OF_COLUMNS = {"other values", "one other value", "opposite signs", "other categories", "text for numbers"}
OF_COLUMNS |= {"numbers for text", "a column less", "a column more"}


def passes_to_change(kind, change, turn):
    """After how many passes a partition changes: after each, or taking turns."""
    # columns are first read in the fourth pass from the last
    numbers = range(N_PASSES[kind] - 3 if change in OF_COLUMNS else 1, N_PASSES[kind])
    return numbers if FULL else [numbers[turn % len(numbers)]]


CASES = [
    (kind, change, number)
    for kind in N_PASSES
    for turn, change in enumerate(CHANGES)
    for number in passes_to_change(kind, change, turn)
    if CHANGES[change](table_of(kind, 0)) is not None
]


def drifting(kind, change, number):
    """A frame whose middle partition changes after so many computations, and how often each was computed."""
    computed = Counter()

    def load(i):
        frame = table_of(kind, i)
        computed[i] += 1
        return CHANGES[change](frame) if i == 1 and computed[i] > number else frame

    parts = [dask.delayed(load, pure=False)(i) for i in range(N_PARTITIONS)]
    return dd.from_delayed(parts, meta=table_of(kind, 0)[:0], verify_meta=False), computed


@pytest.fixture(autouse=True)
def small_tallies(monkeypatch):
    # so that quantiles take a pass of their own
    monkeypatch.setattr("pysirus.engine.backends.dask.tally_of_bytes", lambda *_: 1024)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_frames_that_stay_are_computed_so_often(kind):
    table, computed = drifting(kind, "other values", 99)
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}):
        found = ESTIMATORS[kind](n_trees=20, random_state=0).fit(table, "y")
    assert computed[1] == N_PASSES[kind]
    assert found.model_.facts["n_rows"] == 600 * N_PARTITIONS


@pytest.mark.parametrize("kind, change, number", CASES)
def test_a_partition_that_changes_is_named(kind, change, number):
    table, _ = drifting(kind, change, number)
    with (
        dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}),
        pytest.raises(DataError, match="partition 1"),
    ):
        ESTIMATORS[kind](n_trees=20, random_state=0).fit(table, "y")


def test_rows_in_another_order_are_the_same_rows():
    """As a shuffle may give them."""
    whole = [table_of("numbers", i) for i in range(N_PARTITIONS)]
    times = Counter()

    def load(i):
        times[i] += 1
        return whole[i].sample(frac=1, random_state=times[i])

    parts = [dask.delayed(load, pure=False)(i) for i in range(N_PARTITIONS)]
    table = dd.from_delayed(parts, meta=whole[0][:0])
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}):
        found = SirusRegressor(n_trees=500, n_rules=5, random_state=0).fit(table, "y")
    assert found.model_.facts["n_rows"] == 1800


# ------------------------------------------------------------------------------------------------------- lost workers


COMPUTED = Counter()  # of the workers, which are threads of this process


def load_and_count(i):
    """A partition that is another once it is encoded."""
    COMPUTED[i] += 1
    frame = table_of("numbers", i)
    return frame if COMPUTED[i] < N_PASSES["numbers"] else CHANGES["other values"](frame)


def test_a_partition_that_is_another_after_a_worker_was_lost_is_named(monkeypatch):
    COMPUTED.clear()
    parts = [dask.delayed(load_and_count, pure=False)(i) for i in range(N_PARTITIONS)]
    table = dd.from_delayed(parts, meta=table_of("numbers", 0)[:0])
    ask, n_asked = DaskShards.map_reduce, []

    def and_lose_the_worker(self, query):
        n_asked.append(query)
        if len(n_asked) == 3:  # the sizes of bins, the first level, and now the second
            client.sync(cluster.workers[0].close)
            cluster.scale(2)
        return ask(self, query)

    monkeypatch.setattr(DaskShards, "map_reduce", and_lose_the_worker)
    with (
        dask.config.set({"dataframe.convert-string": False}),
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
        pytest.raises(DataError, match=r"partition 0 changed while the model was learned: column 'x1'.*persist"),
    ):
        SirusRegressor(n_trees=64, random_state=0).fit(table, "y")
    assert set(COMPUTED.values()) == {N_PASSES["numbers"]}


@pytest.fixture
def idle_client():
    """A cluster whose workers have all gone, without a nanny that would bring them back."""
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_fit_without_workers_says_so_and_gives_up(idle_client):
    table = dd.from_pandas(table_of("numbers", 0), npartitions=2)
    start = time.monotonic()
    with (
        dask.config.set({TIMEOUT_KEY: "2 s"}),
        pytest.warns(UserWarning, match=r"no worker: fit waits up to 2 seconds .*pysirus\.worker-timeout"),
        pytest.raises(TimeoutError, match=r"no worker for \d+ seconds.*pysirus\.worker-timeout"),
    ):
        SirusRegressor(n_trees=10).fit(table, "y")
    assert 2 <= time.monotonic() - start < 60


def test_a_worker_that_comes_late_is_waited_for(idle_client, monkeypatch):
    frame = table_of("numbers", 0)
    monkeypatch.setattr("pysirus.engine.backends.dask.WARN_AFTER", 0.2)
    wait, waited = Scheduler._wait, []

    def and_start(self, future):
        if not waited:
            waited.append(idle_client.loop.call_later(1.0, lambda: idle_client.cluster.scale(1)))
        return wait(self, future)

    monkeypatch.setattr(Scheduler, "_wait", and_start)
    with dask.config.set({TIMEOUT_KEY: None}), pytest.warns(UserWarning, match="fit waits until one comes"):
        found = SirusRegressor(n_trees=10, random_state=0).fit(dd.from_pandas(frame, npartitions=2), "y")
    expected = pysirus.SirusRegressor(n_trees=10, random_state=0).fit(frame.drop(columns="y"), frame["y"])
    assert found.model_.selected == expected.model_.selected


def test_the_time_to_wait_must_be_a_time(idle_client):
    table = dd.from_pandas(table_of("numbers", 0), npartitions=2)
    with dask.config.set({TIMEOUT_KEY: "soon"}), pytest.raises(ParameterError, match=r"'10 minutes'.* got 'soon'"):
        SirusRegressor(n_trees=10).fit(table, "y")

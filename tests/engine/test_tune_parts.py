"""Tuning on rows in parts: the path, the choice and the models of memory, in as many passes for any number of folds."""

import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import KFold

from parts import (
    CountedRows,
    MemoryRows,
    assert_equal_tuning,
    draw_at_most,
    fit_parts,
    fit_rows,
    make_frame,
    response_of,
    write_files,
)
from pysirus import DataError, SirusClassifierCV, SirusRegressor, SirusRegressorCV
from pysirus._parameters import ParameterError
from pysirus._runtime.console import Cancelled, cancellable_pool, check_cancelled
from pysirus.engine.lockstep import run_lockstep
from pysirus.engine.parts import EngineOptions, Part
from pysirus.engine.shard import MappedQuery, NodeSums
from sampled import FULL, in_turns

pytestmark = pytest.mark.filterwarnings("ignore:Nothing was learned", "ignore:No rule of the full data")
SMALL = {"n_trees": 40, "random_state": 5, "n_repeats": 1, "cv": 3, "max_rules": 6}


KINDS = ["numbers", "numbers whole", "numbers weighted", "two", "two weighted", "four", "four whole"]


@pytest.mark.parametrize("kind, case", in_turns(KINDS, [([1, 1, 150], 50), ([60, 120], None), ([], 90)]))
def test_parts_are_tuned_as_memory_is(kind, case, monkeypatch):
    limits, most = case
    draw_at_most(monkeypatch, most)
    frame, y, rng = make_frame(200)
    estimator, y, weights = response_of(kind, y, rng)
    estimator = SirusRegressorCV if kind.startswith("numbers") else SirusClassifierCV
    expected = estimator(**SMALL).fit(frame, y, sample_weight=weights)
    found = fit_parts(estimator(**SMALL, n_jobs=1 + (limits == [])), frame, y, weights, limits)
    assert len(expected.rules_) > 0
    assert_equal_tuning(found, expected)


@pytest.mark.parametrize("estimator", [SirusRegressorCV, SirusClassifierCV])
def test_what_held_out_rows_answer_does_not_grow_with_their_number(estimator, monkeypatch):
    """Rows are judged where they lie, and what comes back is sums."""
    sizes, ask = {}, MemoryRows.map_reduce

    def asked(self, query):
        answer = ask(self, query)
        name = type(getattr(query, "question", query)).__name__
        sizes.setdefault(name, []).append(len(pickle.dumps(answer)))
        return answer

    monkeypatch.setattr(MemoryRows, "map_reduce", asked)
    rng = np.random.default_rng(0)
    for n_rows in (400, 8000):
        frame = pd.DataFrame({"a": rng.integers(0, 4, n_rows), "b": rng.integers(0, 3, n_rows)})
        y = frame["a"] + 2 * (frame["b"] == 1) + rng.normal(size=n_rows)
        fit_parts(estimator(**SMALL), frame, y > 2 if estimator is SirusClassifierCV else y, limits=[n_rows // 2])
    for question in ("HeldOutQuery", "SumQuery"):
        few, many = sizes[question]
        assert many < 1.3 * few < 40_000


def test_counts_and_more_repetitions():
    frame, y, rng = make_frame(200)
    counts = rng.poisson(np.exp(0.5 * y))
    options = {**SMALL, "n_repeats": 2, "loss": "poisson", "cv": 2}
    expected = SirusRegressorCV(**options).fit(frame, pd.Series(counts, name="y"))
    assert_equal_tuning(fit_parts(SirusRegressorCV(**options), frame, counts, limits=[100]), expected)


def test_more_folds_than_a_byte_tells_apart():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 4, 270), "b": rng.choice(["x", "y", "z"], 270)})
    y = pd.Series(frame["a"] + 2 * (frame["b"] == "x") + 0.1 * rng.normal(size=270), name="y")
    options = {**SMALL, "n_trees": 5, "cv": 265, "max_rules": 2}
    expected = SirusRegressorCV(**options).fit(frame, y)
    assert_equal_tuning(fit_parts(SirusRegressorCV(**options), frame, y, limits=[90, 91]), expected)


@pytest.mark.parametrize("size", [1e-200, 1e30, 1e160, 1e300])
@pytest.mark.parametrize("estimator", [SirusRegressorCV, SirusClassifierCV])
def test_weights_beyond_measure_are_those_of_memory(estimator, size):
    frame, y, rng = make_frame(120)
    y, weights = pd.Series(y > 1 if estimator is SirusClassifierCV else y, name="y"), size * rng.uniform(0.1, 1, 120)
    options = {**SMALL, **({"class_weight": "balanced"} if estimator is SirusClassifierCV else {})}
    expected = estimator(**options).fit(frame, y, sample_weight=weights)
    found = fit_parts(estimator(**options), frame, y, weights, limits=[40])
    assert_equal_tuning(found, expected)
    assert repr(found.model_.out_of_fold) == repr(expected.model_.out_of_fold)


@pytest.mark.parametrize(("noise", "n_repeats"), [(0.1, 1), (0.3, 5), (0.5, 10)])
def test_parts_repeat_as_often_as_memory_until_the_choice_is_settled(noise, n_repeats):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 2, size=200).astype(float)})
    y = pd.Series(frame["a"] + noise * rng.normal(size=200), name="y")
    options = {"cv": 4, "n_trees": 40, "max_rules": 3, "random_state": 0}
    expected = SirusRegressorCV(**options, n_jobs=2).fit(frame, y)
    found = fit_parts(SirusRegressorCV(**options), frame, y)
    assert expected.path_.n_repeats == n_repeats
    assert_equal_tuning(found, expected)


def test_what_is_known_before_holds_in_folds_too():
    frame, y, _ = make_frame(200)
    known = {
        "required_rules": ["wide < 0.123", "colour = red & holes >= 1"],
        "monotonic_cst": {"size": -1},
        "forbidden": [["count", "few"]],
    }
    expected = SirusRegressorCV(**SMALL, **known).fit(frame, pd.Series(y, name="y"))
    found = fit_parts(SirusRegressorCV(**SMALL, **known), frame, y, limits=[120])
    assert sum(rule.given for rule in found.selected_) == 2
    assert_equal_tuning(found, expected)


def test_small_tallies_small_sums_and_many_bins_change_nothing():
    """Several zooms, several passes for the trees, and more cuts of folds than one grid has bins."""
    frame, y, _ = make_frame(500)
    frame = frame[["wide", "count", "colour"]]
    options = {**SMALL, "n_bins": 100, "n_trees": 70}
    expected = SirusRegressorCV(**options).fit(frame, pd.Series(y, name="y"))
    engine = EngineOptions(tally=64, sum_bytes=1)
    assert_equal_tuning(fit_parts(SirusRegressorCV(**options), frame, y, None, [7, 300], engine), expected)


def test_a_level_a_gap_and_the_largest_answer_that_only_one_fold_has_seen():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=90), "z": rng.normal(size=90), "label": rng.choice(["a", "b"], 90)})
    frame.loc[4, "label"] = "only here"
    frame.loc[7, "x"] = np.nan
    y = pd.Series(np.where(frame["x"] > 0, 1.0, 0.0) + (frame["label"] == "a") + 0.1 * rng.normal(size=90), name="y")
    y[11] = 50.0
    expected = SirusRegressorCV(**SMALL).fit(frame, y)
    assert_equal_tuning(fit_parts(SirusRegressorCV(**SMALL), frame, y, limits=[30, 31]), expected)


# ------------------------------------------------------------------------------------------------------------- files


@pytest.fixture(scope="module")
def rows_of_files():
    frame, y, _ = make_frame(350)
    frame = frame[["wide", "few", "holes", "colour"]]
    return frame.assign(y=y), SirusRegressorCV(**SMALL).fit(frame, pd.Series(y, name="y"))


@pytest.mark.parametrize("n_files, n_groups", [(1, 1), (1, 50), (7, 1), *([(50, 1)] if FULL else [])])
def test_files_are_tuned_as_memory_is(tmp_path, rows_of_files, n_files, n_groups):
    frame, expected = rows_of_files
    write_files(frame, tmp_path, n_files, n_groups)
    assert_equal_tuning(SirusRegressorCV(**SMALL).fit_files(tmp_path, "y", memory=1 << 27), expected)


def test_groups_of_a_column_stay_together(tmp_path):
    frame, y, rng = make_frame(300)
    frame = frame[["wide", "holes", "colour"]]
    groups, weights = rng.choice([f"group {i}" for i in range(40)], 300), rng.integers(0, 3, 300)
    for i, rows in enumerate((slice(0, 130), slice(130, 300))):
        part = frame[rows].assign(y=y[rows], w=weights[rows], group=groups[rows])
        part.to_parquet(tmp_path / f"{i}.parquet", index=False)
    expected = SirusRegressorCV(**SMALL).fit(frame, pd.Series(y, name="y"), sample_weight=weights, groups=groups)
    found = SirusRegressorCV(**SMALL).fit_files(tmp_path, "y", sample_weight="w", groups="group")
    assert_equal_tuning(found, expected)
    with pytest.raises(ParameterError, match="cv=41: so many folds need as many groups, found 40"):
        SirusRegressorCV(**{**SMALL, "cv": 41}).fit_files(tmp_path, "y", groups="group")
    with pytest.raises(ParameterError, match="'y' has two roles, y and groups"):
        SirusRegressorCV(**SMALL).fit_files(tmp_path, "y", groups="y")
    part.assign(group=None).to_parquet(tmp_path / "1.parquet", index=False)
    with pytest.raises(DataError, match="column 'group', the groups, holds missing values"):
        SirusRegressorCV(**SMALL).fit_files(tmp_path / "1.parquet", "y", groups="group")


def test_passes_over_the_folds_are_shown(tmp_path, rows_of_files, capsys):
    frame, _ = rows_of_files
    for i in range(2):
        frame[i::2].to_parquet(tmp_path / f"{i}.parquet", index=False)
    SirusRegressorCV(**SMALL, verbose=1, n_jobs=2).fit_files(tmp_path, "y")
    shown = capsys.readouterr().err
    assert "tuning, 3 folds" in shown and "350/350 rows" in shown
    assert "reading columns" in shown and "growing" in shown


def test_near_quantiles_are_tuned_on_too(tmp_path):
    frame, y, _ = make_frame(1500)
    pq.write_table(pa.table({"x": frame["wide"], "z": frame["narrow"], "y": y}), tmp_path / "rows.parquet")
    model = SirusRegressorCV(**SMALL).fit_files(tmp_path, "y", quantiles="sketch")
    assert 0 < model.cv_error_ < 1


# ------------------------------------------------------------------------------------------------------------ passes


def passes(options, n_rows=2400, tally=1 << 10, estimator=SirusRegressorCV, given=SMALL):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    y = pd.Series((frame["a"] > 0) + (frame["b"] > 0.3) + 0.1 * rng.normal(size=n_rows), name="y")
    rows = CountedRows([Part(0, "all rows", frame, y)])
    fit_rows(estimator(**{**given, **options}), rows, EngineOptions(tally=tally))
    return rows.count


@pytest.mark.parametrize("n_trees", [64, 6400])
def test_passes_of_a_plain_fit(n_trees):
    """Besides two levels of trees, one block for all of them: these are the passes of benchmarks/workers.py."""
    count = passes({"n_trees": n_trees, "random_state": 0, "n_rules": 5}, estimator=SirusRegressor, given={})
    # the response; columns, quantiles, and in the end the values next to cuts, and sums for monitoring; bins
    assert (count["response"], count["columns"], count["encode"]) == (1, 4, 1)
    assert count["bins"] == 2 + 2  # sizes of bins and moments


def test_passes_grow_neither_with_folds_nor_with_trees():
    few = passes({"cv": 4, "n_trees": 64})
    # of all rows, then of the folds: the response, the columns, the bins; once the quantiles among over 1,024 values,
    # near which those of the folds are looked for; then the held-out rows, the values next to the cuts of the list, and
    # sums for monitoring
    assert (few["response"], few["columns"], few["encode"]) == (2, 6, 2)
    # sizes of bins, two levels of trees, moments; and the same for all folds together
    assert few["bins"] <= 10
    many = passes({"cv": 8, "n_trees": 640})
    assert (many["response"], many["columns"], many["encode"]) == (2, 6, 2)
    assert many["bins"] <= few["bins"] + 2  # some fold asks for the moments of more rules
    twice = passes({"cv": 4, "n_trees": 64, "n_repeats": 2})
    assert (twice["response"], twice["columns"], twice["encode"]) == (3, 8, 3)


def few_values_without_a_group(rng):
    """Zeros and ones, and in one group of three 2,000 different numbers: two folds see these, one does not."""
    groups = np.repeat([0, 1, 2], 2000)
    return np.where(groups == 2, rng.normal(size=6000), rng.integers(0, 2, 6000).astype(float)), groups


def rising_by_group(rng):
    """Groups of neighbours: the quantiles of what is left without some of them are far from those of all."""
    return np.sort(rng.normal(size=6000)), np.repeat(np.arange(12), 500)


@pytest.mark.parametrize("make", [few_values_without_a_group, rising_by_group])
def test_quantiles_of_folds_that_are_far_from_those_of_all_rows_cost_two_passes_more(make):
    rng = np.random.default_rng(4)
    x, groups = make(rng)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=6000)})
    y = pd.Series((x > 0) + 0.5 * (frame["z"] > 0) + 0.1 * rng.normal(size=6000), name="y")
    expected = SirusRegressorCV(**SMALL).fit(frame, y, groups=groups)
    rows = CountedRows([Part(0, "all rows", frame, y, None, groups)])
    rows.grouped = True
    found = fit_rows(SirusRegressorCV(**SMALL), rows, EngineOptions(tally=1 << 10))
    assert_equal_tuning(found, expected)
    assert rows.count["columns"] == 6 + 2  # the columns of folds again, then their quantiles


# ------------------------------------------------------------------------------------------------- what can go wrong


@pytest.mark.parametrize(
    "options, message",
    [
        ({"cv": KFold(3)}, "cv must be a number of folds, or 'forward', for files, Dask and Spark"),
        ({"cv": 1}, "cv must be"),
    ],
)
def test_what_parts_cannot_do_is_said(options, message):
    frame, y, _ = make_frame(60)
    with pytest.raises(ParameterError, match=message):
        fit_parts(SirusRegressorCV(**{**SMALL, **options}), frame, y)


def test_counts_of_nothing_but_zeros_are_refused():
    frame, *_ = make_frame(60)
    with pytest.raises(DataError, match="y is 0 in every row: there is no rate to learn"):
        fit_parts(SirusRegressor(loss="poisson", n_trees=10), frame, np.zeros(60), limits=[20])


def test_parts_that_are_not_prepared_say_so():
    frame, y, _ = make_frame(60)
    with pytest.warns(UserWarning, match="prepare=True has no effect on Dask and Spark"):
        fit_parts(SirusRegressor(prepare=True, n_trees=10), frame, y)


def test_more_folds_than_rows_and_a_card_are_refused(tmp_path):
    frame, y, _ = make_frame(20)
    with pytest.raises(DataError, match="cv=21: so many folds need as many rows"):
        fit_parts(SirusRegressorCV(**{**SMALL, "cv": 21}), frame, y)
    pq.write_table(pa.table({"x": frame["wide"], "y": y}), tmp_path / "rows.parquet")
    with pytest.raises(ParameterError, match="device must be 'cpu' or 'auto' to tune on files"):
        SirusRegressorCV(**SMALL, device="gpu").fit_files(tmp_path, "y")


# ------------------------------------------------------------------------------------------------- learning together


class Numbers:
    """A dataset of two numbers, which counts its passes."""

    def __init__(self):
        self.passes = 0

    def map_reduce(self, query):
        self.passes += 1
        return query(2) + query(3)

    def close(self):
        pass


@pytest.mark.parametrize("n_threads", [1, 2])
def test_learners_share_passes(n_threads):
    numbers = Numbers()

    def learner(n_queries):
        return lambda shards: [shards.map_reduce(lambda n, k=k: n * k) for k in range(1, n_queries + 1)]

    assert run_lockstep(numbers, [learner(1), learner(3), learner(0)], n_threads) == [[5], [5, 10, 15], []]
    assert numbers.passes == 3


def test_queries_that_take_all_threads_go_one_after_the_other():
    def double(n):
        made_by.add(threading.current_thread())
        return 2 * n

    class Wide:
        n_threads = 2

        def __call__(self, n):
            assert threading.current_thread() is threading.main_thread()  # which an interrupt reaches
            return n

    made_by = set()
    learners = [
        lambda shards, k=k: shards.map_reduce(MappedQuery(lambda n: n + k, MappedQuery(double, Wide())))
        for k in range(5)
    ]
    nobody = [
        lambda shards: shards.map_reduce(lambda n: n),
        lambda shards: shards.map_reduce(MappedQuery(lambda n: n if n > 2 else None, Wide())),
    ]
    assert run_lockstep(Numbers(), [*learners, *nobody], 2) == [10, 14, 18, 22, 26, 5, 3]
    assert threading.main_thread() not in made_by  # views are made side by side


def pool_threads():
    return {thread for thread in threading.enumerate() if thread.name.startswith("pysirus-pool-")}


def test_an_interrupt_cancels_the_threads_that_answer(interrupts):
    def slow(n):
        for _ in range(400):
            check_cancelled()
            time.sleep(0.05)

    before, start = pool_threads(), time.monotonic()
    threading.Timer(0.2, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        run_lockstep(Numbers(), [lambda shards: shards.map_reduce(slow)] * 3, n_threads=2)
    assert time.monotonic() - start < 10  # of 20 seconds each
    assert pool_threads() == before


def test_the_sums_of_many_trees_are_left_half_way(monkeypatch):
    frame, y, _ = make_frame(20_000)
    asked, plan = threading.Event(), NodeSums.plan
    monkeypatch.setattr(NodeSums, "plan", lambda *given: (asked.set(), plan(*given))[1])
    with pytest.raises(KeyboardInterrupt), cancellable_pool(1) as pool:
        future = pool.submit(fit_parts, SirusRegressor(n_trees=100_000, n_jobs=1), frame[["wide", "count"]], y)
        assert asked.wait(30)
        raise KeyboardInterrupt
    assert isinstance(future.exception(), Cancelled)


@pytest.mark.parametrize("where, n_threads", [("learner", 1), ("query", 1), ("query", 2)])
def test_the_error_of_one_ends_all(where, n_threads):
    def fails(*_):
        raise OSError("no more")

    learners = [lambda shards: shards.map_reduce(lambda n: n), lambda shards: shards.map_reduce(fails)]
    if where == "learner":
        learners[1] = fails
    with pytest.raises(OSError, match="no more"):
        run_lockstep(Numbers(), learners, n_threads)

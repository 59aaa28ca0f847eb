"""Rows in parts give the rules of rows in memory: rules, frequencies, outputs and weights."""

import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warm
from in_memory import MemoryRows
from parts import KINDS, assert_equal_models, fit_rows, make_frame, response_of, write_files
from pysirus import SirusClassifier, SirusRegressor
from pysirus._data.column import DataError
from pysirus._parameters import ParameterError
from pysirus.engine.parts import EngineOptions, Part
from sampled import in_turns


def parts_of(frame, y, weights, limits):
    return [
        Part(
            i,
            f"partition {i}",
            frame.iloc[begin:end],
            y.iloc[begin:end],
            None if weights is None else weights[begin:end],
        )
        for i, (begin, end) in enumerate(zip([0, *limits], [*limits, len(frame)]))
    ]


@pytest.mark.parametrize("kind, limits", in_turns(KINDS, [[1, 1, 350], list(range(50, 700, 50)), []]))
def test_parts_give_the_model_of_memory(kind, limits):
    frame, y, rng = make_frame()
    estimator, y, weights = response_of(kind, y, rng)
    options = {"n_trees": 300, "random_state": 5, "n_rules": 12}
    expected = estimator(**options).fit(frame, y, sample_weight=weights)
    found = fit_rows(estimator(**options), MemoryRows(parts_of(frame, y, weights, limits)))
    assert len(expected.rules_) > 5
    assert_equal_models(found.model_, expected.model_)


@pytest.mark.parametrize("class_weight", ["balanced", {"yes": 0.5}, {"yes": 0.0, "no": 1.0}])
@pytest.mark.parametrize("weighted", ["", " weighted", " whole", " some"])
def test_class_weights(class_weight, weighted):
    frame, y, rng = make_frame()
    _, y, weights = response_of("two" + weighted, y, rng)
    if weighted in (" whole", " some"):
        weights = rng.integers(0, 4 if weighted == " whole" else 2, len(y))
    if class_weight == {"yes": 0.0, "no": 1.0}:
        with pytest.raises(ParameterError):
            SirusClassifier(class_weight=class_weight).fit(frame, y)
        return
    options = {"n_trees": 200, "random_state": 1, "class_weight": class_weight}
    expected = SirusClassifier(**options).fit(frame, y, sample_weight=weights)
    found = fit_rows(SirusClassifier(**options), MemoryRows(parts_of(frame, y, weights, [100, 500])))
    assert_equal_models(found.model_, expected.model_)


@pytest.mark.parametrize("depth", [1, 3])
def test_small_tallies_and_many_passes_change_nothing(depth):
    frame, y, _ = make_frame(3000)
    y = pd.Series(y, name="y")
    options = {"n_trees": "auto", "random_state": 2, "max_depth": depth, "alpha": 0.3}
    expected = SirusRegressor(**options).fit(frame, y)
    engine = EngineOptions(tally=64, sum_bytes=1)
    found = fit_rows(SirusRegressor(**options), MemoryRows(parts_of(frame, y, None, [7, 1500, 2999])), engine)
    assert_equal_models(found.model_, expected.model_)


def test_cuts_from_one_pass_say_how_near_they_are():
    frame, y, _ = make_frame(3000)
    y = pd.Series(y, name="y")
    rows = MemoryRows(parts_of(frame, y, None, [1500]))
    model = fit_rows(SirusRegressor(n_trees=100, random_state=2), rows, EngineOptions(exact=False, tally=64))
    assert 0 < model.model_.facts["quantile_error"] < 0.1


def test_a_part_without_a_known_value_may_be_text():
    frame, y, _ = make_frame(300)
    frame, y = frame[["wide", "narrow", "holes"]], pd.Series(y, name="y")
    expected = SirusRegressor(n_trees=50, random_state=0).fit(
        frame.assign(holes=frame["holes"].where(y.index < 200)), y
    )
    parts = parts_of(frame, y, None, [200])
    nothing = frame.iloc[200:].assign(holes=pd.Series([None] * 100, dtype="str", index=frame.index[200:]))
    rows = MemoryRows([parts[0], Part(1, "partition 1", nothing, y[200:])])
    found = fit_rows(SirusRegressor(n_trees=50, random_state=0), rows)
    assert_equal_models(found.model_, expected.model_)


def test_the_range_of_the_response_is_judged_over_all_parts():
    frame = pd.DataFrame({"x": np.arange(100.0)})
    y = pd.Series(np.append(np.arange(50) * 1e-150, np.arange(50.0)), name="y")
    expected = SirusRegressor(n_trees=50, random_state=0).fit(frame, y)
    found = fit_rows(SirusRegressor(n_trees=50, random_state=0), MemoryRows(parts_of(frame, y, None, [50])))
    assert_equal_models(found.model_, expected.model_)
    with pytest.raises(DataError, match="squares overflow or vanish"):
        fit_rows(SirusRegressor(), MemoryRows(parts_of(frame, y * 1e-200, None, [50])))


def test_one_row_that_weighs_something_is_one_row():
    frame, y = pd.DataFrame({"x": [1.0, 2.0]}), pd.Series([3.0, 4.0], name="y")
    for parts in (parts_of(frame, y, np.array([0.0, 1.0]), [1]), parts_of(frame[:1], y[:1], None, [])):
        with pytest.raises(DataError, match="minimum of 2 is required"):
            fit_rows(SirusRegressor(), MemoryRows(parts))


@pytest.mark.parametrize("kind", ["numbers weighted", "two weighted"])
def test_rows_of_no_weight_may_hold_anything(kind):
    frame, y, rng = make_frame(300)
    estimator, answers, weights = response_of(kind, y, rng)
    weights[100:150] = 0  # a whole part
    expected = estimator(n_trees=200, random_state=0).fit(frame, answers, sample_weight=weights)
    frame.loc[weights == 0, "wide"] = np.inf
    answers[weights == 0] = None
    rows = MemoryRows(parts_of(frame, answers, weights, [100, 150]))
    found = fit_rows(estimator(n_trees=200, random_state=0), rows)
    assert_equal_models(found.model_, expected.model_)
    row = np.flatnonzero(weights[150:])[2]
    frame.loc[row + 150, "narrow"] = np.inf
    with pytest.raises(DataError, match=rf"^partition 2: Column 'narrow' .* in row {row}\."):
        fit_rows(estimator(), MemoryRows(parts_of(frame, answers, weights, [100, 150])))


def test_labels_of_two_types_in_two_parts():
    frame, y, _ = make_frame(60)
    parts = parts_of(frame, pd.Series(y > 0).astype(int), None, [20])
    for other in (np.where(y > 0, "1", "0"), y > 0):
        mixed = MemoryRows([parts[0], Part(1, "partition 1", frame[20:], pd.Series(other)[20:])])
        with pytest.raises(DataError, match="y mixes types"):
            fit_rows(SirusClassifier(), mixed)


# ------------------------------------------------------------------------------------------------------------ files


def write_rows(folder, frame, y, weights, n_groups, n_files=1):
    """The table as Parquet, in so many row groups."""
    table = frame.assign(y=y.to_numpy(), **({} if weights is None else {"w": weights}))
    write_files(table, folder, n_files, -(-n_groups // n_files))
    return str(folder / "*.parquet")


@pytest.mark.parametrize("kind, cut", in_turns(KINDS, [(7, 1), (50, 3), (1, 1)]))
def test_files_give_the_model_of_memory(kind, cut, tmp_path):
    n_groups, n_files = cut
    frame, y, rng = make_frame()
    estimator, y, weights = response_of(kind, y, rng)
    options = {"n_trees": 200, "random_state": 3, "n_rules": 12, "n_jobs": 2}
    expected = estimator(**options).fit(frame, y, sample_weight=weights)
    pattern = write_rows(tmp_path, frame, y, weights, n_groups, n_files)
    found = estimator(**options).fit_files(pattern, "y", sample_weight=None if weights is None else "w")
    assert_equal_models(found.model_, expected.model_)
    assert np.array_equal(found.predict(frame), expected.predict(frame))


def test_a_folder_a_list_and_a_file(tmp_path):
    frame, y, _ = make_frame()
    y = pd.Series(y, name="y")
    pattern = write_rows(tmp_path, frame, y, None, 8, 2)
    options = {"n_trees": 100, "random_state": 3}
    expected = SirusRegressor(**options).fit_files(pattern, "y")
    for paths in (tmp_path, sorted(tmp_path.iterdir())):
        assert_equal_models(SirusRegressor(**options).fit_files(paths, "y").model_, expected.model_)
    less = SirusRegressor(**options).fit_files(pattern, "y", drop=["copy", "constant"])
    assert "constant" not in less.feature_names_in_


def test_folders_that_are_named_like_files(tmp_path):
    """Spark and Dask write a table as a folder, which is often called ``day.parquet``."""
    frame, y, _ = make_frame()
    y = pd.Series(y, name="y")
    for day in ("day-1.parquet", "day-2.parquet"):
        (tmp_path / day).mkdir()
    write_rows(tmp_path / "day-1.parquet", frame[:400], y[:400], None, 2, 2)
    write_rows(tmp_path / "day-2.parquet", frame[400:], y[400:], None, 1)
    options = {"n_trees": 100, "random_state": 3}
    expected = SirusRegressor(**options).fit(frame, y)
    for paths in (tmp_path, tmp_path / "*.parquet", sorted(tmp_path.iterdir())):
        assert_equal_models(SirusRegressor(**options).fit_files(paths, "y").model_, expected.model_)


def test_many_columns_keep_within_their_memory(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12_000))
    columns = {f"x{i}": x for i, x in enumerate(X)}
    pq.write_table(pa.table({**columns, "y": X[0] + X[1]}), tmp_path / "wide.parquet", row_group_size=6000)
    options = {"n_trees": 64, "random_state": 0}
    tracemalloc.start()  # sees the arrays of NumPy, not those of Arrow
    found = SirusRegressor(**options).fit_files(tmp_path / "wide.parquet", "y", memory=1 << 26)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 26
    expected = SirusRegressor(**options).fit(pd.DataFrame(columns), pd.Series(X[0] + X[1], name="y"))
    assert found.model_.selected == expected.model_.selected


def test_complaints_about_files(tmp_path):
    frame, y, _ = make_frame(60)
    y = pd.Series(y, name="y")
    pattern = write_rows(tmp_path, frame, y, None, 2, 2)
    model = SirusRegressor(n_trees=10)
    with pytest.raises(DataError, match="No Parquet or CSV file matches"):
        model.fit_files(tmp_path / "none*.parquet", "y")
    with pytest.raises(DataError, match="Did you mean 'wide'"):
        model.fit_files(pattern, "wde")
    with pytest.raises(DataError, match="no column 'w' for the sample weights"):
        model.fit_files(pattern, "y", sample_weight="w")
    with pytest.raises(ParameterError, match="memory"):
        model.fit_files(pattern, "y", memory=10)
    with pytest.raises(ParameterError, match="'y' has two roles, y and sample_weight"):
        model.fit_files(pattern, "y", sample_weight="y")
    with pytest.raises(ParameterError, match="'y' has two roles, y and drop"):
        model.fit_files(pattern, "y", drop="y")
    with pytest.raises(ParameterError, match="quantiles"):
        model.fit_files(pattern, "y", quantiles="near")
    with pytest.raises(ParameterError, match=r"scratch must be a folder that .* got '.*none' \(No such file"):
        model.fit_files(pattern, "y", scratch=tmp_path / "none")
    with pytest.raises(ParameterError, match="max_features"):
        SirusRegressor(max_features=99).fit_files(pattern, "y")
    twice = pa.Table.from_arrays([pa.array(y), pa.array(y), pa.array(y)], names=["x", "x", "y"])
    (tmp_path / "twice").mkdir()
    pq.write_table(twice, tmp_path / "twice" / "a.parquet")
    with pytest.raises(DataError, match="'x' occurs more than once"):
        model.fit_files(tmp_path / "twice", "y")
    (tmp_path / "part-05.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"part-05.* cannot be read as Parquet"):
        model.fit_files(pattern, "y")


@pytest.mark.parametrize(
    "column, value, message",
    [
        ("wide", np.inf, "rows 0 to 29 of .*part-01.*Column 'wide' contains infinity"),
        ("y", np.nan, "rows 0 to 29 of .*part-01.*NaN"),
    ],
)
def test_a_bad_part_is_named(column, value, message, tmp_path):
    frame, y, _ = make_frame(60)
    table = frame.assign(y=y)
    table.loc[45, column] = value
    pattern = write_rows(tmp_path, table.drop(columns="y"), table["y"], None, 2, 2)
    with pytest.raises(DataError, match=message):
        SirusRegressor(n_trees=10).fit_files(pattern, "y")


def test_parts_of_different_kinds_are_named():
    frame, y, _ = make_frame(60)
    y = pd.Series(y, name="y")
    parts = parts_of(frame, y, None, [20, 40])
    other = frame.iloc[20:40].assign(wide=list("ab") * 10)
    with pytest.raises(DataError, match=r"partition 0 and partition 1 .*'wide'"):
        fit_rows(SirusRegressor(), MemoryRows([parts[0], Part(1, "partition 1", other, y[20:40]), parts[2]]))
    with pytest.raises(DataError, match="different columns"):
        fewer = Part(1, "partition 1", frame.iloc[20:40].drop(columns="few"), y[20:40])
        fit_rows(SirusRegressor(), MemoryRows([parts[0], fewer]))


def test_labels_are_judged_together():
    """Two parts of numbers as text are labels where a third part has more words than numbers."""
    y = pd.Series(np.arange(60.0), name="y")
    frame = pd.DataFrame({"x": ["1"] * 20 + ["2"] * 20 + ["a", "b", "c", "d"] * 5})
    expected = SirusRegressor(n_trees=50, random_state=0).fit(frame, y)
    found = fit_rows(SirusRegressor(n_trees=50, random_state=0), MemoryRows(parts_of(frame, y, None, [20, 40])))
    assert_equal_models(found.model_, expected.model_)
    numbers = frame.assign(x=["1", "2", "3"] * 20)
    for n_parts in ([], [20, 40]):
        with pytest.raises(DataError, match="numbers written as text"):
            fit_rows(SirusRegressor(), MemoryRows(parts_of(numbers, y, None, n_parts)))
    many = frame.assign(x=[f"level {i}" for i in range(60)])
    with pytest.raises(DataError, match="300 categories; at most 255"):
        table = pd.concat([many.assign(x=many.x + str(k)) for k in range(5)], ignore_index=True)
        fit_rows(SirusRegressor(), MemoryRows(parts_of(table, pd.concat([y] * 5), None, [])))


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupt_ends_the_work_and_leaves_nothing_behind(tmp_path, interrupts):
    frame, y, _ = make_frame(200_000)
    write_rows(tmp_path, frame[["wide", "narrow", "count"]], pd.Series(y), None, 4)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    code = (
        "import sys\n"
        "from pysirus import SirusRegressor\n"
        "from pysirus.engine import shard as _shard\n"
        "ask = _shard.NodeSums.__call__\n"
        "def first(self, shard):\n"
        "    print('growing', flush=True)\n"
        "    return ask(self, shard)\n"
        "_shard.NodeSums.__call__ = first\n"
        "SirusRegressor(n_trees=1_000_000).fit_files(sys.argv[1], 'y', scratch=sys.argv[2])\n"
    )
    command = [*warm.python(code), str(tmp_path / "*.parquet"), str(scratch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "growing"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert process.returncode != 0
    assert time.monotonic() - start < 10  # a second where nothing else runs
    assert not list(scratch.iterdir())

"""Tables with columns of every kind, and equal models: what tests of rows in parts share."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from in_memory import MemoryRows
from pysirus import SirusClassifier, SirusRegressor
from pysirus._forest import forest
from pysirus._learn import grow
from pysirus._weights import likelihood
from pysirus.engine.door import RowsInParts
from pysirus.engine.parts import EngineOptions, Part


def make_frame(n_rows=700, seed=0):
    """Numbers of several widths, labels, an order, flags, missing values, a copy and a constant."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "wide": x,
            "narrow": rng.normal(size=n_rows).astype(np.float32),
            "count": rng.integers(0, 1000, n_rows),
            "few": rng.integers(0, 4, n_rows).astype(np.int8),
            "holes": np.where(rng.random(n_rows) < 0.2, np.nan, rng.exponential(size=n_rows)),
            "colour": pd.Series(rng.choice(["red", "green", "blue", None], n_rows), dtype=object),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n_rows), ["S", "M", "L"], ordered=True),
            "flag": rng.random(n_rows) < 0.3,
            "copy": x,
            "constant": 3.0,
        }
    )
    signal = 2.0 * (frame["wide"] > 0) + (frame["colour"] == "red") * (frame["holes"] > 1) - (frame["size"] == "L")
    return frame, np.asarray(signal + 0.3 * rng.normal(size=n_rows)), rng


def draw_at_most(monkeypatch, n_rows):
    """Trees of stages and of tuned models draw no more rows than these, in blocks; None: as they do."""
    if n_rows is not None:
        monkeypatch.setattr(grow, "MOST_DRAWN", n_rows)
        monkeypatch.setattr(grow, "MOST_IN_STAGES", n_rows)
        monkeypatch.setattr(forest, "BLOCKS_PAY", 1.0)


def choose_on(monkeypatch, n_rows):
    """Penalties of likelihoods are chosen on about so many rows, where this process does all; None: as they are."""
    if n_rows is not None:
        monkeypatch.setattr(likelihood, "SAMPLED", n_rows)


def write_files(frame, folder, n_files, n_groups):
    """The rows of a frame as Parquet files of ``n_groups`` row groups each, in the order of their names."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    size = -(-len(table) // n_files)
    for i in range(n_files):
        part = table.slice(i * size, size)
        pq.write_table(part, folder / f"part-{i:02}.parquet", row_group_size=-(-len(part) // n_groups))


def response_of(kind, y, rng):
    """A response and weights of some kind."""
    n = len(y)
    weights = None
    if kind.endswith("whole"):
        weights = rng.integers(0, 4, n).astype(float)
    elif kind.endswith("weighted"):
        weights = np.where(rng.random(n) < 0.1, 0.0, rng.exponential(size=n))
    if kind.startswith("numbers"):
        return SirusRegressor, pd.Series(y, name="y"), weights
    if kind.startswith("two"):
        return SirusClassifier, pd.Series(np.where(y > 1, "yes", "no"), name="y"), weights
    return SirusClassifier, pd.Series(np.digitize(y, [0, 1, 2]), name="y"), weights


KINDS = ["numbers", "numbers whole", "numbers weighted", "two", "two weighted", "four", "four whole"]


def assert_equal_models(found, expected):
    assert [str(rule) for rule in found.selected] == [str(rule) for rule in expected.selected]
    assert found.selected == expected.selected
    assert [rule.conditions for rule in found.selected] == [rule.conditions for rule in expected.selected]
    assert found.intercept == expected.intercept
    assert found.mean == expected.mean
    assert found.features == expected.features
    assert found.classes == expected.classes
    assert dict(found.facts) == dict(expected.facts)


def fit_parts(estimator, frame, y, weights=None, limits=(), options=None):
    """Fit an estimator to rows in parts that end at these limits, in memory."""
    y = pd.Series(np.asarray(y), name="y")
    ends = zip([0, *limits], [*limits, len(frame)])
    parts = [
        Part(i, f"part {i}", frame.iloc[a:b], y.iloc[a:b], None if weights is None else weights[a:b])
        for i, (a, b) in enumerate(ends)
    ]
    return fit_rows(estimator, MemoryRows(parts), options)


def fit_rows(estimator, rows, options=None, target="y"):
    """Fit an estimator to rows in parts."""
    settings = estimator._settings()
    estimator._fit_rows(RowsInParts(rows, target, options or EngineOptions(), estimator._reader(settings)), settings)
    return estimator


def assert_equal_tuning(found, expected):
    assert found.p0_ == expected.p0_
    assert found.path_ == expected.path_
    assert found.model_.tuning.sizes == expected.model_.tuning.sizes
    assert found.model_.tuning.changed == expected.model_.tuning.changed
    assert [rule.weight for rule in found.selected_] == [rule.weight for rule in expected.selected_]
    assert_equal_models(found.model_, expected.model_)


class CountedShards:
    def __init__(self, shards, count):
        self._shards, self._count = shards, count

    def map_reduce(self, query):
        self._count["bins"] += 1
        return self._shards.map_reduce(query)

    def close(self):
        self._shards.close()


class CountedRows(MemoryRows):
    """Rows in memory that count the passes over them."""

    def __init__(self, parts):
        super().__init__(parts)
        self.count = {"response": 0, "columns": 0, "encode": 0, "bins": 0}

    def map_reduce(self, query):
        self.count["columns"] += 1
        return super().map_reduce(query)

    def map_reduce_response(self, query):
        self.count["response"] += 1
        return super().map_reduce_response(query)

    def encode(self, query):
        self.count["encode"] += 1
        return CountedShards(super().encode(query), self.count)

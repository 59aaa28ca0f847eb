"""What is warned of in memory is warned of in parts and files, in the same words."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from parts import fit_parts, write_files
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._data.frame import SAMPLE
from pysirus._data.table import read_table
from pysirus._families.responses import NumberResponse
from pysirus.engine.columns import merge_summaries, summarise_columns
from sampled import in_turns

N = 240
FAST = {"n_trees": 20, "n_rules": 3, "random_state": 0}


def draw(seed=0):
    return np.random.default_rng(seed)


def columns(**more):
    """A table that can be learned from, and more columns."""
    x = draw().normal(size=N)
    return pd.DataFrame({"x": x, "few": draw(1).integers(0, 5, N), **more})


TABLES = {
    "nothing to say": {},
    "row numbers": {"t": np.arange(N)},
    "row numbers, shuffled": {"t": draw().permutation(N)},
    "row numbers from the last": {"t": np.arange(N)[::-1] + 5},
    "row numbers, a gap": {"t": np.where(np.arange(N) < 9, np.arange(N), np.arange(N) + 1)},
    "row numbers, one twice": {"t": np.where(np.arange(N) == 7, 8, np.arange(N))},
    "row numbers as decimals": {"t": np.arange(N, dtype=float)},
    "row numbers as decimals, called an id": {"id": np.arange(N, dtype=float)},
    "row numbers below zero": {"t": (draw().permutation(N) - 100).astype(np.int16)},
    "row numbers without a sign": {"t": draw().permutation(N).astype(np.uint64) + np.uint64(2**63)},
    "row numbers, one missing": {"t": pd.array([None, *range(1, N)], dtype="Int64")},
    "an id": {"customer_id": draw().permutation(10 * N)[:N]},
    "an id beyond 2**53": {"customer_id": 2**60 + draw().permutation(10 * N)[:N]},
    "an id, some twice": {"customer_id": draw().permutation(10 * N)[np.arange(N) // 2]},
    "an id of few values": {"id": np.arange(N) % 3},
    "a name that is none": {"grid": draw().permutation(10 * N)[:N]},
    "text": {"name": [f"car {i}" for i in range(N)]},
    "text, some twice": {"name": [f"car {i // 2}" for i in range(N)]},
    "text, one missing": {"name": [None, *(f"car {i}" for i in range(1, N))]},
    "labels": {"name": pd.Categorical([f"car {i}" for i in range(N)])},
    "several": {"a_id": np.arange(N), "name": [f"n{i}" for i in range(N)], "c_id": draw().permutation(N) * 3},
    "seven": {f"t{k}": draw(k).permutation(N) + k for k in range(7)},
    "a constant": {"one": 1.0, "same": "a"},
    "a copy": {"copy": draw().normal(size=N)},
    "nothing known": {"none": np.nan, "never": pd.array([None] * N, dtype="Int64")},
    "missing": {"holes": np.where(np.arange(N) % 3 == 0, np.nan, draw(2).normal(size=N))},
    "an index": {"Unnamed: 0": np.arange(N)},
    "a stored index": {"__index_level_0__": np.arange(N)},
}


def warnings_of(fit, *given, **named):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*given, **named)
    return [str(warning.message) for warning in caught]


def answers(frame, how):
    """A target, and weights where there are some."""
    y = 2.0 * (frame["x"] > 0) + 0.1 * draw(3).normal(size=len(frame))
    if how == "constant":
        return y * 0, None
    if how == "zero weights":
        return y, np.where(np.arange(len(frame)) % 4 == 1, 0.0, 1.5)
    if how == "few that weigh":
        return y, (np.arange(len(frame)) < 15).astype(float)
    return y, None


@pytest.mark.parametrize("name, how", in_turns(list(TABLES), ["plain", "zero weights", "few that weigh", "constant"]))
def test_parts_warn_as_memory_does(name, how, tmp_path):
    frame = columns(**TABLES[name])
    y, weights = answers(frame, how)
    estimator = SirusRegressor(**FAST)
    said = warnings_of(estimator.fit, frame, y, sample_weight=weights)
    for limits in ((), (70,), (3, 4, 100, 200)):
        assert warnings_of(fit_parts, SirusRegressor(**FAST), frame, y, weights, limits) == said
    whole = frame.assign(y=y) if weights is None else frame.assign(y=y, w=weights)
    write_files(whole, tmp_path, 2, 2)
    options = {} if weights is None else {"sample_weight": "w"}
    assert warnings_of(SirusRegressor(**FAST).fit_files, tmp_path, "y", **options) == said


def test_expected_warnings_are_there():
    """So that the tables above are not equal for want of warnings."""
    for name, part in (
        ("row numbers, shuffled", "column 't' numbers the rows"),
        ("an id", "column 'customer_id' has another number in every row"),
        ("text", "column 'name' has another text in every row"),
        ("several", "Likely ids: column 'a_id' numbers the rows; column 'name'"),
        ("seven", "; and 2 more"),
        ("nothing known", "All values are missing in 'none', 'never'"),
        ("an index", "'Unnamed: 0' numbers the rows: it is taken as an index"),
    ):
        frame = columns(**TABLES[name])
        said = warnings_of(SirusRegressor(**FAST).fit, frame, answers(frame, "")[0])
        assert any(part in text for text in said)
    for name in ("row numbers, a gap", "row numbers, one twice", "row numbers, one missing", "an id, some twice"):
        frame = columns(**TABLES[name])
        assert warnings_of(SirusRegressor(**FAST).fit, frame, answers(frame, "")[0]) == []


def test_tuning_and_classes_warn_as_in_memory():
    frame = columns(t=draw().permutation(N), none=np.nan)
    noise = draw(9).normal(size=N)
    tuned = {"n_trees": 20, "max_rules": 3, "cv": 3, "n_repeats": 1, "random_state": 0}
    for estimator, y in ((SirusRegressorCV(**tuned), noise), (SirusClassifier(**FAST), np.where(noise > 0, "a", "b"))):
        said = warnings_of(estimator.fit, frame, y)
        assert any("numbers the rows" in text for text in said) and any("All values" in text for text in said)
        assert warnings_of(fit_parts, estimator, frame, y, limits=(100,)) == said
    said = warnings_of(SirusRegressorCV(**tuned).fit, frame, noise)
    assert any("Nothing was learned" in text for text in said)


def test_differences_that_are_meant(tmp_path):
    """What parts cannot do as memory does, and say."""
    frame, y = columns(), answers(columns(), "")[0]
    # a table in parts is not prepared
    asked = SirusRegressor(**FAST, prepare=True)
    (said,) = warnings_of(fit_parts, asked, frame, y, limits=(90,))
    assert said.startswith("prepare=True has no effect") and warnings_of(asked.fit, frame, y) == []
    # files that were each written with an index: in each of them it numbers the rows, in all of them together not
    again = frame.assign(**{"Unnamed: 0": np.arange(N) % 120})
    (said,) = warnings_of(fit_parts, SirusRegressor(**FAST), again, y, limits=(120,))
    assert "'Unnamed: 0' numbers the rows: it is taken as an index" in said
    assert warnings_of(SirusRegressor(**FAST).fit, again, y) == []


def test_a_table_without_names_has_no_ids():
    X, y = np.column_stack([np.arange(N), draw().integers(0, 5, N)]), draw().normal(size=N)
    frame = pd.DataFrame(X)
    for table in (X, frame):
        assert warnings_of(SirusRegressor(**FAST).fit, table, y) == []
    assert warnings_of(fit_parts, SirusRegressor(**FAST), frame, y, limits=(90,)) == []


@pytest.mark.parametrize("share", [0.0, 1e-4, 0.5])
def test_of_very_many_numbers_a_sample_is_compared(share):
    """The same rows in any order and in any parts, so that all say the same."""
    from pysirus._data.frame import why_id as in_memory
    from pysirus.engine.columns import why_id

    n = 50 * SAMPLE
    values = draw().permutation(10 * n)[:n]
    values[: int(share * n)] = values[-int(share * n) or n :][: int(share * n)]
    column = read_table(pd.DataFrame({"row_id": values, "x": 1.0})).columns[0]
    expected = in_memory(column)
    assert expected == (None if share == 0.5 else "has another number in nearly every row")
    for limits in ([0, n // 3, n], [0, 1, 5, n - 2, n]):
        order = draw(len(limits)).permutation(values)
        parts = [
            summarise_columns(
                read_table(pd.DataFrame({"row_id": order[a:b]}), part=True), NumberResponse(np.zeros(b - a)), budget=64
            )
            for a, b in pairwise(limits)
        ]
        whole = parts[0]
        for part in parts[1:]:
            whole = merge_summaries(part, whole)
        assert why_id(whole[0]) == expected

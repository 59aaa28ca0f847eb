"""The benchmarks run; what they measure is for `make bench` to say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _find_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_problems_have_no_missing_values_and_repeat() -> None:
    from benchmarks.problems import made_up, shipped

    assert np.isfinite(shipped("mpg").X).all()
    np.testing.assert_array_equal(made_up(100, 4).X, made_up(100, 4).X)
    assert made_up(100, 4).X.dtype == np.float32


def test_best_of_keeps_the_least_and_takes_turns() -> None:
    from benchmarks.clock import best_of

    calls: list[str] = []
    best = best_of({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b", "a", "b"] and set(best) == {"a", "b"} and max(best.values()) < 1


def test_each_rival_runs() -> None:
    from benchmarks.problems import made_up
    from benchmarks.rivals import ours, scikit_learn

    problem = made_up(300, 5)
    ours.forest(problem, 50)
    ours.fit(problem, 50)
    scikit_learn.fit(problem, 2)


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is asked of a POSIX system")
def test_memory_is_measured_in_its_own_process() -> None:
    from benchmarks.clock import in_new_process

    found = json.loads(in_new_process("benchmarks.memory", 20_000, 20, 16))
    assert found["array"] == pytest.approx(20_000 * 20 * 4 / 2**20)
    assert found["after"] >= found["before"] > found["array"]

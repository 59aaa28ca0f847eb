"""Trees grown from the sums of parts are the trees of the whole, split for split."""

import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import SETS, grow, grow_in_parts, make_problem, problems
from pysirus import _core
from sampled import FULL, in_turns


@settings(max_examples=200 if FULL else 60)
@given(problems(), st.data(), st.integers(0, 2**40), st.sampled_from(SETS))
def test_parts_grow_the_trees_of_the_whole(problem, data, first_tree, instruction_set):
    n_rows = problem.bins.shape[1]
    limits = sorted(data.draw(st.lists(st.integers(0, n_rows), max_size=4)))
    expected = grow(problem, 5, first_tree)
    assert grow_in_parts(problem, limits, 5, first_tree, 1, instruction_set).tolist() == expected.tolist()


PROBLEMS = ["numbers", "extreme", "missing", "classes", "weights", "all", "columns"]


@pytest.mark.parametrize("kind, depth", in_turns(PROBLEMS, [2, 4, 1]))
def test_parts_of_any_size_and_threads_agree(kind, depth):
    problem = make_problem(
        9000,
        [10, 3, 10, 255, 1, 10, 2],
        missing=[0, 4] if kind in ("missing", "all") else [],
        n_outputs=4 if kind in ("classes", "all") else 0,
        n_columns=3 if kind == "columns" else 0,
        weights=kind in ("weights", "all"),
        extreme=kind == "extreme",
        max_depth=depth,
        max_features=3,
        min_node_size=5,
    )
    expected = grow(problem, 70)
    assert (expected >= 0).any()
    for limits, n_threads in (([], 1), ([1, 1, 4097], 2), ([5000], 3)):
        for instruction_set in SETS:
            found = grow_in_parts(problem, limits, 70, n_threads=n_threads, instruction_set=instruction_set)
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("weights", [False, True])
def test_a_constant_response_is_told_from_one_without_gain(weights):
    problem = make_problem(3000, [10, 10], weights=weights, max_features=2)
    other = 2**19 + 10_000 * problem.bins[1].astype(np.int32)
    problem.value = np.where(problem.bins[0] < 5, np.int32(-777), other)
    expected = grow(problem, 64)
    assert (expected[expected[:, 0] == 4, 1] == -1).all()
    for n_threads in (1, 3):
        assert np.array_equal(grow_in_parts(problem, [1000, 1001], 64, n_threads=n_threads), expected)


def test_an_interrupt_ends_the_queries_about_nodes_without_gain(interrupts):
    problem = make_problem(100_000, [10, 10], max_features=2)
    problem.value = np.where(problem.bins[0] < 5, np.int32(-777), np.int32(777))
    splits = np.full((1, 1), 4, dtype=np.int32)
    nodes = np.tile([0, 1, -777], (200_000, 1))  # a minute of work
    timer = threading.Timer(0.3, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        _core.count_other_values(problem.plan(), problem.rows(), 0, splits, nodes)
    assert time.monotonic() - start < 10


def test_more_rows_than_can_be_counted_are_refused():
    plan = make_problem(2, [2]).plan()
    bins = np.zeros((1, 2_000_000_001), np.uint8)  # the system gives the memory when it is written, so never
    rows = _core.Rows(bins, None, None, None, 0)  # reads them once, which takes a second
    with pytest.raises(ValueError, match="at most 2,000,000,000 rows"):
        _core.grow(plan, rows, 0, 1, 1, SETS[0])
    with pytest.raises(ValueError, match="at most 2,000,000,000 rows"):
        _core.level_sums(plan, rows, 0, np.zeros((1, 0), np.int32), 1, SETS[0])


def test_what_does_not_fit_together_is_refused():
    problem = make_problem(50, [10, 10], max_features=2)
    plan, rows = problem.plan(), problem.rows()
    with pytest.raises(ValueError, match="columns"):
        _core.level_sums(plan, rows, 0, np.zeros((4, 2), np.int32), 1, SETS[0])
    with pytest.raises(ValueError, match="not the sums"):
        _core.search(plan, 0, np.zeros((4, 0), np.int32), np.zeros(3, np.int64))

"""Straight lines against cuts at the root of each tree: by hand, against the oracle, in blocks, parts and vectors."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from given import column_lines
from problems import SETS, grow, grow_in_parts, grow_lines, make_problem, problems
from pysirus import _core
from pysirus._bins.cuts import bin_table
from pysirus._bins.numeric import line_values
from pysirus._data.table import read_table
from pysirus._families.responses import NumberResponse
from pysirus._forest.forest import MOST_BLOCK_THRESHOLDS, Forest, Recipe, poisson_thresholds
from sampled import FULL


def with_lines(problem, kind="rising", seed=0):
    """The same problem, where some features may be lines; their numbers rise, are few, or are as large as they can."""
    rng = np.random.default_rng(seed)
    lines = []
    for n_bins, missing in zip(problem.n_bins.tolist(), problem.has_missing.tolist()):
        limit = {"rising": 2**15 - 1, "few": 2, "extreme": 2**15 - 1}[kind]
        own = np.sort(rng.integers(-limit, limit + 1, n_bins))
        if kind == "extreme":
            own = np.where(own > 0, limit, -limit)
        if missing:
            own[-1] = rng.integers(-limit, limit + 1)
        lines.append(own.tolist() if rng.random() < 0.8 else [])
    return replace(problem, lines=lines if any(lines) else [[0] * int(problem.n_bins[0]), *lines[1:]])


KINDS = st.sampled_from(["rising", "few", "extreme"])


@settings(max_examples=400 if FULL else 120)
@given(problems(), KINDS, st.sampled_from(SETS), st.integers(0, 2**40), st.sampled_from([None, 0.3, 3.0, 40.0]))
def test_lines_win_the_trees_of_the_oracle(problem, kind, instruction_set, first_tree, mean):
    problem = with_lines(problem, kind, problem.seed)
    if mean is not None:
        problem = replace(problem, block_thresholds=poisson_thresholds(mean, MOST_BLOCK_THRESHOLDS))
    expected = [oracle.winning_line(problem, first_tree + i) for i in range(6)]
    for n_threads in (1, 2):
        lines, splits = grow_lines(problem, 6, first_tree, n_threads, instruction_set)
        assert lines.tolist() == expected
        assert np.array_equal(splits, grow(replace(problem, lines=[]), 6, first_tree))


def mixed(problem):
    """The same problem with an answer that rises a little in two features and steps in a third, and all lines."""
    rng, bins, n_bins = np.random.default_rng(7), problem.bins.astype(float), problem.n_bins
    signal = bins[2] / n_bins[2] + bins[5] / n_bins[5] + (bins[0] > 4) * 0.6 + rng.normal(size=bins.shape[1])
    rank = np.argsort(np.argsort(signal)) / len(signal)
    lines = [np.linspace(-32767, 32767, n).astype(int).tolist() for n in n_bins]
    if problem.class_code is not None:
        return replace(problem, class_code=(rank * problem.n_outputs).astype(np.uint8), lines=lines)
    value = problem.value.copy()
    value[..., :] = np.where(rank > 0.5, 2**20, -(2**20)) if np.abs(value).min() == 2**20 else (rank - 0.5) * 2**20
    return replace(problem, value=value, lines=lines)


@pytest.mark.parametrize("kind", ["numbers", "extreme", "missing", "classes", "weights", "columns", "all"])
@pytest.mark.parametrize("drawn", ["few", "rows", "blocks"])
def test_all_instruction_sets_threads_and_parts_find_the_same_lines(kind, drawn):
    problem = make_problem(
        900 if drawn == "few" else 6000,
        [10, 3, 10, 200, 1, 16, 16],
        missing=[0, 4] if kind in ("missing", "all") else [],
        n_outputs=4 if kind in ("classes", "all") else 0,
        n_columns=3 if kind == "columns" else 0,
        weights=kind in ("weights", "all"),
        extreme=kind == "extreme",
        max_depth=2,
        max_features=5,
    )
    problem = mixed(problem)
    if drawn == "blocks":
        problem = replace(problem, block_thresholds=poisson_thresholds(9.0, MOST_BLOCK_THRESHOLDS))
    expected, splits = grow_lines(problem, 130)
    assert {-1, 2, 5} <= set(expected.tolist())  # some lines win, and some cuts do
    assert [oracle.winning_line(problem, tree) for tree in range(2)] == expected[:2].tolist()
    for instruction_set in SETS:
        for n_threads in (1, 2):
            assert np.array_equal(grow_lines(problem, 130, 0, n_threads, instruction_set)[0], expected)
    for ends in ([1], [256, 301, 899]):
        found = np.full(130, -9, dtype=np.int32)
        assert np.array_equal(grow_in_parts(problem, ends, 130, lines=found), splits)
        assert np.array_equal(found, expected)


def by_hand(bins, value, lines, n_bins=3, **more):
    """One feature, every row drawn once."""
    return oracle.Problem(
        bins=np.array([bins], dtype=np.uint8),
        n_bins=np.array([n_bins], np.int32),
        has_missing=np.zeros(1, np.uint8),
        value=np.array(value, dtype=np.int32),
        thresholds=np.array([0], np.uint32),
        max_depth=1,
        min_node_size=1,
        lines=[lines],
        **more,
    )


@pytest.mark.parametrize(
    "value, wins",
    [
        # sums of squares around the mean: 2, all of which the line takes, and 1.5, which either cut takes
        ([-1, 0, 1], True),
        # a step: 2/3, of which the cut takes all and the line 1/2, so three quarters
        ([0, 0, 1], False),
        # nothing rises: the line takes nothing, the cuts 1/6
        ([0, 1, 0], False),
    ],
)
def test_a_line_wins_where_it_takes_nine_tenths_of_the_cut(value, wins):
    assert grow_lines(by_hand([0, 1, 2], value, [-1, 0, 1]), 3)[0].tolist() == [0 if wins else -1] * 3


@pytest.mark.parametrize("high, wins", [(0, False), (1, False), (2, True), (5, True), (8, True), (9, False)])
def test_nine_tenths_suffice(high, wins):
    """Numbers 0, h, 10 at -1, 0, 1: the line takes 50, the cuts two thirds of (5 + h / 2)^2 and of (10 - h / 2)^2."""
    cut = Fraction(2, 3) * max(5 + Fraction(high, 2), 10 - Fraction(high, 2)) ** 2
    assert (Fraction(9, 10) * cut <= 50) == wins
    assert (grow_lines(by_hand([0, 1, 2], [0, high, 10], [-1, 0, 1]), 1)[0][0] == 0) == wins


def test_no_line_without_spread_or_answer():
    assert grow_lines(by_hand([0, 1, 2], [-1, 0, 1], [5, 5, 5]), 2)[0].tolist() == [-1, -1]  # B is zero
    assert grow_lines(by_hand([0, 1, 2], [3, 3, 3], [-1, 0, 1]), 2)[0].tolist() == [-1, -1]
    few = replace(by_hand([0, 1, 2], [-1, 0, 1], [-1, 0, 1]), min_node_size=3)
    assert grow_lines(few, 2)[0].tolist() == [-1, -1]  # the root is left alone


def test_ties_between_lines_are_drawn():
    problem = make_problem(60, [7, 7, 7], max_depth=1, max_features=3, seed=3)
    problem.bins[:] = np.arange(60) * 7 // 60
    problem.value = (problem.bins[0].astype(np.int32) - 3) * 1000
    rising = list(range(-3, 4))
    problem = replace(problem, lines=[rising, [-v for v in rising], [2 * v for v in rising]])  # one and the same line
    counts = np.bincount(grow_lines(problem, 30_000)[0], minlength=3)
    assert counts.sum() == 30_000 and np.abs(counts - 10_000).max() < 4 * np.sqrt(30_000 * 2 / 9)


def test_a_line_takes_what_least_squares_say():
    problem = with_lines(make_problem(40, [8, 8], weights=True, max_features=2, seed=5), seed=1)
    problem = replace(problem, lines=[own or list(range(8)) for own in problem.lines])
    counts = oracle.drawn_counts(problem, 0)
    size, rows = counts * problem.weight.astype(np.int64), counts > 0
    for feature in range(2):
        (a,), b = oracle.line_sums(problem, feature, size, rows)
        v = np.array([problem.lines[feature][i] for i in problem.bins[feature]], dtype=float)
        root = np.sqrt(size)
        fit = np.linalg.lstsq(np.column_stack([np.ones(40), v]) * root[:, None], problem.value * root, rcond=None)[0]
        mean = np.average(problem.value, weights=size)
        taken = (size * (fit @ [np.ones(40), v] - mean) ** 2).sum()
        assert float(Fraction(a * a, int(size.sum()) * b)) == pytest.approx(taken, rel=1e-9)


@pytest.mark.parametrize(
    "lines, message",
    [
        ([[0] * 4], "an entry per feature"),
        ([[0] * 4, [0] * 5], "a number for each bin"),
        ([[0, 1, 2, -32768], []], "-32768 is not from -32767 to 32767"),
    ],
)
def test_the_core_refuses_lines_that_it_cannot_compare(lines, message):
    problem = make_problem(50, [4, 4], max_features=2)
    with pytest.raises(ValueError, match=message):
        replace(problem, lines=lines).plan()


def test_the_core_refuses_places_for_lines_that_do_not_fit():
    problem = make_problem(50, [4, 4], max_features=2)
    some = replace(problem, lines=[[0, 1, 2, 3], []])
    for own, lines in ((problem, np.zeros(5, np.int32)), (some, None), (some, np.zeros(4, np.int32))):
        with pytest.raises(ValueError, match="lines"):
            _core.grow(own.plan(), own.rows(), 0, 5, 1, SETS[0], lines=lines)


# ------------------------------------------------------------------------------------------------------ whole forests


def some_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({"line": rng.normal(size=n), "step": rng.normal(size=n), "few": rng.integers(0, 4, n)})
    x.loc[rng.random(n) < 0.1, "line"] = np.nan
    y = x["line"].fillna(0) + 1.5 * (x["step"] > 0.5) + 0.3 * rng.normal(size=n)
    table, response = read_table(x), NumberResponse(y.to_numpy())
    return table, bin_table(table, response, n_bins=10, discrete_limit=10), response


def numbered(lines):
    return {i: own for i, own in enumerate(lines) if own is not None}


def test_a_forest_counts_the_lines_beside_its_paths():
    table, binned, response = some_rows()
    recipe = Recipe(seed=3, max_features=3)
    lines = line_values(numbered(column_lines(table, binned, response)), 3, range(3))
    assert [own is not None for own in lines] == [True, True, False]
    plain, found = (Forest(binned, response, replace(recipe, lines=own)).grow_to(600).paths() for own in ((), lines))
    assert np.array_equal(plain.codes, found.codes) and np.array_equal(plain.counts, found.counts)
    assert len(plain.lines) == len(plain.line_frequencies) == 0
    assert found.lines.dtype == np.int64 and found.lines[0] > 300 and found.lines.sum() <= 600 and found.lines[2] == 0
    assert np.array_equal(found.line_frequencies, found.lines / 600)
    forest = Forest(binned, response, replace(recipe, lines=lines))
    forest.grow(17)
    forest.grow_to(600)
    assert np.array_equal(forest.paths().lines, found.lines)


def test_a_line_that_is_left_out_wins_nothing():
    table, binned, response = some_rows()
    lines = numbered(column_lines(table, binned, response))
    without = line_values(lines, 3, {1})
    found = Forest(binned, response, Recipe(seed=3, max_features=3, lines=without)).grow_to(200).paths().lines
    assert found[0] == 0
    assert line_values(lines, 3, ()) == ()

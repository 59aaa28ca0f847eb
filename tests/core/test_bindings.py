"""What no caller should send is refused at the door of the core, by name, before it reads or writes anything."""

import os
from dataclasses import replace

import numpy as np
import pytest

from problems import SETS, grow, make_problem
from pysirus import _core

INTS, BYTES = np.int32, np.uint8


def numbers(**changes):
    """A table of 60 rows with two columns of ten bins, the second with missing values, and something wrong with it."""
    return replace(make_problem(60, [10, 10], missing=[1], max_features=2), **changes)


def classes(**changes):
    """The same with three classes."""
    return replace(make_problem(60, [10, 10], missing=[1], n_outputs=3, max_features=2), **changes)


def vectors(**changes):
    """The same with three columns of numbers."""
    return replace(make_problem(60, [10, 10], missing=[1], n_columns=3, max_features=2), **changes)


def plan(**changes):
    """The plan of `numbers` with something wrong with it."""
    problem = numbers()
    right = {
        "n_bins": problem.n_bins.tolist(),
        "has_missing": problem.has_missing.tolist(),
        "split_offset": problem.split_offset.tolist(),
        "n_outputs": 1,
        "classes": False,
        "thresholds": problem.thresholds.tolist(),
        "seed": 0,
        "max_depth": 2,
        "max_features": 2,
        "min_node_size": 5,
    }
    return _core.Plan(**right | changes)


def with_one(array, value):
    """An array with one odd entry, in its last row."""
    changed = array.copy()
    changed[..., -1] = value
    return changed


PLANS = {
    "no bins": ({"n_bins": [0, 11]}, "n_bins"),
    "a million bins": ({"n_bins": [10**6, 11]}, "n_bins"),
    "more bins than a byte tells apart": ({"n_bins": [257, 11], "split_offset": [0, 256, 275]}, "n_bins"),
    "the missing alone": ({"n_bins": [10, 0]}, "n_bins"),
    "missing twice": ({"has_missing": [0, 2]}, "has_missing"),
    "offsets of other columns": ({"split_offset": [0, 5, 28]}, "split_offset"),
    "offsets that fall": ({"split_offset": [0, -9, 10]}, "split_offset"),
    "offsets that do not begin at zero": ({"split_offset": [7, 16, 35]}, "split_offset"),
    "no outputs": ({"n_outputs": 0}, "n_outputs"),
    "many classes": ({"n_outputs": 257, "classes": True}, "n_outputs"),
    "many columns": ({"n_outputs": 257}, "n_outputs"),
    "no thresholds": ({"thresholds": []}, "thresholds"),
    "thresholds that fall": ({"thresholds": [5, 4]}, "thresholds"),
    "a negative size": ({"min_node_size": -1}, "min_node_size"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_of_columns_that_cannot_be_is_refused(name):
    changes, message = PLANS[name]
    with pytest.raises(ValueError, match=message):
        plan(**changes)


ROWS = {
    "a bin too many": (lambda: numbers(bins=with_one(numbers().bins, 11)), "bin 11"),
    "the last byte as a bin": (lambda: classes(bins=with_one(classes().bins, 255)), "bin 255"),
    "a class too many": (lambda: classes(class_code=with_one(classes().class_code, 3)), "class_code 3"),
    "the last byte as a class": (lambda: classes(class_code=with_one(classes().class_code, 255)), "class_code 255"),
    "a response out of range": (lambda: numbers(value=with_one(numbers().value, 2**20 + 1)), "value"),
    "the least response there is": (lambda: numbers(value=with_one(numbers().value, -(2**31))), "value"),
    "a negative weight": (lambda: numbers(weight=with_one(np.ones(60, INTS), -1)), "weight"),
    "a heavy weight": (lambda: classes(weight=with_one(np.ones(60, INTS), 2**20 + 1)), "weight"),
    "a vector out of range": (lambda: vectors(value=with_one(vectors().value, 2**20 + 1)), "value 1048577"),
    "a column too few": (lambda: vectors(value=vectors().value[:2]), "n_outputs of the plan is 3, columns of value: 2"),
    "a column too many": (
        lambda: numbers(value=vectors().value[:2]),
        "n_outputs of the plan is 1, columns of value: 2",
    ),
    "one for three": (
        lambda: vectors(value=vectors().value[0]),
        "n_outputs of the plan is 3, columns of value: 1",
    ),
    "no column": (lambda: numbers(value=np.zeros((0, 60), INTS)), "n_outputs of the plan is 1, columns of value: 0"),
    "columns that lie across": (lambda: numbers(value=np.zeros((60, 1), INTS)), "columns of value: 60"),
    "short columns": (lambda: vectors(value=np.zeros((3, 59), INTS)), "an entry per row"),
    "columns of columns": (lambda: vectors(value=np.zeros((1, 3, 60), INTS)), "value must have one dimension, or two"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_do_not_fit_the_plan_are_refused(name):
    make, message = ROWS[name]
    problem = make()
    with pytest.raises(ValueError, match=message):
        grow(problem, 3)
    splits = np.zeros((2, 0), INTS)
    with pytest.raises(ValueError, match=message):
        _core.level_sums(problem.plan(), problem.rows(), 0, splits, 1, SETS[0])
    if problem.value is not None:
        nodes = np.array([[0, 0, *[5] * problem.n_outputs]])
        with pytest.raises(ValueError, match=message):
            _core.count_other_values(problem.plan(), problem.rows(), 0, splits, nodes)


def test_one_number_for_all_rows_is_refused():
    problem = numbers()
    rows = _core.Rows(problem.bins, np.zeros((), INTS), None, None)
    with pytest.raises(ValueError, match="value must have one dimension, or two"):
        _core.grow(problem.plan(), rows, 0, 3, 1, SETS[0])


def test_rows_are_judged_by_each_plan_they_meet():
    problem = numbers()
    rows = problem.rows()
    assert _core.grow(problem.plan(), rows, 0, 3, 1, SETS[0]).shape == (3, 3)
    narrow = replace(problem, n_bins=np.array([4, 5], INTS))
    with pytest.raises(ValueError, match=r"column 0 has a row in bin 9.* 4 bins"):
        _core.grow(narrow.plan(), rows, 0, 3, 1, SETS[0])


def test_the_largest_of_everything_is_taken():
    values = np.array([2**20, -(2**20)] * 30, INTS)
    problem = make_problem(60, [256, 255], missing=[1], max_features=2)
    problem.bins[0, :2] = 0, 255
    problem.value, problem.weight = values, np.full(60, 2**20, INTS)
    assert (grow(problem, 40)[:, 0] >= 0).any()
    problem = make_problem(600, [256], n_outputs=256, min_node_size=0)
    problem.class_code[:2] = 0, 255
    assert (grow(problem, 40)[:, 0] >= 0).any()
    problem = numbers(weight=np.zeros(60, INTS))
    assert (grow(problem, 3) == -1).all()


@pytest.mark.parametrize("n_trees", [-1, 2**24 + 1, 2**62, 2**63 - 1])
def test_forests_of_impossible_sizes_are_refused(n_trees):
    with pytest.raises(ValueError, match="n_trees"):
        grow(numbers(), n_trees)


@pytest.mark.parametrize("split", [-2, 28, 10**6, 2**31 - 1, -(2**31)])
def test_splits_that_the_plan_does_not_have_are_refused(split):
    problem = numbers()
    here, rows = problem.plan(), problem.rows()
    splits = np.array([[3], [split]], INTS)
    with pytest.raises(ValueError, match=f"split {split}"):
        _core.level_sums(here, rows, 0, splits, 1, SETS[0])
    with pytest.raises(ValueError, match=f"split {split}"):
        _core.search(here, 0, splits, np.zeros(4, np.int64))
    with pytest.raises(ValueError, match=f"split {split}"):
        _core.count_other_values(here, rows, 0, splits, np.array([[0, 1, 5]]))


@pytest.mark.parametrize("node", [(10**12, 1, 0), (-1, 1, 0), (2, 1, 0), (0, 0, 0), (0, 3, 0), (0, -(2**62), 0)])
def test_nodes_that_are_not_there_are_refused(node):
    problem = numbers()
    splits = np.array([[3], [4]], INTS)
    with pytest.raises(ValueError, match="a node must be"):
        _core.count_other_values(problem.plan(), problem.rows(), 0, splits, np.array([[0, 1, 5], node]))


@pytest.mark.parametrize("n_numbers", [0, 2, 3, 4, 6])
def test_nodes_with_other_than_a_value_per_column_are_refused(n_numbers):
    problem = vectors()
    with pytest.raises(ValueError, match="a tree, a node and a value per column"):
        nodes = np.zeros((1, n_numbers), np.int64)
        _core.count_other_values(problem.plan(), problem.rows(), 0, np.zeros((2, 0), INTS), nodes)


@pytest.mark.parametrize("n_trees", [2**24 + 1, 2**40, 2**59])
def test_trees_beyond_number_are_refused(n_trees):
    problem = numbers()
    splits = np.zeros((n_trees, 0), INTS)
    with pytest.raises(ValueError, match="trees"):
        _core.level_sums(problem.plan(), problem.rows(), 0, splits, 1, SETS[0])
    with pytest.raises(ValueError, match="trees"):
        _core.search(problem.plan(), 0, splits, np.zeros(0, np.int64))


@pytest.mark.parametrize("shape", [(3, 0), (0, 2), (3, 5), (3, 31)])
def test_paths_of_no_tree_are_refused(shape):
    with pytest.raises(ValueError, match="1, 3, 7 or 15 columns"):
        _core.PathCounts().add(np.zeros(shape, INTS))


@pytest.mark.parametrize("split", [-2, -(2**31), 2**30, 2**31 - 1])
@pytest.mark.parametrize("n_trees, n_nodes", [(1, 3), (500, 3), (1, 15)])
def test_paths_of_impossible_splits_are_refused(split, n_trees, n_nodes):
    splits = np.zeros((n_trees, n_nodes), INTS)
    splits[-1, -1] = split
    with pytest.raises(ValueError, match=f"split {split}"):
        _core.PathCounts().add(splits)


@pytest.mark.parametrize("call", ["grow", "level_sums", "evaluate", "evaluate_matrix"])
@pytest.mark.parametrize("name", ["", "avx1024", "avx512\0"])
def test_instruction_sets_that_are_not_here_are_refused(call, name):
    problem, rules = numbers(), _core.RuleList([0], [0.0])
    with pytest.raises(ValueError, match="no instruction set is called"):
        if call == "grow":
            grow(problem, 1, instruction_set=name)
        elif call == "level_sums":
            _core.level_sums(problem.plan(), problem.rows(), 0, np.zeros((1, 0), INTS), 1, name)
        elif call == "evaluate":
            rules.evaluate([np.zeros(3)], 3, name)
        else:
            rules.evaluate_matrix(np.zeros((3, 1)), name)


@pytest.mark.parametrize("n_threads", [0, -5])
def test_threads_are_at_least_one(n_threads):
    problem = numbers()
    expected = grow(problem, 5)
    assert np.array_equal(grow(problem, 5, n_threads=n_threads), expected)


# ------------------------------------------------------------------------------------------------------------ moments


def moments(**changes):
    """The moments of two rules over 60 rows with three classes, with something wrong with them."""
    problem = classes()
    right = {
        "bins": problem.bins,
        "features": np.array([0, 1], INTS),
        "tables": np.full((2, 256, 1), 3, np.uint64),
        "n_rules": 2,
        "value": None,
        "class_code": problem.class_code,
        "n_outputs": 3,
        "weight": None,
        "seed": 0,
        "n_folds": 10,
    }
    return _core.rule_moments(**right | changes)


NO_TABLES = {"features": np.zeros(0, INTS), "tables": np.zeros((0, 256, 2**24), np.uint64)}
MOMENTS = {
    "a class too many": ({"class_code": with_one(np.zeros(60, BYTES), 3)}, "class_code 3"),
    "the last byte as a class": ({"class_code": with_one(np.zeros(60, BYTES), 255)}, "class_code 255"),
    "no outputs": ({"n_outputs": 0}, "n_outputs"),
    "a million outputs": ({"n_outputs": 10**6}, "n_outputs"),
    "outputs of numbers": ({"class_code": None, "value": np.zeros(60, np.int64)}, "n_outputs"),
    "more columns than outputs": (
        {"class_code": None, "n_outputs": 2, "value": np.zeros((3, 60), np.int64)},
        "n_outputs",
    ),
    "numbers and classes": ({"value": np.zeros((3, 60), np.int64)}, "value for numbers or class_code for classes"),
    "short columns": ({"class_code": None, "value": np.zeros((3, 59), np.int64)}, "an entry per row"),
    "columns of columns": ({"class_code": None, "value": np.zeros((1, 3, 60), np.int64)}, "one dimension, or two"),
    "a column out of range": ({"class_code": None, "value": with_one(np.zeros((3, 60), np.int64), 2**45)}, "value"),
    "no folds": ({"n_folds": 0}, "n_folds"),
    "a thousand million folds": ({"n_folds": 10**9}, "n_folds"),
    "a large response": (
        {"class_code": None, "n_outputs": 1, "value": with_one(np.zeros(60, np.int64), 2**45)},
        "value",
    ),
    "a small response": (
        {"class_code": None, "n_outputs": 1, "value": with_one(np.zeros(60, np.int64), -(2**63))},
        "value",
    ),
    "a negative weight": ({"weight": with_one(np.ones(60, np.int64), -1)}, "weight"),
    "a heavy weight": ({"weight": with_one(np.ones(60, np.int64), 2**41)}, "weight"),
    "a column that is not there": ({"features": np.array([0, 2], INTS)}, "feature"),
    "more rules than bits": ({"n_rules": 65}, "rules"),
    "fewer rules than none": ({"n_rules": -1}, "rules"),
    "a thousand million rules": ({**NO_TABLES, "n_rules": 2**30}, "rules"),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_of_what_cannot_be_are_refused(name):
    changes, message = MOMENTS[name]
    with pytest.raises(ValueError, match=message):
        moments(**changes)


def test_the_largest_moments_are_taken():
    value = np.array([2**44, -(2**44)] * 30)
    found = moments(class_code=None, n_outputs=1, value=value, weight=np.full(60, 2**40), n_folds=1)
    assert found["size"].tolist() == [60 * 2**40]
    assert found["sum"].tolist() == [[[0, 0]]]


# -------------------------------------------------------------------------------------------------------------- ridge


def test_ridges_of_no_rule_have_no_error():
    none = {"train_gram": (3, 0, 0), "train_cross": (3, 0), "test_gram": (3, 0, 0), "test_cross": (3, 0)}
    arrays = {name: np.zeros(shape) for name, shape in none.items()}
    found = _core.ridge_errors(**arrays, test_square=np.zeros(3), penalties=np.zeros((0, 10**6)))
    assert found.shape == (0, 10**6)
    assert _core.ridge_weights(np.zeros((0, 0)), np.zeros(0), np.zeros(0)).shape == (0, 0)


def test_ridges_of_too_many_rules_are_refused(tmp_path):
    n = 46_341  # whose square is beyond 31 bits
    path = tmp_path / "nothing"
    path.touch()
    os.truncate(path, 8 * n * n)  # a file of holes: neither disk nor memory
    gram = np.memmap(path, np.float64, "r", shape=(1, n, n))
    with pytest.raises(ValueError, match="rules"):
        _core.ridge_weights(gram[0], np.zeros(n), np.zeros(n))
    arrays = {"train_gram": gram, "train_cross": np.zeros((1, n)), "test_gram": gram, "test_cross": np.zeros((1, n))}
    with pytest.raises(ValueError, match="rules"):
        _core.ridge_errors(**arrays, test_square=np.zeros(1), penalties=np.zeros((n, 1)))


# -------------------------------------------------------------------------------------------------- columns and lists


@pytest.mark.parametrize("n_rows", [2**61, 2**62, 2**63 - 1, 2**64 - 1])
@pytest.mark.parametrize("n_outputs", [1, 8, 3])
def test_sums_over_rows_beyond_number_are_refused(n_rows, n_outputs):
    rules = _core.RuleList([], [0.0] * n_outputs)
    with pytest.raises((ValueError, MemoryError)):
        rules.evaluate([], n_rows)
    if n_rows < 2**63:
        rules = _core.RuleList([0], [0.0] * n_outputs)
        column = np.broadcast_to(np.zeros(1, BYTES), (n_rows,))
        with pytest.raises((ValueError, MemoryError)):
            rules.evaluate([column], n_rows)


@pytest.mark.parametrize("n_outputs", [1, 8])
def test_sums_over_a_matrix_beyond_number_are_refused(n_outputs):
    matrix = np.broadcast_to(np.zeros((1, 1), BYTES), (2**61, 1))
    with pytest.raises((ValueError, MemoryError)):
        _core.RuleList([0], [0.0] * n_outputs).evaluate_matrix(matrix)


@pytest.mark.parametrize("n_rows, n_folds", [(-1, 10), (2**62, 10), (10, 0)])
def test_folds_of_rows_beyond_number_are_refused(n_rows, n_folds):
    with pytest.raises((ValueError, MemoryError)):
        _core.folds_of(0, n_rows, n_folds)


@pytest.mark.parametrize("values", [[np.inf], [-np.inf], [np.inf, -np.inf], [1e308, -1e308, np.inf]])
def test_order_statistics_of_infinite_numbers(values):
    rng = np.random.default_rng(0)
    column = rng.permutation(np.concatenate([rng.normal(size=9_000), np.repeat(values, 500)]))
    ranks = [0, 1, 4_000, len(column) - 1]
    assert np.array_equal(_core.order_statistics(column, ranks), np.sort(column)[ranks])


def test_errors_of_the_core_are_not_those_of_another_library():
    pytest.importorskip("duckdb")  # it has an exception of its own for std::bad_alloc, in all modules of its domain
    with pytest.raises((ValueError, MemoryError)):
        _core.RuleList([], [0.0]).evaluate([], 2**61)

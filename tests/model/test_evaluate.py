"""The compiled evaluator against its NumPy twin, to the last bit."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysirus import NodeHarvestRegressor, RuleFitRegressor, SirusClassifier, SirusRegressor, _core
from pysirus._data.column import DataError
from pysirus._data.table import Feature, Table, read_table
from pysirus._families.numbers import Gaussian
from pysirus._model.sums import Addend, Evaluator, readable
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule, Rule
from pysirus._terms.term import LinearTerm
from pysirus.estimators.rule_model import RuleModel


def twin(model: RuleModel, table: Table) -> np.ndarray:
    """The definition: start, rules in their order, terms in theirs; one rounding per operation."""
    if model.family.aggregation == "mean":
        weight, total = np.full(table.n_rows, model.family.root_weight), np.zeros(table.n_rows)
        for rule in model.rules:
            inside = rule.holds(table)
            weight += rule.weight * inside
            total += rule.weight * (rule.inside - model.mean) * inside
        return model.mean + np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    intercept = np.asarray(model.intercept, dtype=np.float64)
    total = np.tile(intercept, (table.n_rows, *([1] * intercept.ndim)))
    for rule in model.rules:
        inside = rule.holds(table) if model.classes is None else rule.holds(table)[:, None]
        total += rule.weight * np.where(inside, np.asarray(rule.inside), np.asarray(rule.outside))
    for term in model.terms:
        total += term.weight * term.values(table)
    return total


def same(model: RuleModel, X) -> None:
    table = model.align(X)
    expected = twin(model, table)
    np.testing.assert_array_equal(model.decision(table), expected)
    np.testing.assert_array_equal(model.raw_predict(X), expected)
    for name in _core.instruction_sets():
        np.testing.assert_array_equal(model.family.combine(model._evaluator.sums(table, name)), expected)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(1)
    n = 700
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 30, n).astype(np.int32),
            "c": rng.normal(size=n).astype(np.float32),
            "d": rng.choice(["p", "q", "r", "s"], n),
        }
    )
    frame.loc[::7, "a"] = np.nan
    frame.loc[::11, "d"] = None
    y = frame.a.fillna(2) + (frame.b > 12) * (frame.d == "q") * 3 + frame.c * (frame.d == "r")
    return frame, y + rng.normal(size=n) / 10


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_numbers_levels_and_missing_values_agree_with_numpy(mixed, depth):
    X, y = mixed
    model = SirusRegressor(n_rules=25, max_depth=depth, n_trees=500, random_state=0).fit(X, y).model_
    kinds = {c.levels is None for rule in model.rules for c in rule.conditions}
    assert kinds == {True, False}
    same(model, X)


def test_levels_never_seen_and_missing_where_training_had_none_agree_with_numpy(mixed):
    X, y = mixed
    model = SirusRegressor(n_rules=25, n_trees=500, random_state=0).fit(X, y).model_
    other = X.assign(b=X.b.astype(float).where(X.b != 3), d=X.d.where(X.d != "p", "new"), c=np.nan)
    with pytest.warns(UserWarning, match="unseen category"):
        same(model, other)


def test_classes_terms_and_harvested_nodes_agree_with_numpy(mixed):
    X, y = mixed
    numbers = X[["a", "b", "c"]]
    three = pd.qcut(y, 3, labels=["l", "m", "h"])
    same(SirusClassifier(n_trees=300, random_state=0, weighting="equal").fit(X, three).model_, X)
    fitted = RuleFitRegressor(n_trees=30, linear_terms=True, random_state=0).fit(numbers, y).model_
    assert fitted.terms
    same(fitted, numbers)
    same(fitted, numbers * 10)  # beyond the limits of the terms
    pytest.importorskip("piqp")
    same(NodeHarvestRegressor(n_nodes=200, random_state=0).fit(numbers, y).model_, numbers)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "f2", "?", ">f8"])
def test_every_type_of_number_is_read_where_it_lies(dtype, rng):
    X = np.arange(500)[:, None] * np.array([1, 3, 7]) % 97
    y = X[:, 0] + (X[:, 1] > 40) * X[:, 2]
    model = SirusRegressor(n_trees=300, random_state=0).fit(X.astype(float), y.astype(float)).model_
    X = X.astype(dtype)
    expected = twin(model, read_table(X.astype(np.float64)))
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(model.predict(X[::-1])[::-1], expected)
    wide = np.zeros((1000, 6), dtype=dtype)
    wide[::2, 1::2] = X
    np.testing.assert_array_equal(model.predict(wide[::2, 1::2]), expected)


def test_an_unaligned_or_swapped_column_is_copied():
    packed = np.zeros(5, dtype=[("flag", "i1"), ("x", "f8")])
    packed["x"] = range(5)
    for values in (packed["x"], packed["x"].astype(">f8")):
        assert readable(values) is not values
        np.testing.assert_array_equal(readable(values), range(5))
    plain = np.arange(6.0)[::2]
    assert readable(plain) is plain


@pytest.mark.parametrize("n_rows", [1, 2, 127, 128, 129, 300])
def test_any_number_of_rows(n_rows, mixed):
    X, y = mixed
    model = SirusRegressor(n_trees=300, random_state=0).fit(X, y).model_
    same(model, X[:n_rows])


numbers = st.one_of(st.just(float("nan")), st.integers(-3, 3).map(float), st.floats(-4, 4))
ends = st.one_of(st.none(), st.integers(-3, 3).map(float))


@given(st.lists(numbers, min_size=1, max_size=9), ends, ends, st.sampled_from([None, True, False]), st.booleans())
def test_one_condition_means_what_holds_says(values, lower, upper, missing, otherwise):
    features = (Feature("x", "numeric"),)
    table = read_table(np.array(values)[:, None], part=True)
    for known in (True, False):
        ends = {"lower": lower, "upper": upper} if known else {}
        condition = Condition("x", **ends, missing=missing, only_missing=not known, unseen=otherwise)
        evaluator = Evaluator(features, (0.0,), [Addend(Rule((condition,)), (1.0,), (-2.0,))])
        expected = np.where(condition.holds(table.columns[0]), 1.0, -2.0)
        np.testing.assert_array_equal(evaluator.sums(table)[:, 0], expected)


def test_the_order_of_summation_is_that_of_the_list():
    features = (Feature("x0", "numeric"),)
    outputs = [1e16, 1.0, -1e16, 1.0]
    rules = [FittedRule((), inside=v, outside=0.0, weight=1.0) for v in outputs]
    term = LinearTerm("x0", 2.0, -1.0, 1.0, 0.25)
    model = RuleModel(RuleSet(rules), 0.5, Gaussian("y", 0.0), features, terms=(term,))
    X = np.array([[0.5], [7.0], [np.nan]])
    assert model.predict(X).tolist() == [2.0, 3.0, 1.5]
    same(model, X)
    same(replace(model, selected=RuleSet(rules[::-1])), X)


def test_an_infinite_number_is_refused_in_any_column_of_an_array(mixed):
    X, y = mixed
    X = X[["a", "b", "c"]].to_numpy()
    model = SirusRegressor(n_rules=1, n_trees=300, random_state=0).fit(X, y)
    for column in range(3):
        for order in "CF":
            for dtype in (np.float64, np.float32):
                bad = np.array(X, dtype=dtype, order=order)
                bad[550, column] = -np.inf
                with pytest.raises(DataError, match=f"'x{column}' contains infinity"):
                    model.predict(bad)


def test_an_array_of_another_width_or_without_rows_is_refused(mixed):
    X, y = mixed
    model = SirusRegressor(n_trees=300, random_state=0).fit(X[["a", "b"]].to_numpy(), y)
    with pytest.raises(DataError, match="X has 3 features, but SirusRegressor is expecting 2"):
        model.predict(np.zeros((4, 3)))
    with pytest.raises(DataError, match="minimum of 1 is required"):
        model.predict(np.zeros((0, 2)))
    with pytest.raises(ValueError, match="1D array"):
        model.predict(np.zeros(2))


def test_a_model_that_has_predicted_can_still_be_pickled_and_changed(mixed):
    X, y = mixed
    model = SirusRegressor(n_trees=300, random_state=0).fit(X, y)
    before = model.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), before)
    shifted = replace(model.model_, intercept=model.model_.intercept + 1)
    np.testing.assert_array_equal(shifted.predict(X), twin(shifted, shifted.align(X)))


def test_predict_costs_a_few_passes_over_the_array():
    # the limits are generous: `make bench` measures, this only notices a slow path taken by mistake
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 13))
    model = SirusRegressor(n_trees=300, random_state=0).fit(X[:2000], X[:2000, 0] + X[:2000, 1] * X[:2000, 2])

    def seconds(job):
        best = np.inf
        for _ in range(5):
            start = time.process_time()
            job()
            best = min(best, time.process_time() - start)
        return best

    assert seconds(lambda: model.predict(X)) < 20 * seconds(X.sum)
    assert seconds(lambda: [model.predict(X[:1]) for _ in range(100)]) < 100 * 100e-6

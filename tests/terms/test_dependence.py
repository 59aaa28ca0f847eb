"""The post-treatment on the training rows: rules that hold in the same rows, and other combinations there."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._parameters import ParameterError
from pysirus._terms import allowed
from pysirus._terms.allowed import independent_columns


def gram_of(columns, weights=None):
    design = np.column_stack([np.ones(len(columns[0]), np.int64), *columns]).astype(np.int64)
    weights = np.ones(len(design), np.int64) if weights is None else weights
    return (design * weights[:, None]).T @ design


def test_the_worked_example():
    x_below = [1, 1, 0, 0, 0, 0]
    columns = [x_below, x_below, [0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0]]
    assert independent_columns(gram_of(columns)).tolist() == [True, True, False, True, False]


@given(st.data())
def test_columns_are_dropped_as_the_rank_says(data):
    n_rows, n_columns = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 8))
    bits = st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows)
    columns = data.draw(st.lists(bits, min_size=n_columns, max_size=n_columns))
    weights = np.array(data.draw(st.lists(st.integers(1, 2**40), min_size=n_rows, max_size=n_rows)))
    design = np.column_stack([np.ones(n_rows), *columns])
    ranks = [0, *(np.linalg.matrix_rank(design[:, : i + 1]) for i in range(n_columns + 1))]
    gram = gram_of(columns, weights)
    assert independent_columns(gram).tolist() == (np.diff(ranks) > 0).tolist()
    assert allowed._eliminate(gram).tolist() == (np.diff(ranks) > 0).tolist()


def test_a_false_alarm_of_the_prime_is_settled_exactly(monkeypatch):
    gram = gram_of([[1, 0, 0, 1], [0, 1, 0, 1]])

    def alarm(gram):
        return np.array([1, 1, 0], np.uint8), np.array([[0] * 3, [0] * 3, [5, 7, 0]], np.uint64)

    monkeypatch.setattr(allowed._core, "independent_columns", alarm)
    assert independent_columns(gram).tolist() == [True, True, True]


@pytest.mark.parametrize("value", [(1, 3), (-7, 2), (2**29, 2**29 - 1), (0, 1), (-1, 1)])
def test_fractions_are_known_by_their_remainder(value):
    top, bottom = value
    remainder = top * pow(bottom, -1, allowed.PRIME) % allowed.PRIME
    assert allowed.Fraction(*allowed._fraction_of(remainder)) == allowed.Fraction(top, bottom)


def credit_like(n_rows=400, seed=0):
    """Two columns that follow each other, as a limit and a rating do, and one of noise."""
    rng = np.random.default_rng(seed)
    limit = rng.uniform(1000, 9000, n_rows)
    frame = pd.DataFrame({"limit": limit, "rating": limit / 15 + 40, "age": rng.integers(20, 80, n_rows)})
    return frame, np.maximum(0, limit - 3000) / 10 + rng.normal(0, 30, n_rows)


def rows_of(model, X):
    return [tuple(rule.holds(model.model_.align(X))) for rule in model.selected_]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{"n_rules": 15}, {"p0": 0.01}, {"n_rules": 2, "n_stages": 4}])
def test_no_two_rules_hold_in_the_same_rows(seed, options):
    X, y = credit_like(seed=seed)
    model = SirusRegressor(n_trees=1000, random_state=seed, **options).fit(X, y)
    indicators = np.array(rows_of(model, X))
    for a, b in itertools.combinations(indicators, 2):
        assert (a != b).any() and (a == b).any()
    design = np.vstack([np.ones(len(X)), indicators])
    assert np.linalg.matrix_rank(design) == len(design)
    if "n_stages" in options:  # where the first of two equal columns was always taken
        return
    published = SirusRegressor(n_trees=1000, random_state=seed, post_treatment="paper", **options).fit(X, y)
    assert len(set(rows_of(published, X))) < len(published.selected_)


@pytest.mark.parametrize("n_rules", [3, 100])
def test_a_list_is_as_long_as_it_can_be(n_rules):
    X, y = credit_like()
    model = SirusRegressor(n_rules=n_rules, n_trees=1000, random_state=0).fit(X, y)
    table = model.model_.align(X)
    design = np.array([np.ones(len(X)), *(rule.holds(table) for rule in model.candidates_)])
    assert len(model.selected_) == min(n_rules, np.linalg.matrix_rank(design) - 1)


def test_classes_and_tuning_take_it_too():
    X, y = credit_like()
    classes = SirusClassifier(n_rules=12, n_trees=500, random_state=0).fit(X, y > 200)
    assert 3 < len(set(rows_of(classes, X))) == len(classes.selected_)
    tuned = SirusRegressorCV(n_trees=300, n_repeats=1, cv=5, n_stages=3, random_state=0).fit(X, y)
    assert len(set(rows_of(tuned, X))) == len(tuned.selected_)


def test_an_unknown_post_treatment_is_refused():
    with pytest.raises(ParameterError, match="post_treatment must be one of 'sample', 'paper'"):
        SirusRegressor(post_treatment="none").fit(*credit_like())

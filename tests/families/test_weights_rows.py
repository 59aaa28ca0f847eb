"""Sample weights: a whole weight is so many rows, no weight is no row, the scale does not matter to the forest."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from pysirus import (
    DataError,
    RuleFitRegressor,
    SirusClassifier,
    SirusClassifierCV,
    SirusRegressor,
    SirusRegressorCV,
    _core,
)
from pysirus._bins.cuts import bin_table
from pysirus._data.table import read_table
from pysirus._families.of_model import ClassShares
from pysirus._families.responses import NumberResponse
from pysirus._forest.forest import Forest, Recipe
from pysirus._model.file import model_to_json
from pysirus._runtime.sums import Scale
from pysirus._terms.rule import rules_of
from pysirus._weights.moments import gram_of, rule_moments
from pysirus._weights.weighted import with_outputs
from sampled import in_turns

SEEDS = st.integers(0, 2**32 - 1)


def mixed_table(rng, n):
    """Numbers with gaps, few distinct numbers, and labels."""
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(2),
            "few": rng.integers(0, 5, n),
            "color": rng.choice(["red", "blue", "green", "grey"], n),
            "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    y = X["x"].to_numpy() + (X["color"] == "red") + X["few"] / 3 + rng.normal(size=n).round(2)
    return X, y.to_numpy()


def response_of(y, weights, classes):
    if classes:
        return ClassShares().read(np.digitize(y, [0.5, 1.5]), weights, len(y))
    return NumberResponse(y, weights=weights)


@given(SEEDS, st.booleans())
def test_a_whole_weight_is_so_many_rows_in_bins_outputs_gram_and_ridge(seed, classes):
    rng = np.random.default_rng(seed)
    X, y = mixed_table(rng, 120)
    weights = rng.integers(1, 5, 120)
    if (weights == 1).all():
        return
    copies = np.repeat(np.arange(120), weights)
    weighed = response_of(y, weights.astype(float), classes)
    repeated = response_of(y[copies], None, classes)
    a = bin_table(read_table(X), weighed, n_bins=10, discrete_limit=10)
    b = bin_table(read_table(X.iloc[copies]), repeated, n_bins=10, discrete_limit=10)
    for one, other in zip(a.cuts, b.cuts):
        assert one.identities == other.identities
        np.testing.assert_array_equal(one.thresholds, other.thresholds)
        assert one.levels == other.levels
        np.testing.assert_array_equal(one.less_is_heavier, other.less_is_heavier)
    np.testing.assert_array_equal(a.bins[:, copies], b.bins)

    paths = Forest(a, weighed, Recipe(seed)).grow_to(50).paths()
    some = list(range(min(8, len(paths.counts))))
    ours = rule_moments(rules_of(paths, some, a), a, weighed, seed)
    theirs = rule_moments(rules_of(paths, some, b), b, repeated, seed)
    for one, other in zip(ours.means, theirs.means):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    if classes:
        return
    rules = rules_of(paths, some, a)
    first, second = (gram_of(m, with_outputs(rules, m, weighed)) for m in (ours, theirs))
    np.testing.assert_allclose(first.gram, second.gram, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(first.cross, second.cross, rtol=1e-9, atol=1e-12)
    penalties = np.full(len(some), 0.1)
    np.testing.assert_allclose(
        _core.ridge_weights(first.gram, first.cross, penalties),
        _core.ridge_weights(second.gram, second.cross, penalties),
        rtol=1e-6,
        atol=1e-9,
    )


@given(SEEDS, st.sampled_from([{0: 0.75, 1: 2.5}, {0: 1.5}, {0: 2, 1: 3}]))
def test_a_whole_weight_is_so_many_rows_beside_class_weights(seed, class_weight):
    """Exactly where the products are: fractions that 40 bits do not hold may part what ties."""
    rng = np.random.default_rng(seed)
    X, y = mixed_table(rng, 60)
    y, weights = np.digitize(y, [1.0]), rng.integers(0, 5, 60)
    if len(set(y[weights > 0])) < 2:
        return
    copies = np.repeat(np.arange(60), weights)
    model = SirusClassifier(class_weight=class_weight)
    (table, response, _), (longer, repeated, _) = (
        model._read(X, y, weights),
        model._read(X.iloc[copies], y[copies], None),
    )
    a, b = (bin_table(*rows, n_bins=10, discrete_limit=10) for rows in ((table, response), (longer, repeated)))
    for one, other in zip(a.cuts, b.cuts):
        assert one.identities == other.identities and one.levels == other.levels
        np.testing.assert_array_equal(one.thresholds, other.thresholds)


ESTIMATORS = [
    SirusRegressor(n_trees=60, random_state=0),
    SirusClassifier(n_trees=60, random_state=0),
    SirusClassifier(n_trees=60, random_state=0, class_weight="balanced"),
    SirusRegressorCV(n_trees=40, n_repeats=1, cv=3, max_rules=6, random_state=0),
    SirusClassifierCV(n_trees=40, n_repeats=1, cv=3, max_rules=6, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}-{getattr(e, 'class_weight', '')}")
@pytest.mark.parametrize("fractions", [False, True])
def test_no_weight_is_no_row(estimator, fractions, rng):
    """Also where only rows of no weight hold a level, a gap or a class."""
    X, y = mixed_table(rng, 200)
    weights = rng.integers(0, 3, 200).astype(float) * (rng.random(200) + 0.1 if fractions else 1)
    y = np.where(y > 1, 1.0, 0.0) if "Classifier" in type(estimator).__name__ else y
    X.loc[weights == 0, "color"] = "pink"
    X.loc[weights == 0, "x"] = np.nan
    if "Classifier" in type(estimator).__name__:
        y[weights == 0] = 7
    rows = weights > 0
    weighed = clone(estimator).fit(X, y, sample_weight=weights)
    deleted = clone(estimator).fit(X[rows], y[rows], sample_weight=weights[rows])
    assert str(weighed) == str(deleted)
    assert weighed.model_.features == deleted.model_.features
    assert model_to_json(weighed.model_) == model_to_json(deleted.model_)
    assert [r.frequency for r in weighed.candidates_] == [r.frequency for r in deleted.candidates_]
    np.testing.assert_array_equal(weighed.predict(X[rows]), deleted.predict(X[rows]))
    if hasattr(weighed, "path_"):
        np.testing.assert_array_equal(weighed.path_.error, deleted.path_.error)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}-{getattr(e, 'class_weight', '')}")
def test_a_selection_of_rows_is_a_table_of_them(estimator, rng):
    X, y = mixed_table(rng, 150)
    y = np.where(y > 1, 1.0, 0.0) if "Classifier" in type(estimator).__name__ else y
    rows = rng.random(150) < 0.7
    weighed, deleted = clone(estimator).fit(X, y, sample_weight=rows), clone(estimator).fit(X[rows], y[rows])
    assert model_to_json(weighed.model_) == model_to_json(deleted.model_)


# the ends for every estimator, what is between them in turns
SCALED = [*itertools.product(ESTIMATORS, [1e-310, 1e308]), *in_turns(ESTIMATORS, [1e-300, 1e-170, 1e20, 1e170, 1e300])]


@pytest.mark.parametrize("estimator, scale", SCALED, ids=[f"{type(e).__name__}-{scale}" for e, scale in SCALED])
def test_weights_may_be_of_any_size(estimator, scale, rng):
    X, y = mixed_table(rng, 100)
    weights = rng.random(100) * (rng.random(100) < 0.8)
    y = np.where(y > 1, 1.0, 0.0) if "Classifier" in type(estimator).__name__ else y
    plain, scaled = (clone(estimator).fit(X, y, sample_weight=w) for w in (weights, weights * scale))
    assert plain.rules_ == scaled.rules_
    assert [r.frequency for r in plain.rules_] == [r.frequency for r in scaled.rules_]
    np.testing.assert_allclose([r.weight for r in plain.rules_], [r.weight for r in scaled.rules_], rtol=1e-9)
    if hasattr(plain, "path_"):
        np.testing.assert_allclose(plain.path_.error, scaled.path_.error, rtol=1e-9)


def test_weights_of_one_are_no_weights(rng):
    X, y = mixed_table(rng, 150)
    model = SirusRegressor(n_trees=100, random_state=0)
    assert str(model.fit(X, y, np.ones(150))) == str(model.fit(X, y))


@given(SEEDS, st.floats(1e-6, 1e6), st.booleans())
def test_the_scale_of_weights_does_not_matter_to_the_forest(seed, scale, classes):
    rng = np.random.default_rng(seed)
    X, y = mixed_table(rng, 100)
    weights = rng.random(100) + 0.01
    binned = bin_table(read_table(X), response_of(y, weights, classes), n_bins=10, discrete_limit=10)
    first = Forest(binned, response_of(y, weights, classes), Recipe(seed)).grow(32)
    second = Forest(binned, response_of(y, weights * scale, classes), Recipe(seed)).grow(32)
    np.testing.assert_array_equal(first, second)


def test_equal_weights_grow_the_forest_without_weights(rng):
    X, y = mixed_table(rng, 200)
    for classes in (False, True):
        plain = response_of(y, None, classes)
        binned = bin_table(read_table(X), plain, n_bins=10, discrete_limit=10)
        expected = Forest(binned, plain, Recipe(0)).grow(64)
        for weight in (2.0, 0.3):
            weighed = response_of(y, np.full(200, weight), classes)
            np.testing.assert_array_equal(Forest(binned, weighed, Recipe(0)).grow(64), expected)


def test_heavy_rows_move_the_rules(rng):
    """Weights do matter: rows of another signal take over when they weigh more."""
    a, b = rng.random(400), rng.random(400)
    y = np.where(np.arange(400) < 200, a > 0.5, b > 0.5) * 1.0
    X = pd.DataFrame({"a": a, "b": b})
    for heavy, name in ((slice(0, 200), "a"), (slice(200, 400), "b")):
        weights = np.full(400, 0.05)
        weights[heavy] = 3.0
        model = SirusRegressor(n_trees=300, n_rules=1, random_state=0).fit(X, y, weights)
        assert model.rules_[0].conditions[0].feature == name


@pytest.mark.parametrize(
    "weights, message",
    [
        (np.r_[-1.0, np.ones(29)], "a negative weight: -1.0 in row 0"),
        (np.zeros(30), "zero for every row"),
        (np.r_[np.ones(29), np.nan], "NaN or infinity: nan in row 29"),
        (np.ones(29), "one weight per row"),
        (np.ones((30, 2)), "must be 1D"),
        (2.0, "single number"),
        (np.array(["heavy"] * 30), "must be numbers, found 'heavy'"),
    ],
)
@pytest.mark.parametrize("estimator", [SirusRegressor(), SirusClassifier()], ids=["regressor", "classifier"])
def test_weights_that_cannot_be_used_are_refused(estimator, weights, message):
    with pytest.raises(DataError, match=message):
        estimator.fit(np.arange(30.0)[:, None], np.arange(30) % 2, sample_weight=weights)


def with_nonsense(X, y, weights, rng):
    """The same table and response, with what cannot be learned from in rows of no weight."""
    X, y = X.copy(), y.astype(object if y.dtype.kind in "OU" else float)
    idle = np.flatnonzero(weights == 0)
    X.loc[idle, "x"] = np.inf
    X["color"] = X["color"].astype(object)
    X.loc[idle, "color"] = [f"level {i}" for i in range(len(idle))]  # more than there may be
    y[idle] = None if y.dtype == object else np.nan
    return X, y


@pytest.mark.parametrize(
    "estimator", [*ESTIMATORS, RuleFitRegressor(n_trees=20, random_state=0)], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_rows_of_no_weight_may_hold_anything(estimator, library, rng):
    X, y = mixed_table(rng, 600)
    weights = rng.integers(0, 2, 600).astype(float) * (1 + rng.random(600))
    y = np.where(y > 1, "yes", "no") if "Classifier" in type(estimator).__name__ else y
    rows = weights > 0
    worse, answers = with_nonsense(X, y, weights, rng)
    frame = {"pandas": worse, "polars": pl.from_pandas(worse), "pyarrow": pa.Table.from_pandas(worse)}[library]
    weighed = clone(estimator).fit(frame, answers, sample_weight=weights)
    deleted = clone(estimator).fit(X[rows], y[rows], sample_weight=weights[rows])
    assert str(weighed) == str(deleted)
    np.testing.assert_array_equal(weighed.predict(X), deleted.predict(X))


def test_arrays_and_lists_lose_their_rows_of_no_weight(rng):
    X, y = rng.random((200, 3)), rng.random(200)
    weights = rng.integers(0, 2, 200)
    expected = str(SirusRegressor(n_trees=50, random_state=0).fit(X[weights > 0], y[weights > 0]))
    X[weights == 0], y[weights == 0] = np.inf, np.nan
    for table, answers in ((X, y), (X.tolist(), y.tolist()), (np.asfortranarray(X), pd.Series(y)), (X, pa.array(y))):
        assert str(SirusRegressor(n_trees=50, random_state=0).fit(table, answers, weights)) == expected
    row = np.flatnonzero(weights)[3]
    y[row] = np.nan
    with pytest.raises(ValueError, match=rf"in row {row}\."):
        SirusRegressor().fit(X, y, weights)
    with pytest.raises(ValueError, match="sample_weight has 199 entries, the table has 200 rows"):
        SirusRegressor().fit(rng.random((200, 3)), rng.random(200), weights[:199])
    with pytest.raises(ValueError, match="1 row"):
        SirusRegressor().fit(X, y, np.eye(200)[0])


LIGHTEST = [(1000, 20, 40), (2**21, 20, 40), (2**21 + 1, 19, 40), (10**9, 11, 32)]


@pytest.mark.parametrize("n_rows, forest, elsewhere", LIGHTEST)
def test_the_lightest_row_counts_what_the_documentation_says(n_rows, forest, elsewhere):
    """docs/tables.md, "Sample weights": shares of the heaviest row, as powers of two."""
    weights = np.array([4.0, 4.0 * 2.0**-elsewhere, 1e-30])
    scale = Scale(n_rows, heaviest=4.0, whole=False)
    response = NumberResponse(np.zeros(3), weights=weights, part_of=scale)
    in_forest, in_moments = response.forest_weights(), response.moment_weights()
    assert in_forest[1] == in_forest[2] == 1 and np.log2(in_forest[0]) == forest
    assert in_moments[1] == in_moments[2] == 1 and abs(np.log2(in_moments[0]) - elsewhere) <= 1

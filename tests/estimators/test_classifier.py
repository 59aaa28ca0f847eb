"""SirusClassifier: labels, shares, text, class weights, files, and answers to odd responses."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import pysirus
from pysirus import DataError, SirusClassifier, SirusClassifierCV
from pysirus._text.format import format_outputs
from sampled import FULL


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def model_of(X, y, **parameters):
    return SirusClassifier(**{"n_trees": 500, "random_state": 0, **parameters}).fit(X, y)


LABELS = {
    "text": np.array(["setosa", "versicolor", "virginica"]),
    "object": np.array(["a", "b", "c"], dtype=object),
    "int8": np.array([-1, 0, 7], dtype=np.int8),
    "float": np.array([1.0, 2.0, 30.0]),
    "pandas": pd.Series(["x", "y", "z"], dtype="category").to_numpy(),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back_as_they_went_in(iris, tmp_path, kind):
    X, y = iris
    labels = LABELS[kind][y.to_numpy()]
    model = model_of(X, labels)
    assert model.classes_.dtype == labels.dtype
    assert model.predict(X).dtype == labels.dtype
    assert np.mean(model.predict(X) == labels) > 0.9
    model.save(tmp_path / "model.json")
    again = pysirus.load(tmp_path / "model.json")
    assert again.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_boolean_labels_come_back_as_booleans(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    model = model_of(X, y == 1)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool
    model.save(tmp_path / "model.json")
    assert pysirus.load(tmp_path / "model.json").predict(X).dtype == bool
    assert "then True " in str(model.rules_[0])


def test_the_same_labels_in_any_series_give_the_same_model(iris):
    X, y = iris
    text = [f"c{k}" for k in y]
    expected = model_of(X, text)
    for series in (pd.Series(text, name="kind"), pl.Series("kind", text), pa.chunked_array([text])):
        model = model_of(X, series)
        assert model.rules_ == expected.rules_
        assert model.classes_.tolist() == expected.classes_.tolist()
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model_of(X, pl.Series("kind", text)).model_.target == "kind"


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_shares_are_the_mean_of_the_outputs_and_sum_to_one(load):
    X, y = load(return_X_y=True)
    model = model_of(X, y, n_rules=7, weighting="equal")
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    assert (shares >= 0).all()
    table = model.model_.align(X)
    by_hand = np.mean(
        [np.where(rule.holds(table)[:, None], rule.inside, rule.outside) for rule in model.rules_], axis=0
    )
    np.testing.assert_allclose(shares, by_hand, atol=1e-12)
    for rule in model.rules_:
        inside = rule.holds(table)
        assert rule.weight == pytest.approx(1 / 7)
        assert rule.n_inside == inside.sum()
        np.testing.assert_allclose(rule.inside, np.bincount(y[inside], minlength=len(model.classes_)) / inside.sum())
        np.testing.assert_allclose(
            rule.outside, np.bincount(y[~inside], minlength=len(model.classes_)) / (~inside).sum()
        )
    np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])


def test_three_classes_are_never_read_as_numbers(iris):
    """Renaming classes 0, 1, 2 to 1, 2, 0 moves columns of shares and nothing else."""
    X, y = iris
    first, second = model_of(X, y), model_of(X, (y + 1) % 3)
    assert first.rules_ == second.rules_
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X)[:, [1, 2, 0]])


def test_two_classes_grow_the_forest_of_a_regression_on_zero_and_one():
    X, y = load_breast_cancer(return_X_y=True)
    classes, numbers = model_of(X, y), pysirus.SirusRegressor(n_trees=500, random_state=0).fit(X, y)
    assert classes.candidates_ == numbers.candidates_
    assert [rule.inside[1] for rule in classes.selected_] == pytest.approx([rule.inside for rule in numbers.selected_])


# ------------------------------------------------------------------------------------------------------------- text


@pytest.mark.parametrize(
    "inside, outside, classes, text",
    [
        ((0.08, 0.92), (0.9, 0.1), ("no", "yes"), ("yes 92%", "10%")),
        ((0.08, 0.92), (0.9, 0.1), (0, 1), ("class 1 92%", "10%")),
        ((0.996, 0.004), (0.999, 0.001), (0, 1), ("class 1 0.4%", "0.1%")),
        ((0.92, 0.08, 0.0), (0.0, 0.5, 0.5), "abc", ("a 92%, b 8%", "b 50%, c 50%")),
        ((0.8, 0.1, 0.1), (0.2, 0.4, 0.4), "abc", ("a 80%", "20%")),
        (
            (0.5, 0.2, 0.1, 0.1, 0.1),
            (0.1, 0.1, 0.1, 0.2, 0.5),
            "abcde",
            ("a 50%, b 20%, c 10%, others 20%", "e 50%, d 20%, a 10%, others 20%"),
        ),
    ],
)
def test_outputs_read_short_where_one_class_moves(inside, outside, classes, text):
    then, otherwise = format_outputs(inside, outside, tuple(classes))
    assert (then, otherwise) == text


def test_a_model_prints_its_shares_and_rules(iris):
    X, y = iris
    text = str(model_of(X, np.array(["setosa", "versicolor", "virginica"])[y], weighting="equal"))
    assert text.startswith("shares of y: setosa 33.3%, versicolor 33.3%, virginica 33.3%\n")
    assert "then setosa 100% else " in text


# ---------------------------------------------------------------------------------------------------------- weights


def test_balanced_weights_make_classes_weigh_the_same():
    X, y = load_wine(return_X_y=True)
    model = model_of(X, y, class_weight="balanced")
    np.testing.assert_allclose(model.model_.mean, [1 / 3] * 3)
    sizes = np.bincount(y)
    given = model_of(X, y, class_weight={k: len(y) / (3 * size) for k, size in enumerate(sizes)})
    assert given.rules_ == model.rules_
    np.testing.assert_allclose(given.predict_proba(X), model.predict_proba(X))
    by_row = SirusClassifier(n_trees=500, random_state=0).fit(X, y, sample_weight=(len(y) / (3 * sizes))[y])
    assert by_row.rules_ == model.rules_


def test_balanced_weights_count_the_weight_of_rows():
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.where(np.arange(len(y)) < 300, 1.0, 0.0)
    model = SirusClassifier(n_trees=300, random_state=0, class_weight="balanced")
    weighed, deleted = clone(model).fit(X, y, weights), clone(model).fit(X[:300], y[:300])
    assert weighed.selected_ == deleted.selected_
    np.testing.assert_array_equal(weighed.predict_proba(X), deleted.predict_proba(X))


@pytest.mark.parametrize("value", ["heavy", 3, {0: -1.0, 1: 1.0}, {0: 1.0, 7: 2.0}])
def test_class_weights_that_cannot_be_used_are_refused(value):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match=r"^class_weight (must be|of 0 must be|names)"):
        model_of(X, y, class_weight=value)


# ---------------------------------------------------------------------------------------------------- odd responses


def test_a_class_with_one_member_is_learned_with_the_rest(iris):
    X, y = iris
    labels = y.to_numpy().copy()
    labels[7] = 9
    model = model_of(X, labels)
    assert model.classes_.tolist() == [0, 1, 2, 9]
    assert model.predict_proba(X).shape == (150, 4)
    tuned = SirusClassifierCV(n_trees=200, n_repeats=1, random_state=0).fit(X, labels)
    assert 0 <= tuned.cv_error_ < 0.5


def test_one_class_is_answered_with_a_warning(iris):
    X, _ = iris
    for estimator in (SirusClassifier(), SirusClassifierCV(n_repeats=1)):
        with pytest.warns(UserWarning, match="only one class"):
            model = clone(estimator).fit(X, ["only"] * 150)
        assert model.predict(X).tolist() == ["only"] * 150
        assert model.predict_proba(X).tolist() == [[1.0]] * 150
        assert len(model.rules_) == 0


@pytest.mark.parametrize(
    "labels, message",
    [
        (lambda n: np.linspace(0, 1, n), "not whole"),
        (lambda n: np.arange(n) * 1.0 + np.where(np.arange(n) == 3, np.nan, 0), "missing label, first in row 3"),
        (lambda n: np.array(["a", None] * (n // 2), dtype=object), "missing label, first in row 1"),
        (lambda n: np.array(["a", 1] * (n // 2), dtype=object), "mixes types"),
        (lambda n: np.arange(n).astype("datetime64[D]"), "dates or times"),
        (lambda n: np.where(np.arange(n) > 3, 1.0, np.inf), "infinity"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(labels, message):
    X = np.random.default_rng(0).random((60, 2))
    with pytest.raises(DataError, match=message):
        model_of(X, labels(60))


def test_256_classes_are_taken_and_257_refused():
    X = np.arange(1028.0)[:, None]
    weighting = "likelihood" if FULL else "equal"  # by likelihood, with its penalty, half a minute
    model = model_of(X, np.arange(1028) % 256, n_trees=20, n_rules=1, weighting=weighting)
    assert len(model.classes_) == 256
    assert len(model_of(X[:256], np.arange(256) % 64, n_trees=20, n_rules=1).classes_) == 64
    with pytest.raises(DataError, match="257 classes; at most 256"):
        model_of(X, np.arange(1028) % 257)


# ----------------------------------------------------------------------------------------------------------- tuning


def test_tuning_keeps_every_size_and_its_error(tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = SirusClassifierCV(n_trees=500, n_repeats=2, random_state=0, n_jobs=2, weighting="equal").fit(X, y)
    assert model.model_.tuned.criterion == "error"
    assert model.cv_error_ < 0.03
    assert model.path_.error[0] > 2 * model.cv_error_
    assert len(model.with_rules(3).predict(X)) == len(y)
    model.save(tmp_path / "model.json")
    again = pysirus.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.with_rules(4).predict(X), model.with_rules(4).predict(X))
    np.testing.assert_array_equal(again.path_.error, model.path_.error)


def test_tuning_error_is_the_area_of_held_out_rows():
    """Against refitting every fold by hand at the chosen p0."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import KFold

    X, y = load_breast_cancer(return_X_y=True)
    folds = list(KFold(5, shuffle=True, random_state=3).split(X))
    equal = {"n_trees": 2000, "weighting": "equal"}
    model = SirusClassifierCV(cv=folds, n_repeats=1, random_state=0, **equal).fit(X, y)
    shares = np.zeros(len(y))
    for train, test in folds:
        one = SirusClassifier(p0=model.p0_, max_rules=50, random_state=1, **equal).fit(X[train], y[train])
        shares[test] = one.predict_proba(X[test])[:, 1]
    assert 1 - roc_auc_score(y, shares) == pytest.approx(model.cv_error_, abs=0.01)


def test_estimators_do_not_warn_on_plain_data(iris):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model_of(*iris).predict(iris[0])
    assert [str(warning.message) for warning in caught] == []

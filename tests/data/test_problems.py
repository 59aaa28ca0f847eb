"""Everything that is wrong with a table is said at once; likely ids and sparse matrices get a clear word."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import pysirus.plot
from pysirus import RuleFitRegressor, SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._data.column import DataError
from pysirus._data.frame import TableError
from pysirus._use.edit import with_rules
from pysirus._use.effect import effect
from pysirus.report._summary import summary

N = 40


def fit(X, y, **parameters):
    return SirusRegressor(n_trees=20, random_state=0, **parameters).fit(X, y)


@pytest.fixture
def bad():
    days = pd.date_range("2024", periods=N)
    prices = [f"{i},50" for i in range(N)]
    return pd.DataFrame({"when": days, "ok": np.arange(N) % 7, "price": prices, "far": [1.0, np.inf] * (N // 2)})


def test_all_columns_and_the_target_are_complained_of_at_once(bad):
    y = np.r_[np.nan, np.ones(N - 1)]
    with pytest.raises(TableError, match="4 things are wrong with the table") as caught:
        fit(bad, y)
    columns, target = caught.value.complaints[:3], caught.value.complaints[3]
    assert [text.split("'")[1] for text in columns] == ["when", "price", "far"]
    assert all(word in text for word, text in zip(("Derive", "Convert", "Replace"), columns))
    assert "y contains NaN" in target and "Drop rows" in target
    assert str(caught.value).count("\n- ") == 4
    again = pickle.loads(pickle.dumps(caught.value))  # as it comes from a worker
    assert again.complaints == caught.value.complaints and str(again) == str(caught.value)
    assert str(caught.value).endswith("and ignores the rest.") and "prepare=True" in str(caught.value)


def test_one_problem_is_said_as_it_is(bad):
    with pytest.raises(DataError, match=r"^Column 'far' contains infinity") as caught:
        fit(bad[["ok", "far"]], np.arange(N))
    assert not isinstance(caught.value, TableError) and "Or try prepare=True" in str(caught.value)


@pytest.mark.parametrize("estimator", [SirusClassifier(), RuleFitRegressor()], ids=lambda e: type(e).__name__)
def test_every_estimator_says_all(bad, estimator):
    y = np.where(np.arange(N) % 2, "a", None)
    with pytest.raises(TableError, match="4 things"):
        estimator.fit(bad, pd.Series([1.0, None] * (N // 2)) if isinstance(estimator, RuleFitRegressor) else y)


def test_arrays_say_all():
    X = np.array([["a", "1", "b"]] * N, dtype=object)
    with pytest.raises(TableError, match=r"(?s)2 things.*'x0'.*'x2'"):
        fit(X, np.arange(N))


def test_a_list_of_very_many_complaints_is_cut():
    X = pd.DataFrame({f"c{i}": pd.date_range("2024", periods=N) for i in range(30)})
    with pytest.raises(TableError, match=r"30 things(?s:.*)and 10 more$") as caught:
        fit(X, np.arange(N))
    assert len(caught.value.complaints) == 21


def test_the_columns_of_new_rows_are_complained_of_at_once():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((N, 2)), columns=["a", "b"])
    model = fit(X, X["a"] + X["b"])
    assert {c.feature for rule in model.rules_ for c in rule.conditions} == {"a", "b"}
    with pytest.raises(TableError, match=r"(?s)2 things.*'a' was numeric.*'b' was numeric"):
        model.predict(X.assign(a="x", b="y"))


def test_sparse_matrices_are_refused_with_a_remedy():
    X = scipy.sparse.random(N, 3, format="csr")
    for sparse in (X, scipy.sparse.csc_array(X)):
        with pytest.raises(DataError, match=r"sparse matrix of 40 rows and 3 columns.*toarray\(\)") as caught:
            fit(sparse, np.arange(N))
        assert isinstance(caught.value, TypeError)  # which the checks of scikit-learn 1.6 wait for
    with pytest.raises(DataError, match="sparse"):
        fit(X.toarray(), np.arange(N)).predict(X)


# ------------------------------------------------------------------------------------------------------------ ids


@pytest.mark.parametrize(
    "name, values, why",
    [
        ("rownames", range(1, N + 1), "numbers the rows"),
        ("t", range(N), "numbers the rows"),
        ("year", range(N, 0, -1), "numbers the rows"),
        ("t", np.random.default_rng(0).permutation(N), "numbers the rows"),
        ("customer_id", [(i * 7919) % 10_007 for i in range(N)], "has another number in every row"),
        ("CustomerID", [(i * 7919) % 10_007 for i in range(N)], "has another number in every row"),
        ("name", [f"car {i}" for i in range(N)], "has another text in every row"),
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_likely_ids_are_warned_of(name, values, why, frame):
    X = frame({name: list(values), "x": np.arange(N) % 5})
    with pytest.warns(UserWarning, match=f"Likely an id: column '{name}' {why}.*Leave it out, unless"):
        fit(X, np.arange(N) % 5)


@pytest.mark.parametrize(
    "name, values",
    [
        ("t", [0, 2, *range(2, N)]),
        ("t", [0, *range(N - 1)]),
        ("grid", [(i * 7919) % 10_007 for i in range(N)]),
        ("customer_id", [i // 2 for i in range(N)]),
        ("name", [f"car {i // 2}" for i in range(N)]),
        ("id", [i + 0.5 for i in range(N)]),
    ],
)
def test_other_columns_are_not_taken_for_ids(name, values):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(pd.DataFrame({name: list(values), "x": np.arange(N) % 5}), np.arange(N) % 5)
    assert [str(warning.message) for warning in caught] == []


def test_several_ids_are_said_in_one_warning():
    X = pd.DataFrame({"rownames": range(N), "name": [f"n{i}" for i in range(N)], "x": np.arange(N) % 5})
    with pytest.warns(UserWarning, match=r"Likely ids: .*'rownames'.*'name'.*Leave them out, unless") as caught:
        fit(X, np.arange(N) % 5)
    assert len(caught) == 1


# ------------------------------------------------------------------------------------------- columns that rules use


def test_predict_asks_only_for_columns_that_a_rule_uses():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((200, 3)), columns=["a", "b", "c"]).assign(k=rng.choice(["u", "v"], 200))
    model = fit(X, X["a"] > 0.5, n_rules=1)
    assert [c.feature for rule in model.rules_ for c in rule.conditions] == ["a"]
    expected = model.predict(X)
    for new in (X[["a"]], X[["k", "a"]], pl.from_pandas(X[["a", "c"]]), X.assign(b="not a number")):
        np.testing.assert_array_equal(model.predict(new), expected)
    assert model.explain(X[["a"]]).prediction.tolist() == expected.tolist()
    with pytest.raises(DataError, match=r"yet now missing:\n- a"):
        model.predict(X[["b", "c", "k"]])
    with pytest.raises(DataError, match=r"(?s)unseen at fit time:\n- new\nFeature names.*yet now missing:\n- a\n$"):
        model.predict(X.rename(columns={"a": "new", "b": "newer"})[["new", "c"]])
    for new in (X.assign(new=1), X[["a"]].assign(b2="x", when=pd.Timestamp("2024")), pl.from_pandas(X.assign(y=1))):
        np.testing.assert_array_equal(model.predict(new), expected)


@pytest.fixture(scope="module")
def idle():
    """A list with a rule of weight 0 that was given, and rows without the column that only it looks at."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 3)), columns=["a", "b", "idle"])
    y = X["a"] + 0.5 * (X["b"] > 0.5)
    model = SirusRegressorCV(n_trees=100, cv=3, n_repeats=1, max_rules=8, random_state=0, required_rules=["idle < 0.5"])
    model = model.fit(X, y).model_
    assert [rule.condition_text for rule in model.rules if not rule.weight] == ["idle < 0.5"]
    return model, X.drop(columns="idle").assign(more="x"), y


def test_everything_asks_for_the_columns_that_predict_asks_for(idle, tmp_path):
    model, X, y = idle
    full = X.assign(idle=0.1)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, model.predict(full))
    np.testing.assert_allclose(model.explain(X).prediction, predicted)
    assert model.metrics(X, y).to_dict() == model.metrics(full, y).to_dict()
    assert effect(model, "a", X).values.tolist() == effect(model, "a", full).values.tolist()
    model.export("excel", tmp_path / "m.xlsx", X=X)
    pysirus.plot.waterfall(model, X[:1])
    model.report(tmp_path / "m.html", X, y=y)
    assert summary(model, X, y=y)["rows"]["columns"] == ["a", "b"]


def test_what_cannot_be_judged_is_not_said(idle):
    model, X, _ = idle
    judged = {rule.condition_text for rule in model.rules if rule.weight}
    assert {rule.condition_text for rule in model.explain(X).rules} == judged
    assert {rule.condition_text for rule in model.coverage(X).rules} == judged
    shown = summary(model, X)
    sizes = [with_rules(model, size["nRules"]) for size in shown["sizes"]]
    assert not any("idle" in rule.condition_text for each in sizes for rule in each.rules if rule.weight)
    assert shown["sizes"][shown["chosen"]]["nRules"] == len(model.selected)
    assert len(shown["sizes"]) == len(summary(model, X.assign(idle=0.1))["sizes"]) - 1  # the given rule alone


ONE_ROW = r"^X must be a table, found a Series of 3 values"


@pytest.mark.parametrize(
    "one, message",
    [
        (lambda X: X.iloc[3], ONE_ROW + r".*pandas X\.iloc\[\[3\]\], in polars X\[\[3\]\]"),
        (lambda X: pl.from_pandas(X[:3])["a"], ONE_ROW),
        (lambda X: X.iloc[3].to_dict(), r"^X must be a table, found a dict.*pandas\.DataFrame\(\[row\]\)"),
    ],
    ids=["pandas", "polars", "dict"],
)
def test_one_row_without_its_table_is_told_how_to_take_it(one, message):
    X = pd.DataFrame(np.random.default_rng(0).random((N, 3)), columns=["a", "b", "c"])
    model = fit(X, X["a"])
    for call in (model.predict, model.model_.predict, model.explain, lambda row: model.fit(row, X["a"][:3])):
        with pytest.raises(DataError, match=message):
            call(one(X))
    np.testing.assert_array_equal(model.predict(X.iloc[[3]]), model.predict(X)[3:4])
    np.testing.assert_array_equal(model.predict(pl.from_pandas(X)[[3]]), model.predict(X)[3:4])


def test_warnings_point_at_the_users_line():
    rng = np.random.default_rng(0)
    k = rng.choice(["u", "v"], 200)
    X = pd.DataFrame({"k": k})
    model = fit(X, (k == "u") + 0.0)
    new = pd.DataFrame({"k": ["w"] * 5})
    calls = [
        lambda: model.predict(new),
        lambda: model.score(new, np.arange(5.0)),
        lambda: make_pipeline(model).predict(new),
        lambda: fit(pd.DataFrame({"Unnamed: 0": range(N), "x": [1, 2] * 20}), np.arange(N)),
        lambda: cross_val_score(SirusRegressor(n_trees=5), np.zeros((9, 1)), np.arange(9), cv=3),
    ]
    for call in calls:
        with pytest.warns(UserWarning) as caught:
            call()
        assert {warning.filename for warning in caught} == {__file__}

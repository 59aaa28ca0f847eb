"""Habits of a library: importances, shares of columns, what shows at a prompt, what an edited model can do."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.metrics import accuracy_score, r2_score

from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvival
from pysirus._forest.forest import Recipe
from pysirus._parameters import ParameterError
from survival_table import COLUMNS, survival_table

FAST = {"n_trees": 100, "random_state": 0}


@pytest.fixture(scope="module")
def fitted(ozone):
    X, y = ozone
    return X, y, SirusRegressor(n_rules=4, **FAST).fit(X, y)


def test_importances_are_those_of_the_frame(fitted):
    X, _, model = fitted
    frame = model.feature_importance("pandas").set_index("feature")["gap"]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert dict(zip(X.columns, model.feature_importances_)) == pytest.approx(frame.to_dict())
    assert not hasattr(SirusRegressor(), "feature_importances_")


def test_importances_select_columns(fitted):
    X, y, model = fitted
    chosen = SelectFromModel(SirusRegressor(n_rules=4, **FAST), threshold=1e-9).fit(X, y)
    assert set(chosen.get_feature_names_out()) == {c.feature for rule in model.rules_ for c in rule.conditions}
    kept = RFE(SirusRegressor(n_rules=4, n_trees=40, random_state=0), n_features_to_select=2, step=3).fit(X, y)
    assert kept.n_features_ == 2 and kept.predict(X).shape == (len(X),)


def test_importances_of_what_was_made_of_a_column_are_its_own():
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=300)
    X = pd.DataFrame({"x": rng.normal(size=300), "day": days, "id": [f"u{i}" for i in range(300)]})
    with pytest.warns(UserWarning):
        model = SirusRegressor(prepare=True, n_rules=4, **FAST).fit(X, days.month + 0.1 * rng.normal(size=300))
    assert len(model.feature_importances_) == 3 == model.n_features_in_
    assert model.feature_importances_[1] > 0.5 and model.feature_importances_[2] == 0


@pytest.mark.parametrize("asked, n", [("sqrt", 3), ("log2", 3), (0.5, 5), (1.0, 10), (0.01, 1), (4, 4), (None, 3)])
def test_candidates_follow_from_the_number_of_columns(asked, n):
    assert Recipe(seed=0, max_features=asked).n_candidates(10) == n
    assert Recipe(seed=0, max_features=asked).n_candidates(1) == (4 if asked == 4 else 1)


def test_shares_of_columns_are_their_number(ozone):
    X, y = ozone
    lists = [SirusRegressor(max_features=m, n_rules=5, **FAST).fit(X, y).rules_ for m in (3, "sqrt", 1 / 3 + 1e-9)]
    assert [str(r) for r in lists[0]] == [str(r) for r in lists[1]] == [str(r) for r in lists[2]]
    staged = SirusRegressor(max_features="sqrt", n_stages=2, n_rules=3, **FAST).fit(X, y)
    assert max(rule.stage for rule in staged.selected_) == 2
    for wrong in (0, 0.0, 1.5, "half", True, -1):
        with pytest.raises(ParameterError, match="max_features must be a whole number of at least 1, a share"):
            SirusRegressor(max_features=wrong).fit(X, y)


def test_an_edited_model_scores_and_shows_itself(fitted):
    X, y, model = fitted
    edited = model.without(1)
    assert edited.score(X, y) == pytest.approx(r2_score(y, edited.predict(X)))
    assert repr(edited) == str(edited) and "<table" in edited._repr_html_()
    labels = np.where(y > 10, "yes", "no")
    classes = SirusClassifier(n_rules=3, **FAST).fit(X, labels).without(1)
    assert classes.score(X, labels) == pytest.approx(accuracy_score(labels, classes.predict(X)))
    times, target = survival_table(120)
    times = pd.DataFrame(times, columns=COLUMNS)
    survival = SirusSurvival(n_rules=3, **FAST).fit(times, target)
    assert survival.model_.score(times, target) == pytest.approx(survival.score(times, target))


def test_a_column_is_no_rule_to_remove(fitted):
    _, _, model = fitted
    name = model.rules_[0].conditions[0].feature
    with pytest.raises(ParameterError, match=f"'{name}' is a column, and rules are removed: .* '{name} < "):
        model.without(name)
    unused = next(f for f in model.feature_names_in_ if f not in str(model.rules_))
    with pytest.raises(ParameterError, match="No rule uses it"):
        model.without(unused)


def test_a_column_of_true_and_false_is_a_rule():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sport": rng.random(100) < 0.5, "x": rng.normal(size=100)})
    model = SirusRegressor(n_rules=3, required_rules=["sport"], **FAST).fit(X, X["sport"] + X["x"])
    assert "sport" not in str(model.without("sport").rules[0])


def test_what_is_written_shows_where_it_is(fitted, tmp_path):
    X, _, model = fitted
    page = model.report(tmp_path / "r.html", X=X.head())
    assert repr(page) == f"<report in {tmp_path / 'r.html'}, {page.size / 1e3:.1f} kB>" and page.startswith("<!doctype")
    assert page.path.read_text(encoding="utf-8") == page and page.size == page.path.stat().st_size
    assert repr(model.report()).startswith("<report, ") and repr(model.export("sql")).startswith("'")
    sql = model.export("sql", tmp_path / "m.sql")
    assert repr(sql) == f"<sql in {tmp_path / 'm.sql'}, {sql.size} bytes>" and sql == model.export("sql")
    book = model.export("excel")
    assert repr(book).startswith("<excel, ") and isinstance(book, bytes) and book.path is None
    again = pickle.loads(pickle.dumps(page))
    assert again == page and again.path == page.path and repr(again) == repr(page)


def test_explanations_and_paths_show_as_tables(fitted):
    X, y, model = fitted
    explanation = model.explain(X)
    assert repr(explanation[2]) == str(explanation[2]) and "prediction" in explanation[2]._repr_html_()
    for text in (str(explanation), explanation._repr_html_()):
        assert "row 0, counted from 0" in text and "row 1" in text and "row 1," not in text
    assert "and 325 more rows" in explanation._repr_html_() and explanation._repr_html_().count("<table") == 5
    with pytest.raises(ValueError, match=r"take explanation\[i\]"):
        explanation.to_dict()
    tuned = SirusRegressorCV(n_trees=40, cv=3, n_repeats=2, max_rules=4, random_state=0).fit(X, y)
    lines = repr(tuned.path_).splitlines()
    assert re.split(r" {2,}", lines[0]) == ["rules per fold", "error", "stability between folds", "p0"]
    assert len(lines) == 1 + len(tuned.path_)
    assert " ± " in lines[1] and "<table" in tuned.path_._repr_html_()

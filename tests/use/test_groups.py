"""Metrics by group: as scikit-learn and fairlearn define them, with terms that add up to the difference."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, r2_score

import pysirus
from hand_made import make_model, two
from pysirus._parameters import ParameterError
from pysirus._use.groups import share_of


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300)})
    X["sex"] = np.where(rng.random(300) < 0.4, "f", "m")
    X.loc[X.index[:12], "sex"] = "other"
    X.loc[X["sex"] == "m", "x"] -= 0.5
    y = np.where(X["x"] - X["z"] + rng.normal(size=300) < 0, "no", "yes")
    return X, y


def test_metrics_of_a_group_are_those_of_its_rows(rows):
    X, y = rows
    model = two(1.0)
    found = model.metrics(X, y, by="sex")
    for group in ("f", "m", "other"):
        own = (X["sex"] == group).to_numpy()
        told, shares = found[group], model.predict_proba(X[own])
        assert told.n_rows == own.sum() and told.is_small == (group == "other")
        assert told.score["accuracy"] == pytest.approx(accuracy_score(y[own], model.predict(X[own])))
        assert told.score["log_loss"] == pytest.approx(log_loss(y[own], shares, labels=["no", "yes"]))
        assert told.selected.value == pytest.approx((model.predict(X[own]) == "yes").mean())
        assert told.gap.value == pytest.approx((y[own] == "yes").mean() - shares[:, 1].mean())
        assert told.selected.low <= told.selected.value <= told.selected.high
        positive = own & (y == "yes")
        assert told.true_positive.value == pytest.approx((model.predict(X[positive]) == "yes").mean())
    assert found.whole.score["accuracy"] == model.metrics(X, y)["accuracy"]


def test_differences_are_those_of_fairlearn(rows):
    fairness = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    X, y = rows
    model = two(1.0)
    found = model.metrics(X, y, by="sex").differences
    options = {"y_true": y == "yes", "y_pred": model.predict(X) == "yes", "sensitive_features": X["sex"]}
    assert found["demographic_parity"] == pytest.approx(fairness.demographic_parity_difference(**options))
    assert found["demographic_parity_ratio"] == pytest.approx(fairness.demographic_parity_ratio(**options))
    assert found["equalized_odds"] == pytest.approx(fairness.equalized_odds_difference(**options))


def test_differences_are_worked_by_hand(rows):
    X, y = rows
    model = two(1.0)
    chosen = pd.Series(model.predict(X) == "yes").groupby(X["sex"].to_numpy()).mean()
    found = model.metrics(X, y, by=X["sex"])
    assert found.by == "sex" and found.differences["demographic_parity"] == pytest.approx(chosen.max() - chosen.min())
    assert found.differences["demographic_parity_ratio"] == pytest.approx(chosen.min() / chosen.max())


def test_terms_add_up_to_the_difference_of_scores(rows):
    X, y = rows
    model, weights = two(1.0), np.linspace(1, 2, len(y))
    found = model.metrics(X, y, weights, by="sex")
    score = model.decision_function(X)
    for group, own in zip(found.groups, found.drivers):
        inside = (X["sex"] == group.name).to_numpy()
        expected = np.average(score[inside], weights=weights[inside]) - np.average(score, weights=weights)
        assert own.sum() == pytest.approx(expected)
    assert np.abs(found.drivers[1]).argmax() == 0  # x, by which the groups differ


def test_numbers_have_a_gap_and_no_selection(rows):
    X, _ = rows
    model = make_model([(3.0, 1.0), (-2.0, 0.0)], None, link="identity", intercept=10.0)
    y = model.predict(X) + np.where(X["sex"] == "f", 1.0, 0.0) + np.random.default_rng(1).normal(size=len(X)) / 10
    found = model.metrics(X, y, by="sex")
    assert found["f"].gap.value == pytest.approx(1.0, abs=0.05) and found["f"].selected is None
    own = (X["sex"] == "m").to_numpy()
    assert found["m"].score["r2"] == pytest.approx(r2_score(y[own], model.predict(X[own])))
    assert set(found.differences) == {"gap"} and "selected" not in str(found)


def test_an_interval_is_wilsons():
    found = share_of(np.array([True] * 7 + [False] * 3), np.ones(10))
    assert (found.low, found.high) == (pytest.approx(0.3968, abs=1e-4), pytest.approx(0.8922, abs=1e-4))


def test_what_prints_marks_small_groups(rows):
    X, y = rows
    text = str(two(1.0).metrics(X, y, by="sex"))
    assert "other *" in text and "* fewer than 30 rows" in text and "selected: decided for yes" in text
    frame = two(1.0).metrics(X, y, by="sex").to_frame("pandas")
    assert frame["group"].tolist() == ["f", "m", "other", "all rows"] and frame["small"].tolist()[2]
    with pytest.raises(ParameterError, match="by must be a column of X or one value for each row, got 'age'"):
        two(1.0).metrics(X, y, by="age")
    with pytest.raises(ParameterError, match="by has 3 values, X has 300 rows"):
        two(1.0).metrics(X, y, by=["a", "b", "a"])


def test_the_command_compares_groups(run, tmp_path, rows):
    X, y = rows
    X.assign(answer=y).to_csv(tmp_path / "rows.csv", index=False)
    model = pysirus.SirusClassifier(n_rules=3, n_trees=100, random_state=0).fit(
        X[["x", "z"]], pd.Series(y, name="answer")
    )
    model.save(tmp_path / "m.json")
    code, out, _ = run("score", str(tmp_path / "m.json"), str(tmp_path / "rows.csv"), "--by", "sex")
    assert code == 0 and out.strip() == str(model.metrics(X, y, by="sex"))

"""Node harvest: the program it solves, the mean it predicts, edge cases."""

import builtins
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls
from sklearn.utils.estimator_checks import check_estimator

from pysirus import NodeHarvestRegressor, load
from pysirus._peers.node_harvest import harvest_weights
from pysirus.datasets import load_machine, load_ozone
from sampled import FULL

pytest.importorskip("piqp", reason="pip install pysirus[compare]")

DRAWS = "a subsample is drawn among rows, so a row repeated is another draw than a row weighted twice"


@pytest.fixture(scope="module")
def ozone():
    return load_ozone(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def model(ozone):
    return NodeHarvestRegressor(n_nodes=300, random_state=0).fit(*ozone)


def test_check_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tables of a few rows have no node of ten
        for min_node_size in (10, 2) if FULL else (2,):  # with two, the few rows of the checks have nodes too
            check_estimator(
                NodeHarvestRegressor(n_nodes=50, min_node_size=min_node_size),
                expected_failed_checks={"check_sample_weight_equivalence_on_dense_data": DRAWS},
            )


def test_weights_solve_the_program_by_hand():
    # two halves: their means fit best, the root is not needed
    inside = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]], dtype=bool)
    y = np.array([0.0, 2.0, 10.0, 12.0])
    weights = harvest_weights(inside, np.array([6.0, 1.0, 11.0]), y, np.ones(4))
    assert weights == pytest.approx([0, 1, 1], abs=1e-4)


def test_weights_leave_the_root_where_no_other_node_is():
    # the second node covers half of the rows: the others have the root alone, so its weight is one everywhere
    inside = np.array([[1, 1], [1, 1], [1, 0], [1, 0]], dtype=bool)
    y = np.array([0.0, 2.0, 10.0, 12.0])
    weights = harvest_weights(inside, np.array([6.0, 1.0]), y, np.ones(4))
    assert weights == pytest.approx([1, 0], abs=1e-4)


def test_weights_match_another_solver():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (40, 2))
    nodes = [np.ones(40, bool)]
    for j in range(2):
        for cut in (1, 2, 3):
            nodes += [x[:, j] < cut, x[:, j] >= cut]
    inside = np.column_stack(nodes)
    y = x[:, 0] + (x[:, 1] > 1) + 0.3 * rng.normal(size=40)
    means = (inside.T @ y) / inside.sum(axis=0)
    ours = harvest_weights(inside, means, y, np.ones(40))
    patterns = np.unique(inside, axis=0).astype(float)

    def loss(w):
        return float(((y - inside @ (w * means)) ** 2).sum())

    # the constraints as a heavy penalty
    theirs, _ = nnls(np.vstack([inside * means, 1e4 * patterns]), np.concatenate([y, np.full(len(patterns), 1e4)]))
    assert patterns @ theirs == pytest.approx(np.ones(len(patterns)), abs=1e-6)
    assert loss(ours) == pytest.approx(loss(theirs), rel=1e-3)  # nodes below a hundredth of the largest are dropped
    assert inside @ ours == pytest.approx(np.ones(40), abs=0.05)


def test_prediction_is_the_weighted_mean_of_covering_nodes(ozone, model):
    X, y = ozone
    table = model.model_.align(X)
    weight, total = np.full(len(X), model.root_weight_), np.full(len(X), model.root_weight_ * y.mean())
    for rule in model.rules_:
        inside = rule.holds(table)
        assert rule.weight > 0 and rule.n_inside >= 10 and len(rule.path) <= 2
        assert rule.inside == pytest.approx(y[inside].mean())
        weight += rule.weight * inside
        total += rule.weight * rule.inside * inside
    assert (weight > 0.8).all() and (weight < 1.2).all()  # one, but for the nodes dropped
    assert np.allclose(model.predict(X), total / weight)
    smallest = min(rule.weight for rule in model.rules_)
    assert smallest >= 0.01 * max(model.root_weight_, *(rule.weight for rule in model.rules_))


def test_a_row_that_no_node_but_the_root_holds_gets_the_mean(ozone, model):
    X, y = ozone
    rule = model.rules_[0]
    only = model.model_.__class__(
        selected=model.rules_[:1],
        intercept=0.0,
        family=replace(model.model_.family, root=0.0),
        features=model.model_.features,
        named=True,
    )
    inside = rule.holds(only.align(X))
    assert inside.any() and not inside.all()
    assert only.predict(X)[inside] == pytest.approx(rule.inside)
    assert (only.predict(X)[~inside] == only.mean).all()
    assert only.mean == pytest.approx(y.mean())


def test_too_few_rows_for_a_node_predict_the_mean():
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12.0)
    with pytest.warns(UserWarning, match="no nodes"):
        model = NodeHarvestRegressor(min_node_size=10).fit(X, y)
    assert len(model.rules_) == 0 and model.root_weight_ == 1.0
    assert (model.predict(X) == y.mean()).all()


def test_model_file_keeps_the_mean(ozone, model, tmp_path):
    X, _ = ozone
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.model_.family.aggregation == "mean" and again.root_weight_ == model.root_weight_
    assert again.rules_ == model.rules_ and (again.predict(X) == model.predict(X)).all()
    assert "its weight" in str(again)


def test_candidates_are_as_many_as_asked_for(model):
    assert 300 <= len(model.candidates_) <= 306


def test_quantile_cuts_have_identities():
    X, y = load_machine(return_X_y=True, as_frame=True)
    model = NodeHarvestRegressor(n_nodes=200, n_bins=10, random_state=0).fit(X, y)
    assert {split.cut[0] for rule in model.rules_ for split in rule.path} <= {"quantile", "value"}
    other = NodeHarvestRegressor(n_nodes=200, n_bins=10, random_state=1).fit(X[5:], y[5:])
    assert set(model.rules_) & set(other.rules_)


def test_categories_and_missing_values_need_no_preparation():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.choice(["m", "f", "i"], 300), "x": rng.normal(size=300)})
    y = 3 * (X["s"] == "i") + X["x"]
    X.loc[::7, "x"] = np.nan
    model = NodeHarvestRegressor(n_nodes=200, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.5


def test_a_missing_solver_is_named_with_its_extra(ozone, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "piqp":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install pysirus\[compare\]"):
        NodeHarvestRegressor(n_nodes=50).fit(*ozone)


def test_explanation_sums_to_the_prediction(ozone, model):
    X, _ = ozone
    explanation = model.explain(X)
    assert np.allclose(explanation.prediction, model.predict(X))
    assert (explanation.contributions[~explanation.fired] == 0).all()
    assert explanation.centred() is explanation


def test_a_mean_is_exported(ozone, model, tmp_path):
    X, _ = ozone
    names = {}
    exec(model.export("python"), names)
    assert np.allclose([names["predict"](row) for row in X.to_dict("records")], model.predict(X), rtol=0, atol=1e-9)
    model.export("json", tmp_path / "m.json")

"""Rules and rows: every number of an edited model comes from one sample, and its file can be loaded."""

import warnings

import numpy as np
import pytest

import pysirus
from pysirus import SirusClassifier, SirusRegressor, SirusSurvival
from pysirus._parameters import ParameterError

FAST = {"n_trees": 150, "random_state": 0, "n_rules": 6}
RESPONSES = ["numbers", "staged", "fixed", "two", "three", "equal", "poisson", "gamma", "survival", "staged survival"]
OTHER = "not the rows that the model was fitted on"


def make_rows(response, seed, n):
    """Columns, targets and weights of which every kind of model learns something."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.random((n, 4)) < 0.03] = np.nan
    known = np.nan_to_num(X)
    score = (known[:, 0] < 0.2) + 0.7 * (known[:, 1] < -0.3) * (known[:, 2] < 0.5) + 0.4 * known[:, 3]
    noisy = score + rng.normal(size=n) / 2
    weights = rng.integers(1, 4, n).astype(float)
    if response in ("two", "three", "equal"):
        return X, np.digitize(noisy, [0.3, 1.0] if response == "three" else [0.7]), weights
    if response == "poisson":
        return X, rng.poisson(np.exp(score)).astype(float), weights
    if response == "gamma":
        return X, np.exp(score) * rng.gamma(2.0, size=n), weights
    if "survival" in response:
        times, ends = rng.exponential(np.exp(-score)), rng.exponential(2.0, size=n)
        found = np.rec.fromarrays([times <= ends, np.minimum(times, ends)], names=["event", "time"])
        return X, found, weights
    return X, noisy, weights


def fit(response, X, y, weights):
    options = {"n_stages": 2} if "staged" in response else {}
    if response in ("poisson", "gamma"):
        options["loss"] = response
    if response == "equal":
        options["weighting"] = "equal"
    if response == "fixed":
        options["required_rules"] = ["+0.3 if x3 < 0.1"]
    kind = SirusSurvival if "survival" in response else SirusRegressor
    kind = SirusClassifier if response in ("two", "three", "equal") else kind
    return kind(**FAST, **options).fit(X, y, sample_weight=weights).model_


def check_one_sample(model, X, y, weights, path):
    """Supports and means are those of the rows, and a file says the same."""
    for rule in model.selected:
        inside = rule.holds(model.align(X, rules=model.selected))
        assert (rule.n_inside, rule.n_outside) == (inside.sum(), (~inside).sum())
        for condition in rule.conditions:
            alone = type(rule)((condition,)).holds(model.align(X, rules=model.selected))
            assert condition.share == pytest.approx(np.average(alone, weights=weights))
        if model.survival is not None:
            assert [side.n_events for side in rule.survival] == [y["event"][inside].sum(), y["event"][~inside].sum()]
            assert model.survival.n_events == y["event"].sum()
        elif rule.stage == 1 or rule.observed is not None:
            target = y if model.classes is None else y == model.classes[1]
            shown = rule.means if model.classes is None else [side[1] for side in rule.means]
            for side, where in zip(shown, (inside, ~inside)):
                assert side == pytest.approx(np.average(target[where], weights=weights[where]), abs=1e-9)
    model.save(path)
    again = pysirus.load(path)
    assert again == model and (again.raw_predict(X) == model.raw_predict(X)).all()


@pytest.mark.parametrize("response", RESPONSES)
@pytest.mark.parametrize("n_other", [300, 431])
def test_other_rows_give_every_number(response, n_other, tmp_path):
    model = fit(response, *make_rows(response, 0, 300))
    X, y, weights = make_rows(response, 1 + n_other, n_other)
    with pytest.warns(UserWarning, match=OTHER):
        found = model.adding("-0.5 <= x1 < 1 & x3 < 0.7", X, y, weights)
    assert found.selected[-1].given and len(found.selected) == len(model.selected) + 1
    assert found.facts["n_rows"] == found.facts["estimated_on"] == n_other
    check_one_sample(found, X, y, weights, tmp_path / "m.json")
    with warnings.catch_warnings():  # these rows are its own now
        warnings.filterwarnings("error", message=OTHER)
        again = found.without([], X, y, weights)
        shorter = found.without("-0.5 <= x1 < 1 & x3 < 0.7", X, y, weights)
    assert again.raw_predict(X) == pytest.approx(found.raw_predict(X), rel=1e-9)
    with pytest.warns(UserWarning, match=OTHER):
        same = model.without([], X, y, weights)
    assert shorter.raw_predict(X) == pytest.approx(same.raw_predict(X), rel=1e-9)
    assert [rule.inside for rule in same.selected] == [rule.inside for rule in shorter.selected]


@pytest.mark.parametrize("response", RESPONSES)
def test_training_rows_in_any_order_keep_all_outputs(response, tmp_path):
    X, y, weights = make_rows(response, 0, 300)
    model = fit(response, X, y, weights)
    order = np.random.default_rng(5).permutation(300)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=OTHER)
        found = model.adding("-0.5 <= x1 < 1 & x3 < 0.7", X[order], y[order], weights[order])
        unchanged = model.without([], X, y, weights)
    assert {rule: rule.inside for rule in model.selected}.items() <= {r: r.inside for r in found.selected}.items()
    assert unchanged.raw_predict(X) == pytest.approx(model.raw_predict(X), rel=1e-9)
    check_one_sample(found, X, y, weights, tmp_path / "m.json")


def test_training_rows_without_their_weights_are_other_rows():
    X, y, weights = make_rows("two", 0, 300)
    model = fit("two", X, y, weights)
    with pytest.warns(UserWarning, match="the mean of the target by .* is another.*class weights, give them"):
        model.adding("x1 < 1 & x3 < 0.7", X, y)


def test_rows_on_which_a_model_cannot_be_estimated_are_refused():
    X, y, weights = make_rows("three", 0, 300)
    model = fit("three", X, y, weights)
    with pytest.raises(ParameterError, match="y has no row of class 2"):
        model.adding("x1 < 1 & x3 < 0.7", X[y < 2], y[y < 2])
    model = fit("numbers", *make_rows("numbers", 0, 300))
    with pytest.raises(ParameterError, match="y is the same in every row"):
        model.without([], X, np.ones(300))
    inside = model.selected[0].holds(model.align(X))
    with pytest.raises(ParameterError, match=r"holds in every row of X, so its outputs cannot be estimated"):
        model.adding("x3 < 0.71", X[inside], y[inside])
    rising = SirusRegressor(monotonic_cst={"x0": -1}, **FAST).fit(*make_rows("numbers", 0, 300)[:2])
    X, y, _ = make_rows("numbers", 3, 200)
    with pytest.raises(ParameterError, match="breaks a constraint of the model: it rises with 'x0'"):
        rising.without([], X, -y)


@pytest.mark.parametrize("response", RESPONSES)
def test_a_list_without_rules_or_without_its_first_stage_is_estimated(response, tmp_path):
    model = fit(response, *make_rows(response, 0, 300))
    X, y, weights = make_rows(response, 1, 200)
    for struck in (list(model.selected), [rule for rule in model.selected if rule.stage == 1]):
        with pytest.warns(UserWarning, match=OTHER):
            found = model.without(struck, X, y, weights)
        assert len(found.selected) == len(model.selected) - len(struck)
        check_one_sample(found, X, y, weights, tmp_path / "m.json")
        if not found.selected and model.survival is None:
            target = y if model.classes is None else y[:, None] == np.array(model.classes)
            assert found.raw_predict(X)[0] == pytest.approx(np.average(target, axis=0, weights=weights))

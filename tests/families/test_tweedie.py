"""Amounts with exact zeros: one family through fit, stages, tuning, parts, files, exports and the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance

import pysirus
from parts import fit_parts
from pysirus import SirusRegressor, SirusRegressorCV
from pysirus._data.column import DataError
from pysirus._model.file import ModelFileError
from pysirus._parameters import ParameterError

POWER = 1.6
SMALL = {"loss": "tweedie", "power": POWER, "n_trees": 200, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore:Nothing was learned")


@pytest.fixture(scope="module")
def claims():
    """Policies, claims per year (most of them zero) and years."""
    rng = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame(
        {"age": rng.integers(18, 80, n), "horses": rng.integers(4, 12, n), "zone": rng.choice([*"abc"], n)}
    )
    years = rng.uniform(0.2, 1, n)
    counts = rng.poisson(0.5 * years * np.exp(1.2 * (X["age"] < 30) + 0.8 * (X["zone"] == "c")))
    y = pd.Series([rng.gamma(2, 50, k).sum() for k in counts], name="claims") / years
    assert 0.4 < (y == 0).mean() < 0.8
    return X, y, years


def test_weights_are_those_of_a_slow_minimiser(claims):
    X, y, years = claims
    model = SirusRegressor(**SMALL, n_rules=4).fit(X, y, sample_weight=years)
    table = model.model_.align(X)
    inside = np.column_stack([rule.holds(table) for rule in model.rules_])
    outputs = np.where(inside, [rule.inside for rule in model.rules_], [rule.outside for rule in model.rules_])
    share, penalty = years / years.sum(), model.ridge_penalty_

    def value(point):
        mean = np.exp(point[0] + outputs @ point[1:])
        losses = mean ** (2 - POWER) / (2 - POWER) + y * mean ** (1 - POWER) / (POWER - 1)
        return share @ losses + penalty / 2 * (point[1:] ** 2).sum()

    found = np.array([model.intercept_, *(rule.weight for rule in model.rules_)])
    np.testing.assert_allclose(model.predict(X), np.exp(found[0] + outputs @ found[1:]), rtol=1e-12)
    start = np.array([np.log(share @ y), *np.zeros(len(found) - 1)])
    bounds = [(None, None), *[(0, None)] * (len(found) - 1)]
    slow = minimize(value, start, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "maxiter": 5000})
    assert value(found) <= slow.fun * (1 + 1e-9)


def test_it_is_judged_by_its_own_deviance(claims):
    X, y, years = claims
    model = SirusRegressor(**SMALL, n_rules=6).fit(X, y, sample_weight=years)
    predicted = model.predict(X)
    deviance = mean_tweedie_deviance(y, predicted, sample_weight=years, power=POWER)
    assert model.score(X, y, years) == pytest.approx(d2_tweedie_score(y, predicted, sample_weight=years, power=POWER))
    assert model.metrics(X, y, years)["mean_deviance"] == pytest.approx(deviance)
    other = SirusRegressor(**{**SMALL, "power": 1.1}, n_rules=6).fit(X, y, sample_weight=years)
    assert other.intercept_ != model.intercept_
    held_out = model.cross_validate(X, y, years, cv=3)
    assert 0 < held_out.metrics["d2"][0] < 1


@pytest.mark.parametrize(
    "estimator", [SirusRegressor(n_stages=2, n_rules=4), SirusRegressorCV(n_stages=2, cv=3, n_repeats=1)]
)
def test_stages_and_tuning_are_the_same_from_parts(claims, estimator):
    X, y, years = claims
    memory = estimator.set_params(**SMALL).fit(X, y, sample_weight=years)
    parts = fit_parts(type(estimator)(**estimator.get_params()), X, y, years, limits=[200, 500])
    assert parts.rules_ == memory.rules_ and parts.intercept_ == memory.intercept_
    assert parts.model_.family.loss == memory.model_.family.loss
    assert memory.n_stages_ == 2 or isinstance(memory, SirusRegressorCV)


def test_the_unit_of_amounts_does_not_matter(claims):
    X, y, _ = claims
    one, other = (SirusRegressor(**SMALL, n_rules=4, n_stages=2).fit(X, unit * y) for unit in (1.0, 2.0**20))
    assert one.n_stages_ == 2 and [rule.key for rule in one.rules_] == [rule.key for rule in other.rules_]
    np.testing.assert_allclose(other.predict(X), 2.0**20 * one.predict(X), rtol=1e-6)


def test_a_file_keeps_the_power_and_others_have_none(claims, tmp_path: Path):
    X, y, _ = claims
    model, path = SirusRegressor(**SMALL, n_rules=4).fit(X, y), tmp_path / "m.json"
    model.save(path)
    again = pysirus.load(path)
    assert again.power == POWER and again.model_.family == model.model_.family
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.without(1).facts["power"] == POWER
    document = json.loads(path.read_text(encoding="utf-8"))
    for power in (1, 2.5, None):
        path.write_text(json.dumps({**document, "facts": {**document["facts"], "power": power}}), encoding="utf-8")
        with pytest.raises(ModelFileError, match=r"facts\.power"):
            pysirus.load(path)
    del document["facts"]["power"]
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ModelFileError, match="must be there for the loss 'tweedie'"):
        pysirus.load(path)
    SirusRegressor(loss="poisson", n_rules=2, n_trees=50, random_state=0).fit(X, y).save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert "power" not in document["facts"] and "power" not in document["estimator"]["parameters"]


def test_exports_predict_the_same(claims):
    X, y, _ = claims
    model = SirusRegressor(**SMALL, n_rules=4).fit(X, y)
    namespace: dict = {}
    exec(model.export("python"), namespace)
    rows = X.head(50)
    found = [namespace["predict"](row) for row in rows.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-12)
    assert "exp" in model.export("sql").lower()


def test_bad_powers_and_amounts_are_named(claims):
    X, y, _ = claims
    for power in (1, 2, 0, "high"):
        with pytest.raises(ParameterError, match="power must be a number between 1 and 2"):
            SirusRegressor(**{**SMALL, "power": power}).fit(X, y)
    with pytest.raises(DataError, match="With loss='tweedie' y must be at least 0, found -1 in row 3"):
        SirusRegressor(**SMALL).fit(X, y.where(y.index != 3, -1.0))


def test_a_power_that_no_loss_would_use_is_an_error(claims, run, tmp_path: Path):
    X, y, _ = claims
    with pytest.raises(ParameterError, match="power is for loss='tweedie', got loss='poisson'"):
        SirusRegressor(loss="poisson", power=1.2).fit(X, y)
    table = tmp_path / "claims.csv"
    X.assign(cost=y).to_csv(table, index=False)
    code, _, err = run("fit", table, "--target", "cost", "--power", 1.2, "--model", tmp_path / "m.json")
    assert code == 2 and "--power is for --loss tweedie, got --loss squared_error" in " ".join(err.split())


def test_the_command_line_takes_a_power(claims, run, tmp_path: Path):
    X, y, years = claims
    table, model = tmp_path / "claims.csv", tmp_path / "m.json"
    X.assign(claims=y * years, years=years).to_csv(table, index=False)
    options = ["--target", "claims", "--exposure", "years", "--loss", "tweedie", "--power", POWER, "--trees", 200]
    code, out, err = run("fit", table, *options, "--rules", 4, "--model", model)
    assert code == 0 and "each rule multiplies claims per years" in out, err
    expected = SirusRegressor(**SMALL, n_rules=4).fit(X, y, sample_weight=years).predict(X)
    np.testing.assert_allclose(pysirus.load(model).predict(X), expected, rtol=1e-6)
    code, out, _ = run("score", model, table)
    assert code == 0 and "mean deviance" in out
    assert run("report", model, table, "--output", tmp_path / "r.html")[0] == 0
    code, _, err = run("fit", table, *options[:-3], 3, "--rules", 4)
    assert code and "--power must be a number between 1 and 2" in " ".join(err.split())

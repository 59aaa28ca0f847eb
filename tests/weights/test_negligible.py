"""Rules that move no prediction leave a list, for every response, and the others are fitted again."""

import json
from dataclasses import replace

import numpy as np
import pytest

import pysirus
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvival
from pysirus._terms.rule import Condition, FittedRule
from pysirus._weights.weighted import NEGLIGIBLE, prune

N_ROWS = 2000
FAST = {"n_trees": 100, "random_state": 0}


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 6))
    return X, 2.0 * (X[:, 0] > 0) + (X[:, 1] > 0), rng


def responses():
    _, score, rng = table()
    yield "numbers", SirusRegressor, score + 0.05 * rng.normal(size=N_ROWS)
    yield "two", SirusClassifier, rng.random(N_ROWS) < 1 / (1 + np.exp(3 - 2 * score))
    yield "three", SirusClassifier, np.digitize(score + 0.3 * rng.normal(size=N_ROWS), [0.5, 1.5])
    yield "poisson", lambda **options: SirusRegressor(loss="poisson", **options), rng.poisson(np.exp(score))
    yield "gamma", lambda **options: SirusRegressor(loss="gamma", **options), rng.gamma(2, np.exp(score))
    times = rng.exponential(np.exp(-score)) + 1e-6
    yield "survival", SirusSurvival, np.array(list(zip(times < 1, times.clip(0, 1))), dtype="?,f8")


def moved_by(rule, kind, y):
    """By how many standard deviations of the response a rule moves it near its mean."""
    step = rule.weight * (np.asarray(rule.inside, dtype=float) - np.asarray(rule.outside, dtype=float))
    if kind == "numbers":
        return abs(step) / y.std()
    if kind in ("poisson", "gamma"):
        return abs(step) * y.mean() / y.std()
    if kind == "survival":
        return abs(step) * np.sqrt(y["f0"].mean())
    p = np.array([np.mean(y == label) for label in np.unique(y)])
    return np.max(np.abs(p * (step - p @ step)) / np.sqrt(p * (1 - p)))


@pytest.fixture(scope="module", params=list(responses()), ids=lambda case: case[0])
def fitted(request):
    kind, make, y = request.param
    return kind, y, make(n_rules=35, **FAST).fit(table()[0], y).model_


def test_no_rule_in_a_list_is_negligible_and_their_number_is_known(fitted):
    kind, y, model = fitted
    assert min(moved_by(rule, kind, y) for rule in model.rules) > NEGLIGIBLE
    assert 0 < model.facts["n_pruned"] <= len(model.selected) - len(model.rules)


def test_the_others_have_the_weights_of_a_list_without_negligible_rules(fitted):
    kind, y, model = fitted
    if kind in ("poisson", "gamma"):
        pytest.skip("a list of counts or amounts is fitted again approximately")
    idle = [rule for rule in model.selected if not rule.weight]
    data = () if kind == "numbers" else (table()[0], y)
    again = model.without(idle, *data)
    np.testing.assert_allclose([r.weight for r in again.rules], [r.weight for r in model.rules], rtol=1e-4)
    np.testing.assert_allclose(again.intercept, model.intercept, rtol=1e-4)


def rule_of(feature, given=False):
    return FittedRule((Condition(feature, upper=0.0, upper_cut=("value", 0.0)),), given=given)


def test_given_rules_and_the_one_that_moves_most_stay():
    rules = [rule_of("a"), rule_of("b", given=True), rule_of("c"), rule_of("d")]
    weights = np.array([[1.0, 1e-9, 1e-9, 0.5], [1e-5, 1e-9, 1e-6, 0.0], [1e-5, 0.0, 0.0, 0.0]])
    asked = []

    def fit_again(kept, lists):
        asked.append((kept.tolist(), lists))
        return weights[lists] * kept

    assert prune(weights, np.ones(4), rules, fit_again) == (1, 1, 0)
    assert asked == [([True, True, False, True], [0, 1])]  # lists without the same rules are fitted at once
    assert weights[:, 1].tolist() == [1e-9, 1e-9, 0.0] and weights[:, 0].tolist() == [1.0, 1e-5, 1e-5]


def test_every_size_of_a_tuned_list_counts_its_negligible_rules(tmp_path):
    X, score, rng = table()
    y = score[:400] + 0.05 * rng.normal(size=400)
    model = SirusRegressorCV(cv=2, n_repeats=1, max_rules=25, **FAST).fit(X[:400], y).model_
    assert sum(size.n_pruned for size in model.tuned.sizes) > 0
    for size in model.tuned.sizes[::6]:
        own = model.at_size(size.n_rules)
        assert own.facts.get("n_pruned", 0) == size.n_pruned <= size.weights.count(0)
        assert len(own.rules) == sum(weight > 0 for weight in size.weights)
        plain = SirusRegressor(n_rules=size.n_rules, **FAST).fit(X[:400], y).model_
        assert plain.facts.get("n_pruned", 0) == size.n_pruned
        assert [rule.weight for rule in plain.selected] == list(size.weights)
    model.save(tmp_path / "model.json")
    assert pysirus.load(tmp_path / "model.json").tuned.sizes == model.tuned.sizes


def test_more_negligible_rules_than_rules_of_weight_zero_is_damage(fitted, tmp_path):
    _, _, model = fitted
    path = tmp_path / "model.json"
    model.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["facts"]["n_pruned"] = 1 + sum(not rule["weight"] for rule in document["rules"])
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(pysirus.ModelFileError, match="n_pruned"):
        pysirus.load(path)


def test_a_model_says_how_many_rules_left(fitted, tmp_path, capsys):
    from pysirus.cli import main

    _, _, model = fitted
    replace(model).save(tmp_path / "model.json")
    with pytest.raises(SystemExit):
        main(["show", str(tmp_path / "model.json")])
    assert f"({model.facts['n_pruned']} negligible)" in "".join(capsys.readouterr())


def test_the_key_of_earlier_files_is_read_by_its_name_of_today(fitted, tmp_path):
    _, _, model = fitted
    path = tmp_path / "model.json"
    model.save(path)
    text = path.read_text(encoding="utf-8")
    assert '"n_pruned"' in text
    path.write_text(text.replace('"n_pruned"', '"n_dust"'), encoding="utf-8")
    assert pysirus.load(path).facts == model.facts

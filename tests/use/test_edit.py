"""Editing a list gives the model that a fit of that list would give; two models compare rule by rule."""

import numpy as np
import pytest

import pysirus
from hostile import make_model, make_table
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._parameters import ParameterError
from pysirus._use.diff import diff


@pytest.fixture(scope="module")
def model(ozone):
    return SirusRegressor(n_rules=12, n_trees=1000, random_state=0).fit(*ozone)


@pytest.mark.parametrize("k", [0, 1, 2, 5, 12])
def test_fewer_rules_are_what_a_fit_with_fewer_rules_gives(ozone, model, k):
    X, y = ozone
    shorter = model.with_rules(k)
    if k == 0:
        assert shorter.predict(X) == pytest.approx(np.full(len(y), y.mean()))
    else:
        again = SirusRegressor(n_rules=k, n_trees=1000, random_state=0).fit(X, y)
        assert shorter.selected == again.selected_ and (shorter.predict(X) == again.predict(X)).all()
        assert [r.weight for r in shorter.selected] == [r.weight for r in again.selected_]


def test_numbers_of_numpy_name_rules_too(model):
    for which, same in ((np.int64(2), 2), (np.array([1, 4]), [1, 4]), ([np.int32(3)], 3)):
        assert model.without(which).selected == model.without(same).selected
    with pytest.raises(IndexError, match="no rule number 99"):
        model.without(np.int64(99))


def test_numbers_are_those_of_the_printed_list(model):
    shown = model.rules_
    assert len(shown) < len(model.selected_)  # one of weight 0 is hidden, and shifts no number
    for line, rule in zip(str(shown).splitlines()[1:], shown):
        number = int(line.split()[0])
        assert shown[number - 1] is rule
        assert model.without(number).selected == model.without(rule).selected
    everything = str(model.selected_).splitlines()
    assert everything[0].split()[0] == "#" and len(everything) == 13
    numbered = {line.split(" if ")[1].split(" then ")[0]: line.split(" if ")[0].split() for line in everything[1:]}
    for number, rule in enumerate(shown, start=1):
        assert numbered[rule.condition_text][0] == str(number) and len(numbered[rule.condition_text]) == 2
    for rule in model.selected_:
        assert rule in shown or len(numbered[rule.condition_text]) == 1
    assert [line.split()[0] for line in str(shown[2:4]).splitlines()[1:]] == ["3", "4"]


@pytest.mark.parametrize("number", [0, -1, np.int64(0), [1, 0]])
def test_rules_are_counted_from_one(model, number):
    with pytest.raises(IndexError, match=r"numbered from 1, as they print. The first is without\(1\)"):
        model.without(number)
    with pytest.raises(ValueError, match="The model has no rule 'True'"):
        model.without(True)


def test_weights_survive_the_model_file(ozone, model, tmp_path):
    X, _ = ozone
    model.save(tmp_path / "m.json")
    loaded = pysirus.load(tmp_path / "m.json")
    for edit in (lambda m: m.with_rules(4), lambda m: m.without([1, 4])):
        assert (edit(loaded).predict(X) == edit(model).predict(X)).all()
    edited = model.without(1)
    edited.save(tmp_path / "edited.json")
    again = pysirus.load(tmp_path / "edited.json")
    assert (again.predict(X) == edited.predict(X)).all()
    assert again.facts["removed_rules"] == [model.rules_[0].condition_text]


def test_weighted_rows_are_kept_to_the_last_bit(ozone, tmp_path):
    X, y = ozone
    weights = np.random.default_rng(0).random(len(y))
    model = SirusRegressor(n_rules=6, n_trees=300, random_state=0).fit(X, y, sample_weight=weights)
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json").with_rules(3).predict(X)
    assert (again == model.with_rules(3).predict(X)).all()
    shorter = SirusRegressor(n_rules=3, n_trees=300, random_state=0).fit(X, y, sample_weight=weights)
    assert (shorter.predict(X) == again).all()


def test_a_struck_rule_is_gone_and_the_rest_is_fitted_again(ozone, model):
    X, y = ozone
    struck = model.rules_[1]
    edited = model.without(struck)
    assert struck not in edited.selected and len(edited.selected) == len(model.selected_) - 1
    assert len(model.selected_) == 12  # the model itself stays
    assert edited.predict(X).mean() == pytest.approx(y.mean())
    assert edited.without(edited.rules[0]).facts["removed_rules"] == [
        struck.condition_text,
        edited.rules[0].condition_text,
    ]


def test_what_cannot_be_edited_is_refused(ozone, model):
    with pytest.raises(IndexError, match="no rule number 99"):
        model.without(99)
    with pytest.raises(ValueError, match="has no rule"):
        model.with_rules(2).without(model.selected_[-1])
    with pytest.raises(ParameterError, match="n_rules must be a whole number from 0 to 12"):
        model.with_rules(13)
    with pytest.raises(ValueError, match="keeps no sums"):
        make_model("linear terms").without(1)


def test_a_word_that_is_no_rule_is_told_what_is_taken(model):
    with pytest.raises(
        ParameterError, match=r"'Rating' is no rule. Rules are removed by their text or number, for example '.+'"
    ):
        model.without("Rating")
    name = model.rules_[0].conditions[0].feature
    with pytest.raises(ParameterError, match=f"'{name}' is a column, .* The rules that use it"):
        model.without(name)


def test_class_models_weigh_the_rest_equally():
    X, y = make_table(300, seed=3)
    equal = {"n_trees": 300, "weighting": "equal", "random_state": 0}
    model = SirusClassifier(n_rules=6, **equal).fit(X, y > np.median(y))
    assert [r.weight for r in model.without(1).selected] == [1 / 5] * 5
    shorter = SirusClassifier(n_rules=4, **equal).fit(X, y > np.median(y))
    assert (model.with_rules(4).predict_proba(X) == shorter.predict_proba(X)).all()


@pytest.mark.parametrize("weighting", ["equal", "likelihood"])
def test_a_class_model_of_no_rules_is_the_shares(weighting):
    X, y = make_table(300, seed=3)
    above = y > np.quantile(y, 0.7)
    model = SirusClassifier(n_rules=2, n_trees=300, weighting=weighting, random_state=0).fit(X, above)
    for empty in (model.with_rules(0), model.without([1, 2])):
        assert len(empty.rules) == 0 and "approximate_weights" not in empty.facts
        np.testing.assert_allclose(empty.predict_proba(X[:2]), [[1 - above.mean(), above.mean()]] * 2)


def test_a_tuned_model_answers_from_its_list(ozone):
    X, y = ozone
    tuned = SirusRegressorCV(n_repeats=1, cv=5, n_trees=300, random_state=0).fit(X, y)
    for k in (1, 3, len(tuned.models_)):
        assert (tuned.with_rules(k).predict(X) == tuned.models_[k - 1].predict(X)).all()
    assert tuned.with_rules(3).facts["cv_error"] == tuned.models_[2].facts["cv_error"]
    edited = tuned.without(1)
    assert edited.tuning is None and len(edited.selected) == len(tuned.selected_) - 1
    untuned = SirusRegressor(n_rules=len(tuned.selected_), n_trees=300, random_state=0).fit(X, y)
    assert (untuned.without(1).predict(X) == edited.predict(X)).all()


def test_diff_of_a_model_with_itself_is_all_the_same(model):
    same = diff(model, model)
    assert same.stability == 1 and len(same.kept) == len(model.rules_)
    assert not (same.shifted or same.added or same.removed)


def test_diff_sorts_rules_into_four_kinds(ozone, model):
    X, y = ozone
    drifted = X.assign(temp=X["temp"] * 1.1)
    new = SirusRegressor(n_rules=12, n_trees=1000, random_state=0).fit(drifted, y)
    found = model.diff(new)
    # all thresholds on temp drift with the data, at the same quantiles: the rules stay
    assert any(a.condition_text != b.condition_text and a == b for a, b in found.kept)
    other = SirusRegressor(n_rules=12, n_trees=1000, random_state=1).fit(X[:150], y[:150])
    found = model.diff(other)
    assert found.shifted and found.added and found.removed
    for old, moved in found.shifted:
        assert old != moved and {c.feature for c in old.conditions} == {c.feature for c in moved.conditions}
    n_old, n_new = len(model.rules_), len(other.rules_)
    assert len(found.kept) + len(found.shifted) + len(found.removed) == n_old
    assert len(found.kept) + len(found.shifted) + len(found.added) == n_new
    assert found.stability == pytest.approx(2 * len(found.kept) / (n_old + n_new))
    assert f"stability {found.stability:.2f}" in str(found) and " -> " in str(found)
    assert found.to_dict()["stability"] == found.stability

"""How a list whose sum is a score is read: shares and points, explanations in log-odds, effects, weights again."""

import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss

import pysirus
from hostile import make_model, new_rows
from pysirus import SirusClassifier, SirusRegressor
from pysirus._families.of_model import family_of
from pysirus._parameters import ParameterError
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus._use.diff import diff
from pysirus._use.effect import effect

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def two(cancer):
    return SirusClassifier(n_rules=3, n_stages=3, n_trees=500, random_state=0).fit(*cancer)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"})


@pytest.fixture(scope="module")
def three(iris):
    return SirusClassifier(n_rules=4, n_trees=500, random_state=0).fit(*iris)


def log_odds(p):
    return np.log(p / (1 - p))


# ----------------------------------------------------------------------------------------------------------- the text


def test_two_classes_by_hand():
    rule = FittedRule((Condition("x", upper=3.0, upper_cut=("value", 3.0)),), inside=(0.2, 0.8), outside=(0.9, 0.1))
    first = FittedRule(rule.conditions, inside=(0.2, 0.8), outside=(0.9, 0.1), weight=2.0, classes=(0, 1))
    reading = family_of("softmax", "y", (0.5, 0.5), classes=(0, 1))
    # two points for each share above the mean: 2 * (0.8 - 0.2) inside, 2 * (0.1 - 0.9) outside
    assert reading.adds(first) == "+1.20 / -1.60"
    shares = ((0.3, 0.7), (0.6, 0.4))
    later = FittedRule(rule.conditions, inside=(-0.1, 0.1), outside=(0.05, -0.05), weight=3.0, stage=2, observed=shares)
    assert reading.adds(later) == "+0.60 / -0.30"
    assert reading.outputs(later) == ("class 1 70%", "40%") and reading.outputs(later, named=False) == ("70%", "40%")
    assert reading.head(np.asarray(0.25)) == (
        "probability of class 1: 50.0% on average; points are log-odds of class 1, from +0.25 on"
    )


def test_several_classes_show_the_class_that_moves_most():
    rule = FittedRule(
        (Condition("x", upper=3.0, upper_cut=("value", 3.0)),),
        inside=(0.1, 0.2, 0.7),
        outside=(0.3, 0.3, 0.4),
        weight=2.0,
    )
    reading = family_of("softmax", "y", (0.25, 0.25, 0.5), classes=("a", "b", "c"))
    assert reading.outputs(rule, named=False) == ("c 70%", "40%")
    assert reading.adds(rule) == "+0.40 / -0.20"


def test_a_logarithm_is_read_as_factors():
    rule = FittedRule((Condition("x", upper=3.0, upper_cut=("value", 3.0)),), inside=4.0, outside=1.0, weight=0.5)
    reading = family_of("log", "visits", 2.0)
    assert reading.outputs(rule) == ("4.00", "1.00")
    assert reading.adds(rule) == f"×{np.exp(1):.2f} / ×{np.exp(-0.5):.3f}"
    assert family_of("softmax", "y", (0.5, 0.5), classes=(0, 1)).points_texts([0.001, -0.002]) == ("+0.0010", "-0.0020")


def test_a_list_prints_shares_and_points(two):
    lines = str(two).splitlines()
    assert lines[0].startswith("probability of class 1: 62.7% on average; points are log-odds of class 1, from ")
    assert lines[2].split() == ["#", "stage", "frequency", "rule", "adds", "rows"]
    assert len(lines) == 3 + len(two.rules_)
    assert max(map(len, lines)) <= 120
    for line, rule in zip(lines[3:], two.rules_):
        inside, outside = (100 * share[1] for share in rule.means)
        assert f" then {inside:.0f}% else {outside:.0f}% " in line and "-0%" not in line
        assert " / ".join(f"{side:+.2f}" for side in two.model_.added(rule)) in line
        assert re.search(rf" {rule.n_inside:,} \([\d.]+%\)$", line)
    alone = str(two.rules_).splitlines()
    assert alone[0].split() == ["#", "stage", "frequency", "rule", "adds", "rows"] and " then class 1 " in alone[1]
    assert str(two.selected_).splitlines()[0].split()[-2:] == ["adds", "rows"]
    assert "adds" in str(two.rules_[:2]) and "<th" in two.rules_._repr_html_()
    assert "then class 1" not in two.model_._repr_html_()


def test_corrections_show_what_the_data_say(cancer, two):
    X, y = cancer
    corrections = [rule for rule in two.rules_ if rule.stage > 1]
    assert corrections
    table = two.model_.align(X)
    for rule in corrections:
        holds = rule.holds(table)
        assert rule.means[0][1] == pytest.approx(y[holds].mean()) and rule.means[1][1] == pytest.approx(
            y[~holds].mean()
        )
        assert str(rule).endswith(f"then class 1 {100 * y[holds].mean():.0f}% else {100 * y[~holds].mean():.0f}%")


def test_points_add_up_to_the_log_odds(cancer, two):
    X, _ = cancer
    table = two.model_.align(X)
    total = np.full(len(X), float(two.model_.average_score))
    for rule in two.rules_:
        inside, outside = two.model_.added(rule)
        total += np.where(rule.holds(table), inside, outside)
    np.testing.assert_allclose(total, two.decision_function(X), atol=1e-12)


def test_several_classes_print_in_narrow_lines(three):
    lines = str(three).splitlines()
    assert lines[0].startswith("target on average: setosa 33.3%")
    assert all(len(line) <= 120 for line in lines)
    assert all(line.count("%") == 3 for line in lines[3:])  # two outputs, and the rows


def test_numbers_in_stages_are_read_by_what_is_added(ozone):
    X, y = ozone
    model = SirusRegressor(n_rules=1, n_stages=4, n_trees=300, random_state=0).fit(X, y)
    lines = str(model).splitlines()
    assert lines[0] == f"{model.model_.target} = {y.mean():.2f} + what each rule adds"
    assert lines[2].split() == ["#", "stage", "frequency", "rule", "rows"]
    table = model.model_.align(X)
    total, frame = np.full(len(X), float(model.model_.average_score)), model.rules_.to_frame("pandas")
    for line, rule, inside, outside in zip(lines[3:], model.rules_, frame["adds_inside"], frame["adds_outside"]):
        total += np.where(rule.holds(table), inside, outside)
        printed = [float(text.split()[0]) for text in line.split(" then ")[1].split(" else ")]
        assert printed == pytest.approx([inside, outside], abs=0.006) and "mean_inside" not in frame
    np.testing.assert_allclose(total, model.predict(X), atol=1e-9)
    assert "what each rule adds" in model.export("markdown") and "weight" not in model.export("markdown")
    assert model.export("latex").count(r" & ") and "weight" not in model.export("html")
    assert "weight" in str(SirusRegressor(n_rules=2, n_trees=50, random_state=0).fit(X, y))


@pytest.mark.parametrize("kind", ["regression", "stages", "classes", "survival"])
def test_no_line_is_longer_than_120_characters(kind):
    model = make_model(kind)._as_model()
    for text in (str(model), str(model.selected), *map(str, model.selected), str(diff(model, model))):
        assert max(map(len, text.splitlines())) <= 120
    assert "…" not in model.text(full=True) and model.rules.is_folded == (
        model.rules.text(full=True) != str(model.rules)
    )


def test_the_frame_has_shares_and_points(two):
    frame = two.rules_.to_frame("pandas")
    added = [two.model_.added(rule) for rule in two.rules_]
    assert frame["adds_inside"].tolist() == [float(a) for a, _ in added]
    assert frame["adds_outside"].tolist() == [float(b) for _, b in added]
    assert [tuple(v) for v in frame["mean_inside"]] == [rule.means[0] for rule in two.rules_]
    equal = RuleSet(list(two.rules_)).to_frame("pandas")
    assert "adds_inside" not in equal and "mean_inside" not in equal


def test_rules_with_their_reading_can_be_pickled(two):
    assert str(pickle.loads(pickle.dumps(two.rules_))) == str(two.rules_)


# ---------------------------------------------------------------------------------------------------- explanations


@pytest.mark.parametrize("kind", ["two scores", "four scores", "staged scores"])
def test_contributions_are_points_and_the_prediction_is_a_probability(kind):
    model = make_model(kind).model_
    rows = new_rows()
    explanation = model.explain(rows)
    assert (explanation.prediction == model.predict_proba(rows)).all()  # to the last bit
    centred = explanation.centred()
    np.testing.assert_allclose(centred.prediction, model.predict_proba(rows), atol=1e-12)
    running = centred.running
    assert running.shape == (len(rows), len(model.rules) + 1, len(model.classes))
    np.testing.assert_allclose(running[:, -1], model.predict_proba(rows), atol=1e-12)
    steps = np.diff(np.log(running), axis=1)  # differences between classes are those of the contributions
    wanted = centred.contributions - centred.contributions[..., :1]
    np.testing.assert_allclose(steps - steps[..., :1], wanted, atol=1e-9)


def test_of_two_classes_the_log_odds_are_told(cancer, two):
    X, _ = cancer
    explanation = two.explain(X[:2])
    frame = explanation.to_frame("pandas")
    assert set(frame["class"]) == {1}
    total = frame.groupby("row")["contribution"].sum()
    np.testing.assert_allclose(total, two.decision_function(X[:2]), atol=1e-12)
    last = frame.groupby("row")["prediction"].last()
    np.testing.assert_allclose(last, two.predict_proba(X[:2])[:, 1], atol=1e-12)
    *lines, decision = str(explanation[0]).splitlines()
    assert decision.startswith(f"decision: class {two.predict(X[:1])[0]}. Probability of class 1: ")
    assert lines[0] == "Contributions to the log-odds of class 1, from the average training row"
    assert lines[1].split() == ["#", "applies", "rule", "log-odds", "probability", "of", "class", "1"]
    assert lines[2].split()[0] == "average"
    end = next(i for i, line in enumerate(lines) if line.split()[0] == "prediction")
    assert lines[end].endswith(f"{100 * two.predict_proba(X[:1])[0, 1]:.1f}%") and lines[end + 1].startswith("inputs: ")
    points = [float(line.split()[-2]) for line in lines[3:end]]
    table = two.model_.align(X[:1])
    for rule, found in zip(two.rules_, points):
        assert found == pytest.approx(float(two.model_.added(rule)[0 if rule.holds(table)[0] else 1]), abs=0.0051)


def test_of_several_classes_each_has_points(iris, three):
    *lines, decision = str(three.explain(iris[0][:1])).splitlines()
    assert decision.startswith("decision: setosa. Probabilities: setosa ")
    assert lines[1].endswith("probability of setosa") and lines[-1].split()[0] == "probability"
    shares = [float(cell.rstrip("%")) for cell in lines[-1].split()[1:]]
    assert shares == pytest.approx((100 * three.predict_proba(iris[0][:1])[0]).tolist(), abs=0.051)
    frame = three.explain(iris[0][:1]).to_frame("pandas")
    assert frame.groupby("rule")["contribution"].sum().abs().max() < 1e-12  # over classes


# --------------------------------------------------------------------------------------------- effects and differences


def test_an_effect_is_on_the_score_and_with_a_table_on_the_probability(cancer, two):
    X, _ = cancer
    feature = two.rules_[0].conditions[0].feature
    alone, found = effect(two.model_, feature), effect(two.model_, feature, X)
    assert alone.predictions is None and found.predictions is not None
    table = two.model_.align(X)
    (axis,) = found.axes
    for step, value in enumerate(axis.column.values):
        rows = X.assign(**{feature: value})
        scores = two.model_.scores(rows)
        np.testing.assert_allclose(found.values[step], scores.mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(found.predictions[step], two.predict_proba(rows).mean(axis=0), atol=1e-9)
    assert effect(two.model_, feature, table, with_predictions=False).predictions is None


def test_two_models_of_scores_compare_by_points(cancer, two):
    X, y = cancer
    other = SirusClassifier(n_rules=3, n_stages=3, n_trees=500, random_state=0).fit(X[:400], y[:400])
    found = diff(two, other)
    assert str(found).splitlines()[2].split()[-1] == "adds" and found.kept
    old, new = found.kept[0]
    assert found.to_dict()["kept"][0]["new"]["adds"] == [float(side) for side in other.model_.added(new)]
    assert found.to_dict()["kept"][0]["old"]["adds"] == [float(side) for side in two.model_.added(old)]
    equal = SirusClassifier(n_rules=3, weighting="equal", n_trees=500, random_state=0).fit(X, y)
    assert str(diff(equal, two)).splitlines()[2].split()[-1] == "weight"


# --------------------------------------------------------------------------------------------------- weights again


@pytest.mark.parametrize("which", ["two", "three"])
def test_all_rules_again_are_the_fitted_weights(request, which):
    model = request.getfixturevalue(which)
    again = model.without([])
    wanted = [rule.weight for rule in model.selected_]
    np.testing.assert_allclose([rule.weight for rule in again.selected], wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(again.intercept, model.intercept_, atol=1e-6)


@pytest.mark.parametrize("which", ["two", "three"])
def test_weights_without_the_data_are_near_those_with_it(request, cancer, iris, which):
    model, (X, y) = request.getfixturevalue(which), {"two": cancer, "three": iris}[which]
    near, exact = model.without(2), model.without(2, X, y)
    assert near.facts["approximate_weights"] is True and "approximate_weights" not in exact.facts
    assert "weights are approximate" in str(near) and "approximate" not in str(exact)
    dropped = replace(model.model_, selected=RuleSet([r for r in model.selected_ if r != model.rules_[1]]))
    before, least, found, none = (log_loss(y, m.predict_proba(X)) for m in (model, exact, near, dropped))
    assert before < least and found < none
    assert found - least < 0.35 * (none - least)  # what is gained by weighing again, nearly all of it
    assert all(rule.weight >= 0 for rule in near.selected)
    assert near.facts["removed_rules"] == [model.rules_[1].condition_text]
    assert near.without(1).facts["removed_rules"][1:] == [near.rules[0].condition_text]


def test_weights_from_the_data_are_those_of_a_fit(iris, three):
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    for k in (1, 2, 4):
        again = SirusClassifier(n_rules=k, n_trees=500, random_state=0).fit(X, y)
        assert (three.with_rules(k, X, y).predict_proba(X) == again.predict_proba(X)).all()
    whole = SirusClassifier(n_rules=4, n_trees=500, random_state=0).fit(X, y, sample_weight=weights)
    part = SirusClassifier(n_rules=2, n_trees=500, random_state=0).fit(X, y, sample_weight=weights)
    again = whole.with_rules(2, X, y, sample_weight=weights)
    np.testing.assert_allclose(again.predict_proba(X), part.predict_proba(X), atol=1e-12)


def test_the_data_must_be_the_models(ozone, iris, three):
    X, y = iris
    with pytest.raises(ParameterError, match="both X and y"):
        three.without(1, X)
    with pytest.raises(ValueError, match="daisy"):
        three.without(1, X, ["daisy"] * len(y))
    numbers = SirusRegressor(n_rules=3, n_trees=100, random_state=0).fit(*ozone)
    given, kept = numbers.without(1, *ozone), numbers.without(1)
    assert given.predict(ozone[0]) == pytest.approx(kept.predict(ozone[0]), rel=1e-12)


def test_the_likelihood_survives_the_file(tmp_path, two, three):
    for model in (two, three):
        path = tmp_path / "m.json"
        model.save(path)
        loaded = pysirus.load(path)
        assert [r.weight for r in loaded.without(1).selected] == [r.weight for r in model.without(1).selected]
        edited = model.without(1)
        edited.save(path)
        assert pysirus.load(path).facts["approximate_weights"] is True
        document = json.loads(path.read_text())
        del document["likelihood"]
        path.write_text(json.dumps(document))
        with pytest.raises(ValueError, match="give X and y"):
            pysirus.load(path).without(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["likelihood"].update(linear="1 2"), "likelihood.linear must be a line of"),
        (lambda d: d["likelihood"].update(linear=[1.0]), "likelihood.linear must be a line of numbers"),
        (lambda d: d["likelihood"].update(extra=1), "does not know"),
        (
            lambda d: d["likelihood"].update(linear=d["likelihood"]["linear"].replace(" ", " 1e200 ", 1)),
            "must be a line",
        ),
        (lambda d: _set_first(d, "linear", "1e200"), "numbers of at most"),
        (lambda d: _set_first(d, "curvature", "-5"), "convex"),
        (lambda d: d.update(link="identity"), "is for a model with a link"),
    ],
)
def test_a_damaged_likelihood_is_refused(tmp_path, two, change, message):
    path = tmp_path / "m.json"
    two.save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(pysirus.ModelFileError, match=message):
        pysirus.load(path)


def _set_first(document, name, value):
    line = document["likelihood"][name].split(" ")
    document["likelihood"][name] = " ".join([value, *line[1:]])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_to_start_from_is_the_average_one(cancer, weighted):
    X, y = cancer
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    model = SirusClassifier(n_rules=2, n_stages=4, n_trees=200, random_state=0).fit(X, y, sample_weight=weights)
    assert any(rule.stage > 1 for rule in model.rules_)
    average = np.average(model.decision_function(X), weights=weights)
    assert float(model.model_.average_score) == pytest.approx(average, abs=1e-6)
    centred = model.explain(X).centred()
    np.testing.assert_allclose(np.average(centred.contributions, axis=0, weights=weights), 0, atol=1e-6)

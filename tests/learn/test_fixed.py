"""Rules with a fixed effect: they add what somebody says, and the other weights are fitted to what that leaves."""

import json
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls

import pysirus
from cox_oracle import partial_log_likelihood
from parts import assert_equal_models
from pysirus import ModelFileError, RuleTextError, SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvival
from pysirus._families.links import ON_ODDS
from pysirus._parameters import ParameterError
from pysirus._terms.fitted import Effect, read_effect
from pysirus._terms.from_text import columns_of_rules, read_rule
from pysirus._weights.survival import risk_sets
from signed import answers_of, assert_obeys, draw_table, estimator_of, target_of
from survival_table import COLUMNS, survival_table

FAST = {"n_trees": 100, "random_state": 0, "n_rules": 6}
CONDITIONS = "a < 0.123 & few >= 2"
FIXED = {
    "numbers": "+0.8 if a < 0.123 & few >= 2",
    "poisson": "×1.5 if a < 0.123 & few >= 2",
    "gamma": "×0.7 if a < 0.123 & few >= 2",
    "classes": "-0.9 if a < 0.123 & few >= 2",
    "several": "+1.2 for mid if a < 0.123 & few >= 2",
}


@pytest.fixture(scope="module")
def rows():
    X, score, _, _, _ = draw_table(11, 240)
    inside = ((X["a"] < 0.123) & (X["few"] >= 2)).to_numpy()
    return X, score, np.random.default_rng(5).exponential(size=240), inside


def response_of(response, score):
    if response == "several":
        return np.array(["low", "mid", "top"])[np.digitize(score, [-0.4, 0.6])]
    return target_of(response, score, np.random.default_rng(0))


def estimator(response, **parameters):
    return estimator_of("classes" if response == "several" else response, **parameters)


def design(model, X):
    """The outputs of the rules after the fixed one, [row, rule]."""
    table = model.align(X, rules=model.selected)
    return np.column_stack([np.where(r.holds(table), r.inside, r.outside) for r in model.selected[1:]])


# ----------------------------------------------------------------------------------------------- the weights


def test_weights_are_those_of_the_response_less_the_effect(rows):
    X, y, weights, inside = rows
    model = SirusRegressor(required_rules=[FIXED["numbers"]], **FAST).fit(X, y, sample_weight=weights).model_
    first, *others = model.selected
    assert (first.inside, first.outside, first.weight, first.given) == (0.8, 0.0, 1.0, True)
    own = weights / weights.sum()
    Z, left = design(model, X), y - 0.8 * inside
    Z0, left0 = Z - own @ Z, left - own @ left
    penalty = model.facts["ridge_penalty"]
    stacked = np.vstack([np.sqrt(own)[:, None] * Z0, np.sqrt(penalty) * np.eye(len(others))])
    wanted, _ = nnls(stacked, np.concatenate([np.sqrt(own) * left0, np.zeros(len(others))]))
    assert [rule.weight for rule in others] == pytest.approx(wanted, abs=1e-9) and max(wanted) > 0
    assert model.intercept == pytest.approx(own @ left - (own @ Z) @ wanted, abs=1e-9)
    assert model.predict(X) == pytest.approx(model.intercept + 0.8 * inside + Z @ wanted, abs=1e-9)


def test_the_penalty_is_chosen_for_the_response_less_the_effect(rows):
    """A list of rules that are all required, on y, is the list without the fixed one on what it leaves."""
    from pysirus._families.responses import NumberResponse
    from pysirus._use.estimate import Rows, training_on
    from pysirus._weights.moments import gram_of, less_fixed
    from pysirus._weights.weighted import ridge_weights

    X, y, weights, inside = rows
    model = SirusRegressor(required_rules=[FIXED["numbers"]], **FAST).fit(X, y, sample_weight=weights).model_
    table = model.align(X, rules=model.selected)
    grams = []
    for own, answers in ((model.selected, y), (model.selected[1:], y - 0.8 * inside)):
        training = training_on(model, own, Rows(table, NumberResponse(answers, weights=weights)))
        grams.append(gram_of(training.moments(own), own))
    found, wanted = less_fixed(grams[0], 1), grams[1]
    for name, value in vars(wanted).items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-7), name
    sizes = range(len(model.selected))
    for got, want in zip(ridge_weights(found, sizes, least=1), ridge_weights(wanted, sizes, least=1)):
        assert got == pytest.approx(want, abs=1e-6)


def losses(response, y, weights):
    """The mean loss as a function of scores, [row] or [row, class]."""
    own = weights / weights.sum()

    def softmax(eta, codes):
        top = eta.max(axis=1)
        return own @ (np.log(np.exp(eta - top[:, None]).sum(axis=1)) + top - eta[np.arange(len(eta)), codes])

    codes = np.unique(y, return_inverse=True)[1]
    return {
        "poisson": lambda eta: own @ (np.exp(eta) - y * eta),
        "gamma": lambda eta: own @ (y * np.exp(-eta) + eta),
        "classes": lambda eta: softmax(eta, codes),
        "several": lambda eta: softmax(eta, codes),
    }[response]


@pytest.mark.parametrize("response", ["poisson", "gamma", "classes", "several"])
@pytest.mark.parametrize("n_stages", [1, 3])
def test_scores_are_at_the_minimum_beside_the_effect(rows, response, n_stages, monkeypatch):
    monkeypatch.setattr("pysirus._weights.weighted.NEGLIGIBLE", 0.0)  # which has weight 0 beside this minimum
    X, score, weights, inside = rows
    y = response_of(response, score)
    model = estimator(response, required_rules=[FIXED[response]], n_rules=5, n_stages=n_stages)
    model = model.fit(X, y, sample_weight=weights).model_
    first, *others = model.selected
    assert first.weight == 1.0 and not np.any(first.outside)
    loss, eta, step = losses(response, y, weights), model.scores(X), 1e-5
    table, penalty = model.align(X, rules=model.selected), model.facts["ridge_penalty"]
    columns = [(0.0, np.eye(eta.shape[-1])[k] if eta.ndim > 1 else 1.0) for k in range(eta[0].size)]
    for rule in others:
        holds = rule.holds(table)
        sides = [np.where(holds, a, b) for a, b in zip(np.atleast_1d(rule.inside), np.atleast_1d(rule.outside))]
        columns.append((rule.weight, np.column_stack(sides).reshape(eta.shape)))
    for i, (weight, column) in enumerate(columns):
        slope = (loss(eta + step * column) - loss(eta - step * column)) / (2 * step) + penalty * weight
        free = i < eta[0].size or weight > 0
        assert abs(slope) < 1e-7 if free else slope > -1e-7
    assert sum(weight > 0 for weight, _ in columns) > 0
    gap = {"poisson": np.log(1.5), "gamma": np.log(0.7), "classes": -0.9, "several": 1.2}[response]
    scores = np.asarray(first.inside)
    own = scores if scores.ndim == 0 else scores[1] - scores[0]
    assert own == pytest.approx(gap) and inside.any()


def test_a_hazard_is_at_the_minimum_beside_the_effect(monkeypatch):
    monkeypatch.setattr("pysirus._weights.weighted.NEGLIGIBLE", 0.0)  # which has weight 0 beside this minimum
    X, y = survival_table()
    X = pd.DataFrame(X, columns=COLUMNS)
    model = SirusSurvival(required_rules=["×2 if age < 45"], n_stages=3, **FAST).fit(X, y).model_
    free = SirusSurvival(required_rules=["age < 45"], n_stages=3, **FAST).fit(X, y).model_
    first, *others = model.selected
    assert (first.inside, first.outside, first.weight) == (np.log(2), 0.0, 1.0) and first.survival is not None
    risk, eta, n_events = risk_sets(y["years"], y["event"]), model.scores(X), y["event"].sum()
    table, penalty, step = model.align(X, rules=model.selected), model.facts["ridge_penalty"], 1e-5
    for rule in others:
        column = np.where(rule.holds(table), rule.inside, rule.outside)
        sides = [partial_log_likelihood(risk, eta + way * column) for way in (step, -step)]
        slope = -(sides[0] - sides[1]) / (2 * step * n_events) + penalty * rule.weight
        assert abs(slope) < 1e-6 if rule.weight > 0 else slope > -1e-6
    assert "×2 if age < 45" in str(model) and free.selected[0].effect is None
    assert model.family.adds(first) == "×2.00 / ×1.00"


@pytest.mark.parametrize("response", ["numbers", "poisson", "classes", "several"])
def test_an_effect_of_nothing_leaves_the_others_alone(rows, response):
    X, score, weights, _ = rows
    nothing = {"numbers": "+0", "classes": "-0", "several": "+0 for low"}.get(response, "x1")
    y = response_of(response, score)
    n = 4  # with one rule a list of numbers is not weighed
    free = estimator(response, n_rules=n).fit(X, y, sample_weight=weights)
    held = estimator(response, n_rules=n + 1, required_rules=[f"{nothing} if {CONDITIONS}"])
    held.fit(X, y, sample_weight=weights)
    pairs = zip(free.selected_, held.selected_[1:])
    assert all(a == b and a.weight == pytest.approx(b.weight, abs=1e-9) for a, b in pairs)
    assert held.model_.raw_predict(X) == pytest.approx(free.model_.raw_predict(X), abs=1e-9)


# --------------------------------------------------------------------------------- through everything that follows


@pytest.mark.parametrize("response", list(FIXED))
@pytest.mark.parametrize("tuned", [False, True])
def test_every_response_keeps_it(rows, response, tuned, tmp_path):
    X, score, weights, _ = rows
    y = response_of(response, score)
    required = ["grade in {low, mid}", FIXED[response]]
    stages = 2 if not tuned else "auto"
    model = estimator(response, tuned=tuned, required_rules=required, n_stages=stages).fit(X, y, sample_weight=weights)
    first, second = model.selected_[:2]
    assert str(first) == FIXED[response] and first.frequency_text == "given, fixed" and second.given
    assert FIXED[response] in str(model) and first.effect == model.rules_[0].effect
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again.required_rules == required and again.selected_[0].effect == first.effect
    assert again.model_.raw_predict(X).tolist() == model.model_.raw_predict(X).tolist()
    if tuned:
        for size in model.model_.tuning.sizes:
            assert size.weights[0] == 1.0
        shorter = again.model_.with_rules(1)
        assert shorter.selected[0].weight == 1.0 and np.isfinite(shorter.raw_predict(X)).all()
        if response != "gamma":  # whose mean is not that of its rows
            shares = np.average(shorter.raw_predict(X), axis=0, weights=weights)
            assert shares == pytest.approx(np.asarray(model.model_.mean), rel=1e-6)  # what is left is the constant


def test_rules_of_another_model_take_an_effect(rows, tmp_path):
    X, y, _, _ = rows
    model = SirusRegressor(**FAST).fit(X, y)
    rule = model.selected_[1].with_effect("-0.25")
    again = SirusRegressor(required_rules=[rule, model.selected_[2]], **FAST).fit(X, y)
    assert again.selected_[0] == rule and again.selected_[0].effect == Effect(-0.25)
    assert again.selected_[1].effect is None and again.selected_[1].given
    again.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").required_rules == [rule.text, model.selected_[2].condition_text]
    with pytest.raises(ValueError, match="An effect is text such as"):
        rule.with_effect("two")


def test_an_effect_keeps_directions(rows):
    X, y, _, _ = rows
    options = {"monotonic_cst": {"a": -1}, **FAST}
    model = SirusRegressor(required_rules=["+0.8 if a < 0.1"], **options).fit(X, y)
    assert_obeys(model.model_, X, {"a": -1})
    with pytest.raises(ParameterError, match="it rises with 'a', and must be decreasing"):
        SirusRegressor(required_rules=["-0.8 if a < 0.1"], **options).fit(X, y)
    with pytest.raises(ParameterError, match="breaks a constraint of the model: it rises with 'a'"):
        model.adding("-0.8 if a < 0.2", X, y)
    with pytest.raises(ParameterError, match="it falls with 'a', and must be increasing"):
        SirusClassifier(required_rules=["+1 for no if a >= 0"], monotonic_cst={"a": 1}, **FAST).fit(
            X, np.where(y > 0, "yes", "no")
        )


@pytest.mark.parametrize("response", ["numbers", "poisson", "classes"])
def test_edits_keep_it(rows, response, tmp_path):
    X, score, _, _ = rows
    y = response_of(response, score)
    model = estimator(response, required_rules=[FIXED[response]], n_rules=5).fit(X, y).model_
    edited = model.without(3)
    assert str(edited.selected[0]) == FIXED[response] and edited.selected[0].weight == 1.0
    with_rows = model.without(3, X, y) if response == "classes" else None
    if with_rows is not None:
        assert edited.scores(X) == pytest.approx(with_rows.scores(X), abs=0.2)
    struck = model.without(FIXED[response], note="no longer wanted")
    assert struck.facts["edits"][0]["removed"] == [FIXED[response]] and struck.selected[0].effect is None
    plain = estimator(response, n_rules=5).fit(X, y).model_
    added = plain.adding([FIXED[response], "b is missing"], X, y)
    assert added.facts["edits"][0]["added"] == [FIXED[response], "b is missing"]
    assert str(added.selected[0]) == FIXED[response] and added.selected[-1].condition_text == "b is missing"
    added.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").raw_predict(X).tolist() == added.raw_predict(X).tolist()


def test_adding_is_fitting(rows):
    X, y, _, _ = rows
    model = SirusRegressor(required_rules=[FIXED["numbers"]], **FAST).fit(X, y).model_
    again = model.without(1).adding(FIXED["numbers"], X, y)
    assert [rule.weight for rule in again.selected] == pytest.approx([rule.weight for rule in model.selected])
    assert again.predict(X) == pytest.approx(model.predict(X))


def test_a_survival_model_is_edited_with_it():
    X, y = survival_table(120)
    X = pd.DataFrame(X, columns=COLUMNS)
    model = SirusSurvival(**FAST).fit(X, y).model_
    added = model.adding("×2 if age < 45", X, y)
    edited = added.without(3, X, y)
    assert edited.selected[0].weight == 1.0 and str(edited.selected[0]) == "×2 if age < 45"


@pytest.mark.parametrize("response", ["numbers", "poisson", "several"])
def test_parts_keep_the_same(rows, response, tmp_path):
    X, score, _, _ = rows
    X, y = X.drop(columns="free"), pd.Series(response_of(response, score), name="y")
    options = {"required_rules": ["grade in {low, mid}", FIXED[response]], "n_rules": 6}
    memory = estimator(response, **options).fit(X, y)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    files = estimator(response, **options).fit_files(tmp_path / "rows.parquet", "y")
    assert_equal_models(files.model_, memory.model_)
    assert [r.weight for r in files.selected_] == [r.weight for r in memory.selected_]


@pytest.mark.parametrize("response", ["numbers", "poisson", "classes"])
def test_views_mark_it(rows, response, tmp_path):
    X, score, _, _ = rows
    y = response_of(response, score)
    known = {"required_rules": [FIXED[response]], "interaction_cst": "pairwise"}
    model = estimator(response, n_rules=4, **known).fit(X, y)
    mark = "given, fixed"
    assert mark in str(model) and mark in model.rules_._repr_html_()
    assert model.rules_.to_frame("pandas")["effect"].tolist()[0] == FIXED[response].split(" if")[0]
    for kind in ("markdown", "latex", "html"):
        assert mark in model.export(kind), kind
    for kind in ("sql", "python"):
        assert f"{FIXED[response]} ({mark})" in model.export(kind), kind
    connection = duckdb.connect()
    connection.register("rows", X.assign(grade=X["grade"].astype(object), id=np.arange(len(X))))
    frame = connection.execute(f"SELECT {model.export('sql', dialect='duckdb').strip()} FROM rows ORDER BY id").df()
    found = frame["probability_yes" if response == "classes" else frame.columns[0]]
    assert found.to_numpy() == pytest.approx(answers_of(model.model_, X))
    model.report(tmp_path / "r.html", X=X, y=y)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    effect = FIXED[response].split(" if")[0]
    shown = effect.replace("-", "−")
    assert f"<td>{shown} if a &lt; 0.123 &amp; few &gt;= 2</td>" in page and "given, with a fixed effect" in page
    assert f"given with the fixed effect {effect}" in page
    assert f"{FIXED[response]}  ->  {FIXED[response].removeprefix(effect + ' if ')}" in str(
        model.diff(estimator(response, n_rules=4, required_rules=[CONDITIONS]).fit(X, y))
    )
    explanation = model.explain(X)
    assert explanation.prediction == pytest.approx(model.model_.raw_predict(X))
    model.export("excel", tmp_path / "m.xlsx", X=X.head(3))


def test_a_given_rule_of_no_weight_goes_to_excel(rows, tmp_path):
    X, score, _, _ = rows
    y = np.where(score > 0, "yes", "no")
    model = SirusClassifier(required_rules=["a < -1.2345 & few < 1"], **FAST).fit(X, y).model_
    first = model.selected[0]
    model = replace(model, selected=type(model.selected)([replace(first, weight=0.0), *model.selected[1:]]))
    model.export("excel", tmp_path / "m.xlsx")
    assert (tmp_path / "m.xlsx").stat().st_size > 0


# ------------------------------------------------------------------------------------------------ text and errors


@pytest.mark.parametrize(
    "response, text, message",
    [
        (
            "numbers",
            "×2 if a < 0.1",
            "rules add to the prediction: write an amount such as '\\+0.5' instead of '×2'",
        ),
        ("poisson", "+2 if a < 0.1", "rules multiply the prediction: write a factor"),
        ("poisson", "×0 if a < 0.1", "a factor must be above 0"),
        ("classes", "x2 if a < 0.1", "rules add to log-odds"),
        ("classes", "+2 for maybe if a < 0.1", "there is no class 'maybe'; the classes are {no, yes}"),
        ("classes", "+2000 if a < 0.1", "'\\+2000' is too large an effect"),
        ("several", "+2 if a < 0.1", "name the class that it is for, such as '\\+2 for low'"),
        ("numbers", "+2 for yes if a < 0.1", "'\\+2 for yes' names a class, and this model has none"),
        ("equal", "+2 if a < 0.1", "with weighting='equal' rules have no effect of their own"),
    ],
)
def test_an_effect_that_cannot_be_taken(rows, response, text, message):
    X, score, _, _ = rows
    with pytest.raises(ParameterError, match=f"required_rules: the effect of '.*' is not allowed: {message}"):
        estimator(response, required_rules=[text], n_rules=4).fit(X, response_of(response, score))
    with pytest.raises(ParameterError, match=r"has an effect\. Give the conditions alone: 'a < 0.1'"):
        estimator(response, forbidden=[text], n_rules=4).fit(X, response_of(response, score))


@pytest.mark.parametrize(
    "text, position",
    [
        ("+2 iff a < 1", 3),
        ("+2", 2),
        ("+ a < 1", 0),
        ("+2 if", 5),
        ("-2 for yes a < 1", 16),
        ("+2 if a <= 1", 9),
        ("×", 0),
    ],
)
def test_a_broken_effect_is_pointed_at(rows, text, position):
    X, y, _, _ = rows
    model = SirusRegressor(**FAST).fit(X, y).model_
    with pytest.raises(RuleTextError) as caught:
        read_rule(text, columns_of_rules(model.features, model.selected))
    assert caught.value.position == position, caught.value


@pytest.mark.parametrize("text", ["+2", "-0.5", "+1e-07", "-1e+20", "+0.1 for x y", "+3 for a if b", "×1.5", "×1e-05"])
def test_effects_print_as_they_are_read(text):
    assert str(read_effect(text)) == text
    X = pd.DataFrame({"a": [0.0, 1, 2, 3] * 5, "x1": [0.0, 1] * 10, "x2 if a": [0.0, 0, 5, 5] * 5})
    model = SirusRegressor(n_trees=20, random_state=0).fit(X, X["a"]).model_
    columns = columns_of_rules(model.features, model.selected)
    for conditions in ("a < 0.5", "a >= 2 & x1 < 0.5", "1 <= a < 3", "x2 if a < 3"):
        rule = read_rule(f"{text} if {conditions}", columns)
        assert rule.text == f"{text} if {conditions}" and str(read_rule(rule.text, columns)) == rule.text
    assert read_rule("x1 < 0.5", columns).effect is None and read_rule("x2 if a < 3", columns).effect is None
    assert read_rule("+1 <= a < 3", columns).effect is None


def test_classes_are_named_as_they_print():
    for labels in (["if x", " a", "b"], [0, 1, 2], [True, False], ["", "a\nb", "c"]):
        for label in labels:
            effect = Effect(0.5, label=label)
            read = read_effect(str(effect))
            assert read.resolved(ON_ODDS, labels) == effect, (label, str(effect))


@pytest.mark.parametrize("response", ["numbers", "classes", "poisson"])
def test_a_damaged_effect_is_refused(rows, response, tmp_path):
    X, score, _, _ = rows
    y = response_of(response, score)
    model = estimator(response, tuned=True, required_rules=[FIXED[response]]).fit(X, y)
    model.save(tmp_path / "m.json")
    whole = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    key = "times" if response == "poisson" else "adds"

    def both(change):
        return lambda d: [change(rules[0]) for rules in (d["rules"], d["tuning"]["rules"])]

    damages = [
        (both(lambda r: r["effect"].update({key: 3.0})), "must be what the effect adds"),
        (both(lambda r: r["effect"].update({"other": 3.0})), "other"),
        (both(lambda r: r["effect"].update({"adds": 1.0, "times": 1.0})), "must have either adds or times"),
        (both(lambda r: r.update(effect={})), "must have either adds or times"),
        (both(lambda r: r.update(effect={key: 1.0, "for": "nobody"})), "class"),
        (both(lambda r: r.update(given=False)), "is of a rule that is not given"),
        (both(lambda r: r.update(outside=r["inside"])), "outside must be 0"),
        (both(lambda r: r.pop("observed")), "must have the means"),
        (lambda d: d["rules"][0].update(weight=0.5), "must be 1 where the effect is fixed"),
        (lambda d: d["tuning"]["sizes"][1]["weights"].__setitem__(0, 2.0), "must be 1 for a rule with a fixed effect"),
        (
            lambda d: [r.insert(0, r.pop(1)) for r in (d["rules"], d["tuning"]["rules"])],
            "comes after one that has none",
        ),
    ]
    for damage, message in damages:
        document = json.loads(json.dumps(whole))
        if damage.__code__.co_names and len(document["rules"]) < 2 and "insert" in damage.__code__.co_names:
            continue
        damage(document)
        (tmp_path / "d.json").write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(ModelFileError, match=message):
            pysirus.load(tmp_path / "d.json")


def test_folds_without_the_rule_leave_it_out():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "rare": [1.0] * 2 + [0.0] * 58})
    model = SirusRegressorCV(
        required_rules=["+5 if rare >= 0.5"], n_trees=40, cv=5, n_repeats=1, max_rules=4, random_state=0
    ).fit(X, X["a"] + 5 * X["rare"] + 0.1 * rng.normal(size=60))
    assert model.selected_[0].effect == Effect(5.0) and model.cv_error_ < 1


def test_any_space_may_stand_after_the_sign_of_an_effect():
    assert read_effect("-\x1e1") == read_effect("- 1") == Effect(-1.0)

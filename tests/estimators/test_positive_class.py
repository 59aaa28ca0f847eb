"""The class that is spoken of: texts, explanations, metrics, reports and exports follow it, predictions do not."""

import json

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import SirusClassifier, SirusClassifierCV
from pysirus._parameters import ParameterError

OPTIONS = {"n_rules": 5, "n_trees": 200, "random_state": 0}


def credit(seed=3, n=400):
    """Applicants, good or bad; more records are good, more age is bad."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame({"Records": draw.choice(["yes", "no"], n, p=[0.3, 0.7]), "age": draw.integers(18, 80, n) * 1.0})
    odds = 1.5 * (X["Records"] == "yes") - 0.04 * (X["age"] - 45)
    return X, np.where(draw.random(n) < 1 / (1 + np.exp(-odds)), "good", "bad")


@pytest.fixture(scope="module", params=["likelihood", "equal"])
def models(request):
    """The same model, speaking of good and of bad."""
    made = SirusClassifier(**OPTIONS, weighting=request.param)
    return made.fit(*credit()), SirusClassifier(**made.get_params() | {"positive_class": "bad"}).fit(*credit())


@pytest.fixture(scope="module")
def bad():
    return SirusClassifier(**OPTIONS, positive_class="bad").fit(*credit())


@pytest.fixture(scope="module")
def good():
    return SirusClassifier(**OPTIONS).fit(*credit())


def test_predictions_do_not_depend_on_it(models):
    good, bad = models
    X, _ = credit(4)
    assert bad.classes_.tolist() == ["bad", "good"] and (bad.predict(X) == good.predict(X)).all()
    assert (bad.predict_proba(X) == good.predict_proba(X)).all()
    assert (bad.decision_function(X) == good.decision_function(X)).all()
    assert [rule.inside for rule in bad.rules_] == [rule.inside for rule in good.rules_]
    assert list(bad.rules_) == list(good.rules_)


def test_texts_speak_of_it(models):
    good, bad = models
    assert ("log-odds of bad" if bad.weighting == "likelihood" else "bad ") in str(bad)
    assert "good" not in str(bad).splitlines()[-1]
    share = 100 * bad.rules_[0].inside[0]
    assert f"{share:.0f}%" in bad.rules_.rule_text(bad.rules_[0])
    if bad.weighting == "likelihood":
        for rule in bad.rules_:
            np.testing.assert_array_equal(bad.model_.added(rule), -np.array(good.model_.added(rule)))
    for format in ("markdown", "html", "latex"):
        assert "bad" in bad.export(format) and bad.export(format) != good.export(format)


def test_explanations_speak_of_it(bad, good):
    X, _ = credit(4)
    rows = X[:3]
    frame = bad.explain(rows).to_frame("pandas")
    assert set(frame["class"]) == {"bad"}
    np.testing.assert_allclose(frame.groupby("row")["contribution"].sum(), -bad.decision_function(rows), atol=1e-12)
    np.testing.assert_array_equal(frame.groupby("row")["prediction"].last(), bad.predict_proba(rows)[:, 0])
    np.testing.assert_array_equal(frame["contribution"], -good.explain(rows).to_frame("pandas")["contribution"])
    text = str(bad.explain(rows[:1]))
    assert text.startswith("Contributions to the log-odds of bad,") and "probability of bad" in text
    *_, probability, decision = text.splitlines()
    assert probability.endswith(f"{100 * bad.predict_proba(rows)[0, 0]:.1f}%") and decision.startswith("decision: ")
    found = bad.explain(rows[:1]).to_dict()
    assert found["scale"] == "the log-odds of bad" and list(found["baseline"]) == ["bad"]


def test_metrics_stay_with_it(models):
    plot = pytest.importorskip("pysirus.plot")
    plt = pytest.importorskip("matplotlib.pyplot")
    good, bad = models
    X, _ = credit(4)
    for label in ("good", "bad"):
        row = X[bad.predict(X) == label][:1]  # whatever is predicted
        for model, name in ((bad, "bad"), (good, "good")):
            ax = plot.waterfall(model, row)
            assert ax.get_xlabel().endswith(f" of {name}")
            k = ["bad", "good"].index(name)
            if model.weighting == "likelihood":
                share = 100 * model.predict_proba(row)[0, k]
                assert f"{share:.1f}%" in ax.get_yticklabels()[-1].get_text()
        assert plot.waterfall(bad, row, class_="good").get_xlabel().endswith(" of good")
    assert plot.effect(bad, "age").get_ylabel().endswith(" of bad")
    plot.rules(bad)
    plt.close("all")


def test_sql_and_python_scores_are_of_it(models):
    _, bad = models
    X, _ = credit(4)
    rows = pd.concat([X, X[:5].assign(age=np.nan)])
    sqlite3 = pytest.importorskip("duckdb").connect()
    sqlite3.register("data", rows)
    found = sqlite3.execute(bad.export("sql", table="data", dialect="duckdb")).fetchdf()
    assert (found["prediction"].to_numpy() == bad.predict(rows)).all()
    np.testing.assert_allclose(found["probability_bad"], bad.predict_proba(rows)[:, 0], atol=1e-12)
    np.testing.assert_allclose(found["probability_good"], bad.predict_proba(rows)[:, 1], atol=1e-12)
    space: dict = {}
    exec(bad.export("python"), space)
    first = rows.iloc[0].to_dict()
    assert space["predict"](first) == bad.predict(rows[:1])[0]
    shares = space["predict_proba"](first)
    assert list(shares) == ["bad", "good"] and shares["bad"] == pytest.approx(bad.predict_proba(rows[:1])[0, 0])
    if bad.weighting == "likelihood":
        np.testing.assert_allclose(found["score"], -bad.decision_function(rows), atol=1e-12)
        assert "log-odds of 'bad'" in bad.export("python")
        assert space["predict_score"](first) == pytest.approx(-bad.decision_function(rows[:1])[0])


def test_ties_go_to_the_first_class_in_sql_and_python(bad):
    sums = bad.model_
    flat = sums.with_rules(0)
    even = type(flat)(**{**{f: getattr(flat, f) for f in flat.__dataclass_fields__}, "intercept": (0.0, 0.0)})
    row = credit()[0][:1]
    assert even.predict(row)[0] == "bad"
    connection = pytest.importorskip("duckdb").connect()
    connection.register("data", row)
    assert connection.execute(even.export("sql", table="data", dialect="duckdb")).fetchdf()["prediction"][0] == "bad"
    space: dict = {}
    exec(even.export("python"), space)
    assert space["predict"](row.iloc[0].to_dict()) == "bad"


def test_workbooks_cards_and_other_formats_keep_predicting(bad, good, tmp_path):
    X, _ = credit(4)
    openpyxl = pytest.importorskip("openpyxl")
    bad.export("excel", tmp_path / "m.xlsx", X=X[:3])
    header = [cell.value for cell in openpyxl.load_workbook(tmp_path / "m.xlsx")["Predict"][1]]
    assert "log-odds of bad" in header and "log-odds of good" not in header
    assert bad.export("pmml") == good.export("pmml")
    card = pytest.importorskip("pysirus.export.scorecard")
    assert card is not None
    points = [bad.export("scorecard"), good.export("scorecard", positive="bad")]
    assert points[0] == points[1] != good.export("scorecard")


def test_the_file_keeps_it(bad, tmp_path):
    bad.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["positive_class"] == "bad"
    loaded = pysirus.load(tmp_path / "m.json")
    assert str(loaded) == str(bad) and loaded.model_.positive_class == "bad" and loaded.positive_class == "bad"
    for model in (loaded.without(1), loaded.with_rules(2), loaded.adding("age >= 50", *credit())):
        assert model.positive_class == "bad" and "log-odds of bad" in str(model)
    for wrong in ("ugly", 1, True):
        (tmp_path / "w.json").write_text(json.dumps({**document, "positive_class": wrong}))
        with pytest.raises(pysirus.ModelFileError, match="positive_class"):
            pysirus.load(tmp_path / "w.json")


def test_directions_and_fixed_effects_are_about_it():
    X, y = credit()
    model = SirusClassifier(**OPTIONS, positive_class="bad", monotonic_cst={"age": 1}).fit(X, y)
    assert any("age" in str(rule) for rule in model.rules_)
    for records in ("yes", "no"):
        grid = pd.DataFrame({"Records": records, "age": np.arange(18.0, 80.0)})
        assert (np.diff(model.predict_proba(grid)[:, 0]) >= 0).all()
    assert "increasing in age" in str(model)
    against = SirusClassifier(**OPTIONS, positive_class="bad", monotonic_cst={"age": -1}).fit(X, y)
    for records in ("yes", "no"):
        grid = pd.DataFrame({"Records": records, "age": np.arange(18.0, 80.0)})
        assert (np.diff(against.predict_proba(grid)[:, 0]) <= 0).all()
    same = SirusClassifier(**OPTIONS, monotonic_cst={"age": -1}).fit(X, y)
    assert (same.predict_proba(X) == model.predict_proba(X)).all()
    fixed = SirusClassifier(**OPTIONS, positive_class="bad", required_rules=["+2 if age < 20"]).fit(X, y)
    own = next(rule for rule in fixed.rules_ if rule.effect is not None)
    inside, outside = fixed.model_.added(own)
    assert float(inside) == pytest.approx(2) and float(outside) == 0 and "+2 for bad" in str(fixed)


def test_the_file_of_a_model_with_directions_is_read_back(tmp_path):
    model = SirusClassifier(**OPTIONS, positive_class="bad", monotonic_cst={"age": 1}).fit(*credit())
    model.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").model_.constraints == model.model_.constraints


def test_what_is_no_class_is_refused():
    X, y = credit()
    with pytest.raises(ParameterError, match=r"positive_class must be one of \{bad, good\}, got 'ugly'"):
        SirusClassifier(**OPTIONS, positive_class="ugly").fit(X, y)
    with pytest.raises(ParameterError, match="positive_class is for two classes, and y has 3"):
        SirusClassifier(**OPTIONS, positive_class="bad").fit(X, np.where(X["age"] > 60, "old", y))
    with pytest.raises(ParameterError, match="positive_class must be a number, a text"):
        SirusClassifier(**OPTIONS, positive_class=["bad"]).fit(X, y)
    numbers = SirusClassifier(**OPTIONS, positive_class=np.int64(0)).fit(X, (y == "good").astype(int))
    assert numbers.model_.positive_class == 0 and "log-odds of class 0" in str(numbers)
    flags = SirusClassifier(**OPTIONS, positive_class=False).fit(X, y == "good")
    assert flags.model_.positive_class is False


def test_files_and_tuning_take_it(tmp_path):
    X, y = credit()
    X.assign(status=y).to_csv(tmp_path / "t.csv", index=False)
    model = SirusClassifier(**OPTIONS, positive_class="bad", monotonic_cst={"age": 1})
    model.fit_files(str(tmp_path / "t.csv"), "status")
    memory = SirusClassifier(**OPTIONS, positive_class="bad", monotonic_cst={"age": 1}).fit(X, y)
    assert (model.predict_proba(X) == memory.predict_proba(X)).all() and model.model_.positive_class == "bad"
    tuned = SirusClassifierCV(n_trees=60, n_repeats=1, cv=3, max_rules=4, random_state=0, positive_class="bad")
    tuned.fit(X, y)
    assert "log-odds of bad" in str(tuned) and tuned.with_rules(2).positive_class == "bad"
    from pysirus.report._summary import summary

    data = summary(tuned, X, y=y)
    (bins,) = data["heldOut"]["bins"]
    assert data["positive"] == 0 and bins["class"] == 0
    assert np.isclose(sum(bins["members"]), (y == "bad").sum())
    assert (np.diff(bins["probability"]) >= 0).all()


def test_the_command_line_takes_it(run, tmp_path):
    X, y = credit()
    table, file = tmp_path / "t.csv", tmp_path / "m.json"
    X.assign(status=y).to_csv(table, index=False)
    asked = ["fit", table, "-t", "status", "-n", 5, "--trees", 200, "-m", file]
    code, out, _ = run(*asked, "--positive", "bad")
    assert code == 0 and "log-odds of bad" in out
    assert "log-odds of bad" in run("show", file)[1]
    assert json.loads(run("show", file, "--json")[1])["positive_class"] == "bad"
    assert "probability of bad" in run("explain", file, table)[1]
    assert "share of bad" in run("export", file, "--to", "sql")[1]
    code, out, _ = run("predict", file, table, "--probabilities")
    assert out.splitlines()[0] == "prediction,probability_bad,probability_good"
    code, _, err = run(*asked, "--positive", "ugly")
    assert code == 2 and "--positive" in err and "'ugly' is not a class. The classes are: bad, good." in err
    code, _, err = run("fit", table, "-t", "age", "--positive", "bad")
    assert code == 2 and "--positive" in err and "this target is a number" in err

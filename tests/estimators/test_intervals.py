"""Intervals and sets: CV+ by its definition, Venn-Abers by scikit-learn's isotonic regression, files, coverage."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression

from pysirus import ModelFileError, SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvivalCV, load
from pysirus._parameters import ParameterError
from pysirus._use.intervals import IntervalCoverage, _venn_abers

QUICK = {"n_rules": 4, "n_trees": 200, "random_state": 0}


def numbers(n, seed=0):
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(draw.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X, X["a"] + (X["b"] > 0) + 0.5 * draw.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return SirusRegressor(**QUICK).fit(*numbers(150)).calibrate(*numbers(150))


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.99])
def test_an_interval_lies_between_the_order_statistics_of_cv_plus(model, coverage):
    X, _ = numbers(20, 1)
    low, high = [], []
    for fold in model._kept.folds:
        own = fold.model.predict(X)[:, None]
        missed = np.abs(fold.truth - fold.values[:, 0])[None, :]
        low.append(own - missed)
        high.append(own + missed)
    n, low, high = 150, np.sort(np.hstack(low), axis=1), np.sort(np.hstack(high), axis=1)
    outside = int(np.floor((1 - coverage) * (n + 1)))
    wanted = np.stack([low[:, outside - 1], high[:, n - outside]], axis=1)
    assert model.predict_interval(X, coverage) == pytest.approx(wanted, abs=1e-9)


def test_more_coverage_than_rows_can_give_is_everything(model):
    assert np.isinf(model.predict_interval(numbers(2)[0], 0.999)).all()


def test_held_out_rows_are_predicted_by_a_model_that_has_not_seen_them(model):
    X, y = numbers(150)
    fold = model._kept.folds[0]
    assert sum(len(own.truth) for own in model._kept.folds) == 150
    mine = np.isin(y.to_numpy(), fold.truth)
    assert fold.model.predict(X[mine]) == pytest.approx(fold.values[:, 0])
    assert fold.model.facts.n_rows == 135


def test_intervals_cover_about_what_is_asked_for(model):
    found = model.interval_coverage(*numbers(2000, 5))
    assert 0.85 < found.share < 0.95 and found.n_rows == 2000
    assert len(found.groups) == 2 * len(model.rules_)
    first = found.groups[0]
    assert first[1] == int(model.rules_[0].holds(model.model_.align(numbers(2000, 5)[0])).sum())
    assert "rows covered" in str(found) and "group" in found.to_frame("pyarrow").column_names


def test_groups_that_fall_short_are_named_worked_by_hand():
    # 0.9 less 1.96 standard errors of 100 rows is 0.8412
    found = IntervalCoverage(0.9, 300, 262, (("good", 100, 93), ("edge", 100, 85), ("bad", 100, 84), ("tiny", 2, 1)))
    assert [own[0] for own in found.short] == ["bad"]
    assert "Falls short: bad (84% of 100)" in found.head
    short = IntervalCoverage(0.9, 100, 84, (("x < -2", 100, 84),))
    assert "<p>84 of 100 rows covered" in short._repr_html_() and "Falls short: x &lt; −2 (" in short._repr_html_()


def test_amounts_have_wider_intervals_where_more_is_predicted():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 2))
    y = draw.gamma(2.0, np.exp(X[:, 0]))
    model = SirusRegressor(loss="gamma", **QUICK).fit(X, y).calibrate(X, y)
    ends, mean = model.predict_interval(X), model.predict(X)
    assert (ends[:, 0] >= 0).all()
    width = ends[:, 1] - ends[:, 0]
    assert width[mean.argmax()] > 2 * width[mean.argmin()]
    assert 0.85 < model.interval_coverage(X, y).share <= 1


def test_sets_are_those_of_cross_conformal_prediction_by_definition():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(150, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.7 * draw.normal(size=150), [-0.5, 0.5])]
    model = SirusClassifier(**QUICK).fit(X, y).calibrate(X, y)
    new = draw.normal(size=(10, 3))
    found = model.predict_set(new, 0.8)
    for r, row in enumerate(new):
        for k in range(3):
            less = 0
            for fold in model._kept.folds:
                own = 1 - fold.values[np.arange(len(fold.truth)), fold.truth]
                less += int((own < 1 - fold.model.predict_proba(row[None])[0, k]).sum())
            assert found[r, k] == (less < 0.8 * 151)
    assert 0.7 < model.set_coverage(X, y, 0.8).share <= 1
    with pytest.raises(ParameterError, match="are for two classes, and there are 3"):
        model.predict_proba_interval(new)


def test_venn_abers_is_isotonic_regression_with_the_row_of_either_class():
    draw = np.random.default_rng(2)
    known = np.round(draw.uniform(size=40), 1)
    truth = draw.uniform(size=40) < known
    new = np.array([0.0, 0.33, 0.5, 1.0])
    found = _venn_abers(known, truth, new)
    for r, score in enumerate(new):
        for label in (0, 1):
            fit = IsotonicRegression().fit([*known, score], [*truth, label])
            assert found[r, label] == pytest.approx(fit.predict([score])[0])
    assert (found[:, 0] <= found[:, 1]).all()


def test_probabilities_have_ends_that_hold_the_calibrated_one():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 3))
    y = X[:, 0] + draw.normal(size=200) > 0
    model = SirusClassifier(**QUICK).fit(X, y).calibrate(X, y)
    ends = model.predict_proba_interval(X)
    assert ends.shape == (200, 2) and (ends[:, 0] <= ends[:, 1]).all()
    assert (ends[:, 1] - ends[:, 0]).mean() < 0.2


def test_a_tuned_estimator_keeps_folds_and_files_bring_them_back(tmp_path):
    X, y = numbers(120)
    given = {"n_trees": 100, "n_repeats": 1, "cv": 3, "max_rules": 5, "random_state": 0}
    model = SirusRegressorCV(keep_folds=True, **given).fit(X, y)
    ends = model.predict_interval(X)
    nested = SirusRegressorCV(keep_folds=True, nested=True, **given).fit(X, y)
    assert nested._kept.nested and nested.predict_interval(X).shape == (120, 2)
    model.save(tmp_path / "model.json")
    model.save_folds(tmp_path / "folds.json")
    assert "folds" not in json.loads((tmp_path / "model.json").read_text())
    again = load(tmp_path / "model.json")
    with pytest.raises(ParameterError, match="has no intervals yet"):
        again.predict_interval(X)
    assert np.array_equal(again.load_folds(tmp_path / "folds.json").predict_interval(X), ends)
    other = SirusRegressor(**QUICK).fit(X, y)
    with pytest.raises(ModelFileError, match="belongs to another model"):
        other.load_folds(tmp_path / "folds.json")
    (tmp_path / "folds.json").write_text("{")
    with pytest.raises(ModelFileError, match="damaged"):
        again.load_folds(tmp_path / "folds.json")
    model.set_params(keep_folds=False).fit(X, y)  # intervals of another fit are gone
    with pytest.raises(ParameterError, match="has no intervals yet"):
        model.predict_interval(X)


def test_intervals_do_not_depend_on_threads():
    one, two = (
        SirusRegressor(n_jobs=n, **QUICK).fit(*numbers(150)).calibrate(*numbers(150)).predict_interval(numbers(9, 3)[0])
        for n in (1, 2)
    )
    assert np.array_equal(one, two)


@pytest.mark.parametrize("coverage", [0, 1, 90, "0.9", None, True])
def test_coverage_is_a_share(model, coverage):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        model.predict_interval(numbers(2)[0], coverage)


def test_times_to_an_event_have_no_intervals():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(80, 2))
    y = pd.DataFrame({"died": draw.uniform(size=80) < 0.7, "years": draw.exponential(size=80)})
    with pytest.raises(ParameterError, match="not for times to an event"):
        SirusSurvivalCV(keep_folds=True, n_trees=50, n_repeats=1, cv=3, random_state=0).fit(X, y)


def test_the_command_line_calibrates_and_predicts_intervals(tmp_path, run):
    X, y = numbers(120)
    table, path, folds = tmp_path / "rows.csv", tmp_path / "model.json", tmp_path / "folds.json"
    X.assign(y=y).to_csv(table, index=False)
    fit = ("fit", table, "--target", "y", "--trees", 100, "--rules", 3, "--seed", 0, "--quiet", "--model", path)
    assert run(*fit)[0] == 0
    assert run("calibrate", path, table, "-o", folds)[0] == 0
    code, out, _ = run("predict", path, table, "--interval", 90, "--folds", folds)
    lines = out.splitlines()
    assert code == 0 and lines[0] == "prediction,lower,upper" and len(lines) == 121
    ends = load(path).load_folds(folds).predict_interval(X)
    assert float(lines[1].split(",")[1]) == pytest.approx(ends[0, 0])
    assert run("predict", path, table, "--interval", 90)[0] == 2
    assert run("predict", path, table, "--interval", 900, "--folds", folds)[0] == 2


def test_explanations_and_the_report_have_intervals(tmp_path):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 3))
    y = X[:, 0] + draw.normal(size=200)
    model = SirusRegressor(n_rules=3, n_trees=50, random_state=0).fit(X[:100], y[:100]).calibrate(X[:100], y[:100])
    found, ends = model.explain(X[100:], coverage=0.8), model.predict_interval(X[100:], 0.8)
    assert found[5].to_dict()["uncertainty"] == {"coverage": 0.8, "lower": ends[5, 0], "upper": ends[5, 1]}
    assert "80% interval: " in str(found[5]) and "interval" not in str(model.explain(X[100:])[5])
    text = model.report(None, X[100:], y[100:], coverage=0.8)
    head = model.interval_coverage(X[100:], y[100:], 0.8).head.split(".")[0]
    assert head in text and "How often intervals contain the target" in text
    with pytest.raises(ParameterError, match="has no intervals"):
        model.model_.explain(X[:1], coverage=0.8)


def test_explanations_of_classes_have_sets():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 3))
    y = np.where(X[:, 0] + draw.normal(size=200) > 0, "yes", "no")
    model = SirusClassifier(n_rules=3, n_trees=50, random_state=0).fit(X, y).calibrate(X, y)
    own = model.explain(X[:1], coverage=0.9).uncertainty[0]
    assert own["set"] == model.classes_[model.predict_set(X[:1], 0.9)[0]].tolist() and own["of"] == "yes"
    assert own["probability"] == model.predict_proba_interval(X[:1])[0].tolist()


DAMAGE = {
    "no folds": lambda told: told.update(folds=[]),
    "folds of another kind": lambda told: told.update(folds=3),
    "text for a number": lambda told: told["folds"][0].update(values=[["x"]]),
    "a row less": lambda told: told["folds"][0]["values"].pop(),
    "two outputs": lambda told: told["folds"][0].update(values=[[1.0, 2.0]] * len(told["folds"][0]["truth"])),
    "no number": lambda told: told["folds"][0]["values"].__setitem__(0, [float("nan")]),
    "labels": lambda told: told["folds"][0].update(truth=["a"] * len(told["folds"][0]["truth"])),
    "another class": lambda told: told["folds"][0]["truth"].__setitem__(0, 2),
    "no model": lambda told: told["folds"][0].update(model=[]),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_of_folds_are_refused(damage, tmp_path):
    X, y = numbers(60)
    kind, target = (SirusClassifier, y > 0) if damage == "another class" else (SirusRegressor, y)
    model = kind(**QUICK).fit(X, target).calibrate(X, target, cv=3)
    model.save_folds(tmp_path / "folds.json")
    told = json.loads((tmp_path / "folds.json").read_text())
    DAMAGE[damage](told)
    (tmp_path / "folds.json").write_text(json.dumps(told))
    with pytest.raises(ModelFileError, match="is no file of folds, or it is damaged"):
        model.load_folds(tmp_path / "folds.json")


def test_calibration_takes_names_of_columns_and_files(tmp_path):
    X, y = numbers(90)
    table = X.assign(y=y, group=np.arange(90) // 3, w=1.0 + np.arange(90) % 2)
    model = SirusRegressor(**QUICK).fit(X, y, table["w"])
    ends = model.calibrate(X, y, table["w"], cv=3, groups=table["group"]).predict_interval(X)
    assert np.array_equal(model.calibrate(table, "y", "w", cv=3, groups="group").predict_interval(X), ends)
    table.to_parquet(tmp_path / "rows.parquet")
    assert np.array_equal(
        model.calibrate(tmp_path / "rows.parquet", "y", "w", cv=3, groups="group").predict_interval(X), ends
    )

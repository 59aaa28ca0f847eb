"""Stages: corrections by hand, what ends them, and that they change nothing of what holds for one stage."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold

import pysirus
from at_cuts import before
from pysirus import SirusRegressor, SirusRegressorCV, plot
from pysirus._families.numbers import Gaussian
from pysirus._forest.forest import Recipe
from pysirus._learn.fit import LEAST_ROWS, STAGE_SAMPLES, stage_recipe
from pysirus._learn.folds import PER_STAGE
from pysirus._learn.grow import bin_rows
from pysirus._learn.splits import derive
from pysirus._learn.weigh import SHRINKAGE, ByRidge
from pysirus._parameters import ParameterError

N_TREES = 300
COMMON = {"n_trees": N_TREES, "random_state": 0}


@pytest.fixture(scope="module")
def staged():
    X, y = pysirus.datasets.load_ozone(return_X_y=True, as_frame=True)
    return SirusRegressor(n_rules=4, n_stages=3, **COMMON).fit(X, y), X, y


def test_one_stage_is_the_paper() -> None:
    X, y = pysirus.datasets.load_machine(return_X_y=True, as_frame=True)
    one, plain = (SirusRegressor(n_rules=6, n_stages=n, **COMMON).fit(X, y) for n in (1, 3))
    assert one.n_stages_ == 1 and all(rule.stage == 1 for rule in one.selected_)
    assert plain.selected_[:6] == one.selected_
    assert "stage" not in str(one.rules_) and "stage" in str(plain.rules_)


def test_each_stage_adds_its_most_frequent_rules(staged) -> None:
    model = staged[0]
    stages = [rule.stage for rule in model.selected_]
    assert stages == [1] * 4 + [2] * 4 + [3] * 4 and model.n_stages_ == 3 and model.n_trees_ == 3 * N_TREES
    for stage in (1, 2, 3):
        frequencies = [rule.frequency for rule in model.selected_ if rule.stage == stage]
        assert frequencies == sorted(frequencies, reverse=True)
    assert len(set(model.selected_)) == 12


def test_corrections_have_mean_residuals_as_outputs(staged) -> None:
    _, X, y = staged
    first, second = (SirusRegressor(n_rules=4, n_stages=n, **COMMON).fit(X, y) for n in (1, 2))
    residual = y - y.mean() - SHRINKAGE * (first.predict(X) - y.mean())
    for rule in second.selected_[4:]:
        inside = rule.holds(second.model_.align(X))
        assert rule.inside == pytest.approx(residual[inside].mean(), abs=1e-9)
        assert rule.outside == pytest.approx(residual[~inside].mean(), abs=1e-9)
        assert str(rule).split(" then ")[1][0] in "+-"


def test_trees_on_residuals_try_all_features_and_draw_fewer_rows() -> None:
    recipe = stage_recipe(Recipe(seed=3, max_samples=0.5), 9)
    assert recipe == Recipe(seed=3, max_features=9, max_samples=0.5 * STAGE_SAMPLES)
    assert stage_recipe(Recipe(seed=3, max_features=4), 9).max_features == 4


def test_weights_are_one_joint_non_negative_ridge(staged) -> None:
    """The gradient of the penalised squared error is zero at positive weights and not negative at zero weights."""
    model, X, y = staged
    table = model.model_.align(X)
    outputs = np.column_stack([np.where(r.holds(table), r.inside, r.outside) for r in model.selected_])
    weights = np.array([rule.weight for rule in model.selected_])
    centred, target = outputs - outputs.mean(axis=0), y - y.mean()
    slope = centred.T @ (centred @ weights - target) / len(y) + model.ridge_penalty_ * weights
    scale = np.abs(centred.T @ target).max() / len(y)
    assert (weights >= 0).all() and np.abs(slope[weights > 0]).max() < 1e-9 * scale
    assert (slope >= -1e-9 * scale).all()
    assert model.intercept_ == pytest.approx(y.mean() - weights @ outputs.mean(axis=0))


def test_more_stages_explain_more(staged) -> None:
    _, X, y = staged
    scores = [SirusRegressor(n_rules=4, n_stages=n, **COMMON).fit(X, y).score(X, y) for n in (1, 2, 4)]
    assert scores[0] < scores[1] < scores[2]


def test_auto_ends_with_p0_or_a_full_list(staged) -> None:
    _, X, y = staged
    by_p0 = SirusRegressor(p0=0.15, n_stages="auto", **COMMON).fit(X, y)
    assert by_p0.n_stages_ > 1 and all(rule.frequency > 0.15 for rule in by_p0.selected_)
    full = SirusRegressor(n_rules=4, n_stages="auto", max_rules=10, **COMMON).fit(X, y)
    assert len(full.selected_) == 10 and [r.stage for r in full.selected_][-2:] == [3, 3]


def test_what_is_explained_exactly_needs_no_correction() -> None:
    X = np.repeat(np.arange(8), 10)[:, None].astype(float)
    model = SirusRegressor(n_rules=1, n_stages=5, n_trees=50, random_state=0).fit(X, (X[:, 0] >= 4).astype(float))
    assert model.n_stages_ == 1 and model.score(X, (X[:, 0] >= 4).astype(float)) == 1


def test_threads_files_and_edits(staged, tmp_path: Path) -> None:
    model, X, y = staged
    other = SirusRegressor(n_rules=4, n_stages=3, n_jobs=2, **COMMON).fit(X, y)
    assert other.selected_ == model.selected_
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    model.save(tmp_path / "staged.json")
    back = pysirus.load(tmp_path / "staged.json")
    assert [r.stage for r in back.selected_] == [r.stage for r in model.selected_] and back.n_stages_ == 3
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    shorter = model.with_rules(8)
    assert [r.stage for r in shorter.selected] == [1] * 4 + [2] * 4
    assert shorter.selected[5].inside == model.selected_[5].inside
    contributions = model.explain(X[:5])
    np.testing.assert_allclose(contributions.prediction, model.predict(X[:5]), rtol=1e-12)


def test_bad_number_of_stages() -> None:
    with pytest.raises(ParameterError, match="n_stages"):
        SirusRegressor(n_stages=0).fit(np.ones((9, 1)), np.arange(9))


# ------------------------------------------------------------------------------------------------------------ tuning


@pytest.fixture(scope="module")
def tuned():
    X, y = pysirus.datasets.load_ozone(return_X_y=True, as_frame=True)
    return SirusRegressorCV(n_stages="auto", n_repeats=1, **COMMON).fit(X, y), X, y


def test_tuning_takes_stages_where_they_come_nearer_to_the_ideal(tuned) -> None:
    model, X, y = tuned
    plain = SirusRegressorCV(n_repeats=1, **COMMON).fit(X, y)
    distance = [np.hypot(m.cv_error_, m.cv_stability_ - 0.9) for m in (model, plain)]
    assert model.n_stages_ > 1 and distance[0] < distance[1]
    assert model.cv_error_ == model.path_.error[model.model_.tuning.step]
    assert len(model.selected_) <= 25 and plain.n_stages_ == 1


def test_tuning_keeps_one_stage_where_it_is_better() -> None:
    X, y = pysirus.datasets.load_machine(return_X_y=True, as_frame=True)
    with_stages, plain = (SirusRegressorCV(n_stages=n, n_repeats=2, **COMMON).fit(X, y) for n in (4, 1))
    distance = [np.hypot(m.cv_error_, m.cv_stability_ - 0.9) for m in (with_stages, plain)]
    assert with_stages.n_stages_ == 1 and distance[0] <= distance[1]
    assert with_stages.cv_error_ == with_stages.path_.error[with_stages.model_.tuning.step]


def test_staged_path_is_what_separate_fits_say() -> None:
    X, y = pysirus.datasets.load_ozone(return_X_y=True, as_frame=True)
    folds = list(KFold(5, shuffle=True, random_state=1).split(X))
    model = SirusRegressorCV(cv=folds, n_repeats=1, n_stages="auto", slopes=False, **COMMON).fit(X, y)
    step = model.model_.tuning.step
    assert model.n_stages_ == step + 1 > 1
    fits = [
        SirusRegressor(n_rules=PER_STAGE, n_stages=step + 1, n_trees=N_TREES, random_state=derive(0, 0, i)).fit(
            X.iloc[train], y.iloc[train]
        )
        for i, (train, _) in enumerate(folds)
    ]
    at_quantiles = [before(m.model_) for m in fits]  # as tuning judges lists
    residuals = np.concatenate([y.iloc[te] - m.predict(X.iloc[te]) for m, (_, te) in zip(at_quantiles, folds)])
    held_out = np.concatenate([y.iloc[te] for _, te in folds])
    assert model.cv_error_ == pytest.approx((residuals**2).sum() / ((held_out - held_out.mean()) ** 2).sum())
    assert model.cv_stability_ == pytest.approx(pysirus.stability(fits))


def test_every_size_of_a_staged_list_is_kept(tuned, tmp_path: Path) -> None:
    model, X, _ = tuned
    assert [len(m.selected) for m in model.models_] == list(range(1, len(model.models_) + 1))
    model.save(tmp_path / "tuned.json")
    back = pysirus.load(tmp_path / "tuned.json")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.with_rules(5).predict(X), model.with_rules(5).predict(X))
    assert back.model_.tuning.step == model.model_.tuning.step
    pytest.importorskip("matplotlib")
    assert len(plot.tuning_path(model)) == 2 and plot.pareto(model) is not None


# --------------------------------------------------------------------------------------- those who read a staged list


def test_tables_have_a_stage_column_only_where_there_are_corrections(staged) -> None:
    model, X, y = staged
    plain = SirusRegressor(n_rules=4, **COMMON).fit(X, y)
    corrections = [rule for rule in model.rules_ if rule.stage > 1]
    for format, head in (("markdown", "| stage | frequency"), ("html", ">stage</th>"), ("latex", "Stage & Frequency")):
        assert head in model.export(format) and "tage" not in plain.export(format)
    markdown = model.export("markdown").splitlines()
    assert {line.count("|") for line in markdown[2:]} == {6}  # what is added has the weight in it
    assert [line.split("|")[2].strip() for line in markdown[4:]] == [str(rule.stage) for rule in model.rules_]
    inside, outside = model.rules_.output_texts(corrections[0])
    assert {inside[0], outside[0]} <= set("+-") and f"**then** {inside} **else** {outside}" in model.export("markdown")
    body = [line for line in model.export("latex").splitlines() if r"\textbf{if}" in line]
    assert all(len(line.replace(r"\&", "").split(" & ")) == 5 for line in body)
    assert f"${inside}$" in model.export("latex") and r"\multicolumn{5}" in model.export("latex")
    assert model.rules_.to_frame("pyarrow").column("stage").to_pylist() == [rule.stage for rule in model.rules_]


def test_edited_lists_count_their_stages(staged, tuned) -> None:
    model = staged[0]
    assert model.with_rules(8).facts["n_stages"] == 2 and model.with_rules(3).facts["n_stages"] == 1
    assert [m.facts["n_stages"] for m in tuned[0].models_[:4]] == [1, 2, 3, 4]


def test_diff_shows_a_rule_that_changed_its_stage(staged) -> None:
    model, X, y = staged
    longer = SirusRegressor(n_rules=12, **COMMON).fit(X, y)
    found = model.diff(longer)
    moved = [(old, new) for old, new in found.kept if old.stage != new.stage]
    assert moved, "no correction of this model is among the twelve most frequent rules"
    header, *lines = str(found).splitlines()[2:]
    assert header.split() == ["rule", "stage", "frequency", "weight"]
    assert any(f"{moved[0][0].stage} -> 1" in line for line in lines)
    assert {rule["stage"] for rule in found.to_dict()["added"]} <= {1}
    assert "stage" not in str(longer.diff(longer))


def test_plot_draws_corrections_from_the_mean_on(staged) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    model = staged[0]
    axes = plot.rules(model).child_axes[0]
    outside, inside = (np.asarray(dots.get_offsets())[:, 0] for dots in axes.collections[1:3])
    start = np.array([model.model_.mean if rule.stage > 1 else 0.0 for rule in model.rules_])
    np.testing.assert_allclose(inside, start + [rule.inside for rule in model.rules_])
    np.testing.assert_allclose(outside, start + [rule.outside for rule in model.rules_])
    parted = [line for line in axes.lines if line.get_ydata()[0] == line.get_ydata()[1]]
    assert len(parted) == len({rule.stage for rule in model.rules_}) - 1


def test_report_says_what_corrects_what(staged) -> None:
    from pysirus.report import page, summary

    data = summary(staged[0])
    assert [rule["stage"] for rule in data["rules"]] == [rule.stage for rule in staged[0].selected_]
    assert ["Stages", "3"] in data["made"] and "(correction, stage 2, what it adds)" in page(data)


# ------------------------------------------------------------------------------------------------------ command line


def test_command_line_fits_stages(run, staged, tmp_path: Path) -> None:
    path = tmp_path / "staged.json"
    code, out, err = run("fit", "ozone", "--rules", 4, "--stages", 3, "--trees", N_TREES, "--model", path)
    assert code == 0 and out.strip() == str(staged[0].model_) and "3 stages" in err
    assert pysirus.load(path).n_stages_ == 3
    code, out, _ = run("fit", "ozone", "--p0", 0.15, "--stages", "auto", "--trees", N_TREES)
    by_p0 = SirusRegressor(p0=0.15, n_stages="auto", **COMMON).fit(*staged[1:])
    assert code == 0 and out.strip() == str(by_p0.model_)


def test_command_line_tunes_stages(run) -> None:
    code, out, _ = run(
        "tune", "ozone", "--stages", "auto", "--trees", N_TREES, "--repeats", 1, "--folds", 5, "--seed", 1
    )
    n_stages = int(out.split(" stages\n")[0].rsplit(" ", 1)[1])
    assert code == 0 and n_stages > 1 and "one stage fewer: unexplained variance" in out
    assert "one rule" not in out and re.search(rf"^ *\d+ +{n_stages} ", out, re.MULTILINE)


def test_fit_tune_passes_stages_on(run, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    passed = []
    monkeypatch.setattr(sys.modules["pysirus.cli.fit"], "learn_tuned", lambda *args, **_: passed.append(args[3]))
    run("fit", "ozone", "--tune", "--stages", "auto")
    assert passed[0]["n_stages"] == "auto"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stages", "many"], "whole number or auto, got 'many'"),
        (["--stages", "0"], "--stages (a number or 'auto') must be a whole number of at least 1, got 0"),
    ],
)
def test_command_line_complains_about_stages(run, arguments: list[str], message: str) -> None:
    code, _, err = run("fit", "ozone", "--trees", 100, *arguments)
    assert code != 0 and message in " ".join(err.replace("│", " ").split())


def test_equal_weights_have_no_stages(run, tmp_path: Path) -> None:
    path = tmp_path / "classes.csv"
    path.write_text("x,kind\n" + "".join(f"{i},{'ab'[i > 20]}\n" for i in range(40)))
    code, _, err = run("fit", path, "--target", "kind", "--stages", 2, "--trees", 50, "--weighting", "equal")
    assert code and "--stages must be 1 with --weighting equal" in " ".join(err.replace("│", " ").split())
    assert run("fit", path, "--target", "kind", "--trees", 50, "--stages", 2)[0] == 0


# --------------------------------------------------------------------------------------------------------- the study


def test_the_study_measures_what_the_package_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from paper import stages as study

    from pysirus._forest.forest import Forest
    from pysirus._learn.folds import TuningPlan

    X, y = pysirus.datasets.load_mpg(return_X_y=True, as_frame=True)
    estimator = SirusRegressor(random_state=5)
    table, response, target = estimator._read(X, y, None)
    settings = estimator._settings()
    training = bin_rows(table, response, target, settings)
    recipe = Recipe(seed=training.seed)
    paths = Forest(training.binned, training.response, recipe).grow_to(300).paths()
    plan = TuningPlan(ByRidge(Gaussian()), settings, 25, "stability", 1, n_stages=None)
    ours = plan.staged_lists(training, paths, recipe)
    form = study.changed("fewer trees", n_trees=300)
    package = PER_STAGE, SHRINKAGE, STAGE_SAMPLES, LEAST_ROWS
    assert (form.per_stage, form.shrinkage, form.samples, form.least_rows) == package
    theirs = list(study.staged_lists(training, form, None))
    assert len(ours) == len(theirs) == 25
    for a, b in zip(ours, theirs):
        assert a.rules == b.rules and [r.stage for r in a.rules] == [r.stage for r in b.rules]
        np.testing.assert_allclose(a.weights[-1], b.weights, rtol=1e-6, atol=1e-9)

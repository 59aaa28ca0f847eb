"""The numbers of a tuned model agree: text, figures and report say the same of the same list, under the same names."""

from __future__ import annotations

import re

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pytest

from pysirus import SirusRegressorCV, plot
from pysirus.cli._show import model_data, verdict
from pysirus.datasets import load_ozone
from pysirus.report import summary

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", params=[1, "auto"])
def tuned(request: pytest.FixtureRequest) -> SirusRegressorCV:
    X, y = load_ozone(return_X_y=True, as_frame=True)
    return SirusRegressorCV(n_repeats=2, cv=5, n_trees=150, n_stages=request.param, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def figures(tuned: SirusRegressorCV):
    return plot.tuning_path(tuned), plot.pareto(tuned)


def texts_of(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_there_are_three_numbers(tuned: SirusRegressorCV) -> None:
    model = tuned.model_
    numbers = model.tuning.numbers(len(model.selected))
    assert (numbers.selected, numbers.weighted) == (len(tuned.selected_), len(tuned.rules_))
    step = model.tuning.step_of(len(model.selected))
    assert numbers.per_fold == model.tuning.path.n_rules[step]
    assert model.tuning.path.error[step] == tuned.cv_error_
    assert model.tuning.path.stability[step] == tuned.cv_stability_
    assert step == model.tuning.step


def test_text_figures_and_report_have_the_same_numbers_of_rules(tuned: SirusRegressorCV, figures) -> None:
    model, ((error_axes, _), pareto) = tuned.model_, figures
    numbers = model.tuning.numbers(len(model.selected))
    text, data = verdict(model), summary(tuned)
    chosen = data["sizes"][data["chosen"]]
    assert f"{numbers.per_fold:.1f} rules per fold" in text
    assert f"of the {numbers.weighted} rules" in text
    assert f"chosen: {numbers.per_fold:.1f} per fold" in texts_of(error_axes)[0]
    assert any(f"chosen: {numbers.weighted} rule" in entry.get_text() for entry in pareto.get_legend().get_texts())
    assert (chosen["nRules"], chosen["nPositive"]) == (numbers.selected, numbers.weighted)
    assert chosen["perFold"] == pytest.approx(numbers.per_fold)
    assert chosen["numbers"] == numbers.sentence and f"{numbers.per_fold:.1f} per fold" in numbers.sentence
    assert data["heldOut"]["nRules"] == numbers.weighted
    told = model_data(model)["tuning"]
    assert (told["rules_selected"], told["rules_with_weight"]) == (numbers.selected, numbers.weighted)
    assert told["rules_per_fold"] == numbers.per_fold
    line = error_axes.lines[0] if len(error_axes.lines) else None
    assert line is not None and numbers.per_fold in line.get_xdata()


def test_text_figures_and_report_have_the_same_minimum(tuned: SirusRegressorCV, figures) -> None:
    model, ((error_axes, _), pareto) = tuned.model_, figures
    best = model.tuning.smallest_error
    numbers, data = model.tuning.numbers(best.n_rules), summary(tuned)
    curve = error_axes.containers[0].lines[0]
    assert np.min(curve.get_ydata()) == best.error == min(size.error for size in model.tuning.sizes)
    assert curve.get_xdata()[int(np.argmin(curve.get_ydata()))] == numbers.per_fold
    assert min(data["path"]["error"]) == min(size["error"] for size in data["sizes"]) == pytest.approx(best.error)
    assert np.min(pareto.collections[0].get_offsets()[:, 1]) == best.error
    another = best.n_rules != len(model.selected)
    said = re.findall(
        r"lowest error \(unexplained variance ([\d.]+)\) you would need (\d+) rules \(([\d.]+) per fold\)",
        verdict(model),
    )
    assert said == ([(f"{best.error:.3f}", str(numbers.weighted), f"{numbers.per_fold:.1f}")] if another else [])
    assert (f"smallest: {best.error:.3f}, {numbers.per_fold:.1f} per fold" in texts_of(error_axes)) == another
    assert (f"{best.error:.3f}) you would need {numbers}" in data["reason"]) == another


def test_lists_beside_the_chosen_one_have_other_numbers_of_rules() -> None:
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = SirusRegressorCV(n_repeats=1, n_trees=300, random_state=0).fit(X, y).model_
    for size in model.tuning.sizes:
        own = model.at_size(size.n_rules)
        beside = [int(n) for n in re.findall(r"^(\d+) rules?: unexplained", verdict(own), flags=re.M)]
        weighted = [model.tuning.numbers(other.n_rules).weighted for other in model.tuning.sizes]
        assert set(beside) <= set(weighted) and len(own.rules) not in beside
        assert [n < len(own.rules) for n in beside] == sorted((n < len(own.rules) for n in beside), reverse=True)


def test_another_size_is_drawn_at_its_own_place(tuned: SirusRegressorCV) -> None:
    other = tuned.with_rules(2)
    numbers = tuned.model_.tuning.numbers(2)
    assert f"chosen: {numbers.per_fold:.1f} per fold" in texts_of(plot.tuning_path(other)[0])[0]
    assert summary(other)["sizes"][1]["numbers"] == numbers.sentence


def test_the_path_names_its_number() -> None:
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = SirusRegressorCV(n_repeats=1, n_trees=100, max_rules=4, random_state=0).fit(X, y)
    assert repr(model.path_).splitlines()[0].split("  ")[0].strip() == "rules per fold"

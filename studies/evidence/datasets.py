"""The paper's eight datasets: stability between folds, bootstrap samples and halves; lists by the ideal point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paper.problems import load, unavailable

from pysirus import SirusRegressorCV

NAMES = ("ozone", "mpg", "prostate", "housing", "diabetes", "machine", "abalone", "bones")
FORMS: dict[str, dict[str, Any]] = {"plain": {}, "stages": {"n_stages": "auto"}}
N_RESAMPLES = 40
TARGETS = (0.7, 0.8, 0.9, 1.0)
WEIGHTS = (0.25, 1.0, 4.0)


def _tables() -> Iterator[tuple[str, Any, Any]]:
    for name in NAMES:
        if why := unavailable(name):  # two of them cannot be shipped
            print(f"{name}: {why}")
            continue
        problem = load(name)
        yield name, problem.X, problem.y


def _tune(X: Any, y: Any, **options: Any) -> SirusRegressorCV:
    given: dict[str, Any] = {"n_trees": 1000, "n_repeats": 2, "random_state": 0, "n_jobs": 2}
    return SirusRegressorCV(**given, **options).fit(X, y)


def measure_all() -> Iterator[dict[str, Any]]:
    """Each dataset with a plain list and with stages."""
    for name, X, y in _tables():
        for form, options in FORMS.items():
            model = _tune(X, y, **options)
            found = model.evidence(X, y, n_resamples=N_RESAMPLES)
            between = {key: list(own.dice) for key, own in found.stability.items()}
            cell = {"dataset": name, "form": form, "n_rules": len(model.rules_), **between}
            cell["nearby"] = list(found.stability["halves"].nearby)
            yield {**cell, "expected_return": list(found.expected_return or (float("nan"), float("nan")))}


def measure_ideals() -> Iterator[dict[str, Any]]:
    """Each dataset by the stability that is aimed at, and by how much it counts."""
    for name, X, y in _tables():
        for target, weight in [*((t, 1.0) for t in TARGETS), *((0.9, w) for w in WEIGHTS if w != 1)]:
            model = _tune(X, y, target_stability=target, stability_weight=weight)
            cell = {"dataset": name, "target": target, "weight": weight, "n_rules": len(model.rules_)}
            yield {**cell, "error": model.cv_error_, "stability": model.cv_stability_}

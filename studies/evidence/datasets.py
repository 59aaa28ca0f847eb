"""The paper's eight datasets: stability between folds, bootstrap samples and halves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paper.problems import load, unavailable

from pysirus import SirusRegressorCV

NAMES = ("ozone", "mpg", "prostate", "housing", "diabetes", "machine", "abalone", "bones")
FORMS: dict[str, dict[str, Any]] = {"plain": {}, "stages": {"n_stages": "auto"}}
N_RESAMPLES = 40


def tables() -> Iterator[tuple[str, Any, Any]]:
    for name in NAMES:
        if why := unavailable(name):  # two of them cannot be shipped
            print(f"{name}: {why}")
            continue
        problem = load(name)
        yield name, problem.X, problem.y


def tune(X: Any, y: Any, **options: Any) -> SirusRegressorCV:
    given: dict[str, Any] = {"n_trees": 1000, "n_repeats": 2, "random_state": 0, "n_jobs": 2}
    return SirusRegressorCV(**given, **options).fit(X, y)


def measure_all() -> Iterator[dict[str, Any]]:
    """Each dataset with a plain list and with stages."""
    for name, X, y in tables():
        for form, options in FORMS.items():
            model = tune(X, y, **options)
            found = model.evidence(X, y, n_resamples=N_RESAMPLES)
            between = {key: list(own.dice) for key, own in found.stability.items()}
            cell = {"dataset": name, "form": form, "n_rules": len(model.rules_), **between}
            cell["nearby"] = list(found.stability["halves"].nearby)
            yield {**cell, "expected_return": list(found.expected_return or (float("nan"), float("nan")))}

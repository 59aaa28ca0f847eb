"""The ideal point: what other values of ``target_stability`` and ``stability_weight`` choose on the eight datasets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from studies.evidence.datasets import FORMS, tables, tune

POINTS = ((0.8, 1.0), (0.9, 1.0), (1.0, 1.0), (0.9, 0.5), (0.9, 2.0))


def measure_all() -> Iterator[dict[str, Any]]:
    """Each dataset with a plain list and with stages, tuned towards each point on the same folds."""
    for name, X, y in tables():
        for form in ("plain", "stages"):
            found = []
            for target, weight in POINTS:
                model = tune(X, y, target_stability=target, stability_weight=weight, **FORMS[form])
                found.append([len(model.rules_), model.cv_error_, model.cv_stability_])
            yield {"dataset": name, "form": form, "points": found}

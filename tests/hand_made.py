"""Models with a link, made by hand, whose scores are moderate, huge, equal or of one class; what engines answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from pysirus._data.table import Feature
from pysirus._families.of_model import family_of
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus._terms.slope import FittedSlope, short_range
from pysirus.estimators.rule_model import RuleModel

ROWS = pd.DataFrame({"x": [0.5, -0.5, np.nan, 3.0, 1e9, -1e300, 2.0], "z": [1.0, -1.0, 1.0, -1.0, -1e300, 1e9, np.nan]})


def make_model(outputs, classes, link="softmax", intercept=None, weight=1.0):
    """A rule about x and one about z, with these outputs inside and outside."""
    rules = [
        FittedRule(
            (Condition(name, upper=0.0, missing=True, index=i),),
            frequency=0.5,
            inside=inside,
            outside=outside,
            weight=weight,
            classes=classes,
            stage=2,
            observed=(inside, outside),
        )
        for i, (name, (inside, outside)) in enumerate(zip("xz", outputs))
    ]
    n = len(classes) if classes else 1
    base = intercept if intercept is not None else ((0.0,) * n if classes else 0.0)
    mean = (1.0 / n,) * n if classes else 1.0
    features = (Feature("x", "numeric"), Feature("z", "numeric"))
    return RuleModel(RuleSet(rules), base, family_of(link, "y", mean, classes=classes), features, named=True)


def two(size, **options):
    outputs = [((size, -size), (-size, size)), ((-size / 2, size / 2), (size / 2, -size / 2))]
    return make_model(outputs, ("no", "yes"), **options)


def four(size):
    outputs = [
        ((size, 0.0, -size, 0.0), (-size, size, 0.0, 0.0)),
        ((0.0, size / 3, 0.0, -size), (0.0, 0.0, size, size / 2)),
    ]
    return make_model(outputs, ("a", "b", "c", "d"))


HAND_MADE = {
    "two": two(1.3),
    "four": four(1.1),
    "two huge": two(2000.0),
    "four huge": four(900.0),
    "two equal": two(0.0),
    "four equal": four(0.0),
    "one class": make_model([((0.0,), (0.0,))] * 2, ("only",)),
    "log": make_model([(-1.0, 0.5), (2.0, -0.2)], None, link="log", intercept=0.7),
}


def assert_same(model, found, labels=None):
    expected = model.raw_predict(ROWS)
    assert np.isfinite(expected).all()
    assert np.abs(np.asarray(found, dtype=float).reshape(expected.shape) - expected).max() <= 1e-12
    if model.classes is not None:
        assert list(labels) == model.predict(ROWS).tolist()


def run_sql(model, engine, **options):
    """What the statement and the expression answer, with the names of their columns."""
    engine.run("DROP TABLE IF EXISTS data")
    engine.run("CREATE TABLE data (x DOUBLE PRECISION, z DOUBLE PRECISION)")
    for row in ROWS.itertuples(index=False):
        engine.run(f"INSERT INTO data VALUES ({', '.join('NULL' if v != v else str(v) for v in row)})")
    expression = model.export("sql", **options).rstrip()
    name = " AS prediction" if model.classes is None else ""
    for text in (model.export("sql", table="data", **options), f"SELECT x, z, {expression}{name} FROM data"):
        yield np.array([[None if v is None else v for v in row[2:]] for row in engine.run(text)], dtype=object)


def assert_sql(model, engine, **options):
    for found in run_sql(model, engine, **options):
        if model.classes is None:
            assert_same(model, found[:, -1])
        else:
            assert_same(model, found[:, -1 - len(model.classes) : -1], found[:, -1])


# ------------------------------------------------------------------------------------------------------------ slopes

RANGES = {"x": (-2.0, 3.0, 0.25), "z": (-1.0, 4.0, 1.5)}  # from, to and mean
SLOPED = pd.DataFrame(
    {
        "x": [0.5, -0.5, np.nan, 3.0, -2.0, 1e9, -1e9, 0.25, np.inf, -np.inf, 5e-324, 2.9999999999999996],
        "z": [1.0, -1.0, 1.0, np.nan, 7.0, -7.0, 1.5, 0.0, 4.0, -1.0, np.inf, -np.inf],
    }
)


def slope_of(name, inside, classes=None, spread=1.0, multiplies=False, **options):
    """A slope of x or z, rounded as a fit rounds it."""
    lower, upper, mean = RANGES[name]
    outside = tuple(0.0 for _ in classes) if classes else 0.0
    given = {"frequency": 0.7, "weight": 0.9, "stage": 2, "n_inside": 11, "n_outside": 1, **options}
    index = list(RANGES).index(name)
    own = FittedSlope(name, index, lower, upper, mean, inside=inside, outside=outside, classes=classes, **given)
    return own.round_slope(spread, multiplies=multiplies)


def sloped(model, *insides, multiplies=False):
    """The model with slopes of x and z between its rules."""
    slopes = [slope_of(name, own, model.classes, multiplies=multiplies) for name, own in zip("xz", insides)]
    rules = [rule.map_conditions(lambda c: replace(c, upper_cut=("value", 0.0), share=0.5)) for rule in model.rules]
    means = (model.mean, model.mean) if model.classes else (1.5, 0.5)
    sides = [[_balanced(side) for side in (rule.inside, rule.outside)] for rule in rules]
    rules = [
        replace(rule, observed=means, n_inside=5, n_outside=7, inside=inside, outside=outside)
        for rule, (inside, outside) in zip(rules, sides)
    ]
    return replace(model, selected=RuleSet([slopes[0], *rules, *slopes[1:]]))


def _balanced(side):
    """Outputs of classes that sum to zero."""
    return tuple((np.asarray(side) - np.mean(side)).tolist()) if isinstance(side, tuple) else side


HAND_SLOPED = {
    "number": sloped(make_model([(1.0, -0.5), (2.0, 0.3)], None, link="identity", intercept=3.0), 0.7137, -1.3e-3),
    "log": sloped(HAND_MADE["log"], 0.31, -0.2, multiplies=True),
    "two": sloped(two(0.8), (-0.31, 0.31), (0.17, -0.17)),
    "four": sloped(four(0.7), (0.4, -0.1, -0.2, -0.1), (0.0, 0.5, -0.3, -0.2)),
}


def by_hand(model, X):
    """What the terms of such a model add up to in each row, one after the other."""
    columns = {name: X[name].to_numpy(float) for name in "xz"}
    total = np.zeros((len(X), *model.family.shape)) + np.asarray(model.intercept, dtype=float)
    for term in model.rules:
        if isinstance(term, FittedSlope):
            lower, upper, mean = RANGES[term.feature]
            own = columns[term.feature]
            value = np.where(np.isnan(own), 0.0, np.clip(own, lower, upper) - mean)
            added = value.reshape(-1, *(1 for _ in model.family.shape)) * np.asarray(term.slope)
        else:
            own = columns[term.conditions[0].feature]
            holds = (np.isnan(own) | (own < 0)).reshape(-1, *(1 for _ in model.family.shape))
            added = term.weight * np.where(holds, np.asarray(term.inside), np.asarray(term.outside))
        total = total + added
    return total


def grafted(model, X, names, seed=0):
    """A fitted model with slopes of some columns between its rules, as steep as its rules are far apart."""
    table, draw = model.align(X), np.random.default_rng(seed)
    scale, slopes = max(abs(rule.weight) * rule.gap for rule in model.rules), []
    places = {feature.name: i for i, feature in enumerate(model.features)}
    for name in names:
        values = table.columns[places[name]].values.astype(float)
        values = values[~np.isnan(values)]
        lower, upper, mean = short_range(values.min(), values.max(), values.mean())
        inside = _balanced(tuple(draw.normal(size=len(model.classes)))) if model.classes else draw.normal()
        inside = np.asarray(inside) * scale / (upper - lower)
        inside = tuple(inside.tolist()) if model.classes else float(inside)
        outside = tuple(0.0 for _ in model.classes) if model.classes else 0.0
        own = FittedSlope(name, places[name], lower, upper, mean, inside=inside, outside=outside, weight=0.9)
        own = replace(own, frequency=0.5, stage=2, classes=model.classes, n_inside=len(values))
        own = replace(own, n_outside=table.n_rows - len(values))
        multiplies = model.family.effect_scale.multiplies
        slopes.append(own.round_slope(10 * scale, multiplies=multiplies))
    rules = list(model.selected)
    for i, own in enumerate(slopes):
        rules.insert(2 * i, own)
    return replace(model, selected=RuleSet(rules), moments=None, likelihood=None, tuning=None)


HAND_MADE |= {f"{name} with slopes": model for name, model in HAND_SLOPED.items()}

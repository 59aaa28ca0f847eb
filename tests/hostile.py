"""Tables whose names and levels hold HTML, JavaScript, SQL, Excel formulas and LaTeX; models of every kind on them."""

from __future__ import annotations

from copy import copy
from functools import cache

import numpy as np
import pandas as pd

from hand_made import grafted
from pysirus import NodeHarvestRegressor, RuleFitRegressor, SirusClassifier, SirusRegressor, SirusSurvival
from sampled import FULL

MARKUP = "<script>window.hacked = 1</script>"
COLOUR = 'größe "μ" \'<img src=x onerror="window.hacked=2">\''
LEVELS = ["red", "Red", "=1+1", "o'brien", "<b>x</b>", r"\textbf{a}", "ünïcode; DROP TABLE data; --", "100%_$&#{}^~|`"]
CLASSES = ["it's", "<b>yes</b>", "=cmd|'/c calc'!A1"]
NUMBERS = [
    "a b",
    'say "hi"',
    "it's",
    "select",
    "x; DROP TABLE data; --",
    MARKUP,
    "=cmd|'/c calc'!A1",
    r"\input{secret}",
]


def make_table(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, categories of text, of numbers and of truth values, and missing values in most columns."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame({name: draw.normal(size=n_rows).round(3) for name in NUMBERS})
    X[COLOUR] = pd.Series(np.array(LEVELS, dtype=object)[draw.integers(0, len(LEVELS), n_rows)], dtype=object)
    X["grade"] = draw.choice([1.0, 2.0, 3.0, 5.0], n_rows)
    X["flag"] = pd.Series(draw.random(n_rows) < 0.5, dtype=object)
    y = 2 * (X["a b"] > 0) + 2 * X['say "hi"'] * (X["it's"] < 0.3) + X[MARKUP] + X["=cmd|'/c calc'!A1"]
    y += (
        X[COLOUR].map({"red": 3, "Red": -2, "=1+1": 1}).fillna(0)
        + 2 * (X["grade"] == 3)
        + 1.5 * X["flag"].astype(float)
    )
    y += X["select"] + (X[r"\input{secret}"] > 0.5) + X["x; DROP TABLE data; --"] * (X["grade"] > 1)
    for name in ["a b", 'say "hi"', COLOUR, "grade", "flag", MARKUP]:
        X.loc[draw.random(n_rows) < 0.1, name] = None if X[name].dtype == object else np.nan
    return X, y.to_numpy()


@cache
def new_rows() -> pd.DataFrame:
    """1,000 rows, 2,000 in full runs, with levels that are new and missing values where training had none."""
    X, _ = make_table(2000 if FULL else 1000, seed=1)
    X.loc[5:60, COLOUR] = "never <i>seen</i>"
    X.loc[X.index % 7 == 0, "=cmd|'/c calc'!A1"] = np.nan
    return X


@cache
def make_model(kind: str):
    """A fitted model of one kind."""
    X, y = make_table(600, seed=0)
    if kind == "regression":
        return SirusRegressor(n_rules=40, n_trees=3000, random_state=1, categorical_features=["grade"]).fit(X, y)
    if kind == "stages":
        staged = SirusRegressor(n_rules=12, n_stages=3, max_rules=36, n_trees=2000, random_state=1)
        return staged.set_params(categorical_features=["grade"]).fit(X, y)
    if kind == "classes":
        labels = np.array(CLASSES, dtype=object)[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
        equal = SirusClassifier(n_rules=30, n_trees=2000, weighting="equal", random_state=1)
        return equal.set_params(categorical_features=["grade"]).fit(X, labels)
    if kind in SLOPED:
        sloped = copy(make_model(SLOPED[kind]))
        sloped.model_ = grafted(sloped.model_, X, NUMBERS[::2])
        return sloped
    if kind in SCORES:
        return _fit_scores(kind, X, y)
    if kind == "counts":
        counts = SirusRegressor(loss="poisson", n_rules=15, n_trees=1000, random_state=1)
        return counts.set_params(categorical_features=["grade"]).fit(X, np.floor(np.abs(y)))
    if kind == "survival":
        times = SirusSurvival(n_rules=15, n_trees=1000, random_state=1, categorical_features=["grade"])
        return times.fit(X, np.column_stack([np.arange(len(y)) % 3 > 0, np.exp((y - y.mean()) / y.std())]))
    if kind == "linear terms":
        return RuleFitRegressor(n_trees=40, linear_terms=True, random_state=0).fit(X, y)
    return NodeHarvestRegressor(n_nodes=80, random_state=0).fit(X, y)


SCORES = {"two scores": 2, "four scores": 4, "staged scores": 2, "four staged scores": 4}
SLOPED = {"slopes": "stages", "sloped scores": "two scores", "four sloped scores": "four staged scores"}
SLOPED |= {"sloped counts": "counts", "sloped survival": "survival"}
SCORED = [*SCORES, "counts", "survival", *list(SLOPED)[1:]]


def _fit_scores(kind: str, X: pd.DataFrame, y: np.ndarray) -> SirusClassifier:
    """Classes with likelihood weights; with stages the list has corrections."""
    labels = np.array([*CLASSES, "no"], dtype=object)[: SCORES[kind]]
    cuts = np.quantile(y, np.arange(1, len(labels)) / len(labels))
    model = SirusClassifier(n_rules=15, n_trees=1000, random_state=1, categorical_features=["grade"])
    if "staged" in kind:
        model.set_params(n_stages=5, max_rules=30)
    return model.fit(X, labels[np.digitize(y, cuts)])


KINDS = ["regression", "stages", "slopes", "classes", "linear terms", "weighted mean"]

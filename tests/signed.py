"""Random tables with directions, and whether a model obeys them: rows that differ in one column, in its order."""

import numpy as np
import pandas as pd

from pysirus import (
    SirusClassifier,
    SirusClassifierCV,
    SirusRegressor,
    SirusRegressorCV,
    SirusSurvival,
    SirusSurvivalCV,
)
from survival_table import target

GRADES = ["none", "low", "mid", "high", "top"]  # the first and the last do not occur in training
RESPONSES = ("numbers", "poisson", "gamma", "classes", "equal", "survival")


def draw_table(seed, n=150):
    """A table with gaps, an ordered category, weights, and a target that need not obey anything."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": np.where(rng.random(n) < 0.2, np.nan, rng.exponential(size=n).round(2)),
            "few": rng.integers(0, 5, n),
            "grade": pd.Categorical(rng.choice(GRADES[1:4], n), GRADES, ordered=True),
            "flag": rng.random(n) < 0.4,
            "free": rng.choice(["x", "y", "z"], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "grade"] = None
    parts = [X["a"], np.nan_to_num(X["b"]), X["few"] / 2, X["grade"].cat.codes, X["flag"], X["a"] * X["flag"]]
    score = sum(rng.normal() * np.asarray(part, dtype=float) for part in parts) + rng.normal(0, 0.5, n)
    score = (score - score.mean()) / score.std()
    directions = {name: int(rng.choice([-1, 1])) for name in ("a", "b", "few", "grade", "flag") if rng.random() < 0.7}
    weights = rng.exponential(size=n) if rng.random() < 0.5 else None
    return X, score, directions or {"a": 1}, weights, rng


def target_of(response, score, rng):
    """The score as a target of some kind."""
    if response == "numbers":
        return score
    if response == "poisson":
        return rng.poisson(np.exp(score)) + (rng.random(len(score)) < 0.05)
    if response == "survival":
        until, end = rng.exponential(np.exp(-score)), rng.exponential(2.0, len(score))
        return target(until <= end, np.ceil(20 * np.minimum(until, end)) / 20 + 0.05)
    if response == "gamma":
        return rng.gamma(3, np.exp(score) / 3) + 1e-3
    return np.where(score + 0.5 * rng.normal(size=len(score)) > 0.3, "yes", "no")


def estimator_of(response, tuned=False, **parameters):
    parameters = {"n_trees": 60, "random_state": 0, **parameters}
    if tuned:
        parameters = {"cv": 2, "n_repeats": 1, "max_rules": 8, **parameters}
    if response in ("classes", "equal"):
        weighting = "equal" if response == "equal" else "likelihood"
        return (SirusClassifierCV if tuned else SirusClassifier)(weighting=weighting, **parameters)
    if response == "survival":
        return (SirusSurvivalCV if tuned else SirusSurvival)(**parameters)
    loss = "squared_error" if response == "numbers" else response
    return (SirusRegressorCV if tuned else SirusRegressor)(loss=loss, **parameters)


def grid_of(X, name, n_rows=12):
    """Rows, each with every known value of a column in its order: those of training, between and beyond."""
    if name == "grade":
        values = pd.Categorical(GRADES, GRADES, ordered=True)
    elif name == "flag":
        values = np.array([False, True])
    else:
        known = np.unique(X[name].dropna().to_numpy(dtype=float))
        values = np.unique(np.concatenate([known, (known[1:] + known[:-1]) / 2, [known[0] - 1, known[-1] + 1]]))
    base = X.iloc[np.repeat(np.arange(n_rows), len(values))].reset_index(drop=True)
    column = pd.Series(values)
    base[name] = pd.concat([column] * n_rows, ignore_index=True)
    return base, len(values)


def answers_of(model, X):
    """What must rise or fall: the prediction, or the probability of the second class."""
    return model.predict_proba(X)[:, 1] if getattr(model, "classes", None) is not None else model.predict(X)


def assert_obeys(model, X, directions, answers=answers_of, tolerance=0.0):
    """Every pair of rows that differ in the one column."""
    for name, direction in directions.items():
        rows, n_values = grid_of(X, name)
        found = direction * np.asarray(answers(model, rows), dtype=float).reshape(-1, n_values)
        assert (np.diff(found, axis=1) >= -tolerance * np.abs(found).max()).all(), (name, direction)

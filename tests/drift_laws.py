"""Three laws that rows follow, three ways in which a law drifts, and a small model of every kind.

The laws are what the tests and the study of monitoring draw.

Each has four numbers, a category and a column that says nothing. ``shifted`` moves the column of the strongest rule by
half a standard deviation, ``doubled`` doubles the share of a category that a rule reads, ``halved`` halves the effect
of that column.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV, SirusSurvival

DRIFTS = ("shifted", "doubled", "halved")
SHARES = {"a": 0.45, "b": 0.35, "c": 0.2}


@dataclass(frozen=True)
class Law:
    """How the target follows from the score, whose effects are ``size`` large."""

    name: str
    size: float

    def draw(self, rng, n_rows, drift=None):
        """Rows and their targets."""
        x = {f"x{i}": rng.normal(size=n_rows) for i in range(1, 5)}
        x["x1"] = x["x1"] + (0.5 if drift == "shifted" else 0.0)
        shares = {"a": 0.25, "b": 0.35, "c": 0.4} if drift == "doubled" else SHARES
        X = pd.DataFrame({**x, "kind": rng.choice(list(shares), size=n_rows, p=list(shares.values()))})
        X["coin"] = rng.integers(0, 2, size=n_rows)
        effect = self.size * (0.5 if drift == "halved" else 1.0)
        score = effect * (X.x1 > 0) + 0.6 * self.size * (X.kind == "c") + 0.3 * self.size * (X.x2 > 0.5)
        return X, self.target(rng, score.to_numpy())

    def target(self, rng, score):
        """The target of rows with a score."""
        if self.name == "classes":
            return np.where(rng.random(len(score)) < 1 / (1 + np.exp(1.2 - score)), "yes", "no")
        if self.name == "counts":
            return rng.poisson(np.exp(score - 0.5)).astype(float)
        return score + rng.normal(size=len(score))

    def column(self, drift):
        """The column that a drift is in."""
        return "kind" if drift == "doubled" else "x1"


LAWS = (Law("numbers", 2.0), Law("classes", 2.4), Law("counts", 1.2))


def estimator_of(law, **given):
    """A small estimator for a law."""
    given = {"n_rules": 8, "n_trees": 300, "random_state": 1, "n_jobs": 1, **given}
    if law.name == "classes":
        return SirusClassifier(**given)
    return SirusRegressor(loss="poisson" if law.name == "counts" else "squared_error", **given)


# -------------------------------------------------------------------------------------------------------- every kind

SMALL = {"n_trees": 150, "random_state": 7, "n_jobs": 1}
TUNED = {**SMALL, "cv": 3, "n_repeats": 1, "max_rules": 5}


def rows(n=160):
    """Features with missing values, a target, and the generator that drew them."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 30, n), "c": rng.choice(["x", "y", "z"], n)})
    X.loc[::17, "a"] = np.nan
    score = 1.5 * (X.a.fillna(0) > 0) + (X.c == "y")
    return X, score + rng.normal(size=n) / 2, rng


def kinds():
    """A small estimator of every kind, its features and its target."""
    X, y, rng = rows()
    text = np.array(["no", "maybe", "yes"])
    yield "numbers", SirusRegressor(n_rules=4, **SMALL), X, y
    yield "tuned", SirusRegressorCV(**TUNED), X, y
    yield "stages", SirusRegressor(n_rules=2, n_stages=2, **SMALL), X, y
    yield "two", SirusClassifier(n_rules=4, **SMALL), X, text[np.where(y > 1, 2, 0)]
    yield "equal", SirusClassifierCV(weighting="equal", **TUNED), X, text[np.where(y > 1, 2, 0)]
    yield "three", SirusClassifier(n_rules=4, **SMALL), X, text[np.digitize(y, [0.5, 1.5])]
    yield "counts", SirusRegressor(n_rules=4, loss="poisson", **SMALL), X, rng.poisson(np.exp(y / 2))
    yield "amounts", SirusRegressor(n_rules=4, loss="gamma", **SMALL), X, np.exp(y)
    times = pd.DataFrame({"time": rng.exponential(np.exp(-y)) + 0.01, "event": rng.integers(0, 2, len(X))})
    yield "survival", SirusSurvival(n_rules=3, **SMALL), X, times


KINDS = {name: rest for name, *rest in kinds()}

"""Three laws that rows follow, and three ways in which a law drifts: what the tests and the study of monitoring draw.

Each has four numbers, a category and a column that says nothing. ``shifted`` moves the column of the strongest rule by
half a standard deviation, ``doubled`` doubles the share of a category that a rule reads, ``halved`` halves the effect
of that column.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pysirus import SirusClassifier, SirusRegressor

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

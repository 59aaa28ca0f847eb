"""scikit-learn's single tree, as deep as it goes."""

from __future__ import annotations

from sklearn.tree import DecisionTreeRegressor

from benchmarks.problems import Problem

TITLE, VERSION_OF = "scikit-learn, one tree", "scikit-learn"


def ready() -> None:
    """It is always there."""


def fit(problem: Problem) -> None:
    """A tree with scikit-learn's defaults."""
    DecisionTreeRegressor(random_state=0).fit(problem.X, problem.y)

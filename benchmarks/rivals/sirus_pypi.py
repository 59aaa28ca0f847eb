"""The package sirus of PyPI: 10,000 trees, one thread."""

from __future__ import annotations

from benchmarks.problems import Problem

TITLE, VERSION_OF = "sirus (PyPI), 10,000 trees", "sirus"


def ready() -> None:
    """Import the library."""
    import sirus  # noqa: F401


def fit(problem: Problem) -> None:
    """The same job as ours."""
    from sirus import SirusRegressor

    SirusRegressor(num_rules=10, num_trees=10_000, n_jobs=1, random_state=0).fit(problem.X, problem.y)

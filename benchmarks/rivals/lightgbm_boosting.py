"""LightGBM: 500 boosted trees of depth 2, one thread."""

from __future__ import annotations

from benchmarks.problems import Problem

TITLE, VERSION_OF = "LightGBM, 500 trees of depth 2", "lightgbm"


def ready() -> None:
    """Import the library."""
    import lightgbm  # noqa: F401


def fit(problem: Problem) -> None:
    """Trees of the shape of ours, boosted."""
    from lightgbm import LGBMRegressor

    LGBMRegressor(n_estimators=500, max_depth=2, num_leaves=4, n_jobs=1, verbose=-1, random_state=0).fit(
        problem.X, problem.y
    )

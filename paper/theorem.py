"""A sample size in, the stability of two independent samples out: the paper's Theorem 1, simulated.

Five normal columns. Each acts through a step at one of its deciles, alone and together with the others, so that the
best cut of every node is one decile and no other comes near; noise is bounded, as the theorem asks. Heights were drawn
at random until the theoretical frequencies (which can be counted: a depth-two tree sees 32 cells) left both values of
p0 at least 0.01 from any of them, and no two rules of one pair of columns in a tie that post-treatment would have to
break by chance: the theorem's own condition on p0, and what "the same post-treatment" needs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from pysirus import SirusRegressor, stability

SIZES = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
P0 = (0.25, 0.05)
N_TREES = 10_000
NOISE = 3.0
DECILES = np.array([0.6, 0.5, 0.7, 0.3, 0.4])
ALONE = np.array([-0.93, -1.75, -0.17, 0.88, -1.1])
TOGETHER = np.array(
    [
        [0, 1.73, 1.39, -1.36, -1.29],
        [0, 0, -0.87, -0.88, 1.86],
        [0, 0, 0, -0.98, 0.73],
        [0, 0, 0, 0, -1.05],
        [0, 0, 0, 0, 0],
    ]
)


def n_pairs(n: int, quick: bool) -> int:
    """Pairs of samples to average over: many where they cost nothing."""
    if n <= 10_000:
        return 20
    return 2 if quick and n > 100_000 else 5


def seconds(n: int) -> float:
    """Expected duration of a pair, for the time left."""
    return 1 + 60e-6 * n


def sample(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """An independent sample."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(DECILES)))
    steps = (norm.ppf(DECILES) <= X).astype(np.float64)
    return X, steps @ ALONE + ((steps @ TOGETHER) * steps).sum(axis=1) + rng.uniform(-NOISE, NOISE, n)


def compare(n: int, pair: int) -> dict[str, float]:
    """Stability at each p0 of the models of two samples of n rows, and the mean number of rules."""
    models = []
    for k in range(2):
        X, y = sample(n, seed=1_000_003 * pair + 2 * SIZES.index(n) + k)
        models.append(SirusRegressor(p0=min(P0), max_rules=100, n_trees=N_TREES, random_state=2 * pair + k).fit(X, y))
    result = {}
    for p0 in P0:
        lists = [model.with_rules(sum(rule.frequency > p0 for rule in model.selected_)).rules for model in models]
        result[f"stability_{p0}"] = stability(*lists)
        result[f"size_{p0}"] = float(np.mean([len(rules) for rules in lists]))
    return result

"""A table of times to an event that rules can find something in, for tests."""

import numpy as np

COLUMNS = ["nodes", "age", "grade"]


def survival_table(n_rows=200, seed=0, ties=None):
    """Three columns, times of which about a third are censored, and the target as scikit-survival has it."""
    draw = np.random.default_rng(seed)
    X = np.column_stack([draw.integers(0, 10, n_rows), draw.normal(50, 10, n_rows), draw.integers(1, 4, n_rows)])
    rate = 0.2 * np.exp(0.9 * (X[:, 0] >= 4) + 0.6 * (X[:, 1] < 45) + 0.3 * X[:, 2])
    until, end = draw.exponential(1 / rate), draw.exponential(3.0, n_rows) + 0.05
    times = np.minimum(until, end) + 0.01
    if ties is not None:
        times = np.ceil(times * ties) / ties
    return X, target(until <= end, times)


def target(events, times, names=("event", "years")):
    """Events and times as a structured array."""
    y = np.empty(len(times), dtype=[(names[0], bool), (names[1], float)])
    y[names[0]], y[names[1]] = events, times
    return y

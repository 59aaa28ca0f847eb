"""Tables in bins for the compiled growers, by hand or drawn by Hypothesis, and the call that grows their trees."""

import numpy as np
from hypothesis import strategies as st

import oracle
from pysirus import _core
from pysirus._forest.forest import poisson_thresholds

SETS = _core.instruction_sets()


def grow(problem, n_trees=20, first_tree=0, n_threads=1, instruction_set=SETS[0]):
    return _core.grow(problem.plan(), problem.rows(), first_tree, n_trees, n_threads, instruction_set)


def make_problem(n_rows, n_bins, *, missing=(), n_slots=0, weights=False, extreme=False, seed=0, mean=1.0, **recipe):
    """A table with signal in its first columns, ties, and bins that stay empty."""
    rng = np.random.default_rng(seed)
    n_features = len(n_bins)
    has_missing = np.array([f in missing for f in range(n_features)], dtype=np.uint8)
    total = np.array(n_bins, dtype=np.int32) + has_missing
    bins = np.array([rng.integers(0, n, n_rows) for n in total], dtype=np.uint8).reshape(n_features, n_rows)
    signal_ = bins[0].astype(int) + 3 * (bins[-1] > total[-1] // 2) + rng.integers(0, 3, n_rows)
    limit = 2**20  # what the largest response may round to
    value = (signal_ - 5) * 30_000
    if extreme:  # all but a few at one end, so that sums are as large as they can be
        value = np.where(signal_ > np.quantile(signal_, 0.02), limit, -limit)
    slot = (signal_ % max(1, n_slots)).astype(np.uint8)
    return oracle.Problem(
        bins=bins,
        n_bins=total,
        has_missing=has_missing,
        value=None if n_slots else np.clip(value, -limit, limit).astype(np.int32),
        slot=slot if n_slots else None,
        n_slots=max(1, n_slots),
        weight=rng.integers(1, 2**20 + 1, n_rows).astype(np.int32) if weights else None,
        thresholds=poisson_thresholds(mean),
        seed=seed,
        **recipe,
    )


@st.composite
def problems(draw):
    n_features = draw(st.integers(1, 6))
    return make_problem(
        draw(st.integers(1, 80)),
        draw(st.lists(st.integers(1, 12), min_size=n_features, max_size=n_features)),
        missing=draw(st.sets(st.integers(0, n_features - 1))),
        n_slots=draw(st.sampled_from([0, 0, 0, 2, 3, 5])),
        weights=draw(st.booleans()),
        extreme=draw(st.booleans()),
        seed=draw(st.integers(0, 2**32)),
        mean=draw(st.sampled_from([1.0, 1.0, 0.5, 3.0])),
        max_depth=draw(st.integers(1, 4)),
        max_features=draw(st.integers(1, n_features)),
        min_node_size=draw(st.sampled_from([0, 1, 5, 5, 20])),
    )

"""Tables in bins for the compiled growers, by hand or drawn by Hypothesis, and the call that grows their trees."""

import numpy as np
from hypothesis import strategies as st

import oracle
from pysirus import _core
from pysirus._forest.forest import poisson_thresholds

SETS = _core.instruction_sets()


def grow(problem, n_trees=20, first_tree=0, n_threads=1, instruction_set=SETS[0]):
    return _core.grow(problem.plan(), problem.rows(), first_tree, n_trees, n_threads, instruction_set)


def grow_lines(problem, n_trees=20, first_tree=0, n_threads=1, instruction_set=SETS[0]):
    """The feature whose line wins each tree, and the splits."""
    lines = np.full(n_trees, -9, dtype=np.int32)
    plan, rows = problem.plan(), problem.rows()
    splits = _core.grow(plan, rows, first_tree, n_trees, n_threads, instruction_set, lines=lines)
    return lines, splits


def grow_in_parts(problem, limits, n_trees, first_tree=0, n_threads=1, instruction_set=SETS[0], lines=None):
    """Level by level: add up the sums of the parts, search, ask again about nodes that gain nothing."""
    plan = problem.plan()
    n_rows = problem.bins.shape[1]
    parts = [problem.rows(begin, end) for begin, end in zip([0, *limits], [*limits, n_rows])]
    splits = np.zeros((n_trees, 0), dtype=np.int32)
    for _ in range(problem.max_depth):
        sums = sum(_core.level_sums(plan, rows, first_tree, splits, n_threads, instruction_set) for rows in parts)
        found, without_gain = _core.search(plan, first_tree, splits, sums, None if splits.shape[1] else lines)
        if len(without_gain):
            others = sum(
                _core.count_other_values(plan, rows, first_tree, splits, without_gain, n_threads) for rows in parts
            )
            tree, node = without_gain[others == 0, :2].T
            found[tree, node - splits.shape[1]] = -1
        splits = np.concatenate([splits, found], axis=1)
    return splits


def make_columns(value, bins, n_columns, rng):
    """Several columns of numbers: the first, others with a signal of their own, and one that is nearly constant."""
    others = [bins[k % len(bins)].astype(int) * 20_000 // k - rng.integers(0, 50_000) for k in range(1, n_columns)]
    columns = np.array([value, *others])
    columns[-1] //= 60_000
    return columns


def make_problem(
    n_rows, n_bins, *, missing=(), n_outputs=0, n_columns=0, weights=False, extreme=False, seed=0, mean=1.0, **recipe
):
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
    if n_columns:
        value = make_columns(value, bins, n_columns, rng)
    class_code = (signal_ % max(1, n_outputs)).astype(np.uint8)
    return oracle.Problem(
        bins=bins,
        n_bins=total,
        has_missing=has_missing,
        value=None if n_outputs else np.clip(value, -limit, limit).astype(np.int32),
        class_code=class_code if n_outputs else None,
        n_outputs=max(1, n_outputs, n_columns),
        weight=rng.integers(1, 2**20 + 1, n_rows).astype(np.int32) if weights else None,
        thresholds=poisson_thresholds(mean),
        seed=seed,
        **recipe,
    )


@st.composite
def problems(draw):
    n_features = draw(st.integers(1, 6))
    n_outputs, n_columns = draw(st.sampled_from([(0, 0), (0, 0), (2, 0), (3, 0), (5, 0), (0, 1), (0, 2), (0, 5)]))
    return make_problem(
        draw(st.integers(1, 80)),
        draw(st.lists(st.integers(1, 12), min_size=n_features, max_size=n_features)),
        missing=draw(st.sets(st.integers(0, n_features - 1))),
        n_outputs=n_outputs,
        n_columns=n_columns,
        weights=draw(st.booleans()),
        extreme=draw(st.booleans()),
        seed=draw(st.integers(0, 2**32)),
        mean=draw(st.sampled_from([1.0, 1.0, 0.5, 3.0])),
        max_depth=draw(st.integers(1, 4)),
        max_features=draw(st.integers(1, n_features)),
        min_node_size=draw(st.sampled_from([0, 1, 5, 5, 20])),
    )

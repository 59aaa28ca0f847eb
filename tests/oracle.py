"""Slow, plain twins of the compiled kernels: what each must answer, to the last bit where the answer is an integer.

Numbers are Python integers or float64 in the documented order of operations; nothing here is shared with the core.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.optimize import nnls
from scipy.stats import binom

from pysirus import _core
from pysirus._forest.forest import InteractionConstraint, Paths

GOLDEN64 = 0x9E3779B97F4A7C15
GOLDEN32 = 0x9E3779B9
MASK64 = 2**64 - 1
MASK32 = np.uint64(2**32 - 1)
NO_SPLIT = -1

# ------------------------------------------------------------------------------------------------------------ draws


def mix64(x):
    """The finaliser of SplitMix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK64
    return x ^ (x >> 31)


def tree_key(seed, tree):
    return mix64((mix64((seed + GOLDEN64) & MASK64) + (tree + 1) * GOLDEN64) & MASK64)


def node_key(key, node):
    return mix64(key ^ mix64(((node + 1) * GOLDEN64) & MASK64))


def below(key, index, bound):
    """The integer in [0, bound) at a position of a node's sequence."""
    return (mix64((key + (index + 1) * GOLDEN64) & MASK64) * bound) >> 64


def fold_of_row(seed, row, n_folds):
    start = mix64(((~seed & MASK64) + GOLDEN64) & MASK64)
    return (mix64((start + (row + 1) * GOLDEN64) & MASK64) * n_folds) >> 64


def permuted(rank, n, key):
    """The place of a number among 0 ... n - 1."""
    bits = max(8, (n - 1).bit_length())
    right_bits, key = bits - bits // 2, mix64((key + GOLDEN64) & MASK64)
    while True:
        left, right = divmod(rank, 2**right_bits)
        for turn in range(4):
            left ^= mix64((key + (2 * turn + 1) * GOLDEN64) & MASK64 ^ right) >> (64 - bits // 2)
            right ^= mix64((key + (2 * turn + 2) * GOLDEN64) & MASK64 ^ left) >> (64 - right_bits)
        rank = left * 2**right_bits + right
        if rank < n:
            return rank


def deal(strata, n_strata, n_folds, seed):
    """The fold that holds out each row: the places of each stratum follow those of the one before."""
    folds = []
    for row, own in enumerate(strata):
        before = sum(other < own for other in strata)
        place = permuted(strata[:row].count(own), strata.count(own), mix64((seed + GOLDEN64) & MASK64) + own)
        folds.append((before + place) % n_folds)
    return folds


def row_bits(key, rows):
    """32 bits for each row of a tree; keys and rows broadcast."""
    key, rows = np.asarray(key, dtype=np.uint64), np.asarray(rows, dtype=np.uint64)
    low, high = key & MASK32, key >> np.uint64(32)
    x = (low + rows * np.uint64(GOLDEN32)) & MASK32
    x ^= x >> np.uint64(16)
    x = (x * np.uint64(0x21F0AAAD)) & MASK32
    x = (x + high) & MASK32
    x ^= x >> np.uint64(15)
    x = (x * np.uint64(0x735A2D97)) & MASK32
    return x ^ (x >> np.uint64(15))


def counts_of(seed, trees, rows, thresholds):
    """Bootstrap counts [tree, row]: how many thresholds the row's bits reach."""
    keys = np.array([tree_key(seed, int(tree)) for tree in trees], dtype=np.uint64)
    bits = row_bits(keys[:, None], np.asarray(rows)[None, :])
    return sum((bits >= np.uint64(t)).astype(np.int64) for t in thresholds)


def counts_in_blocks(seed, trees, n_rows, thresholds):
    """The same where blocks of 256 rows draw: each has a number of draws, and each draw takes one of its rows."""
    counts = np.zeros((len(trees), n_rows + 256), dtype=np.int64)
    for i, tree in enumerate(trees):
        start = ~tree_key(seed, int(tree)) & MASK64
        for block in range(-(-n_rows // 256)):
            key = mix64(start ^ mix64(((block + 1) * GOLDEN64) & MASK64))
            bits = [mix64((key + (k + 1) * GOLDEN64) & MASK64) for k in range(1 + (len(thresholds) + 7) // 8)]
            n_draws = sum((bits[0] >> 32) >= int(t) for t in thresholds)
            for draw in range(n_draws):
                counts[i, 256 * block + (bits[1 + draw // 8] >> (8 * (draw % 8)) & 0xFF)] += 1
    return counts[:, :n_rows]


def candidates_of(key, node, allowed, max_features):
    """Floyd's method: max_features of the allowed features without replacement, or all where they are fewer."""
    drawn = set()
    start = node_key(key, node)
    for last in range(max(0, len(allowed) - max_features), len(allowed)):
        feature = below(start, last, last + 1)
        drawn.add(last if feature in drawn else feature)
    return [allowed[i] for i in sorted(drawn)]


def allowed_features(problem, above):
    """The features that may stand in one path with those above a node."""
    return [f for f in range(len(problem.bins)) if problem.together.allows({*above, f})]


# ------------------------------------------------------------------------------------------------------------ trees


@dataclass
class Problem:
    """What ``_core.grow`` is told."""

    bins: np.ndarray  # [feature, row]
    n_bins: np.ndarray
    has_missing: np.ndarray
    value: np.ndarray | None = None  # [row], or [column, row]
    class_code: np.ndarray | None = None
    n_outputs: int = 1
    weight: np.ndarray | None = None
    thresholds: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint32))
    block_thresholds: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint32))  # where blocks of rows draw
    seed: int = 0
    max_depth: int = 2
    max_features: int = 1
    min_node_size: int = 5
    together: InteractionConstraint = field(default_factory=InteractionConstraint)
    lines: list = field(default_factory=list)  # [feature][bin], nothing for a feature that may not be a line

    @property
    def split_offset(self):
        cuts = self.n_bins - self.has_missing - 1
        return np.concatenate([[0], np.cumsum(np.where(self.has_missing, 2 * cuts + 1, cuts))]).astype(np.int32)

    def plan(self):
        """What ``_core`` is told of the columns and the trees."""
        return _core.Plan(
            self.n_bins.tolist(),
            self.has_missing.tolist(),
            self.split_offset.tolist(),
            self.n_outputs,
            self.class_code is not None,
            self.thresholds.tolist(),
            self.seed,
            self.max_depth,
            self.max_features,
            self.min_node_size,
            block_thresholds=self.block_thresholds.tolist(),
            lines=self.lines,
            **self.together.for_core(len(self.bins)),
        )

    def rows(self, begin=0, end=None):
        """What ``_core`` is told of the rows: all of them, or a part."""
        part = np.s_[begin:end]
        arrays = (self.bins, self.value, self.class_code, self.weight)
        return _core.Rows(*(None if a is None else np.ascontiguousarray(a[..., part]) for a in arrays), begin)


def goes_left(problem, feature, local):
    """Rows that split number ``local`` of a feature sends left."""
    bins = problem.bins[feature].astype(int)
    n_cuts = int(problem.n_bins[feature]) - int(problem.has_missing[feature]) - 1
    missing = bins == n_cuts + 1
    if local < n_cuts:
        return bins <= local
    if local < 2 * n_cuts:
        return missing | (bins <= local - n_cuts)
    return ~missing


def splits_to_try(problem, feature, rows):
    """Split numbers of a feature in the order in which they are tried."""
    n_cuts = int(problem.n_bins[feature]) - int(problem.has_missing[feature]) - 1
    if not problem.has_missing[feature]:
        return list(range(n_cuts))
    holds_missing = bool((problem.bins[feature, rows] == n_cuts + 1).any())
    tried = []
    for cut in range(n_cuts):
        tried += [cut, n_cuts + cut] if holds_missing else [cut]
    return [*tried, 2 * n_cuts]


def sums_of(problem, size, rows):
    """Size and response sums of some rows, as Python integers."""
    if problem.class_code is None:
        columns = np.atleast_2d(problem.value)[:, rows]
        return int(size[rows].sum()), [sum(int(a) * int(b) for a, b in zip(size[rows], c)) for c in columns]
    codes = problem.class_code[rows]
    return int(size[rows].sum()), [int(size[rows][codes == k].sum()) for k in range(problem.n_outputs)]


def score_of(n, sums, n_left, left_sums):
    """The decrease in variance times what is common to all splits of a node, in the core's order of operations."""
    n_left, n_right = float(n_left), float(n - n_left)
    score = 0.0
    for s, s_left in zip(sums, left_sums):
        d = float(s_left) * n_right - float(s - s_left) * n_left
        score += d * d
    return score / (n_left * n_right)


def tried_splits(problem, key, node, size, rows, above=()):
    """All splits of a node that part its rows: score, feature, number within the feature."""
    n, sums = sums_of(problem, size, rows)
    found = []
    for feature in candidates_of(key, node, allowed_features(problem, above), problem.max_features):
        for local in splits_to_try(problem, feature, rows):
            n_left, left_sums = sums_of(problem, size, rows & goes_left(problem, feature, local))
            if n_left not in (0, n):
                found.append((score_of(n, sums, n_left, left_sums), feature, local))
    return found


def best_split(problem, key, node, size, rows, above=()):
    """The best split of a node, or NO_SPLIT: the lowest cut of the feature that drew most, among equals."""
    found = tried_splits(problem, key, node, size, rows, above)
    if not found:
        return NO_SPLIT
    most = max(score for score, _, _ in found)
    tied = {feature for score, feature, _ in found if score == most}
    feature = max(tied, key=lambda f: int(row_bits(node_key(key, node), f)))
    first = next(local for score, f, local in found if score == most and f == feature)
    return int(problem.split_offset[feature]) + first


def drawn_counts(problem, tree):
    """How often each row stands in a tree's sample."""
    n_rows = problem.bins.shape[1]
    if len(problem.block_thresholds):
        return counts_in_blocks(problem.seed, [tree], n_rows, problem.block_thresholds)[0]
    return counts_of(problem.seed, [tree], np.arange(n_rows), problem.thresholds)[0]


def in_words(number):
    """An integer as a float: 32 bits at a time, the highest first."""
    size, result = abs(number), 0.0
    for shift in (96, 64, 32, 0):
        result = result * 2.0**32 + float(size >> shift & 2**32 - 1)
    return result


def line_sums(problem, feature, size, rows):
    """A of each output, and B, of the straight line in a feature's numbers: exact integers, as they are defined."""
    v = [problem.lines[feature][b] for b in problem.bins[feature, rows]]
    n, sums = sums_of(problem, size, rows)
    w = [int(own) for own in size[rows]]
    sx, sxx = sum(a * b for a, b in zip(v, w)), sum(a * a * b for a, b in zip(v, w))
    if problem.class_code is None:
        answers = [[int(y) for y in own] for own in np.atleast_2d(problem.value)[:, rows]]
    else:
        answers = [[int(c == k) for c in problem.class_code[rows]] for k in range(problem.n_outputs)]
    sxy = [sum(a * b * y for a, b, y in zip(v, w, own)) for own in answers]
    return [n * own - sx * s for own, s in zip(sxy, sums)], n * sxx - sx * sx


def winning_line(problem, tree):
    """The feature whose line wins a tree, or -1: it takes at least 0.9 of what the root's best cut takes."""
    key, counts = tree_key(problem.seed, tree), drawn_counts(problem, tree)
    size = counts if problem.weight is None else counts * problem.weight.astype(np.int64)
    rows = counts > 0
    cuts = tried_splits(problem, key, 0, size, rows)
    if counts.sum() <= problem.min_node_size or not cuts or not any(problem.lines):
        return -1
    found = []
    for feature in candidates_of(key, 0, allowed_features(problem, ()), problem.max_features):
        if not problem.lines[feature]:
            continue
        a, b = line_sums(problem, feature, size, rows)
        squares = 0.0
        for own in a:
            squares += in_words(own) * in_words(own)
        if b and squares:
            found.append((squares / in_words(b), int(row_bits(node_key(key, 0), feature)), feature))
    score, _, feature = max(found, default=(-1.0, 0, -1))
    return feature if score >= 0.9 * max(cuts)[0] else -1


def grow_tree(problem, tree):
    """Split numbers of a tree's inner nodes in heap order."""
    key, counts = tree_key(problem.seed, tree), drawn_counts(problem, tree)
    size = counts if problem.weight is None else counts * problem.weight.astype(np.int64)
    answer = problem.value if problem.class_code is None else problem.class_code
    splits = [NO_SPLIT] * (2**problem.max_depth - 1)
    members, above = {0: counts > 0}, {0: ()}
    for node in range(len(splits)):
        rows = members.get(node)
        if rows is None or counts[rows].sum() <= problem.min_node_size:
            continue
        if (answer[..., rows] == answer[..., rows][..., :1]).all():
            continue
        split = best_split(problem, key, node, size, rows, above[node])
        if split == NO_SPLIT:
            continue
        splits[node] = split
        feature = int(np.searchsorted(problem.split_offset, split, side="right")) - 1
        left = goes_left(problem, feature, split - int(problem.split_offset[feature]))
        members[2 * node + 1], members[2 * node + 2] = rows & left, rows & ~left
        above[2 * node + 1] = above[2 * node + 2] = (*above[node], feature)
    return splits


def grow(problem, first_tree, n_trees):
    return np.array([grow_tree(problem, first_tree + i) for i in range(n_trees)], dtype=np.int32)


def path_counts(splits):
    """How many trees hold each path, a path being the sorted tuple of its codes 2 * split + side."""
    counts = Counter()
    for tree in splits:
        paths = {0: ()}
        for node, split in enumerate(tree):
            if node not in paths or split == NO_SPLIT:
                continue
            for side in (0, 1):
                path = tuple(sorted([*paths[node], 2 * int(split) + side]))
                paths[2 * node + 1 + side] = path
                counts[path] += 1
    return counts


def expected_stability(counts, n_trees):
    """The paper's 1 - epsilon, averaged over the midpoints of the 51 largest distinct frequencies."""
    frequencies = np.unique(counts)[::-1] / n_trees
    values = []
    for high, low in list(pairwise(frequencies))[:50]:
        z = binom.cdf(n_trees * (high + low) / 2 + 1e-9, n_trees, np.asarray(counts) / n_trees)
        values.append(1 - (z * (1 - z)).sum() / (1 - z).sum())
    return float(np.mean(values))


def rms_z(first, second, n_trees):
    """How far apart two forests of ``n_trees`` trees are: the root mean square z over paths above 0.01 in either.

    Each forest is a dictionary of frequencies by path. Two seeds are about 1 apart.
    """
    z = []
    for path in set(first) | set(second):
        a, b = first.get(path, 0.0), second.get(path, 0.0)
        mean = (a + b) / 2
        if max(a, b) > 0.01:
            z.append((a - b) / np.sqrt(2 * mean * (1 - mean) / n_trees))
    return float(np.sqrt(np.mean(np.square(z))))


# ---------------------------------------------------------------------------------------------------------- weights


def nonnegative_ridge(outputs, y, penalty, weights=None):
    """min mean_w (y - a - outputs b)^2 + penalty |b|^2 over b >= 0 and a, by least squares on the augmented rows."""
    w = np.ones(len(y)) if weights is None else weights
    w = w / w.sum()
    mean_output, mean = w @ outputs, w @ y
    root = np.sqrt(w)[:, None]
    n_rules = outputs.shape[1]
    rows = np.vstack([root * (outputs - mean_output), np.sqrt(penalty) * np.eye(n_rules)])
    target = np.concatenate([root[:, 0] * (y - mean), np.zeros(n_rules)])
    b, _ = nnls(rows, target, maxiter=50 * n_rules + 1000)
    return b, mean - mean_output @ b


def cross_validated_error(outputs, y, folds, penalty, weights=None):
    """Mean squared error of rows predicted by a fit on the other folds, row by row."""
    w = np.ones(len(y)) if weights is None else weights
    total = 0.0
    for fold in np.unique(folds):
        rest = folds != fold
        if not rest.any():
            continue
        b, a = nonnegative_ridge(outputs[rest], y[rest], penalty, w[rest])
        for i in np.flatnonzero(~rest):
            total += w[i] * (y[i] - a - outputs[i] @ b) ** 2
    return total / w.sum()


def order_paths(codes, counts, n_trees):
    """Paths in order: frequency first, on a tie fewer splits, then more `<`, then place."""
    used = codes >= 0
    n_less = (used & (codes % 2 == 0)).sum(axis=1)
    order = np.lexsort((*codes.T[::-1], -n_less, used.sum(axis=1), -counts))
    return Paths(codes[order], counts[order], n_trees)

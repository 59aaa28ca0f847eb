"""Counter-based draws: Poisson counts that are Poisson and independent, candidates that are uniform."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, hypergeom, poisson

import oracle
from pysirus import _core
from pysirus._forest.forest import poisson_thresholds

# Draws are fixed by their seeds, so these tests do not flicker; a p-value this small in one of a few hundred tables
# is one in ten thousand by chance.
TOO_SMALL = 1e-6


def chi_square(observed, expected):
    """The p-value of a table of counts."""
    observed, expected = np.asarray(observed, float).ravel(), np.asarray(expected, float).ravel()
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1)


def pair_p_value(a, b, mean=1.0, top=4):
    """Are two arrays of counts independent Poisson variables?"""
    table = np.zeros((top + 1, top + 1))
    np.add.at(table, (np.minimum(a, top).ravel(), np.minimum(b, top).ravel()), 1)
    share = np.append(poisson.pmf(np.arange(top), mean), poisson.sf(top - 1, mean))
    return chi_square(table, a.size * np.outer(share, share))


def counts(seed, trees, n_rows, mean=1.0):
    return oracle.counts_of(seed, trees, np.arange(n_rows), poisson_thresholds(mean))


@pytest.mark.parametrize("mean", [1.0, 0.5, 0.632, 1e-4, 3.0])
def test_thresholds_are_the_poisson_distribution(mean):
    limits = poisson_thresholds(mean)
    assert limits.dtype == np.uint32
    assert len(limits) <= 16
    expected = poisson.cdf(np.arange(len(limits)), mean) * 2**32
    assert np.abs(limits.astype(float) - expected).max() <= 1
    # what is cut off is rarer than one in 2^32, or beyond sixteen
    assert poisson.sf(len(limits), mean) < 2.0**-31 or len(limits) == 16


def test_thresholds_of_mean_one_by_hand():
    # exp(-1) * 2^32 = 1580030168.7...
    assert poisson_thresholds(1.0)[:3].tolist() == [1580030169, 3160060337, 3950075422]


@pytest.mark.parametrize("mean", [1.0, 0.5, 3.0])
def test_counts_are_poisson(mean):
    drawn = counts(7, range(400), 1000, mean)
    top = 7
    observed = np.bincount(np.minimum(drawn, top).ravel(), minlength=top + 1)
    share = np.append(poisson.pmf(np.arange(top), mean), poisson.sf(top - 1, mean))
    assert chi_square(observed, drawn.size * share) > TOO_SMALL


@pytest.mark.parametrize("n_rows", [97, 1000, 4096])
def test_sample_sizes_of_trees_are_poisson(n_rows):
    totals = counts(11, range(2000), n_rows).sum(axis=1)
    limits = poisson.ppf(np.arange(1, 10) / 10, n_rows)
    observed = np.bincount(np.searchsorted(limits, totals, side="left"), minlength=10)
    share = np.diff(np.concatenate([[0], poisson.cdf(limits, n_rows), [1]]))
    assert chi_square(observed, len(totals) * share) > TOO_SMALL


def test_draws_of_a_row_over_trees_are_poisson():
    drawn = counts(3, range(20_000), 64)
    share = np.append(poisson.pmf(np.arange(4), 1), poisson.sf(3, 1))
    for row in range(64):
        observed = np.bincount(np.minimum(drawn[:, row], 4), minlength=5)
        assert chi_square(observed, len(drawn) * share) > TOO_SMALL, row


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 64, 100, 128, 255, 256, 1000, 1024])
def test_rows_are_independent(lag):
    drawn = counts(5, range(100), 3000)
    assert pair_p_value(drawn[:, :-lag], drawn[:, lag:]) > TOO_SMALL


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 8, 15, 16, 17, 32, 100, 256, 1000])
def test_trees_are_independent(lag):
    drawn = counts(5, range(2000), 200)
    assert pair_p_value(drawn[:-lag], drawn[lag:]) > TOO_SMALL


@pytest.mark.parametrize("seed, other", [(0, 1), (1, 2), (0, 2**32), (41, 42), (2**64 - 1, 0), (7, 7 + 2**63)])
def test_neighbouring_seeds_are_independent(seed, other):
    first, second = counts(seed, range(300), 1000), counts(other, range(300), 1000)
    for shift in (0, 1, 2):
        assert pair_p_value(first[: len(first) - shift], second[shift:]) > TOO_SMALL


def test_rows_and_trees_are_not_interchangeable():
    drawn = counts(5, range(400), 400)
    off_diagonal = ~np.eye(400, dtype=bool)
    assert pair_p_value(drawn[off_diagonal], drawn.T[off_diagonal]) > TOO_SMALL


def test_triples_of_rows_are_independent():
    """Whether three rows are drawn at all: eight cells."""
    drawn = counts(9, range(300), 2000) > 0
    p = 1 - np.exp(-1)
    share = [np.prod([p if bit else 1 - p for bit in bits]) for bits in product((0, 1), repeat=3)]
    for lags in ((1, 2), (1, 3), (8, 16), (64, 128)):
        a, b, c = drawn[:, : -lags[1]], drawn[:, lags[0] : lags[0] - lags[1]], drawn[:, lags[1] :]
        observed = np.bincount((4 * a + 2 * b + c).ravel(), minlength=8)
        assert chi_square(observed, a.size * np.array(share)) > TOO_SMALL


@pytest.mark.parametrize("n_features, max_features", [(2, 2), (6, 2), (9, 3), (13, 4), (30, 10), (5, 1)])
def test_candidates_are_uniform_without_replacement(n_features, max_features):
    drawn = [
        oracle.candidates_of(oracle.tree_key(1, tree), node, range(n_features), max_features)
        for tree in range(1500)
        for node in range(3)
    ]
    assert all(len(set(d)) == max_features and d[0] >= 0 and d[-1] < n_features for d in drawn)
    if max_features == n_features:
        return
    observed = np.bincount(np.concatenate(drawn), minlength=n_features)
    share = max_features / n_features
    # entries of one draw exclude each other: the counts vary less than independent ones by (1 - share) p / (p - 1)
    statistic = ((observed - len(drawn) * share) ** 2).sum() / (len(drawn) * share * (1 - share))
    statistic *= (n_features - 1) / n_features
    assert chi2.sf(statistic, n_features - 1) > TOO_SMALL


def test_candidates_of_neighbouring_nodes_are_independent():
    pairs = np.zeros((6, 6))
    overlap = np.zeros(3)
    for tree in range(4000):
        key = oracle.tree_key(2, tree)
        root, left, right = (oracle.candidates_of(key, node, range(6), 2) for node in range(3))
        for a in root:
            for b in left:
                pairs[a, b] += 1
        overlap[len(set(left) & set(right))] += 1
    assert (abs(pairs / pairs.sum() - 1 / 36) < 0.004).all()
    assert chi_square(overlap, 4000 * hypergeom.pmf([0, 1, 2], 6, 2, 2)) > TOO_SMALL


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1, 123456789])
def test_folds_are_those_of_the_oracle_and_even(seed):
    folds = _core.folds_of(seed, 5000, 10)
    assert folds[:500].tolist() == [oracle.fold_of_row(seed, row, 10) for row in range(500)]
    assert chi_square(np.bincount(folds, minlength=10), np.full(10, 500.0)) > TOO_SMALL


def test_folds_are_independent_of_the_counts():
    folds = _core.folds_of(5, 3000, 10)
    drawn = np.minimum(counts(5, range(50), 3000), 3)
    table = np.zeros((10, 4))
    np.add.at(table, (np.broadcast_to(folds, drawn.shape).ravel(), drawn.ravel()), 1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    assert chi2.sf(((table - expected) ** 2 / expected).sum(), 27) > TOO_SMALL

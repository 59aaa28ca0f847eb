"""Weights of lists with slopes: those of SciPy on dense columns, for every loss and for Cox, whole and in parts."""

from dataclasses import replace

import numpy as np
import pytest

import cox_oracle
import likelihood_oracle as oracle
from given import bin_arrays
from pysirus import _core
from pysirus._bins.numeric import with_grids
from pysirus._data.table import read_table
from pysirus._terms.rule import rule_of
from pysirus._terms.slope import FittedSlope
from pysirus._weights import likelihood
from pysirus._weights.likelihood import fit_likelihood, rule_patterns, rule_scores
from pysirus._weights.survival import cox_rows, fit_cox, risk_sets

SEED, N = 5, 160


@pytest.fixture(scope="module")
def rows():
    """Terms (rule, slope, rule, slope) on rows in bins, and their values in units, [row, term]."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 4))
    X[::9, 1] = np.nan
    binned, _ = bin_arrays(X, X[:, 0])
    binned = with_grids(binned, read_table(X), [1, 3])
    rules = [rule_of([2 * (binned.split_offset[i] + 4)], binned, 1.0) for i in (0, 2)]
    slopes = [
        FittedSlope(f"x{i}", i, np.nanmin(X[:, i]), np.nanmax(X[:, i]), np.nanmean(X[:, i]), grid=binned.grids[i])
        for i in (1, 3)
    ]
    terms = [rules[0], slopes[0], rules[1], slopes[1]]
    values = np.column_stack([term.row_values(binned, binned.bins) * term.unit for term in terms])
    assert abs(values[:, 1] - np.where(np.isnan(X[:, 1]), 0, X[:, 1] - np.nanmean(X[:, 1]))).max() < 1e-3
    return binned, terms, values.astype(float), rng


def answers(loss, values, rng):
    score = 0.5 * values @ [1.0, 0.8, -1.0, -0.6]
    if loss == "softmax":
        return (np.column_stack([score, 0 * score, -score]) + rng.gumbel(size=(N, 3))).argmax(axis=1).astype(float)
    return {
        "logistic": lambda: (rng.random(N) < 1 / (1 + np.exp(-score))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(score)).astype(float),
        "gamma": lambda: rng.gamma(3, np.exp(score)),
        "tweedie": lambda: rng.gamma(3, np.exp(score)) * (rng.random(N) < 0.7),
        "squared": lambda: score + rng.normal(size=N),
    }[loss]()


@pytest.mark.parametrize("loss", ["logistic", "softmax", "poisson", "gamma", "tweedie", "squared"])
def test_weights_of_rules_and_slopes_are_those_of_dense_columns(rows, loss):
    binned, terms, values, _ = rows
    rng = np.random.default_rng(7)
    y, w = answers(loss, values, rng), rng.integers(1, 4, N).astype(float)
    response = oracle.response_of(loss, y, w)
    n_scores = 3 if loss == "softmax" else 1
    gaps = rng.normal(size=(4, n_scores))
    gaps -= gaps.mean(axis=1, keepdims=True) if n_scores > 1 else 0
    units = np.array([term.unit for term in terms])[:, None]
    patterns = rule_patterns(terms, binned, response, SEED)
    columns = values[:, :, None] * gaps
    sizes = [1, 2, 4]
    found = fit_likelihood(patterns, gaps * units, 0 * gaps, oracle.loss_of(loss), sizes, penalties=np.full(3, 0.05))
    for row, size in enumerate(sizes):
        expected = oracle.fit(loss, columns[:, :size], y, w, 0.05)
        np.testing.assert_allclose(found.weights[row, :size], expected[n_scores:], atol=2e-5)
        np.testing.assert_allclose(found.intercepts[row], expected[:n_scores], atol=2e-5)
    grid = np.array([1.0, 0.1, 0.01])
    chosen = fit_likelihood(patterns, gaps * units, 0 * gaps, oracle.loss_of(loss), [4], grid, tol=1e-6)
    scale = oracle.largest_curvature(loss, columns, y, w)
    folds = _core.folds_of(SEED, N, 10)
    losses = [oracle.cross_validated_loss(loss, columns, y, w, folds, own * scale) for own in grid]
    np.testing.assert_allclose(chosen.losses[0], losses, rtol=1e-4)
    scores = rule_scores(terms, binned, gaps * units, 0 * gaps, oracle.loss_of(loss), found.weights[-1], np.zeros(1))
    np.testing.assert_allclose(scores, np.einsum("rks,k->rs", columns, found.weights[-1]), atol=1e-9)


@pytest.mark.parametrize("sampled", [20_000, 60])
def test_patterns_of_parts_add_up_to_the_bit(rows, sampled, monkeypatch):
    monkeypatch.setattr(likelihood, "SAMPLED", sampled)
    binned, terms, values, _ = rows
    response = oracle.response_of("poisson", answers("poisson", values, np.random.default_rng(1)))
    of_all = replace(response, part_of=response.scale)
    whole = rule_patterns(terms, binned, response, SEED)
    assert bool((whole.arrays["fold"] == 10).any()) == (sampled < N)
    some = [
        rule_patterns(terms, replace(binned, bins=binned.bins[:, a:b]), of_all.take(np.arange(a, b)), SEED, a)
        for a, b in ((0, 3), (3, 90), (90, N))
    ]
    both = some[2] + some[0] + some[1]
    assert all(np.array_equal(own, both.arrays[name]) for name, own in whole.arrays.items())


@pytest.mark.parametrize("ties", [False, True])
def test_cox_weights_of_rules_and_slopes_are_those_of_dense_columns(rows, ties):
    binned, terms, values, _ = rows
    rng = np.random.default_rng(11)
    times = rng.exponential(np.exp(-0.5 * values @ [1.0, 0.8, -1.0, -0.6]))
    times = np.ceil(4 * times) if ties else times
    events, w = rng.random(N) < 0.7, rng.integers(1, 3, N).astype(float)
    gaps, units = np.array([1.0, 0.7, -0.8, -0.9]), np.array([term.unit for term in terms])
    prepared = cox_rows(terms, binned, risk_sets(times, events), SEED, w)
    found = fit_cox(prepared, gaps * units, 0 * gaps, [2, 4], penalties=np.array([0.05, 0.05]))
    for row, size in enumerate((2, 4)):
        expected = cox_oracle.fit((values * gaps)[:, :size], times, events, w, 0.05)
        np.testing.assert_allclose(found.weights[row, :size], expected, atol=2e-5)

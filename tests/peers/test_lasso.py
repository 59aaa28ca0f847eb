"""The lasso against scikit-learn's on all columns."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from pysirus._peers.rulefit import GRID, fit_lasso


def problem(n=120, p=200, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.random((n, p)) < rng.uniform(0.1, 0.9, p)
    y = 3.0 * columns[:, 0] - 2.0 * columns[:, 1] + rng.normal(size=n)
    return columns, y, rng.permutation(np.arange(n) % 10)


@pytest.mark.parametrize("choice", ["1se", "min"])
def test_fit_is_the_lasso_of_all_columns(choice):
    columns, y, folds = problem()
    fit = fit_lasso(columns, y, np.ones(len(y)), folds, choice)
    whole = Lasso(alpha=fit.penalty, tol=1e-8, max_iter=100_000).fit(columns, y)
    ours = fit.intercept + columns @ fit.coefficients
    assert np.abs(ours - whole.predict(columns)).max() < 0.05 * y.std()
    objective = [
        ((y - columns @ c - b) ** 2).mean() / 2 + fit.penalty * np.abs(c).sum()
        for c, b in ((fit.coefficients, fit.intercept), (whole.coef_, whole.intercept_))
    ]
    assert objective[0] <= objective[1] * (1 + 1e-4)
    assert set(np.flatnonzero(np.abs(whole.coef_) > 0.05)) <= set(np.flatnonzero(fit.coefficients))


def test_penalty_is_what_plain_cross_validation_finds():
    columns, y, folds = problem(seed=3)
    top = np.abs((columns - columns.mean(0)).T @ (y - y.mean())).max() / len(y)
    errors = np.zeros((len(GRID), 10))
    for k in range(10):
        test = folds == k
        for i, penalty in enumerate(top * GRID):
            model = Lasso(alpha=penalty, tol=1e-6, max_iter=100_000).fit(columns[~test], y[~test])
            errors[i, k] = ((y[test] - model.predict(columns[test])) ** 2).mean()
    mean = errors.mean(axis=1)
    least = mean.argmin()
    within = mean[least] + errors[least].std(ddof=1) / np.sqrt(10)
    expected = {"min": least, "1se": np.flatnonzero(mean <= within)[0]}
    for choice, i in expected.items():
        fit = fit_lasso(columns, y, np.ones(len(y)), folds, choice)
        assert fit.penalty == pytest.approx(top * GRID[i])
        assert fit.error == pytest.approx(mean[i], rel=1e-2)


def test_whole_weights_are_repeated_rows():
    columns, y, folds = problem(n=60, p=30)
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    a = fit_lasso(columns, y, weights, folds, "min")
    b = fit_lasso(columns[repeated], y[repeated], np.ones(len(repeated)), folds[repeated], "min")
    assert a.penalty == pytest.approx(b.penalty)
    assert np.abs(a.coefficients - b.coefficients).max() < 0.02


def test_a_response_that_no_column_explains_keeps_nothing():
    columns, _, folds = problem(n=60, p=30)
    fit = fit_lasso(columns, np.full(60, 2.5), np.ones(60), folds, "1se")
    assert not fit.coefficients.any() and fit.intercept == 2.5


def test_no_columns_at_all():
    fit = fit_lasso(np.zeros((20, 0), bool), np.arange(20.0), np.ones(20), np.arange(20) % 10, "1se")
    assert fit.intercept == 9.5 and len(fit.coefficients) == 0

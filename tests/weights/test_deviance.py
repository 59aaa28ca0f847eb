"""Errors of scores against scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_gamma_deviance, mean_poisson_deviance, mean_squared_error

from pysirus._response.response import ClassResponse
from pysirus._weights.deviance import (
    predicted_means,
    row_deviances,
    weighted_mean,
)
from pysirus._weights.likelihood import responses_of

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(200, 1)) * 2
WEIGHTS = RNG.uniform(0.5, 2, 200)


@pytest.mark.parametrize(
    "loss, y, sklearn",
    [
        ("logistic", RNG.integers(0, 2, (200, 1)), lambda y, m, w: 2 * log_loss(y, m, sample_weight=w)),
        ("poisson", RNG.poisson(1.0, (200, 1)), lambda y, m, w: mean_poisson_deviance(y, m, sample_weight=w)),
        ("gamma", RNG.gamma(2.0, size=(200, 1)), lambda y, m, w: mean_gamma_deviance(y, m, sample_weight=w)),
        ("squared", RNG.normal(size=(200, 1)), lambda y, m, w: mean_squared_error(y, m, sample_weight=w)),
    ],
)
def test_deviances_are_those_of_scikit_learn(loss, y, sklearn):
    means = predicted_means(loss, SCORES)
    deviance = weighted_mean(row_deviances(loss, y, SCORES), WEIGHTS)
    assert deviance == pytest.approx(sklearn(y, means, WEIGHTS), rel=1e-12)


def test_several_classes():
    slots = RNG.integers(0, 4, 300).astype(np.uint8)
    y = responses_of(ClassResponse(slots, np.arange(4)), "softmax")
    scores = RNG.normal(size=(300, 4))
    p = predicted_means("softmax", scores)
    assert np.allclose(p.sum(axis=1), 1)
    assert weighted_mean(row_deviances("softmax", y, scores)) == pytest.approx(2 * log_loss(slots, p), rel=1e-12)


def test_a_share_that_is_its_own_mean_has_no_deviance():
    y = np.array([[0.0], [0.25], [0.5]])
    scores = np.array([[-800.0], [np.log(1 / 3)], [0.0]])
    assert np.allclose(row_deviances("logistic", y, scores), 0, atol=1e-15)


def test_the_order_of_rows_does_not_matter():
    y, order = RNG.poisson(1.0, (200, 1)), RNG.permutation(200)
    one = weighted_mean(row_deviances("poisson", y, SCORES), WEIGHTS)
    assert weighted_mean(row_deviances("poisson", y[order], SCORES[order]), WEIGHTS[order]) == one


def test_the_gamma_deviance_refuses_zero():
    with pytest.raises(ValueError, match="above 0, found 0"):
        row_deviances("gamma", np.zeros((3, 1)), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="at least 0, found -1"):
        row_deviances("poisson", -np.ones((3, 1)), np.zeros((3, 1)))

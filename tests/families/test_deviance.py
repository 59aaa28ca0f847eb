"""Means and deviances of scores against scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import (
    log_loss,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_squared_error,
    mean_tweedie_deviance,
)

from pysirus._families.links import GAMMA, LOGISTIC, POISSON, SOFTMAX, SQUARED, Loss
from pysirus._families.responses import ClassResponse
from pysirus._weights.likelihood import responses_of

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(200, 1)) * 2
WEIGHTS = RNG.uniform(0.5, 2, 200)
CLAIMS = RNG.gamma(2.0, size=(200, 1)) * (RNG.random((200, 1)) < 0.3)


@pytest.mark.parametrize(
    "loss, y, sklearn",
    [
        (LOGISTIC, RNG.integers(0, 2, (200, 1)), lambda y, m, w: 2 * log_loss(y, m, sample_weight=w)),
        (POISSON, RNG.poisson(1.0, (200, 1)), lambda y, m, w: mean_poisson_deviance(y, m, sample_weight=w)),
        (GAMMA, RNG.gamma(2.0, size=(200, 1)), lambda y, m, w: mean_gamma_deviance(y, m, sample_weight=w)),
        (SQUARED, RNG.normal(size=(200, 1)), lambda y, m, w: mean_squared_error(y, m, sample_weight=w)),
        *(
            (Loss("tweedie", p), CLAIMS, lambda y, m, w, p=p: mean_tweedie_deviance(y, m, sample_weight=w, power=p))
            for p in (1.01, 1.5, 1.99)
        ),
    ],
)
def test_deviances_are_those_of_scikit_learn(loss, y, sklearn):
    means = loss.means(SCORES)
    expected = sklearn(y, means, WEIGHTS)
    assert np.average(loss.deviances(y, SCORES), weights=WEIGHTS) == pytest.approx(expected, rel=1e-12)
    told = loss.deviances_of_means(y[:, 0], means[:, 0])
    assert np.average(told, weights=WEIGHTS) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("loss", [LOGISTIC, POISSON, GAMMA, SQUARED, Loss("tweedie", 1.3)])
def test_slopes_told_by_the_mean_are_those_of_scores(loss):
    y = RNG.integers(0, 2, (200, 1)) + 0.5 * (loss is GAMMA)
    slope, bend = loss.slopes_at(loss.means(SCORES)[:, 0], WEIGHTS, WEIGHTS * y[:, 0])
    assert np.allclose(slope, WEIGHTS * loss.slopes(y, SCORES)[:, 0], rtol=1e-12, atol=1e-12)
    up, down = (loss.slopes(y, SCORES + step)[:, 0] for step in (1e-6, -1e-6))
    assert np.allclose(bend, WEIGHTS * (up - down) / 2e-6, rtol=1e-6, atol=1e-8)


def test_several_classes():
    slots = RNG.integers(0, 4, 300).astype(np.uint8)
    y = responses_of(ClassResponse(slots, np.arange(4)), SOFTMAX)
    scores = RNG.normal(size=(300, 4))
    p = SOFTMAX.means(scores)
    assert np.allclose(p.sum(axis=1), 1)
    assert SOFTMAX.deviances(y, scores).mean() == pytest.approx(2 * log_loss(slots, p), rel=1e-12)


def test_a_share_that_is_its_own_mean_has_no_deviance():
    y = np.array([[0.0], [0.25], [0.5]])
    scores = np.array([[-800.0], [np.log(1 / 3)], [0.0]])
    assert np.allclose(LOGISTIC.deviances(y, scores), 0, atol=1e-15)
    told = LOGISTIC.deviances_of_means(y[:, 0], y[:, 0])
    assert np.allclose(told, 0, atol=1e-15)


def test_a_power_outside_one_to_two_is_refused():
    for power in (1.0, 2.0, float("nan")):
        with pytest.raises(ValueError, match="power must be between 1 and 2"):
            Loss("tweedie", power).means(SCORES)

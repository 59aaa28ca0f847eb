"""Weights by penalised likelihood where likelihoods misbehave: separable and rare classes, idle rules, heavy rows."""

import numpy as np
import pytest
from test_likelihood import LOSSES, make_case, outputs_of

from likelihood_oracle import columns_of, loss_of, objective, patterns_of, response_of
from pysirus import _core
from pysirus._weights.likelihood import fit_likelihood
from pysirus._weights.weighted import STAGES_GRID


def check_minimum(loss, found, holds, y, inside, outside, weights=None, row=0):
    """No slope is left to follow at the answer."""
    w = np.ones(len(y)) if weights is None else weights
    value = objective(loss, columns_of(holds, inside, outside), y, w, found.penalties[row])
    point = np.concatenate([found.intercepts[row], found.weights[row]])
    assert np.isfinite(point).all()
    slope = value(point)[1]
    n_scores = inside.shape[1]
    still = np.concatenate([np.zeros(n_scores, bool), point[n_scores:] == 0])
    scale = max(abs(value(np.where(np.arange(len(point)) < n_scores, point, 0))[1]).max(), 1e-12)
    assert abs(slope[~still]).max() <= 1e-9 * scale
    assert slope.min() >= -1e-9 * scale


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_separable_classes_have_finite_weights(loss):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2 if loss == "logistic" else 3, 400).astype(float)
    holds = np.column_stack([y == 1, y == 0, y == y.max(), rng.random(400) < 0.5])
    inside, outside = outputs_of(loss, holds, y, None)
    patterns = patterns_of(holds, response_of(loss, y))
    found = fit_likelihood(patterns, inside, outside, loss_of(loss), [4], STAGES_GRID)
    check_minimum(loss, found, holds, y, inside, outside)
    assert found.losses[0].argmin() == len(STAGES_GRID) - 1
    assert found.losses[0, -1] < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_one_in_a_thousand(seed):
    rng = np.random.default_rng(seed)
    y = (np.arange(20_000) % 1000 == 0).astype(float)
    holds = rng.random((20_000, 6)) < 0.3
    holds[:, 0] = rng.random(20_000) < np.where(y == 1, 0.8, 0.1)
    inside, outside = outputs_of("logistic", holds, y, None)
    patterns = patterns_of(holds, response_of("logistic", y))
    found = fit_likelihood(patterns, inside, outside, loss_of("logistic"), range(7), STAGES_GRID)
    check_minimum("logistic", found, holds, y, inside, outside, row=6)
    assert found.weights[6, 0] > 0
    # with or without a hundred copies of every row of the rare class the same rules are found
    heavy = np.where(y == 1, 100.0, 1.0)
    outputs = outputs_of("logistic", holds, y, heavy)
    again = fit_likelihood(
        patterns_of(holds, response_of("logistic", y, heavy)), *outputs, loss_of("logistic"), [6], STAGES_GRID
    )
    for weights, (a, b) in ((found.weights[6], (inside, outside)), (again.weights[0], outputs)):
        assert (weights * abs(a - b)[:, 0]).argmax() == 0


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_a_class_of_one_row_leaves_a_fold_without_it(loss):
    rng = np.random.default_rng(1)
    y = np.zeros(60)
    y[7] = 1
    if loss == "softmax":
        y[30:] = 2
    holds = rng.random((60, 4)) < 0.5
    inside, outside = outputs_of(loss, holds, y, None)
    found = fit_likelihood(patterns_of(holds, response_of(loss, y)), inside, outside, loss_of(loss), range(5))
    assert np.isfinite(found.losses).all()
    assert np.isfinite(found.intercepts).all()
    check_minimum(loss, found, holds, y, inside, outside, row=4)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_response_of_one_class_has_a_finite_constant(value):
    y = np.full(30, value)
    holds = np.random.default_rng(0).random((30, 3)) < 0.5
    response = response_of("logistic", y)
    found = fit_likelihood(patterns_of(holds, response), np.zeros(3), np.zeros(3), loss_of("logistic"), [0, 3])
    assert np.isfinite(found.intercepts).all()
    assert (found.weights == 0).all()
    p = 1 / (1 + np.exp(-found.constant[0]))
    assert abs(p - value) == pytest.approx(2.0**-20)


@pytest.mark.parametrize("loss", LOSSES)
def test_rules_that_always_or_never_hold_weigh_nothing(loss):
    holds, y, _, inside, outside = make_case(loss)
    idle = np.column_stack([np.ones(len(y), bool), holds, np.zeros(len(y), bool)])
    pad = np.zeros((1, inside.shape[1]))
    alone = fit_likelihood(patterns_of(holds, response_of(loss, y)), inside, outside, loss_of(loss), [8])
    found = fit_likelihood(
        patterns_of(idle, response_of(loss, y)),
        np.vstack([pad + 1, inside, pad + 2]),
        np.vstack([pad, outside, pad]),
        loss_of(loss),
        [1, 10],
    )
    assert np.allclose(found.weights[1, 1:-1], alone.weights[0], rtol=1e-7, atol=1e-10)
    assert np.allclose(found.weights[:, [0, -1]], 0, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_rules_share_their_weight(loss):
    holds, y, _, inside, outside = make_case(loss, n_rules=3)
    twice, both = np.hstack([holds, holds[:, :1]]), [0, 1, 2, 0]
    patterns = patterns_of(twice, response_of(loss, y))
    found = fit_likelihood(patterns, inside[both], outside[both], loss_of(loss), [4], STAGES_GRID)
    assert found.weights[0, 0] > 0
    assert found.weights[0, 0] == pytest.approx(found.weights[0, 3], rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_row_may_outweigh_all_others(loss):
    holds, y, _, inside, outside = make_case(loss)
    weights = np.ones(len(y))
    weights[5] = 1e9
    inside, outside = (np.nan_to_num(output) for output in (inside, outside))
    patterns = patterns_of(holds, response_of(loss, y, weights))
    found = fit_likelihood(patterns, inside, outside, loss_of(loss), [0, 8])
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.intercepts).all()
    assert np.isfinite(found.losses).all()


def test_counts_may_be_zero_but_for_a_few():
    rng = np.random.default_rng(0)
    holds = rng.random((500, 5)) < 0.4
    y = np.where(holds[:, 0] & (rng.random(500) < 0.05), 40.0, 0.0)
    inside, outside = outputs_of("poisson", holds, y, None)
    found = fit_likelihood(
        patterns_of(holds, response_of("poisson", y)), inside, outside, loss_of("poisson"), [5], STAGES_GRID
    )
    check_minimum("poisson", found, holds, y, inside, outside)
    nothing = fit_likelihood(
        patterns_of(holds, response_of("poisson", 0 * y)), inside, outside, loss_of("poisson"), [0]
    )
    assert np.isfinite(nothing.intercepts).all()


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("loss", ["gamma", "poisson", "squared"])
def test_the_unit_of_the_response_does_not_matter(loss, unit):
    holds, y, _, inside, outside = make_case(loss)
    scale = 1.0 if loss == "gamma" else unit  # the residual y / mu - 1 has no unit
    one = fit_likelihood(patterns_of(holds, response_of(loss, y)), inside, outside, loss_of(loss), [8])
    other = fit_likelihood(
        patterns_of(holds, response_of(loss, y * unit)), inside * scale, outside * scale, loss_of(loss), [8]
    )
    score = unit if loss == "squared" else 1.0  # of the score
    assert np.allclose(other.weights * scale / score, one.weights, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n_rows", [2, 3, 5, 12])
def test_few_rows(n_rows):
    rng = np.random.default_rng(n_rows)
    for loss in LOSSES:
        holds = rng.random((n_rows, 3)) < 0.5
        y = (np.arange(n_rows) % 2).astype(float) + (loss == "gamma")
        inside, outside = rng.normal(size=(2, 3, 2 if loss == "softmax" else 1))
        found = fit_likelihood(
            patterns_of(holds, response_of(loss, y)), inside, outside, loss_of(loss), range(4), STAGES_GRID
        )
        assert np.isfinite(found.weights).all()
        assert np.isfinite(found.intercepts).all()
        assert found.gradient_norm.max() < 1e-9


def test_the_core_refuses_what_does_not_fit_together():
    holds, y, _, inside, outside = make_case("logistic")
    patterns = patterns_of(holds, response_of("logistic", y))
    with pytest.raises(ValueError, match="loss must be"):
        fit_likelihood(patterns, inside, outside, loss_of("squares"), [1])
    with pytest.raises(ValueError, match="for softmax one a class"):
        fit_likelihood(patterns, inside, outside, loss_of("softmax"), [1])
    with pytest.raises(ValueError, match="sizes must be"):
        fit_likelihood(patterns, inside, outside, loss_of("logistic"), [9])
    with pytest.raises(ValueError, match="same shape"):
        _core.loss_of_rows("logistic", np.zeros((3, 1)), np.zeros((2, 1)))
    other = patterns_of(holds[:, :5], response_of("logistic", y))
    with pytest.raises(ValueError, match="add up"):
        _ = patterns + other


def test_256_classes_have_weights():
    y = (np.arange(1024) % 256).astype(float)
    holds = np.column_stack([y > 254, np.random.default_rng(0).random(1024) < 0.5])
    inside, outside = outputs_of("softmax", holds, y, None)
    patterns = patterns_of(holds, response_of("softmax", y))
    found = fit_likelihood(patterns, inside, outside, loss_of("softmax"), [2], penalties=np.array([1e-3]))
    check_minimum("softmax", found, holds, y, inside, outside)
    assert found.weights[0, 0] > 1

"""Weights by penalised likelihood against SciPy, ridge, and themselves."""

from dataclasses import replace

import numpy as np
import pytest
from test_weights import make_case as ridge_case

import likelihood_oracle as oracle
from likelihood_oracle import POWER, SEED, loss_of, patterns_of, response_of
from pysirus import _core
from pysirus._weights.likelihood import (
    fit_likelihood,
    gradient_residuals,
    residual_exponent,
    rounded,
    rule_patterns,
    rule_scores,
)
from pysirus._weights.moments import rule_moments
from pysirus._weights.weighted import PENALTY_GRID, STAGES_GRID, holds_in_bins, weigh_by_ridge, with_outputs

LOSSES = ["logistic", "softmax", "poisson", "gamma", "tweedie", "squared"]


def make_case(loss, n_rows=300, n_rules=8, seed=0, weighted=False, n_classes=3):
    """Rules that hold at random, a response that depends on some of them, outputs as mean residuals."""
    rng = np.random.default_rng(seed)
    holds = rng.random((n_rows, n_rules)) < rng.uniform(0.2, 0.8, n_rules)
    signal = holds @ rng.normal(size=n_rules) * 0.7
    signal -= signal.mean()
    if loss == "logistic":
        y = (rng.random(n_rows) < 1 / (1 + np.exp(-signal - 0.5))).astype(float)
    elif loss == "softmax":
        tilt = np.linspace(-1, 1, n_classes)
        p = np.exp(signal[:, None] * tilt + rng.normal(size=n_classes) * 0.3)
        y = (
            (rng.random(n_rows)[:, None] > np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1))
            .sum(axis=1)
            .astype(float)
        )
        y[:n_classes] = np.arange(n_classes)
    elif loss == "poisson":
        y = rng.poisson(np.exp(signal)).astype(float)
    elif loss == "gamma":
        y = rng.gamma(2.0, np.exp(signal))
    elif loss == "tweedie":
        y = rng.gamma(2.0, np.exp(signal)) * (rng.random(n_rows) < 0.6)
    else:
        y = signal + rng.normal(size=n_rows)
    weights = rng.integers(1, 9, n_rows) / 4 if weighted else None
    return holds, y, weights, *outputs_of(loss, holds, y, weights)


def outputs_of(loss, holds, y, weights):
    """Mean residuals of the constant inside and outside [rule, score]."""
    w = np.ones(len(y)) if weights is None else weights
    n_scores = int(y.max()) + 1 if loss == "softmax" else 1
    constant = oracle.start_of(loss, y, w, n_scores)
    residual = -oracle.loss_and_slope(loss, y, np.tile(constant, (len(y), 1)))[1]
    inside = (holds * w[:, None]).T @ residual / (holds.T @ w)[:, None]
    outside = (~holds * w[:, None]).T @ residual / ((~holds).T @ w)[:, None]
    return inside, outside


def weights_of(y, weights):
    return np.ones(len(y)) if weights is None else weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_those_of_scipy(loss, weighted):
    holds, y, weights, inside, outside = make_case(loss, weighted=weighted)
    w, columns = weights_of(y, weights), oracle.columns_of(holds, inside, outside)
    scale = oracle.largest_curvature(loss, columns, y, w)
    patterns = patterns_of(holds, response_of(loss, y, weights))
    for multiple in (1.0, 1e-2, 1e-3):
        penalty = multiple * scale
        found = fit_likelihood(patterns, inside, outside, loss_of(loss), [8], penalties=np.array([penalty]))
        point = np.concatenate([found.intercepts[0], found.weights[0]])
        value = oracle.objective(loss, columns, y, w, penalty)
        expected = oracle.fit(loss, columns, y, w, penalty)
        n_scores = columns.shape[2]
        assert value(point)[0] <= value(expected)[0] + 1e-12
        assert np.allclose(point, expected, atol=1e-4 * max(1, abs(expected).max()))
        slope = value(point)[1]
        start = np.concatenate([oracle.start_of(loss, y, w, n_scores), np.zeros(8)])
        steepest = abs(value(start)[1]).max()
        free = np.concatenate([np.ones(n_scores, bool), point[n_scores:] > 0])
        assert (point[n_scores:] >= 0).all()
        assert (point[n_scores:] > 0).any()
        assert abs(slope[free]).max() <= 1e-10 * steepest
        assert slope[~free].min(initial=0.0) >= -1e-10 * steepest
        assert found.gradient_norm[0] <= 1e-10


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_are_differences_of_the_loss(loss):
    rng = np.random.default_rng(0)
    n_scores = 4 if loss == "softmax" else 1
    y = (
        np.eye(4)[rng.integers(0, 4, 50)]
        if loss == "softmax"
        else rng.integers(0, 2, (50, 1)) + 0.5 * (loss == "gamma")
    )
    y, eta, step = y.astype(float), rng.normal(size=(50, n_scores)) * 2, 1e-6
    slope = _core.loss_of_rows(loss, eta, y, POWER)[1]
    for score in range(n_scores):
        shift = step * (np.arange(n_scores) == score)
        up, down = (_core.loss_of_rows(loss, np.ascontiguousarray(eta + sign * shift), y, POWER)[0] for sign in (1, -1))
        assert np.allclose(slope[:, score], (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_penalty_is_that_of_the_least_cross_validated_loss(loss):
    holds, y, weights, inside, outside = make_case(loss, n_rows=100, n_rules=5, weighted=True, seed=2)
    columns = oracle.columns_of(holds, inside, outside)
    folds = _core.folds_of(SEED, len(y), 10)
    grid = np.logspace(2, -3, 3)
    penalties = grid * oracle.largest_curvature(loss, columns, y, weights)
    losses = [oracle.cross_validated_loss(loss, columns, y, weights, folds, penalty) for penalty in penalties]
    patterns = patterns_of(holds, response_of(loss, y, weights))
    exact = fit_likelihood(patterns, inside, outside, loss_of(loss), [5], grid, tol=1e-8)
    assert np.allclose(exact.losses[0], losses, rtol=1e-7)
    assert exact.penalties[0] == pytest.approx(penalties[np.argmin(losses)], rel=1e-9)
    quick = fit_likelihood(patterns, inside, outside, loss_of(loss), [5], grid)
    assert np.allclose(quick.losses[0], losses, rtol=2e-3)
    assert quick.penalties[0] == exact.penalties[0]


def test_the_squared_error_is_the_ridge_of_the_regressor():
    _, _, _, binned, response, rules, _ = ridge_case(weighted=True)
    moments = rule_moments(rules, binned, response, SEED)
    rules = with_outputs(rules, moments, response)
    inside, outside = (np.array([getattr(rule, side) for rule in rules]) for side in ("inside", "outside"))
    sizes = range(2, len(rules) + 1)
    ridge = weigh_by_ridge(rules, moments, sizes)
    found = fit_likelihood(rule_patterns(rules, binned, response, SEED), inside, outside, loss_of("squared"), sizes)
    assert np.allclose(found.penalties, ridge.penalties, rtol=1e-9)
    assert np.allclose(found.weights, ridge.weights, rtol=1e-7, atol=1e-9)
    assert np.allclose(found.intercepts[:, 0], ridge.intercepts, rtol=1e-7, atol=1e-9)
    model = (inside, outside, loss_of("squared"), found.weights[-1], found.intercepts[-1])
    scores = rule_scores(rules, binned, *model)
    holds = np.column_stack([holds_in_bins(rule, binned) for rule in rules])
    assert np.allclose(scores[:, 0], found.intercepts[-1] + np.where(holds, inside, outside) @ found.weights[-1])


@pytest.mark.parametrize("loss", LOSSES)
def test_each_size_is_a_fit_of_its_own_on_any_number_of_threads(loss):
    holds, y, weights, inside, outside = make_case(loss, n_rules=20, weighted=True)
    response = response_of(loss, y, weights)
    together = fit_likelihood(patterns_of(holds, response), inside, outside, loss_of(loss), range(21), n_threads=3)
    for k in (0, 1, 2, 7, 8, 9, 20):
        alone = fit_likelihood(patterns_of(holds[:, :k], response), inside[:k], outside[:k], loss_of(loss), [k])
        assert np.array_equal(together.weights[k, :k], alone.weights[0])
        assert (together.weights[k, k:] == 0).all()
        assert np.array_equal(together.intercepts[k], alone.intercepts[0])
        assert together.penalties[k] == alone.penalties[0]
        assert np.array_equal(together.losses[k], alone.losses[0])


@pytest.mark.parametrize("loss", LOSSES)
def test_parts_in_any_order_give_the_same_bits(loss):
    holds, y, weights, inside, outside = make_case(loss, weighted=True)
    response = response_of(loss, y, weights)
    whole = patterns_of(holds, response)
    scale = response.scale
    parts = []
    for rows in (np.arange(250, 300), np.arange(100), np.arange(100, 250)):
        part = replace(response.take(rows), part_of=scale)
        parts.append(patterns_of(holds[rows], part, first_row=int(rows[0])))
    added = parts[0] + parts[1] + parts[2]
    for name, array in whole.arrays.items():
        assert np.array_equal(array, added.arrays[name]), name
    one, other = (fit_likelihood(p, inside, outside, loss_of(loss), [8]) for p in (whole, added))
    assert np.array_equal(one.weights, other.weights)
    assert one.weights.any()


@pytest.mark.parametrize("loss", LOSSES)
def test_on_a_sample_the_penalty_is_that_of_its_rows_and_the_weights_are_those_of_all(loss):
    holds, y, weights, inside, outside = make_case(loss, n_rows=800, n_rules=6, weighted=True, seed=3)
    response, grid = response_of(loss, y, weights), np.logspace(1, -2, 7)
    whole, some = (patterns_of(holds, response, most_sampled=most) for most in (2**64 - 1, 2**62))
    known = some.arrays["fold"] < 10
    assert 0.2 < some.arrays["weight"][known].sum() / some.arrays["weight"].sum() < 0.3
    found = fit_likelihood(some, inside, outside, loss_of(loss), [6], grid, tol=1e-8)
    # the rows of the sample alone, at the same penalties
    alone = replace(some, arrays={name: np.ascontiguousarray(array[known]) for name, array in some.arrays.items()})
    own = fit_likelihood(alone, inside, outside, loss_of(loss), [6], grid, tol=1e-8)
    scales = [fit.penalties[0] / grid[fit.losses[0].argmin()] for fit in (found, own)]
    own = fit_likelihood(alone, inside, outside, loss_of(loss), [6], grid * scales[0] / scales[1], tol=1e-8)
    looked_at = np.isfinite(found.losses[0])
    share = some.arrays["weight"][known].sum() / some.arrays["weight"].sum()
    assert np.allclose(found.losses[0][looked_at], share * own.losses[0][looked_at], rtol=1e-6)
    assert found.losses[0].argmin() == own.losses[0].argmin()
    # the walk began at the smallest penalty, and ended after three that were worse
    assert looked_at[-1] and looked_at.sum() == min(len(grid) - found.losses[0].argmin() + 3, len(grid))
    exact = fit_likelihood(whole, inside, outside, loss_of(loss), [6], penalties=found.penalties)
    assert np.allclose(found.weights, exact.weights, rtol=1e-9, atol=1e-12)
    assert np.allclose(found.intercepts, exact.intercepts, rtol=1e-9, atol=1e-12)
    assert found.gradient_norm[0] <= 1e-11


def test_a_rule_that_no_row_of_the_sample_knows_has_its_weight():
    holds, y, weights, inside, outside = make_case("logistic", n_rows=400, n_rules=1)
    response, most = response_of("logistic", y, weights), 2**62
    place = np.array([[False]])
    sampled = np.array(
        [
            patterns_of(place, response.take([i]), first_row=i, most_sampled=most).arrays["fold"][0] < 10
            for i in range(400)
        ]
    )
    holds = holds & ~sampled[:, None]
    found = fit_likelihood(
        patterns_of(holds, response, most_sampled=most), inside, outside, loss_of("logistic"), [1], PENALTY_GRID
    )
    exact = fit_likelihood(
        patterns_of(holds, response), inside, outside, loss_of("logistic"), [1], penalties=found.penalties
    )
    assert found.weights[0, 0] == pytest.approx(exact.weights[0, 0], rel=1e-9) and found.weights[0, 0] > 0


def test_a_sample_without_one_of_the_classes_takes_the_smallest_penalty():
    holds, y, weights, inside, outside = make_case("logistic", n_rows=400)
    few = patterns_of(holds, response_of("logistic", y, weights), most_sampled=2**57)  # a row or two
    found = fit_likelihood(few, inside, outside, loss_of("logistic"), [8], PENALTY_GRID)
    assert np.isfinite(found.weights).all() and found.gradient_norm[0] <= 1e-11


@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_of_weight_two_is_the_row_twice(loss):
    holds, y, _, inside, outside = make_case(loss)
    twice = np.random.default_rng(1).random(len(y)) < 0.4
    rows = np.concatenate([np.arange(len(y)), np.flatnonzero(twice)])
    heavy = patterns_of(holds, response_of(loss, y, 1.0 + twice))
    copied = patterns_of(holds[rows], response_of(loss, y[rows]))
    fits = [fit_likelihood(p, inside, outside, loss_of(loss), [8], penalties=np.array([1e-3])) for p in (heavy, copied)]
    assert np.allclose(fits[0].weights, fits[1].weights, rtol=1e-9)
    assert np.allclose(fits[0].intercepts, fits[1].intercepts, rtol=1e-9)


@pytest.mark.parametrize("factor", [10.0, 1e-6, 1e12])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_unit_of_weights_does_not_matter(loss, factor):
    holds, y, weights, inside, outside = make_case(loss, weighted=True)
    fits = [
        fit_likelihood(patterns_of(holds, response_of(loss, y, w)), inside, outside, loss_of(loss), [3, 8], STAGES_GRID)
        for w in (weights, weights * factor)
    ]
    assert np.allclose(fits[0].weights, fits[1].weights, rtol=1e-6, atol=1e-9)
    assert np.allclose(fits[0].penalties, fits[1].penalties, rtol=1e-9)


def test_exposure_in_days_or_years_is_the_same():
    holds, y, years, inside, outside = make_case("poisson", weighted=True)
    sizes = [4, 8]
    one = fit_likelihood(
        patterns_of(holds, response_of("poisson", y, years)), inside, outside, loss_of("poisson"), sizes
    )
    daily = response_of("poisson", y / 365, years * 365)
    other = fit_likelihood(patterns_of(holds, daily), inside / 365, outside / 365, loss_of("poisson"), sizes)
    assert np.allclose(other.weights, one.weights * 365, rtol=1e-6)
    assert np.allclose(other.intercepts, one.intercepts - np.log(365), rtol=1e-6)


def test_two_classes_of_softmax_are_the_logistic_form_at_the_matching_penalty():
    holds, y, weights, inside, outside = make_case("logistic", weighted=True)
    response = response_of("logistic", y, weights)
    patterns, both = patterns_of(holds, response), (np.hstack([-inside, inside]), np.hstack([-outside, outside]))
    one = fit_likelihood(patterns, inside, outside, loss_of("logistic"), range(9), tol=1e-6)
    two = fit_likelihood(patterns, *both, loss_of("softmax"), range(9), tol=1e-6)
    assert np.allclose(two.penalties, 4 * one.penalties, rtol=1e-9)
    assert np.allclose(2 * two.weights, one.weights, rtol=1e-8, atol=1e-12)
    assert np.allclose(two.intercepts[:, 1] - two.intercepts[:, 0], one.intercepts[:, 0], rtol=1e-8)
    assert np.allclose(two.losses[1:], one.losses[1:], rtol=1e-9)


def test_scores_of_classes_add_up_to_zero_and_a_shift_of_outputs_does_not_matter():
    holds, y, _, inside, outside = make_case("softmax", n_classes=5)
    patterns = patterns_of(holds, response_of("softmax", y))
    plain = fit_likelihood(patterns, inside, outside, loss_of("softmax"), [0, 8])
    shifted = fit_likelihood(patterns, inside + 0.3, outside - 0.2, loss_of("softmax"), [0, 8])
    assert np.allclose(plain.intercepts.sum(axis=1), 0, atol=1e-12)
    assert np.allclose(shifted.weights, plain.weights, rtol=1e-8)
    assert np.allclose(shifted.intercepts, plain.intercepts, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_rule_is_the_link_of_the_mean(loss):
    holds, y, weights, inside, outside = make_case(loss, weighted=True)
    found = fit_likelihood(patterns_of(holds, response_of(loss, y, weights)), inside, outside, loss_of(loss), [0])
    expected = oracle.start_of(loss, y, weights, inside.shape[1])
    assert np.allclose(found.intercepts[0], expected, rtol=1e-9)
    assert np.allclose(found.constant, expected, rtol=1e-9)
    assert found.penalties.tolist() == [0.0]


def test_more_than_64_rules():
    holds, y, _, inside, outside = make_case("logistic", n_rules=70, n_rows=500)
    found = fit_likelihood(
        patterns_of(holds, response_of("logistic", y)), inside, outside, loss_of("logistic"), [64, 65, 70]
    )
    columns = oracle.columns_of(holds, inside, outside)
    for row, k in enumerate(found.sizes):
        value = oracle.objective("logistic", columns[:, :k], y, np.ones(500), found.penalties[row])
        slope = value(np.concatenate([found.intercepts[row], found.weights[row, :k]]))[1][1:]
        assert abs(slope[found.weights[row, :k] > 0]).max() < 1e-12
        assert slope.min() > -1e-12
    assert (found.weights[2] > 0).sum() > 10


def test_the_grid_starts_at_the_largest_penalty():
    assert PENALTY_GRID[0] > PENALTY_GRID[-1]
    assert STAGES_GRID[0] > STAGES_GRID[-1]


@pytest.mark.parametrize("loss", LOSSES)
def test_residuals_are_slopes_of_the_shrunk_score_in_fixed_point(loss):
    _, y, _, inside, _ = make_case(loss)
    n_scores = inside.shape[1]
    hot = np.eye(n_scores)[y.astype(int)] if loss == "softmax" else y[:, None]
    rng = np.random.default_rng(3)
    scores, constant = rng.normal(size=(len(y), n_scores)), np.linspace(-0.3, 0.3, n_scores)
    slopes = gradient_residuals(loss_of(loss), hot, scores, constant, 0.85)
    exponent = residual_exponent(loss_of(loss), float(np.abs(slopes).max()))
    residuals = rounded(slopes, exponent)
    expected = -oracle.loss_and_slope(loss, y, constant + 0.85 * (scores - constant))[1]
    expected *= np.exp((POWER - 1) * constant) if loss == "tweedie" else 1.0
    assert np.allclose(residuals, expected, rtol=1e-9, atol=1e-12)
    integers = np.ldexp(residuals, exponent)
    assert np.array_equal(integers, np.rint(integers))
    assert abs(integers).max() <= 2.0**44
    half = len(y) // 2
    parts = [gradient_residuals(loss_of(loss), hot[s], scores[s], constant, 0.85) for s in (np.s_[:half], np.s_[half:])]
    assert np.array_equal(np.concatenate(parts), slopes)
    if loss in ("logistic", "softmax"):
        assert exponent == 44

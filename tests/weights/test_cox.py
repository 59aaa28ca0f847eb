"""Cox's partial likelihood: worked by hand, against loops, SciPy and differences, and against itself."""

import numpy as np
import pytest
from test_weights import make_case as ridge_case

import cox_oracle as oracle
from cox_oracle import partial_log_likelihood, rows_of
from pysirus import _core
from pysirus._families.links import COX
from pysirus._weights.likelihood import rule_scores
from pysirus._weights.survival import baseline_hazard, cox_residuals, cox_rows, fit_cox, hazard_rises, risk_sets
from pysirus._weights.weighted import STAGES_GRID, holds_in_bins

TIES = [None, 6]  # times as they are, or so many different ones


def make_case(n_rows=150, n_rules=5, ties=None, weighted=False, seed=0):
    """Rules that hold at random, times that depend on them, a third censored; outputs are mean residuals."""
    rng = np.random.default_rng(seed)
    holds = rng.random((n_rows, n_rules)) < rng.uniform(0.2, 0.8, n_rules)
    times = rng.exponential(np.exp(-0.7 * (holds @ rng.normal(size=n_rules))))
    ends = rng.exponential(2 * np.median(times), n_rows)
    events, times = times <= ends, np.minimum(times, ends)
    if ties:
        times = np.minimum(np.ceil(times / np.quantile(times, 0.9) * ties), ties)
    weights = rng.integers(1, 9, n_rows) / 4 if weighted else None
    return holds, times, events, weights, *outputs_of(holds, times, events, weights)


def outputs_of(holds, times, events, weights=None):
    """Mean martingale residuals of the constant inside and outside; 0 where there are no rows."""
    w = np.ones(len(times)) if weights is None else weights
    residual = w * cox_residuals(risk_sets(times, events), np.zeros(len(times)), weights)[0][:, 0]
    inside, outside = (residual @ side / np.maximum(w @ side, 1e-300) for side in (holds, ~holds))
    return inside, outside


def same_bits(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("weights", "penalties", "losses"))


def test_three_rows_by_hand():
    times, scores = np.array([1.0, 2.0, 3.0]), np.log([1.0, 2.0, 3.0])
    # the first leaves 1 of 6, the second 2 of 5, the third is censored
    risk = risk_sets(times, np.array([True, True, False]))
    assert partial_log_likelihood(risk, scores) == pytest.approx(np.log(1 / 6) + np.log(2 / 5))
    assert hazard_rises(risk, scores) == pytest.approx([1 / 6, 1 / 5])
    residuals = cox_residuals(risk, scores)[0][:, 0]
    assert residuals == pytest.approx([1 - 1 / 6, 1 - 2 * (1 / 6 + 1 / 5), -3 * (1 / 6 + 1 / 5)], abs=1e-12)


def test_two_tied_rows_of_three_by_hand():
    scores = np.log([1.0, 2.0, 3.0])
    # both at risk, then half of each: 6 and 6 - 3 / 2
    risk = risk_sets(np.array([1.0, 1.0, 2.0]), np.array([True, True, False]))
    assert partial_log_likelihood(risk, scores) == pytest.approx(np.log(1 * 2 / (6 * 4.5)))
    assert hazard_rises(risk, scores) == pytest.approx([2 / 6])
    first = 1 / 6 + 0.5 / 4.5
    expected = [1 - first, 1 - 2 * first, -3 * (1 / 6 + 1 / 4.5)]
    assert cox_residuals(risk, scores)[0][:, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", TIES)
def test_likelihood_residuals_and_hazard_are_those_of_loops(ties, weighted):
    _, times, events, weights, *_ = make_case(ties=ties, weighted=weighted)
    scores, risk = np.random.default_rng(1).normal(size=len(times)), risk_sets(times, events)
    expected = oracle.log_likelihood(times, events, scores, weights)
    assert partial_log_likelihood(risk, scores, weights) == pytest.approx(expected, rel=1e-13)
    residuals, rises = oracle.residuals_and_hazard(times, events, scores, weights)
    found, exponent = cox_residuals(risk, scores, weights)
    assert np.allclose(found[:, 0], residuals, rtol=1e-11, atol=1e-12)
    assert np.array_equal(np.ldexp(found, exponent), np.rint(np.ldexp(found, exponent)))
    assert np.allclose(hazard_rises(risk, scores, weights), rises, rtol=1e-12)
    assert np.average(found[:, 0], weights=weights) == pytest.approx(0, abs=1e-12)
    shrunk, _ = cox_residuals(risk, scores[:, None], weights, 0.85, exponent)
    assert np.allclose(shrunk[:, 0], oracle.residuals_and_hazard(times, events, 0.85 * scores, weights)[0], atol=1e-12)


@pytest.mark.parametrize("ties", TIES)
def test_residuals_are_differences_of_the_likelihood(ties):
    _, times, events, weights, *_ = make_case(n_rows=40, ties=ties, weighted=True)
    scores, risk, step = np.random.default_rng(1).normal(size=40), risk_sets(times, events), 1e-5
    residuals = cox_residuals(risk, scores, weights)[0][:, 0]
    for row in range(40):
        shift = step * (np.arange(40) == row)
        up, down = (partial_log_likelihood(risk, scores + sign * shift, weights) for sign in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx(weights[row] * residuals[row], rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", TIES)
def test_weights_are_those_of_scipy(ties, weighted):
    holds, times, events, weights, inside, outside = make_case(ties=ties, weighted=weighted)
    columns = np.where(holds, inside, outside)
    loss, slope = oracle.objective(columns, times, events, weights, 0.0)(np.full(5, 0.3))
    w, eta = np.ones(150) if weights is None else weights, columns @ np.full(5, 0.3)
    assert loss * w[events].sum() == pytest.approx(-oracle.log_likelihood(times, events, eta, weights), rel=1e-12)
    residuals, _ = oracle.residuals_and_hazard(times, events, eta, weights)
    assert np.allclose(slope * w[events].sum(), -(w * residuals) @ columns, atol=1e-11)
    scale = oracle.largest_curvature(columns, times, events, weights)
    for multiple in (1.0, 1e-3):
        penalty = multiple * scale
        rows = rows_of(holds, times, events, weights)
        found = fit_cox(rows, inside, outside, [5], penalties=np.array([penalty]))
        value = oracle.objective(columns, times, events, weights, penalty)
        expected, steepest = oracle.fit(columns, times, events, weights, penalty), abs(value(np.zeros(5))[1]).max()
        point, slope = found.weights[0], value(found.weights[0])[1]
        assert np.allclose(point, expected, atol=1e-4 * expected.max())
        assert (point >= 0).all() and (point > 0).any()
        assert abs(slope[point > 0]).max() <= 1e-10 * steepest
        assert slope.min() >= -1e-10 * steepest
        assert found.gradient_norm[0] <= 1e-10


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", TIES)
def test_curvatures_are_those_of_loops(ties, weighted):
    """The unit of the penalty is the largest curvature: of one rule its own, of two that exclude each other also theirs
    together, at the scores of the rules that are held."""
    holds, times, events, weights, inside, outside = make_case(n_rules=4, ties=ties, weighted=weighted)
    holds[:, 3] &= ~holds[:, 2]
    holds = np.column_stack([holds, holds[:, 2] | holds[:, 3]])
    inside, outside = np.append(inside, 0.7), np.append(outside, -0.2)
    for held in ([], [0], [0, 1]):
        eta = np.where(holds, inside, outside)[:, held].sum(axis=1)
        expected = oracle.curvatures(holds.astype(float), times, events, weights, eta)
        assert expected[4, 4] == pytest.approx(expected[2, 2] + expected[3, 3] + 2 * expected[2, 3])
        for rule in (2, 3, 4):
            own = [*held, rule]
            rows = rows_of(holds[:, own], times, events, weights)
            found = fit_cox(rows, inside[own], outside[own], [len(own)], np.ones(1), n_held=len(held))
            gap = (inside - outside)[rule]
            assert found.penalties[0] == pytest.approx(expected[rule, rule] * gap**2, rel=1e-11)


@pytest.mark.parametrize("ties", TIES)
def test_the_penalty_is_that_of_the_largest_cross_validated_likelihood(ties):
    holds, times, events, weights, inside, outside = make_case(n_rows=60, n_rules=3, ties=ties, weighted=True, seed=2)
    columns, rows, grid = (
        np.where(holds, inside, outside),
        rows_of(holds, times, events, weights),
        np.logspace(2, -3, 3),
    )
    penalties = grid * oracle.largest_curvature(columns, times, events, weights)
    losses = [oracle.cross_validated_loss(columns, times, events, weights, rows.folds, p) for p in penalties]
    exact = fit_cox(rows, inside, outside, [3], grid, tol=1e-8)
    assert np.allclose(exact.losses[0], losses, rtol=1e-6, atol=1e-7)
    assert exact.penalties[0] == pytest.approx(penalties[np.argmin(losses)], rel=1e-6)
    quick = fit_cox(rows, inside, outside, [3], grid)
    assert np.allclose(quick.losses[0], losses, atol=1e-3)
    assert quick.penalties[0] == exact.penalties[0]


@pytest.mark.parametrize("ties", TIES)
def test_each_size_is_a_fit_of_its_own_on_any_number_of_threads(ties):
    holds, times, events, weights, inside, outside = make_case(n_rules=20, ties=ties, weighted=True)
    together = fit_cox(rows_of(holds, times, events, weights), inside, outside, range(21), n_threads=3)
    for k in (0, 1, 7, 8, 9, 20):
        alone = fit_cox(rows_of(holds[:, :k], times, events, weights), inside[:k], outside[:k], [k])
        assert np.array_equal(together.weights[k, :k], alone.weights[0])
        assert (together.weights[k, k:] == 0).all()
        assert together.penalties[k] == alone.penalties[0]
        assert np.array_equal(together.losses[k], alone.losses[0])


@pytest.mark.parametrize("ties", TIES)
def test_rows_in_any_order_give_the_same_bits(ties):
    holds, times, events, weights, inside, outside = make_case(ties=ties, weighted=True)
    rows = rows_of(holds, times, events, weights)
    order = np.random.default_rng(0).permutation(len(times))
    other = rows_of(holds[order], times[order], events[order], weights[order], rows.folds[order])
    assert same_bits(fit_cox(rows, inside, outside, [5]), fit_cox(other, inside, outside, [5]))


@pytest.mark.parametrize("ties", TIES)
def test_only_events_tell_a_copy_from_a_weight(ties):
    holds, times, events, _, inside, outside = make_case(ties=ties)
    for which, same in ((~events, True), (events, False)):
        index = np.concatenate([np.arange(150), np.flatnonzero(which)])
        heavy = rows_of(holds, times, events, 1.0 + which)
        double = rows_of(holds[index], times[index], events[index])
        one, other = (fit_cox(rows, inside, outside, [5], penalties=np.array([1e-3])) for rows in (heavy, double))
        assert np.allclose(one.weights, other.weights, rtol=1e-12) is same
        both = (heavy.risk, np.zeros(150), 1.0 + which), (double.risk, np.zeros(len(index)))
        assert np.allclose(hazard_rises(*both[0]), hazard_rises(*both[1]), rtol=1e-12)  # Breslow knows no copies
    assert np.allclose(one.weights, other.weights, rtol=0.05)  # Efron's shares are a small matter


def test_the_units_of_weights_times_and_outputs_do_not_matter():
    holds, times, events, weights, inside, outside = make_case(weighted=True, ties=6)
    one = fit_cox(rows_of(holds, times, events, weights), inside, outside, [2, 5])
    for factor in (10.0, 1e-6, 1e12):
        other = fit_cox(rows_of(holds, times, events, weights * factor), inside, outside, [2, 5])
        assert np.allclose(one.weights, other.weights, rtol=1e-6, atol=1e-9)
        assert np.allclose(one.losses, other.losses, rtol=1e-6, atol=1e-9)
    assert same_bits(one, fit_cox(rows_of(holds, np.exp(times), events, weights), inside, outside, [2, 5]))
    scaled = fit_cox(rows_of(holds, times, events, weights), 8 * inside, 8 * outside, [2, 5])
    assert np.allclose(8 * scaled.weights, one.weights, rtol=1e-9)
    shifted = fit_cox(rows_of(holds, times, events, weights), inside + 3, outside + 3, [2, 5])
    assert np.allclose(shifted.weights, one.weights, rtol=1e-9)
    complement = fit_cox(rows_of(~holds, times, events, weights), outside, inside, [2, 5])
    assert same_bits(one, complement)


def test_rules_in_bins_are_those_of_a_matrix():
    _, _, _, binned, _, rules, holds = ridge_case(n_rows=150)
    _, times, events, weights, *_ = make_case(weighted=True)
    inside, outside = outputs_of(holds, times, events, weights)
    rows = cox_rows(rules, binned, risk_sets(times, events), oracle.SEED, weights)
    assert np.array_equal(rows.folds, _core.folds_of(oracle.SEED, 150, 10))
    found = fit_cox(rows, inside, outside, [len(rules)])
    assert same_bits(found, fit_cox(rows_of(holds, times, events, weights), inside, outside, [len(rules)]))
    scores = rule_scores(rules, binned, inside, outside, COX, found.weights[0], found.intercepts[0])
    dense = np.column_stack([holds_in_bins(rule, binned) for rule in rules])
    assert np.allclose(scores[:, 0], np.where(dense, inside, outside) @ found.weights[0])


def test_more_than_64_rules():
    holds, times, events, _, inside, outside = make_case(n_rows=400, n_rules=70)
    found = fit_cox(rows_of(holds, times, events), inside, outside, [64, 65, 70])
    columns = np.where(holds, inside, outside)
    for row, k in enumerate(found.sizes):
        slope = oracle.objective(columns[:, :k], times, events, None, found.penalties[row])(found.weights[row, :k])[1]
        assert abs(slope[found.weights[row, :k] > 0]).max() < 1e-12
        assert slope.min() > -1e-12
    assert (found.weights[2] > 0).sum() > 10


def test_the_baseline_is_a_step_function():
    _, times, events, weights, *_ = make_case(weighted=True, ties=6)
    scores, risk = np.random.default_rng(1).normal(size=len(times)), risk_sets(times, events)
    base = baseline_hazard(risk, scores, weights)
    rises = oracle.residuals_and_hazard(times, events, scores, weights)[1]
    assert np.array_equal(base.times, np.unique(times[events]))
    assert np.allclose(base.cumulative, np.cumsum(rises), rtol=1e-12)
    first, last = base.times[0], base.times[-1]
    assert base.at(np.array([first - 0.1, first, last + 9])).tolist() == [0, base.cumulative[0], base.cumulative[-1]]
    assert np.allclose(base.survival(scores, base.times), np.exp(-np.exp(scores)[:, None] * base.cumulative))
    # a shift of all scores goes into the baseline
    moved = baseline_hazard(risk, scores + 2, weights)
    assert np.allclose(moved.survival(scores + 2, base.times), base.survival(scores, base.times), rtol=1e-12)


def test_the_grid_goes_from_100_to_a_thousandth():
    assert STAGES_GRID[0] == pytest.approx(100)
    assert STAGES_GRID[-1] == pytest.approx(1e-3)

"""Cox's partial likelihood where there is little to go on: finite answers, and no warnings."""

import warnings

import numpy as np
import pytest
from test_cox import make_case, outputs_of

import cox_oracle as oracle
from cox_oracle import partial_log_likelihood, rows_of
from pysirus._weights.survival import baseline_hazard, cox_residuals, fit_cox, hazard_rises, risk_sets
from pysirus._weights.weighted import STAGES_GRID


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        yield


def check_fit(holds, times, events, weights=None, folds=None):
    """A fit of every size is finite and at its minimum."""
    inside, outside = outputs_of(holds, times, events, weights)
    rows = rows_of(holds, times, events, weights, folds)
    found = fit_cox(rows, inside, outside, range(holds.shape[1] + 1))
    for name in ("weights", "penalties", "losses", "gradient_norm"):
        assert np.isfinite(getattr(found, name)).all(), name
    assert (found.weights >= 0).all()
    assert found.gradient_norm.max() <= 1e-9
    if events.any() and found.penalties[-1] > 0:
        columns = np.where(holds, inside, outside)
        slope = oracle.objective(columns, times, events, weights, found.penalties[-1])(found.weights[-1])[1]
        assert abs(slope[found.weights[-1] > 0]).max(initial=0.0) <= 1e-9
        assert slope.min() >= -1e-9
    return found


def test_everybody_is_censored():
    holds, times, events, *_ = make_case()
    nobody = np.zeros_like(events)
    found = check_fit(holds, times, nobody)
    assert not found.weights.any() and not found.penalties.any() and not found.losses.any()
    risk = risk_sets(times, nobody)
    assert partial_log_likelihood(risk, times) == 0
    assert not cox_residuals(risk, times)[0].any()
    base = baseline_hazard(risk, times)
    assert len(base.times) == 0
    assert (base.survival(times, times) == 1).all()


@pytest.mark.parametrize("place", [0, 75, 149])
def test_one_event(place):
    holds, times, *_ = make_case()
    found = check_fit(holds, times, np.arange(150) == np.argsort(times)[place])
    if place == 149:  # nobody else is at risk
        assert not found.weights.any()
    else:
        assert found.weights[-1].any()


@pytest.mark.parametrize("n_events", [1, 75, 150])
def test_all_times_are_the_same(n_events):
    holds, *_ = make_case()
    found = check_fit(holds, np.ones(150), np.arange(150) < n_events)
    assert found.weights[-1].any() == (n_events < 150)


def test_all_events_in_one_fold():
    holds, times, events, *_ = make_case()
    found = check_fit(holds, times, events, folds=np.where(events, 0, 1).astype(np.uint8))
    assert found.losses.any()
    # nothing is held out: the largest penalty
    one_fold = np.zeros(150, dtype=np.uint8)
    alone = check_fit(holds, times, events, folds=one_fold)
    assert not alone.losses.any()
    rows, outputs = rows_of(holds, times, events, folds=one_fold), outputs_of(holds, times, events)
    assert alone.penalties[-1] == fit_cox(rows, *outputs, [5], STAGES_GRID[:1]).penalties[0]


def test_a_fold_without_events():
    holds, times, events, *_ = make_case()
    folds = (np.arange(150) % 9).astype(np.uint8)
    folds[np.flatnonzero(~events)[:10]] = 9
    check_fit(holds, times, events, folds=folds)


def test_rules_that_separate_early_from_late():
    times = np.arange(1.0, 201.0)
    holds = np.column_stack([times <= 50, times <= 100, times > 150, np.arange(200) % 2 == 0])
    found = check_fit(holds, times, np.ones(200, dtype=bool))
    assert found.losses[-1].argmin() == len(STAGES_GRID) - 1
    inside, outside = outputs_of(holds, times, np.ones(200, dtype=bool))
    tiny = fit_cox(rows_of(holds, times, np.ones(200, dtype=bool)), inside, outside, [4], penalties=np.array([1e-9]))
    assert np.isfinite(tiny.weights).all()
    assert tiny.weights[0, 0] > 5
    assert tiny.gradient_norm[0] <= 1e-8


def test_rules_that_always_or_never_hold_weigh_nothing():
    holds, times, events, _, inside, outside = make_case()
    idle = np.column_stack([np.ones(150, bool), holds, np.zeros(150, bool)])
    alone = fit_cox(rows_of(holds, times, events), inside, outside, [5])
    outputs = np.r_[1.0, inside, 2.0], np.r_[0.0, outside, 0.0]
    found = fit_cox(rows_of(idle, times, events), *outputs, [1, 7])
    assert np.array_equal(found.weights[1, 1:-1], alone.weights[0])
    assert not found.weights[:, [0, -1]].any()
    assert found.penalties[0] == 0


def test_equal_rules_share_their_weight():
    holds, times, events, _, inside, outside = make_case(n_rules=3)
    both = [0, 1, 2, 0]
    found = fit_cox(rows_of(holds[:, both], times, events), inside[both], outside[both], [4])
    assert found.weights[0, 0] > 0
    assert found.weights[0, 0] == pytest.approx(found.weights[0, 3], rel=1e-9)


@pytest.mark.parametrize("row", [3, 100])
def test_one_row_may_outweigh_all_others(row):
    holds, times, events, *_ = make_case()
    weights = np.ones(150)
    weights[row] = 1e9
    check_fit(holds, times, events, weights)


def test_rows_before_the_first_event_change_nothing():
    holds, times, events, _, inside, outside = make_case()
    early = np.r_[times, times.min() / np.arange(2, 12)]
    more = rows_of(np.r_[holds, holds[:10]], early, np.r_[events, np.zeros(10, bool)])
    one, other = (fit_cox(rows, inside, outside, [5]) for rows in (rows_of(holds, times, events), more))
    assert np.array_equal(one.weights, other.weights)
    assert not cox_residuals(more.risk, np.zeros(160))[0][150:].any()


@pytest.mark.parametrize("size", [300.0, 3000.0])
def test_wild_scores_have_finite_residuals(size):
    _, times, events, *_ = make_case(ties=6)
    scores = size * np.random.default_rng(0).normal(size=150)
    risk = risk_sets(times, events)
    assert np.isfinite(partial_log_likelihood(risk, scores))
    assert np.isfinite(cox_residuals(risk, scores)[0]).all()
    assert (hazard_rises(risk, scores) >= 0).all()


def test_a_single_row():
    holds = np.ones((1, 2), dtype=bool)
    for event in (False, True):
        found = fit_cox(rows_of(holds, np.ones(1), np.array([event])), np.ones(2), -np.ones(2), [0, 2])
        assert not found.weights.any()


def test_the_core_refuses_what_does_not_fit():
    holds, times, events, _, inside, outside = make_case()
    rows = rows_of(holds, times, events)
    with pytest.raises(ValueError, match="sizes"):
        fit_cox(rows, inside, outside, [6])
    with pytest.raises(ValueError, match="outputs of rules must be finite"):
        fit_cox(rows, np.full(5, np.nan), outside, [5])
    with pytest.raises(ValueError, match="scores must be finite"):
        cox_residuals(rows.risk, np.full(150, np.nan))
    with pytest.raises(ValueError, match="fold"):
        fit_cox(rows_of(holds, times, events, folds=np.full(150, 10, np.uint8)), inside, outside, [5])

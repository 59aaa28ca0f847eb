"""Concordance pair by pair; Brier scores by hand; both against stored figures of other packages."""

import json

import numpy as np
import pytest

import cox_oracle as oracle
import cox_reference as reference
from cox_oracle import partial_log_likelihood
from pysirus._families.row_metrics import Pairs, brier_scores, censoring, count_pairs, integrated_brier_score
from pysirus._weights.survival import baseline_hazard, cox_residuals, fit_cox, risk_sets

FIGURES = json.loads(reference.FILE.read_text(encoding="utf-8"))


def test_four_rows_by_hand():
    times, events = np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, False])
    # the first compares with three, the second with the censored row of its time and the last
    pairs = count_pairs(times, events, np.array([2.0, 3.0, 2.0, 1.0]))
    assert pairs == Pairs(right=3, tied=1, all=5)
    assert pairs.concordance == pytest.approx(0.7)
    assert pairs.error == pytest.approx(0.6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("levels", [4, 1000])
def test_pairs_are_those_counted_one_by_one(levels, weighted):
    rng = np.random.default_rng(levels)
    times, scores, folds = rng.integers(1, levels, 90) * 1.0, rng.integers(0, levels, 90) / 7, rng.integers(0, 3, 90)
    events, weights = rng.random(90) < 0.6, rng.integers(1, 9, 90) / 4 if weighted else None
    found = count_pairs(times, events, scores, weights)
    assert np.allclose((found.right, found.tied, found.all), oracle.concordance(times, events, scores, weights))
    within = count_pairs(times, events, scores, weights, folds)
    expected = np.zeros(3)
    for fold in range(3):
        rows = folds == fold
        own = None if weights is None else weights[rows]
        expected += oracle.concordance(times[rows], events[rows], scores[rows], own)
    assert np.allclose((within.right, within.tied, within.all), expected)
    assert within.all < found.all


def test_where_nothing_compares_it_is_one_half():
    for times, events in ((np.arange(3.0), np.zeros(3, bool)), (np.ones(3), np.ones(3, bool)), (np.ones(0), [])):
        assert count_pairs(times, events, np.zeros(len(times))).error == 1.0


def test_many_rows_are_quick_and_a_constant_is_one_half():
    rng = np.random.default_rng(0)
    times, events = rng.random(200_000), rng.random(200_000) < 0.5
    assert count_pairs(times, events, np.zeros(200_000)).concordance == 0.5
    assert count_pairs(times, events, -times).concordance == 1.0


def test_the_curve_of_censoring_by_hand():
    # at 2 an event goes before the censored row; then 2 of 4 and 1 of 1 are at risk
    curve = censoring(np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([True, False, True, False, True]))
    at = np.array([0.0, 2.0, 2.5, 3.0, 9.0])
    assert curve.after(at) == pytest.approx([1, 2 / 3, 2 / 3, 1 / 3, 1 / 3])
    assert curve.before(at) == pytest.approx([1, 1, 2 / 3, 2 / 3, 1 / 3])


def test_without_censoring_it_is_a_mean_of_squares():
    rng = np.random.default_rng(0)
    times, at, survival = rng.random(50), np.array([0.2, 0.5]), rng.random((50, 2))
    everybody, weights = np.ones(50, dtype=bool), rng.integers(1, 4, 50) * 1.0
    found = brier_scores(times, everybody, survival, at, censoring(times, everybody), weights)
    expected = np.average((survival - (times[:, None] > at)) ** 2, axis=0, weights=weights)
    assert np.allclose(found, expected)
    ends = integrated_brier_score(times, everybody, survival, at, censoring(times, everybody), weights)
    assert ends == pytest.approx(expected.mean())


def test_nobody_left_to_be_censored_is_no_error():
    times, events = np.array([1.0, 2.0]), np.array([True, False])
    found = brier_scores(np.array([3.0]), [True], np.ones((1, 2)), np.array([0.5, 2.5]), censoring(times, events))
    assert np.isfinite(found).all()


def test_errors_are_those_of_scikit_survival():
    holds, times, events, _, inside, outside = reference.table()
    scores, figures = reference.scores_of(holds, inside, outside), FIGURES["errors"]
    for key, t, s in (
        ("concordance", times, scores),
        ("concordance_of_months", np.ceil(times * 6), np.round(scores)),
    ):
        index, right, wrong, tied = figures[key]
        found = count_pairs(t, events, s)
        assert found.concordance == pytest.approx(index, rel=1e-12)
        assert (found.right, found.tied, found.all) == (right, tied, right + wrong + tied)
    train, test, at = np.s_[: reference.N_TRAIN], np.s_[reference.N_TRAIN :], np.array(FIGURES["at"])
    curve, survival = censoring(times[train], events[train]), reference.survival_curves(scores[test], at)
    found = brier_scores(times[test], events[test], survival, at, curve)
    assert np.allclose(found, figures["brier"], rtol=1e-9)
    total = integrated_brier_score(times[test], events[test], survival, at, curve)
    assert total == pytest.approx(figures["integrated_brier"], rel=1e-9)


def check_against(figures, weights):
    """Weights, baseline and residuals at a tiny penalty are those of another package."""
    holds, times, events, _, inside, outside = reference.table()
    rows = oracle.rows_of(holds, times, events, weights)
    found = fit_cox(rows, inside, outside, [4], penalties=np.array([1e-10]))
    assert np.allclose(found.weights[0], figures["weights"], rtol=1e-6)
    scores, risk = np.where(holds, inside, outside) @ found.weights[0], risk_sets(times, events)
    assert np.allclose(baseline_hazard(risk, scores, weights).cumulative, figures["hazard"], rtol=1e-6)
    assert np.allclose(cox_residuals(risk, scores, weights)[0][:, 0], figures["residuals"], atol=1e-6)
    assert partial_log_likelihood(risk, scores, weights) == pytest.approx(figures["log_likelihood"], rel=1e-9)


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_cox_is_that_of_lifelines(kind):
    check_against(FIGURES[kind], reference.table()[3] if kind == "weighted" else None)


def test_the_stored_figures_are_those_of_lifelines_here():
    pytest.importorskip("lifelines")
    holds, times, events, weights, inside, outside = reference.table()
    columns = np.where(holds, inside, outside)
    check_against(reference.cox_of_lifelines(columns, times, events, weights), weights)


def test_the_stored_errors_are_those_of_scikit_survival_here():
    pytest.importorskip("sksurv")
    holds, times, events, _, inside, outside = reference.table()
    scores, at = reference.scores_of(holds, inside, outside), np.array(FIGURES["at"])
    for name, value in reference.errors_of_scikit_survival(times, events, scores, at).items():
        assert np.allclose(value, FIGURES["errors"][name], rtol=1e-9), name

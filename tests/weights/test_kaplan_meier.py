"""Kaplan and Meier's curve, and the residuals of the null model: by hand, and against the baseline hazard."""

import numpy as np
import pytest

from pysirus._families.survival import null_residuals, survival_response
from pysirus._weights.survival import baseline_hazard, kaplan_meier, risk_sets


def test_a_curve_by_hand():
    times, events = np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([True, True, False, False, True])
    curve = kaplan_meier(times, events)
    assert curve.times.tolist() == [1.0, 2.0, 4.0]
    assert curve.share == pytest.approx([4 / 5, 4 / 5 * 3 / 4, 0.0])
    assert curve.median == 4.0 and curve.last == 4.0
    assert kaplan_meier(times, np.zeros(5, bool)).median is None
    assert kaplan_meier(times[:2], events[:2]).median == 1.0  # one half is reached


def test_weights_are_repeated_rows():
    draw = np.random.default_rng(0)
    times, events, w = draw.integers(1, 9, 50) / 2.0, draw.random(50) < 0.6, draw.integers(1, 4, 50)
    one, two = kaplan_meier(times, events, w.astype(float)), kaplan_meier(np.repeat(times, w), np.repeat(events, w))
    assert np.allclose(one.share, two.share, rtol=1e-12) and one.median == two.median
    weighted = null_residuals(times, events, w.astype(float))
    assert np.allclose(np.repeat(weighted, w), null_residuals(np.repeat(times, w), np.repeat(events, w)), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_null_residuals_are_events_less_those_of_the_baseline_without_rules(weighted):
    draw = np.random.default_rng(1)
    times, events = draw.integers(1, 20, 80) / 4.0, draw.random(80) < 0.5
    w = draw.integers(1, 9, 80) / 4 if weighted else None
    expected = baseline_hazard(risk_sets(times, events), np.zeros(80), w).at(times)
    assert np.allclose(null_residuals(times, events, w), events - expected, atol=1e-11)
    assert np.average(null_residuals(times, events, w), weights=w) == pytest.approx(0, abs=1e-12)


def test_some_rows_have_residuals_of_their_own():
    times, events = np.array([1.0, 2.0, 3.0]), np.array([True, False, True])
    part = survival_response(times, events, event_name="death").take(np.array([0, 2]))
    assert part.values.tolist() == null_residuals(times[[0, 2]], events[[0, 2]]).tolist()
    assert part.event_name == "death" and part.truth["time"].tolist() == [1.0, 3.0]

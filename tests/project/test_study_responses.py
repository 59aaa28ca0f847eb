"""The study of counts, amounts and survival: figures worked by hand, and a page whose verdicts follow from results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _find_studies(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_groups_have_equal_weight_and_their_means():
    from studies.responses.measure import calibration

    predicted = np.repeat(np.arange(1.0, 11.0), 3)
    y = predicted + np.tile([-0.5, 0.0, 0.5], 10)
    pairs = calibration(y, predicted, np.ones(30))
    assert np.allclose(pairs, np.arange(1.0, 11.0)[:, None])
    heavy = calibration(np.array([1.0, 3.0, 9.0]), np.array([2.0, 2.0, 5.0]), np.array([3.0, 1.0, 4.0]))
    assert sum(len(pair) for pair in heavy) == 2 * len(heavy) and heavy[-1] == [5.0, 9.0]


def test_claims_are_as_announced():
    from studies.responses.problems import simulate_claims

    X, rate, exposure = simulate_claims(20_000)
    assert len(X) == 20_000 and (exposure > 0).all() and (exposure <= 1).all()
    assert np.allclose(rate * exposure, np.round(rate * exposure))
    assert (rate > 0).mean() == pytest.approx(0.07, abs=0.006)


def test_a_repetition_judges_every_fold_and_the_page_says_who_is_ahead(tmp_path, monkeypatch):
    from studies.responses import cells, methods, page
    from studies.responses.problems import Problem

    monkeypatch.setattr(methods, "PENALTIES", [1e-3])

    draw = np.random.default_rng(0)
    X = pd.DataFrame({"a": draw.normal(size=150), "s": draw.choice(["u", "v"], 150)})
    y = draw.poisson(np.exp(0.8 * (X["a"] > 0) + 0.5 * (X["s"] == "v"))).astype(float)
    problem = Problem("phd", "counts", X, y, np.ones(150))
    for module in (cells, page):
        monkeypatch.setattr(module, "problem_of", lambda name: problem)
    store = cells.store_at(tmp_path)
    for method in ("constant", "regression"):
        job, result, seconds = cells.compute(cells.Job("phd", method, 0))
        assert len(result["deviance"]) == 5
        store.put(job, result, seconds)
        assert store.get(job) == result
    worse = {"deviance": [9.0] * 5, "rules": [3] * 5, "stability": 0.5, "calibration": [[1.0, 1.0]]}
    store.put(cells.Job("phd", "stages", 0), worse, 1.0)
    text = page.make_page(store)
    assert "the deviance of stages is at most that of regression with ridge on 0 of 1 tables" in text
    assert "### PhD publications" in text and "9.0000 ± 0.0000" in text

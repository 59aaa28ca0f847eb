"""Writes cox_reference.json: what lifelines and scikit-survival answer on a generated table.

``python tests/cox_reference.py``, where both are installed. Outputs of the rules are such that no weight is negative.
"""

import json
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".json")
N_TRAIN = 120


def table(seed=7, n_rows=200, n_rules=4):
    """Rules that hold at random, times without ties, events, weights; outputs inside and outside."""
    rng = np.random.default_rng(seed)
    holds = rng.random((n_rows, n_rules)) < [0.3, 0.5, 0.7, 0.4]
    outside, inside = np.array([0.2, -0.3, 0.5, -0.1]), np.array([0.9, 0.6, -0.4, 0.8])
    times = rng.exponential(np.exp(-np.where(holds, inside, outside).sum(axis=1)))
    ends = rng.uniform(0.05, 2.0, n_rows)
    events, times = times <= ends, np.minimum(times, ends)
    return holds, times, events, rng.integers(1, 9, n_rows) / 4, inside, outside


def cox_of_lifelines(columns, times, events, weights):
    """Coefficients, cumulative hazard of a row of zeros at the times of events, and martingale residuals."""
    import pandas as pd
    from lifelines import CoxPHFitter

    frame = pd.DataFrame(columns, columns=[f"x{i}" for i in range(columns.shape[1])])
    frame = frame.assign(time=times, event=events.astype(int), weight=weights)
    model = CoxPHFitter()
    model.fit(frame, "time", "event", weights_col="weight", robust=True, fit_options={"precision": 1e-13})
    found = model.params_.to_numpy()
    hazard = model.baseline_cumulative_hazard_.iloc[:, 0]
    at_zero = hazard.loc[np.unique(times[events])].to_numpy() * np.exp(-columns.mean(axis=0) @ found)
    residuals = model.compute_residuals(frame, "martingale")["martingale"].sort_index().to_numpy()
    return {"weights": found, "hazard": at_zero, "residuals": residuals, "log_likelihood": model.log_likelihood_}


def scores_of(holds, inside, outside):
    """Scores to compare; rounded, as scikit-survival takes what differs by less than 1e-8 for equal."""
    return np.round(np.where(holds, inside, outside).sum(axis=1), 6)


def survival_curves(scores, at):
    """Made-up survival functions [row, time] that fall with the score."""
    return np.exp(-np.exp(scores)[:, None] * np.asarray(at)[None, :])


def errors_of_scikit_survival(times, events, scores, at):
    from sksurv.metrics import brier_score, concordance_index_censored, integrated_brier_score
    from sksurv.util import Surv

    y = Surv.from_arrays(events, times)
    train, test = y[:N_TRAIN], y[N_TRAIN:]
    curves = survival_curves(scores[N_TRAIN:], at)
    months = np.ceil(times * 6)
    return {
        "concordance": concordance_index_censored(events, times, scores)[:4],
        "concordance_of_months": concordance_index_censored(events, months, np.round(scores))[:4],
        "brier": brier_score(train, test, curves, at)[1],
        "integrated_brier": integrated_brier_score(train, test, curves, at),
    }


def main():
    holds, times, events, weights, inside, outside = table()
    columns, at = np.where(holds, inside, outside), np.linspace(0.05, 0.8, 12)
    found = {
        "plain": cox_of_lifelines(columns, times, events, np.ones(len(times))),
        "weighted": cox_of_lifelines(columns, times, events, weights),
        "errors": errors_of_scikit_survival(times, events, scores_of(holds, inside, outside), at),
        "at": at,
    }
    FILE.write_text(json.dumps(found, default=lambda x: np.asarray(x).tolist()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Predictions of held-out rows in, figures out; and one fit of a method on a sample of a table.

The samples of a table are keyed by its name: two repetitions of five folds, spread evenly over classes and events, and
two pairs of disjoint halves, where each half is judged on the other. Everything that a method chooses it chooses inside
its sample, so errors are nested. Errors have one scale for each kind, 0 for perfect and 1 for what the sample says
without features: squared error over that of the sample's mean; deviance over that of the sample's shares or mean; twice
one less the concordance for survival. Probabilities are held within 1 in 10,000, so that no one row decides; predicted
counts are at least a thousandth of the sample's mean.
"""

from __future__ import annotations

import hashlib
import resource
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_poisson_deviance, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from pysirus._families.row_metrics import count_pairs
from studies.benchmark.methods import METHODS
from studies.benchmark.tables import COUNTS, NUMBERS, SEVERAL, SURVIVAL, TWO, Problem
from studies.benchmark.terms import Fitted
from studies.classes.measure import brier, calibration_error

N_FOLDS, N_REPETITIONS, N_HALVES = 5, 2, 2
SMALLEST_PROBABILITY, SMALLEST_COUNT = 1e-4, 1e-3
N_GROUPS = 10
DIGITS = 6
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Sample:
    """Which rows are learned from: fold ``part`` of a repetition held out, or half ``part`` of a pair taken."""

    kind: str  # "fold" or "half"
    repetition: int
    part: int

    @property
    def name(self) -> str:
        """As cells have it."""
        return f"{self.kind}-{self.repetition}-{self.part}"


FOLDS = [Sample("fold", r, k) for r in range(N_REPETITIONS) for k in range(N_FOLDS)]
HALVES = [Sample("half", r, k) for r in range(N_HALVES) for k in range(2)]


def seed_of(*names: object) -> int:
    """The same number for the same names, on every machine."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, names)).encode()).digest()[:4], "big")


def rows_of(problem: Problem, sample: Sample) -> tuple[Rows, Rows]:
    """Rows that are learned from, and rows that judge."""
    n_splits = N_FOLDS if sample.kind == "fold" else 2
    seed = seed_of("benchmark", problem.name, sample.kind, sample.repetition)
    strata = problem.y["event"] if problem.kind == SURVIVAL else problem.y
    spread = problem.kind in (TWO, SEVERAL, SURVIVAL)
    splitter = (StratifiedKFold if spread else KFold)(n_splits, shuffle=True, random_state=seed)
    train, test = list(splitter.split(np.empty(len(problem.y)), strata))[sample.part]
    return train, test


def part_of(problem: Problem, rows: Rows) -> Problem:
    """Some rows of a table."""
    return replace(problem, X=problem.X.iloc[rows].reset_index(drop=True), y=problem.y[rows])


def _probabilities(problem: Problem, predicted: Any) -> NDArray[np.float64]:
    p = np.clip(np.asarray(predicted, dtype=float), SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _classes(test: Problem, predicted: Any, shares: NDArray[np.float64]) -> dict[str, float]:
    truth = test.y[:, None] == np.array(test.classes, dtype=object)
    p = _probabilities(test, predicted)
    loss, constant = -np.log(p[truth]).mean(), -np.log(np.tile(shares, (len(p), 1))[truth]).mean()
    columns = [1] if p.shape[1] == 2 else np.flatnonzero(truth.any(axis=0))
    return {
        "error": loss / constant,
        "log_loss": loss,
        "auc": float(np.mean([roc_auc_score(truth[:, c], p[:, c]) for c in columns])),
        "brier": brier(truth, p),
        "accuracy": float(truth[np.arange(len(p)), p.argmax(axis=1)].mean()),
        "calibration_error": calibration_error(truth, p),
    }


def _counts(test: Problem, predicted: Any, mean: float) -> dict[str, float]:
    p = np.maximum(np.asarray(predicted, dtype=float).ravel(), SMALLEST_COUNT * mean)
    deviance = mean_poisson_deviance(test.y, p)
    order = np.array_split(np.argsort(p, kind="stable"), N_GROUPS)
    gaps = sum(abs((p[part] - test.y[part]).sum()) for part in order)
    return {
        "error": deviance / mean_poisson_deviance(test.y, np.full(len(p), mean)),
        "deviance": deviance,
        "calibration_error": gaps / (len(p) * mean),
    }


def figures(train: Problem, test: Problem, predicted: Any) -> dict[str, float]:
    """All figures of some predictions."""
    if test.kind in (TWO, SEVERAL):
        shares = np.array([(train.y == own).mean() for own in train.classes])
        found = _classes(test, predicted, shares)
    elif test.kind == COUNTS:
        found = _counts(test, predicted, float(train.y.mean()))
    elif test.kind == SURVIVAL:
        pairs = count_pairs(test.y["time"], test.y["event"], np.asarray(predicted, dtype=float).ravel())
        found = {"error": 2 * (1 - pairs.concordance), "concordance": pairs.concordance}
    else:
        assert test.kind == NUMBERS
        left = test.y - np.asarray(predicted, dtype=float).ravel()
        found = {"error": float((left**2).sum() / ((test.y - train.y.mean()) ** 2).sum())}
        found["rmse"] = float(np.sqrt((left**2).mean()))
    bad = [name for name, value in found.items() if not np.isfinite(value)]
    if bad:
        raise ValueError(f"{', '.join(bad)} of {test.name} is not finite")
    return {name: round(float(value), DIGITS) for name, value in found.items()}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB, on Linux


def measure(problem: Problem, method: str, sample: Sample) -> dict[str, Any]:
    """Fit a method on a sample, judge it on the other rows, and say what it cost."""
    learned, judged = rows_of(problem, sample)
    train, test = part_of(problem, learned), part_of(problem, judged)
    seed = seed_of("benchmark", problem.name, method, sample.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, start = _peak(), time.process_time()
        fitted: Fitted = METHODS[method].fit(train, seed)
        fit_seconds, start = time.process_time() - start, time.process_time()
        predicted = fitted.predict(test.X)
        predict_seconds = time.process_time() - start
    result: dict[str, Any] = {"figures": figures(train, test, predicted)}
    result["cost"] = {
        "fit_seconds": round(fit_seconds, 4),
        "predict_seconds": round(predict_seconds, 5),
        "memory_mb": round(_peak() - before, 1),
    }
    if fitted.terms is not None:
        own = fitted.terms
        result["terms"] = {"size": own.size, "words": own.words, "keys": own.keys, "universe": own.universe}
    return result

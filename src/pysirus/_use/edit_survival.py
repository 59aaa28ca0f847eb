"""A survival model and its training rows in, the model of some of its rules out: weights and baseline hazard anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._data.zero_weights import without_weightless
from pysirus._kind.survival import SurvivalTimes, read_times
from pysirus._model.hazard import BaselineHazard, kept_times
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._response.read import read_weights
from pysirus._response.read_survival import Times
from pysirus._response.survival import survival_response
from pysirus._rules.rule import Rule, with_weights
from pysirus._weights.cox import cox_rows_of_bits
from pysirus._weights.hazard import baseline_hazard
from pysirus._weights.risk_sets import risk_sets

Fitted = TypeVar("Fitted", bound=Model)

NEEDS_ROWS = (
    "Give X and y, the training rows: a survival model of other rules needs another baseline hazard, which cannot be "
    "found without them. (A tuned model has its sizes ready: with_rules(k) of 1 rule or more needs no rows.)"
)


def refit_survival(model: Fitted, rules: Sequence[Rule], X: Any, y: Any, sample_weight: Any) -> Fitted:
    """The model of some of its rules, by the training rows."""
    if X is None or y is None:
        raise ParameterError(NEEDS_ROWS)
    with without_weightless(X, y, sample_weight) as (X, y, sample_weight):
        table = model.align(X)
        times = read_times(y, table.n_rows)
        weights = read_weights(sample_weight, table.n_rows)
    return _refit(model, rules, table, times, weights)


def _refit(
    model: Fitted, rules: Sequence[Rule], table: Table, times: Times, weights: NDArray[np.float64] | None
) -> Fitted:
    risk = risk_sets(times.times, times.events)
    holds = np.zeros((table.n_rows, len(rules)), dtype=bool)
    for r, rule in enumerate(rules):
        holds[:, r] = rule.holds(table)
    rows = cox_rows_of_bits(len(rules), _bits(holds), risk, model.facts.get("seed", 0), weights)
    response = survival_response(times.times, times.events, weights, times.time_name, times.event_name)
    share = float(np.average(times.events, weights=weights))
    fit, n_dust = SurvivalTimes().swept(rows, response, rules, [len(rules)], share)
    selected = with_weights(rules, fit.weights[0].tolist())
    facts = {**model.facts, "ridge_penalty": float(fit.penalties[0])}
    facts.pop("out_of_fold", None)  # of another list
    facts.pop("n_dust", None)
    if n_dust[0]:
        facts["n_dust"] = n_dust[0]
    facts["n_stages"] = max((rule.stage for rule in rules), default=1)
    edited = replace(model, selected=selected, tuning=None, facts=facts)
    hazard = baseline_hazard(risk, edited.decision(table), weights)
    kept = kept_times(hazard.times)
    survival = replace(model.followed, hazard=BaselineHazard(hazard.times[kept], hazard.cumulative[kept]))
    return replace(edited, survival=survival)


def _bits(holds: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Which rules hold, [row, word]; rule r is bit r % 64 of word r // 64."""
    n_rows, n_rules = holds.shape
    padded = np.zeros((n_rows, 64 * max(1, -(-n_rules // 64))), dtype=bool)
    padded[:, :n_rules] = holds
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed.view(np.dtype("<u8")).astype(np.uint64))

"""Times to an event, by Cox's penalised partial likelihood: rules multiply the hazard, the error is 2 (1 - C).

C is the concordance: of two rows of which one is known to have its event first, how often the higher score is its. The
score of a row is the sum of weighted outputs, which are mean martingale residuals: those of the null model, or of a
correction those of the list before. They sum to zero, so a score of 0 is that of the training rows on average.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._families.links import COX, Loss, Outcome
from pysirus._families.of_model import Cox
from pysirus._families.responses import NumberResponse, Response
from pysirus._families.row_metrics import SCORE_DIGITS, Pairs, count_pairs
from pysirus._families.survival import SurvivalResponse
from pysirus._learn.by_likelihood import ByLikelihood, Gradient
from pysirus._learn.training import Extremes, Residual, Rounding, Training
from pysirus._learn.weigh import SHRINKAGE, PooledError, Weighing
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.likelihood import LikelihoodFit, rule_scores
from pysirus._weights.moments import Moments
from pysirus._weights.survival import (
    BaselineHazard,
    CoxRows,
    Survival,
    baseline_hazard,
    cox_residuals,
    cox_rows,
    fit_cox,
    kaplan_meier,
    kept_times,
    risk_sets,
)
from pysirus._weights.weighted import WeightedPrefixes, holds_in_bins

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ByCox(ByLikelihood):
    """Weights by Cox's likelihood."""

    family: Cox

    def loss_of(self, response: Response) -> Loss:
        """Cox's."""
        return COX

    def as_response(self, residuals: Floats, response: Response) -> NumberResponse:
        """One number per row."""
        return NumberResponse(np.ascontiguousarray(residuals[:, 0]), weights=response.weights)

    def with_data(self, rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
        """What the data say is found for the lists that are kept; see ``describe``."""
        return list(rules)

    def spread(self, training: Training, moments: Moments) -> float:
        """The share of rows with an event."""
        response = _times_of(training.response)
        return float(np.average(response.events, weights=response.weights))

    def standardised_effect(self, gaps: Floats, constant: Floats, spread: float) -> Floats:
        """A step of the log-hazard moves the events by as much of them; they vary as a count does."""
        return np.asarray(np.abs(gaps[:, 0]) * np.sqrt(spread))

    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Up to ``most`` rules: every size is a fit with a cross-validation of its own."""
        return range(min(len(rules), most) + 1)

    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Weights that are not negative, by ridge-penalised partial likelihood; scores are 0 on average."""
        return replace(super().weigh(training, rules, moments, sizes), mean=0.0, patterns=None)

    def _rows(self, training: Training, rules: Sequence[FittedTerm]) -> CoxRows:
        response = _times_of(training.response)
        risk = risk_sets(response.times, response.events)
        return cox_rows(rules, training.binned, risk, training.seed, response.weights)

    def _solver(self, response: Response) -> Callable[..., LikelihoodFit]:
        return fit_cox

    def residual(self, response: Response, weighted: WeightedPrefixes) -> Residual:
        """Martingale residuals at the shrunk scores."""
        return Martingale(self, COX, weighted.bare())

    def scores(self, binned: Binned, response: Response, weighted: WeightedPrefixes, row: int) -> Floats:
        """Scores of the training rows by one of the weighted lists."""
        inside, outside = self._sides(weighted.rules, response)
        weights = weighted.weights[row]
        return rule_scores(weighted.rules, binned, inside, outside, COX, weights, np.zeros(1))[:, 0]

    def describe(self, training: Training, weighted: WeightedPrefixes) -> WeightedPrefixes:
        """Events and medians inside and outside each rule, and the baseline hazard of every size."""
        response = _times_of(training.response)
        risk = risk_sets(response.times, response.events)
        kept = kept_times(risk.event_times)
        every = [self.scores(training.binned, response, weighted, row) for row in range(len(weighted.sizes))]
        hazards = [baseline_hazard(risk, scores, response.weights).cumulative[kept] for scores in every]
        weighted = super().describe(training, weighted)
        rules = [self._with_outcomes(rule, training, response) for rule in weighted.rules]
        return replace(weighted, rules=tuple(rules), hazard_times=risk.event_times[kept], hazards=np.array(hazards))

    def _with_outcomes(self, rule: FittedTerm, training: Training, response: SurvivalResponse) -> FittedTerm:
        """A rule with what became of the rows inside and outside; a slope has no sides."""
        if not rule.is_binary:
            return rule
        holds = holds_in_bins(rule, training.binned)
        return replace(rule, survival=(outcome(response, holds), outcome(response, ~holds)))

    def fitted(self, training: Training, weighted: WeightedPrefixes, row: int) -> Cox:
        """With the baseline hazard of the list."""
        assert weighted.hazard_times is not None and weighted.hazards is not None
        response = _times_of(training.response)
        every = outcome(response, np.ones(response.n_rows, dtype=bool))
        hazard = BaselineHazard(weighted.hazard_times, weighted.hazards[row])
        survival = Survival(response.event_name, every.n_events, every.median, hazard, self.family.event_value)
        return Cox(training.target, weighted.mean, survival)

    def model(self, training: Training, weighted: WeightedPrefixes, row: int, n_trees: int) -> Model:
        """The model of one of the weighted prefixes; neither sums nor a likelihood are kept."""
        return replace(Weighing.model(self, training, weighted, row, n_trees), moments=None)

    def evaluate(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> list[Pairs]:
        """Pairs of the held-out rows, for every size."""
        scores, own = np.round(weighted.scores(holds), SCORE_DIGITS).T, _times_of(response)
        times, events, w = own.times, own.events, own.weights
        return [count_pairs(times, events, np.ascontiguousarray(row), w) for row in scores]

    def pooled_error(self, held_out_loss: Sequence[list[Pairs]]) -> PooledError:
        """2 (1 - C) of the pairs within folds: scores of two folds do not compare."""

        def error(sizes: NDArray[np.intp]) -> Floats:
            steps = sizes.tolist()
            return np.array([sum((f[k] for f, k in zip(held_out_loss, step)), Pairs()).error for step in steps])

        return error


@dataclass(frozen=True)
class Martingale(Gradient):
    """Martingale residuals at the shrunk scores. They depend on all rows together, which are in memory."""

    by: ByCox

    def raw(self, binned: Binned, response: Response) -> Floats:
        """Residuals, which are rounded already."""
        own = _times_of(response)
        scores = self.by.scores(binned, own, self.weighted, -1)
        return cox_residuals(risk_sets(own.times, own.events), scores, own.weights, SHRINKAGE)[0]

    def rounding_for(self, found: Extremes) -> Rounding | None:
        """None where the list explains all."""
        return None if found.low == found.high else Rounding(float(found.low[0]), float(found.high[0]))


def _times_of(response: Response) -> SurvivalResponse:
    assert isinstance(response, SurvivalResponse)
    return response


def outcome(response: SurvivalResponse, rows: NDArray[np.bool_]) -> Outcome:
    """What became of some rows."""
    weights = None if response.weights is None else response.weights[rows]
    curve = kaplan_meier(response.times[rows], response.events[rows], weights)
    return Outcome(int(response.events[rows].sum()), curve.median)

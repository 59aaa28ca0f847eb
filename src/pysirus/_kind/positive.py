"""Counts and positive amounts, by penalised likelihood: rules multiply a rate, the error is the unexplained deviance.

Names and meaning are scikit-learn's: counts with exposure are y = count / exposure with the exposure as weight. The
logarithm of the mean is the sum of weighted outputs. Rules answer with mean responses, corrections with mean residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError, first_row
from pysirus._kind.kind import LabelTotals, PooledError
from pysirus._kind.numbers import SHRINKAGE, Numbers, NumbersOfPart
from pysirus._model.link import Link
from pysirus._model.model import Model
from pysirus._model.moment_text import MAX_MOMENTS
from pysirus._model.moments import Moments
from pysirus._model.quadratic import Quadratic
from pysirus._response.response import NumberResponse, Response
from pysirus._rules.rule import Rule
from pysirus._training.training import Training
from pysirus._weights.deviance import row_deviances
from pysirus._weights.likelihood import LikelihoodFit, fit_likelihood, gradient_residuals, rule_scores
from pysirus._weights.quadratic import likelihood_near, minimise
from pysirus._weights.ridge import PENALTY_GRID, STAGES_GRID
from pysirus._weights.weighted import WeightedPrefixes

Floats = NDArray[np.float64]


class Deviances(NamedTuple):
    """The held-out rows of a fold: the deviance of every size, and of the constant of the training rows."""

    sizes: Floats  # [size]
    constant: float


def check_positive(values: Floats, loss: str) -> None:
    """Counts are not negative, amounts are above zero."""
    bad = values < 0 if loss == "poisson" else values <= 0
    if bad.any():
        row = first_row(bad)
        wanted = "at least 0" if loss == "poisson" else "above 0"
        advice = "" if loss == "poisson" else " Drop these rows, model them apart, or use loss='poisson'."
        raise DataError(f"With loss='{loss}' y must be {wanted}, found {values[row]:g} in row {row}.{advice}")


@dataclass(frozen=True)
class PositiveOfPart(NumbersOfPart):
    """Reads counts or amounts from a part of the rows."""

    loss: str

    def __call__(self, y: Any, weights: Any, n_rows: int) -> NumberResponse:
        response = super().__call__(y, weights, n_rows)
        check_positive(response.values, self.loss)
        return response


@dataclass(frozen=True)
class PositiveNumbers(Numbers):
    """One count or positive amount per row."""

    loss: str  # "poisson" or "gamma"
    link: ClassVar[Link] = "log"

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> NumberResponse:
        """Counts of at least 0 that are not all 0, or amounts above 0."""
        response = super().read(y, sample_weight, n_rows)
        check_positive(response.values, self.loss)
        if not response.values.any():
            raise DataError("y is 0 in every row: there is no rate to learn. Check the target column.")
        return response

    def part_reading(self, ask_labels: Callable[[], LabelTotals]) -> PositiveOfPart:
        """Numbers need nothing of other parts."""
        return PositiveOfPart(self.loss)

    def sizes(self, training: Training, rules: Sequence[Rule], moments: Moments, most: int) -> range:
        """Up to the first list with more than ``most`` positive weights at the smallest penalty."""
        every = range(len(rules) + 1)
        if len(rules) <= most:
            return every
        least = self._fit(training, rules, every, PENALTY_GRID[-1:])
        too_many = np.flatnonzero((least.weights > 0).sum(axis=1) > most)
        return range(int(too_many[0]) + 1) if len(too_many) else every

    def weigh(
        self, training: Training, rules: Sequence[Rule], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Weights that are not negative, by ridge-penalised likelihood."""
        grid = PENALTY_GRID if all(rule.stage == 1 for rule in rules) else STAGES_GRID
        fit = self._fit(training, rules, sizes, grid)
        return WeightedPrefixes(
            tuple(rules),
            tuple(sizes),
            fit.weights,
            tuple(fit.intercepts[:, 0].tolist()),
            fit.penalties,
            float(moments.means[0][0]),
            constant=tuple(fit.constant.tolist()),
        )

    def _fit(self, training: Training, rules: Sequence[Rule], sizes: Sequence[int], grid: Floats) -> LikelihoodFit:
        return fit_likelihood(training.patterns(rules), *_outputs(rules), self.loss, sizes, grid)

    def residuals(self, training: Training, weighted: WeightedPrefixes) -> NumberResponse | None:
        """The slope of the likelihood at the shrunk scores; None where the list explains all."""
        response, rules = training.response, weighted.rules
        intercept = np.array([weighted.intercepts[-1]])
        scores = rule_scores(rules, training.binned, *_outputs(rules), self.loss, weighted.weights[-1], intercept)
        y, constant = response.answers[:, None], np.array(weighted.constant)
        values, _ = gradient_residuals(self.loss, y, scores, constant, SHRINKAGE)
        if (values == values[:1]).all():
            return None
        column = np.ascontiguousarray(values[:, 0])
        return NumberResponse(column, weights=response.weights, part_of=response.part_of, repeats=response.repeats)

    def model(self, training: Training, weighted: WeightedPrefixes, row: int, n_trees: int) -> Model:
        """The model of one of the weighted prefixes, with its likelihood near it, of the longest of them."""
        model = super().model(training, weighted, row, n_trees)
        if not weighted.rules or len(weighted.rules) > MAX_MOMENTS:
            return model
        inside, outside = (side[:, None] for side in _outputs(weighted.rules))
        point = np.append(weighted.intercepts[row], weighted.weights[row])
        patterns = training.patterns(weighted.rules)
        near = likelihood_near(patterns, inside, outside, self.loss, point, np.array(weighted.constant))
        return replace(model, likelihood=near)

    def judge(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> Any:
        """Deviances of every size."""
        y, w = response.answers[:, None], response.row_weights()
        scores = weighted.scores(holds)
        own = [w @ row_deviances(self.loss, y, column[:, None]) for column in scores.T]
        constant = np.broadcast_to(np.array(weighted.constant), y.shape)
        return Deviances(np.array(own), float(w @ row_deviances(self.loss, y, constant)))

    def pooled_error(self, judged: Sequence[Any]) -> PooledError:
        """The unexplained deviance: that of the lists over that of the constants."""
        total = sum(fold.constant for fold in judged) or 1.0
        return lambda sizes: np.sum([fold.sizes[k] / total for fold, k in zip(judged, sizes.T)], axis=0)


def refit_log(near: Quadratic, penalty: float) -> tuple[float, list[float]]:
    """Intercept and weights by the approximation that a model keeps."""
    intercepts, weights = minimise(near, penalty)
    return float(intercepts[0]), weights.tolist()


def _outputs(rules: Sequence[Rule]) -> tuple[Floats, Floats]:
    """Outputs inside and outside, [rule]."""
    inside = np.array([rule.inside for rule in rules], dtype=np.float64)
    return inside, np.array([rule.outside for rule in rules], dtype=np.float64)

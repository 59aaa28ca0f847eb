"""Rules and training rows in, rule lists weighted by penalised likelihood out; the error is the unexplained deviance.

A subclass says which loss it has, how outputs stand for scores and scores for outputs, and which response residuals
are.

*Classes* have a score per class and probabilities by softmax. The outputs of a rule are class proportions, those of a
correction mean residuals, one per class, and a rule has one weight. With two classes all of it is about the log-odds of
the second: the difference of the two scores.

*Counts and amounts* have a rate that rules multiply. Names and meaning are scikit-learn's: counts with exposure are y =
count / exposure with the exposure as weight. The logarithm of the mean is the sum of weighted outputs. Outputs of rules
are mean targets, those of corrections mean residuals.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._families.classes import Multinomial
from pysirus._families.links import LOGISTIC, SOFTMAX, Loss
from pysirus._families.numbers import LogMean
from pysirus._families.responses import NumberResponse, OddsResiduals, Output, Response, VectorResponse
from pysirus._families.row_metrics import Truths, blocks_of, deviance_about_mean
from pysirus._learn.training import Extremes, Residual, Rounding, Training
from pysirus._learn.weigh import SHRINKAGE, HeldOutSums, PooledError, Weighing, share_of
from pysirus._model.model import Model
from pysirus._model.sums import MAX_MOMENTS
from pysirus._runtime import changed
from pysirus._runtime.sums import ExactSums, scores_of, weighted_sum
from pysirus._terms.fitted import FittedTerm, bounds_of, outputs_of, units_of
from pysirus._weights.likelihood import (
    LikelihoodFit,
    centred_outputs,
    fit_likelihood,
    gradient_residuals,
    likelihood_near,
    residual_exponent,
    responses_of,
    rounded,
    rule_scores,
)
from pysirus._weights.moments import Moments, n_fixed
from pysirus._weights.weighted import PENALTY_GRID, STAGES_GRID, Bools, WeightedPrefixes, joined, prune, with_observed

Floats = NDArray[np.float64]


class ByLikelihood(Weighing):
    """A response whose scores are weighed by penalised likelihood."""

    from_moments: ClassVar[bool] = False

    @abstractmethod
    def loss_of(self, response: Response) -> Loss:
        """What a row of the response loses."""

    def as_scores(self, outputs: Any) -> Floats:
        """Outputs [...] as what the loss is a function of, [..., score]: one score."""
        return np.asarray(outputs, dtype=np.float64)[..., None]

    def as_output(self, scores: Floats) -> Output:
        """The scores of an intercept as an output: one number."""
        return float(scores[0])

    @abstractmethod
    def as_response(self, residuals: Floats, response: Response) -> Response:
        """Residuals [row, score] as a response of the same rows."""

    @abstractmethod
    def spread(self, training: Training, moments: Moments) -> float:
        """What ``standardised_effect`` must know of the response besides its mean."""

    @abstractmethod
    def standardised_effect(self, gaps: Floats, constant: Floats, spread: float) -> Floats:
        """How many standard deviations of the response, near its mean, steps of the scores [rule, score] move it."""

    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Up to the first list with more than ``most`` positive weights at the smallest penalty."""
        if len(rules) <= most:
            return range(len(rules) + 1)
        rows = self._rows(training, rules)
        for size in range(most + 1, len(rules)):  # shorter lists cannot exceed ``most``
            least = self._fit(rows, training, rules, [size], PENALTY_GRID[-1:])
            if (least.weights > 0).sum() > most:
                return range(size + 1)
        return range(len(rules) + 1)

    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Weights that are not negative, by ridge-penalised likelihood."""
        one_stage = all(rule.stage == 1 for rule in rules)
        patterns = self._rows(training, rules)
        spread = self.spread(training, moments)
        fit, n_pruned = self.pruned(patterns, training, rules, sizes, spread)
        return WeightedPrefixes(
            tuple(rules),
            tuple(sizes),
            fit.weights,
            tuple(map(self.as_output, fit.intercepts)),
            fit.penalties,
            training.response.output(moments.means[0]),
            constant=tuple(fit.constant.tolist()),
            n_pruned=n_pruned,
            spread=spread,
            # those of one stage are kept: in parts they cost a pass; later stages, in memory, would keep many
            patterns=patterns if one_stage else None,
        )

    def weigh_stages(self, training: Training, stages: Sequence[WeightedPrefixes]) -> WeightedPrefixes:
        """Those of the lists themselves are known; the first had more penalties to choose from."""
        rules, known = stages[-1].rules, {own.sizes[-1]: own for own in stages[1:]}
        others = [size for size in range(len(rules) + 1) if size not in known]
        found = self.weigh(training, rules, training.moments(rules), others)
        known |= {size: found.at(row) for row, size in enumerate(others)}
        return joined([known[size] for size in range(len(rules) + 1)])

    def _rows(self, training: Training, rules: Sequence[FittedTerm]) -> Any:
        """What the likelihood of some rules is computed from."""
        return training.patterns(rules)

    def with_data(self, rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
        """The mean answers inside and outside, which residuals are not."""
        return with_observed(rules, moments, response)

    def pruned(
        self, patterns: Any, training: Training, rules: Sequence[FittedTerm], sizes: Sequence[int], spread: float
    ) -> tuple[LikelihoodFit, tuple[int, ...]]:
        """The fit of each list without its negligible rules, and how many those are."""
        grid = PENALTY_GRID if all(rule.stage == 1 for rule in rules) else STAGES_GRID
        fit = self._fit(patterns, training, rules, sizes, grid)
        fit = replace(fit, weights=fit.weights.copy(), intercepts=fit.intercepts.copy(), penalties=fit.penalties.copy())

        def fit_again(kept: Bools, lists: list[int]) -> Floats:
            own = self._fit(patterns, training, rules, [sizes[row] for row in lists], grid, kept)
            fit.intercepts[lists], fit.penalties[lists] = own.intercepts, own.penalties
            return own.weights

        inside, outside = self._sides(rules, training.response)
        steps = np.array([rule.extent / rule.unit for rule in rules])[:, None]
        return fit, prune(
            fit.weights, self.standardised_effect((inside - outside) * steps, fit.constant, spread), rules, fit_again
        )

    def constant(self, patterns: Any, response: Response) -> Floats:
        """The scores of no rule at all: the link of the mean."""
        none = np.zeros((0, 1 if len(response.labels or ()) < 3 else response.n_outputs))
        return fit_likelihood(patterns, none, none, self.loss_of(response), [0]).constant

    def _fit(
        self,
        patterns: Any,
        training: Training,
        rules: Sequence[FittedTerm],
        sizes: Sequence[int],
        grid: Floats,
        kept: Bools | None = None,
    ) -> LikelihoodFit:
        """Rules that are not kept answer the same inside and outside, and so have no weight."""
        inside, outside = self._sides(rules, training.response)
        sides = (inside, outside) if kept is None else (inside * kept[:, None], outside * kept[:, None])
        how: dict[str, Any] = {"n_threads": training.n_threads, "n_held": n_fixed(rules)}
        return self._solver(training.response)(patterns, *sides, sizes=sizes, grid=grid, **how)

    def _solver(self, response: Response) -> Callable[..., LikelihoodFit]:
        """What fits weights: of rows, outputs inside and outside, sizes and a grid of penalties."""
        return partial(fit_likelihood, loss=self.loss_of(response))

    def _sides(self, rules: Sequence[FittedTerm], response: Response) -> tuple[Floats, Floats]:
        """Outputs inside and outside, [rule, score]; of a slope what a step of its grid adds, and nothing."""
        inside, outside = outputs_of(rules, (len(response.labels),) if response.labels else ())
        units = units_of(rules)[:, None]
        return self.as_scores(inside) * units, self.as_scores(outside) * units

    def spread_of(self, training: Training, weighted: WeightedPrefixes, term: FittedTerm) -> float:
        """As large a step of the score as moves the response, near its mean, by one of its standard deviations."""
        inside, outside = self._sides([term], training.response)
        gaps = (inside - outside) / term.unit
        moved = float(self.standardised_effect(gaps, np.array(weighted.constant), weighted.spread)[0])
        return float(np.abs(gaps).max()) / moved if moved > 0 else math.inf

    def residual(self, response: Response, weighted: WeightedPrefixes) -> Residual:
        """The gradient of the likelihood at the shrunk scores."""
        return Gradient(self, self.loss_of(response), weighted.bare())

    def model(self, training: Training, weighted: WeightedPrefixes, row: int, n_trees: int) -> Model:
        """The model of one of the weighted prefixes, with its likelihood near it, of the longest of them."""
        model = super().model(training, weighted, row, n_trees)
        if not weighted.rules or len(weighted.rules) > MAX_MOMENTS:
            return model
        loss = self.loss_of(training.response)
        inside, outside = (centred_outputs(side, loss) for side in self._sides(weighted.rules, training.response))
        near = likelihood_near(
            training.patterns(weighted.rules) if weighted.patterns is None else weighted.patterns,
            inside,
            outside,
            loss,
            np.concatenate([self.as_scores(weighted.intercepts[row]), weighted.weights[row]]),
            np.array(weighted.constant),
        )
        return changed(model, likelihood=near)

    def evaluate(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> Any:
        """Deviances of every size, and that of the constant."""
        losses = ExactSums((0,) * (len(weighted.sizes) + 1))
        for rows in blocks_of(response.n_rows):
            own = response.take(np.arange(rows.start, rows.stop))
            losses += ExactSums.of(self._deviances(weighted, holds[rows], own))
        return HeldOutSums(self._truths(weighted, response), losses)

    def _deviances(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> Floats:
        """The deviance of each row by the list of every size, and by the constant, times its weight."""
        loss, w = self.loss_of(response), response.row_weights()
        y = responses_of(response, loss)
        inside, outside = self._sides(weighted.rules, response)
        without = [weighted_sum(weights, outside) for weights in weighted.weights]  # what rules add that do not hold
        base = self.as_scores(weighted.intercepts) + np.stack(without)  # [size, score]
        steps = weighted.weights[:, :, None] * (inside - outside)  # [size, rule, score]
        bounds = bounds_of(weighted.rules)
        every = [scores_of(holds, *list_, bounds) for list_ in zip(base, steps)]
        every.append(np.broadcast_to(np.array(weighted.constant), y.shape))
        with np.errstate(over="ignore"):
            return np.stack([w * loss.deviances(y, scores) for scores in every], axis=1)

    def _truths(self, weighted: WeightedPrefixes, response: Response) -> Truths:
        """Sums of the response, where the constant of all held-out rows is to be known."""
        return Truths(0.0, ExactSums(()))

    def pooled_error(self, held_out_loss: Sequence[Any]) -> PooledError:
        """The unexplained deviance: that of the lists over that of the constants."""
        total = sum(float(fold.losses.floats[-1]) for fold in held_out_loss)
        return share_of([fold.losses for fold in held_out_loss], total)


@dataclass(frozen=True)
class Gradient(Residual):
    """Minus the slope of the loss at the shrunk scores of a list."""

    by: ByLikelihood
    loss: Loss
    weighted: WeightedPrefixes

    def raw(self, binned: Binned, response: Response) -> Floats:
        """Slopes, before they are rounded."""
        loss, weighted = self.loss, self.weighted
        inside, outside = self.by._sides(weighted.rules, response)
        intercept = self.by.as_scores(weighted.intercepts[-1])
        scores = rule_scores(weighted.rules, binned, inside, outside, loss, weighted.weights[-1], intercept)
        return gradient_residuals(loss, responses_of(response, loss), scores, np.array(weighted.constant), SHRINKAGE)

    def rounding_for(self, found: Extremes) -> Rounding | None:
        """The largest of all rows says how they are rounded, which changes no order."""
        largest = float(max(np.abs(found.low).max(), np.abs(found.high).max()))
        exponent = residual_exponent(self.loss, largest)
        low, high = rounded(found.low, exponent), rounded(found.high, exponent)
        return None if (low == high).all() else Rounding(float(low.min()), float(high.max()), exponent)

    def response(self, raw: Floats, rounding: Rounding, response: Response) -> Response:
        """Rounded slopes."""
        values = raw if rounding.exponent is None else rounded(raw, rounding.exponent)
        return self.by.as_response(values, response)


@dataclass(frozen=True)
class ClassesByLikelihood(ByLikelihood):
    """One class per row, predicted by the softmax of weighted outputs."""

    def loss_of(self, response: Response) -> Loss:
        """Of two classes logistic, of more softmax."""
        return LOGISTIC if len(response.labels or ()) == 2 else SOFTMAX

    def spread(self, training: Training, moments: Moments) -> float:
        """Classes have none but that of their proportions."""
        return 1.0

    def standardised_effect(self, gaps: Floats, constant: Floats, spread: float) -> Floats:
        """The class that moves most: its proportion p moves by p (1 - p) times its log-odds."""
        if len(constant) == 1:
            gaps, constant = np.hstack([-gaps / 2, gaps / 2]), np.array([-constant[0] / 2, constant[0] / 2])
        p = _core.exp(constant - constant.max())
        p /= p.sum()
        deviations = np.sqrt(p * (1 - p))
        moved = np.abs(p * (gaps - (gaps * p).sum(axis=1, keepdims=True)))
        spread_out = np.divide(moved, deviations, out=np.full_like(moved, np.inf), where=deviations > 0)
        return np.asarray(spread_out.max(axis=1))

    def as_scores(self, outputs: Any) -> Floats:
        """Of two classes the difference, of more each class."""
        every = np.asarray(outputs, dtype=np.float64)
        return every[..., 1:] - every[..., :1] if every.shape[-1] == 2 else every

    def as_output(self, scores: Floats) -> tuple[float, ...]:
        """The scores of all classes, which sum to zero."""
        return Multinomial.as_output(scores)

    def as_response(self, residuals: Floats, response: Response) -> Response:
        """Of two classes the residuals of the second, of more a vector."""
        shared: Any = {"weights": response.weights, "base_weights": response.base_weights}
        labels = response.labels or ()
        if len(labels) == 2:
            return OddsResiduals(np.ascontiguousarray(residuals[:, 0]), labels, **shared)
        return VectorResponse(residuals, labels, **shared)

    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Of several classes up to ``most`` rules: a weight of zero is rarer, and every size costs more."""
        if len(rules) > most and training.response.n_outputs > 2:
            return range(most + 1)
        return super().sizes(training, rules, moments, most)

    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """By likelihood; one class is certain, and there are no rules."""
        if training.response.n_outputs > 1:
            return super().weigh(training, rules, moments, sizes)
        mean, none = training.response.output(moments.means[0]), np.zeros((len(sizes), 0))
        return WeightedPrefixes((), tuple(sizes), none, ((0.0,),) * len(sizes), np.zeros(len(sizes)), mean)


@dataclass(frozen=True)
class MeansByLikelihood(ByLikelihood):
    """Counts and amounts."""

    family: LogMean

    def model(self, training: Training, weighted: WeightedPrefixes, row: int, n_trees: int) -> Model:
        """The model of one of the weighted prefixes, which remembers its loss."""
        model = super().model(training, weighted, row, n_trees)
        return replace(model, facts=replace(model.facts, **self.family.facts))

    def fitted(self, training: Training, weighted: WeightedPrefixes, row: int) -> LogMean:
        """That which was asked for, with the mean."""
        return replace(self.family, target=training.target, mean=weighted.mean)

    def loss_of(self, response: Response) -> Loss:
        """That of the family."""
        return self.family.loss

    def _truths(self, weighted: WeightedPrefixes, response: Response) -> Truths:
        return Truths.of(response.row_values, response.weights, float(np.asarray(weighted.mean)), self.family.loss)

    def pooled_error(self, held_out_loss: Sequence[HeldOutSums]) -> PooledError:
        """The unexplained deviance: that of the lists over that of the mean of all held-out rows, 1 - D²."""
        total = deviance_about_mean(self.family.loss, [fold.truths for fold in held_out_loss])
        return share_of([fold.losses for fold in held_out_loss], total)

    def spread(self, training: Training, moments: Moments) -> float:
        """The standard deviation of the response."""
        mean = float(moments.y_sum.sum() / moments.fold_weight.sum())
        return math.sqrt(max(float(moments.y_square.sum() / moments.fold_weight.sum()) - mean * mean, 0.0))

    def standardised_effect(self, gaps: Floats, constant: Floats, spread: float) -> Floats:
        """A step of the logarithm moves the mean by as much of it."""
        return np.abs(gaps[:, 0]) * (float(_core.exp(constant[:1])[0]) / spread if spread > 0 else np.inf)

    def as_response(self, residuals: Floats, response: Response) -> NumberResponse:
        """One number per row."""
        column = np.ascontiguousarray(residuals[:, 0])
        return NumberResponse(column, weights=response.weights, base_weights=response.base_weights)

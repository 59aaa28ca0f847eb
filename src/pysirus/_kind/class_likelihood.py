"""Classes, by penalised likelihood: a score per class, probabilities by softmax, the error is the unexplained deviance.

The outputs of a rule are class proportions, those of a correction mean residuals, one per class, and a rule has one
weight. With two classes all of it is about the log-odds of the second: the difference of the two scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._kind.classes import ClassKind
from pysirus._kind.kind import PooledError
from pysirus._kind.numbers import SHRINKAGE
from pysirus._model.link import Link
from pysirus._model.model import Model
from pysirus._model.moment_text import MAX_MOMENTS
from pysirus._model.moments import Moments
from pysirus._model.quadratic import Quadratic
from pysirus._response.residuals import OddsResiduals
from pysirus._response.response import Response, VectorResponse
from pysirus._rules.rule import Rule
from pysirus._training.training import Training
from pysirus._weights.deviance import row_deviances
from pysirus._weights.likelihood import (
    LikelihoodFit,
    Patterns,
    fit_likelihood,
    gradient_residuals,
    responses_of,
    rule_scores,
)
from pysirus._weights.quadratic import likelihood_near, minimise
from pysirus._weights.ridge import PENALTY_GRID, STAGES_GRID
from pysirus._weights.weighted import WeightedPrefixes

Floats = NDArray[np.float64]


class Deviances(NamedTuple):
    """The held-out rows of a fold: the deviance of every size, and of the constant of the training rows."""

    sizes: Floats  # [size]
    constant: float


@dataclass(frozen=True)
class ClassLikelihood(ClassKind):
    """One class per row, predicted by the softmax of weighted outputs."""

    has_penalty: ClassVar[bool] = True
    has_stages: ClassVar[bool] = True
    link: ClassVar[Link] = "softmax"

    def sizes(self, training: Training, rules: Sequence[Rule], moments: Moments, most: int) -> range:
        """Up to the first list with more than ``most`` positive weights at the smallest penalty.

        Of several classes up to ``most`` rules: a weight of zero is rarer, and every size costs more.
        """
        every = range(len(rules) + 1)
        if len(rules) <= most:
            return every
        if training.response.n_outputs > 2:
            return range(most + 1)
        least = _fit(training.patterns(rules), rules, training.response.n_outputs, every, PENALTY_GRID[-1:])
        too_many = np.flatnonzero((least.weights > 0).sum(axis=1) > most)
        return range(int(too_many[0]) + 1) if len(too_many) else every

    def weigh(
        self, training: Training, rules: Sequence[Rule], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Weights that are not negative, by ridge-penalised likelihood."""
        mean = training.response.output(moments.means[0])
        if training.response.n_outputs == 1:  # one class is certain, and there are no rules
            none = np.zeros((len(sizes), 0))
            return WeightedPrefixes((), tuple(sizes), none, ((0.0,),) * len(sizes), np.zeros(len(sizes)), mean)
        patterns = training.patterns(rules)
        fit = _fit(patterns, rules, training.response.n_outputs, sizes)
        return WeightedPrefixes(
            tuple(rules),
            tuple(sizes),
            fit.weights,
            tuple(map(_as_output, fit.intercepts)),
            fit.penalties,
            mean,
            constant=tuple(fit.constant.tolist()),
            # those of one stage are kept: in parts they cost a pass; later stages, in memory, would keep many
            patterns=patterns if all(rule.stage == 1 for rule in rules) else None,
        )

    def residuals(self, training: Training, weighted: WeightedPrefixes) -> Response | None:
        """The class of each row minus its shrunk probabilities; None where the list explains all."""
        response, rules = training.response, weighted.rules
        loss = _loss(response.n_outputs)
        inside, outside = _score_outputs(rules, response.n_outputs)
        intercept = _as_scores(weighted.intercepts[-1])
        scores = rule_scores(rules, training.binned, inside, outside, loss, weighted.weights[-1], intercept)
        y, constant = responses_of(response, loss), np.array(weighted.constant)
        values, _ = gradient_residuals(loss, y, scores, constant, SHRINKAGE)
        if (values == values[:1]).all():
            return None
        shared: Any = {"weights": response.weights, "part_of": response.part_of, "repeats": response.repeats}
        labels = response.labels or ()
        if loss == "logistic":
            return OddsResiduals(np.ascontiguousarray(values[:, 0]), labels, **shared)
        return VectorResponse(values, labels, **shared)

    def model(self, training: Training, weighted: WeightedPrefixes, row: int, n_trees: int) -> Model:
        """The model of one of the weighted prefixes, with its likelihood near it, of the longest of them."""
        model = super().model(training, weighted, row, n_trees)
        if not weighted.rules or len(weighted.rules) > MAX_MOMENTS:
            return model
        n_classes = training.response.n_outputs
        near = likelihood_near(
            training.patterns(weighted.rules) if weighted.patterns is None else weighted.patterns,
            *_centred_outputs(weighted.rules, n_classes),
            _loss(n_classes),
            np.concatenate([_as_scores(weighted.intercepts[row]), weighted.weights[row]]),
            np.array(weighted.constant),
        )
        return replace(model, likelihood=near)

    def judge(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> Deviances:
        """Deviances of every size."""
        loss, w = _loss(response.n_outputs), response.row_weights()
        y = responses_of(response, loss)
        inside, outside = _score_outputs(weighted.rules, response.n_outputs)
        base = _as_scores(weighted.intercepts) + weighted.weights @ outside  # [size, score]
        steps = weighted.weights[:, :, None] * (inside - outside)  # [size, rule, score]
        own = [w @ row_deviances(loss, y, start + holds @ step) for start, step in zip(base, steps)]
        constant = np.broadcast_to(np.array(weighted.constant), y.shape)
        return Deviances(np.array(own), float(w @ row_deviances(loss, y, constant)))

    def pooled_error(self, judged: Sequence[Deviances]) -> PooledError:
        """The unexplained deviance: that of the lists over that of the constants."""
        total = sum(fold.constant for fold in judged) or 1.0
        return lambda sizes: np.sum([fold.sizes[k] / total for fold, k in zip(judged, sizes.T)], axis=0)


def fit_classes(
    patterns: Patterns, rules: Sequence[Rule], n_classes: int
) -> tuple[tuple[float, ...], list[float], float]:
    """Intercept, weights and penalty of a list of rules with outputs."""
    fit = _fit(patterns, rules, n_classes, [len(rules)])
    return _as_output(fit.intercepts[0]), fit.weights[0].tolist(), float(fit.penalties[0])


def refit_classes(near: Quadratic, penalty: float) -> tuple[tuple[float, ...], list[float]]:
    """Intercept and weights by the approximation that a model keeps."""
    intercepts, weights = minimise(near, penalty)
    return _as_output(intercepts), weights.tolist()


def _centred_outputs(rules: Sequence[Rule], n_classes: int) -> tuple[Floats, Floats]:
    """Outputs inside and outside, [rule, score]; those of several classes less their mean, as they are weighed."""
    inside, outside = _score_outputs(rules, n_classes)
    if n_classes == 2:
        return inside, outside
    return inside - inside.mean(axis=1, keepdims=True), outside - outside.mean(axis=1, keepdims=True)


def _fit(
    patterns: Patterns, rules: Sequence[Rule], n_classes: int, sizes: Sequence[int], grid: Floats | None = None
) -> LikelihoodFit:
    inside, outside = _score_outputs(rules, n_classes)
    if grid is None:
        grid = PENALTY_GRID if all(rule.stage == 1 for rule in rules) else STAGES_GRID
    return fit_likelihood(patterns, inside, outside, _loss(n_classes), sizes, grid)


def _loss(n_classes: int) -> str:
    return "logistic" if n_classes == 2 else "softmax"


def _score_outputs(rules: Sequence[Rule], n_classes: int) -> tuple[Floats, Floats]:
    """Outputs inside and outside, [rule, score]."""
    inside = np.array([rule.inside for rule in rules], dtype=np.float64).reshape(-1, n_classes)
    outside = np.array([rule.outside for rule in rules], dtype=np.float64).reshape(-1, n_classes)
    return _as_scores(inside), _as_scores(outside)


def _as_scores(outputs: Any) -> Floats:
    """What the losses of the core are functions of: of two classes the difference, of more each class."""
    every = np.asarray(outputs, dtype=np.float64)
    return every[..., 1:] - every[..., :1] if every.shape[-1] == 2 else every


def _as_output(scores: Floats) -> tuple[float, ...]:
    """The scores of all classes, which sum to zero."""
    if len(scores) == 1:
        return -float(scores[0]) / 2, float(scores[0]) / 2
    return tuple((scores - scores.mean()).tolist())

"""Rules and training rows in, weighted rule lists out: what stages and tuning ask of a way to weight rules.

The family of the target chooses the way (``__init__``). It says which sizes a list has, their weights, what is left to
explain, what held-out rows say of each size, and the model. Here are two of them. ``ByRidge`` is regression by squared
error: outputs are means, weights are those of a ridge regression, the error is the unexplained variance. ``Equally`` is
the form of the authors' paper on classification and of their R package: outputs are class proportions with equal
weights, and the error is 1 - AUC.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._families.base import Family
from pysirus._families.class_metrics import Ranks, merge, merged_auc, rank
from pysirus._families.of_model import family_of
from pysirus._families.responses import NumberResponse, Response
from pysirus._families.row_metrics import Truths, blocks_of, spread_of
from pysirus._learn.training import Extremes, Residual, Rounding, Training
from pysirus._model.facts import Facts
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._runtime.sums import ExactSums, group_sums, scores_of
from pysirus._terms.fitted import FittedTerm, outputs_of
from pysirus._terms.listing import with_weights
from pysirus._text.message import Parameter, setting
from pysirus._weights.moments import Moments, gram_of, n_fixed
from pysirus._weights.weighted import WeightedPrefixes, fitted_values, useful_sizes, weigh_by_ridge, weigh_equally

# the size that each fold uses, one row a step -> the error at each step
PooledError = Callable[[NDArray[np.intp]], NDArray[np.float64]]


@dataclass(frozen=True)
class Weighing(ABC):
    """How the rules of one family are weighed."""

    family: Family  # as it was asked for

    from_moments: ClassVar[bool] = True  # whether weights come from the moments of all rules together
    has_penalty: ClassVar[bool] = True  # whether a penalty is chosen
    has_stages: ClassVar[bool] = True  # whether its lists can be corrected

    @abstractmethod
    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Sizes of a list that tuning looks at, from 0 on, so that ``most`` of its rules may have a weight."""

    @abstractmethod
    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Weights of some prefixes of a list of rules with outputs."""

    def weigh_stages(self, training: Training, stages: Sequence[WeightedPrefixes]) -> WeightedPrefixes:
        """Weights of every prefix of the last of some lists, each of which continues the one before."""
        rules = stages[-1].rules
        return self.weigh(training, rules, training.moments(rules), range(len(rules) + 1))

    @abstractmethod
    def residual(self, response: Response, weighted: WeightedPrefixes) -> Residual:
        """What the last of the weighted lists leaves unexplained of a row, the prediction being shrunk."""

    @abstractmethod
    def evaluate(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> Any:
        """What the pooled error must know of some held-out rows of a fold, for every size; ``holds`` is [row, rule].

        It adds up: rows are judged where they lie, and sums are exact, so that they do not depend on where that is.
        """

    @abstractmethod
    def pooled_error(self, held_out_loss: Sequence[Any]) -> PooledError:
        """The error of all held-out rows together, given the size that each fold uses."""

    def with_data(self, rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
        """Corrections with what the data say of their rows, where their outputs do not; the moments end with theirs."""
        return list(rules)

    def describe(self, training: Training, weighted: WeightedPrefixes) -> WeightedPrefixes:
        """What a model of these lists keeps besides weights, and slopes as they are read; on all rows, not in folds."""
        return with_round_slopes(training, weighted, partial(self.spread_of, training, weighted), self._multiplies)

    @abstractmethod
    def spread_of(self, training: Training, weighted: WeightedPrefixes, term: FittedTerm) -> float:
        """The standard deviation of the response, in units of the score that a term adds to."""

    @property
    def _multiplies(self) -> bool:
        """Whether what is added to a score multiplies what is predicted."""
        scale = self.family.effect_scale
        return scale is not None and scale.multiplies

    def fitted(self, training: Training, weighted: WeightedPrefixes, row: int) -> Family:
        """The family of one of the weighted prefixes."""
        return family_of(self.family.link, training.target, weighted.mean, classes=training.response.labels)

    def model(self, training: Training, weighted: WeightedPrefixes, row: int, n_trees: int) -> Model:
        """The model of one of the weighted prefixes."""
        size = weighted.sizes[row]
        facts = {**training.facts, "n_trees": n_trees, **training.response.facts}
        if self.has_penalty:
            facts["ridge_penalty"] = float(weighted.penalties[row])
        if weighted.n_pruned and weighted.n_pruned[row]:
            facts["n_pruned"] = weighted.n_pruned[row]
        if self.has_stages:
            facts["n_stages"] = max((rule.stage for rule in weighted.rules[:size]), default=1)
        return Model(
            selected=with_weights(weighted.rules[:size], weighted.weights[row, :size].tolist()),
            intercept=weighted.intercepts[row],
            family=self.fitted(training, weighted, row),
            features=training.features,
            named=training.named,
            recipe=training.columns,
            moments=weighted.moments,
            facts=Facts.of(facts),
            constraints=training.constraints,
        )


def with_round_slopes(
    training: Training, weighted: WeightedPrefixes, spread_of: Callable[[FittedTerm], float], multiplies: bool
) -> WeightedPrefixes:
    """The slopes of lists in the digits that matter, and intercepts that leave the mean of each list where it was."""
    if all(term.is_binary for term in weighted.rules):
        return weighted
    terms = tuple(term.round_slope(spread_of(term), multiplies=multiplies) for term in weighted.rules)
    intercepts = [np.asarray(own, dtype=np.float64) for own in weighted.intercepts]
    for k, term in enumerate(terms):
        if term.is_binary:
            continue
        learned, used = term.shift(training.lines[term.columns[0]])
        for row, weight in enumerate(weighted.weights[:, k].tolist()):
            slope = np.asarray(replace(term, weight=weight).added[0]).reshape(intercepts[row].shape)
            raw = weight * np.asarray(term.inside, dtype=np.float64)
            intercepts[row] = intercepts[row] + (raw * learned - slope * used)
    as_output = tuple(tuple(own.tolist()) if own.ndim else float(own) for own in intercepts)
    return replace(weighted, rules=terms, intercepts=as_output)


# The share of the prediction, as a distance from the mean, that the next stage takes as explained. With less than all
# of it, some of the main signal stays in the residuals, and lists are more alike from fold to fold; with much less,
# they repeat the same signal (docs/stages-study.md).
SHRINKAGE = 0.85


@dataclass(frozen=True)
class HeldOutSums:
    """Held-out rows of a fold: sums of their numbers, and of what they lose by the list of every size."""

    truths: Truths
    losses: ExactSums  # [size]

    def __add__(self, other: HeldOutSums) -> HeldOutSums:
        return HeldOutSums(self.truths + other.truths, self.losses + other.losses)


def share_of(folds: Sequence[ExactSums], total: float) -> PooledError:
    """The losses of the lists that folds use, as a share of a total."""
    losses = [own.floats / (total or 1.0) for own in folds]
    return lambda sizes: np.sum([own[k] for own, k in zip(losses, sizes.T)], axis=0)


@dataclass(frozen=True)
class Deviation(Residual):
    """Numbers minus their mean and the shrunk prediction of a list."""

    weighted: WeightedPrefixes

    def raw(self, binned: Binned, response: Response) -> NDArray[np.float64]:
        """Residuals, and beside them what the prediction leaves where it is not shrunk."""
        y, mean = response.row_values, float(np.asarray(self.weighted.mean))
        fitted = fitted_values(self.weighted, binned)
        both = np.empty((len(y), 2), order="F")
        both[:, 0], both[:, 1] = y - mean - SHRINKAGE * (fitted - mean), y - fitted
        return both

    def rounding_for(self, found: Extremes) -> Rounding | None:
        """They are not rounded; None where the prediction leaves the same of every row."""
        if found.low[1] == found.high[1]:
            return None
        return Rounding(float(found.low[0]), float(found.high[0]))

    def response(self, raw: NDArray[np.float64], rounding: Rounding, response: Response) -> NumberResponse:
        """One number per row."""
        return NumberResponse(
            np.ascontiguousarray(raw[:, 0]), weights=response.weights, base_weights=response.base_weights
        )


class ByRidge(Weighing):
    """Numbers, by squared error."""

    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Up to the first list with more than ``most`` positive weights at the smallest penalty."""
        return useful_sizes(gram_of(moments, rules), most, n_fixed(rules))

    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Non-negative ridge."""
        return weigh_by_ridge(rules, moments, sizes)

    def spread_of(self, training: Training, weighted: WeightedPrefixes, term: FittedTerm) -> float:
        """That of the numbers."""
        assert weighted.moments is not None
        return math.sqrt(weighted.moments.variance)

    def residual(self, response: Response, weighted: WeightedPrefixes) -> Deviation:
        """The response minus the mean and the shrunk prediction."""
        return Deviation(weighted.bare())

    def evaluate(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> HeldOutSums:
        """Squared errors of every size."""
        y, w = response.row_values, response.row_weights()
        errors = ExactSums((0,) * len(weighted.sizes))
        for rows in blocks_of(len(y)):
            with np.errstate(over="ignore"):
                lost = w[rows, None] * (y[rows, None] - weighted.scores(holds[rows])) ** 2
            errors += ExactSums.of(lost)
        return HeldOutSums(Truths.of(y, w, float(np.asarray(weighted.mean))), errors)

    def pooled_error(self, held_out_loss: Sequence[HeldOutSums]) -> PooledError:
        """The unexplained variance: squared errors over the sum of squares about the mean."""
        _, total = spread_of([fold.truths for fold in held_out_loss])
        return share_of([fold.losses for fold in held_out_loss], total)


NO_STAGES = (
    f"{Parameter('n_stages')} must be 1 with {setting('weighting', 'equal')}: a mean of class proportions has no "
    "residuals to correct."
)


@dataclass(frozen=True)
class Equally(Weighing):
    """One class per row, predicted by the mean of the rules' class proportions."""

    has_penalty: ClassVar[bool] = False
    has_stages: ClassVar[bool] = False

    def sizes(self, training: Training, rules: Sequence[FittedTerm], moments: Moments, most: int) -> range:
        """Every size: each rule has a weight."""
        return range(len(rules) + 1)

    def weigh(
        self, training: Training, rules: Sequence[FittedTerm], moments: Moments, sizes: Sequence[int]
    ) -> WeightedPrefixes:
        """Equal weights."""
        return weigh_equally(rules, moments, training.response, sizes)

    def spread_of(self, training: Training, weighted: WeightedPrefixes, term: FittedTerm) -> NoReturn:
        """A mean of class proportions has no slopes."""
        raise ParameterError(NO_STAGES)

    def residual(self, response: Response, weighted: WeightedPrefixes) -> NoReturn:
        """A mean of class proportions has no residuals to correct."""
        raise ParameterError(NO_STAGES)

    def evaluate(self, weighted: WeightedPrefixes, holds: NDArray[np.bool_], response: Response) -> HeldOut:
        """What ranks the held-out rows."""
        inside, outside = outputs_of(weighted.rules, (response.n_outputs,))
        return HeldOut(inside, outside, np.asarray(weighted.mean), *Cells.of(holds, response))

    def pooled_error(self, held_out_loss: Sequence[HeldOut]) -> PooledError:
        """1 - AUC; of more than two classes 1 - the mean AUC of each class against the rest."""
        return lambda sizes: np.array([pooled_error(held_out_loss, step) for step in sizes.tolist()])


class Cells(NamedTuple):
    """Which rules hold together, [pattern, rule], and what rows of each class weigh then, in integers."""

    holds: NDArray[np.bool_]
    weights: NDArray[np.int64]  # [pattern, class]

    @classmethod
    def of(cls, holds: NDArray[np.bool_], response: Response) -> Cells:
        """Those of some rows."""
        codes = response.row_values.astype(np.intp)
        place, distinct = distinct_rows(holds)
        n, mass = response.n_outputs, response.moment_weights()
        sums = group_sums(place * n + codes, mass, len(distinct) * n)
        return cls(distinct, sums.reshape(len(distinct), n))

    def together(self, other: Cells) -> Cells:
        """Those of two sets of rows."""
        place, distinct = distinct_rows(np.concatenate([self.holds, other.holds]))
        weights = np.zeros((len(distinct), self.weights.shape[1]), dtype=np.int64)
        np.add.at(weights, place, np.concatenate([self.weights, other.weights]))
        return Cells(distinct, weights)


def distinct_rows(holds: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The number of each row among the distinct ones, and these."""
    packed = np.packbits(holds, axis=1)
    words = np.zeros((len(holds), -(-max(1, packed.shape[1]) // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    keys = words.view(">u8")
    order = np.lexsort(keys.T) if keys.shape[1] > 1 else np.argsort(keys[:, 0], kind="stable")
    new = np.ones(len(holds), dtype=bool)
    new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    place = np.empty(len(holds), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return place, holds[order[new]]


class HeldOut:
    """Held-out rows of a fold: which rules hold together, and how the shares of every prefix rank them."""

    def __init__(
        self,
        inside: NDArray[np.float64],
        outside: NDArray[np.float64],
        mean: NDArray[np.float64],
        holds: NDArray[np.bool_],
        weights: NDArray[np.int64],
    ) -> None:
        self._cells = Cells(holds, weights)
        self._inside, self._outside, self._mean = inside, outside, mean
        self._at: tuple[int, tuple[Ranks, ...]] | None = None

    def __add__(self, other: HeldOut) -> HeldOut:
        return HeldOut(self._inside, self._outside, self._mean, *self._cells.together(other._cells))

    @property
    def classes(self) -> Sequence[int]:
        """The classes to tell from the rest: of two the second, of more each."""
        return [1] if len(self._mean) == 2 else range(len(self._mean))

    def ranks(self, n_rules: int) -> tuple[Ranks, ...]:
        """The ranks by each class when the first ``n_rules`` rules are in use; the last answer is remembered."""
        if self._at is None or self._at[0] != n_rules:
            self._at = (n_rules, tuple(self._rank(n_rules, code) for code in self.classes))
        return self._at[1]

    def _rank(self, n_rules: int, code: int) -> Ranks:
        holds, weights = self._cells
        if n_rules == 0:
            scores = np.full(len(holds), self._mean[code])
        else:
            steps = (self._inside - self._outside)[:n_rules, [code]]
            scores = scores_of(holds[:, :n_rules], self._outside[:n_rules, [code]].sum(axis=0), steps)[:, 0] / n_rules
        return rank(scores, weights[:, code], weights.sum(axis=1) - weights[:, code])


def pooled_error(folds: Sequence[HeldOut], sizes: Sequence[int]) -> float:
    """1 - AUC of the second of two classes, or 1 - the mean one-vs-rest AUC of more, over all held-out rows."""
    by_fold = [fold.ranks(size) for fold, size in zip(folds, sizes)]
    areas = [merged_auc(merge(ranks)) for ranks in zip(*by_fold)]
    known = [area for area in areas if area is not None]
    return 1 - float(np.mean(known)) if known else 0.5

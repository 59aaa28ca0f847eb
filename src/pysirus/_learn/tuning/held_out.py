"""Folds and the entry that each of them uses in, what their held-out rows say of the choice out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.base import Family
from pysirus._families.gain import FoldRows
from pysirus._families.responses import Response
from pysirus._families.row_metrics import Predicted, all_folds, blocks_of, spread_of, weights_or_ones
from pysirus._learn.tuning.forward import Periods
from pysirus._model.held_out import MOST_BINS, MOST_CLASSES, Bins, Forward, HeldOut, bins_of
from pysirus._runtime.sums import scores_of
from pysirus._terms.fitted import bounds_of, outputs_of, units_of
from pysirus._weights.moments import PackedValues
from pysirus._weights.weighted import WeightedPrefixes

BINS_OF_SEVERAL = 50  # for each of more than two classes


@dataclass(frozen=True)
class HeldRows:
    """The held-out rows of a fold: the values of the terms, the truth, and the lists that predict them."""

    weighted: WeightedPrefixes
    values: PackedValues
    response: Response
    index: NDArray[np.integer[Any]]  # their numbers among the rows that count

    def predictions(self, entry: int, family: Family) -> NDArray[np.float64]:
        """What one of the lists predicts, [row, output]."""
        weighted = self.weighted
        n_outputs = len(np.atleast_1d(np.asarray(weighted.mean)))
        inside, outside = outputs_of(weighted.rules, (n_outputs,))
        weights = weighted.weights[entry][:, None]
        base = np.atleast_1d(np.asarray(weighted.intercepts[entry])) + (weights * outside).sum(axis=0)
        steps = weights * ((inside - outside) * units_of(weighted.rules)[:, None])
        scores = np.empty((len(self.values), n_outputs))
        for rows in blocks_of(len(scores)):
            scores[rows] = scores_of(self.values.rows(rows), base, steps, bounds_of(weighted.rules))
        return family.respond(scores)


def held_rows(
    weighted: WeightedPrefixes, values: PackedValues, response: Response, index: NDArray[np.integer[Any]]
) -> HeldRows:
    """Keep what predictions of any of the lists take."""
    return HeldRows(weighted.bare(), values, response, index)


@dataclass(frozen=True)
class Use:
    """The list that a fold uses: its held-out rows, the entry of its lists, what they say of all, and its rules."""

    rows: HeldRows
    entry: int
    held_out_loss: Any
    rules: frozenset[Hashable]


@dataclass(frozen=True)
class FoldPrediction:
    """What a list predicts of the rows that its fold holds out."""

    index: NDArray[np.integer[Any]]  # their numbers among the rows that count
    response: Response
    values: NDArray[np.float64]  # [row, output]
    mean: Any  # of the rows that it learned from


def predictions_of(repetitions: Sequence[Sequence[Use]], family: Family) -> list[list[FoldPrediction]]:
    """What the lists that folds use predict of the rows that are held out, [repetition][fold]."""

    def predict(rows: HeldRows, entry: int) -> FoldPrediction:
        return FoldPrediction(rows.index, rows.response, rows.predictions(entry, family), rows.weighted.mean)

    return [[predict(use.rows, use.entry) for use in folds] for folds in repetitions]


def evaluate(repetitions: Sequence[Sequence[FoldPrediction]], family: Family, n_rules: int) -> HeldOut:
    """Figures of predictions of held-out rows, averaged over repetitions."""
    predicted = [
        [Predicted(f.values, f.response.truth, family.metric_weights(f.response)) for f in own] for own in repetitions
    ]
    every = [fold for own in repetitions for fold in own]
    found = held_out_of(predicted, family, n_rules)
    gain = family.gain(
        [FoldRows(f.index, f.response.weights, f.response.truth, f.values, np.atleast_1d(f.mean)) for f in every]
    )
    return replace(found, gain=None if gain is None else (gain.share, gain.signal))


def forward_of(
    repetitions: Sequence[Sequence[FoldPrediction]], family: Family, periods: Periods
) -> tuple[Forward, ...]:
    """The metric of each period that was held out, averaged over repetitions."""
    found = []
    for period, n_before, folds in zip(periods.names, periods.n_before, zip(*repetitions)):
        rows = [Predicted(f.values, f.response.truth, family.metric_weights(f.response)) for f in folds]
        found.append(forward_metric(period, n_before, rows, family))
    return tuple(found)


def forward_metric(period: str, n_before: int, predicted: Sequence[Predicted], family: Family) -> Forward:
    """How well the rows of a period were predicted, once or several times, by what was learned before it."""
    name = family.score_metric
    pairs = [pair for rows in predicted if (pair := family.score_metrics(rows).get(name)) is not None]
    found = _average(pairs) if pairs else (None, None)
    return Forward(period, n_before, len(predicted[0].truth), name, *found)


def held_out_of(repetitions: Sequence[Sequence[Predicted]], family: Family, n_rules: int) -> HeldOut:
    """Figures of the folds of some repetitions, averaged; groups of probabilities over all of them."""
    every = [family.metrics(folds) for folds in repetitions]
    metrics = {name: _average([metrics[name] for metrics in every]) for name in every[0]}
    n_folds = len(repetitions[0])
    found = HeldOut(n_rules, n_folds, len(repetitions), metrics, variance=_variance(repetitions[0]))
    n_classes = repetitions[0][0].values.shape[1]  # 1 where numbers are predicted
    if n_classes < 2 or n_classes > MOST_CLASSES:
        return found
    rows = all_folds([fold for folds in repetitions for fold in folds])
    weights = weights_or_ones(rows.weights, rows.truth) / len(repetitions)
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (rows.truth, rows.values.argmax(axis=1)), weights)
    return replace(found, bins=_bins(rows.values, rows.truth, weights), confusion=confusion)


def _variance(folds: Sequence[Predicted]) -> float | None:
    """That of the truth, where it is numbers."""
    if folds[0].truth.dtype.kind != "f":
        return None
    total, squares = spread_of([(fold.truth, fold.weights) for fold in folds])
    return squares / total if np.isfinite(squares / total) else None


def _bins(values: NDArray[np.float64], truth: NDArray[Any], weights: NDArray[np.float64]) -> tuple[Bins, ...]:
    n_classes = values.shape[1]
    codes, most = ([1], MOST_BINS) if n_classes == 2 else (range(n_classes), BINS_OF_SEVERAL)
    return tuple(bins_of(k, values[:, k], truth == k, weights, most) for k in codes)


def _average(pairs: Sequence[tuple[float, float | None]]) -> tuple[float, float | None]:
    """The mean over repetitions; they have the same rows, so the standard error does not fall with their number."""
    errors = [error for _, error in pairs if error is not None]
    return float(np.mean([value for value, _ in pairs])), float(np.mean(errors)) if errors else None

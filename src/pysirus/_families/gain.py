"""Held-out predictions of a list and of the constant in, out whether the list knows something: its gain and its signal.

The constant is the mean of the rows that a fold trained on, so both answers know the same rows. The *gain* is the share
of the constant's error that the list takes away. On its own it is a poor test: without any signal it is not zero but
negative (the list pays for the noise that it fitted), so to ask for two standard errors above zero is to ask for more
than that, and overlooks weak signals.

The *signal* is what is left when that price is taken out of the difference of two losses: (f - m)(y - m), by how much
the prediction leaves the constant, times by how much the truth does (for a likelihood, its slope at the constant
towards the list). Without signal its mean is zero. A repetition draws other folds of the same rows, so what a row says
is averaged over repetitions first, and rows are counted, not folds or repetitions, which are not independent.
Nor are rows, quite: one that is held out here teaches there. Let predictions be linear in the targets, f_i = sum_j c_ij
y_j about the mean. The products y_i f_i and y_j f_j then share c_ij y_i y_j and c_ji y_i y_j, and the variance of their
sum is sum c_ij^2 + c_ij c_ji, where the rows say sum c_ij^2: by Cauchy and Schwarz at most twice as much, and twice
where c_ij = c_ji, as for means in the cells of rules. (Nadeau and Bengio 2003 come to 1 + 10/9 for ten folds.) So the
standard error is that over rows times the square root of two. Something was learned where the gain is positive and the
signal more than two such errors from zero: ``studies/noise`` counts how often this is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.class_metrics import LEAST_PROBABILITY
from pysirus._families.row_metrics import SCORE_DIGITS, blocks_of, weights_or_ones
from pysirus._runtime.sums import ExactSums

Floats = NDArray[np.float64]
Loss = Callable[[Floats, NDArray[Any]], Floats]  # predictions [row, output] and the truth in, the loss of each row out

OVERLAP = 2.0  # times the variance over rows
MOST_ROWS = 2_000  # of a fold, whose pairs are compared


@dataclass(frozen=True)
class FoldRows:
    """The held-out rows of a fold: their numbers, weights and truth, and two predictions of them."""

    rows: NDArray[np.integer[Any]]
    weights: Floats | None
    truth: NDArray[Any]
    values: Floats  # [row, output] of the list
    constant: Floats  # [output] of the rows that the fold trained on

    def take(self, rows: slice) -> FoldRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return FoldRows(self.rows[rows], weights, self.truth[rows], self.values[rows], self.constant)


@dataclass(frozen=True)
class Gain:
    """How much better than the constant held-out rows are predicted."""

    share: float  # of the constant's error; of times to an event 2 C - 1
    signal: float  # in standard errors


@dataclass(frozen=True)
class GainSums:
    """Exact sums of the losses of the constant and of lists, and of products and their squares; parts add up."""

    losses: ExactSums
    products: ExactSums

    @classmethod
    def of(cls, folds: Sequence[FoldRows], loss: Loss) -> GainSums:
        """Of some rows in the folds of all repetitions, block by block.

        The losses of a row are averaged over the folds that held it out, and so are its products: of every row a number
        is kept, and how often it was held out.
        """
        n = 1 + max((int(fold.rows.max()) for fold in folds if len(fold.rows)), default=-1)
        times, own = np.zeros(n, dtype=np.uint16), np.zeros(n)
        for fold in folds:
            np.add.at(times, fold.rows, 1)
        losses = ExactSums((0, 0))
        for block in (fold.take(rows) for fold in folds for rows in blocks_of(len(fold.rows))):
            constant = np.broadcast_to(block.constant, block.values.shape)
            share = weights_or_ones(block.weights, block.truth) / times[block.rows]
            both = [share * loss(values, block.truth) for values in (constant, block.values)]
            losses += ExactSums.of(np.stack(both, axis=1))
            np.add.at(own, block.rows, share * _products(block, constant))
        with np.errstate(over="ignore"):
            return cls(losses, ExactSums.of(np.stack([own, own * own], axis=1)))

    def __add__(self, other: GainSums) -> GainSums:
        return GainSums(self.losses + other.losses, self.products + other.products)

    def gain(self) -> Gain | None:
        """None where sums are not finite."""
        (error, left), (total, squares) = self.losses.floats.tolist(), self.products.floats.tolist()
        if not np.isfinite([error, left, OVERLAP * squares]).all():
            return None
        spread = math.sqrt(OVERLAP * squares)
        share_gone = 1 - left / error if error > 0 else 0.0
        return Gain(share_gone, total / spread if spread > 0 else 0.0)


def _products(fold: FoldRows, constant: Floats) -> Floats:
    """How far a prediction leaves the constant, times how far the truth does; of classes by their shares."""
    if fold.values.shape[1] == 1:
        return np.asarray((fold.values[:, 0] - constant[:, 0]) * (fold.truth - constant[:, 0]))
    member = fold.truth[:, None] == np.arange(fold.values.shape[1])
    return np.asarray(
        ((fold.values - constant) * (member - constant) / np.maximum(constant, LEAST_PROBABILITY)).sum(axis=1)
    )


@dataclass(frozen=True)
class GainRows:
    """The held-out rows themselves, where what they say does not add up."""

    folds: tuple[FoldRows, ...]

    def __add__(self, other: GainRows) -> GainRows:
        return replace(self, folds=self.folds + other.folds)

    def gain(self) -> Gain | None:
        """That of scores of times to an event."""
        return concordance_gain(self.folds)


def concordance_gain(folds: Sequence[FoldRows]) -> Gain | None:
    """Of scores of times to an event: 2 C - 1 over pairs within folds.

    A pair weighs the product of its rows' weights. C is a mean over pairs, so its error is that of the parts of its
    rows, twice (each pair has two).
    """
    n = 1 + max(int(fold.rows.max()) for fold in folds if len(fold.rows))
    right, pairs = np.zeros(n), np.zeros(n)
    for fold in folds:
        step = -(-len(fold.rows) // MOST_ROWS)
        own = fold.take(slice(None, None, step))
        weights, score = weights_or_ones(own.weights, own.truth), np.round(own.values[:, 0], SCORE_DIGITS)
        time, event = own.truth["time"], own.truth["event"]
        first = (time[:, None] < time) | ((time[:, None] == time) & ~event)  # at equal times events come first
        pair = np.outer(weights, weights) * (first & event[:, None])
        sign = np.sign(score[:, None] - score) * pair
        np.add.at(right, own.rows, sign.sum(axis=1) + sign.sum(axis=0))
        np.add.at(pairs, own.rows, pair.sum(axis=1) + pair.sum(axis=0))
    total = float(pairs.sum())
    if total == 0:
        return None
    mean = float(right.sum()) / total
    spread = 2 * float(np.sqrt(OVERLAP * ((right - mean * pairs) ** 2).sum())) / total
    return Gain(mean, mean / spread if spread > 0 else 0.0)

"""Probabilities of classes and the true ones in, metrics and their standard errors out; and the class decided for.

The AUC is there in two forms. ``Ladder`` is that of probabilities, with a standard error. ``Ranks`` is that of any
scores: rows that a few rules put together have equal scores, so a fold is first reduced to its distinct scores and the
weight of each in members and others of a class; then folds are merged, which costs no sorting of rows.

The class decided for is the one whose probability times its weight is largest, where mistakes differ in cost or a rate
is wanted. Of two classes that is a cut-off: with the weights ``c`` and ``1 - c`` the second is decided for where its
probability is above ``c``. With the costs of mistakes as weights, probabilities that are right give the least cost; a
cut-off from held-out rows does not rely on that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.row_metrics import (
    Floats,
    Metrics,
    Predicted,
    Tally,
    Yardstick,
    loss_columns,
    mean_loss,
    weights_or_ones,
)
from pysirus._runtime.sums import ExactSums, group_sums, weighted_sum

CALIBRATION_BINS = 10  # of equal weight
DIGITS = 12  # scores that agree to this many digits are equal: sums of the same shares in another order
LEAST_PROBABILITY = 1e-15  # in a log loss, so that one certain mistake is not infinite
FINEST = 40  # probabilities are equal that agree to this many binary digits ...
MOST_DISTINCT = 1 << 18  # ... or to fewer where so many, of all classes together, would be distinct
MOST_CLASSES = 20  # with bins of their own, and with rows told by the class that was predicted


def log_losses(probabilities: Floats, codes: NDArray[Any]) -> Floats:
    """Minus the logarithm of the probability of each row's class."""
    own = probabilities[np.arange(len(codes)), codes]
    return np.asarray(-_core.log(np.clip(own, LEAST_PROBABILITY, 1.0)))


def class_squares(probabilities: Floats, codes: NDArray[Any]) -> Floats:
    """Squared errors of probabilities [row, class]."""
    return np.asarray((probabilities - (codes[:, None] == np.arange(probabilities.shape[1]))) ** 2)


def brier_losses(probabilities: Floats, codes: NDArray[Any]) -> Floats:
    """Squared errors of probabilities, summed over classes."""
    return np.asarray(class_squares(probabilities, codes).sum(axis=1))


@dataclass(frozen=True)
class Ladder:
    """Distinct probabilities of a class, rising, and what rows of each weigh, in integers.

    Where there are more than ``most``, those count as equal that agree to one binary digit less, and so on: that is the
    same in whatever order rows are added.
    """

    most: int
    exponents: tuple[int, int]  # of weights and of their squares
    shift: int  # binary digits that were given up
    keys: NDArray[np.int64]
    sums: NDArray[np.int64]  # [key, 5]: weight of members and others, squares of both, weight times probability

    @classmethod
    def of(cls, p: Floats, member: NDArray[np.bool_], weights: Floats, like: Yardstick, most: int) -> Ladder:
        """That of some rows."""
        plain, square = like.exponents()
        w, w2 = np.ldexp(weights, plain), np.ldexp(weights * weights, square)
        columns = [w * member, w * ~member, w2 * member, w2 * ~member, w * p]
        keys = np.rint(np.ldexp(p, FINEST)).astype(np.int64)
        return cls(most, (plain, square), 0, *_grouped(keys, [np.rint(own).astype(np.int64) for own in columns]))._fit()

    def __add__(self, other: Ladder) -> Ladder:
        shift = max(self.shift, other.shift)
        keys = np.concatenate([own.keys >> (shift - own.shift) for own in (self, other)])
        sums = np.concatenate([self.sums, other.sums])
        return replace(self, shift=shift, **_named(_grouped(keys, list(sums.T))))._fit()

    def _fit(self) -> Ladder:
        found = self
        while len(found.keys) > self.most:
            grouped = _named(_grouped(found.keys >> 1, list(found.sums.T)))
            found = replace(found, shift=found.shift + 1, **grouped)
        return found

    def floats(self) -> tuple[Floats, ...]:
        """Of each probability: the weight of members and others, the sums of their squares, weight times it."""
        plain, square = self.exponents
        return tuple(np.ldexp(own, -e) for own, e in zip(self.sums.T, (plain, plain, square, square, plain)))

    def area(self) -> tuple[float, float] | None:
        """The chance that a member scores above another row, ties counting half, and its standard error."""
        members, others, squares, other_squares, _ = self.floats()
        n_members, n_others = float(members.sum()), float(others.sum())
        if n_members <= 0 or n_others <= 0:
            return None
        above = (np.cumsum(others) - others / 2) / n_others
        below = 1 - (np.cumsum(members) - members / 2) / n_members
        area = float(weighted_sum(members, above)) / n_members
        first = float(np.sqrt(weighted_sum(squares, (above - area) ** 2))) / n_members
        second = float(np.sqrt(weighted_sum(other_squares, (below - area) ** 2))) / n_others
        return area, float(np.hypot(first, second))

    def calibration_error(self) -> float:
        """How far probabilities are from what came true, on average over ten groups of equal weight.

        Rows of one probability that several groups share are in each of them in proportion.
        """
        members, others, _, _, claimed = self.floats()
        mass = np.concatenate([[0.0], np.cumsum(members + others)])
        gap = np.concatenate([[0.0], np.cumsum(claimed - members)])
        ends = mass[-1] * np.arange(CALIBRATION_BINS + 1) / CALIBRATION_BINS
        return float(np.abs(np.diff(np.interp(ends, mass, gap))).sum() / mass[-1])


def _grouped(keys: NDArray[np.int64], columns: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
    """Distinct keys, and the sums of columns of integers for each, [key, column]."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    if not len(starts):
        return keys, np.zeros((0, len(columns)), dtype=np.int64)
    return keys[starts], np.stack([np.add.reduceat(own[order], starts) for own in columns], axis=1)


def _named(grouped: tuple[NDArray[np.int64], ...]) -> dict[str, Any]:
    return dict(zip(("keys", "sums"), grouped))


@dataclass(frozen=True)
class ClassTally(Tally):
    """Rows that are predicted by probabilities of classes: exact sums of what they lose, and ladders of these."""

    exponents: tuple[int, int]  # of weights and of their squares, where they are integers
    hits: NDArray[np.int64]  # [class, 4]: weights of its rows and of those that are predicted right; squares of both
    confusion: NDArray[np.int64] | None  # [true, predicted] weights; of very many classes none
    lost: ExactSums  # weights and their squares; three sums of log losses and of Brier losses
    ladders: tuple[Ladder, ...]  # of the second of two classes, of more of each and of the largest probability

    @classmethod
    def of(cls, rows: Predicted, like: Yardstick, chosen: NDArray[Any]) -> ClassTally:
        """That of some rows; ``chosen`` are the classes that are decided for."""
        p, codes, w = rows.values, rows.truth.astype(np.intp), weights_or_ones(rows.weights, rows.truth)
        n, guess, squares = p.shape[1], p.argmax(axis=1), class_squares(p, codes)
        exponents = like.exponents()
        whole = [np.rint(np.ldexp(own, e)).astype(np.int64) for own, e in zip((w, w * w), exponents)]
        hits = [group_sums(codes, own * right, n) for own in whole for right in (1, chosen == codes)]
        cells = group_sums(codes * n + guess, whole[0], n * n).reshape(n, n) if 2 <= n <= MOST_CLASSES else None
        losses = log_losses(p, codes), squares[:, 1] if n == 2 else squares.sum(axis=1)
        columns = [w, w * w, *(column for loss in losses for column in loss_columns(w, loss))]
        told = [(p[:, 1], codes == 1)] if n == 2 else [(p[:, k], codes == k) for k in range(n)]
        told += [] if n == 2 else [(p.max(axis=1), guess == codes)]
        most = max(1, MOST_DISTINCT // len(told))
        ladders = tuple(Ladder.of(own, member, w, like, most) for own, member in told)
        return cls(exponents, np.stack(hits, axis=1), cells, ExactSums.of(np.stack(columns, axis=1)), ladders)

    def __add__(self, other: ClassTally) -> ClassTally:
        return replace(
            self,
            hits=self.hits + other.hits,
            confusion=None if self.confusion is None or other.confusion is None else self.confusion + other.confusion,
            lost=self.lost + other.lost,
            ladders=tuple(map(add, self.ladders, other.ladders)),
        )

    @property
    def areas(self) -> tuple[Ladder, ...]:
        """The ladders of the second of two classes, of more of each."""
        return self.ladders if len(self.hits) == 2 else self.ladders[:-1]

    @property
    def confused(self) -> Floats | None:
        """The weight of rows, [true, predicted]."""
        return None if self.confusion is None else np.ldexp(self.confusion.astype(np.float64), -self.exponents[0])

    def metrics(self) -> Metrics:
        """Accuracy, AUC, log loss and more."""
        every = [_share_right(own, self.exponents) for own in self.hits.tolist() if own[0]]
        metrics: dict[str, tuple[float, float | None]] = {
            "accuracy": _share_right(self.hits.astype(object).sum(axis=0).tolist(), self.exponents),
            "balanced_accuracy": _balanced(every),
        }
        known = [area for area in (ladder.area() for ladder in self.areas) if area is not None]
        if known:
            spread = known[0][1] if len(known) == 1 else None
            metrics["auc"] = (float(np.mean([area for area, _ in known])), spread)
        lost = self.lost.fractions
        assert lost is not None
        metrics["log_loss"], metrics["brier"] = (mean_loss(lost[:2], lost[k : k + 3]) for k in (2, 5))
        metrics["calibration_error"] = (self.ladders[-1].calibration_error(), None)
        return metrics


def _share_right(hits: Sequence[int], exponents: tuple[int, int]) -> tuple[float, float]:
    """The share of weight that is predicted right, and its standard error."""
    plain, square = (Fraction(2) ** -e for e in exponents)
    weight, right, squares, right_squares = hits[0] * plain, hits[1] * plain, hits[2] * square, hits[3] * square
    return mean_loss((weight, squares), (right, right_squares, right_squares))


def _balanced(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The mean over classes of the share of their rows that is predicted right; classes without rows are left out."""
    mean, spread = (np.array(values) for values in zip(*pairs))
    return float(mean.mean()), float(np.sqrt((spread**2).sum())) / len(pairs)


@dataclass(frozen=True)
class Ranks:
    """Distinct scores, rising, and the weight of members and of others that have them."""

    scores: NDArray[np.float64]
    members: NDArray[np.float64]
    others: NDArray[np.float64]


def rank(scores: Floats, members: NDArray[Any], others: NDArray[Any]) -> Ranks:
    """Scores, and the weight of members and of others that have each, reduced to distinct ones."""
    distinct, place = np.unique(np.round(scores, DIGITS), return_inverse=True)
    return Ranks(distinct, *(_sums(place, mass, len(distinct)) for mass in (members, others)))


def _sums(place: NDArray[np.intp], mass: NDArray[Any], n: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(place, mass, n), dtype=np.float64)


def merge(folds: Sequence[Ranks]) -> Ranks:
    """The ranks of several folds together."""
    distinct, place = np.unique(np.concatenate([fold.scores for fold in folds]), return_inverse=True)
    members = _sums(place, np.concatenate([fold.members for fold in folds]), len(distinct))
    return Ranks(distinct, members, _sums(place, np.concatenate([fold.others for fold in folds]), len(distinct)))


def merged_auc(ranks: Ranks) -> float | None:
    """The chance that a member scores above another row, ties counting half; None when one side is empty."""
    n_members, n_others = ranks.members.sum(), ranks.others.sum()
    if n_members <= 0 or n_others <= 0:
        return None
    below = np.cumsum(ranks.others) - ranks.others / 2
    return float(weighted_sum(ranks.members, below) / (n_members * n_others))


Basis = Literal["held-out rows", "given rows", "costs"]
LEAST_WEIGHT = 1e-12  # of a class, where its logarithm is taken
WORDS = {
    "held-out rows": "chosen on held-out rows of cross-validation",
    "given rows": "chosen on given rows",
    "costs": "from the costs alone, for probabilities that are right",
}


@dataclass(frozen=True)
class Decision:
    """How a class is decided for.

    Attributes
    ----------
    weights : tuple of float
        What the probability of each class is multiplied by.
    basis : {"held-out rows", "given rows", "costs"}
        What they were chosen by.
    costs : tuple of float or None
        What a mistake about a row of each class costs.
    rate : float or None
        The share of rows for which the positive class was to be decided.
    selected : float or None
        The share for which it was, among the rows that the cut-off was chosen on.
    cost, cost_before : float or None
        The mean cost of a row there, with this cut-off and with the most likely class.
    """

    weights: tuple[float, ...]
    basis: Basis = "costs"
    costs: tuple[float, ...] | None = None
    rate: float | None = None
    selected: float | None = None
    cost: float | None = None
    cost_before: float | None = None

    def cutoff(self, k: int) -> float:
        """Of two classes the probability of class k above which it is decided for."""
        return self.weights[1 - k] / sum(self.weights)

    def cutoff_odds(self, k: int) -> float:
        """The same as log-odds."""
        return math.log(max(self.weights[1 - k], LEAST_WEIGHT) / max(self.weights[k], LEAST_WEIGHT))

    def asked(self, labels: Sequence[Any]) -> str:
        """What was asked for, in words: costs by class, or a rate."""
        if self.costs is not None:
            return "costs of a mistake " + ", ".join(f"{label} {cost:g}" for label, cost in zip(labels, self.costs))
        return "" if self.rate is None else f"a rate of {100 * self.rate:g}%"

    def how(self) -> str:
        """What it was chosen by, and what that showed, in words."""
        said = [WORDS[self.basis]]
        if self.selected is not None:
            said.append(f"{100 * self.selected:.1f}% of the rows selected there")
        if self.cost is not None and self.cost_before is not None:
            said.append(f"mean cost {self.cost:.4g} a row, {self.cost_before:.4g} by the most likely class")
        return "; ".join(said)

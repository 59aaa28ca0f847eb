"""Patterns and fitted weights in, a quadratic approximation of the likelihood out; and its minimum for some rules.

A model keeps it to weigh a part of its rules again without the data. It is of the mean loss without penalty, as a
function of the intercepts and the weights of the longest list, about the fitted point: ``linear @ z + z @ curvature @ z
/ 2``, less a constant. ``z`` is one intercept for each score (of two classes one: the log-odds of the second), then one
weight for each rule.

The slope is that at the fitted weights, which so stay the minimum of the approximation. The curvature is that halfway
from the constant to the fitted scores: a rule that is struck takes the scores towards the constant, where the loss
curves more. (Curvature at the fitted weights was tried: where classes are almost separable it is nearly flat, and the
other weights overshoot. Over 19 struck rules of four tables, the log loss above that of an exact fit was 0.011 on
average, and with the curvature halfway 0.002.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._families.losses import LOGISTIC, Loss
from pysirus._sums import cross_products, times, weighted_sum
from pysirus._weights.likelihood import Patterns

Floats = NDArray[np.float64]

CHUNK = 4_000_000  # numbers at a time
LEAST_PENALTY = 1e-6  # as a share of the largest curvature, so that there is one minimum


@dataclass(frozen=True)
class Quadratic:
    """The loss near the fitted point, as a function of intercepts and weights."""

    n_scores: int
    linear: NDArray[np.float64]  # [intercept or weight]
    curvature: NDArray[np.float64]  # [intercept or weight, intercept or weight]

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return len(self.linear) - self.n_scores

    def take(self, rules: Sequence[int]) -> Quadratic:
        """The same for some of the rules, the weights of the others being zero."""
        i = np.concatenate([np.arange(self.n_scores), self.n_scores + np.asarray(rules, dtype=np.intp)])
        return Quadratic(self.n_scores, self.linear[i], self.curvature[i][:, i])

    def hold(self, n_rules: int) -> Quadratic:
        """The same for the rules after the first ``n_rules``, whose weights are 1."""
        held = np.arange(self.n_scores, self.n_scores + n_rules)
        i = np.delete(np.arange(len(self.linear)), held)
        linear = self.linear[i] + self.curvature[i][:, held].sum(axis=1)
        return Quadratic(self.n_scores, linear, self.curvature[i][:, i])


def n_scores_of(n_classes: int) -> int:
    """How many intercepts there are: of two classes one, the log-odds; of numbers one."""
    return n_classes if n_classes > 2 else 1


def likelihood_near(
    patterns: Patterns, inside: Floats, outside: Floats, loss: Loss, point: Floats, constant: Floats
) -> Quadratic:
    """The mean loss about a point, intercepts and then weights; outputs are [rule, score]."""
    n_rules, n_scores = outside.shape
    size = n_scores + n_rules
    halfway = point / 2
    halfway[:n_scores] += constant / 2
    slope, curvature = np.zeros(size), np.zeros((size, size))
    arrays = patterns.arrays
    mass = arrays["weight"] / float(arrays["weight"].sum())
    own = LOGISTIC if loss.is_several else loss  # each class has the slope of its share
    step = max(1, CHUNK // (size * n_scores))
    for first in range(0, len(patterns), step):
        part = np.s_[first : first + step]
        holds = _holds(arrays["bits"][part], n_rules)
        design = _design(holds, inside, outside)  # [score, entry, parameter]
        means, middle = (loss.means(times(design, at).T) for at in (point, halfway))
        for k in range(n_scores):
            total = _sums_of_y(patterns, part, 1 if n_scores == 1 else k, mass[part])
            slope += weighted_sum(own.slopes_at(means[:, k], mass[part], total)[0], design[k])
            bend = mass[part] * middle[:, k] if loss.is_several else own.slopes_at(middle[:, k], mass[part], total)[1]
            curvature += cross_products(design[k], design[k] * bend[:, None])
        if loss.is_several:
            average = np.add.reduce(design * middle.T[:, :, None], axis=0)
            curvature -= cross_products(average, average * mass[part][:, None])
    curvature = (curvature + curvature.T) / 2
    return Quadratic(n_scores, slope - times(curvature, point), curvature)


def _sums_of_y(patterns: Patterns, part: slice, code: int, mass: Floats) -> Floats:
    """The sum of the numbers of each pattern, or the rows of a class, in the unit of ``mass``."""
    fixed, arrays = patterns.fixed, patterns.arrays
    if fixed is None:
        return np.asarray(mass * (arrays["class_code"][part] == code))
    high, low = arrays["sum"][part].astype(np.float64).T
    sums = fixed.restore(np.ldexp(high, 48) + low) + fixed.centre * arrays["weight"][part]
    return np.asarray(sums / float(arrays["weight"].sum()))


def _holds(bits: NDArray[np.uint64], n_rules: int) -> Floats:
    """Which rules hold in each pattern, [entry, rule]."""
    bits = np.ascontiguousarray(bits.reshape(len(bits), -1).astype("<u8"))
    return np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :n_rules].astype(np.float64)


def _design(holds: Floats, inside: Floats, outside: Floats) -> Floats:
    """What an intercept or weight of one adds to each score, [score, entry, intercept or rule]."""
    n_scores = outside.shape[1]
    design = np.zeros((n_scores, len(holds), n_scores + len(outside)))
    for k in range(n_scores):
        design[k, :, k] = 1.0
        design[k, :, n_scores:] = outside[:, k] + holds * (inside - outside)[:, k]
    return design


def minimise(quadratic: Quadratic, penalty: float, n_held: int = 0) -> tuple[Floats, Floats]:
    """Intercepts and weights, which are not negative, of the least approximate loss plus ``penalty / 2 * squares``.

    The weights of the first ``n_held`` rules are 1, and not penalised.
    """
    if n_held:
        intercepts, weights = minimise(quadratic.hold(n_held), penalty)
        return intercepts, np.concatenate([np.ones(n_held), weights])
    n = quadratic.n_scores
    free, both, own = quadratic.curvature[:n, :n], quadratic.curvature[n:, :n], quadratic.curvature[n:, n:]
    inverse = np.linalg.pinv(free, hermitian=True)  # scores of several classes may move together
    if not quadratic.n_rules:
        return -inverse @ quadratic.linear[:n], np.zeros(0)
    gram = own - both @ inverse @ both.T
    cross = both @ inverse @ quadratic.linear[:n] - quadratic.linear[n:]
    penalty = max(penalty, LEAST_PENALTY * float(np.diag(own).max()), np.finfo(np.float64).tiny)
    penalties = np.full(quadratic.n_rules, penalty)
    gram = np.ascontiguousarray((gram + gram.T) / 2)
    weights = _core.ridge_weights(gram, np.ascontiguousarray(cross), penalties)[-1]
    return -inverse @ (quadratic.linear[:n] + both.T @ weights), weights

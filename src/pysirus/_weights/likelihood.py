"""Patterns of rules in, weights by penalised likelihood out: scores instead of means (docs/method.md).

A row's score is ``intercept + sum of weight * output``, the output being that of inside or outside each rule. The
weights minimise the mean loss by weight plus ``penalty / 2`` times their squares and are not negative; the intercept is
free. The penalty is that of the least cross-validated loss among multiples of the largest curvature of a weight at the
constant (for the squared error the variance of an output), so no unit matters. With several classes a rule has one
output a class and one weight; intercepts and outputs are taken less their mean over classes.

Rows are read once, into patterns: which rules hold, in which of ten folds, with how much weight and response, and what
the whole values of slopes are, so that rows rarely share a pattern where a list has slopes. Patterns are exact
integers in an order of their own and those of several parts add up, so the order of rows, parts and threads change no
bit of the weights.

*The quadratic approximation* of the likelihood is what a model keeps to fit weights to some of its rules without the
data. It is of the mean loss without penalty, as a
function of the intercepts and the weights of the longest list, about the fitted point: ``linear @ z + z @ curvature @ z
/ 2``, less a constant. ``z`` is one intercept for each score (of two classes one: the log-odds of the second), then one
weight for each rule.

The slope is that at the fitted weights, which so stay the minimum of the approximation. The curvature is that halfway
from the constant to the fitted scores: a rule that is removed takes the scores towards the constant, where the loss
curves more. (Curvature at the fitted weights was tried: where classes are almost separable it is nearly flat, and the
other weights overshoot. Over 19 removed rules of four tables, the log loss above that of an exact fit was 0.011 on
average, and with the curvature halfway 0.002.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._families.links import LOGISTIC, Loss
from pysirus._families.responses import Response
from pysirus._runtime.sums import FixedPoint, cross_products, times, weighted_sum
from pysirus._terms.term import Term
from pysirus._weights.moments import N_FOLDS, lines_in, places_of_slopes, rule_tables
from pysirus._weights.weighted import PENALTY_GRID

Floats = NDArray[np.float64]

# In cross-validation a fold's Newton step is its last when it changes no held-out score by more than this; the error
# that it leaves is of the order of its square.
TOL = 0.25
RESIDUAL_BITS = 44
# Penalties are chosen on about so many rows, where there are more: of a list of 25 terms more rows hardly tell one
# penalty from the next (docs/rows.md).
SAMPLED = 20_000


@dataclass(frozen=True)
class Patterns:
    """Which rules hold together, in which fold, with which response: exact sums, in the order of the patterns."""

    n_rules: int
    classes: bool
    fixed: FixedPoint | None  # how integers stand for numbers; None for classes
    arrays: _core.PatternArrays
    slopes: tuple[int, ...] = ()  # which of the terms are slopes; patterns have their whole values

    def __len__(self) -> int:
        return len(self.arrays["weight"])

    def __add__(self, other: Patterns) -> Patterns:
        mine, theirs = ((own.n_rules, own.slopes, own.classes, own.fixed) for own in (self, other))
        if mine != theirs:
            raise ValueError("Patterns add up where rules and scale of the target are the same.")
        both = {name: np.concatenate([array, other.arrays[name]]) for name, array in self.arrays.items()}  # type: ignore[literal-required]
        return replace(self, arrays=_core.merge_patterns(**both, line_terms=[*self.slopes]))


def rule_patterns(rules: Sequence[Term], binned: Binned, response: Response, seed: int, first_row: int = 0) -> Patterns:
    """One pass over the rows; those of a part are numbered from ``first_row`` on."""
    most_sampled = min(2**64 - 1, (SAMPLED << 64) // response.scale.n_rows)
    features, tables = rule_tables(rules, binned)
    arrays = _core.rule_patterns(
        binned.bins,
        features,
        tables,
        len(rules),
        *response.moment_arrays(),
        response.moment_weights(),
        seed,
        N_FOLDS,
        first_row,
        **lines_in(rules),
        most_sampled=most_sampled,
    )
    return Patterns(len(rules), response.by_class, response.moment_scale(), arrays, places_of_slopes(rules))


@dataclass(frozen=True)
class LikelihoodFit:
    """The models of several prefixes of a list of rules."""

    sizes: tuple[int, ...]
    weights: Floats  # [size, rule], zero behind the prefix
    intercepts: Floats  # [size, score]
    penalties: Floats  # [size]; 0 where there is nothing to weigh
    losses: Floats  # [size, penalty] cross-validated mean loss; zeros where the penalty was given, or is the only one
    constant: Floats  # [score] the link of the mean
    gradient_norm: Floats  # [size] the largest slope left, relative to those at the constant


def fit_likelihood(
    patterns: Patterns,
    inside: Floats,
    outside: Floats,
    loss: Loss,
    sizes: Sequence[int],
    grid: Floats = PENALTY_GRID,
    *,
    penalties: Floats | None = None,
    tol: float = TOL,
    n_threads: int = 1,
    n_held: int = 0,
) -> LikelihoodFit:
    """Weights and intercepts of the first ``sizes`` rules, each at its own penalty.

    Parameters
    ----------
    patterns : Patterns
        The rows, by ``rule_patterns`` of the same rules.
    inside, outside : array of shape (n_rules,) or (n_rules, n_scores)
        Outputs of the rules; of a slope what a step of its grid adds, and nothing. One score, but of several classes
        one each.
    loss : Loss
        The logistic one is for the second of two classes, or for shares.
    sizes : sequence of int
        Prefixes of the list, from 0 (the link of the mean) to all rules. Each is fitted by itself.
    grid : array
        Multiples of the largest curvature to choose the penalty from, the largest first.
    penalties : array of shape (n_sizes,), optional
        Penalties to take instead.
    tol : float
        When Newton's steps end in cross-validation. The weights themselves are exact.
    n_threads : int
        Threads over sizes.
    n_held : int
        The weights of this many rules, the first ones, are 1.
    """
    inside, outside = centred_outputs(inside, loss), centred_outputs(outside, loss)
    n_rules, n_scores = inside.shape
    fixed = patterns.fixed or FixedPoint(0.0, 0)
    found = _core.likelihood_weights(
        **patterns.arrays,
        line_terms=[*patterns.slopes],
        loss=loss.name,
        power=loss.power,
        classes=patterns.classes,
        centre=fixed.centre,
        exponent=fixed.exponent,
        gap=np.ascontiguousarray(inside - outside),
        sizes=[*map(int, sizes), 0],
        grid=np.asarray(grid, dtype=np.float64).tolist(),
        penalties=None if penalties is None else np.append(np.asarray(penalties, dtype=np.float64), 0.0),
        n_folds=N_FOLDS,
        tol=tol,
        n_threads=n_threads,
        **({"n_held": n_held} if n_held else {}),
    )
    weights, base = found["points"][:, n_scores:], found["points"][:, :n_scores]
    shift = np.zeros_like(base)
    for rule in range(n_rules):  # in order: a matrix product would add in that of the machine
        shift += weights[:, rule, None] * outside[rule]
    return LikelihoodFit(
        sizes=tuple(map(int, sizes)),
        weights=weights[:-1],
        intercepts=(base - shift)[:-1],
        penalties=found["penalties"][:-1],
        losses=found["losses"][:-1],
        constant=base[-1],
        gradient_norm=found["gradient_norm"][:-1],
    )


def centred_outputs(outputs: Floats, loss: Loss) -> Floats:
    """Outputs [rule, score]; those of classes less their mean."""
    columns = np.asarray(outputs, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if not loss.is_several:
        return columns
    mean = np.zeros((len(columns), 1))
    for score in range(columns.shape[1]):
        mean += columns[:, score, None]
    return np.asarray(columns - mean / columns.shape[1])


def rule_scores(
    rules: Sequence[Term],
    binned: Binned,
    inside: Floats,
    outside: Floats,
    loss: Loss,
    weights: Floats,
    intercept: Floats,
) -> Floats:
    """The scores [row, score] of rows in bins, one of the fitted models being given."""
    inside, outside = centred_outputs(inside, loss), centred_outputs(outside, loss)
    features, tables = rule_tables(rules, binned)
    base = np.array(intercept, dtype=np.float64, ndmin=1)
    for weight, output in zip(weights, outside):
        base = base + weight * output
    point = [*base.tolist(), *np.asarray(weights, dtype=np.float64).tolist()]
    gaps = np.ascontiguousarray(inside - outside)
    return _core.rule_scores(binned.bins, features, tables, gaps, point, **lines_in(rules))


def responses_of(response: Response, loss: Loss) -> Floats:
    """Responses [row, score]: numbers, 1 for the second of two classes, or 1 in the column of the class."""
    answers = response.row_values
    if not response.by_class:
        return answers[:, None]
    if not loss.is_several:
        return np.asarray(answers == 1, dtype=np.float64)[:, None]
    return np.asarray(answers[:, None] == np.arange(response.n_outputs), dtype=np.float64)


def gradient_residuals(loss: Loss, y: Floats, scores: Floats, constant: Floats, shrinkage: float) -> Floats:
    """What the list leaves unexplained: minus the slope of the loss at ``constant + shrinkage * (scores - constant)``.

    ``y`` and ``scores`` are [row, score], and so is the answer.
    """
    return loss.residuals(y, constant + shrinkage * (scores - constant), constant)


def residual_exponent(loss: Loss, largest: float) -> int:
    """Residuals are rounded once, to multiples of two to the minus this, so that parts and memory see the same numbers.

    For classes it is 44. For other losses it leaves 44 bits to the largest residual of all rows.
    """
    if loss.is_of_classes:
        largest = 0.5
    return RESIDUAL_BITS - int(np.frexp(largest)[1]) if largest > 0 else 0


def rounded(values: Floats, exponent: int) -> Floats:
    """Numbers rounded to multiples of ``2**-exponent``."""
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, exponent)), -exponent))


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
        holds[:, list(patterns.slopes)] = arrays["values"][part]
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

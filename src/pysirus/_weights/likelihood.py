"""Patterns of rules in, weights by penalised likelihood out: scores instead of means (docs/method.md).

A row's score is ``intercept + sum of weight * output``, the output being that of inside or outside each rule. The
weights minimise the mean loss by weight plus ``penalty / 2`` times their squares and are not negative; the intercept is
free. The penalty is that of the least cross-validated loss among multiples of the largest curvature of a weight at the
constant (for the squared error the variance of an output), so no unit matters. With several classes a rule has one
output a class and one weight; intercepts and outputs are taken less their mean over classes.

Rows are read once, into patterns: which rules hold, in which of ten folds, with how much weight and response. Patterns
are exact integers in an order of their own and those of several parts add up, so the order of rows, parts and threads
change no bit of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._families.losses import Loss
from pysirus._families.response.fixed_point import FixedPoint
from pysirus._families.response.response import Response
from pysirus._terms.term import Term
from pysirus._weights.moments import N_FOLDS, rule_tables
from pysirus._weights.ridge import PENALTY_GRID

Floats = NDArray[np.float64]

# In cross-validation a fold's Newton step is its last when it changes no held-out score by more than this; the error
# that it leaves is of the order of its square.
NEAR = 0.25
RESIDUAL_BITS = 44


@dataclass(frozen=True)
class Patterns:
    """Which rules hold together, in which fold, with which response: exact sums, in the order of the patterns."""

    n_rules: int
    classes: bool
    fixed: FixedPoint | None  # how integers stand for numbers; None for classes
    arrays: _core.PatternArrays

    def __len__(self) -> int:
        return len(self.arrays["weight"])

    def __add__(self, other: Patterns) -> Patterns:
        if (self.n_rules, self.classes, self.fixed) != (other.n_rules, other.classes, other.fixed):
            raise ValueError("Patterns add up where rules and scale of the response are the same.")
        both = {name: np.concatenate([array, other.arrays[name]]) for name, array in self.arrays.items()}  # type: ignore[literal-required]
        return replace(self, arrays=_core.merge_patterns(**both))


def rule_patterns(rules: Sequence[Term], binned: Binned, response: Response, seed: int, first_row: int = 0) -> Patterns:
    """One pass over the rows; those of a part are numbered from ``first_row`` on."""
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
    )
    return Patterns(len(rules), response.by_class, response.moment_scale(), arrays)


@dataclass(frozen=True)
class LikelihoodFit:
    """The models of several prefixes of a list of rules."""

    sizes: tuple[int, ...]
    weights: Floats  # [size, rule], zero behind the prefix
    intercepts: Floats  # [size, score]
    penalties: Floats  # [size]; 0 where there is nothing to weigh
    losses: Floats  # [size, penalty] cross-validated mean loss; zeros where the penalty was given, or is the only one
    constant: Floats  # [score] the link of the mean
    unrest: Floats  # [size] the largest slope left, relative to those at the constant


def fit_likelihood(
    patterns: Patterns,
    inside: Floats,
    outside: Floats,
    loss: Loss,
    sizes: Sequence[int],
    grid: Floats = PENALTY_GRID,
    *,
    penalties: Floats | None = None,
    near: float = NEAR,
    n_threads: int = 1,
    n_held: int = 0,
) -> LikelihoodFit:
    """Weights and intercepts of the first ``sizes`` rules, each at its own penalty.

    Parameters
    ----------
    patterns : Patterns
        The rows, by ``rule_patterns`` of the same rules.
    inside, outside : array of shape (n_rules,) or (n_rules, n_scores)
        Outputs of the rules. One score, but of several classes one each.
    loss : Loss
        The logistic one is for the second of two classes, or for shares.
    sizes : sequence of int
        Prefixes of the list, from 0 (the link of the mean) to all rules. Each is fitted by itself.
    grid : array
        Multiples of the largest curvature to choose the penalty from, the largest first.
    penalties : array of shape (n_sizes,), optional
        Penalties to take instead.
    near : float
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
        near=near,
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
        unrest=found["unrest"][:-1],
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
    return _core.rule_scores(binned.bins, features, tables, np.ascontiguousarray(inside - outside), point)


def responses_of(response: Response, loss: Loss) -> Floats:
    """Responses [row, score]: numbers, 1 for the second of two classes, or 1 in the column of the class."""
    answers = response.answers
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

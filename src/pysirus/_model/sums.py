"""Lines of a model file in, sums and likelihoods out, from which weights can be fitted again; and which are kept.

The number of numbers is known from the list of rules before anything is parsed or allocated. Sums must be possible:
those of some rows, with the outputs that the rules have, and covariances that can be solved for; a likelihood convex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._data.column import is_plain, readable
from pysirus._data.table import Feature, Table
from pysirus._model.kinds import Damage, ensure, read_line
from pysirus._model.spec import LikelihoodKeys, MomentsKeys
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Condition
from pysirus._terms.term import HeldColumn, Numbers, Term, columns_of
from pysirus._weights.likelihood import Quadratic, n_scores_of
from pysirus._weights.moments import LEAST_PENALTY, N_FOLDS, Moments, gram_of, less_fixed, n_fixed

MAX_MOMENTS = 200  # rules; about half a megabyte
ROUNDING = 1e-6  # of sums of doubles, as a share
LEAST_VARIANCE = 1e-300  # of a rule's output; below, ridge would divide by zero
LARGEST = 1e100  # of a number of a likelihood: beyond, sums of products could overflow
EIGEN_ROUNDING = 1e-8  # of eigenvalues, as a share of the largest


def _folds(lines: Sequence[str], n_numbers: int, place: str) -> NDArray[np.float64]:
    """A line for each fold."""
    return np.array([read_line(line, n_numbers, f"{place}[{i}]") for i, line in enumerate(lines)])


def moments_of(lines: MomentsKeys | None, rules: Sequence[FittedTerm]) -> Moments | None:
    """The sums of the rules of a regression."""
    if lines is None:
        return None
    n = len(rules)
    if n > MAX_MOMENTS:
        raise Damage(f"moments are kept for up to {MAX_MOMENTS} rules, and there are {n}")
    if any(isinstance(rule.inside, tuple) for rule in rules):
        raise Damage("moments must be null for classes")
    rows = read_line(lines.rows, n, "moments.rows")
    ensure(bool((rows == np.rint(rows)).all() and (rows >= 0).all()), "moments.rows", "must be counts of rows")
    ensure(bool((rows <= lines.n_rows).all()), "moments.rows", f"must be at most n_rows, {lines.n_rows}")
    pair = np.zeros((N_FOLDS, n, n))
    i, j = np.tril_indices(n)
    pair[:, i, j] = _folds(lines.pair_weight, len(i), "moments.pair")
    pair[:, j, i] = pair[:, i, j]
    moments = Moments(
        rows=rows.astype(np.int64),
        n_rows=lines.n_rows,
        fold_weight=read_line(lines.fold_weight, N_FOLDS, "moments.size"),
        pair_weight=pair,
        y_sum=read_line(lines.y_sum, N_FOLDS, "moments.sum").reshape(N_FOLDS, 1),
        rule_y_sum=_folds(lines.rule_y_sum, n, "moments.rule_sum").reshape(N_FOLDS, n, 1),
        y_square=read_line(lines.y_square, N_FOLDS, "moments.square"),
        centre=lines.centre,
        value_sum=None if lines.value_sum is None else _folds(lines.value_sum, n, "moments.value"),
    )
    of_slopes = (moments.value_sum is None) == all(rule.is_binary for rule in rules)
    ensure(of_slopes, "moments.value", "is there for lists with slopes, and only for them")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _check_sums(moments, np.array([rule.is_binary for rule in rules], dtype=bool))
        _check_outputs(moments, rules)
        _check_solvable(moments, rules)
    return moments


def likelihood_of(lines: LikelihoodKeys | None, n_rules: int, n_classes: int) -> Quadratic | None:
    """The approximation of a list of some length; a ``Damage`` if it is invalid."""
    if lines is None:
        return None
    if n_rules > MAX_MOMENTS:
        raise Damage(f"likelihood is kept for up to {MAX_MOMENTS} rules, and there are {n_rules}")
    n_scores = n_scores_of(n_classes)
    n = n_scores + n_rules
    linear = read_line(lines.linear, n, "likelihood.linear")
    i, j = np.tril_indices(n)
    curvature = np.zeros((n, n))
    curvature[i, j] = read_line(lines.curvature, len(i), "likelihood.curvature")
    curvature[j, i] = curvature[i, j]
    for name, values in (("linear", linear), ("curvature", curvature)):
        small = bool((np.abs(values) <= LARGEST).all())
        ensure(small, f"likelihood.{name}", f"must have numbers of at most {LARGEST:g}")
    scale = float(np.abs(curvature).max(initial=0.0)) or 1.0
    least = float(np.linalg.eigvalsh(curvature / scale).min(initial=0.0))
    ensure(least >= -EIGEN_ROUNDING, "likelihood.curvature", "must be that of a convex function")
    return Quadratic(n_scores, linear, curvature)


def _check_sums(moments: Moments, binary: NDArray[np.bool_]) -> None:
    """Sums of some rows: parts weigh no more than the whole, and squares no less than the sums allow for."""
    size, pair = moments.fold_weight, moments.pair_weight
    hold = np.einsum("fii->fi", pair)  # of a slope its squares
    total, inside = size.sum(), hold.sum(axis=0)
    more = 1 + ROUNDING
    ensure(bool((size >= 0).all() and 0 < total < np.inf), "moments.size", "must be the weight of each fold")
    heavy = (hold > size[:, None] * more) & binary
    ensure(bool((hold >= 0).all()) and not heavy.any(), "moments.pair", "has a rule of larger weight than its fold")
    both = binary[:, None] & binary
    least = np.where(both, np.minimum(hold[:, :, None], hold[:, None, :]), _most(hold[:, :, None], hold[:, None, :]))
    fits = (np.abs(pair) <= least * more) & ((pair >= 0) | ~both)
    ensure(bool(fits.all()), "moments.pair", "has a pair of larger weight than its rules")
    partial = (inside > 0) & ((inside < total) | ~binary)
    ensure(bool(partial.all()), "moments.pair", "has a rule that holds all rows, or none")
    if moments.value_sum is not None:
        same = np.abs(moments.value_sum - hold) <= ROUNDING * hold
        small = np.abs(moments.value_sum) <= _most(size[:, None], hold) * more
        ensure(bool(np.where(binary, same, small).all()), "moments.value", "is no sum of these rows")
    square = moments.y_square
    ensure(bool((square >= 0).all()), "moments.square", "must not be negative")
    most = _most(size, square) * more
    ensure(bool((np.abs(moments.y_sum[:, 0]) <= most).all()), "moments.sum", "is larger than its squares allow for")
    most = _most(hold, square[:, None]) * more
    fits = np.abs(moments.rule_y_sum[:, :, 0]) <= most
    ensure(bool(fits.all()), "moments.rule_sum", "is larger than its squares allow for")


def _most(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest sum of products that two sums of squares allow for."""
    return np.sqrt(first) * np.sqrt(second)


def _check_outputs(moments: Moments, rules: Sequence[FittedTerm]) -> None:
    """The sums say what the rules answer; a correction answers with residuals, which the sums do not know."""
    _, inside, outside = moments.means
    for r, rule in enumerate(rules):
        if rule.n_inside is not None and rule.n_outside is not None:
            rows = (int(moments.rows[r]), moments.n_rows - int(moments.rows[r]))
            ensure(rows == (rule.n_inside, rule.n_outside), f"moments.rows[{r}]", "differs from the rule's n_inside")
        if rule.stage == 1 and rule.is_binary:
            means = ("inside", inside[r, 0], rule.means[0]), ("outside", outside[r, 0], rule.means[1])
            for name, mean, output in means:
                near = abs(mean - output) <= ROUNDING * (abs(mean) + abs(output) + abs(moments.centre))
                ensure(bool(near), f"moments: rule {r}", f"has {name} {output:.6g}, and the sums say {mean:.6g}")


def _check_solvable(moments: Moments, rules: Sequence[FittedTerm]) -> None:
    """Ridge has an answer for every part of the list.

    Its smallest penalty is a share of a rule's variance, so it is enough that correlations and that share together are
    positive definite, over all folds and without each of them.
    """
    if not rules:
        return
    gram = gram_of(moments, rules)
    for name, values in vars(gram).items():
        ensure(bool(np.isfinite(values).all()), "moments", f"are so large that {name.replace('_', ' ')} overflows")
    if held := n_fixed(rules):  # these are not weighed
        gram, rules = less_fixed(gram, held), rules[held:]
    gaps = np.array([float(rule.inside) - float(rule.outside) for rule in rules])  # type: ignore[arg-type]
    variances = np.diag(gram.gram)
    small = (gaps != 0) & ~(variances > LEAST_VARIANCE)
    ensure(not small.any(), "moments", "have a rule whose output hardly varies: weights would overflow")
    deviation = np.sqrt(np.where(gaps != 0, variances, 1.0))
    scale = deviation[:, None] * deviation
    shifted = np.concatenate([gram.gram[None], gram.train_gram]) / scale + LEAST_PENALTY / 2 * np.eye(len(rules))
    if not _are_definite(shifted):
        raise Damage("moments are not those of any rows: their covariances contradict each other")


def _are_definite(matrices: NDArray[np.float64]) -> bool:
    """Whether symmetric matrices are positive definite, by elimination; they are overwritten.

    Not by LAPACK: where others use the cores too its threads took three seconds for a list of 200 rules, the longest
    whose sums are kept. This takes an eighth of a second of one core.
    """
    for k in range(matrices.shape[1]):
        pivot, column = matrices[:, k, k], matrices[:, k + 1 :, k]
        if not (pivot > 0).all():
            return False
        matrices[:, k + 1 :, k + 1 :] -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
    return True


# ------------------------------------------------------------------------------------------------------------- evaluate

# Terms in, a compiled list out, which reads columns and answers with sums.
#
# The order of summation is part of the answer: what the sums start with, the rules in their order, the lines in theirs.
# ``Term.values`` says the same in NumPy; the tests compare the two bit for bit.


@dataclass(frozen=True)
class Addend:
    """What a term adds to each sum where its value is 1, and where it is 0."""

    term: Term
    inside: Numbers
    outside: Numbers


class Evaluator:
    """A list of terms, compiled for the columns of a model."""

    def __init__(self, features: Sequence[Feature], start: Numbers, addends: Sequence[Addend]) -> None:
        used = sorted(columns_of(addend.term for addend in addends))
        self._place = {index: i for i, index in enumerate(used)}
        self._features = features
        self._only_numbers = all(feature.kind == "numeric" for feature in features)
        self._list = _core.RuleList(used, list(start))
        self._known: dict[Any, int] = {}  # the numbers of conditions, which rules share that ask the same
        for addend in addends:
            addend.term.build(self, addend.inside, addend.outside)

    def branch(self, conditions: Sequence[Condition], inside: Numbers, outside: Numbers) -> None:
        """Add one thing where all conditions hold, another elsewhere."""
        self._list.add_rule([self._number_of(condition) for condition in conditions], list(inside), list(outside))

    def line(self, column: HeldColumn, slopes: Numbers) -> None:
        """Add a column within its limits, less its centre, times a slope for each sum."""
        limits = column.lower, column.upper, column.missing, column.centre
        self._list.add_term(self._place[column.index], list(slopes), *limits)

    def _number_of(self, condition: Condition) -> int:
        """The number of a condition."""
        known = self._known
        column, feature = self._place[condition.index], self._features[condition.index]
        missing = condition.unseen if condition.missing is None else condition.missing
        if feature.kind == "numeric":
            lower = -np.inf if condition.lower is None else condition.lower
            upper = np.inf if condition.upper is None else condition.upper
            interval = (column, np.inf if condition.only_missing else lower, upper, missing)
            if interval not in known:
                known[interval] = self._list.add_interval(*interval)
            return known[interval]
        wanted = set(condition.levels or ())
        answers = (condition.unseen, missing, *(not condition.only_missing and v in wanted for v in feature.levels))
        if (column, answers) not in known:
            known[column, answers] = self._list.add_levels(column, list(answers))
        return known[column, answers]

    def sums(self, table: Table, instruction_set: str | None = None) -> NDArray[np.float64]:
        """The sums [row, output] of an aligned table."""
        columns = [readable(table.columns[index].values) for index in self._place]
        return self._list.evaluate(columns, table.n_rows, instruction_set)

    def matrix_sums(self, X: Any, instruction_set: str | None = None) -> NDArray[np.float64] | None:
        """The same straight from an array of the model's columns.

        None when X is no such array, or holds something to complain about; whoever asked reads it as a table then.
        """
        if type(X) is not np.ndarray or X.ndim != 2 or not self._only_numbers or not is_plain(X):
            return None
        if X.shape[1] != len(self._features) or not X.shape[0]:
            return None
        return self._list.evaluate_matrix(X, instruction_set)

"""Moments in, lines of text out, and back: the sums of a model file, from which weights can be fitted again.

Coming back, the number of numbers is known from the list of rules before anything is parsed or allocated, and the sums
must be possible: those of some rows, with the outputs that the rules have, and covariances that can be solved for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._model.fields import Damage, ensure
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.gram import LEAST_PENALTY, gram_of, less_fixed, n_fixed
from pysirus._weights.moments import N_FOLDS, Moments

MAX_MOMENTS = 200  # rules; about half a megabyte
LONGEST_NUMBER = 320  # characters; whole numbers are written without an exponent
NUMBERS = re.compile(r"[-+0-9.e ]*")
ROUNDING = 1e-6  # of sums of doubles, as a share
LEAST_VARIANCE = 1e-300  # of a rule's output; below, ridge would divide by zero


def number_line(values: Any) -> str:
    """Numbers in one line of text, as a list of them would take a line each; most are counts, without a point."""
    return " ".join(
        repr(int(v) if v.is_integer() else v) for v in np.asarray(values, dtype=np.float64).ravel().tolist()
    )


def moments_to_json(moments: Moments | None) -> dict[str, Any] | None:
    """Sums over each fold; of the symmetric pairs the lower triangle. Those of very long lists are not kept."""
    if moments is None or moments.n_rules > MAX_MOMENTS:
        return None
    lower = np.tril_indices(moments.n_rules)
    return {
        "rows": number_line(moments.rows),
        "n_rows": moments.n_rows,
        "size": number_line(moments.fold_weight),
        "pair": [number_line(fold[lower]) for fold in moments.pair_weight],
        "sum": number_line(moments.y_sum),
        "rule_sum": [number_line(fold) for fold in moments.rule_y_sum],
        "square": number_line(moments.y_square),
        "centre": moments.centre,
    }


# ------------------------------------------------------------------------------------------------------ and back


def read_line(text: str, n_numbers: int, place: str) -> NDArray[np.float64]:
    """``n_numbers`` finite numbers of a line; they are counted before they are parsed."""
    n_found = text.count(" ") + bool(text)
    if n_found != n_numbers or len(text) > LONGEST_NUMBER * n_numbers:
        raise Damage(f"{place} must be a line of {n_numbers} numbers, found {n_found} in {len(text)} characters")
    ensure(NUMBERS.fullmatch(text) is not None, place, "must be a line of numbers, found something else in it")
    try:
        values = np.array([float(word) for word in text.split(" ")] if text else [], dtype=np.float64)
    except ValueError as error:
        raise Damage(f"{place} must be a line of numbers: {error}") from None
    ensure(bool(np.isfinite(values).all()), place, "must be a line of finite numbers")
    return values


def _folds(lines: Sequence[str], n_numbers: int, place: str) -> NDArray[np.float64]:
    """A line for each fold."""
    ensure(len(lines) == N_FOLDS, place, f"must have {N_FOLDS} lines, one for each fold, found {len(lines)}")
    return np.array([read_line(line, n_numbers, f"{place}[{i}]") for i, line in enumerate(lines)])


def moments_from_json(d: Mapping[str, Any] | None, rules: Sequence[FittedTerm]) -> Moments | None:
    """The sums of a list of numbers' rules."""
    if d is None:
        return None
    n = len(rules)
    if n > MAX_MOMENTS:
        raise Damage(f"moments are kept for up to {MAX_MOMENTS} rules, and there are {n}")
    if any(isinstance(rule.inside, tuple) for rule in rules):
        raise Damage("moments must be null for classes")
    rows = read_line(d["rows"], n, "moments.rows")
    ensure(bool((rows == np.rint(rows)).all() and (rows >= 0).all()), "moments.rows", "must be counts of rows")
    ensure(bool((rows <= d["n_rows"]).all()), "moments.rows", f"must be at most n_rows, {d['n_rows']}")
    pair = np.zeros((N_FOLDS, n, n))
    i, j = np.tril_indices(n)
    pair[:, i, j] = _folds(d["pair"], len(i), "moments.pair")
    pair[:, j, i] = pair[:, i, j]
    moments = Moments(
        rows=rows.astype(np.int64),
        n_rows=d["n_rows"],
        fold_weight=read_line(d["size"], N_FOLDS, "moments.size"),
        pair_weight=pair,
        y_sum=read_line(d["sum"], N_FOLDS, "moments.sum").reshape(N_FOLDS, 1),
        rule_y_sum=_folds(d["rule_sum"], n, "moments.rule_sum").reshape(N_FOLDS, n, 1),
        y_square=read_line(d["square"], N_FOLDS, "moments.square"),
        centre=float(d["centre"]),
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _check_sums(moments)
        _check_outputs(moments, rules)
        _check_solvable(moments, rules)
    return moments


def _check_sums(moments: Moments) -> None:
    """Sums of some rows: parts weigh no more than the whole, and squares no less than the sums allow for."""
    size, pair = moments.fold_weight, moments.pair_weight
    hold = np.einsum("fii->fi", pair)
    total, inside = size.sum(), hold.sum(axis=0)
    more = 1 + ROUNDING
    ensure(bool((size >= 0).all() and 0 < total < np.inf), "moments.size", "must be the weight of each fold")
    ensure(bool((hold <= size[:, None] * more).all()), "moments.pair", "has a rule that weighs more than its fold")
    least = np.minimum(hold[:, :, None], hold[:, None, :]) * more
    ensure(bool(((pair >= 0) & (pair <= least)).all()), "moments.pair", "has a pair that weighs more than its rules")
    partial = (inside > 0) & (inside < total)
    ensure(bool(partial.all()), "moments.pair", "has a rule that holds all rows, or none")
    square = moments.y_square
    ensure(bool((square >= 0).all()), "moments.square", "must not be negative")
    most = np.sqrt(size) * np.sqrt(square) * more
    ensure(bool((np.abs(moments.y_sum[:, 0]) <= most).all()), "moments.sum", "is larger than its squares allow for")
    most = np.sqrt(hold) * np.sqrt(square)[:, None] * more
    fits = bool((np.abs(moments.rule_y_sum[:, :, 0]) <= most).all())
    ensure(fits, "moments.rule_sum", "is larger than its squares allow for")


def _check_outputs(moments: Moments, rules: Sequence[FittedTerm]) -> None:
    """The sums say what the rules answer; a correction answers with residuals, which the sums do not know."""
    _, inside, outside = moments.means
    for r, rule in enumerate(rules):
        if rule.n_inside is not None and rule.n_outside is not None:
            rows = (int(moments.rows[r]), moments.n_rows - int(moments.rows[r]))
            ensure(rows == (rule.n_inside, rule.n_outside), f"moments.rows[{r}]", "differs from the rule's n_inside")
        if rule.stage == 1:
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

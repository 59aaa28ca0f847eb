"""Rules and rows in, moments out: in each of ten folds, how often rules and pairs hold, and with which target.

The rows are read once. The training moments of a fold are all moments minus its own. Covariances of
rule outputs (``Gram``) follow from them: all that ridge needs to know of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._data.table import Table
from pysirus._families.responses import Response
from pysirus._runtime.sums import FixedPoint
from pysirus._terms.fitted import FittedTerm, outputs_of
from pysirus._terms.slope import Slope
from pysirus._terms.term import Term

N_FOLDS = 10


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of each fold, in units of the weights; the response is measured from ``centre``."""

    rows: NDArray[np.int64]  # [rule] rows inside
    n_rows: int
    fold_weight: NDArray[np.float64]  # [fold]
    pair_weight: NDArray[np.float64]  # [fold, rule, rule] of the rows where both hold
    y_sum: NDArray[np.float64]  # [fold, output]
    rule_y_sum: NDArray[np.float64]  # [fold, rule, output] over the rows where the rule holds
    y_square: NDArray[np.float64]  # [fold] sum of squares
    centre: float
    value_sum: NDArray[np.float64] | None = None  # [fold, rule] of values that are not 0 and 1 alone

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return len(self.rows)

    @property
    def variance(self) -> float:
        """That of the response, where it is numbers."""
        mean = self.y_sum.sum() / self.fold_weight.sum()
        return max(0.0, float(self.y_square.sum() / self.fold_weight.sum() - mean * mean))

    @property
    def term_weight(self) -> NDArray[np.float64]:
        """[fold, rule] the sum of its values, by weight: of a rule the weight of the rows inside."""
        return np.einsum("fii->fi", self.pair_weight) if self.value_sum is None else self.value_sum

    @cached_property
    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Mean response of all rows, and of the rows inside and outside each rule; one column per output."""
        weight, total = self.fold_weight.sum(), self.y_sum.sum(axis=0)
        all_inside = np.einsum("fii->i", self.pair_weight) if self.value_sum is None else self.value_sum.sum(axis=0)
        inside = all_inside[:, None]
        inside_sum = self.rule_y_sum.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):  # the values of a slope may add up to nothing
            mean_inside = self.centre + inside_sum / inside
            mean_outside = self.centre + (total - inside_sum) / (weight - inside)
        return self.centre + total / weight, mean_inside, mean_outside

    @cached_property
    def slopes(self) -> NDArray[np.float64]:
        """The least-squares slope of the response on each term, [rule, output]; 0 where its values do not differ."""
        weight, total, value = self.fold_weight.sum(), self.y_sum.sum(axis=0), self.term_weight.sum(axis=0)
        along = self.rule_y_sum.sum(axis=0) - value[:, None] * total / weight
        spread = (np.einsum("fii->i", self.pair_weight) - value * value / weight)[:, None]
        return np.asarray(np.divide(along, spread, out=np.zeros_like(along), where=spread > 0))

    def take(self, rules: Sequence[int]) -> Moments:
        """The moments of some of the rules."""
        i = np.asarray(rules, dtype=np.intp)
        pairs = self.pair_weight[:, i][:, :, i]
        sums = None if self.value_sum is None else self.value_sum[:, i]
        return replace(self, rows=self.rows[i], pair_weight=pairs, rule_y_sum=self.rule_y_sum[:, i], value_sum=sums)


def rule_tables(rules: Sequence[Term], binned: Binned) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """For each feature in use a table bin -> bits of the rules that the bin does not rule out."""
    n_words = max(1, -(-len(rules) // 64))
    asked = [rule.bin_values(binned) if rule.is_binary else [] for rule in rules]
    features = sorted({feature for own in asked for feature, _ in own})
    n_bins = max([2, *(cuts.n_bins for cuts in binned.cuts)])  # rules that were given have two; no row has another bin
    allowed = np.ones((len(features), n_bins, 64 * n_words), dtype=bool)
    for r, own in enumerate(asked):
        for feature, inside in own:
            allowed[features.index(feature), :, r] = inside[:n_bins]
    words = np.zeros((len(features), 256, n_words), dtype=np.uint64)
    words[:, :n_bins] = np.packbits(allowed, axis=2, bitorder="little").view(np.dtype("<u8"))
    return np.array(features, dtype=np.int32), words


@dataclass(frozen=True)
class LineMoments:
    """What the moments of rules lack where a list has slopes too, as exact integers: those of parts add up."""

    places: tuple[int, ...]  # of the slopes, among all terms
    units: tuple[float, ...]  # of their whole values
    arrays: _core.LineMomentArrays

    def __add__(self, other: LineMoments) -> LineMoments:
        arrays = {name: array + other.arrays[name] for name, array in self.arrays.items()}  # type: ignore[literal-required]
        arrays |= {name: _carry(arrays[name]) for name in ("sum", "pair", "rule", "value_sum")}
        return replace(self, arrays=arrays)  # type: ignore[arg-type]


@dataclass(frozen=True)
class MomentSums:
    """The moments of terms over some rows as exact integers: those of several parts add up."""

    n_rows: int
    arrays: _core.MomentArrays  # of the rules
    lines: LineMoments | None = None  # of the slopes, where there are some

    def __add__(self, other: MomentSums) -> MomentSums:
        arrays = {name: array + other.arrays[name] for name, array in self.arrays.items()}  # type: ignore[literal-required]
        arrays |= {name: _carry(arrays[name]) for name in ("sum", "rule_sum", "square")}
        lines = None if self.lines is None or other.lines is None else self.lines + other.lines
        return MomentSums(self.n_rows + other.n_rows, arrays, lines)  # type: ignore[arg-type]

    def gram(self) -> NDArray[np.int64]:
        """The Gram matrix of the constant and the indicators of the rules, by weight."""
        lower = self.arrays["pair"].sum(axis=0)
        weights = np.diag(lower)
        gram = np.empty((len(weights) + 1, len(weights) + 1), dtype=np.int64)
        gram[0, 0] = self.arrays["size"].sum()
        gram[0, 1:] = gram[1:, 0] = weights
        gram[1:, 1:] = lower + np.tril(lower, -1).T
        return gram

    def least_side(self) -> NDArray[np.int64]:
        """How many rows each rule has inside or outside, whichever are fewer."""
        return np.minimum(self.arrays["rows"], self.n_rows - self.arrays["rows"])

    def take(self, rules: Sequence[int]) -> MomentSums:
        """The moments of some of the rules, in rising order, where there are no slopes."""
        i = np.asarray(rules, dtype=np.intp)
        arrays = {**self.arrays, "rows": self.arrays["rows"][i], "rule_sum": self.arrays["rule_sum"][:, i]}
        return MomentSums(self.n_rows, {**arrays, "pair": self.arrays["pair"][:, i][:, :, i]})  # type: ignore[typeddict-item]

    def restore(self, fixed: FixedPoint | None) -> Moments:
        """The moments in units of the response and of the terms."""
        arrays = self.arrays
        lower = arrays["pair"].astype(np.float64)
        high, cross, low = np.moveaxis(_join(arrays["square"]), 1, 0)
        in_units = (lambda array: array) if fixed is None else fixed.restore
        found = Moments(
            rows=arrays["rows"],
            n_rows=self.n_rows,
            fold_weight=arrays["size"].astype(np.float64),
            pair_weight=lower + np.tril(lower, -1).transpose(0, 2, 1),
            y_sum=in_units(_join(arrays["sum"])),
            rule_y_sum=in_units(_join(arrays["rule_sum"])),
            y_square=in_units(in_units(np.ldexp(high, 44) + np.ldexp(cross, 23) + low)),
            centre=0.0 if fixed is None else fixed.centre,
        )
        return found if self.lines is None else _with_lines(found, self.lines, in_units)


def _with_lines(rules: Moments, lines: LineMoments, in_units: Callable[[Any], Any]) -> Moments:
    """The moments of rules and slopes, in the order of their list."""
    own, units, n_rules = lines.arrays, np.array(lines.units), rules.n_rules
    n, n_folds = n_rules + len(units), len(rules.fold_weight)
    first = [i for i in range(n) if i not in lines.places]  # rules first, then slopes: put in order at the end
    order = np.argsort([*first, *lines.places])
    lower, across = _join(own["pair"]) * (units[:, None] * units), _join(own["rule"]) * units[:, None]
    pairs = np.empty((n_folds, n, n))
    pairs[:, :n_rules, :n_rules], pairs[:, n_rules:, n_rules:] = rules.pair_weight, lower
    pairs[:, n_rules:, n_rules:] += np.tril(lower, -1).transpose(0, 2, 1)
    pairs[:, n_rules:, :n_rules], pairs[:, :n_rules, n_rules:] = across, across.transpose(0, 2, 1)
    high, low = np.moveaxis(_join(own["value_sum"]), -1, 0)
    with_y = in_units(np.ldexp(high, 22) + low) * units[:, None]
    return replace(
        rules,
        rows=np.concatenate([rules.rows, own["rows"]])[order],
        pair_weight=pairs.take(order, axis=1).take(order, axis=2),
        rule_y_sum=np.concatenate([rules.rule_y_sum, with_y], axis=1).take(order, axis=1),
        value_sum=np.concatenate([rules.term_weight, _join(own["sum"]) * units], axis=1).take(order, axis=1),
    )


def _carry(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sums of halves as halves: what lows have above their 48 bits goes to the high half, or it would pile up."""
    high, low = halves[..., 0], halves[..., 1]
    return np.stack([high + (low >> 48), low & ((1 << 48) - 1)], axis=-1)


def _join(halves: NDArray[np.int64]) -> NDArray[np.float64]:
    """Exact integers ``high * 2**48 + low`` as real numbers."""
    return np.asarray(np.ldexp(halves[..., 0].astype(np.float64), 48) + halves[..., 1])


def moment_sums(terms: Sequence[Term], binned: Binned, response: Response, seed: int, first_row: int = 0) -> MomentSums:
    """One pass over the rows: the moments of the rules in each fold; one more for slopes, where there are some."""
    rules, slopes = [term for term in terms if term.is_binary], slopes_of(terms)
    tables = (*rule_tables(rules, binned), len(rules))
    numbers, codes = response.moment_arrays()
    rows: Any = (numbers, codes, response.n_outputs, response.moment_weights(), seed, N_FOLDS, first_row)
    found = MomentSums(response.n_rows, _core.rule_moments(binned.bins, *tables, *rows))
    if not slopes:
        return found
    places = places_of_slopes(terms)
    arrays = _core.line_moments(binned.bins, *tables, *line_columns(slopes), *rows)
    return replace(found, lines=LineMoments(places, tuple(slope.unit for slope in slopes), arrays))


def slopes_of(terms: Sequence[Term]) -> list[Slope]:
    """The slopes of a list."""
    return [term for term in terms if isinstance(term, Slope)]


def places_of_slopes(terms: Sequence[Term]) -> tuple[int, ...]:
    """Which of some terms are slopes."""
    return tuple(i for i, term in enumerate(terms) if not term.is_binary)


def lines_in(terms: Sequence[Term]) -> dict[str, Any]:
    """What the core is told of the slopes of a list."""
    rows, centres = line_columns(slopes_of(terms))
    return {"line_rows": rows, "centres": centres, "line_terms": [*places_of_slopes(terms)]}


def line_columns(slopes: Sequence[Slope]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where the bins have the places of the columns of slopes, and the places where slopes are 0."""
    rows = [slope.on_grid.row for slope in slopes]
    return np.array(rows, dtype=np.int32), np.array([slope.centre_place for slope in slopes], dtype=np.int32)


def rule_moments(rules: Sequence[Term], binned: Binned, response: Response, seed: int) -> Moments:
    """The moments of terms over rows in memory; exact."""
    return moment_sums(rules, binned, response, seed).restore(response.moment_scale())


LEAST_PENALTY = 1e-3  # of ridge, as a share of the largest variance of an output


@dataclass(frozen=True)
class Gram:
    """Covariances of rule outputs with each other and with the response, over all rows and fold by fold.

    ``train_*`` are covariances over the other folds; ``test_*`` are sums over the fold's own rows of products of
    deviations from the means of the other folds, divided by the size of all folds.
    """

    gram: NDArray[np.float64]
    cross: NDArray[np.float64]
    mean_output: NDArray[np.float64]
    mean: float
    variance: float
    train_gram: NDArray[np.float64]
    train_cross: NDArray[np.float64]
    test_gram: NDArray[np.float64]
    test_cross: NDArray[np.float64]
    test_square: NDArray[np.float64]


def _covariances(
    size: NDArray[np.float64],
    hold: NDArray[np.float64],
    pair: NDArray[np.float64],
    total: NDArray[np.float64],
    rule_total: NDArray[np.float64],
    gap: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Covariance matrices of outputs, and their covariances with the response, from sums."""
    m, y = hold / size[..., None], total / size
    gram = (pair / size[..., None, None] - m[..., :, None] * m[..., None, :]) * (gap[:, None] * gap)
    cross = (rule_total / size[..., None] - m * y[..., None]) * gap
    return gram, cross


def gram_of(moments: Moments, rules: Sequence[FittedTerm]) -> Gram:
    """The Gram matrices of a list of rules with outputs, for regression."""
    inside, outside = outputs_of(rules)
    gap = inside - outside
    size, pair, total, rule_total = (
        moments.fold_weight,
        moments.pair_weight,
        moments.y_sum[:, 0],
        moments.rule_y_sum[:, :, 0],
    )
    hold = moments.term_weight
    n = size.sum()
    gram, cross = _covariances(n, hold.sum(0), pair.sum(0), total.sum(), rule_total.sum(0), gap)
    use = (size > 0) & (size < n)
    size_t, hold_t = n - size[use], hold.sum(0) - hold[use]
    total_t = total.sum() - total[use]
    train_gram, train_cross = _covariances(
        size_t, hold_t, pair.sum(0) - pair[use], total_t, rule_total.sum(0) - rule_total[use], gap
    )
    m, y = hold_t / size_t[:, None], total_t / size_t
    s, h = size[use], hold[use]
    both = pair[use] - m[:, :, None] * h[:, None, :] - h[:, :, None] * m[:, None, :]
    both += s[:, None, None] * m[:, :, None] * m[:, None, :]
    own = rule_total[use] - m * total[use][:, None] - h * y[:, None] + s[:, None] * m * y[:, None]
    square = moments.y_square[use] - 2 * y * total[use] + s * y * y
    mean = total.sum() / n
    return Gram(
        gram=gram,
        cross=cross,
        mean_output=outside + gap * hold.sum(0) / n,
        mean=float(moments.centre + mean),
        variance=float(moments.y_square.sum() / n - mean * mean),
        train_gram=train_gram,
        train_cross=train_cross,
        test_gram=both * (gap[:, None] * gap) / n,
        test_cross=own * gap / n,
        test_square=square / n,
    )


def take_rules(gram: Gram, rules: NDArray[np.intp]) -> Gram:
    """The same of some of the rules."""
    both = np.ix_(np.arange(len(gram.train_gram)), rules, rules)
    return replace(
        gram,
        gram=gram.gram[np.ix_(rules, rules)],
        cross=gram.cross[rules],
        mean_output=gram.mean_output[rules],
        train_gram=gram.train_gram[both],
        train_cross=gram.train_cross[:, rules],
        test_gram=gram.test_gram[both],
        test_cross=gram.test_cross[:, rules],
    )


def n_fixed(rules: Sequence[FittedTerm]) -> int:
    """How many rules at the head of a list have a fixed effect; they come first, and no other has one."""
    return sum(rule.effect is not None for rule in rules)


def less_fixed(gram: Gram, n_fixed: int) -> Gram:
    """The same of the rules after those with a fixed effect, and of the response less what these add."""
    held, free = np.s_[:n_fixed], np.s_[n_fixed:]
    both = gram.test_gram[:, held, held].sum(axis=(1, 2))
    return Gram(
        gram=np.ascontiguousarray(gram.gram[free, free]),
        cross=gram.cross[free] - gram.gram[free, held].sum(axis=1),
        mean_output=gram.mean_output[free],
        mean=gram.mean - float(gram.mean_output[held].sum()),
        variance=gram.variance - 2 * float(gram.cross[held].sum()) + float(gram.gram[held, held].sum()),
        train_gram=gram.train_gram[:, free, free],
        train_cross=gram.train_cross[:, free] - gram.train_gram[:, free, held].sum(axis=2),
        test_gram=gram.test_gram[:, free, free],
        test_cross=gram.test_cross[:, free] - gram.test_gram[:, free, held].sum(axis=2),
        test_square=gram.test_square - 2 * gram.test_cross[:, held].sum(axis=1) + both,
    )


# ----------------------------------------------------------------------------------------------------------- row values

# Terms and rows of a table in, the whole value of each term in each row out; and the same in fewer bytes.


def values_in(terms: Sequence[Term], table: Table) -> NDArray[Any]:
    """The whole value of each term in each row of a table, [row, term]: yes or no where all are rules."""
    values = np.empty((table.n_rows, len(terms)), dtype=np.int32 if places_of_slopes(terms) else bool)
    for i, term in enumerate(terms):
        values[:, i] = term.whole_values(table)
    return values

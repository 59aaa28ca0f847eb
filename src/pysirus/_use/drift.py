"""Sums of training rows and of later rows in, tests out: what has changed, by more than chance.

Each test has a p-value, kept as a logarithm so that the clearest of several clear ones is known, and a size in standard
deviations, so that a difference that is certain and does not matter can be told from others. Sample weights count as
the number of rows of equal weight that would say as much.

A test that is corrected for a hundred others is read far in its tail, where few rows mislead. So shares are tested
exactly unless there are many, cells by the smaller of two statistics, and means by the larger of the variances of then
and now, with fewer degrees of freedom where residuals have heavy tails. Below ``LEAST_TESTED`` rows nothing is tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pysirus._model.row_sums import Cells, RowSums

Floats = NDArray[np.float64]
LEAST_EXPECTED = 5.0  # rows of a cell; cells of fewer are joined
FEW = 10.0  # rows on a side of a rule or in a cell, below which their mean is not told or compared
FEW_OF_SHARE = 100.0  # expected rows on a side of a rule, below which the test of its share is exact
LEAST_TESTED = 30.0  # rows, then and now
NORMAL = 3.0  # the fourth moment of a normal distribution, in squared variances
HALF = 0.5  # of a row, added to each cell before a population stability index is taken


def is_enough(then: RowSums, now: RowSums) -> bool:
    """Whether there are as many rows as tests need, up to the rounding of their weights."""
    return min(then.effective, now.effective) >= LEAST_TESTED * (1 - 1e-6)


class Test(NamedTuple):
    """Whether something has changed: the logarithm of the p-value, and how much it has, in standard deviations."""

    log_p: float
    size: float


NOTHING = Test(0.0, 0.0)


def _two_sided(z: float, freedom: float) -> float:
    """The logarithm of the p-value of a ratio."""
    if not math.isfinite(z):
        return 0.0
    return min(0.0, math.log(2) + float(stats.t.logsf(abs(z), max(1.0, freedom))))


def _tails(then: RowSums, k: int) -> float:
    """The share of the rows that counts as degrees of freedom: 1, and less where residuals have heavier tails.

    A residual of a class is at most 1, so that its fourth moment is at most its second.
    """
    assert then.residuals is not None and then.error is not None
    square = float(then.residuals[0, 2, k]) / then.weight
    fourth = float(then.error[1]) / then.weight if then.n_outputs == 1 else square
    return NORMAL / max(NORMAL, fourth / (square * square)) if square > 0 else 1.0


def _freedom(a: float, na: float, b: float, nb: float) -> float:
    """Welch's degrees of freedom of a sum of two variances, each of so many rows."""
    return (a + b) ** 2 / (a * a / max(1.0, na - 1) + b * b / max(1.0, nb - 1))


def _beyond(change: Any, other: Any) -> Any:
    """How far something is from what it was, which is known in two ways: from the nearer, and 0 between them."""
    nearer = np.where(np.abs(change) < np.abs(other), change, other)
    return np.where(np.sign(change) == np.sign(other), nearer, 0.0)


def _of_several(tests: Sequence[Test]) -> Test:
    """The clearest of some tests, allowing for their number."""
    best = min(tests, key=lambda test: test.log_p)
    return Test(min(0.0, best.log_p + math.log(len(tests))), best.size)


# ------------------------------------------------------------------------------------------------------------ columns


def stability_index(then: Floats, now: Floats) -> float:
    """The population stability index of two lots of cells; half a row is added to each."""
    a, b = (np.asarray(own) + HALF for own in (then, now))
    a, b = a / a.sum(), b / b.sum()
    return float(((b - a) * np.log(b / a)).sum())


def _counts(sums: RowSums, i: int) -> Floats:
    """How many rows of equal weight would say as much, in each cell of a column."""
    return np.asarray(sums.cells[i][:, 0] * (sums.effective / sums.weight))


def column_test(then: RowSums, now: RowSums, i: int) -> tuple[Test, float]:
    """Whether a column has moved, by chi-squared over its cells; and its population stability index.

    The statistic is the smaller one of Pearson's and the likelihood ratio: of small cells the first says too much where
    rows are gained, the second where they are lost.
    """
    a, b = _counts(then, i), _counts(now, i)
    psi = stability_index(a, b)
    a, b = _enough(a, b)
    if len(a) < 2:
        return NOTHING, psi
    share = (a + b) / (a.sum() + b.sum())
    pearson = ratio = 0.0
    for own in (a, b):
        expected = own.sum() * share
        pearson += float(((own - expected) ** 2 / expected).sum())
        ratio += 2 * float((own * np.log(np.where(own > 0, own, 1.0) / expected)).sum())
    return Test(float(stats.chi2.logsf(min(pearson, ratio), len(a) - 1)), math.sqrt(max(0.0, psi))), psi


def _enough(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Cells in both lots of which enough rows are expected; small ones are joined with the next small one."""
    total = a + b
    expected = total * (min(a.sum(), b.sum()) / total.sum())
    small = expected < LEAST_EXPECTED
    rest = [own[small].sum() for own in (a, b)]
    a, b = a[~small], b[~small]
    if expected[small].sum() >= LEAST_EXPECTED:
        return np.append(a, rest[0]), np.append(b, rest[1])
    if len(a) and sum(rest):
        least = int((a + b).argmin())
        a[least], b[least] = a[least] + rest[0], b[least] + rest[1]
    return a, b


def beyond_test(then: RowSums, now: RowSums, i: int, cells: Cells) -> Test:
    """Whether more rows are outside the range of the training rows, or of unseen categories, than chance puts there.

    Of n new rows as many are beyond the extremes of N others as a beta-binomial distribution says, whatever the
    distribution of the column. A category that is new has at least the probability of the rare ones against it.
    """
    if not now.beyond[i] or not now.weight:
        return NOTHING
    share = now.beyond[i] / now.weight
    n = max(1, round(now.effective))
    seen, known = math.ceil(share * n - 1e-9), max(2.0, then.effective)
    ends = 2.0 if cells.levels is None else 1.0 + math.sqrt(len(cells.levels))
    found = float(stats.betabinom.sf(seen - 1, n, ends, known - 1))
    return Test(math.log(max(found, 1e-300)) if found > 0 else -690.0 - seen, math.sqrt(share))


def cell_output_test(then: RowSums, now: RowSums, i: int, optimism: float) -> Test:
    """Whether residuals go another way over the cells of a column than they did, the level of all rows aside."""
    n = then.n_outputs
    a, b = then.cells[i], now.cells[i]
    scale = [own.squares / own.weight for own in (then, now)]  # weight of a row
    enough = (a[:, 0] / scale[0] >= FEW) & (b[:, 0] / scale[1] >= FEW)
    if enough.sum() < 2:
        return NOTHING
    fitted = (a if then.fitted is None else then.fitted.cells[i])[enough]
    a, b = a[enough], b[enough]
    return _of_several([_output_of_cells(a, fitted, b, scale, k, n, optimism, _tails(then, k)) for k in range(n)])


def _output_of_cells(
    a: Floats, fitted: Floats, b: Floats, scale: Sequence[float], k: int, n: int, optimism: float, tails: float
) -> Test:
    means, squares = [], []
    for own, row, factor in ((a, scale[0], optimism), (b, scale[1], 1.0)):
        mean = own[:, 1 + k] / own[:, 0]
        rows = own[:, 0] / row
        square = np.maximum(own[:, 1 + n + k] / own[:, 0] - mean**2, 0.0) * rows / (rows - 1)
        means.append(mean)
        squares.append(factor * square)
    variance = squares[0] * scale[0] / a[:, 0] + np.maximum(*squares) * scale[1] / b[:, 0]
    known = variance > 0
    if known.sum() < 2:
        return NOTHING
    weight = 1 / variance[known]
    ways = [(means[1] - mean)[known] for mean in (means[0], fitted[:, 1 + k] / fitted[:, 0])]
    ways = [own - float((weight * own).sum() / weight.sum()) for own in ways]  # the level of all rows aside
    change = _beyond(*ways)
    found = float((weight * change**2).sum())
    freedom = int(known.sum()) - 1
    # means of few rows are spread wider than normal ones: as a quotient of squares, with the rows of an average cell
    usual = tails * float((b[known, 0] / scale[1]).mean() - 1)
    log_p = float(stats.f.logsf(found / freedom, freedom, max(1.0, usual * freedom)))
    deviation = math.sqrt(float(b[:, 1 + n + k].sum() / b[:, 0].sum()))
    size = math.sqrt(float(np.average(change**2, weights=b[known, 0]))) / deviation if deviation else 0.0
    return Test(log_p, size)


# -------------------------------------------------------------------------------------------------------------- terms


@dataclass(frozen=True)
class _Values:
    """The values of a term over some rows."""

    mean: float
    variance: float
    rows: float  # of equal weight
    apart: float  # as many rows say as much about what goes with the value

    @classmethod
    def of(cls, sums: RowSums, t: int) -> _Values:
        m1, m2, m3, m4 = sums.values[t] / sums.weight
        variance = m2 - m1 * m1
        fourth = m4 - 4 * m1 * m3 + 6 * m1 * m1 * m2 - 3 * m1**4
        kurtosis = fourth / (variance * variance) if variance > 0 else math.inf
        return cls(m1, variance, sums.effective, sums.effective / max(1.0, kurtosis))


def share_test(then: RowSums, now: RowSums, t: int) -> Test:
    """Whether the mean value of a term has changed: the share of rows in which a rule holds."""
    a, b = _Values.of(then, t), _Values.of(now, t)
    if math.isnan(a.mean) or math.isnan(b.mean):
        return NOTHING
    total = a.rows + b.rows
    mean = (a.rows * a.mean + b.rows * b.mean) / total
    second = (a.rows * (a.variance + a.mean**2) + b.rows * (b.variance + b.mean**2)) / total
    variance = second - mean * mean
    if not variance > 0:
        return NOTHING
    size = abs(b.mean - a.mean) / math.sqrt(variance)
    is_share = np.ptp(np.concatenate([then.values[t] / then.weight, now.values[t] / now.weight]).reshape(2, -1), 1)
    if is_share.max() < 1e-6 and min(a.rows, b.rows) * min(mean, 1 - mean) < FEW_OF_SHARE:
        return Test(_exact_share(a, b), size)
    z = (b.mean - a.mean) / math.sqrt(variance * (1 / a.rows + 1 / b.rows))
    return Test(_two_sided(z, total - 2), size)


def _exact_share(a: _Values, b: _Values) -> float:
    """Fisher's exact test of two shares."""
    inside = [round(own.rows * own.mean) for own in (a, b)]
    rows = [round(own.rows) for own in (a, b)]
    p = stats.fisher_exact([[inside[0], rows[0] - inside[0]], [inside[1], rows[1] - inside[1]]])[1]
    return math.log(max(float(p), 1e-300))


def output_test(then: RowSums, now: RowSums, t: int, optimism: float) -> Test:
    """Whether residuals go with the value of a term in another way than they did.

    Of a rule that is the difference between the mean residuals inside and outside. It is 0 where outputs are as they
    were, however the rows have moved between the rules. Of a tuned list it was measured twice: by held-out rows, which
    lists of other folds with other cuts predicted, and by the list itself on its own rows. Only what lies beyond both
    is a change. (With held-out rows alone 7 of 200 models of the first law raised a false alarm at 1%.)
    """
    return _of_several([own.test for own in output_changes(then, now, t, optimism)])


class OutputChange(NamedTuple):
    """By how much the difference between the outputs of a term has changed, its standard error, and the test of it."""

    change: float
    standard_error: float
    test: Test


def output_changes(then: RowSums, now: RowSums, t: int, optimism: float) -> list[OutputChange]:
    """What ``output_test`` looks at, for each output."""
    return [_slope_change(then, now, t, k, optimism) for k in range(then.n_outputs)]


def _slope_change(then: RowSums, now: RowSums, t: int, k: int, optimism: float) -> OutputChange:
    (a, va, na), (b, vb, nb) = (_slope(sums, t, k) for sums in (then, now))
    va *= optimism
    other = a if then.fitted is None else _slope(then.fitted, t, k)[0]
    change = float(_beyond(b - a, b - other))
    if not va + vb > 0 or min(na, nb) < 2:
        return OutputChange(math.nan, math.nan, NOTHING)
    error, tails = math.sqrt(va + vb), _tails(then, k)
    spread_then, spread_now = (_Values.of(sums, t).variance for sums in (then, now))
    vb = max(vb, va * then.effective / now.effective * spread_then / spread_now)
    freedom = _freedom(va, tails * na, vb, tails * nb)
    assert now.residuals is not None
    spread = math.sqrt(float(now.residuals[0, 2, k]) / now.weight)
    size = abs(change) * math.sqrt(spread_now) / spread if spread > 0 else 0.0
    return OutputChange(change, error, Test(_two_sided(change / math.sqrt(va + vb), freedom), size))


def _slope(sums: RowSums, t: int, k: int) -> tuple[float, float, float]:
    """How residuals go with the value of a term, the variance of that, and how many rows say so."""
    assert sums.residuals is not None
    own, every = sums.residuals[1 + t, :, k] / sums.weight, sums.residuals[0, :, k] / sums.weight
    value = _Values.of(sums, t)
    v, r = value.mean, every[0]
    if not value.variance > 0 or np.isnan(own).any():
        return 0.0, 0.0, 0.0
    slope = (own[0] - v * r) / value.variance
    squares = own[3] - 2 * v * own[2] + v * v * every[2]  # of residuals times the value about its mean
    crossed = own[1] - 2 * v * own[0] + v * v * r
    spread = squares - 2 * r * crossed + r * r * value.variance - slope**2 * value.variance * value.variance
    return slope, max(0.0, spread) / (value.variance**2 * value.rows), value.apart


# ------------------------------------------------------------------------------------------------------- all rows


def level_test(then: RowSums, now: RowSums, optimism: float) -> Test:
    """Whether predictions are too high or too low by more than they were."""
    assert then.residuals is not None and now.residuals is not None
    tests = []
    for k in range(then.n_outputs):
        means = [sums.residuals[0, 0, k] / sums.weight for sums in (then, now)]  # type: ignore[index]
        squares = [sums.residuals[0, 2, k] / sums.weight for sums in (then, now)]  # type: ignore[index]
        spread = [max(0.0, square - mean * mean) for square, mean in zip(squares, means)]
        spread[0] *= optimism
        a, b = spread[0] / then.effective, max(spread) / now.effective
        fitted = then if then.fitted is None else then.fitted
        other = fitted.residuals[0, 0, k] / then.weight  # type: ignore[index]
        change = float(_beyond(means[1] - means[0], means[1] - other))
        if not a + b > 0:
            tests.append(NOTHING)
            continue
        freedom = _freedom(a, _tails(then, k) * then.effective, b, _tails(then, k) * now.effective)
        size = abs(change) / math.sqrt(spread[1]) if spread[1] > 0 else 0.0
        tests.append(Test(_two_sided(change / math.sqrt(a + b), freedom), size))
    return _of_several(tests)


def mean_error(sums: RowSums) -> tuple[float, float]:
    """The mean of squared residuals, and its variance."""
    assert sums.error is not None
    mean, square = sums.error / sums.weight
    return float(mean), float(max(0.0, square - mean * mean) / max(1.0, sums.effective - 1))


def error_test(then: RowSums, now: RowSums, optimism: float) -> Test:
    """Whether squared residuals are larger than they were; ``optimism`` is a factor for those of training rows."""
    (a, va), (b, vb) = mean_error(then), mean_error(now)
    a, va = optimism * a, optimism**2 * va
    vb = max(vb, va * then.effective / now.effective)
    if not va + vb > 0 or b <= a:
        return NOTHING
    tails = max(_tails(then, k) for k in range(then.n_outputs))
    freedom = _freedom(va, tails * then.effective, vb, tails * now.effective)
    log_p = float(stats.t.logsf((b - a) / math.sqrt(va + vb), freedom))
    return Test(log_p, math.sqrt(b / a) - 1 if a > 0 else math.inf)


def adjusted(log_p: Sequence[float]) -> Floats:
    """Holm's p-values of some tests, of which the largest that is small enough bounds the chance of one false alarm."""
    logs = np.asarray(log_p, dtype=np.float64)
    order = np.argsort(logs, kind="stable")
    steps = np.maximum.accumulate(logs[order] + np.log(np.arange(len(logs), 0, -1)))
    found = np.empty(len(logs))
    found[order] = np.exp(np.minimum(0.0, steps))
    return found

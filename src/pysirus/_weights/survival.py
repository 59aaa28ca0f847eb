"""Scores of training rows in, the baseline hazard out, with which scores become survival functions.

The cumulative hazard of a row of score 0 is a step function. It rises at each time of an event by the weight of the
events over the weight of who is at risk, each times ``exp`` of its score (Breslow's estimate). With it the expected
events of the training rows add up to those observed, time by time; Efron's shares would expect more. Where all scores
are 0 it is the hazard of Nelson and Aalen. That of another row is ``exp(score)`` times as high. A model keeps it at up
to 2,000 of these times; where there are more, at those evenly spread over the events, where it is exact.

``StepFunction`` is a function of time that changes in steps, as in scikit-survival: ``x``, ``y``, and a call at any
time. ``kaplan_meier`` is the observed curve, to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._runtime.sums import Scale, all_whole
from pysirus._terms.term import Term
from pysirus._weights.likelihood import RESIDUAL_BITS, TOL, LikelihoodFit
from pysirus._weights.moments import N_FOLDS, places_of_slopes, rule_tables
from pysirus._weights.weighted import STAGES_GRID

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepFunction:
    """What it is from each time on.

    Attributes
    ----------
    x : ndarray of shape (n_times,)
        Times, rising.
    y : ndarray of shape (n_times,)
        The value from each time on.
    start : float
        The value before the first time.

    Examples
    --------
    >>> import numpy as np
    >>> from pysirus._weights.survival import StepFunction
    >>> alive = StepFunction(np.array([1.0, 2.0]), np.array([0.8, 0.5]), start=1.0)
    >>> alive([0.5, 1.0, 7.0]).tolist()
    [1.0, 0.8, 0.5]
    """

    x: Floats
    y: Floats
    start: float = 0.0

    def __call__(self, x: Any) -> Any:
        """The value at one time, or at several."""
        times = np.asarray(x, dtype=np.float64)
        if not np.isfinite(times).all() or (times < 0).any():
            raise ValueError("x must be times from 0 on, without missing ones.")
        found = np.searchsorted(self.x, times, side="right")
        values = np.concatenate([[self.start], self.y])[found]
        return float(values) if values.ndim == 0 else values

    @property
    def domain(self) -> tuple[float, float]:
        """The times that it is known for; after the last it stays what it is."""
        return 0.0, float(self.x[-1]) if len(self.x) else 0.0

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"StepFunction(x={self.x!r}, y={self.y!r}, start={self.start!r})"


def step_functions(times: Floats, values: Floats, start: float) -> NDArray[np.object_]:
    """One function for each row of values [row, time]."""
    functions = np.empty(len(values), dtype=object)
    for i, own in enumerate(values):
        functions[i] = StepFunction(times, own, start)
    return functions


ROUNDING = 1e-12  # of a product of shares that should be one half


@dataclass(frozen=True)
class Curve:
    """The share without an event: 1 before the first time, then as it is from each time on."""

    times: Floats  # of events, rising
    share: Floats
    last: float  # the longest time of any row

    @property
    def median(self) -> float | None:
        """The first time from which at most half are without an event; None where it is not reached."""
        reached = np.flatnonzero(self.share <= 0.5 + ROUNDING)
        return float(self.times[reached[0]]) if len(reached) else None


def kaplan_meier(times: Floats, events: NDArray[np.bool_], weights: Floats | None = None) -> Curve:
    """The curve of some rows. At equal times events come before censoring."""
    distinct, place = np.unique(times, return_inverse=True)
    weight = np.ones(len(times)) if weights is None else weights
    everyone, ended = (np.bincount(place, own, len(distinct)).astype(np.float64) for own in (weight, weight * events))
    at_risk = np.cumsum(everyone[::-1])[::-1]
    own = ended > 0
    share = np.asarray(np.cumprod(np.clip(1 - ended[own] / at_risk[own], 0.0, 1.0)), dtype=np.float64)
    return Curve(distinct[own], share, float(distinct[-1]) if len(distinct) else 0.0)


MOST_TIMES = 2_000


@dataclass(frozen=True, eq=False)
class BaselineHazard:
    """The cumulative hazard of a row of score 0: 0 before the first time, then as it is from each time on."""

    times: Floats  # rising
    cumulative: Floats

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaselineHazard):
            return NotImplemented
        return np.array_equal(self.times, other.times) and np.array_equal(self.cumulative, other.cumulative)

    __hash__ = None  # type: ignore[assignment]

    def at(self, times: Floats) -> Floats:
        """The cumulative hazard at some times; after the last event it stays what it is."""
        found = np.searchsorted(self.times, np.asarray(times, dtype=np.float64), side="right")
        return np.concatenate([[0.0], self.cumulative])[found]

    def cumulative_hazard(self, scores: Floats, times: Floats) -> Floats:
        """The cumulative hazard [row, time] of rows with a score each."""
        # one exponential of a sum: e^score alone may be infinite where the hazard is 0
        logs = np.ravel(scores)[:, None] + _core.log(np.ravel(self.at(times)))[None, :]
        return _core.exp(np.ascontiguousarray(logs).ravel()).reshape(logs.shape)

    def survival(self, scores: Floats, times: Floats) -> Floats:
        """The probability [row, time] of no event until each time, that time included."""
        hazard = self.cumulative_hazard(scores, times)
        return _core.exp(-hazard.ravel()).reshape(hazard.shape)


def kept_times(times: Floats) -> NDArray[np.intp]:
    """The places of the times that a model keeps."""
    if len(times) <= MOST_TIMES:
        return np.arange(len(times))
    return np.unique(np.rint(np.linspace(0, len(times) - 1, MOST_TIMES)).astype(np.intp))


@dataclass(frozen=True)
class Survival:
    """What a survival model keeps besides its rules."""

    event: str  # what the column of events is called
    n_events: int
    median: float | None  # of all training rows
    hazard: BaselineHazard
    event_value: Any = None  # of the column of events, where it is not 1, true or yes

    @property
    def event_text(self) -> str:
        """What is waited for: the column, and the value that is the event where it was said."""
        return self.event if self.event_value is None else f"{self.event} = {self.event_value}"

    def with_hazard(self, cumulative: Sequence[float]) -> Survival:
        """The same with another cumulative hazard, at the same times."""
        return replace(self, hazard=BaselineHazard(self.hazard.times, np.array(cumulative)))


def baseline_hazard(risk: RiskSets, scores: Floats, weights: Floats | None = None) -> BaselineHazard:
    """The baseline hazard that belongs to the scores of the training rows. Without events it is 0."""
    return BaselineHazard(risk.event_times, np.cumsum(hazard_rises(risk, scores, weights)))


# ------------------------------------------------------------------------------------------------------------------ cox

# Rules and times in, weights by Cox's partial likelihood out; scores in, martingale residuals out (docs/method.md).
#
# A row's score is the sum of ``weight * output``, the output being that of inside or outside each rule: the logarithm
# of its hazard relative to a row of score 0. The weights minimise minus the partial log-likelihood (Efron's ties,
# weights as in R's survival) by weight of events, plus ``penalty / 2`` times their squares, and are not negative. The
# penalty is that of the largest cross-validated partial likelihood, l(all) - l(training), among multiples of the
# largest curvature of a weight where all weights are zero: no unit matters, neither of outputs nor of times nor of
# weights.
#
# Tied events are taken together, whatever the columns say of their rows: two that no column tells apart are two events.
# So an event of weight two is not quite the event twice, which would be a tie.
#
# Only the order of times enters. Sums run in an order of their own, that of (time, rules that hold, fold), so the order
# of rows and the number of threads change no bit of the weights.
#
# Risk sets say which rows could still have an event when another row had one. A row is at risk at every time of an
# event up to its own time, that time included. Its span is their number; nothing else of its time matters to Cox's
# partial likelihood.


@dataclass(frozen=True)
class RiskSets:
    """Who is at risk when."""

    event_times: Floats  # the distinct times of events, rising
    span: NDArray[np.int32]  # [row] how many of them the row is at risk at
    events: NDArray[np.uint8]  # [row] 1 for an event, at the last time of the span; 0 for a censored row

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.span)


def risk_sets(times: Floats, events: NDArray[np.bool_]) -> RiskSets:
    """The risk sets of rows with a time each, and whether it ended with an event."""
    times, events = np.asarray(times, dtype=np.float64), np.asarray(events, dtype=bool)
    event_times = np.unique(times[events])
    span = np.searchsorted(event_times, times, side="right").astype(np.int32)
    return RiskSets(event_times, span, events.astype(np.uint8))


@dataclass(frozen=True)
class CoxRows:
    """Which rules hold in each row, who is at risk when, and how much each row counts."""

    n_rules: int
    bits: NDArray[np.uint64]  # [row, word]; rule r is bit r % 64 of word r // 64
    risk: RiskSets
    folds: NDArray[np.uint8]  # [row] from 0 to N_FOLDS - 1
    weights: NDArray[np.int64] | None
    values: NDArray[np.int32]  # [row, slope] whole values
    slopes: tuple[int, ...] = ()  # which of the terms are slopes


def cox_rows(
    rules: Sequence[Term],
    binned: Binned,
    risk: RiskSets,
    seed: int,
    weights: Floats | None = None,
    folds: NDArray[np.uint8] | None = None,
) -> CoxRows:
    """One pass over the rows. Folds are drawn from (seed, row) if they are not given."""
    bits = _core.row_bits(binned.bins, *rule_tables(rules, binned), len(rules))
    slopes = places_of_slopes(rules)
    for i in slopes:
        bits[:, i // 64] &= np.uint64(~(1 << i % 64) & (2**64 - 1))
    values = [rules[i].row_values(binned, binned.bins) for i in slopes]
    found = cox_rows_of_bits(len(rules), bits, risk, seed, weights, folds)
    return replace(found, values=np.stack(values, axis=1), slopes=slopes) if slopes else found


def cox_rows_of_bits(
    n_rules: int,
    bits: NDArray[np.uint64],
    risk: RiskSets,
    seed: int,
    weights: Floats | None = None,
    folds: NDArray[np.uint8] | None = None,
) -> CoxRows:
    """The same where it is known which rules hold."""
    if folds is None:
        folds = _core.folds_of(seed, risk.n_rows, N_FOLDS).astype(np.uint8)
    whole_numbers = None
    if weights is not None:
        scale = Scale(risk.n_rows, heaviest=float(weights.max(initial=1.0)), whole=all_whole(weights))
        whole_numbers = np.maximum(np.rint(np.ldexp(weights, scale.moment_weight_exponent)), 1).astype(np.int64)
    return CoxRows(n_rules, bits, risk, folds, whole_numbers, np.zeros((len(bits), 0), dtype=np.int32))


def fit_cox(
    rows: CoxRows,
    inside: Floats,
    outside: Floats,
    sizes: Sequence[int],
    grid: Floats = STAGES_GRID,
    *,
    penalties: Floats | None = None,
    tol: float = TOL,
    n_threads: int = 1,
    n_held: int = 0,
) -> LikelihoodFit:
    """Weights of the first ``sizes`` rules, each at its own penalty.

    Parameters
    ----------
    rows : CoxRows
        The rows, by ``cox_rows`` of the same rules.
    inside, outside : array of shape (n_rules,) or (n_rules, 1)
        Outputs of the rules.
    sizes : sequence of int
        Prefixes of the list, from 0 to all rules. Each is fitted by itself.
    grid : array
        Multiples of the largest curvature to choose the penalty from, the largest first.
    penalties : array of shape (n_sizes,), optional
        Penalties to take instead, for the loss by weight of events.
    tol : float
        When Newton's steps end in cross-validation. The weights themselves are exact.
    n_threads : int
        Threads over sizes.
    n_held : int
        The weights of this many rules, the first ones, are 1.

    Returns
    -------
    LikelihoodFit
        Intercepts and constant are 0, as the likelihood is blind to them. ``losses`` are minus the
        cross-validated partial log-likelihood by weight of events, where weights are shares of all rows at risk.
        Without events all weights and penalties are 0.
    """
    inside, outside = (np.asarray(outputs, dtype=np.float64).reshape(rows.n_rules) for outputs in (inside, outside))
    found = _core.cox_weights(
        bits=rows.bits,
        span=rows.risk.span,
        event=rows.risk.events,
        fold=rows.folds,
        weight=rows.weights,
        n_times=len(rows.risk.event_times),
        gap=(inside - outside).tolist(),
        sizes=[*map(int, sizes)],
        grid=np.asarray(grid, dtype=np.float64).tolist(),
        penalties=None if penalties is None else np.asarray(penalties, dtype=np.float64),
        n_folds=N_FOLDS,
        tol=tol,
        n_threads=n_threads,
        values=np.ascontiguousarray(rows.values),
        line_terms=[*rows.slopes],
        n_held=n_held,
    )
    return LikelihoodFit(
        sizes=tuple(map(int, sizes)),
        weights=found["points"],
        intercepts=np.zeros((len(found["points"]), 1)),
        penalties=found["penalties"],
        losses=found["losses"],
        constant=np.zeros(1),
        gradient_norm=found["gradient_norm"],
    )


def cox_residuals(
    risk: RiskSets,
    scores: Floats,
    weights: Floats | None = None,
    shrinkage: float = 1.0,
    exponent: int | None = None,
) -> tuple[Floats, int]:
    """What the list leaves unexplained: martingale residuals at ``shrinkage * scores``.

    The residual of a row is the slope of the partial log-likelihood in its score, by its weight: its events (0 or 1)
    less those expected of it. Their weighted sum is 0. The answer is [row, 1], rounded to multiples of
    ``2**-exponent``, and the exponent, as in ``residual_exponent``.
    """
    residuals = _of_rows(risk, shrinkage * np.asarray(scores, dtype=np.float64), weights)[1]
    if exponent is None:
        largest = float(np.abs(residuals).max(initial=0.0))
        exponent = RESIDUAL_BITS - int(np.frexp(largest)[1]) if largest > 0 else 0
    return np.ldexp(np.rint(np.ldexp(residuals[:, None], exponent)), -exponent), exponent


def hazard_rises(risk: RiskSets, scores: Floats, weights: Floats | None = None) -> Floats:
    """By how much the cumulative hazard of a row of score 0 rises at each time of an event: Breslow's estimate."""
    return _of_rows(risk, scores, weights)[2]


def _of_rows(risk: RiskSets, scores: Floats, weights: Floats | None) -> tuple[float, Floats, Floats]:
    """Loss, residuals and rises of the hazard."""
    eta = np.ascontiguousarray(scores, dtype=np.float64).reshape(risk.n_rows)
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype=np.float64)
    return _core.cox_rows(risk.span, risk.events, weights, len(risk.event_times), eta)

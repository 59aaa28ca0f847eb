"""Paths in, a short list of rules out, with their moments (the paper's rule selection and post-treatment).

Down the paths, while above p0, those are kept whose rules obey the constraints and are no combination of the constant
and of the rules before them: over the whole input space and, by default, on the training rows. Slopes, where they may
be selected, are ranked with the rules by frequency; none is a combination of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pysirus._bins.cuts import Binned
from pysirus._forest.forest import Paths
from pysirus._learn.training import Training
from pysirus._parameters.check import to_rows
from pysirus._runtime.console import warn_user
from pysirus._terms.constraints import Constraints
from pysirus._terms.dependence import Span, Vector, condition_vector, independent_columns, rule_vector
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import rule_of, rules_of
from pysirus._terms.slope import slope_of
from pysirus._text.message import Parameter
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import with_outputs

SPARE = 4  # candidates beyond those wanted, so that one pass over the rows is mostly enough
MOST_SPARE = 64  # where many have too few rows
AT_ONCE = 64  # paths whose outputs one pass over the rows finds


@dataclass(frozen=True)
class SelectedRules:
    """Rules without outputs, what their outputs and weights are computed from, and what they span."""

    rules: list[FittedTerm]
    moments: Moments
    span: Span


@dataclass(frozen=True)
class Limits:
    """How many paths of a forest become rules."""

    n_rules: int
    p0: float | None = None
    post_treatment: str = "sample"  # or "paper": combinations over the whole input space alone
    min_rows: int | float = 1  # inside and outside of each: a number, or a share of the training rows


class Permit:
    """Asked for one path after the other; ``training`` has the response that the outputs of rules are means of."""

    def __init__(self, training: Training, constraints: Constraints, paths: Paths) -> None:
        self._training, self._constraints, self._paths = training, constraints, paths
        self._found: dict[int, bool] = {}  # of paths whose outputs matter

    def __call__(self, position: int) -> bool:
        rule, constraints = self._rule(position), self._constraints
        if not constraints.allows_form(rule):
            return False
        if not constraints.steers(rule):
            return True
        if position not in self._found:
            self._ask(position)
        return self._found[position]

    def _rule(self, position: int) -> FittedTerm:
        return rule_of(self._paths.codes[position].tolist(), self._training.binned, 0.0)

    def _ask(self, first: int) -> None:
        """Find the outputs of a path, and of those after it that will be asked for."""
        training, constraints, batch = self._training, self._constraints, {}
        for position in range(first, len(self._paths.counts)):
            rule = self._rule(position)
            if constraints.allows_form(rule) and constraints.steers(rule):
                batch[position] = rule
            if len(batch) == AT_ONCE:
                break
        rules = with_outputs(list(batch.values()), training.moments(list(batch.values())), training.response)
        self._found |= {position: constraints.allows(rule) for position, rule in zip(batch, rules)}


def independent_paths(
    paths: Paths, binned: Binned, p0: float | None, span: Span, permit: Callable[[int], bool] | None = None
) -> Iterator[tuple[int, Vector]]:
    """Walk down the paths while above ``p0``; positions and vectors of those outside ``span``, which takes them in.

    A path that ``permit`` refuses is as if it were not there.
    """
    for i, (codes, frequency) in enumerate(zip(paths.codes, paths.frequencies)):
        if p0 is not None and frequency <= p0:
            return
        if permit is not None and not permit(i):
            continue
        vector = rule_vector(codes.tolist(), binned)
        if span.add(vector):
            yield i, vector


class _Walk:
    """Goes down the paths outside a span; what is refused on the way is as if it had not been there."""

    def __init__(
        self, paths: Paths, binned: Binned, p0: float | None, span: Span, permit: Callable[[int], bool] | None
    ) -> None:
        self._given = paths, binned, p0
        self._span, self._permit = Span(dict(span.rows)), permit
        self._refused: set[int] = set()
        self.spare = SPARE
        self._walk = self._start()

    def _start(self) -> Iterator[tuple[int, Vector]]:
        refused, permit = self._refused, self._permit

        def allows(position: int) -> bool:
            return position not in refused and (permit is None or permit(position))

        return independent_paths(*self._given, Span(dict(self._span.rows)), allows)

    def take(self, n_paths: int) -> list[tuple[int, Vector]]:
        """The next paths, by position and vector."""
        return list(islice(self._walk, n_paths))

    def refuse(self, positions: Iterable[int]) -> None:
        """Start again without some paths: what they span with others is open once more."""
        self._refused.update(positions)
        self.spare = min(2 * self.spare, MOST_SPARE)
        self._walk = self._start()


def select_rules(
    training: Training,
    paths: Paths,
    limits: Limits,
    span: Span | None = None,
    before: Sequence[FittedTerm] = (),
    answering: Training | None = None,
) -> SelectedRules:
    """Walk down the paths and keep those that are no combination of the constant, of ``before`` and of those kept.

    ``span`` is that of ``before``; the rules that are kept are added to it. Moments are those of all rules together.
    Of the paths that break a constraint none is kept; ``answering`` are the rows with the response that outputs will be
    means of, where it is another. Nor is one with too few rows inside or outside: it is as if it were not there. A list
    begins with the rules that are required.
    """
    span = Span() if span is None else span
    first = [] if before else list(training.required)
    for rule in first:
        if rule.is_binary:
            span.add(condition_vector(rule, training.binned))
    every, n_rules = [*before, *first], max(0, limits.n_rules - len(first))
    before = [term for term in every if term.is_binary]
    slopes = _slopes(training, paths, limits, answering or training) if n_rules else []
    permit = Permit(answering or training, training.constraints, paths) if training.constraints else None
    walk = _Walk(paths, training.binned, limits.p0, span, permit)
    on_rows, least = limits.post_treatment == "sample", to_rows(limits.min_rows, training.n_rows)
    kept: list[tuple[FittedTerm, Vector]] = []
    while True:
        asked = n_rules - len(kept) + (walk.spare if on_rows else 0)
        batch = walk.take(asked)
        rules = rules_of(paths, [position for position, _ in batch], training.binned)
        tried = [*kept, *zip(rules, (vector for _, vector in batch))]
        sums = training.moment_sums([*before, *(rule for rule, _ in tried)])
        if short := np.flatnonzero(sums.least_side()[len(before) + len(kept) :] < least).tolist():
            walk.refuse(batch[i][0] for i in short)
            kept = []
            continue
        fresh = np.ones(len(tried), dtype=bool)
        if on_rows:
            fresh = independent_columns(sums.gram())[1 + len(before) :]
        chosen = np.flatnonzero(fresh)[:n_rules]
        kept = [tried[i] for i in chosen]
        if len(kept) == n_rules or len(batch) < asked:
            break
    found = _ranked(slopes, [rule for rule, _ in kept])[:n_rules]
    for rule, vector in kept:
        if rule in found:
            span.add(vector)
    if all(term.is_binary for term in (*every, *found)):
        moments = training.restore(sums.take([*range(len(before)), *(len(before) + chosen)]))
    else:
        moments = training.moments([*every, *found])
    return SelectedRules([*first, *found], moments, span)


def _ranked(slopes: Sequence[FittedTerm], rules: Sequence[FittedTerm]) -> list[FittedTerm]:
    """Slopes and rules by frequency; on a tie the slope, which has no place to choose."""
    return sorted([*slopes, *rules], key=lambda term: -term.frequency)


def _slopes(training: Training, paths: Paths, limits: Limits, answering: Training) -> list[FittedTerm]:
    """The slopes that may be kept, the most frequent first: with enough known rows, and in the column's direction."""
    frequencies, constraints = paths.line_frequencies, training.constraints
    least, lines, binned = to_rows(limits.min_rows, training.n_rows), training.lines, training.binned
    above = [int(i) for i in np.argsort(-frequencies, kind="stable") if frequencies[i] > (limits.p0 or 0.0)]
    order = [i for i in above if i in training.may_slope]
    order = [i for i in order if lines[i].rows >= least]
    found: list[FittedTerm] = [
        slope_of(binned.cuts[i].column.name, i, lines[i], binned.grids[i], float(frequencies[i]))
        for i in (order[: limits.n_rules] if constraints is None else order)
    ]
    steered = [term for term in found if constraints is not None and constraints.steers(term)]
    fitted = with_outputs(steered, answering.moments(steered), answering.response) if steered else []
    refused = [term for term in fitted if constraints is not None and not constraints.allows(term)]
    return [term for term in found if term not in refused]


def warn_if_none(rules: Sequence[FittedTerm], training: Training, paths: Paths, limits: Limits) -> None:
    """Say so where no path has enough rows inside and outside."""
    least = to_rows(limits.min_rows, training.n_rows)
    if least > 1 and not rules and len(paths.counts):
        warn_user(
            f"No rule has {least} of {training.n_rows} rows inside and as many outside. The model has no rules; use a "
            f"smaller {Parameter('min_samples_leaf')}."
        )

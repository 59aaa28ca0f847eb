"""Settings and rows in, the rows in bins and then the paths of their forest out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from numbers import Integral

import numpy as np

from pysirus import _core
from pysirus._bins.cuts import ALL_MISSING, Binned, Cuts, Grids, bin_table
from pysirus._bins.numeric import line_sums, lines_of, may_slope, with_grids
from pysirus._data.table import Feature, Table
from pysirus._families.responses import IntegerRows, Response
from pysirus._forest.forest import Paths, Recipe
from pysirus._learn.constraints import ConstraintParams, order_columns, read_given, rows_of_given
from pysirus._learn.training import MemoryTraining, Training
from pysirus._parameters import ParameterError, to_rows, to_share
from pysirus._runtime.console import show_trees, warn_user
from pysirus._terms.allowed import Constraints, Span, Vector, condition_vector, independent_columns, rule_vector
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import rule_of, rules_of
from pysirus._terms.slope import slope_of
from pysirus._terms.term import Term
from pysirus._text.format import one_line
from pysirus._text.message import Parameter
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import with_outputs

# Rows that a tree draws at most, where their number is not set: in the first forest of tuned models, and on residuals.
# On large tables 1,000 rows to 10,000 cost no error on average, and the fewer, the more stable and the faster
# (docs/rows.md). Where a class has one row in a hundred 1,000 are too few; 5,000 leave the tables of the paper as they
# are, and so do 3,000 on residuals, where a tree draws three tenths of the rows.
MOST_DRAWN = 5_000
MOST_IN_STAGES = 3_000
NO_PATHS = Paths(np.zeros((0, 4), np.int32), np.zeros(0, np.int64), 0)


@dataclass(frozen=True)
class Settings:
    """How rows are put into bins and how trees are grown on them."""

    seed: int
    n_bins: int = 10
    discrete_limit: int = 10
    max_depth: int = 2
    max_features: int | float | str | None = None
    min_node_size: int = 5
    max_samples: float | None = None  # a share of the rows, or a number of them
    draws_few: bool = False  # whether all trees draw at most MOST_DRAWN rows, not only those of stages
    n_trees: int | None = None  # None: until two such forests would share 1 - alpha of their rules
    alpha: float = 0.05
    known: ConstraintParams = field(default=ConstraintParams(), compare=False)
    n_threads: int = 1
    verbose: int = 0
    device: str = "cpu"  # or "gpu"
    continuous: frozenset[str] = frozenset()  # columns with cuts at quantiles, however few values some rows have
    stop: _core.StopFlag | None = field(default=None, compare=False)  # that ends the forests of other threads
    slopes: bool = False  # whether slopes may be selected

    def recipe(self, n_rows: int) -> Recipe:
        """How trees on this many rows are grown. Who says how many rows a tree draws is not held to a limit."""
        free = self.max_samples is not None
        return Recipe(
            seed=self.seed,
            max_depth=self.max_depth,
            max_features=self.max_features,
            min_node_size=self.min_node_size,
            max_samples=to_share("max_samples", self.max_samples, n_rows),
            most_drawn=MOST_DRAWN if self.draws_few and not free else None,
            most_in_stages=None if free else MOST_IN_STAGES,
            in_blocks=isinstance(self.max_samples, Integral) and self.max_samples < n_rows,
            n_threads=self.n_threads,
            device=self.device,
            stop=self.stop,
        )

    def check_columns(self, n_columns: int) -> None:
        """Reject more candidate columns than the table has."""
        if isinstance(self.max_features, Integral) and self.max_features > n_columns:
            raise ParameterError(
                f"{Parameter('max_features')} must be at most the number of columns ({n_columns}), got "
                f"{self.max_features}."
            )


# ------------------------------------------------------------------------------------------------------------- bins


def bin_rows(
    table: Table, response: Response, target: str, settings: Settings, *, grids: Grids | None = None
) -> MemoryTraining:
    """Put a table into bins; where these rows are some of others, beside their places on the ``grids`` of those."""
    settings.check_columns(table.n_columns)
    constraints = settings.known.read(table.columns, response.labels)
    table = order_columns(table, constraints)
    binned = bin_table(
        table,
        response,
        n_bins=settings.n_bins,
        discrete_limit=settings.discrete_limit,
        n_threads=settings.n_threads,
        continuous=settings.continuous,
    )
    constraints, required = read_given(settings.known, constraints, binned.cuts)
    binned = with_given(binned, rows_of_given(required), table)
    sloped = sloped_columns(binned.cuts, required, settings)
    if sloped or grids:
        binned = with_grids(binned, table, sloped, grids)
    features = features_of(binned.cuts)
    return MemoryTraining(
        binned,
        response,
        settings.seed,
        features,
        table.names is not None,
        target,
        constraints=constraints,
        required=required,
        columns=table.recipe,
        table=table,
        lines=lines_of(binned.cuts, binned.grids, line_sums(binned, IntegerRows(response))),
        may_slope=candidates_of(binned, settings),
        n_threads=settings.n_threads,
    )


def sloped_columns(cuts: Sequence[Cuts], required: Sequence[Term], settings: Settings) -> frozenset[int]:
    """The numbers of the columns whose numbers matter: those that may have a slope, and those that must."""
    found = {i for i, own in enumerate(cuts) if settings.slopes and may_slope(own)}
    return frozenset(found.union(*(term.columns for term in required if not term.is_binary)))


def candidates_of(binned: Binned, settings: Settings) -> frozenset[int]:
    """The numbers of the columns whose slopes may be selected."""
    return frozenset(i for i in binned.grids if settings.slopes and may_slope(binned.cuts[i]))


def with_given(binned: Binned, rules: Sequence[Term], table: Table) -> Binned:
    """Bins with a row for each of some rules, which says where it holds."""
    if not rules:
        return binned
    holds = np.array([rule.holds(table) for rule in rules], dtype=np.uint8)
    places = {rule.key: len(binned.cuts) + i for i, rule in enumerate(rules)}
    return replace(binned, bins=np.concatenate([binned.bins, holds]), given=places)


def features_of(cuts: Sequence[Cuts]) -> tuple[Feature, ...]:
    """What a model remembers of the columns."""
    columns = [own.column for own in cuts]
    return tuple(Feature(c.name, c.kind, c.levels, c.other, c.is_date) for c in columns)


# ------------------------------------------------------------------------------------------------------------ forest


def has_splits(training: Training) -> bool:
    """Whether there is anything to split and to explain."""
    return not training.is_constant and bool(training.binned.split_offset[-1])


def grow_paths(training: Training, settings: Settings, *, if_constant: str, mean: str) -> Paths:
    """Grow the forest, unless there is nothing to split or to explain, which is said.

    ``if_constant`` says what a constant response is, ``mean`` what is predicted then.
    """
    if unknown := [f"'{c.column.name}'" for c in training.binned.cuts if c.idle == ALL_MISSING]:
        shown = one_line(", ".join(unknown[:5])) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
        warn_user(f"All values are missing in {shown}: no rule can use it.")
    if has_splits(training):
        paths = _grow(training, settings)
        if len(paths.counts):
            return paths
        size = f"{Parameter('min_node_size')} ({settings.min_node_size})"
        reason = f"no node has more than {size} rows and a split that separates them"
    else:
        reason = if_constant if training.is_constant else "every column is constant"
    warn_user(f"There are no rules to find: {reason}. The model predicts the {mean}.")
    return NO_PATHS


def _grow(training: Training, settings: Settings) -> Paths:
    forest = training.forest(training.with_lines(settings.recipe(training.n_rows)))
    with show_trees(settings.verbose, settings.n_trees, 1 - settings.alpha) as progress:
        if settings.n_trees is not None:
            return forest.grow_to(settings.n_trees, progress).paths()
        return forest.grow_until_stable(settings.alpha, progress).paths()


# --------------------------------------------------------------------------------------------------------------- select

# Paths in, a short list of rules out, with their moments (the paper's rule selection and post-treatment).
#
# Down the paths, while above p0, those are kept whose rules obey the constraints and are no combination of the constant
# and of the rules before them: over the whole input space and, by default, on the training rows. Slopes, where they may
# be selected, are ranked with the rules by frequency; none is a combination of rules.


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
    *,
    together: bool = True,
) -> SelectedRules:
    """Walk down the paths and keep those that are no combination of the constant, of ``before`` and of those kept.

    ``span`` is that of ``before``; the rules that are kept are added to it. Moments are those of all rules together;
    where this is not asked for they may be those of the last ones, with all that are kept.
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
    own = set(map(id, found))
    for rule, vector in kept:
        if id(rule) in own:
            span.add(vector)
    if all(term.is_binary for term in (*every, *found)):
        moments = training.restore(sums.take([*range(len(before)), *(len(before) + chosen)]))
    else:
        # not of one rule alone: NumPy adds up its folds in another order
        moments = training.moments([*(every if together else every[-1:]), *found])
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

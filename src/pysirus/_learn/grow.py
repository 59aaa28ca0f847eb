"""Settings and rows in, the rows in bins and then the paths of their forest out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral

import numpy as np

from pysirus import _core
from pysirus._bins.cuts import ALL_MISSING, Binned, Cuts, bin_table
from pysirus._bins.lines import line_sums, lines_of, may_slope, with_grids
from pysirus._bins.number_grid import Grids
from pysirus._data.table import Feature, Table
from pysirus._families.integer_rows import IntegerRows
from pysirus._families.responses import Response
from pysirus._forest.forest import Paths, Recipe
from pysirus._learn.constraints import ConstraintParams, order_columns, read_given, rows_of_given
from pysirus._learn.training import MemoryTraining, Training
from pysirus._parameters import ParameterError, to_share
from pysirus._runtime.console import show_trees, warn_user
from pysirus._terms.term import Term
from pysirus._text.format import one_line
from pysirus._text.message import Parameter

# Rows that a tree draws at most, where their number is not set: on residuals and, in tuned models, always. On large
# tables 1,000 rows to 10,000 cost no error on average, and the fewer, the more stable and the faster (docs/rows.md).
# Where a class has one row in a hundred 1,000 are too few; 5,000 leave the tables of the paper as they are.
MOST_DRAWN = 5_000
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
        most = MOST_DRAWN if self.max_samples is None else None
        return Recipe(
            seed=self.seed,
            max_depth=self.max_depth,
            max_features=self.max_features,
            min_node_size=self.min_node_size,
            max_samples=to_share("max_samples", self.max_samples, n_rows),
            most_drawn=most if self.draws_few else None,
            most_in_stages=most,
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

"""Training rows in, the paths of their forest out, and the rules of the paths that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysirus._bins.cuts import ALL_MISSING, Binned
from pysirus._forest.forest import GrowingForest, Paths
from pysirus._learn.settings import Settings
from pysirus._learn.training import Training
from pysirus._message import Parameter
from pysirus._plain import one_line
from pysirus._progress import show_trees
from pysirus._terms.from_path import rule_of
from pysirus._terms.rule import Rule
from pysirus._warn import warn_user

NO_PATHS = Paths(np.zeros((0, 4), np.int32), np.zeros(0, np.int64), 0)


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
        paths = _grow(training, settings).paths()
        if len(paths.counts):
            return paths
        size = f"{Parameter('min_node_size')} ({settings.min_node_size})"
        reason = f"no node has more than {size} rows and a split that separates them"
    else:
        reason = if_constant if training.is_constant else "every column is constant"
    warn_user(f"There are no rules to find: {reason}. The model predicts the {mean}.")
    return NO_PATHS


def _grow(training: Training, settings: Settings) -> GrowingForest:
    forest = training.forest(settings.recipe(training.n_rows))
    with show_trees(settings.verbose, settings.n_trees, 1 - settings.alpha) as progress:
        if settings.n_trees is not None:
            return forest.grow_to(settings.n_trees, progress)
        return forest.grow_until_stable(settings.alpha, progress)


def rules_of(paths: Paths, kept: Sequence[int], binned: Binned) -> list[Rule]:
    """The rules of some paths."""
    frequencies = paths.frequencies
    return [rule_of(paths.codes[i].tolist(), binned, float(frequencies[i])) for i in kept]

"""The fit as code: rows in, a model out. One walk, wherever the rows lie: in memory, in files, on Dask or on Spark.

What differs between them is a ``Training``, rows in bins that answer questions; what depends on the target is asked of
its family and of how that weighs rules. ``tuning/tune.py`` is the same walk with folds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from pysirus._bins.cuts import Binned
from pysirus._forest.forest import Paths
from pysirus._learn.constraints import with_required
from pysirus._learn.grow import Limits, Settings, grow_paths, select_rules, warn_if_none
from pysirus._learn.remember import with_reference
from pysirus._learn.stages import StageLimits, add_stages, stage_trees
from pysirus._learn.thresholds import with_short_thresholds
from pysirus._learn.training import Training
from pysirus._learn.weighing.base import Weighing
from pysirus._model.model import Model
from pysirus._weights.weighted import with_outputs

PutInBins = Callable[[Settings], Training]


@dataclass(frozen=True)
class FitPlan:
    """What a fit is asked to do."""

    weighing: Weighing
    settings: Settings
    size: Limits  # of the first stage, and of what each stage adds
    max_rules: int  # of all stages
    n_stages: int | None = 1  # None: until no path is left above p0
    as_tuned: bool = False  # whether stages have as many trees as in tuning; else as many as the first forest


@dataclass(frozen=True)
class Fitted:
    """A model, and what its rules were selected from."""

    model: Model
    paths: Paths
    cuts: Binned  # without rows


def fit(put_in_bins: PutInBins, plan: FitPlan, *, strict: bool = True) -> Fitted:
    """Bins, forest, selection, outputs and weights, stages; then what readers and later rows need.

    A required rule that cannot be kept is an error where the fit is ``strict``, and is left out in a fold.
    """
    with closing(put_in_bins(plan.settings)) as rows:
        model, paths = learn_list(rows, plan, strict=strict)

        # The model: its numbers as short as they part the same rows, and what later rows are compared with.
        model = with_reference(with_short_thresholds(model, rows), rows)
        return Fitted(model, paths, rows.binned.without_rows())


def learn_list(rows: Training, plan: FitPlan, *, strict: bool = True) -> tuple[Model, Paths]:
    """The model of rows in bins, its thresholds where the quantiles are, and the paths of its first forest."""
    weighing, family, settings = plan.weighing, plan.weighing.family, plan.settings

    # Bins: cuts at the quantiles of each column, and what the user knows, on these rows.
    training = with_required(rows, family.link, strict=strict, min_rows=plan.size.min_rows)

    # Rule generation: the paths of a forest of shallow trees, and how often each occurs.
    paths = grow_paths(training, settings, if_constant=family.if_constant, mean=family.mean_name)

    # Rule selection and post-treatment: frequent paths that are no combinations of those before them.
    selected = select_rules(training, paths, plan.size)
    warn_if_none(selected.rules, training, paths, plan.size)

    # Rule aggregation: the means inside and outside of each rule, then weights that are not negative.
    rules = with_outputs(selected.rules, selected.moments, training.response)
    first = weighing.weigh(training, rules, selected.moments, [len(rules)])

    # Stages: the same on what the list leaves unexplained (docs/stages.md). One stage is the paper.
    recipe, n_trees = settings.recipe(training.n_rows), paths.n_trees
    if plan.as_tuned:
        n_trees = min(stage_trees(training.n_rows, recipe), n_trees)
    limits = StageLimits(plan.n_stages, plan.size, max(plan.max_rules, len(rules)), paths.n_trees, n_trees)
    stages = add_stages(training, first, selected.span, weighing=weighing, recipe=recipe, limits=limits)

    weighted = weighing.describe(training, stages[-1])
    return weighing.model(training, weighted, 0, paths.n_trees + (len(stages) - 1) * n_trees), paths


def learn_sample(put_in_bins: PutInBins, plan: FitPlan) -> Model:
    """The model of some of the rows, without what later rows are compared with."""
    with closing(put_in_bins(plan.settings)) as rows:
        return with_short_thresholds(learn_list(rows, plan, strict=False)[0], rows)

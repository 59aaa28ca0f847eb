"""The fit as code: rows in, a model out. One walk, wherever the rows lie: in memory, in files, on Dask or on Spark.

What differs between them is a ``Training``, rows in bins that answer questions; what depends on the target is asked of
its family and of how that weighs rules. ``tune.py`` is the same walk with folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import count, islice

from pysirus._bins.cuts import Binned
from pysirus._families.base import Family
from pysirus._families.classes import Multinomial
from pysirus._families.numbers import LogMean
from pysirus._families.of_model import ClassShares, Cox
from pysirus._forest.forest import Paths, Recipe
from pysirus._learn.by_cox import ByCox
from pysirus._learn.by_likelihood import ClassesByLikelihood, MeansByLikelihood
from pysirus._learn.constraints import with_required
from pysirus._learn.grow import Limits, Settings, grow_paths, select_rules, warn_if_none
from pysirus._learn.remember import with_reference
from pysirus._learn.training import Training, with_short_thresholds
from pysirus._learn.weigh import ByRidge, Equally, Weighing
from pysirus._model.model import Model
from pysirus._terms.allowed import Span
from pysirus._weights.weighted import WeightedPrefixes, with_outputs

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


# ------------------------------------------------------------------------------------------------------------- stages

# A list of rules in, the same list with corrections out (docs/method.md, "Stages"; docs/stages.md). A forest is grown
# on what the list leaves unexplained: the residuals of its prediction, shrunk by a factor of 0.85. Its trees try all
# features at every node and draw 30% of the rows, up to a limit. Its frequent paths that are not combinations of any
# rule kept so far, and that have enough rows inside and outside, become corrections: rules whose outputs are the means
# of these residuals inside and outside. Then all weights are fitted again together on the response. One stage is the
# paper.

# The share of the rows that a tree on residuals draws. Trees that try every feature find what corrects most, but if all
# rows are drawn they are too much alike, and the most frequent path hangs on a few rows (stability of Housing 0.73);
# with three tenths it comes back (0.83). With a tenth, or half of the rows, lists are farther from the ideal on average
# (docs/stages-study.md).
STAGE_SAMPLES = 0.3

# The fewest rows inside and outside of a rule of a list with stages, where no number is set: one that rests on a row or
# two explains them and no others. More (20 rows, 5% of them) was closer to the ideal by at most 0.011 on NMES,
# Sacramento and Wage (docs/evidence.md), and would keep stages from finding small groups.
LEAST_ROWS = 5

# Trees of a stage in tuned models: the most frequent path of a forest is known with fewer trees than its first fifty,
# and with half of them where trees are held to a number of rows (docs/rows.md).
STAGE_TREES, FEW_STAGE_TREES = 2_000, 1_000


def stage_trees(n_rows: int, recipe: Recipe) -> int:
    """Trees of a stage in a tuned model of so many rows."""
    most = recipe.most_in_stages
    limited = most is not None and STAGE_SAMPLES * recipe.max_samples * n_rows > most
    return FEW_STAGE_TREES if limited else STAGE_TREES


@dataclass(frozen=True)
class StageLimits:
    """How far a list is corrected."""

    n_stages: int | None  # in all; None: until no path is left or the list is full
    each: Limits  # of what a stage keeps
    max_rules: int  # of the whole list
    first_tree: int  # of the second stage: trees are numbered on
    n_trees: int  # of each stage


def stage_recipe(recipe: Recipe, n_features: int) -> Recipe:
    """How trees on residuals are grown: all features at every node where no number is set, and fewer rows."""
    return replace(
        recipe,
        max_features=recipe.max_features or n_features,
        max_samples=STAGE_SAMPLES * recipe.max_samples,
        most_drawn=recipe.most_in_stages,
    )


def add_stages(
    training: Training,
    first: WeightedPrefixes,
    span: Span,
    *,
    weighing: Weighing,
    recipe: Recipe,
    limits: StageLimits,
) -> list[WeightedPrefixes]:
    """The weighted list after the first stage, the second, ...; ``span`` is that of the rules of the first."""
    if limits.n_stages == 1 or not first.rules:
        return [first]
    stages = _corrections(training, first, span, weighing, stage_recipe(recipe, len(training.binned.cuts)), limits)
    return [first, *islice(stages, None if limits.n_stages is None else limits.n_stages - 1)]


def _corrections(
    training: Training,
    weighted: WeightedPrefixes,
    span: Span,
    weighing: Weighing,
    recipe: Recipe,
    limits: StageLimits,
) -> Iterator[WeightedPrefixes]:
    """Ends when no path is left above p0 or the list is full."""
    for stage, first_tree in zip(count(2), count(limits.first_tree, limits.n_trees)):
        room = limits.max_rules - len(weighted.rules)
        unexplained = training.on_residuals(weighing.residual(training.response, weighted)) if room > 0 else None
        if unexplained is None:
            return
        own = unexplained.with_lines(recipe, weighted.rules)
        paths = unexplained.forest(own, first_tree).grow_to(limits.n_trees).paths()
        most = room if limits.each.p0 is not None else min(limits.each.n_rules, room)
        each = replace(limits.each, n_rules=most)
        together = weighing.from_moments
        kept = select_rules(training, paths, each, span, weighted.rules, unexplained, together=together)
        if not kept.rules:
            return
        new = with_outputs(kept.rules, unexplained.moments(kept.rules), unexplained.response)
        new = weighing.with_data(new, kept.moments, training.response)
        rules = [*weighted.rules, *(replace(rule, stage=stage) for rule in new)]
        weighted = weighing.weigh(training, rules, kept.moments, [len(rules)])
        yield weighted


# -------------------------------------------------------------------------------------------------------------- weights


@singledispatch
def weighing_of(family: Family) -> Weighing:
    """How the rules of a model of this family are weighed: by ridge regression where nothing else is said here."""
    return ByRidge(family)


weighing_of.register(LogMean, MeansByLikelihood)
weighing_of.register(Multinomial, ClassesByLikelihood)
weighing_of.register(ClassShares, Equally)
weighing_of.register(Cox, ByCox)

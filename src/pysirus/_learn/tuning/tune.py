"""Tuning as code: rows and folds in, the model of the chosen list out (the paper's section on tuning).

The walk of ``_learn/fit.py`` with a choice in its midst: the same fit on the rows of every fold says how error and
stability go with the size of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from pysirus._learn.fit import Fitted, PutInBins
from pysirus._learn.grow import grow_paths
from pysirus._learn.required import with_required
from pysirus._learn.thresholds import with_short_thresholds
from pysirus._learn.training import Training
from pysirus._learn.tuning.choose import Choice, Repetition, Whole, choose, compare_folds, is_settled
from pysirus._learn.tuning.fold import FoldResult, TuningPlan
from pysirus._learn.tuning.held_out import judge_choice
from pysirus._model.model import Model
from pysirus._model.tuning import Tuning, TuningPath
from pysirus._terms.listing import RuleSet
from pysirus._weights.weighted import WeightedPrefixes

# all rows in bins and the number of trees in, what the folds of one repetition after the other learned out
FitFolds = Callable[[Any, int], Iterator[Sequence[FoldResult]]]


def tune(put_in_bins: PutInBins, fit_folds: FitFolds, plan: TuningPlan) -> Fitted:
    """Fit on everything, tune on folds; the model of the choice."""
    weighing = plan.weighing
    with closing(put_in_bins(plan.settings)) as rows:
        # As in a fit: bins, forest, selection, outputs; then the weights of every prefix of a long list.
        training = with_required(rows, weighing.family.link)
        family = weighing.family
        paths = grow_paths(training, plan.settings, if_constant=family.if_constant, mean=family.mean_name)
        weighted = weighing.describe(training, plan.plain_list(training, paths))

        # The same in every fold, repeated until the choice is settled, and the model of that choice.
        if weighted.rules:
            model = _model_of_choice(Whole(training, paths, weighted), fit_folds(training, paths.n_trees), plan)
        else:
            model = _without_rules(training, weighted, paths.n_trees, plan)

        # Its numbers as short as they part the same rows.
        return Fitted(with_short_thresholds(model, training), paths, training.binned.without_rows())


def _model_of_choice(whole: Whole, folds: Iterator[Sequence[FoldResult]], plan: TuningPlan) -> Model:
    """The model of the best choice, with what the held-out rows say of it; they are gone when it is returned."""
    chosen, repetitions = _repeat(whole, folds, plan)
    model = chosen.model()
    found = judge_choice(chosen.uses(repetitions), plan.weighing.family, len(model.selected))
    return replace(model, facts=replace(model.facts, max_rules=plan.max_rules, out_of_fold=found.to_facts()))


def _repeat(whole: Whole, folds: Iterator[Sequence[FoldResult]], plan: TuningPlan) -> tuple[Choice, list[Repetition]]:
    """The best choice, and the repetitions that it took."""
    repetitions: list[Repetition] = []
    for own in folds:
        repetitions.append(compare_folds(own, plan))
        if plan.n_repeats is None:
            chosen = choose(whole, repetitions, plan)
            if is_settled(chosen.uses(repetitions), plan):
                return chosen, repetitions
    return choose(whole, repetitions, plan), repetitions


def _without_rules(training: Training, weighted: WeightedPrefixes, n_trees: int, plan: TuningPlan) -> Model:
    nothing = np.zeros(0)
    path = TuningPath(nothing, nothing, nothing, nothing, nothing, nothing, nothing, plan.n_repeats or 1)
    tuning = Tuning(path, 1.0, 1.0, 1.0, plan.criterion, 0, 0.0, RuleSet(), ())
    return replace(plan.weighing.model(training, weighted, 0, n_trees), tuning=tuning)

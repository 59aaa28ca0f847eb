"""Folds in, the model of the chosen number of rules out: the plain list, or one of its rivals that is nearer the ideal.

Three ways to choose are compared where stages are asked for: one p0 for all folds (the paper), one number of rules, one
number of stages. The winner becomes the model; the models of all its sizes are kept with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pysirus._forest.forest import Paths
from pysirus._model.model import Model
from pysirus._model.tuning import Size, Tuning, TuningPath, distance_to_ideal
from pysirus._rules.rule import RuleSet
from pysirus._training.grow import grow_paths
from pysirus._training.thresholds import with_short_thresholds
from pysirus._training.training import Training
from pysirus._tuning.fold import FoldResult
from pysirus._tuning.growing import growing_path
from pysirus._tuning.held_out import Use, judge_choice
from pysirus._tuning.path import average, choose_accurate, choose_stable, walk
from pysirus._tuning.plan import STAGE_TREES, TuningPlan
from pysirus._warn import warn_user
from pysirus._weights.weighted import WeightedPrefixes

# the number of trees in, what each fold of each repetition learned out
FitFolds = Callable[[int], Sequence[Sequence[FoldResult]]]


@dataclass(frozen=True)
class Choice:
    """A way to choose: the error and stability that it promises, how its model is made, and which list a fold uses."""

    error: float
    stability: float
    model: Callable[[], Model]
    uses: Callable[[FoldResult], Use]

    def badness(self, criterion: str) -> float:
        """What makes a choice worse than another."""
        return self.error if criterion == "error" else float(distance_to_ideal(self.error, self.stability))


def tune(training: Training, fit_folds: FitFolds, changed: float, plan: TuningPlan) -> tuple[Model, Paths]:
    """Fit on everything, tune on folds; the model of the choice, and the paths of its first forest.

    ``changed`` is the share of the rows that a fold leaves out.
    """
    kind = plan.kind
    paths = grow_paths(training, plan.settings, if_constant=kind.if_constant, mean=kind.mean_name)
    weighted = kind.describe(training, plan.plain_list(training, paths))
    if not weighted.rules:
        return _without_rules(training, weighted, paths.n_trees, plan), paths
    model = _choose(training, paths, weighted, fit_folds(paths.n_trees), changed, plan)
    return with_short_thresholds(model, training), paths  # the held-out rows are gone by now


def _choose(
    training: Training,
    paths: Paths,
    weighted: WeightedPrefixes,
    folds: Sequence[Sequence[FoldResult]],
    changed: float,
    plan: TuningPlan,
) -> Model:
    """The model of the best choice, and what the held-out rows say of it."""
    plain = _tune_p0(training, weighted, paths.n_trees, folds, changed, plan)
    p0 = plain.tuned.p0
    choices = [
        Choice(
            float(plain.facts["cv_error"]), float(plain.facts["cv_stability"]), lambda: plain, lambda fold: fold.use(p0)
        )
    ]
    if plan.with_stages:
        choices += [_choose_length(plain, folds, plan), _choose_stages(training, paths, plain, folds, plan)]
    chosen = min(choices, key=lambda choice: choice.badness(plan.criterion))
    model = chosen.model()
    uses = [[chosen.uses(fold) for fold in own] for own in folds]
    found = judge_choice(uses, plan.kind, len(model.selected))
    return replace(model, facts={**model.facts, "max_rules": plan.max_rules, "out_of_fold": found.to_facts()})


def _without_rules(training: Training, weighted: WeightedPrefixes, n_trees: int, plan: TuningPlan) -> Model:
    nothing = np.zeros(0)
    path = TuningPath(nothing, nothing, nothing, nothing, nothing, nothing, nothing, plan.n_repeats)
    tuning = Tuning(path, 1.0, 1.0, 1.0, plan.criterion, 0, 0.0, RuleSet(), ())
    return replace(plan.kind.model(training, weighted, 0, n_trees), tuning=tuning)


def _tune_p0(
    training: Training,
    weighted: WeightedPrefixes,
    n_trees: int,
    folds: Sequence[Sequence[FoldResult]],
    changed: float,
    plan: TuningPlan,
) -> Model:
    """The paper's choice: walk p0, take the full data's rules above the chosen one, and remember all sizes."""
    repetitions = [
        walk([fold.plain for fold in own], plan.kind.pooled_error([fold.judged for fold in own])) for own in folds
    ]
    path = average(repetitions, plan.max_rules)
    p0 = choose_stable(repetitions, plan.max_rules) if plan.criterion == "stability" else choose_accurate(path)
    frequencies = np.array([rule.frequency for rule in weighted.rules])
    size = int((frequencies > p0).sum())
    if size == 0:
        warn_user(f"No rule of the full data is above the chosen p0 = {p0:.4f}; the most frequent one is kept.")
        size = 1
    edges = np.append(frequencies, 0.0)
    sizes = []
    n_positive = (weighted.weights > 0).sum(axis=1)
    for k in range(1, len(weighted.rules) + 1):
        if k > size and n_positive[k] > plan.max_rules:
            break
        own_p0 = p0 if k == size else float((edges[k - 1] + edges[k]) / 2)
        sizes.append(_size(weighted, k, own_p0, path, path.at(own_p0)))
    chosen = sizes[size - 1]
    choice = (p0, chosen.error, chosen.stability, plan.criterion, path.at(chosen.p0), changed)
    tuning = Tuning(path, *choice, RuleSet(weighted.rules), tuple(sizes))
    return replace(plan.kind.model(training, weighted, size, n_trees), tuning=tuning).at_size(size)


def _size(weighted: WeightedPrefixes, n_rules: int, p0: float, path: TuningPath, at: int) -> Size:
    """A size of a list, with what an entry of the path says of it."""
    return Size(
        n_rules=n_rules,
        p0=p0,
        error=float(path.error[at]),
        stability=float(path.stability[at]),
        weights=tuple(weighted.weights[n_rules, :n_rules].tolist()),
        intercept=weighted.intercepts[n_rules],
        penalty=float(weighted.penalties[n_rules]),
        hazard=None if weighted.hazards is None else tuple(weighted.hazards[n_rules].tolist()),
        n_dust=weighted.n_dust[n_rules] if weighted.n_dust else 0,
    )


def _choose_length(plain: Model, folds: Sequence[Sequence[FoldResult]], plan: TuningPlan) -> Choice:
    """The same number of rules in every fold, without corrections."""
    path, step = growing_path(
        [[fold.by_length for fold in own] for own in folds], plan.kind, plan.max_rules, plan.criterion
    )

    def model() -> Model:
        tuning, last = plain.tuned, len(path) - 1
        least = max(1, sum(rule.given for rule in tuning.rules)) - 1  # no list is shorter than what is required
        at = [min(max(0, k - least), last) for k in range(len(tuning.sizes))]
        sizes = [
            replace(size, error=float(path.error[k]), stability=float(path.stability[k]))
            for k, size in zip(at, tuning.sizes)
        ]
        own = min(step + least, len(sizes) - 1)
        chosen = sizes[own]
        choice = (chosen.p0, chosen.error, chosen.stability, tuning.criterion, own)
        tuned = Tuning(path, *choice, tuning.changed, tuning.rules, tuple(sizes))
        return replace(plain, tuning=tuned).at_size(own + 1)

    return Choice(float(path.error[step]), float(path.stability[step]), model, lambda fold: fold.by_length.use(step))


def _choose_stages(
    training: Training, paths: Paths, plain: Model, folds: Sequence[Sequence[FoldResult]], plan: TuningPlan
) -> Choice:
    """The same number of stages in every fold, then on the full data; every prefix of that list is a size."""
    lists = [[fold.staged for fold in own if fold.staged is not None] for own in folds]
    path, step = growing_path(lists, plan.kind, plan.max_rules, plan.criterion)

    def model() -> Model:
        stages = plan.staged_lists(training, paths, plan.settings.recipe(training.n_rows))
        rules = stages[-1].rules
        weighted = plan.kind.weigh(training, rules, training.moments(rules), range(len(rules) + 1))
        weighted = plan.kind.describe(training, weighted)
        lowest = np.minimum.accumulate([rule.frequency for rule in rules]).tolist()
        sizes = [
            _size(weighted, k, lowest[k - 1], path, min(rules[k - 1].stage, len(path)) - 1)
            for k in range(1, len(rules) + 1)
        ]
        size = len(stages[min(step, len(stages) - 1)].rules)
        choice = (lowest[size - 1], float(path.error[step]), float(path.stability[step]), plan.criterion, step)
        tuning = Tuning(path, *choice, plain.tuned.changed, RuleSet(weighted.rules), tuple(sizes))
        n_trees = paths.n_trees + (len(stages) - 1) * min(STAGE_TREES, paths.n_trees)
        return replace(plan.kind.model(training, weighted, size, n_trees), tuning=tuning).at_size(size)

    def uses(fold: FoldResult) -> Use:
        assert fold.staged is not None
        return fold.staged.use(step)

    return Choice(float(path.error[step]), float(path.stability[step]), model, uses)

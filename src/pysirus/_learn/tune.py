"""Repetitions of the folds in, the best way to choose a list out, and whether they settle it.

One p0 for all folds is the paper's way; where stages are asked for it is compared with one number of rules and one
number of stages, of rules and of rules and slopes. The winner becomes the model; the models of all its sizes are kept
with it.

Tuning as code: rows and folds in, the model of the chosen list out (the paper's section on tuning).

The walk of ``_learn/fit.py`` with a choice in its midst: the same fit on the rows of every fold says how error and
stability go with the size of the list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.row_metrics import Yardstick
from pysirus._forest.forest import Paths
from pysirus._learn.constraints import with_required
from pysirus._learn.fit import Fitted, PutInBins, stage_trees
from pysirus._learn.folds import FoldResult, Repeated, TuningPlan
from pysirus._learn.grow import grow_paths, warn_if_none
from pysirus._learn.held_out import (
    Chosen,
    FoldPrediction,
    HeldOutRows,
    PredictionQuery,
    Steps,
    Use,
    average,
    choose_accurate,
    choose_stable,
    chosen_lists,
    dice_by_fold,
    growing_path,
    growing_steps,
    walk,
)
from pysirus._learn.remember import with_reference
from pysirus._learn.training import Training, with_short_thresholds
from pysirus._learn.weigh import Weighing
from pysirus._model.model import Model
from pysirus._model.tuning import IDEAL, Ideal, Size, Tuning, TuningPath
from pysirus._parameters import to_rows
from pysirus._runtime.console import warn_user
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._weights.weighted import WeightedPrefixes

MOST_REPEATS = 10
# The largest standard error over folds, of error and of stability, that ends the repetitions. On seven tables of 209 to
# 20,000 rows the distance of the choice to the ideal point is then within 0.015 of that of ten (docs/tuning.md).
SETTLED = 0.02
# The same of the distance to the ideal point, which is what is chosen by: where the error is large, stability hardly
# moves it. Tables below some ten thousand rows do not come so far (docs/tuning.md).
SETTLED_DISTANCE = 0.005


@dataclass(frozen=True)
class Repetition:
    """The folds of a repetition, and how their error and stability go along each way to choose."""

    held: HeldOutRows
    folds: Sequence[FoldResult]
    by_p0: Steps
    by_length: NDArray[np.float64] | None  # where stages are asked for
    by_stage: tuple[NDArray[np.float64], ...] = ()  # of each kind


def compare_folds(repeated: Repeated, plan: TuningPlan) -> Repetition:
    """What the folds of a repetition say."""
    weighing, (held, folds) = plan.weighing, repeated
    by_p0 = walk([fold.plain for fold in folds], weighing.pooled_error([fold.held_out_loss for fold in folds]))
    if not plan.with_stages:
        return Repetition(held, folds, by_p0, None)
    by_length = growing_steps([fold.by_length for fold in folds], weighing)
    by_stage = tuple(growing_steps(kind, weighing) for kind in zip(*(fold.staged for fold in folds)))
    return Repetition(held, folds, by_p0, by_length, by_stage)


def is_decided(uses: Sequence[Sequence[Use]], plan: TuningPlan) -> bool:
    """Whether error and stability of the lists that folds use, [repetition][fold], are known well enough.

    The criterion "error" asks for standard errors over repetitions, of which there are none with a single one.
    """
    by_error = plan.criterion == "error"
    if len(uses) < (2 if by_error else 1):
        return False
    of_error, of_stability, of_distance = fold_errors(uses, plan.weighing, plan.ideal)
    return max(of_error, of_stability) <= SETTLED or (not by_error and of_distance <= SETTLED_DISTANCE)


def fold_errors(uses: Sequence[Sequence[Use]], weighing: Weighing, ideal: Ideal = IDEAL) -> tuple[float, float, float]:
    """The standard errors, over the folds of all repetitions, of the error and of the stability of their lists.

    The error of a fold is that of its own held-out rows. The stability of a fold is its mean index with the other folds
    of its repetition; it takes part in as many pairs as there are others, so it counts twice (Hoeffding). The third is
    that of the distance to the ideal point, which moves with both as its slopes say.
    """
    errors = np.array(
        [float(weighing.pooled_error([use.held_out_loss])(np.array([[use.entry]]))[0]) for own in uses for use in own]
    )
    shared = np.array([index for own in uses for index in dice_by_fold([use.rules for use in own])])
    by_error, by_stability = ideal.slopes(errors.mean(), shared.mean())
    both = by_error * errors + by_stability * 2 * shared
    return _standard_error(errors), 2 * _standard_error(shared), _standard_error(both)


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


# ----------------------------------------------------------------------------------------------------- ways to choose


@dataclass(frozen=True)
class Choice:
    """A way to choose: the error and stability that it promises, how its model is made, and which list a fold uses."""

    name: str
    error: float
    stability: float
    model: Callable[[], Model]
    use: Callable[[FoldResult], Use]

    def objective(self, plan: TuningPlan) -> float:
        """What the better choice has less of."""
        return self.error if plan.criterion == "error" else float(plan.ideal.distance(self.error, self.stability))

    def uses(self, repetitions: Sequence[Repetition]) -> list[list[Use]]:
        """The lists that the folds use."""
        return [[self.use(fold) for fold in own.folds] for own in repetitions]


@dataclass(frozen=True)
class Whole:
    """What was learned from all rows: they, the paths of the first forest, and the prefixes of its list."""

    training: Training
    paths: Paths
    weighted: WeightedPrefixes


def choose(whole: Whole, repetitions: Sequence[Repetition], plan: TuningPlan) -> list[Choice]:
    """All choices, the best one first."""
    plain = _choose_p0(whole, repetitions, plan)
    choices = [plain]
    if plan.with_stages:
        choices.append(_choose_length(plain, repetitions, plan))
    if plan.with_stages and _may_start_stages(whole, plan):
        choices += [_choose_stages(whole, repetitions, plan, kind) for kind in range(len(plan.kinds))]
    return sorted(choices, key=lambda choice: choice.objective(plan))


def _may_start_stages(whole: Whole, plan: TuningPlan) -> bool:
    """Whether a rule of the plain list has the rows that stages ask for; else the first stage may be empty."""
    least = to_rows(plan.each(1, staged=True).min_rows, whole.training.n_rows)
    if whole.training.may_slope and whole.paths.lines.any():
        return True
    return any(rule.given or min(rule.n_inside or 0, rule.n_outside or 0) >= least for rule in whole.weighted.rules)


def _share_left_out(repetitions: Sequence[Repetition]) -> float:
    """The share of the rows that a fold leaves out, on average."""
    return float(np.mean([fold.share_left_out for own in repetitions for fold in own.folds]))


def _choose_p0(whole: Whole, repetitions: Sequence[Repetition], plan: TuningPlan) -> Choice:
    """The paper's choice: walk p0, take the full data's rules above the chosen one, and remember all sizes."""
    steps = [own.by_p0 for own in repetitions]
    path = average(steps, plan.max_rules, plan.ideal)
    stable = plan.criterion == "stability"
    p0 = choose_stable(steps, plan.max_rules, plan.ideal) if stable else choose_accurate(path)
    changed, at = _share_left_out(repetitions), path.at(p0)
    error, stability = float(path.error[at]), float(path.stability[at])

    def use(fold: FoldResult, p0: float = p0) -> Use:
        return fold.use(p0)

    def model() -> Model:
        weighted = whole.weighted
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
            own = _size(weighted, k, own_p0, path, path.at(own_p0))
            sizes.append(with_returned(own, weighted.rules, repetitions, partial(use, p0=own_p0)))
        kept = (RuleSet(weighted.rules), tuple(sizes), _n_folds(repetitions))
        tuning = Tuning(path, p0, error, stability, plan.criterion, at, changed, *kept)
        found = plan.weighing.model(whole.training, weighted, size, whole.paths.n_trees)
        return replace(found, tuning=tuning).at_size(size)

    return Choice("one p0", error, stability, model, use)


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
        n_pruned=weighted.n_pruned[n_rules] if weighted.n_pruned else 0,
    )


def with_returned(
    size: Size, rules: Sequence[FittedTerm], repetitions: Sequence[Repetition], use: Callable[[FoldResult], Use]
) -> Size:
    """The size, with the number of folds that have each of its rules in the list that they use."""
    found = Counter(key for own in repetitions for fold in own.folds for key in use(fold).rules)
    return replace(size, returned=tuple(found[rule.key] for rule in rules[: size.n_rules]))


def _n_folds(repetitions: Sequence[Repetition]) -> int:
    return sum(len(own.folds) for own in repetitions)


def _choose_length(plain: Choice, repetitions: Sequence[Repetition], plan: TuningPlan) -> Choice:
    """The same number of rules in every fold, without corrections."""
    steps = [own.by_length for own in repetitions if own.by_length is not None]
    path, step = growing_path(steps, plan.max_rules, plan.criterion, plan.ideal)

    def use(fold: FoldResult, step: int = step) -> Use:
        return fold.by_length.use(step)

    def model() -> Model:
        found = plain.model()
        tuning, last = found.tuned, len(path) - 1
        least = max(1, sum(rule.given for rule in tuning.rules)) - 1  # no list is shorter than what is required
        at = [min(max(0, k - least), last) for k in range(len(tuning.sizes))]
        sizes = [
            with_returned(
                replace(size, error=float(path.error[k]), stability=float(path.stability[k])),
                tuning.rules,
                repetitions,
                partial(use, step=k),
            )
            for k, size in zip(at, tuning.sizes)
        ]
        own = min(step + least, len(sizes) - 1)
        chosen = sizes[own]
        choice = (chosen.p0, chosen.error, chosen.stability, tuning.criterion, own)
        tuned = Tuning(path, *choice, tuning.changed, tuning.rules, tuple(sizes), tuning.n_folds)
        return replace(found, tuning=tuned).at_size(own + 1)

    found = float(path.error[step]), float(path.stability[step])
    return Choice("one number of rules", *found, model, use)


def _choose_stages(whole: Whole, repetitions: Sequence[Repetition], plan: TuningPlan, kind: int) -> Choice:
    """The same number of stages in every fold, then on the full data; every prefix of that list is a size."""
    training, paths, slopes = whole.training, whole.paths, plan.kinds[kind]
    steps = [own.by_stage[kind] for own in repetitions]
    path, step = growing_path(steps, plan.max_rules, plan.criterion, plan.ideal)
    changed = _share_left_out(repetitions)

    def use(fold: FoldResult, step: int = step) -> Use:
        return fold.staged[kind].use(step)

    def model() -> Model:
        recipe = plan.settings.recipe(training.n_rows)
        stages = plan.staged_lists(training, paths, recipe, slopes=slopes)
        rules = stages[-1].rules
        weighted = plan.weighing.describe(training, plan.weighing.weigh_stages(training, stages))
        lowest = np.minimum.accumulate([rule.frequency for rule in rules]).tolist()
        ends = [min(rule.stage, len(path)) - 1 for rule in rules]
        sizes = [
            with_returned(_size(weighted, k, lowest[k - 1], path, end), rules, repetitions, partial(use, step=end))
            for k, end in enumerate(ends, start=1)
        ]
        size = len(stages[min(step, len(stages) - 1)].rules)
        choice = (lowest[size - 1], float(path.error[step]), float(path.stability[step]), plan.criterion, step)
        tuning = Tuning(path, *choice, changed, RuleSet(weighted.rules), tuple(sizes), _n_folds(repetitions))
        n_trees = paths.n_trees + (len(stages) - 1) * min(stage_trees(training.n_rows, recipe), paths.n_trees)
        return replace(plan.weighing.model(training, weighted, size, n_trees), tuning=tuning).at_size(size)

    name = "rules and slopes in stages" if slopes else "rules in stages"
    found = float(path.error[step]), float(path.stability[step])
    return Choice(name, *found, model, use)


# all rows in bins and the number of trees in, what the folds of one repetition after the other learned out
FitFolds = Callable[[Any, int], Iterator[Repeated]]


def tune(put_in_bins: PutInBins, fit_folds: FitFolds, plan: TuningPlan) -> Fitted:
    """Fit on everything, tune on folds; the model of the choice."""
    weighing = plan.weighing
    with closing(put_in_bins(plan.settings)) as rows:
        # As in a fit: bins, forest, selection, outputs; then the weights of every prefix of a long list.
        training = with_required(rows, weighing.family.link, min_rows=plan.each(1).min_rows)
        family = weighing.family
        paths = grow_paths(training, plan.settings, if_constant=family.if_constant, mean=family.mean_name)
        weighted = weighing.describe(training, plan.plain_list(training, paths))
        warn_if_none(weighted.rules, training, paths, plan.each(1, staged=False))

        # The same in every fold, repeated until the choice is settled, and the model of that choice.
        chosen: Chosen | None = None
        if weighted.rules:
            whole = Whole(training, paths, weighted)
            model, chosen = _model_of_choice(whole, fit_folds(training, paths.n_trees), plan)
        else:
            model = _without_rules(training, weighted, paths.n_trees, plan)

        # Its numbers as short as they part the same rows, what held-out rows say of it, and what later rows are
        # compared with.
        model = with_reference(with_short_thresholds(model, training), training, chosen)
        return Fitted(model, paths, training.binned.without_rows())


def _model_of_choice(whole: Whole, folds: Iterator[Repeated], plan: TuningPlan) -> tuple[Model, Chosen]:
    """The model of the best choice, and the lists of that choice that predict held-out rows."""
    (best, *others), repetitions = _repeat(whole, folds, plan)
    model, training, family = best.model(), whole.training, plan.weighing.family
    mean = np.atleast_1d(np.asarray(whole.weighted.mean, dtype=np.float64))
    like = Yardstick(training.n_rows, training.response.scale.given, float(mean[0]))

    def lists(p0: float | None) -> Chosen:
        uses = best.uses(repetitions) if p0 is None else [[f.use(p0) for f in own.folds] for own in repetitions]
        return chosen_lists([own.held for own in repetitions], uses, family, like, plan.periods)

    def predict(p0: float | None) -> list[list[FoldPrediction]]:
        return training.ask_rows(PredictionQuery(lists(p0)))

    if plan.watch is not None:
        plan.watch(model, predict)
    every = [{"name": own.name, "error": own.error, "stability": own.stability} for own in (best, *others)]
    facts = replace(model.facts, max_rules=plan.max_rules, compared=every if others else None)
    if plan.periods is not None:
        facts = replace(facts, last_time=plan.periods.last)
        model = replace(model, tuning=replace(model.tuned, shared=plan.periods.shared))
    return replace(model, facts=facts), lists(None)


def _repeat(whole: Whole, folds: Iterator[Repeated], plan: TuningPlan) -> tuple[list[Choice], list[Repetition]]:
    """The choices, the best one first, and the repetitions that it took."""
    repetitions: list[Repetition] = []
    for own in folds:
        repetitions.append(compare_folds(own, plan))
        if plan.n_repeats is None:
            chosen = choose(whole, repetitions, plan)
            if is_decided(chosen[0].uses(repetitions), plan):
                return chosen, repetitions
    return choose(whole, repetitions, plan), repetitions


def _without_rules(training: Training, weighted: WeightedPrefixes, n_trees: int, plan: TuningPlan) -> Model:
    nothing = np.zeros(0)
    path = TuningPath(nothing, nothing, nothing, nothing, nothing, nothing, nothing, plan.n_repeats or 1, plan.ideal)
    tuning = Tuning(path, 1.0, 1.0, 1.0, plan.criterion, 0, 0.0, RuleSet(), ())
    return replace(plan.weighing.model(training, weighted, 0, n_trees), tuning=tuning)

"""Repetitions of the folds in, what each says of the lists out, and whether they settle the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysirus._learn.kinds.kind import Kind
from pysirus._learn.tuning.fold import FoldResult
from pysirus._learn.tuning.growing import growing_steps
from pysirus._learn.tuning.held_out import Use
from pysirus._learn.tuning.path import Steps, dice_by_fold, walk
from pysirus._learn.tuning.plan import TuningPlan

MOST_REPEATS = 10
# The largest standard error over folds, of error and of stability, that ends the repetitions. On seven tables of 209 to
# 20,000 rows the distance of the choice to the ideal point is then within 0.015 of that of ten (docs/tuning.md).
SETTLED = 0.02


@dataclass(frozen=True)
class Repetition:
    """The folds of a repetition, and how their error and stability go along each way to choose."""

    folds: Sequence[FoldResult]
    by_p0: Steps
    by_length: NDArray[np.float64] | None  # where stages are asked for
    by_stage: NDArray[np.float64] | None


def look_at(folds: Sequence[FoldResult], plan: TuningPlan) -> Repetition:
    """What the folds of a repetition say."""
    kind = plan.kind
    by_p0 = walk([fold.plain for fold in folds], kind.pooled_error([fold.judged for fold in folds]))
    if not plan.with_stages:
        return Repetition(folds, by_p0, None, None)
    staged = [fold.staged for fold in folds if fold.staged is not None]
    by_length = growing_steps([fold.by_length for fold in folds], kind)
    return Repetition(folds, by_p0, by_length, growing_steps(staged, kind))


def is_settled(uses: Sequence[Sequence[Use]], plan: TuningPlan) -> bool:
    """Whether error and stability of the lists that folds use, [repetition][fold], are known well enough.

    The criterion "error" asks for standard errors over repetitions, of which there are none with a single one.
    """
    least = 2 if plan.criterion == "error" else 1
    return len(uses) >= least and max(fold_errors(uses, plan.kind)) <= SETTLED


def fold_errors(uses: Sequence[Sequence[Use]], kind: Kind) -> tuple[float, float]:
    """The standard errors, over the folds of all repetitions, of the error and of the stability of their lists.

    The error of a fold is that of its own held-out rows. The stability of a fold is its mean index with the other folds
    of its repetition; it takes part in as many pairs as there are others, so it counts twice (Hoeffding).
    """
    errors = [float(kind.pooled_error([use.judged])(np.array([[use.entry]]))[0]) for own in uses for use in own]
    shared = [index for own in uses for index in dice_by_fold([use.rules for use in own])]
    return _standard_error(errors), 2 * _standard_error(shared)


def _standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))

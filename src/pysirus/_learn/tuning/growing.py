"""Growing lists in, their path out: how error and stability go on as rules, or stages of rules, are added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pysirus._learn.kinds.kind import Kind
from pysirus._learn.tuning.fold import GrowingList
from pysirus._learn.tuning.path import first_within_two_errors, mean_dice, standard_errors
from pysirus._model.tuning import TuningPath, distance_to_ideal

Floats = NDArray[np.float64]


def growing_steps(folds: Sequence[GrowingList], kind: Kind) -> Floats:
    """Number of rules, error, stability and least frequency of a repetition, at every step."""
    at = np.array([[fold.after(step) for fold in folds] for step in range(max(len(fold.in_use) for fold in folds))])
    error = kind.pooled_error([fold.judged for fold in folds])(at + [fold.first for fold in folds])
    sets = [[fold.in_use[k] for fold, k in zip(folds, row)] for row in at.tolist()]
    return np.array(
        [
            [np.mean([len(rules) for rules in step]) for step in sets],
            error,
            [mean_dice(step) for step in sets],
            [np.mean([fold.lowest[k] for fold, k in zip(folds, row)]) for row in at.tolist()],
        ]
    )


def growing_path(repetitions: Sequence[Floats], max_rules: int, criterion: str) -> tuple[TuningPath, int]:
    """The path over steps, averaged over repetitions, and the step that the criterion takes.

    "stability" takes the step nearest to the ideal point (the median over repetitions). The p0 of a step is the
    frequency of the least frequent rule so far, averaged over folds. A repetition that ended earlier stays as it is.
    """
    n_steps = max(steps.shape[1] for steps in repetitions)
    values = np.stack([np.pad(s, [(0, 0), (0, n_steps - s.shape[1])], "edge") for s in repetitions])
    values = values[:, :, values[:, 0].mean(axis=0) <= max_rules]
    mean, error = values.mean(axis=0), standard_errors(values)
    path = TuningPath(mean[3], mean[0], mean[1], mean[2], error[0], error[1], error[2], len(repetitions))
    if criterion == "error":
        return path, first_within_two_errors(path)
    nearest = distance_to_ideal(values[:, 1], values[:, 2]).argmin(axis=1)
    return path, int(np.floor(np.median(nearest)))

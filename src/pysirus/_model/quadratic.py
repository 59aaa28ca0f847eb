"""A quadratic approximation of a likelihood: what a model keeps to weigh a part of its rules again without the data.

It is of the mean loss without penalty, as a function of the intercepts and the weights of the longest list, about the
fitted point: ``linear @ z + z @ curvature @ z / 2``, less a constant. ``z`` is one intercept for each score (of two
classes one: the log-odds of the second), then one weight for each rule. Read from a file, the count of numbers is known
before anything is parsed, and the curvature must be that of a convex function, so that it can be minimised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._model.fields import Damage, ensure
from pysirus._model.moment_text import MAX_MOMENTS, number_line, read_line

LARGEST = 1e100  # of a number in a file: beyond, sums of products could overflow
ROUNDING = 1e-8  # of eigenvalues, as a share of the largest


@dataclass(frozen=True)
class Quadratic:
    """The loss near the fitted point, as a function of intercepts and weights."""

    n_scores: int
    linear: NDArray[np.float64]  # [intercept or weight]
    curvature: NDArray[np.float64]  # [intercept or weight, intercept or weight]

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return len(self.linear) - self.n_scores

    def take(self, rules: Sequence[int]) -> Quadratic:
        """The same for some of the rules, the weights of the others being zero."""
        i = np.concatenate([np.arange(self.n_scores), self.n_scores + np.asarray(rules, dtype=np.intp)])
        return Quadratic(self.n_scores, self.linear[i], self.curvature[i][:, i])

    def hold(self, n_rules: int) -> Quadratic:
        """The same for the rules after the first ``n_rules``, whose weights are 1."""
        held = np.arange(self.n_scores, self.n_scores + n_rules)
        i = np.delete(np.arange(len(self.linear)), held)
        linear = self.linear[i] + self.curvature[i][:, held].sum(axis=1)
        return Quadratic(self.n_scores, linear, self.curvature[i][:, i])


def n_scores_of(n_classes: int) -> int:
    """How many intercepts there are: of two classes one, the log-odds; of numbers one."""
    return n_classes if n_classes > 2 else 1


def quadratic_to_json(quadratic: Quadratic | None) -> dict[str, Any] | None:
    """Lines of numbers; of the symmetric matrix the lower triangle. That of a very long list is not kept."""
    if quadratic is None or quadratic.n_rules > MAX_MOMENTS:
        return None
    lower = np.tril_indices(len(quadratic.linear))
    return {"linear": number_line(quadratic.linear), "curvature": number_line(quadratic.curvature[lower])}


def quadratic_from_json(d: Mapping[str, Any] | None, n_rules: int, n_classes: int) -> Quadratic | None:
    """The approximation of a list of some length; a ``Damage`` if it is invalid."""
    if d is None:
        return None
    if n_rules > MAX_MOMENTS:
        raise Damage(f"likelihood is kept for up to {MAX_MOMENTS} rules, and there are {n_rules}")
    n_scores = n_scores_of(n_classes)
    n = n_scores + n_rules
    linear = read_line(d["linear"], n, "likelihood.linear")
    i, j = np.tril_indices(n)
    curvature = np.zeros((n, n))
    curvature[i, j] = read_line(d["curvature"], len(i), "likelihood.curvature")
    curvature[j, i] = curvature[i, j]
    for name, values in (("linear", linear), ("curvature", curvature)):
        small = bool((np.abs(values) <= LARGEST).all())
        ensure(small, f"likelihood.{name}", f"must have numbers of at most {LARGEST:g}")
    scale = float(np.abs(curvature).max(initial=0.0)) or 1.0
    least = float(np.linalg.eigvalsh(curvature / scale).min(initial=0.0))
    ensure(least >= -ROUNDING, "likelihood.curvature", "must be that of a convex function")
    return Quadratic(n_scores, linear, curvature)

"""The quadratic approximation of a likelihood as lines of numbers, and back.

The count of numbers is known before anything is parsed, and the curvature must be that of a convex function, so that it
can be minimised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysirus._model.fields import Damage, ensure
from pysirus._model.moment_text import MAX_MOMENTS, number_line, read_line
from pysirus._weights.quadratic import Quadratic, n_scores_of

LARGEST = 1e100  # of a number in a file: beyond, sums of products could overflow
ROUNDING = 1e-8  # of eigenvalues, as a share of the largest


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

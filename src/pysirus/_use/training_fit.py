"""A model in, how well it fits the rows that it was trained on out, from the sums that it keeps of them.

With ``z_r`` one where rule r holds, a prediction is ``c + sum_r b_r z_r``, so its squared error over the training rows
needs no more than the sums of y, of y squared, of y where a rule holds, and of the rows where two rules hold.
"""

from __future__ import annotations

import numpy as np

from pysirus._families.metrics.rows import Metrics
from pysirus._model.model import Model
from pysirus._sums import times
from pysirus._terms.fitted import outputs_of


def training_figures(model: Model) -> Metrics | None:
    """R² and errors of the training rows, for numbers; None where the model keeps no sums."""
    moments = model.moments
    if moments is None or not model.family.is_least_squares or model.terms:
        return None
    rules = list(model.selected)
    if not model.family.adds_up or len(rules) > moments.n_rules:
        return None
    own = moments.take(range(len(rules)))  # of a tuned model they are those of the longest list
    weights = np.array([rule.weight or 0.0 for rule in rules])
    inside, outside = outputs_of(rules)
    start = float(np.asarray(model.intercept)) + float(times(weights, outside)) - own.centre
    jumps = weights * (inside - outside)
    total, y_sum = float(own.fold_weight.sum()), float(own.y_sum.sum())
    pairs, rule_y = own.pair_weight.sum(axis=0), own.rule_y_sum.sum(axis=0)[:, 0]
    squares = float(own.y_square.sum())
    left = squares - 2 * (start * y_sum + float(times(jumps, rule_y)))
    left += start**2 * total + 2 * start * float(times(jumps, np.diag(pairs)))
    left += float(times(times(pairs, jumps), jumps))
    spread = squares - y_sum**2 / total
    if not spread > 0:
        return None
    share = max(0.0, left / spread)
    return {"r2": (1 - share, None), "rmse": (float(np.sqrt(share * spread / total)), None)}

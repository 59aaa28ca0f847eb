"""A model, and rows if there are some, in; how good it is out, as plain data, and what gives reason to doubt it.

Held-out rows come first. A model that was not cross-validated is judged by the rows of the table, or of numbers by the
sums that it keeps of its training rows; both flatter it, and the page says so.
"""

from __future__ import annotations

import warnings
from typing import Any

from pysirus._data.column import DataError
from pysirus._data.table import Table
from pysirus._data.zero_weights import rows_that_count
from pysirus._families.metrics.rows import Metrics
from pysirus._message import say
from pysirus._model.doubts import doubts
from pysirus._model.held_out import FIGURES, Bins, figure_texts
from pysirus._model.model import Model
from pysirus._use.score import score
from pysirus._use.training_fit import training_figures
from pysirus.report._numbers import short


def quality(model: Model, X: Any, table: Table | None, y: Any, weights: Any = None) -> dict[str, Any]:
    """What is known of the quality of a model."""
    return {
        "heldOut": _held_out(model),
        "inSample": None if model.out_of_fold is not None else _in_sample(model, X, table, y, weights),
        "doubts": list(map(say, doubts(model))),
    }


def _figures(figures: Metrics) -> list[list[str]]:
    return [[FIGURES[name], *figure_texts(name, *pair)] for name, pair in figures.items()]


def _held_out(model: Model) -> dict[str, Any] | None:
    """What held-out rows say of the model, if it was cross-validated."""
    found = model.out_of_fold
    if found is None:
        return None
    bins = [
        {"class": own.code, "probability": short(own.probability), "members": short(own.members)}
        | {"others": short(own.others)}
        for own in (_about(own, model) for own in found.bins)
    ]
    return {
        "how": found.how,
        "nRules": len(model.rules),
        "figures": _figures(found.figures),
        "bins": bins,
        "confusion": None if found.confusion is None else short(found.confusion),
    }


def _about(bins: Bins, model: Model) -> Bins:
    """Probabilities of the positive class, where bins are of the other of two."""
    if len(model.classes or ()) != 2 or bins.code == model.positive:
        return bins
    return Bins(model.positive, 1.0 - bins.probability[::-1], bins.others[::-1], bins.members[::-1])


def _in_sample(model: Model, X: Any, table: Table | None, y: Any, weights: Any) -> dict[str, Any] | None:
    """Metrics of rows that the model may have seen; ``rows`` is how many a table has, None for those of training."""
    own = training_figures(model)
    if own is not None:
        return {"rows": None, "figures": _figures(own), "explained": _explained(own)}
    if table is None or y is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows without a target have no part in it
            with rows_that_count(X, y, weights, need_target=True) as (X, y, weights):
                found, n_rows = score(model, X, y, weights).figures, len(y)
    except DataError:  # a class that training did not know, say: shown beside predictions, but not judged
        return None
    return {"rows": n_rows, "figures": _figures(found), "explained": _explained(found)}


def _explained(figures: Metrics) -> dict[str, Any] | None:
    """The share of the variance or deviance that is explained, and what that is called; None for others."""
    for name, what in (("r2", "variance"), ("d2", "deviance")):
        if name in figures:
            return {"what": what, "name": FIGURES[name], "share": short(figures[name][0])}
    return None

"""Predictions of rows in, their metrics out: what tallies of parts add up to, in one step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from pysirus._families.class_metrics import ClassTally
from pysirus._families.links import Loss
from pysirus._families.row_metrics import Metrics, NumberTally, Predicted, Yardstick


def class_metrics(rows: Predicted) -> Metrics:
    """Of probabilities [row, class] and the codes of the true classes."""
    return ClassTally.of(rows, Yardstick.of([rows]), rows.values.argmax(axis=1)).metrics()


def number_metrics(folds: Sequence[Predicted], loss: Loss | None = None) -> Metrics:
    """Of numbers by R²; of counts and amounts, whose loss is given, by its deviance."""
    like = Yardstick.of(folds)
    return reduce(add, [NumberTally.of(fold, loss, like) for fold in folds]).metrics()

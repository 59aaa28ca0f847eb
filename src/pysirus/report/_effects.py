"""A model, and rows if there are some, in; the effect of each feature out, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysirus._data.table import Table
from pysirus._format import format_date
from pysirus._model.model import Model
from pysirus._use.effect import Effect, effect
from pysirus._use.explain import feature_importance
from pysirus._use.level_groups import level_counts, level_groups
from pysirus.report._numbers import short


def effects(model: Model, table: Table | None) -> list[dict[str, Any]]:
    """The effect of each feature that the model looks at, the most important first."""
    if table is None and not model.family.adds_up:
        return []  # a weighted mean has effects on a table only
    importance = feature_importance(model, backend="pyarrow").to_pydict()
    used = {model.features[index].name for index in model.columns_of(model.rules)}
    names = [name for name in importance["feature"] if name in used]
    share = dict(zip(importance["feature"], zip(importance["gap"], importance["frequency"])))
    return [
        {
            **_effect(model, effect(model, name, table, with_predictions=False), table),
            "gap": short(share[name][0]),
            "frequency": short(share[name][1]),
        }
        for name in names
    ]


def _effect(model: Model, found: Effect, table: Table | None) -> dict[str, Any]:
    """Steps between thresholds, or rows of levels: those that no rule tells apart share one."""
    (axis,) = found.axes
    shown: dict[str, Any] = {"feature": axis.feature, "numeric": axis.is_numeric, "hasMissing": axis.has_missing}
    if axis.is_numeric:
        if axis.column.is_date:
            shown["names"] = [format_date(edge) for edge in axis.edges]
        return {**shown, "edges": short(axis.edges), "labels": list(axis.labels), "values": short(found.values)}
    counts = None if table is None or axis.index in table.absent else level_counts(axis, table.columns[axis.index])
    groups = level_groups(axis, found.values, counts)
    return {
        **shown,
        "labels": [group.label for group in groups],
        "members": [list(group.levels) if group.is_folded else [] for group in groups],
        "values": short(np.reshape([group.value for group in groups], (len(groups), *model.family.shape))),
    }

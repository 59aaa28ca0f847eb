"""A column with a direction in, the same with all levels of its order out, also those that do not occur.

A level that training has not seen then stands at its place among the others, and not on the heavier side of each cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pysirus._constraints.read import is_binary
from pysirus._data.column import Column
from pysirus._data.table import Table, check_levels


def whole_order(name: str, levels: tuple[Any, ...], order: tuple[Any, ...], binary: bool) -> tuple[Any, ...]:
    """All levels in order; those of true and false are both."""
    whole = (False, True) if binary else order or levels
    check_levels(name, len(whole))
    return whole


def with_whole_order(column: Column) -> Column:
    """A column of labels in the codes of its whole order."""
    if column.is_numeric:
        return column
    order = whole_order(column.name, column.levels, column.order, is_binary(column))
    position = {level: i for i, level in enumerate(order)}
    table = np.array([*(position[level] for level in column.levels), -1], dtype=column.values.dtype)
    return replace(column, kind="ordered", values=table[column.values], levels=order, order=order)


def order_columns(table: Table, directions: Mapping[int, int]) -> Table:
    """The columns of a table, those with a direction in their whole order."""
    if not directions:
        return table
    columns = (with_whole_order(c) if i in directions else c for i, c in enumerate(table.columns))
    return replace(table, columns=tuple(columns))

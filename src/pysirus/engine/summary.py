"""One column of one part in, a summary of it out; summaries of parts add up to that of the whole column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np

from pysirus._bins.cuts import as_compared
from pysirus._bins.levels import LevelSums, level_sums
from pysirus._constraints.read import whole_order
from pysirus._crew import go_on
from pysirus._data.column import Column, ColumnKind, DataError, check_same_type
from pysirus._data.ids import Numbering, numbering_of
from pysirus._data.table import check_levels
from pysirus._families.response.integer_rows import Count, IntegerRows
from pysirus._message import Parameter
from pysirus.engine.tally import Tally, extremes_of, tally_of

KINDS: tuple[ColumnKind, ...] = ("numeric", "categorical", "ordered")
KIND_NAMES = {"numeric": "numbers", "categorical": "labels", "ordered": "ordered labels"}


@dataclass(frozen=True)
class Window:
    """The neighbourhood of some quantiles: the weight of the values before it, and a tally of those in it."""

    below: int
    tally: Tally

    def __add__(self, other: Window) -> Window:
        return Window(self.below + other.below, self.tally + other.tally)


@dataclass(frozen=True)
class ColumnSummary:
    """What the cuts of a column are made of; ``a + b`` is the summary of both their rows."""

    name: str
    kind: ColumnKind
    known: Count
    missing: Count
    tally: Tally  # of a numeric column
    windows: tuple[Window, ...] = ()  # after a zoom; those of parts are at the same quantiles
    zooms: int = 0
    levels: tuple[Any, ...] = ()  # of labels, those that occur
    order: tuple[Any, ...] = ()  # of ordered labels, all
    level_sums: LevelSums | None = None
    free_text: bool = False  # whether the labels are text that nobody called labels
    is_date: bool = False  # whether the numbers are moments
    numbering: Numbering | None = None  # of whole numbers

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        kind, order = _common_kind(self, other)
        merged = replace(
            self,
            kind=kind,
            known=self.known + other.known,
            missing=self.missing + other.missing,
            tally=self.tally + other.tally,
            windows=tuple(map(add, self.windows, other.windows)),
            order=order,
            free_text=self.free_text or other.free_text,
            numbering=_both(self.numbering, other.numbering),
        )
        return merged if kind == "numeric" else _with_merged_levels(merged, self, other)

    def exact_windows(self) -> bool:
        """Whether the quantiles are known."""
        return all(window.tally.exact for window in self.all_windows())

    def all_windows(self) -> tuple[Window, ...]:
        """The windows of the last zoom; before any, one for all values."""
        return self.windows or (Window(0, self.tally),)


def summary_of(column: Column, rows: IntegerRows, budget: int, *, extremes: bool = False) -> ColumnSummary:
    """The summary of a column whose tally stores at most ``budget`` values, or the extremes of very many alone."""
    go_on()
    missing = column.missing()
    known = None if missing is None else ~missing
    n_missing = Count() if missing is None else rows.count(missing)
    if not column.is_numeric:
        nothing = tally_of(np.zeros(0, dtype=np.bool_), None, budget)  # a type that gives way to any other
        sums = level_sums(column, rows)
        summary = ColumnSummary(column.name, column.kind, rows.count(known), n_missing, nothing)
        return replace(summary, levels=column.levels, order=column.order, level_sums=sums, free_text=column.free_text)
    values, weights = as_compared(column.values), rows.weights
    if known is not None:
        values, weights = values[known], None if weights is None else weights[known]
    count = rows.count(known)
    tally = extremes_of(values, count.weight, budget) if extremes else tally_of(values, weights, budget)
    summary = ColumnSummary(column.name, "numeric", count, n_missing, tally, is_date=column.is_date)
    return replace(summary, numbering=numbering_of(column.values))


def _both(a: Numbering | None, b: Numbering | None) -> Numbering | None:
    return None if a is None or b is None else a + b


def _common_kind(a: ColumnSummary, b: ColumnSummary) -> tuple[ColumnKind, tuple[Any, ...]]:
    """The kind of two parts of a column, and its order; a part without known values takes that of the other."""
    if not a.known.rows or not b.known.rows:
        sure = [part for part in (a, b) if part.known.rows] or sorted((a, b), key=lambda part: KINDS.index(part.kind))
        return sure[-1].kind, sure[-1].order
    if a.kind != b.kind:
        found = " and ".join(sorted((KIND_NAMES[a.kind], KIND_NAMES[b.kind])))
        raise DataError(
            f"Column '{a.name}' holds {found} in different parts of the table. Convert it to one type in all parts, "
            f"or name it under {Parameter('categorical_features')} if its values are labels."
        )
    if a.order != b.order:
        raise DataError(
            f"Column '{a.name}' has levels in different orders in different parts of the table: "
            f"{', '.join(map(str, a.order[:8]))} and {', '.join(map(str, b.order[:8]))}. Give every part the same "
            "categories in the same order."
        )
    return a.kind, a.order


def _with_merged_levels(merged: ColumnSummary, a: ColumnSummary, b: ColumnSummary) -> ColumnSummary:
    parts = [part for part in (a, b) if part.level_sums is not None]
    found = {level for part in parts for level in part.levels}
    check_levels(merged.name, len(found))
    check_same_type(f"Column '{merged.name}'", sorted(found, key=repr))
    levels = tuple(level for level in merged.order if level in found) if merged.order else tuple(sorted(found))
    position = {level: i for i, level in enumerate(levels)}
    first = parts[0].level_sums
    assert first is not None
    sizes = np.zeros(len(levels), dtype=np.int64)
    sums = np.zeros((len(levels), first.sums.shape[1]), dtype=first.sums.dtype)
    for part in parts:
        assert part.level_sums is not None
        at = [position[level] for level in part.levels]
        sizes[at] += part.level_sums.sizes
        sums[at] += part.level_sums.sums
    return replace(merged, levels=levels, level_sums=replace(first, sizes=sizes, sums=sums))


def order_summaries(summaries: Sequence[ColumnSummary], directions: Mapping[int, int]) -> tuple[ColumnSummary, ...]:
    """The columns, those with a direction in their whole order: levels that do not occur stand at their place."""
    return tuple(_in_whole_order(s) if i in directions else s for i, s in enumerate(summaries))


def _in_whole_order(summary: ColumnSummary) -> ColumnSummary:
    found = summary.level_sums
    if found is None:
        return summary
    order = whole_order(summary)
    at = [order.index(level) for level in summary.levels]
    sizes = np.zeros(len(order), dtype=np.int64)
    sums = np.zeros((len(order), found.sums.shape[1]), dtype=found.sums.dtype)
    sizes[at], sums[at] = found.sizes, found.sums
    padded = replace(found, sizes=sizes, sums=sums)
    return replace(summary, kind="ordered", levels=order, order=order, level_sums=padded)

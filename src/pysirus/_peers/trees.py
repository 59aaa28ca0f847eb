"""A table in, the nodes of scikit-learn's trees out as rules: where RuleFit and Node harvest take theirs from.

Trees see how many cuts of its column lie at or below a value, not the value. Positions are small whole numbers, exact
in the 32 bits that scikit-learn works with, so ``x < cut`` says just what the tree did; quantiles, values and ordered
levels are all the same to a tree; and a monotone map of a column changes no rule but for its thresholds. Missing values
stay missing: the trees know what to do with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Cuts, bin_table, level_cuts, level_sums, order_levels, with_sizes
from pysirus._data.column import Column
from pysirus._data.table import Table
from pysirus._families.responses import IntegerRows, Response
from pysirus._forest.forest import SplitSide
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import rule_of_sides

Node = tuple[SplitSide, ...]
Interval = tuple[int, int, int, bool, bool]  # feature, last cut below, first cut above, missing inside, known inside
NodeKey = tuple[Interval, ...]
BELOW_ALL, ABOVE_ALL = -1, 2**31


@dataclass(frozen=True)
class CodedTable:
    """A table as positions among its cuts: what trees are grown on."""

    codes: NDArray[np.float32]  # [row, feature]; NaN is missing
    cuts: tuple[Cuts, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def has_missing(self) -> bool:
        """Whether a tree must look for missing values: scikit-learn does so only where it checks its input."""
        return any(cuts.has_missing for cuts in self.cuts)


def code_table(table: Table, response: Response, *, n_bins: int | None, discrete_limit: int) -> CodedTable:
    """Code a table by its quantile cuts; without ``n_bins`` by every cut midway between two values of a column."""
    codes = np.empty((table.n_rows, table.n_columns), dtype=np.float32, order="F")
    if n_bins is None:
        rows = IntegerRows(response)
        cuts = tuple(_code_column(column, rows, codes[:, j]) for j, column in enumerate(table.columns))
        return CodedTable(codes, cuts)
    binned = bin_table(table, response, n_bins=n_bins, discrete_limit=discrete_limit)
    codes[:] = binned.bins.T
    for j, column_cuts in enumerate(binned.cuts):
        if column_cuts.has_missing:
            codes[binned.bins[j] == column_cuts.n_cuts + 1, j] = np.nan
    return CodedTable(codes, binned.cuts)


def _code_column(column: Column, rows: IntegerRows, out: NDArray[np.float32]) -> Cuts:
    """Cut a column between all neighbouring values, or levels, and write the position of each row."""
    missing = column.missing()
    has_missing = missing is not None and not missing.all()
    known = np.ones(len(column.values), dtype=bool) if missing is None else ~missing
    if column.is_numeric:
        values = column.values[known].astype(np.float64)
        thresholds = _midpoints(np.unique(values))
        cuts = Cuts(column.without_values(), tuple(("value", float(t)) for t in thresholds), thresholds)
        position = np.searchsorted(thresholds, values, side="right")
    else:
        levels = order_levels(column.kind, column.levels, level_sums(column, rows))
        cuts = Cuts(column.without_values(), level_cuts(levels), np.zeros(0), levels)
        rank = {level: i for i, level in enumerate(levels)}
        position = np.array([rank.get(level, 0) for level in column.levels] + [0])[column.values[known]]
    out[known] = position
    out[~known] = np.nan if has_missing else 0
    cuts = replace(cuts, has_missing=has_missing)
    bins = np.full(len(known), cuts.n_cuts + 1 if has_missing else 0)
    bins[known] = position
    return with_sizes(cuts, rows.sizes(bins, cuts.n_bins))


def _midpoints(distinct: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cuts between sorted distinct values: above the left value, at most the right one, whatever the rounding."""
    left, right = distinct[:-1], distinct[1:]
    middle = left / 2 + right / 2
    return np.where((middle > left) & (middle <= right), middle, right)


def nodes_of(tree: Any) -> list[Node]:
    """Every node of a fitted tree but its root, as the splits that lead to it; parents first, the ``<`` side first."""
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    feature, threshold = tree.feature.tolist(), tree.threshold.tolist()
    missing_left = tree.missing_go_to_left.tolist()
    nodes: list[Node] = []
    level: list[tuple[int, Node]] = [(0, ())]
    while level:
        below: list[tuple[int, Node]] = []
        for i, node in level:
            if left[i] < 0:
                continue
            # the cut "known | missing" has no threshold
            cut = int(threshold[i]) if threshold[i] < ABOVE_ALL else None
            for child, less in ((left[i], True), (right[i], False)):
                side = SplitSide(feature[i], cut, less, bool(missing_left[i]))
                below.append((child, (*node, side)))
        nodes.extend(node for _, node in below)
        level = below
    return nodes


def node_key(node: Node, cuts: Sequence[Cuts]) -> NodeKey:
    """What a node reads, in cut positions: equal keys hold equal rows of any table."""
    merged: dict[int, Interval] = {}
    for side in node:
        f = side.feature
        _, low, high, missing, known = merged.get(f, (f, BELOW_ALL, ABOVE_ALL, cuts[f].has_missing, True))
        if side.cut is None:
            known = known and side.less
        elif side.less:
            high = min(high, side.cut)
        else:
            low = max(low, side.cut)
        merged[f] = (f, low, high, missing and side.missing_inside, known)
    return tuple(sorted(merged.values()))


def membership(keys: Sequence[NodeKey], coded: CodedTable) -> NDArray[np.bool_]:
    """Which rows (first axis) are in which nodes."""
    inside = np.ones((coded.n_rows, len(keys)), dtype=bool, order="F")
    seen: dict[Interval, NDArray[np.bool_]] = {}
    for k, key in enumerate(keys):
        for interval in key:
            if interval not in seen:
                seen[interval] = _rows_inside(interval, coded)
            inside[:, k] &= seen[interval]
    return inside


def _rows_inside(interval: Interval, coded: CodedTable) -> NDArray[np.bool_]:
    f, low, high, missing, known = interval
    codes = coded.codes[:, f]
    inside = (codes > low) & (codes <= high) & known  # NaN compares false
    if missing:
        inside |= np.isnan(codes)
    return np.asarray(inside)


@dataclass(frozen=True)
class Candidates:
    """Distinct nodes of an ensemble: how each was first reached, its rows, and the share of trees that hold it."""

    nodes: list[Node]
    inside: NDArray[np.bool_]  # [row, node]
    frequencies: NDArray[np.float64]

    def rules(self, coded: CodedTable, kept: Iterable[int] | None = None) -> list[FittedTerm]:
        """The rules of some nodes; of all, when none are named."""
        chosen = range(len(self.nodes)) if kept is None else kept
        return [rule_of_sides(self.nodes[i], coded.cuts, float(self.frequencies[i])) for i in chosen]


def distinct_nodes(trees: Sequence[Sequence[Node]], coded: CodedTable, *, complements: bool) -> Candidates:
    """The nodes of some trees, the most frequent first, each set of training rows once.

    Of nodes that hold the same rows (or, with ``complements``, just the other rows) the first in order of frequency,
    then of fewer splits, then of place in the ensemble stands for all. Nodes that hold all rows are left out.
    """
    first: dict[NodeKey, Node] = {}
    counts: Counter[NodeKey] = Counter()
    for nodes in trees:
        keys = {node_key(node, coded.cuts): node for node in reversed(nodes)}
        counts.update(keys.keys())
        for key in reversed(keys):
            first.setdefault(key, keys[key])
    keys_in_order = sorted(first, key=lambda key: (-counts[key], len(first[key])))
    inside = membership(keys_in_order, coded)
    kept, seen = [], set()
    for k, column in enumerate(np.packbits(inside, axis=0).T):
        size = int(np.count_nonzero(inside[:, k]))
        if size in (0, coded.n_rows):
            continue
        rows = column.tobytes()
        if rows in seen:
            continue
        seen.add(rows)
        if complements:
            seen.add(np.packbits(~inside[:, k]).tobytes())
        kept.append(k)
    chosen = [keys_in_order[k] for k in kept]
    frequencies = np.array([counts[key] / max(1, len(trees)) for key in chosen])
    return Candidates([first[key] for key in chosen], np.asfortranarray(inside[:, kept]), frequencies)

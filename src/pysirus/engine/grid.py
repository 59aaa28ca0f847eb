"""The cuts of several folds in, one grid of bins for all of them out, and how each fold reads its own bins off it.

The cuts of a column differ a little from fold to fold. The grid has them all, so every row is put into bins once. What
a fold makes of a bin of the grid is found by asking it of one value in that bin, in the way that it is asked of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Cuts
from pysirus._data.column import MISSING, Column
from pysirus._data.table import as_feature
from pysirus._families.responses import Response
from pysirus._learn.grow import features_of
from pysirus._parameters import ParameterError
from pysirus._text.message import Parameter
from pysirus.engine.folds import Repetition
from pysirus.engine.train import BinningScheme

MAX_BINS = 256
NO_FOLD = 255  # of a row that no fold on this grid holds out
BEFORE = 254  # of a row that all folds on it learn from, where they look forward
Table = NDArray[np.uint8]  # [256]: what becomes of each bin of a column of the grid


def grid_of(whole: Sequence[Cuts], folds: Sequence[BinningScheme]) -> tuple[Cuts, ...] | None:
    """The cuts of some folds and the levels of the whole table; None where a byte cannot number the bins."""
    grid = tuple(_column_grid(own, _thresholds(i, folds)) for i, own in enumerate(whole))
    return grid if all(cuts.n_bins <= MAX_BINS for cuts in grid) else None


def _thresholds(column: int, folds: Sequence[BinningScheme]) -> NDArray[np.float64]:
    """Where some folds cut a column, and where rules do that are given."""
    given = (condition for fold in folds for rule in fold.given for condition in rule.conditions)
    ends = [end for c in given if c.index == column for end in (c.lower, c.upper) if end is not None]
    return np.unique(np.concatenate([*(fold.cuts[column].thresholds for fold in folds), np.array(ends, np.float64)]))


def _column_grid(whole: Cuts, thresholds: NDArray[np.float64]) -> Cuts:
    column = whole.column
    n_cuts = len(thresholds) if column.is_numeric else max(0, len(column.levels) - 1)
    identities = tuple(("grid", k) for k in range(n_cuts))
    return Cuts(column, identities, thresholds, column.levels, has_missing=whole.has_missing)


def _one_of_each(grid: Cuts) -> Column:
    """A value in each bin of a column of the grid."""
    column, missing = grid.column, [np.nan if grid.column.is_numeric else MISSING] * grid.has_missing
    if column.is_numeric:
        return replace(column, values=np.array([-np.inf, *grid.thresholds, *missing]))
    codes = [*range(len(grid.levels))] or [MISSING]
    return replace(column, values=np.array([*codes, *missing], dtype=np.int16))


@dataclass(frozen=True)
class GridReading:
    """Bins of the grid in, the bins of a fold out."""

    columns: NDArray[np.uint8]  # [column, 256]: what it makes of each bin of a column of the grid
    given: tuple[tuple[tuple[int, Table], ...], ...]  # of each rule that is given: column, 1 where a condition holds

    @classmethod
    def of(cls, grid: Sequence[Cuts], scheme: BinningScheme) -> GridReading:
        """How a fold with these cuts reads the grid."""
        features = features_of(scheme.cuts)
        one_of_each = [as_feature(_one_of_each(fine), feature) for fine, feature in zip(grid, features)]
        tables = np.zeros((len(one_of_each), MAX_BINS), dtype=np.uint8)
        for own, column, table in zip(scheme.cuts, one_of_each, tables):
            own.encode(column, table[: len(column.values)])
        given = []
        for rule in scheme.given:
            holds = [(c.index, c.holds(one_of_each[c.index])) for c in rule.conditions]
            given.append(tuple((i, np.resize(own.astype(np.uint8), MAX_BINS)) for i, own in holds))
        return cls(tables, tuple(given))

    def bins(self, grid: NDArray[np.uint8], rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """The bins of some rows; after those of the columns where given rules hold, then what is written of numbers."""
        n_columns, n_given = len(self.columns), len(self.given)
        bins = np.empty((len(grid) + n_given, len(rows)), dtype=np.uint8)
        _core.recode(grid[:n_columns], rows, self.columns, bins)
        bins[n_columns : n_columns + n_given] = 1
        for conditions, out in zip(self.given, bins[n_columns:]):
            for i, table in conditions:
                out &= table[grid[i, rows]]
        bins[n_columns + n_given :] = grid[n_columns:, rows]
        return bins


@dataclass(frozen=True)
class GridFolds:
    """Which of the folds on a grid holds out each row of a part, in a byte."""

    folds: Repetition
    first: int
    end: int

    def __call__(self, first_row: int, response: Response) -> NDArray[np.uint8]:
        folds = self.folds.of_rows(first_row, response)
        here = (folds >= self.first) & (folds < self.end)
        own = np.where(here, folds - self.first, NO_FOLD)
        if self.folds.forward:
            own = np.where((folds < self.first) | (folds == self.folds.n_folds), BEFORE, own)
        return own.astype(np.uint8)


def learned_rows(marks: NDArray[np.uint8], fold: int, forward: bool) -> NDArray[np.intp]:
    """The rows that a fold on a grid learns from, by their marks."""
    return np.flatnonzero((marks < fold) | (marks == BEFORE) if forward else marks != fold)


def groups_on_grids(whole: Sequence[Cuts], folds: Sequence[BinningScheme]) -> list[tuple[int, int, tuple[Cuts, ...]]]:
    """Folds in groups, first and end, each as large as one grid can serve: mostly all of them."""
    groups, first = [], 0
    while first < len(folds):
        end = min(len(folds), first + BEFORE)
        while (grid := grid_of(whole, folds[first:end])) is None:
            if end == first + 1:
                raise ParameterError(
                    f"{Parameter('n_bins')} and the cuts of {Parameter('required_rules')} make more than 256 bins: "
                    f"set a smaller {Parameter('n_bins')}."
                )
            end = first + (end - first + 1) // 2
        groups.append((first, end, grid))
        first = end
    return groups

"""Rows of a table in, the few sums of them out that a model compares its training rows with.

Sums of parts add up, so rows may lie anywhere: training rows are summed where they lie, new rows in memory, in batches
of files or by a database. Columns are counted in cells. Terms have moments of their values; where the truth is known
also of the residuals (``Family.residuals``), of which everything about outputs follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import UNSEEN, Column
from pysirus._data.table import Feature, Table
from pysirus._families.base import Family
from pysirus._runtime.sums import weighted_sum
from pysirus._terms.term import Term

Floats = NDArray[np.float64]
N_MOMENTS = 4  # of the values of a term
N_CELLS = 10  # of a numeric column, where no cuts are known


@dataclass(frozen=True)
class Cells:
    """How the values of a column are grouped. Missing values are in the last cell, which may be theirs alone.

    Attributes
    ----------
    edges : tuple of float
        Of numbers: cell b holds the values with exactly b edges at or below them.
    levels : tuple or None
        Of categories: a cell for each of these, then one for all others.
    low, high : float
        Of numbers: the range of the training rows, rounded outwards; not known before they are summed.
    missing_apart : bool
        Whether missing values have a cell of their own.
    """

    edges: tuple[float, ...] = ()
    levels: tuple[Any, ...] | None = None
    low: float = -np.inf
    high: float = np.inf
    missing_apart: bool = True

    @property
    def n_known(self) -> int:
        """Cells of known values."""
        return len(self.edges if self.levels is None else self.levels) + 1

    @property
    def n_cells(self) -> int:
        """Cells of known values and, where it is apart, that of missing values, which is the last."""
        return self.n_known + self.missing_apart

    def place(self, column: Column) -> NDArray[np.intp]:
        """The cell of each row of a column, as the model knows it."""
        if self.levels is None:
            values = column.values.astype(np.float64)
            found = np.searchsorted(np.array(self.edges), values, side="right")
            return np.where(np.isnan(values), self.n_cells - 1, found)
        own = {level: i for i, level in enumerate(self.levels)}
        others = self.n_known - 1
        # the code of a missing value, -1, finds the last entry
        of_code = np.array([own.get(level, others) for level in column.levels] + [others, self.n_cells - 1])
        return np.asarray(of_code[np.where(column.values == UNSEEN, len(column.levels), column.values)])

    def beyond(self, column: Column) -> NDArray[np.bool_]:
        """The rows outside the range of the training rows, or of a category that these do not have."""
        if self.levels is None:
            return np.asarray((column.values < self.low) | (column.values > self.high))
        return np.asarray(column.values == UNSEEN)


def finest_cells(features: Sequence[Feature], thresholds: Sequence[Any]) -> tuple[Cells, ...]:
    """Cells between all cuts of numbers, and one for each category."""
    return tuple(
        Cells(tuple(float(edge) for edge in cuts)) if own.kind == "numeric" else Cells(levels=own.levels)
        for own, cuts in zip(features, thresholds)
    )


def quantile_edges(column: Column) -> tuple[float, ...]:
    """Edges of a column of numbers: every distinct value but the smallest or, of more than ten, the deciles."""
    known = column.values.astype(np.float64)
    known = known[~np.isnan(known)]
    if not column.is_numeric or not len(known):
        return ()
    distinct = np.unique(known)
    inner = distinct[1:] if len(distinct) <= N_CELLS else np.quantile(known, np.arange(1, N_CELLS) / N_CELLS)
    return tuple(np.unique(inner[inner > distinct[0]]).tolist())


class Judged(NamedTuple):
    """What came true of rows, and what predictions leave unexplained, both [row, output]."""

    truth: Floats
    residuals: Floats


@dataclass(frozen=True)
class RowSums:
    """Sums over rows, each times its weight; the rows of ``values`` are the terms of a list.

    Attributes
    ----------
    n_rows, weight, squares : float
        Rows, their weights, and the squares of these.
    rows : tuple of ndarray [cell]
        Rows in each cell of each column; nothing where a column is absent.
    cells : tuple of ndarray [cell, 1 + 2 outputs]
        Of each column the weight in each cell, the residuals there and their squares.
    beyond : ndarray [column]
        The weight of rows outside the range, or of unseen categories.
    low, high : ndarray [column]
        The smallest and the largest number.
    values : ndarray [term, 4]
        Values of terms to the powers 1 to 4.
    truth : ndarray [1 + term, output] or None
        What came true, and that times the value of each term.
    residuals : ndarray [1 + term, 4, output] or None
        Residuals times values, times their squares; squared residuals times the same. The first term is constant.
    error : ndarray [2] or None
        Squared residuals, summed over outputs; and the squares of that.
    fitted : RowSums or None
        Where residuals are of held-out rows: the same sums with those of the list itself, which has other cuts than the
        lists of the folds.
    """

    n_rows: int
    weight: float
    squares: float
    rows: tuple[NDArray[np.int64], ...]
    cells: tuple[Floats, ...]
    beyond: Floats
    low: Floats
    high: Floats
    values: Floats
    truth: Floats | None = None
    residuals: Floats | None = None
    error: Floats | None = None
    fitted: RowSums | None = None

    def __add__(self, other: RowSums) -> RowSums:
        def added(name: str) -> Any:
            own, its = getattr(self, name), getattr(other, name)
            return None if own is None or its is None else own + its

        return RowSums(
            **{name: added(name) for name in ("n_rows", "weight", "squares", "beyond", "values")},
            rows=tuple(a + b if len(a) == len(b) else a[:0] for a, b in zip(self.rows, other.rows)),
            cells=tuple(a + b if a.shape == b.shape else a[:0] for a, b in zip(self.cells, other.cells)),
            low=np.fmin(self.low, other.low),
            high=np.fmax(self.high, other.high),
            **{name: added(name) for name in ("truth", "residuals", "error", "fitted")},
        )

    def scaled(self, factor: float) -> RowSums:
        """The sums of rows whose weights are multiplied."""

        def scale(sums: Any) -> Any:
            return None if sums is None else sums * factor

        return replace(
            self,
            weight=self.weight * factor,
            squares=self.squares * factor * factor,
            cells=tuple(map(scale, self.cells)),
            beyond=self.beyond * factor,
            values=self.values * factor,
            **{name: scale(getattr(self, name)) for name in ("truth", "residuals", "error")},
            fitted=None if self.fitted is None else self.fitted.scaled(factor),
        )

    @property
    def effective(self) -> float:
        """As many rows of equal weight would say as much."""
        return self.weight * self.weight / self.squares if self.squares else 0.0

    @property
    def n_outputs(self) -> int:
        """Numbers that the truth of a row is watched by; 0 where it is not known."""
        return 0 if self.truth is None else self.truth.shape[1]


def judge_rows(family: Family, values: Floats, truth: NDArray[Any]) -> Judged:
    """Rows whose truth is known, and what is predicted of them, [row, output]."""
    return Judged(family.watched(truth), family.residuals(values, truth))


def sum_rows(
    table: Table, terms: Sequence[Term], cells: Sequence[Cells], weights: Floats | None, judged: Judged | None
) -> RowSums:
    """The sums of the rows of an aligned table."""
    with np.errstate(over="ignore", invalid="ignore"):  # squares of very large numbers, which are left out then
        return _sum_rows(table, terms, cells, np.ones(table.n_rows) if weights is None else weights, judged)


def _sum_rows(table: Table, terms: Sequence[Term], cells: Sequence[Cells], w: Floats, judged: Judged | None) -> RowSums:
    beside = np.empty((table.n_rows, 0)) if judged is None else judged.residuals
    columns = [_sum_column(column, own, w, beside) for column, own in zip(table.columns, cells)]
    for i in table.absent:
        columns[i] = (columns[i][0][:0], columns[i][1][:0], 0.0, np.nan, np.nan)
    rows, sums, beyond, low, high = zip(*columns)
    of_terms = [sum_term(values_of(term, table), w, judged) for term in terms]
    values = np.array([own.values for own in of_terms]).reshape(-1, N_MOMENTS)
    crossed = left = None
    if judged is not None:
        every = [sum_term(np.ones(table.n_rows), w, judged), *of_terms]
        crossed, left = np.array([own.truth for own in every]), np.array([own.residuals for own in every])
    error = None
    if judged is not None:
        square = (judged.residuals**2).sum(axis=1)
        error = np.array([(w * square).sum(), (w * square * square).sum()])
    return RowSums(
        n_rows=table.n_rows,
        weight=float(w.sum()),
        squares=float((w * w).sum()),
        rows=rows,
        cells=sums,
        beyond=np.array(beyond, dtype=np.float64),
        low=np.array(low, dtype=np.float64),
        high=np.array(high, dtype=np.float64),
        values=values,
        truth=crossed,
        residuals=left,
        error=error,
    )


class SumsOfTerm(NamedTuple):
    """The sums of a term, as ``RowSums`` has them."""

    values: Any
    truth: Any = None
    residuals: Any = None

    @property
    def flat(self) -> Floats:
        """All sums in one array, in which those of parts are added up."""
        return np.concatenate([self.values, self.truth, np.ravel(self.residuals)])

    @classmethod
    def of(cls, flat: Floats) -> SumsOfTerm:
        """And back."""
        values, rest = flat[:N_MOMENTS], flat[N_MOMENTS:].reshape(5, -1)
        return cls(values, rest[0], rest[1:])


def sum_term(value: Floats, w: Floats, judged: Judged | None) -> SumsOfTerm:
    """The sums of a term of these values."""
    powers = [w * value]
    for _ in range(N_MOMENTS - 1):
        powers.append(powers[-1] * value)
    values = [power.sum() for power in powers]
    if judged is None:
        return SumsOfTerm(values)
    both = (judged.residuals, judged.residuals**2)
    left = [weighted_sum(power, r) for r in both for power in powers[:2]]
    return SumsOfTerm(values, weighted_sum(powers[0], judged.truth), left)


def values_of(term: Term, table: Table) -> Floats:
    """The values of a term; nothing where a column that it reads is absent."""
    if table.absent.intersection(term.columns):
        return np.full(table.n_rows, np.nan)
    return np.asarray(term.values(table), dtype=np.float64)


def _sum_column(column: Column, cells: Cells, weights: Floats, residuals: Floats) -> tuple[Any, ...]:
    """Rows and sums of the cells of a column, the weight beyond its range, and its extremes."""
    place, n = cells.place(column), cells.n_cells
    beside = [residuals[:, k] for k in range(residuals.shape[1])]
    sums = [weights, *(weights * r for r in beside), *(weights * r * r for r in beside)]
    found = np.stack([np.bincount(place, own, n) for own in sums], axis=1)
    beyond = float(weights[cells.beyond(column)].sum())
    known = column.values[~np.isnan(column.values)] if column.values.dtype.kind == "f" else column.values
    numbers = column.is_numeric and len(known) > 0
    ends = (float(known.min()), float(known.max())) if numbers else (np.nan, np.nan)
    return np.bincount(place, minlength=n), found, beyond, *ends


# ------------------------------------------------------------------------------------------------------ fewer cells

LEAST_ROWS = 10  # in a cell that a model remembers
MOST_CELLS = 50


def merge_cells(cells: Cells, rows: NDArray[np.int64], sums: Floats) -> tuple[Cells, Floats]:
    """Cells of at least ten rows each: neighbours of numbers are joined, rare categories become other ones."""
    least = max(LEAST_ROWS, rows.sum() // MOST_CELLS)
    known, missing = rows[: cells.n_known], int(rows[cells.n_known :].sum())
    if cells.levels is None:
        group, kept = _join_neighbours(known, least)
        merged = replace(cells, edges=tuple(cells.edges[i] for i in kept))
    else:
        own = [i for i in range(len(cells.levels)) if known[i] >= least]
        rest = int(known.sum() - sum(known[i] for i in own))
        while own and 0 < rest < LEAST_ROWS:
            rarest = min(own, key=lambda i: known[i])
            own.remove(rarest)
            rest += int(known[rarest])
        group = np.full(cells.n_known, len(own))
        group[own] = np.arange(len(own))
        merged = replace(cells, levels=tuple(cells.levels[i] for i in own))
    merged = replace(merged, missing_apart=missing == 0 or missing >= LEAST_ROWS)
    group = np.append(group, merged.n_cells - 1)[: len(rows)]
    found = np.zeros((merged.n_cells, sums.shape[1]))
    np.add.at(found, group, sums)
    return merged, found


def _join_neighbours(rows: NDArray[np.int64], least: int) -> tuple[NDArray[np.intp], list[int]]:
    """The group of each cell, so that every group has enough rows, and the edges that are left."""
    group, here = np.zeros(len(rows), dtype=np.intp), 0
    kept: list[int] = []
    left = int(rows.sum())
    for b, n in enumerate(rows.tolist()):
        group[b] = len(kept)
        here, left = here + n, left - n
        if b + 1 < len(rows) and here >= least and left >= least:
            kept.append(b)
            here = 0
    return group, kept

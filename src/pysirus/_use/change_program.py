"""Terms of a model and the cells of its columns in, the mixed-integer program of the nearest change out.

A cell is somewhere a column can go: the other side of a cut, another category, or along a slope. Choosing it is a
variable of 0 or 1, the way along a slope one between them. A rule that asks several columns that move has a variable of
its own, which the choices force to 0 or 1. Distances are in quantiles that the model itself keeps: what becomes of one
row does not depend on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from pysirus._data.column import Column
from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._model.reference import ColumnSums
from pysirus._terms.rule import Condition
from pysirus._terms.term import HeldColumn

Floats = NDArray[np.float64]
EXACT_TRIES = 3  # numbers of columns that are tried one by one
SLACK = 1e-6  # of a bound on a number of columns, for what a linear program rounds


@dataclass(frozen=True)
class Cell:
    """Somewhere a column can go: the nearest place there, how far that is, and how it goes on from it."""

    near: float  # a number, or the code of a category
    distance: float
    far: float | None = None  # the other end, where a slope makes a difference
    rate: float = 0.0  # distance for each unit beyond the near place

    @property
    def reach(self) -> float:
        """From the near to the far end."""
        return 0.0 if self.far is None else abs(self.far - self.near)

    def at(self, beyond: float) -> float:
        """The place so far beyond the nearest one, within the cell whatever is rounded."""
        if self.far is None:
            return self.near
        low, high = sorted((self.near, self.far))
        return min(max(self.near + beyond if self.far > self.near else self.near - beyond, low), high)


@dataclass
class Parts:
    """What the terms of a model are built of, as parts of the margins by which a decision is reached."""

    mix: Floats  # [margin, sum]
    branches: list[tuple[tuple[Condition, ...], Floats, Floats]] = field(default_factory=list)
    lines: list[tuple[HeldColumn, Floats]] = field(default_factory=list)

    def branch(self, conditions: Sequence[Condition], inside: Sequence[float], outside: Sequence[float]) -> None:
        """A rule."""
        self.branches.append((tuple(conditions), self.mix @ np.asarray(inside), self.mix @ np.asarray(outside)))

    def line(self, column: HeldColumn, slopes: Sequence[float]) -> None:
        """A column times a slope."""
        self.lines.append((column, self.mix @ np.asarray(slopes)))

    def edges_of(self, index: int) -> list[float]:
        """The numbers at which something changes in a column, rising."""
        asked = (c for conditions, _, _ in self.branches for c in conditions if c.index == index)
        ends = {end for c in asked for end in (c.lower, c.upper) if end is not None}
        return sorted(ends | {end for own, _ in self.lines if own.index == index for end in (own.lower, own.upper)})


def line_values(column: HeldColumn, values: Floats) -> Floats:
    """What a line is at some places, before its slope."""
    held = np.clip(values, column.lower, column.upper)
    return np.asarray(np.where(np.isnan(held), column.missing, held) - column.centre)


# ------------------------------------------------------------------------------------------------------------ distance


@dataclass(frozen=True)
class Quantiles:
    """The share of training rows below a value: straight between the places where it is known."""

    places: Floats
    shares: Floats

    def __call__(self, value: float) -> float:
        """Where a value is on the scale; beyond the known places halfway to its end."""
        if not len(self.places):
            return 0.5
        if value < self.places[0]:
            return float(self.shares[0] / 2)
        if value > self.places[-1]:
            return float((1 + self.shares[-1]) / 2)
        return float(np.interp(value, self.places, self.shares))

    @classmethod
    def of(cls, known: dict[float, float]) -> Quantiles:
        """From shares by place."""
        places = np.array(sorted(known), dtype=np.float64)
        return cls(places, np.maximum.accumulate(np.array([known[place] for place in places.tolist()])))


def quantiles_of(
    model: Model, index: int, sums: ColumnSums | None, edges: Sequence[float], ends: Sequence[tuple[float, float]]
) -> Quantiles:
    """The scale of a column: the sums of training rows that the model keeps, else the shares of its conditions.

    Every model that was fitted has these sums, in cells of at least ten rows; those of early versions and models made
    by hand have conditions with shares of rows, and the ends of slopes.
    """
    if sums is not None and sums.edges is not None:
        weights = sums.sums[: sums.cells.n_known, 0]
        if weights.sum() > 0:
            below = dict(zip(sums.edges.tolist(), (np.cumsum(weights)[:-1] / weights.sum()).tolist()))
            known = {} if sums.low is None or sums.high is None else {sums.high: 1.0, sums.low: 0.0}
            return Quantiles.of(known | below)
    known = {}
    for condition in (c for rule in model.all_rules for c in rule.conditions if c.index == index):
        if condition.share is not None and condition.upper is not None and condition.lower is None:
            known.setdefault(condition.upper, condition.share)
        if condition.share is not None and condition.lower is not None and condition.upper is None:
            known.setdefault(condition.lower, 1 - condition.share)
    for low, high in ends:
        known |= {low: 0.0, high: 1.0}
    return Quantiles.of(known or {edge: (i + 1) / (len(edges) + 1) for i, edge in enumerate(edges)})


# -------------------------------------------------------------------------------------------------------------- cells


def number_cells(
    value: float, edges: Sequence[float], scale: Quantiles, way: int, sloped: bool, step: float
) -> list[Cell]:
    """Where a number can go; ``way`` is 1 or -1 where it may only rise or fall."""
    ends = [-np.inf, *edges, np.inf]
    if np.isnan(value):
        places = [(low, below(high)) if np.isfinite(low) else (below(high), low) for low, high in pairwise(ends)]
        return [
            Cell(near, step, far if np.isfinite(far) and sloped else None) for near, far in places if np.isfinite(near)
        ]
    found = []
    for low, high in pairwise(ends):
        inside = low <= value < high
        sides = [(low, below(high)) if low > value else (below(high), low)]
        for near, far in [(value, below(high)), (value, low)] if inside else sides:
            sign = 1 if far > near else -1
            if way == -sign or (inside and not (sloped and np.isfinite(far) and far != near)):
                continue
            start = abs(scale(near) - scale(value))
            if not sloped or not np.isfinite(far) or far == near:
                found.append(Cell(near, start))
                continue
            rate = max(0.0, abs(scale(far) - scale(value)) - start) / abs(far - near)
            found.append(Cell(near, start, far, rate))
    return found


def below(end: float) -> float:
    """The last number before an end."""
    return float(np.nextafter(end, -np.inf)) if np.isfinite(end) else end


def category_cells(code: int, column: Column, way: int, step: float) -> list[Cell]:
    """The other categories; of ordered ones those above or below."""
    codes = [k for k, level in enumerate(column.levels) if k != code and (not column.other or level != column.other)]
    return [Cell(float(k), step) for k in codes if not way or code < 0 or (k > code) == (way > 0)]


# ---------------------------------------------------------------------------------------------------------- the program


@dataclass
class Moves:
    """The cells of one column, and what is true there of each branch and line; the row itself comes first."""

    index: int
    cells: list[Cell]
    truths: dict[int, NDArray[np.bool_]]  # by branch: in the row, then in each cell
    added: Floats  # [1 + cell, margin]: what the lines of the column add
    slopes: Floats  # [cell, margin]: what a unit beyond the near place adds


def moves_of(parts: Parts, index: int, column: Column, cells: list[Cell]) -> Moves:
    """The cells of a column that differ for the terms; of those that do not the nearest stays."""
    numeric = column.is_numeric
    places = np.array([float(column.values[0]), *(cell.near for cell in cells)])
    values = places if numeric else places.astype(np.int64)
    there = replace(column, values=values)
    truths = {
        b: condition.holds(there)
        for b, (conditions, _, _) in enumerate(parts.branches)
        for condition in conditions
        if condition.index == index
    }
    added, slopes = np.zeros((len(places), len(parts.mix))), np.zeros((len(cells), len(parts.mix)))
    for own, slope in (line for line in parts.lines if line[0].index == index):
        at = line_values(own, places)
        far = line_values(own, np.array([cell.at(cell.reach) for cell in cells]))
        lengths = np.array([cell.reach or 1.0 for cell in cells])
        added += at[:, None] * slope
        slopes += ((far - at[1:]) / lengths)[:, None] * slope
    kept: dict[Any, int] = {}
    for c in sorted(range(len(cells)), key=lambda c: (cells[c].distance, c)):
        same = tuple(bool(truth[c + 1]) for truth in truths.values()), tuple(added[c + 1])
        kept.setdefault((same, c) if slopes[c].any() else (same, None), c)
    stays = tuple(bool(truth[0]) for truth in truths.values()), tuple(added[0])
    chosen = [c for (key, own), c in kept.items() if own is not None or key != stays]
    rows = [0, *(c + 1 for c in chosen)]
    return Moves(
        index, [cells[c] for c in chosen], {b: t[rows] for b, t in truths.items()}, added[rows], slopes[chosen]
    )


@dataclass
class Program:
    """A mixed-integer program, built row by row."""

    n_margins: int
    costs: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)
    margins: list[dict[int, float]] = field(default_factory=list)
    start: Floats = field(default_factory=lambda: np.zeros(0))
    far: float = 1.0  # more than all distances together

    def __post_init__(self) -> None:
        self.margins, self.start = [{} for _ in range(self.n_margins)], np.zeros(self.n_margins)

    def variable(self, cost: float, *, whole: bool, upper: float = 1.0) -> int:
        """One more variable, from 0 up to a limit."""
        self.costs.append(cost)
        self.whole.append(int(whole))
        self.upper.append(upper)
        return len(self.costs) - 1

    def add(self, variable: int, amounts: Floats) -> None:
        """What a variable adds to each margin."""
        for margin, amount in zip(self.margins, amounts.tolist()):
            if amount:
                margin[variable] = margin.get(variable, 0.0) + amount

    def solve(self, least: float, cells: Floats | None = None) -> Floats | None:
        """The variables of the optimum at which every margin is at least this; None where there is none.

        Of whole numbers as few as possible are 1; ``cells`` says which, where that is known. The linear program bounds
        their number from below: with just as many, or one or two more, HiGHS has only distances to compare, which is
        several times faster than a large cost of each. Where that does not suffice, the large cost decides.
        """
        rows = [*self.rows, *((own, least - at, np.inf) for own, at in zip(self.margins, self.start.tolist()))]
        matrix, low, high = np.zeros((len(rows), len(self.costs))), np.zeros(len(rows)), np.zeros(len(rows))
        for r, (own, low[r], high[r]) in enumerate(rows):
            matrix[r, list(own)] = list(own.values())
        if not self.costs:
            return np.zeros(0) if (low <= 0).all() else None
        size = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)  # tolerances are absolute
        count = np.array(self.whole, dtype=np.float64)
        matrix, low, high = np.vstack([matrix / size[:, None], count]), low / size, high / size

        def optimum(costs: Floats, fewest: float, most: float, whole: bool = True) -> Any:
            limits = LinearConstraint(matrix, np.append(low, fewest), np.append(high, most))
            chosen = {} if not whole else {"integrality": self.whole, "options": {"mip_rel_gap": 0.0}}
            return milp(costs, bounds=bounds, constraints=limits, **chosen)

        bounds, costs = Bounds(0, np.array(self.upper)), np.array(self.costs)
        if cells is not None:
            kept = np.where(count > 0, np.rint(cells), 0.0)
            bounds = Bounds(kept, np.where(count > 0, kept, self.upper))
            return optimum(costs, 0.0, np.inf, whole=False).x  # type: ignore[no-any-return]
        loose = optimum(count, 0.0, np.inf, whole=False)
        if loose.x is None:
            return None
        fewest = float(np.ceil(loose.fun - SLACK))
        for more in range(EXACT_TRIES):
            found = optimum(costs, fewest + more, fewest + more).x
            if found is not None:
                return np.asarray(found)
        found = optimum(costs + self.far * count, fewest + EXACT_TRIES, np.inf).x
        return None if found is None else np.asarray(found)


def program_of(parts: Parts, start: Floats, table: Table, moves: Sequence[Moves]) -> tuple[Program, list[list[Any]]]:
    """The program, and for each column its variables: the choice of a cell, and the way beyond its near place."""
    program = Program(len(parts.mix))
    program.far = (
        1.0
        + len(moves)
        + sum(max((cell.distance + cell.rate * cell.reach for cell in own.cells), default=0.0) for own in moves)
    )
    program.start = start.astype(np.float64).copy()
    variables: list[list[Any]] = []
    for own in moves:
        chosen: list[Any] = []
        program.start += own.added[0]
        for c, cell in enumerate(own.cells):
            z = program.variable(cell.distance, whole=True)
            program.add(z, own.added[c + 1] - own.added[0])
            w = None
            if own.slopes[c].any():
                w = program.variable(cell.rate * cell.reach, whole=False)  # as a share of the reach
                program.add(w, own.slopes[c] * cell.reach)
                program.rows.append(({w: 1.0, z: -1.0}, -np.inf, 0.0))
            chosen.append((z, w))
        program.rows.append(({z: 1.0 for z, _ in chosen}, 0.0, 1.0))
        variables.append(chosen)
    fixed = {own.index for own in moves}
    for line, slope in (line for line in parts.lines if line[0].index not in fixed):
        program.start += line_values(line, table.columns[line.index].values[:1].astype(np.float64))[0] * slope
    for b, (conditions, inside, outside) in enumerate(parts.branches):
        _add_branch(program, b, conditions, (inside, outside), table, moves, variables)
    return program, variables


def _add_branch(
    program: Program,
    b: int,
    conditions: Sequence[Condition],
    sides: tuple[Floats, Floats],
    table: Table,
    moves: Sequence[Moves],
    variables: Sequence[Sequence[Any]],
) -> None:
    """A rule: whether it holds is a sum of choices where it asks one column that moves, else a variable of its own."""
    inside, outside = sides
    program.start += outside
    moved = [(own, chosen) for own, chosen in zip(moves, variables) if b in own.truths]
    still = {c.index for c in conditions} - {own.index for own, _ in moved}
    if not all(c.holds(table.columns[c.index])[0] for c in conditions if c.index in still):
        return
    truths = [(bool(own.truths[b][0]), _changes(own.truths[b], chosen)) for own, chosen in moved]
    if len(truths) == 1:
        (now, changes) = truths[0]
        program.start += (inside - outside) * now
        for z, change in changes.items():
            program.add(z, change * (inside - outside))
        return
    if not truths:
        program.start += inside - outside
        return
    y = program.variable(0.0, whole=False)
    program.add(y, inside - outside)
    for now, changes in truths:
        program.rows.append(({y: 1.0, **{z: -change for z, change in changes.items()}}, -np.inf, float(now)))
    every: dict[int, float] = {y: 1.0}
    for _, changes in truths:
        every |= {z: -change for z, change in changes.items()}
    program.rows.append((every, sum(now for now, _ in truths) - (len(truths) - 1), np.inf))


def _changes(truth: NDArray[np.bool_], chosen: Sequence[Any]) -> dict[int, float]:
    """By how much choices of cells change whether a condition holds."""
    own = truth.astype(np.float64)
    return {z: float(at - own[0]) for (z, _), at in zip(chosen, own[1:]) if at != own[0]}

"""A model, a row and a wanted decision in, the smallest change of the row that brings it about out.

Between the cuts of its columns a score does not change, or in a column with a slope changes evenly. So a change is a
choice of cells, one for each changed column, and of a place within those that slope: a mixed-integer program with a
variable for each cell, which HiGHS solves to the optimum. Fewer columns always win; among equally many the smallest sum
of distances does, each in quantiles of its column.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.brackets import Bracket, shortest_in
from pysirus._data.column import MISSING
from pysirus._data.read import list_names
from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._text.format import format_date, format_level, format_threshold, html_table, make_frame, text_table
from pysirus._text.message import Parameter
from pysirus._use.change_program import Cell, Moves, Parts, category_cells, moves_of, number_cells, program_of
from pysirus._use.quantiles import Quantiles
from pysirus._use.wanted import Wish, read_wish

Floats = NDArray[np.float64]
CATEGORY_STEP = 0.25  # what a changed category counts, in quantiles
MARGINS = (
    0.0,
    1e-7,
    1e-6,
    1e-5,
)  # by which a decision is reached, of the size of the score; more where rounding undid it
WAYS = {"up": 1, "down": -1}


HEADER = ["column", "now", "needed"]


@dataclass(frozen=True, repr=False)
class NearestChange:
    """The smallest change of a row that brings a decision about.

    Attributes
    ----------
    changes : dict
        The new value of each changed column; empty where the row is decided so already.
    before : dict
        The values that the row has there.
    row : data frame or array
        The row with these values, ready to predict.
    distance : float
        The sum of the distances in quantiles; a changed category counts ``category_step``.
    to : str
        What was wanted.
    """

    changes: dict[str, Any]
    before: dict[str, Any]
    row: Any
    distance: float
    to: str
    category_step: float
    dates: frozenset[str] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        told = {"to": self.to, "changes": self.changes, "before": self.before, "distance": self.distance}
        return {**told, "category_step": self.category_step}

    def lines(self) -> list[list[str]]:
        """Each changed column, what it is now, and what is needed."""
        return [[name, *(self._text(name, own[name]) for own in (self.before, self.changes))] for name in self.changes]

    def _text(self, name: str, value: Any) -> str:
        if value is None or value != value:
            return "missing"
        if isinstance(value, float):
            return format_date(value) if name in self.dates else format_threshold(value)
        return format_level(value)

    def _head(self) -> str:
        if not self.changes:
            return f"nothing has to change: it is {self.to} already"
        count = "1 column" if len(self.changes) == 1 else f"{len(self.changes)} columns"
        return f"for {self.to}, the smallest change is of {count}, a distance of {self.distance:.3g} in quantiles"

    def __str__(self) -> str:
        return "\n".join([self._head(), *([text_table(HEADER, self.lines())] if self.changes else [])])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        table = html_table(HEADER, self.lines()) if self.changes else ""
        return f"<p>{html.escape(self._head())}</p>{table}"

    __repr__ = __str__


@dataclass(frozen=True)
class Limits:
    """What may change, and which way."""

    fixed: frozenset[int]
    ways: Mapping[int, int]  # by column: 1 up, -1 down
    category_step: float


def read_limits(model: Model, fixed: Any, directions: Any, category_step: Any) -> Limits:
    """The same, checked; what is made of a column in a way that cannot be undone stays as it is."""
    names = {feature.name: i for i, feature in enumerate(model.features)}
    if isinstance(fixed, str):
        fixed = [fixed]
    for parameter, given in (("fixed", fixed or ()), ("directions", directions or {})):
        for name in given:
            if name not in names:
                known = list_names(list(names))
                raise ParameterError(f"{Parameter(parameter)} names {name!r}, which is no column. Columns: {known}.")
    ways = {}
    for name, way in (directions or {}).items():
        feature = model.features[names[name]]
        if way not in WAYS or feature.kind == "categorical":
            found = f"{way!r} for '{name}'" if way not in WAYS else f"'{name}', whose categories have no order"
            raise ParameterError(
                f"{Parameter('directions')} must be 'up' or 'down' for a column in order, got {found}."
            )
        ways[names[name]] = WAYS[way]
    if isinstance(category_step, bool) or not isinstance(category_step, (int, float)) or not 0 < category_step < 1e6:
        raise ParameterError(f"{Parameter('category_step')} must be a number above 0, got {category_step!r}.")
    derived = {i for i, own in enumerate(model.features) if _is_derived(model, own.name)}
    return Limits(frozenset({names[name] for name in fixed or ()} | derived), ways, float(category_step))


def _is_derived(model: Model, name: str) -> bool:
    own = None if model.recipe is None else model.recipe.of(name)
    return own is not None and own.take not in ("group", "finite")


def nearest_change(
    model: Model,
    row: Any,
    to: Any,
    *,
    fixed: Iterable[str] | str | None = None,
    directions: Mapping[str, str] | None = None,
    X: Any = None,
    category_step: float = CATEGORY_STEP,
) -> NearestChange | None:
    """The smallest change that brings a decision about; see ``RuleModel.nearest_change``."""
    if not model.family.adds_up:
        raise ParameterError("The nearest change is for rules that add up, and those of Node harvest share a mean.")
    wish, limits = read_wish(model, to), read_limits(model, fixed, directions, category_step)
    given = make_frame({name: [value] for name, value in row.items()}, None) if isinstance(row, Mapping) else row
    table = model.align(given)
    if table.n_rows != 1:
        raise ParameterError(f"{Parameter('row')} must be one row, got {table.n_rows:,} rows.")
    seen = None if X is None else model.align(X)
    parts = Parts(wish.mix)
    for term in (*model.rules, *model.terms):
        term.build(parts, *model.family.sides(term))
    start = wish.start + wish.mix @ np.array(model.family.start(model.intercept))
    if wish.holds(model, table):
        return _answer(model, given, table, {}, wish, limits, 0.0)
    moves = _all_moves(model, parts, table, seen, limits)
    program, variables = program_of(parts, start, table, moves)
    size = max(1.0, float(np.abs(program.start).max(initial=0.0)))
    cells: Floats | None = None
    for margin in MARGINS:
        found = None if cells is None else program.solve(margin * size, cells)  # the same cells, a little further on
        found = program.solve(margin * size) if found is None else found
        if found is None:
            return None
        cells = found
        chosen = _chosen(moves, variables, found)
        distance = sum(cell.distance + cell.rate * beyond for _, cell, beyond in chosen)
        values = {index: cell.at(beyond) for index, cell, beyond in chosen}
        if wish.holds(model, _with(table, values)):
            short = _shortened(model, table, seen, values, wish, parts)
            return _answer(model, given, table, short, wish, limits, float(distance))
    return None


def _all_moves(model: Model, parts: Parts, table: Table, seen: Table | None, limits: Limits) -> list[Moves]:
    """The cells of every column that may change."""
    read = {c.index for conditions, _, _ in parts.branches for c in conditions} | {own.index for own, _ in parts.lines}
    found = []
    for index in sorted(read - limits.fixed):
        column, way = table.columns[index], limits.ways.get(index, 0)
        if column.is_numeric:
            edges, sloped = parts.edges_of(index), any(own.index == index for own, _ in parts.lines)
            ends = [(own.lower, own.upper) for own, _ in parts.lines if own.index == index]
            scale = Quantiles.of(model, index, edges, ends, None if seen is None else seen.columns[index])
            cells = number_cells(float(column.values[0]), edges, scale, way, sloped, limits.category_step)
        else:
            column = replace(column, other=model.features[index].other)
            cells = category_cells(int(column.values[0]), column, way, limits.category_step)
        moves = moves_of(parts, index, column, cells)
        if moves.cells:
            found.append(moves)
    return found


def _chosen(moves: Sequence[Moves], variables: Sequence[Sequence[Any]], found: Floats) -> list[tuple[int, Cell, float]]:
    """The cells that the optimum chose, and how far beyond their near places."""
    chosen = []
    for own, pairs in zip(moves, variables):
        for cell, (z, w) in zip(own.cells, pairs):
            if found[z] > 0.5:
                chosen.append((own.index, cell, 0.0 if w is None else float(found[w]) * cell.reach))
    return chosen


def _with(table: Table, values: Mapping[int, float]) -> Table:
    """The row with some values changed."""
    columns = list(table.columns)
    for index, value in values.items():
        column = columns[index]
        kind = np.float64 if column.is_numeric else np.int64
        columns[index] = replace(column, values=np.array([value], dtype=kind))
    return replace(table, columns=tuple(columns))


def _shortened(
    model: Model, table: Table, seen: Table | None, values: Mapping[int, float], wish: Wish, parts: Parts
) -> dict[int, float]:
    """The new values in few digits, whole where the column is, as long as the decision and the cells stay."""
    found = dict(values)
    for index in [index for index in values if table.columns[index].is_numeric]:
        own, edges = found[index], parts.edges_of(index)
        cell = int(np.searchsorted(edges, own, side="right"))
        old = float(table.columns[index].values[0])
        known = None if seen is None else seen.columns[index].values
        whole = known is not None and bool(np.all(known[~np.isnan(known)] % 1 == 0)) if known is not None else False
        rises = not own < old
        tries = [float(np.ceil(own) if rises else np.floor(own))] if whole else []
        low, high = edges[cell - 1] if cell else -np.inf, edges[cell] if cell < len(edges) else np.inf
        span = (abs(own) or 1.0) if not np.isfinite(high - low) else high - low
        if rises:
            tries.append(shortest_in(Bracket(float(np.nextafter(own, -np.inf)), own + span / 1000), own))
        else:
            tries.append(shortest_in(Bracket(own - span / 1000, own), own))
        for value in tries:
            if int(np.searchsorted(edges, value, side="right")) == cell and wish.holds(
                model, _with(table, {**found, index: value})
            ):
                found[index] = value
                break
    return found


def _answer(
    model: Model, given: Any, table: Table, values: Mapping[int, float], wish: Wish, limits: Limits, distance: float
) -> NearestChange:
    """What was found, in the words of the table."""
    changed = _with(table, values)

    def told(own: Table, index: int) -> Any:
        column, value = own.columns[index], own.columns[index].values[0]
        if column.is_numeric:
            return float(value)
        return None if value <= MISSING else column.levels[int(value)]

    names = {model.schema.column_of(model.features[i]): i for i in sorted(values)}
    after, before = ({name: told(own, i) for name, i in names.items()} for own in (changed, table))
    dates = frozenset(name for name, i in names.items() if model.features[i].is_date)
    row = _row_of(model, given, after)
    return NearestChange(after, before, row, distance, wish.text, limits.category_step, dates)


def _row_of(model: Model, given: Any, changes: Mapping[str, Any]) -> Any:
    """The row as it was given, with the changes in it."""
    import narwhals as nw

    if isinstance(given, (list, tuple, np.ndarray)):
        array = np.array(given, dtype=object if any(isinstance(v, str) for v in changes.values()) else None)
        for name, value in changes.items():
            array = array.astype(float) if isinstance(value, float) and array.dtype.kind in "iub" else array
            array[0, model.columns.index(name)] = value
        return array
    frame = nw.from_native(given, eager_only=True)
    values = {name: [changes.get(name, frame[name][0])] for name in frame.columns}
    return nw.from_dict(values, backend=nw.get_native_namespace(frame)).to_native()

"""A model, a row and a wanted decision in, the smallest change of the row that brings it about out.

Between the cuts of its columns a score does not change, or in a column with a slope changes evenly. So a change is a
choice of cells, one for each changed column, and of a place within those that slope: a mixed-integer program with a
variable for each cell, which HiGHS solves to the optimum. Fewer columns always win; among equally many the smallest sum
of distances does, each in quantiles of the training rows that the model keeps.

What is wanted is a class, or of numbers a range: ``(20, None)``, ``(None, 5.5)``, ``(20, 30)``, or text such as
``">= 20"``, ``"<= 5.5"`` and ``"20 to 30"``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.numeric import Bracket, shortest_in
from pysirus._data.read import list_names
from pysirus._data.table import Table
from pysirus._families.base import Family
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._text.format import format_label, format_threshold, html_lines, html_table, make_frame, text_table
from pysirus._text.message import Parameter
from pysirus._use.change_program import (
    Cell,
    Moves,
    Parts,
    category_cells,
    moves_of,
    number_cells,
    program_of,
    quantiles_of,
)
from pysirus._use.reasons import value_of, value_text
from pysirus._use.score import class_number, decided, decided_text

Floats = NDArray[np.float64]
CATEGORY_STEP = 0.25  # what a changed category counts, in quantiles
MARGINS = (
    0.0,
    1e-7,
    1e-6,
    1e-5,
)  # by which a decision is reached, of the size of the score; more where rounding undid it
WAYS = {"up": 1, "down": -1}
NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
ONE_SIDED = re.compile(rf"\s*(<=|>=|<|>)\s*{NUMBER}\s*")
TWO_SIDED = re.compile(rf"\s*{NUMBER}\s*to\s*{NUMBER}\s*")


@dataclass(frozen=True)
class Wish:
    """What is wanted: margins are ``start + mix @ sums``; what the model decides has the last word."""

    mix: NDArray[np.float64]  # [margin, sum]
    start: NDArray[np.float64]
    text: str
    outcome: int | None = None
    low: float = -math.inf
    high: float = math.inf

    def holds(self, model: Model, table: Table) -> bool:
        """Whether the row of a table is decided so."""
        found = model.decision(table)
        if self.outcome is not None:
            return int(model.choose(found)[0]) == self.outcome
        return bool(self.low <= found[0] <= self.high)


def read_wish(model: Model, to: Any) -> Wish:
    """What is wanted, checked."""
    if model.classes is not None:
        if (outcome := class_number(model, to, "to")) is None:
            raise ParameterError(f"{Parameter('to')} must be the class that is wanted, got {to!r}.")
        mix, start = model.family.winning_margins(outcome)
        return Wish(mix, start, format_label(model.labels[outcome]), outcome)
    low, high = _range(to)
    ends = [(1.0, low), (-1.0, high)]
    known = [(sign, model.family.score_at(end)) for sign, end in ends if math.isfinite(end)]
    mix = np.array([[sign] for sign, _ in known])
    start = np.array([-sign * score for sign, score in known])
    texts = [
        f"{word} {format_threshold(end, rounded=True)}"
        for word, end in ((">=", low), ("<=", high))
        if math.isfinite(end)
    ]
    return Wish(mix, start, f"{model.target} {' and '.join(texts)}", None, low, high)


def _range(to: Any) -> tuple[float, float]:
    """The lower and the upper end that are wanted, infinite where there is none."""
    pair = to
    if isinstance(to, str):
        one, two = ONE_SIDED.fullmatch(to), TWO_SIDED.fullmatch(to)
        if one is not None:
            pair = (float(one[2]), None) if one[1] in (">", ">=") else (None, float(one[2]))
        elif two is not None:
            pair = (float(two[1]), float(two[2]))
    numbers = isinstance(pair, (tuple, list)) and len(pair) == 2
    numbers = numbers and all(
        end is None or (isinstance(end, (int, float)) and not isinstance(end, bool) and end == end) for end in pair
    )
    low, high = (
        (-math.inf if pair[0] is None else float(pair[0]), math.inf if pair[1] is None else float(pair[1]))
        if numbers
        else (0.0, 0.0)
    )
    if not numbers or not low <= high or not (math.isfinite(low) or math.isfinite(high)):
        raise ParameterError(
            f"{Parameter('to')} must be a range of predictions, such as '>= 20', '<= 5.5' or '20 to 30', got {to!r}."
        )
    return low, high


# ---------------------------------------------------------------------------------------------------------- the change


HEADER = ["column", "now", "needed"]


@dataclass(frozen=True, repr=False)
class NearestChange:
    """The smallest change to a row that leads to another decision.

    Attributes
    ----------
    changes : dict
        The new value of each changed column; empty if the row has the wanted decision already.
    before : dict
        The present values in these columns.
    row : data frame or array
        The row with the new values, ready for ``predict``.
    distance : float
        The sum of the distances in quantiles, where a changed category counts ``category_step``.
    to : str
        The wanted decision.
    predictions : ndarray of shape (2, n_outputs)
        The prediction before and after the change: a number, or the probability of each class.
    """

    changes: dict[str, Any]
    before: dict[str, Any]
    row: Any
    distance: float
    to: str
    category_step: float
    family: Family
    predictions: Floats
    dates: frozenset[str] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        now, then = (decided(self.family, own) for own in self.predictions)
        told = {"to": self.to, "now": now, "then": then, "changes": self.changes, "before": self.before}
        return {**told, "distance": self.distance, "category_step": self.category_step}

    def lines(self) -> list[list[str]]:
        """Each changed column, what it is now, and what is needed."""
        return [
            [name, *(value_text(own[name], is_date=name in self.dates) for own in (self.before, self.changes))]
            for name in self.changes
        ]

    def _said(self) -> tuple[str, str]:
        """What is said before the table of changes, the decision first, and after it."""
        now, then = (decided_text(self.family, own, whole=i == 0) for i, own in enumerate(self.predictions))
        if not self.changes:
            return f"{now}\nnothing has to change: it is {self.to} already", ""
        count = "1 column" if len(self.changes) == 1 else f"{len(self.changes)} columns"
        head = f"for {self.to}, the smallest change is of {count}, a distance of {self.distance:.3g} in quantiles"
        return f"{now}\n{head}", f"with these, {then}"

    def __str__(self) -> str:
        before, after = self._said()
        return "\n".join([before, *([text_table(HEADER, self.lines()), after] if self.changes else [])])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        before, after = (html_lines(*text.splitlines()) for text in self._said())
        return before + (html_table(HEADER, self.lines()) + after if self.changes else "")

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
    parts = Parts(wish.mix)
    for term in (*model.rules, *model.terms):
        term.build(parts, *model.family.sides(term))
    start = wish.start + wish.mix @ np.array(model.family.start(model.intercept))
    if wish.holds(model, table):
        return _answer(model, given, table, {}, wish, limits, 0.0)
    moves = _all_moves(model, parts, table, limits)
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
            short = _shortened(model, table, values, wish, parts)
            return _answer(model, given, table, short, wish, limits, float(distance))
    return None


def _all_moves(model: Model, parts: Parts, table: Table, limits: Limits) -> list[Moves]:
    """The cells of every column that may change."""
    read = {c.index for conditions, _, _ in parts.branches for c in conditions} | {own.index for own, _ in parts.lines}
    found, kept = [], model.reference
    for index in sorted(read - limits.fixed):
        column, way = table.columns[index], limits.ways.get(index, 0)
        if column.is_numeric:
            edges, sloped = parts.edges_of(index), any(own.index == index for own, _ in parts.lines)
            ends = [(own.lower, own.upper) for own, _ in parts.lines if own.index == index]
            scale = quantiles_of(model, index, None if kept is None else kept.columns[index], edges, ends)
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


def _shortened(model: Model, table: Table, values: Mapping[int, float], wish: Wish, parts: Parts) -> dict[int, float]:
    """The new values in few digits, as long as the decision and the cells stay; whole where value and cuts are."""
    found, kept = dict(values), model.reference
    for index in [index for index in values if table.columns[index].is_numeric]:
        own, edges = found[index], parts.edges_of(index)
        cell = int(np.searchsorted(edges, own, side="right"))
        old = float(table.columns[index].values[0])
        cuts = [*edges, *([] if kept is None else kept.columns[index].edges.tolist())]
        whole = all(float(value).is_integer() for value in [*cuts, *([] if np.isnan(old) else [old])])
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
    names = {model.schema.column_of(model.features[i]): i for i in sorted(values)}
    after, before = ({name: value_of(own.columns[i]) for name, i in names.items()} for own in (changed, table))
    predictions = np.concatenate([model.decision(own).reshape(1, -1) for own in (table, changed)])
    dates = frozenset(name for name, i in names.items() if model.features[i].is_date)
    row = _row_of(model, given, after)
    told = model.family, predictions, dates
    return NearestChange(after, before, row, distance, wish.text, limits.category_step, *told)


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

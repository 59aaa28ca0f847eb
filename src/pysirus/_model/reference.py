"""What a model remembers of the rows it was learned from, to be compared with later ones: sums, never rows.

It stands in a model's facts as plain data (``reference``), which older versions keep without knowing it. Every cell of
a column has at least ten rows, and so have both sides of a rule of which outputs are kept. Numbers have seven digits,
so that sums that were added up in another order are the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from pysirus._model.keys import key, option, record
from pysirus._model.kinds import LABEL, ensure, items, line, number_line, read_line
from pysirus._model.row_sums import LEAST_ROWS, N_MOMENTS, Cells, Floats, RowSums, merge_cells

if TYPE_CHECKING:
    from pysirus._model.model import Model

DIGITS = 7


def _short(values: Any) -> str:
    """Numbers to seven digits, in a line of text."""
    return number_line([float(f"{value:.{DIGITS}g}") for value in np.ravel(values).tolist()])


Line = Annotated[Any, line(_short)]


@dataclass(frozen=True, kw_only=True)
class ColumnSums:
    """The training rows by the cells of a column. Cells have at least ten rows, unless they have none."""

    edges: Annotated[Any, line()] = key(
        "Of numbers: cell b holds the values with exactly b of these at or below them.", absent=None
    )
    levels: Annotated[Any, items(LABEL)] = option(
        "Of categories: each has a cell, then all others have one. The cell of missing values comes last."
    )
    low: float | None = option("Of numbers: the smallest, rounded down to two digits of the range.")
    high: float | None = option("Of numbers: the largest, rounded up to two digits of the range.")
    missing: bool = key("Whether missing values have a cell of their own; else they are in the last one.")
    sums: Line = key(
        "For each cell the weight of its rows, then for each output the residuals, then their squares, times weights."
    )
    fitted: Line = key(
        "Where residuals are of held-out rows: for each cell and output those of the list itself.", absent=None
    )

    @staticmethod
    def build(own: dict[str, Any], place: str, n_outputs: int) -> ColumnSums:
        """With so many outputs; a ``Damage`` where lines do not go together."""
        text = own["edges"]
        ensure((text is None) != (own["levels"] is None), place, "must have either `edges` or `levels`")
        if text is not None:
            own["edges"] = read_line(text, text.count(" ") + bool(text), f"{place}.edges")
            ensure(bool((np.diff(own["edges"]) > 0).all()), f"{place}.edges", "must rise")
        found = ColumnSums(**{**own, "sums": None})
        if found.fitted is not None:
            own = {**own, "fitted": _matrix(found.fitted, found.cells.n_cells, n_outputs, f"{place}.fitted")}
        width = 1 + 2 * n_outputs
        sums = read_line(own["sums"], found.cells.n_cells * width, f"{place}.sums").reshape(-1, width)
        ensure(bool((sums[:, 0] >= 0).all()), f"{place}.sums", "must start with weights of rows")
        return replace(found, sums=sums, fitted=own["fitted"])

    @property
    def cells(self) -> Cells:
        """How its values are grouped."""
        ends = (-np.inf if self.low is None else self.low, np.inf if self.high is None else self.high)
        if self.levels is not None:
            return Cells(levels=tuple(self.levels), missing_apart=self.missing)
        return Cells(tuple(self.edges.tolist()), None, *ends, missing_apart=self.missing)


@dataclass(frozen=True)
class TermSums:
    """The values of a term over the training rows and, where it has ten rows on either side, what came true there."""

    rule: str = key("What it reads.")
    values: Line = key("Its values to the powers 1 to 4, times weights. A rule is 1 where it holds, and else 0.")
    truth: Line = key("For each output what came true, times values and weights.", absent=None)
    residuals: Line = key(
        "For each output residuals times values, times their squares; then squared residuals times the same.",
        absent=None,
    )
    fitted: Line = key(
        "Where residuals are of held-out rows: for each output those of the list itself times values.", absent=None
    )

    @staticmethod
    def build(own: dict[str, Any], place: str, n_outputs: int) -> TermSums:
        """With so many outputs; a ``Damage`` where lines do not go together."""
        ensure(
            (own["truth"] is None) == (own["residuals"] is None), place, "must have `truth` and `residuals`, or neither"
        )
        own["values"] = read_line(own["values"], N_MOMENTS, f"{place}.values")
        if own["truth"] is not None:
            own["truth"] = read_line(own["truth"], n_outputs, f"{place}.truth")
            own["residuals"] = _matrix(own["residuals"], 4, n_outputs, f"{place}.residuals")
        if own["fitted"] is not None:
            own["fitted"] = read_line(own["fitted"], n_outputs, f"{place}.fitted")
        return TermSums(**own)


@dataclass(frozen=True)
class Reference:
    """Sums over the training rows that later rows are compared with."""

    n_rows: int = key("The number of training rows.", low=1)
    weight: float = key("Their weights.", above=0)
    squares: float = key("The squares of their weights.", above=0)
    n_outputs: int = key("Numbers that the target is watched by: 1, or of more than two classes one for each.", low=0)
    out_of_fold: bool = key("Whether residuals are of rows that were held out; else they are of training rows.")
    list: str = key("A fingerprint of the rules, weights and intercept that residuals are of.")
    truth: Line = key("For each output what came true, times weights.")
    residuals: Line = key("For each output residuals, then their squares, times weights.")
    error: Line = key("Squared residuals, summed over outputs, and the squares of that, times weights.")
    columns: tuple[ColumnSums, ...] = key("Of each feature, in order.")
    terms: tuple[TermSums, ...] = key("Of each term that has a weight, in order.")
    fitted: Line = key("Where residuals are of held-out rows: for each output those of the list itself.", absent=None)

    @staticmethod
    def read(said: Mapping[str, Any], n_features: int) -> Reference:
        """That of a model, from its facts; a ``Damage`` where lines do not go together."""
        place, n = "facts.reference", said["n_outputs"]
        found: Reference = record(Reference).read(said, place, n)
        ensure(len(found.columns) == n_features, f"{place}.columns", f"must be of {n_features} features")
        lines = {"truth": n, "residuals": 2 * n, "error": 2 if n else 0}
        lines |= {"fitted": n} if found.fitted is not None else {}
        read: dict[str, Any] = {name: read_line(said[name], m, f"{place}.{name}") for name, m in lines.items()}
        return replace(found, **read)

    def to_facts(self) -> dict[str, Any]:
        """As plain data."""
        written: dict[str, Any] = record(Reference).write(self)
        return written

    @property
    def cells(self) -> tuple[Cells, ...]:
        """How the values of the features are grouped."""
        return tuple(own.cells for own in self.columns)

    def sums(self, texts: Sequence[str], *, judged: bool) -> RowSums:
        """The sums, of the terms that read this; nothing is known of others. ``judged``: with what came true."""
        own, n = {term.rule: term for term in self.terms}, self.n_outputs
        found = [own.get(text) for text in texts]
        nothing = np.full(N_MOMENTS, np.nan)
        width = 1 + 2 * n if judged else 1
        none = np.full(len(self.columns), np.nan)
        sums = RowSums(
            self.n_rows,
            self.weight,
            self.squares,
            tuple(np.zeros(column.cells.n_cells, dtype=np.int64) for column in self.columns),
            tuple(column.sums[:, :width] for column in self.columns),
            np.zeros(len(self.columns)),
            none,
            none,
            np.array([nothing if term is None else term.values for term in found]).reshape(-1, N_MOMENTS),
        )
        if not judged or not n:
            return sums
        unknown = np.full((4, n), np.nan)
        constant = self.residuals.reshape(2, n).repeat(2, axis=0)
        truth = [self.truth, *(unknown[0] if t is None or t.truth is None else t.truth for t in found)]
        left = [constant, *(unknown if t is None or t.residuals is None else t.residuals for t in found)]
        sums = replace(sums, truth=np.array(truth), residuals=np.array(left), error=self.error)
        return sums if self.fitted is None else replace(sums, fitted=self._fitted(sums, found))

    def _fitted(self, sums: RowSums, found: Sequence[TermSums | None]) -> RowSums:
        """The same with residuals of the list itself; their squares are those of held-out rows."""
        assert sums.residuals is not None
        left = sums.residuals.copy()
        left[0, 0] = self.fitted
        for t, term in enumerate(found, start=1):
            left[t, 0] = np.nan if term is None or term.fitted is None else term.fitted
        cells = [column.sums.copy() for column in self.columns]
        for own, column in zip(cells, self.columns):
            if column.fitted is not None:
                own[:, 1 : 1 + self.n_outputs] = column.fitted
        return replace(sums, residuals=left, cells=tuple(cells))


def _matrix(text: str, n_lines: int, width: int, place: str) -> Floats:
    """Numbers of a line of text, in lines of so many."""
    return read_line(text, n_lines * width, place).reshape(n_lines, width)


def list_mark(model: Model) -> str:
    """A fingerprint of what a model adds up."""
    told = [repr(model.intercept), *(f"{term.condition_text} {term.added!r}" for term in model.watched_terms)]
    return blake2b("\n".join(told).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def rules_of_few_rows(model: Model) -> str:
    """The rules, by number, whose outputs say what came true of a few persons or things; empty where there are none."""
    sides = {i: (own.n_inside, own.n_outside) for i, own in enumerate(model.rules, start=1) if own.conditions}
    few = [str(i) for i, own in sides.items() if any(n is not None and n < LEAST_ROWS for n in own)]
    return "" if not few else f"rule{'s' if len(few) > 1 else ''} {', '.join(few)}"


def reference_of(model: Model, sums: RowSums, cells: Sequence[Cells], *, out_of_fold: bool) -> Reference:
    """What a model remembers of the sums of its rows in the finest cells; weights are 1 on average."""
    sums = sums.scaled(sums.n_rows / sums.weight)
    if sums.error is not None and not np.isfinite(sums.error).all():  # numbers so large that their squares are none
        cells_alone = tuple(own[:, :1] for own in sums.cells)
        sums = replace(sums, cells=cells_alone, truth=None, residuals=None, error=None, fitted=None)
    columns, fitted = [], sums.fitted
    for i, (own, rows, found) in enumerate(zip(cells, sums.rows, sums.cells)):
        n = sums.n_outputs
        beside = None if fitted is None else _rounded_sums(merge_cells(own, rows, fitted.cells[i])[1], n)
        merged, found = merge_cells(own, rows, found)
        ends = (None, None) if math.isnan(sums.low[i]) else _outwards(sums.low[i], sums.high[i])
        columns.append(
            ColumnSums(
                edges=None if merged.levels is not None else np.array(merged.edges),
                levels=merged.levels,
                low=ends[0],
                high=ends[1],
                missing=merged.missing_apart,
                sums=_rounded_sums(found, n),
                fitted=None if beside is None else beside[:, 1 : 1 + n],
            )
        )
    nothing = np.zeros(0)
    constant, of_list = (
        None if own is None or own.residuals is None else _grained(own.residuals[0], sums.weight, sums.weight)
        for own in (sums, fitted)
    )
    return Reference(
        n_rows=sums.n_rows,
        weight=float(f"{sums.weight:.{DIGITS + 3}g}"),
        squares=float(f"{sums.squares:.{DIGITS + 3}g}"),
        n_outputs=sums.n_outputs,
        out_of_fold=out_of_fold,
        list=list_mark(model),
        truth=nothing if sums.truth is None else sums.truth[0],
        residuals=nothing if constant is None else constant[[0, 2]],
        fitted=None if of_list is None else of_list[0],
        error=nothing if sums.error is None else sums.error,
        columns=tuple(columns),
        terms=tuple(_term_sums(model, sums, t) for t in range(len(model.watched_terms))),
    )


def _term_sums(model: Model, sums: RowSums, t: int) -> TermSums:
    """The sums of a term; what came true only where both sides have enough rows."""
    term, values = model.watched_terms[t], sums.values[t]
    sides = (term.n_inside, term.n_outside) if term.conditions else ()
    if sums.truth is None or sums.residuals is None or any((n or 0) < LEAST_ROWS for n in sides):
        return TermSums(term.condition_text, values)
    left, of_list = (
        None if own is None or own.residuals is None else _grained(own.residuals[1 + t], values[1], values[3])
        for own in (sums, sums.fitted)
    )
    fitted = None if of_list is None else of_list[0]
    return TermSums(term.condition_text, values, sums.truth[1 + t], left, fitted)


def _outwards(low: float, high: float) -> tuple[float, float]:
    """A range about another, in units of a hundredth to a tenth of it."""
    if not low < high:
        return low, high
    grain = Decimal(1).scaleb(math.floor(math.log10(high - low)) - 1)
    below = (Decimal(low) / grain).to_integral_value(ROUND_FLOOR) * grain
    return float(below), float((Decimal(high) / grain).to_integral_value(ROUND_CEILING) * grain)


def _grained(sums: Floats, second: float, fourth: float) -> Floats:
    """Sums [4, output] of residuals, rounded as parts of what they would be without signs."""
    squares = np.maximum(sums[2:], 0.0)
    scale = np.sqrt(np.stack([squares[0] * second, squares[1] * second]).clip(0.0))
    return np.concatenate([_to_grain(sums[:2], np.maximum(scale, np.sqrt(squares[:1] * fourth))), squares])


def _rounded_sums(sums: Floats, n_outputs: int) -> Floats:
    """The same of cells, [cell, 1 + 2 outputs]."""
    left, squares = sums[:, 1 : 1 + n_outputs], sums[:, 1 + n_outputs :]
    return np.concatenate([sums[:, :1], _to_grain(left, np.sqrt(sums[:, :1] * squares)), squares], axis=1)


def _to_grain(values: Floats, scale: Floats) -> Floats:
    """Values rounded to a ten-millionth of a power of ten near their scale."""
    with np.errstate(divide="ignore"):
        decimals = DIGITS - 1 - np.floor(np.log10(scale))
    pairs = zip(values.ravel().tolist(), decimals.ravel().tolist())
    found = [round(value, int(own)) + 0.0 if math.isfinite(own) else 0.0 for value, own in pairs]
    return np.array(found).reshape(values.shape)

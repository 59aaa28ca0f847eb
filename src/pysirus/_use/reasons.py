"""A model and rows in, for each row the terms that count most for what was decided, or against it, out.

A score is a sum over terms. Measured from a reference, each term contributes what it adds to this row less what it adds
there, and the score of the reference and all contributions add up to the score of the row: reasons are parts of the
score itself, not an approximation of it. What is listed are the largest ones, equal ones in the order of the list.
Of two classes all is told in the score of the positive one, as in every other print: what speaks for the other class
lowers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import MISSING, Column
from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, check_choice, check_integer
from pysirus._terms.fitted import Part
from pysirus._text.format import (
    format_date,
    format_label,
    format_level,
    format_threshold,
    html_lines,
    html_table,
    make_frame,
    one_line,
    row_head,
    text_table,
)
from pysirus._text.message import Parameter
from pysirus._use.score import class_number, cutoff_of, decided, decided_text, decimals_apart, told_class

Floats = NDArray[np.float64]
Direction = Literal["for", "against", "both"]
By = Literal["rule", "column"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
WAYS: tuple[By, ...] = get_args(By)
REFERENCES = ("average", "best")
SHOWN = 5  # rows in print
FROM = {
    "average": "the average training row",
    "mean": "the mean of the training rows",
    "best": "the best value of each term",
    "row": "the given row",
}


@dataclass(frozen=True)
class Wanted:
    """What reasons are asked for: how many, in which direction, by rule or column; None leaves it to the target."""

    k: int = 4
    direction: Direction = "for"
    by: By = "rule"
    outcome: int | None = None  # the number of the class that they are about; None: that of each row's prediction

    @property
    def sign(self) -> float:
        """1 where what raises the score counts, -1 where what lowers it does, 0 where both do."""
        return {"for": 1.0, "against": -1.0, "both": 0.0}[self.direction]


def wanted_of(model: Model, k: Any, direction: Any, by: Any, outcome: Any) -> Wanted:
    """The same, checked."""
    check_integer("k", k, 1)
    direction = ("for" if model.family.shape else "both") if direction is None else direction
    check_choice("direction", direction, DIRECTIONS)
    check_choice("by", by, WAYS)
    return Wanted(int(k), direction, by, class_number(model, outcome, "outcome"))


class Reference(NamedTuple):
    """What contributions are measured from: its name, for each class what each term adds there, and the row."""

    name: str
    points: Floats  # [class that reasons are about, term], in the score in which it is told
    row: Table | None = None


def reference_of(model: Model, reference: Any, wanted: Wanted, parts: Sequence[Part]) -> Reference:
    """The reference by its name, or a row."""
    family, told = model.family, [told_class(model.family, k) for k in _classes(model)]
    if isinstance(reference, str):
        check_choice("reference", reference, REFERENCES)
        if reference == "average":
            averages = family.explained(parts, np.empty((0, len(parts))))[1]
            return Reference(family.measured_from, np.array([family.points_of(averages, k) for k in told]))
    if not family.adds_up:
        raise ParameterError(
            f"{Parameter('reference')} must be 'average': the rules of this model share a weighted mean (Node harvest)."
        )
    if not isinstance(reference, str):
        table = model.align(reference)
        if table.n_rows != 1:
            raise ParameterError(f"{Parameter('reference')} must be one row, got {table.n_rows:,} rows.")
        return Reference("row", _points(model, parts, _values(parts, table))[told, 0], table)
    if wanted.direction == "both":
        raise ParameterError(
            f"{Parameter('reference')} 'best' needs a {Parameter('direction')}: with 'against' reasons are measured "
            "from the highest value of each term, with 'for' from the lowest."
        )
    ends = np.array([term.value_ends for term in parts]).reshape(len(parts), 2)
    points = _points(model, parts, ends.T)  # [class, end, term]
    best = points.argmax(axis=1) if wanted.direction == "against" else points.argmin(axis=1)
    return Reference("best", np.take_along_axis(points[told], best[:, None], axis=1)[:, 0])


def _classes(model: Model) -> range:
    return range(len(model.classes or (None,)))


def _values(parts: Sequence[Part], table: Table) -> Floats:
    """The value of each term in each row, [row, term]."""
    return np.array([term.values(table) for term in parts]).reshape(len(parts), table.n_rows).T


def _points(model: Model, parts: Sequence[Part], values: Floats) -> Floats:
    """What terms add to the score of each class at their values [row, term], as it is told: [class, row, term]."""
    family, found = model.family, np.empty((len(_classes(model)), *values.shape))
    if not family.adds_up:
        return family.explained(parts, values)[0][None]
    for t, term in enumerate(parts):
        for k in _classes(model):
            sides = (float(family.points_of(np.array(side), k)[()]) for side in _added(model, term))
            found[k, :, t] = term.between(values[:, t], *sides)
    return found


def _added(model: Model, term: Part) -> tuple[Any, Any]:
    """What a term adds to the score at the values 1 and 0: a number, or one for each class."""
    inside, outside = term.added
    return (inside, outside) if model.family.shape else (inside[0], outside[0])


@dataclass(frozen=True, repr=False)
class Reasons:
    """The terms, or columns, that contribute most to the decision for each row. Prints row by row.

    ``base`` and all ``contributions`` of a row add up to its score; ``rest`` is the sum of those not listed as reasons.

    Attributes
    ----------
    names : tuple of str
        The rules and terms, or the columns, in the order of the model.
    contributions : ndarray of shape (n_rows, n_names)
        What each term adds to the score, minus what it adds for the reference. With two classes this is the score of
        the positive class, with several the score of the outcome.
    base : ndarray of shape (n_rows,)
        The score of the reference.
    outcomes : ndarray of int of shape (n_rows,)
        The index of the class that the reasons refer to; 0 for regression.
    predictions : ndarray of shape (n_rows, n_outputs)
        The predictions: a number, or the probability of each class.
    reference : {"average", "mean", "best", "row"}
        The reference of the contributions.
    """

    model: Model
    names: tuple[str, ...]
    contributions: Floats
    base: Floats
    outcomes: NDArray[np.int64]
    reference: str
    wanted: Wanted
    said: tuple[tuple[str, str], ...]  # the text of each where it holds, and where it does not
    fired: NDArray[np.bool_]
    predictions: Floats
    table: Table
    read: tuple[tuple[int, ...], ...]  # the columns that each reads

    def __len__(self) -> int:
        return len(self.base)

    def __getitem__(self, rows: int | slice) -> Reasons:
        """The reasons of one row, or of a slice of rows."""
        if not isinstance(rows, slice) and not -len(self) <= rows < len(self):
            raise IndexError(f"There is no row {rows}: there are reasons for rows 0 to {len(self) - 1}.")
        taken = rows if isinstance(rows, slice) else [rows]
        names = ("contributions", "base", "outcomes", "fired", "predictions")
        return replace(self, table=self.table.at(taken), **{name: getattr(self, name)[taken] for name in names})

    @property
    def scores(self) -> Floats:
        """The score of each row: the sum of base and contributions."""
        return np.asarray(self.base + self.contributions.sum(axis=1))

    @cached_property
    def ranked(self) -> NDArray[np.int64]:
        """The numbers of the reasons of each row, largest first, [row, rank]; -1 where it has no more."""
        k, own = min(self.wanted.k, len(self.names)), self._signs[:, None]
        size = np.abs(self.contributions) if self.wanted.sign == 0 else own * self.contributions
        order = np.argsort(-size, axis=1, kind="stable")[:, :k]
        return np.where(np.take_along_axis(size, order, axis=1) > 0, order, -1)

    @property
    def _signs(self) -> Floats:
        """For each row 1 where what raises the score counts, -1 where what lowers it does."""
        told = np.array([told_class(self.model.family, k) for k in _classes(self.model)])
        return self.wanted.sign * np.where(told[self.outcomes] == self.outcomes, 1.0, -1.0)

    @property
    def rest(self) -> Floats:
        """The sum of the contributions that are not listed as reasons, for each row."""
        listed = np.take_along_axis(self.contributions, np.maximum(self.ranked, 0), axis=1)
        return np.asarray(self.contributions.sum(axis=1) - np.where(self.ranked < 0, 0.0, listed).sum(axis=1))

    def text_of(self, row: int, name: int) -> str:
        """What is told of one reason of a row."""
        return self.said[name][0 if self.fired[row, name] else 1]

    def input_of(self, row: int, name: int) -> str:
        """The values of a row that one of its reasons reads: ``income = 41``."""
        return ", ".join(input_text(self.table.columns[index], row) for index in self.read[name])

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame with a row for each reason, by table row and then largest first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``row``, ``rank``, ``decision`` and ``class`` (for classes: what is decided of the row, and which
            class the reason is about), ``text``, ``input`` (the values that it reads), ``contribution`` and ``scale``
            (to what it contributes).
        """
        rows, ranks = np.nonzero(self.ranked >= 0)
        found = self.ranked[rows, ranks]
        data: dict[str, list[Any]] = {"row": rows.tolist(), "rank": (ranks + 1).tolist()}
        if self.model.classes is not None:
            decisions = self.model.choose(self.predictions)
            for column, numbers in (("decision", decisions), ("class", self.outcomes)):
                data[column] = [self.model.classes[k] for k in numbers[rows].tolist()]
        pairs = [*zip(rows.tolist(), found.tolist())]
        data["text"] = [self.text_of(row, name) for row, name in pairs]
        data["input"] = [self.input_of(row, name) for row, name in pairs]
        data["contribution"] = self.contributions[rows, found].tolist()
        data["scale"] = [self._scale(row) for row in rows.tolist()]
        return make_frame(data, backend)

    def to_dict(self) -> dict[str, Any]:
        """The reasons of one row as plain data, ready for JSON."""
        if len(self) != 1:
            raise ValueError(f"to_dict is of one row, and there are {len(self)}: take reasons[i].to_dict().")
        found = [name for name in self.ranked[0].tolist() if name >= 0]
        said = {"target": self.model.target, "scale": self._scale(0), "reference": FROM[self.reference]}
        said |= decided(self.model.family, self.predictions[0])
        if self.model.classes is not None:
            label = self.model.classes[int(self.outcomes[0])]
            said["outcome"] = label.item() if hasattr(label, "item") else label
        listed = [
            {"text": self.text_of(0, name), "input": self.input_of(0, name)}
            | {"contribution": float(self.contributions[0, name])}
            for name in found
        ]
        score = {"base": float(self.base[0]), "rest": float(self.rest[0]), "score": float(self.scores[0])}
        return {**said, "reasons": listed, **score}

    def _scale(self, row: int) -> str:
        """To what contributions add up."""
        family = self.model.family
        return family.scale_of(told_class(family, int(self.outcomes[row])))

    def _head(self, row: int) -> str:
        """What is listed of a row: reasons for what, in which score, and from where they are measured."""
        way, classes = self.wanted.direction, self.model.classes
        about = (
            f" {'about' if way == 'both' else way} {format_label(classes[int(self.outcomes[row])])}" if classes else ""
        )
        moves = {1.0: "raises", -1.0: "lowers", 0.0: "moves"}[float(self._signs[row]) + 0.0]
        scale = self._scale(row) if classes is None and not self.model.family.is_scored else f"the {self._scale(row)}"
        return one_line(f"reasons{about}: what {moves} {scale} most, measured from {FROM[self.reference]}")

    def _rows(self, row: int) -> tuple[list[str], list[list[str]]]:
        """The reasons of one row, and how they add up."""
        family, found = self.model.family, [name for name in self.ranked[row].tolist() if name >= 0]
        lines, decimals = [], decimals_apart(family, self.predictions[row])
        for i, name in enumerate(found, 1):
            number = family.point_text(float(self.contributions[row, name]), decimals)
            lines.append([str(i), self.text_of(row, name), self.input_of(row, name), number])
        sums = {"everything else": self.rest[row], FROM[self.reference]: self.base[row], "in sum": self.scores[row]}
        cutoff = cutoff_of(family)
        if cutoff is not None:
            sums[f"the cut-off, above which it is {format_label(self.model.labels[family.positive])}"] = cutoff[1]
        lines += [["", text, "", family.point_text(float(value), decimals)] for text, value in sums.items()]
        return ["#", "reason", "input", "contribution"], lines

    def _said(self, row: int) -> tuple[str, str]:
        """What is decided of one row, and what is listed of it."""
        return decided_text(self.model.family, self.predictions[row]), self._head(row)

    def _block(self, row: int) -> str:
        return "\n".join([*self._said(row), text_table(*self._rows(row))])

    def __str__(self) -> str:
        blocks = [self._block(row) for row in range(min(len(self), SHOWN))]
        if len(self) > 1:
            blocks = [f"{row_head(row)}\n{block}" for row, block in enumerate(blocks)]
        if len(self) > SHOWN:
            blocks.append(f"and {len(self) - SHOWN} more rows")
        return "\n\n".join(blocks)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        said = []
        for row in range(min(len(self), SHOWN)):
            said.append(html_lines(*[row_head(row)] * (len(self) > 1), *self._said(row)))
            said.append(html_table(*self._rows(row)))
        return "".join(said) + (f"<p>and {len(self) - SHOWN} more rows</p>" if len(self) > SHOWN else "")


def reasons(
    model: Model,
    X: Any,
    k: int = 4,
    *,
    direction: str | None = None,
    outcome: Any = None,
    reference: Any = "average",
    by: str = "rule",
) -> Reasons:
    """The reasons of some rows; see ``RuleModel.reasons``."""
    wanted = wanted_of(model, k, direction, by, outcome)
    table = model.align(X)
    parts = (*model.rules_on(table), *model.terms)
    from_, values = reference_of(model, reference, wanted, parts), _values(parts, table)
    decision = model.decision(table)
    outcomes = np.zeros(table.n_rows, dtype=np.int64)
    if model.classes is not None:
        outcomes = model.choose(decision) if wanted.outcome is None else outcomes + wanted.outcome
    told = np.array([told_class(model.family, k) for k in _classes(model)])[outcomes]
    points, rows = _points(model, parts, values), np.arange(table.n_rows)
    start = model.family.explained_from(model.intercept)
    base = np.array([float(model.family.points_of(np.asarray(start), k)[()]) for k in _classes(model)])
    contributions = points[told, rows] - from_.points[outcomes]
    base = base[told] + from_.points.sum(axis=1)[outcomes]
    fired = np.array([term.fired(own) for term, own in zip(parts, values.T)], dtype=bool).reshape(values.T.shape).T
    said = tuple((term.said(True), term.said(False)) for term in parts)
    names, read = tuple(term.condition_text for term in parts), tuple(tuple(term.columns) for term in parts)
    given = outcomes, from_.name, wanted, said, fired, decision.reshape(table.n_rows, -1), table, read
    each = Reasons(model, names, contributions, base, *given)
    return each if by == "rule" else _by_column(each, parts, from_.row)


def columns_in(model: Model, parts: Sequence[Part]) -> list[int]:
    """The columns that terms read, in the order of the model's columns."""
    return sorted(model.columns_of([]) | {index for term in parts for index in term.columns})


def answerable(term: Part, row: Table | None) -> tuple[int, ...]:
    """The columns that answer for a term where it holds: all, or those whose conditions the reference row fails."""
    if row is None or len(term.columns) == 1:
        return tuple(term.columns)
    failed = tuple(c.index for c in term.conditions if not c.holds(row.columns[c.index])[0])
    return failed or tuple(term.columns)


def _shares(term: Part, table: Table, fired: NDArray[np.bool_], row: Table | None) -> dict[int, Floats]:
    """By how much to divide what a term contributes to a row, for each of its columns; infinity where it has no part.

    Where a rule does not hold the columns answer whose conditions fail, in equal parts: one whose condition is met has
    no part in it.
    """
    within = answerable(term, row)
    if len(term.columns) == 1 or not term.conditions:
        return {index: np.full(table.n_rows, float(len(term.columns))) for index in term.columns}
    fails = {c.index: ~c.holds(table.columns[c.index]) for c in term.conditions}
    n_failing = np.sum([*fails.values()], axis=0, dtype=np.float64)
    inside = {index: float(len(within)) if index in within else np.inf for index in fails}
    return {i: np.where(fired, inside[i], np.where(own, n_failing, np.inf)) for i, own in fails.items()}


def _by_column(each: Reasons, parts: Sequence[Part], row: Table | None) -> Reasons:
    """The same summed by column."""
    columns = columns_in(each.model, parts)
    summed = np.zeros((len(each), len(columns)))
    for t, term in enumerate(parts):
        for index, by in _shares(term, each.table, each.fired[:, t], row).items():
            summed[:, columns.index(index)] += each.contributions[:, t] / by
    names = tuple(each.model.features[index].name for index in columns)
    said, read = tuple((name, name) for name in names), tuple((index,) for index in columns)
    fired = np.ones(summed.shape, dtype=bool)
    return replace(each, names=names, contributions=summed, said=said, fired=fired, read=read)


def value_text(value: Any, *, is_date: bool = False) -> str:
    """A value of a row as it is read."""
    if value is None or value != value:
        return "missing"
    if isinstance(value, float):
        return format_date(value) if is_date else format_threshold(value)
    return format_level(value)


def value_of(column: Column, row: int = 0) -> Any:
    """A value of a row: a number, a category, or None where it is missing or none that the model knows."""
    value = column.values[row]
    if column.is_numeric:
        return float(value)
    return None if value <= MISSING else column.levels[int(value)]


def input_text(column: Column, row: int) -> str:
    """A column and its value in a row."""
    if not column.is_numeric and column.values[row] < MISSING:
        return f"{column.name} = a category that training rows did not have"
    return f"{column.name} = {value_text(value_of(column, row), is_date=column.is_date)}"

"""A model and rows in, for each row the terms that count most for what was decided, or against it, out.

A score is a sum over terms. Measured from a reference, each term contributes what it adds to this row less what it adds
there, and the score of the reference and all contributions add up to the score of the row: reasons are parts of the
score itself, not an approximation of it. What is listed are the largest ones, equal ones in the order of the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, check_choice, check_integer
from pysirus._parameters.check import label_number
from pysirus._terms.linear import Part
from pysirus._terms.listing import RuleSet
from pysirus._text.format import format_levels, make_frame, one_line, text_table
from pysirus._text.message import Parameter
from pysirus._use.edit import rule_positions

Floats = NDArray[np.float64]
Fitted = TypeVar("Fitted", bound=Model)
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


def class_number(model: Model, label: Any, parameter: str) -> int | None:
    """The number of a class by its label, or by its text; None where none is said."""
    if label is None:
        return None
    if model.classes is None:
        raise ParameterError(f"{Parameter(parameter)} is a class, and this model predicts {model.family.predicts}.")
    found = label_number(label, model.classes)
    if found is None and isinstance(label, str):
        found = next((k for k, own in enumerate(model.classes) if str(own) == label), None)
    if found is None:
        raise ParameterError(
            f"{Parameter(parameter)} must be one of the classes {one_line(format_levels(model.classes[:10]))}, "
            f"got {label!r}."
        )
    return found


class Reference(NamedTuple):
    """What contributions are measured from: its name, and for a class what each term adds there, in points."""

    name: str
    points: Floats  # [class, term]


def reference_of(model: Model, reference: Any, wanted: Wanted, parts: Sequence[Part]) -> Reference:
    """The reference by its name, or a row."""
    family = model.family
    if isinstance(reference, str):
        check_choice("reference", reference, REFERENCES)
        if reference == "average":
            averages = family.explained(parts, np.empty((0, len(parts))))[1]
            return Reference(family.measured_from, np.array([family.points_of(averages, k) for k in _classes(model)]))
    if not family.adds_up:
        raise ParameterError(
            f"{Parameter('reference')} must be 'average': the rules of this model share a weighted mean (Node harvest)."
        )
    if not isinstance(reference, str):
        table = model.align(reference)
        if table.n_rows != 1:
            raise ParameterError(f"{Parameter('reference')} must be one row, got {table.n_rows:,} rows.")
        return Reference("row", _points(model, parts, _values(parts, table))[:, 0])
    if wanted.direction == "both":
        raise ParameterError(
            f"{Parameter('reference')} 'best' needs a {Parameter('direction')}: with 'against' reasons are measured "
            "from the highest value of each term, with 'for' from the lowest."
        )
    best = np.max if wanted.direction == "against" else np.min
    ends = np.array([term.value_ends for term in parts]).reshape(len(parts), 2)
    return Reference("best", best(_points(model, parts, ends.T), axis=1))


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
    """For each row the terms, or columns, that count most.

    ``base`` and all ``contributions`` of a row add up to its score; those that are not among its reasons are ``rest``.

    Attributes
    ----------
    names : tuple of str
        The rules and terms, or the columns, in the order of the model.
    contributions : ndarray of shape (n_rows, n_names)
        What each adds to the score of the row's outcome, less what it adds at the reference.
    base : ndarray of shape (n_rows,)
        The score of the reference.
    outcomes : ndarray of int of shape (n_rows,)
        The number of the class that the reasons of a row are about; 0 where numbers are predicted.
    reference : {"average", "mean", "best", "row"}
        What contributions are measured from.
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

    def __len__(self) -> int:
        return len(self.base)

    def __getitem__(self, rows: int | slice) -> Reasons:
        """The reasons of one row, or of a slice of rows."""
        if not isinstance(rows, slice) and not -len(self) <= rows < len(self):
            raise IndexError(f"There is no row {rows}: there are reasons for rows 0 to {len(self) - 1}.")
        taken = rows if isinstance(rows, slice) else [rows]
        arrays = {name: getattr(self, name)[taken] for name in ("contributions", "base", "outcomes", "fired")}
        return replace(self, **arrays)

    @property
    def scores(self) -> Floats:
        """What base and contributions add up to: the score of each row, of classes that of its outcome."""
        return np.asarray(self.base + self.contributions.sum(axis=1))

    @cached_property
    def ranked(self) -> NDArray[np.int64]:
        """The numbers of the reasons of each row, largest first, [row, rank]; -1 where it has no more."""
        sign, k = self.wanted.sign, min(self.wanted.k, len(self.names))
        size = np.abs(self.contributions) if sign == 0 else sign * self.contributions
        order = np.argsort(-size, axis=1, kind="stable")[:, :k]
        return np.where(np.take_along_axis(size, order, axis=1) > 0, order, -1)

    @property
    def rest(self) -> Floats:
        """What is not among the reasons, in sum, for each row."""
        listed = np.take_along_axis(self.contributions, np.maximum(self.ranked, 0), axis=1)
        return np.asarray(self.contributions.sum(axis=1) - np.where(self.ranked < 0, 0.0, listed).sum(axis=1))

    def text_of(self, row: int, name: int) -> str:
        """What is told of one reason of a row."""
        return self.said[name][0 if self.fired[row, name] else 1]

    def to_frame(self, backend: str | None = None) -> Any:
        """One line for each reason: those of a row in a block, the largest first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``row``, ``rank``, ``class`` (for classes), ``text`` and ``contribution``.
        """
        rows, ranks = np.nonzero(self.ranked >= 0)
        found = self.ranked[rows, ranks]
        data: dict[str, list[Any]] = {"row": rows.tolist(), "rank": (ranks + 1).tolist()}
        if self.model.classes is not None:
            data["class"] = [self.model.classes[k] for k in self.outcomes[rows].tolist()]
        data["text"] = [self.text_of(row, name) for row, name in zip(rows.tolist(), found.tolist())]
        data["contribution"] = self.contributions[rows, found].tolist()
        return make_frame(data, backend)

    def to_dict(self) -> dict[str, Any]:
        """The reasons of one row as plain data, ready for JSON."""
        if len(self) != 1:
            raise ValueError(f"to_dict is of one row, and there are {len(self)}: take reasons[i].to_dict().")
        found = [name for name in self.ranked[0].tolist() if name >= 0]
        said = {"target": self.model.target, "scale": self._scale(0), "reference": FROM[self.reference]}
        if self.model.classes is not None:
            label = self.model.classes[int(self.outcomes[0])]
            said["outcome"] = label.item() if hasattr(label, "item") else label
        listed = [{"text": self.text_of(0, name), "contribution": float(self.contributions[0, name])} for name in found]
        score = {"base": float(self.base[0]), "rest": float(self.rest[0]), "score": float(self.scores[0])}
        return {**said, "reasons": listed, **score}

    def _scale(self, row: int) -> str:
        return self.model.family.scale_of(int(self.outcomes[row]))

    def _block(self, row: int) -> str:
        """The reasons of one row, and how they add up."""
        family, found = self.model.family, [name for name in self.ranked[row].tolist() if name >= 0]
        head = {"for": "for a higher", "against": "for a lower", "both": "for the"}[self.wanted.direction]
        lines = [
            [str(i), self.text_of(row, name), family.point_text(float(self.contributions[row, name]))]
            for i, name in enumerate(found, 1)
        ]
        lines += [
            ["", "everything else", family.point_text(float(self.rest[row]))],
            ["", FROM[self.reference], family.point_text(float(self.base[row]))],
            ["", "in sum", family.point_text(float(self.scores[row]))],
        ]
        return f"reasons {head} {one_line(self._scale(row))}\n{text_table(['#', 'reason', 'contribution'], lines)}"

    def __str__(self) -> str:
        blocks = [self._block(row) for row in range(min(len(self), SHOWN))]
        if len(self) > 1:
            blocks = [f"row {row}: {block}" for row, block in enumerate(blocks)]
        if len(self) > SHOWN:
            blocks.append(f"and {len(self) - SHOWN} more rows")
        return "\n\n".join(blocks)

    __repr__ = __str__


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
    outcomes = np.zeros(table.n_rows, dtype=np.int64)
    if model.classes is not None:
        outcomes = model.choose(model.decision(table)) if wanted.outcome is None else outcomes + wanted.outcome
    points, rows = _points(model, parts, values), np.arange(table.n_rows)
    start = model.family.explained_from(model.intercept)
    base = np.array([float(model.family.points_of(np.asarray(start), k)[()]) for k in _classes(model)])
    contributions = points[outcomes, rows] - from_.points[outcomes]
    base = (base + from_.points.sum(axis=1))[outcomes]
    fired = np.array([term.fired(own) for term, own in zip(parts, values.T)], dtype=bool).reshape(values.T.shape).T
    said = tuple((term.said(True), term.said(False)) for term in parts)
    names = tuple(term.condition_text for term in parts)
    each = Reasons(model, names, contributions, base, outcomes, from_.name, wanted, said, fired)
    return each if by == "rule" else _by_column(each, parts)


def columns_in(model: Model, parts: Sequence[Part]) -> list[int]:
    """The columns that terms read, in the order of the model's columns."""
    return sorted(model.columns_of([]) | {index for term in parts for index in term.columns})


def _by_column(each: Reasons, parts: Sequence[Part]) -> Reasons:
    """The same summed by column; a term counts for each of its columns in equal parts."""
    columns = columns_in(each.model, parts)
    summed = np.zeros((len(each), len(columns)))
    for t, term in enumerate(parts):
        for index in term.columns:
            summed[:, columns.index(index)] += each.contributions[:, t] / len(term.columns)
    names = tuple(each.model.features[index].name for index in columns)
    fired = np.ones(summed.shape, dtype=bool)
    return replace(each, names=names, contributions=summed, said=tuple((name, name) for name in names), fired=fired)


def with_reasons(model: Fitted, texts: Any) -> Fitted:
    """The model with texts for its rules; see ``RuleModel.with_reasons``."""
    if not hasattr(texts, "items"):
        raise ParameterError(f"{Parameter('texts')} must be a dict from rules to texts, got {texts!r}.")
    said: dict[int, tuple[str, ...]] = {}
    for which, text in texts.items():
        pair = tuple(text) if isinstance(text, (tuple, list)) else () if text is None else (text,)
        if len(pair) > 2 or not all(isinstance(own, str) and own.strip() for own in pair):
            raise ParameterError(
                f"{Parameter('texts')} must have a text for each rule, or one where it applies and one where it does "
                f"not; for {which!r} it has {text!r}. None removes the text of a rule."
            )
        said[rule_positions(model, which)[0]] = pair
    keys = {model.selected[i].key: pair for i, pair in said.items()}

    def changed(rules: RuleSet) -> RuleSet:
        return RuleSet([replace(rule, reason=keys.get(rule.key, rule.reason)) for rule in rules])

    tuning = model.tuning
    if tuning is not None:
        tuning = replace(tuning, rules=changed(tuning.rules))
    return replace(model, selected=changed(model.selected), tuning=tuning)

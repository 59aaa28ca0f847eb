"""A model in, SQL that adds the reasons of each row to a query out: ``reason_1``, ``contribution_1``, and so on.

A join LATERAL lists what every term contributes to the row, ranks that, and takes the first. The numbers are those of
``RuleModel.reasons``, and equal ones are in the order of the model there and here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pysirus._terms.fitted import Part
from pysirus._terms.rule import Condition
from pysirus._terms.term import HeldColumn
from pysirus._use.reasons import FROM, Reference, Wanted, answerable, columns_in, reference_of, wanted_of
from pysirus._use.score import told_class
from pysirus.export._addends import Branch, Line
from pysirus.export._conditions import ExportError, Test, resolve
from pysirus.export._writer import Writer

ALL, ROW, RANKED = "reasons", "decided", "ranked"  # what tables are called inside the statement


@dataclass(frozen=True)
class ReasonColumns:
    """The reasons that are asked for, ready to be written."""

    wanted: Wanted
    reference: Reference
    about: str

    @property
    def names(self) -> list[str]:
        """The columns that are added."""
        return [f"{word}_{i}" for i in range(1, self.wanted.k + 1) for word in ("reason", "contribution")]

    @property
    def comment(self) -> str:
        """What they are, in a line."""
        return f"reasons {self.about}, measured from {FROM[self.reference.name]}"


def reason_columns(writer: Writer, k: int, direction: Any, outcome: Any, reference: Any, by: Any) -> ReasonColumns:
    """What is asked for, checked against the model and the engine."""
    model = writer.model
    if not writer.dialect.has_lateral:
        raise ExportError(
            "The option reasons needs LATERAL joins, and is tested on two engines: dialect='postgres' or 'duckdb'."
        )
    if not model.family.adds_up:
        raise ExportError("The option reasons is for rules that add up, and those of Node harvest share a mean.")
    wanted, labels = wanted_of(model, k, direction, by, outcome), model.family.classes
    about = f"{wanted.direction} " if wanted.direction != "both" else "about "
    about += (
        "the prediction" if not labels else "the decision" if wanted.outcome is None else f"{labels[wanted.outcome]}"
    )
    if labels and len(labels) == 2:
        about += f", in {model.family.scale_of(model.family.positive)}"
    return ReasonColumns(wanted, reference_of(model, reference, wanted, _parts(writer)), about)


def _parts(writer: Writer) -> tuple[Part, ...]:
    return (*writer.model.rules, *writer.model.terms)


@dataclass
class _Part:
    """What one term contributes to a class, and where it holds, as expressions."""

    writer: Writer
    term: Any
    measured: float  # what it adds at the reference
    value: str = ""
    when: str = ""
    tests: tuple[Test, ...] = ()
    sides: tuple[float, float] = (0.0, 0.0)

    def branch(self, conditions: Sequence[Condition], inside: Sequence[float], outside: Sequence[float]) -> None:
        """A rule: a number where it holds, another elsewhere."""
        tests = tuple(resolve(condition, self.writer.model) for condition in conditions)
        self.tests, self.sides = tests, (inside[0] - self.measured, outside[0] - self.measured)
        own = Branch(self.term, tests, *((side,) for side in self.sides))
        self.value, self.when = self.writer.branch(own, 0), self.writer.when(own)

    def share(self, index: int, answerable: Sequence[int]) -> str:
        """What counts for one of the columns, as ``reasons`` shares it."""
        number, (inside, outside) = self.writer.dialect.number, self.sides
        if not self.tests or len(self.term.columns) == 1:
            n = len(self.term.columns)
            return f"{self.value} / {number(float(n))}" if n > 1 else self.value
        within = inside / len(answerable) if index in answerable else 0.0
        failing = [f"CASE WHEN {self.writer.passes(test)} THEN 0 ELSE 1 END" for test in self.tests]
        own = next(self.writer.passes(test) for test in self.tests if test.index == index)
        return (
            f"CASE WHEN {self.when} THEN {number(within)} WHEN {own} THEN {number(0.0)} "
            f"ELSE {number(outside)} / ({' + '.join(failing)}) END"
        )

    def line(self, column: HeldColumn, slopes: Sequence[float]) -> None:
        """A column times a slope, less what it is at the reference."""
        limits = column.lower, column.upper, column.missing, column.centre
        line = self.writer.line(Line(self.term, column.feature, column.index, *limits, tuple(slopes)), 0)
        self.value = f"({line} - {self.writer.dialect.number(self.measured)})"


def _built(writer: Writer, term: Part, k: int, measured: float) -> _Part:
    """A term for class ``k``."""
    family, found = writer.model.family, _Part(writer, term, measured)
    inside, outside = (family.points_of(np.array(side), told_class(family, k)) for side in term.added)
    term.build(found, np.atleast_1d(inside).tolist(), np.atleast_1d(outside).tolist())
    return found


def _entries(writer: Writer, asked: ReasonColumns, k: int) -> list[tuple[str, str]]:
    """Text and contribution to class ``k`` of each term, or of each column, as expressions."""
    model, parts = writer.model, _parts(writer)
    built = [_built(writer, term, k, float(own)) for term, own in zip(parts, asked.reference.points[k])]
    if asked.wanted.by == "rule":
        return [(_said(writer, term, own.when), own.value) for term, own in zip(parts, built)]
    found = []
    for index in columns_in(model, parts):
        own = [(term, b) for term, b in zip(parts, built) if index in term.columns]
        shares = [b.share(index, answerable(term, asked.reference.row)) for term, b in own]
        zero = writer.dialect.number(0.0)
        found.append((writer.reason_text(model.features[index].name), "\n + ".join([zero, *shares])))
    return found


def _said(writer: Writer, term: Part, when: str) -> str:
    """What is told of a term: one text, or one where it holds and one elsewhere."""
    holds, other = (writer.reason_text(term.said(side)) for side in (True, False))
    return holds if holds == other or not when else f"CASE WHEN {when} THEN {holds} ELSE {other} END"


def _size(writer: Writer, wanted: Wanted, is_first: str) -> str:
    """How much a part counts: what speaks for the class that is not the positive one lowers the score."""
    family, up, down = writer.model.family, "part", "-part"
    if wanted.direction == "both":
        return "ABS(part)"
    if wanted.direction == "against":
        up, down = down, up
    if len(family.classes or ()) != 2:
        return up
    if wanted.outcome is not None:
        return up if wanted.outcome == family.positive else down
    first, other = (up, down) if family.positive == 0 else (down, up)
    return f"CASE WHEN {is_first} THEN {first} ELSE {other} END"


def with_reason_columns(writer: Writer, query: str, asked: ReasonColumns, prediction: str) -> str:
    """A query with the columns of the reasons added."""
    writer, wanted = replace(writer, source=ROW), asked.wanted
    labels = writer.labels
    classes = range(max(1, len(labels))) if wanted.outcome is None else [wanted.outcome]
    each = [_entries(writer, asked, k) for k in classes]
    decided = [f"{writer.column(prediction)} = {labels[k]}" for k in classes] if len(each) > 1 else []
    lines = []
    for i, entry in enumerate(each[0]):
        value = entry[1]
        if decided:
            cases = " ".join(f"WHEN {when} THEN {own[i][1]}" for when, own in zip(decided, each))
            value = f"CASE {cases} END"
        lines.append(f"SELECT {i} AS place, {entry[0]} AS reason, {value} AS part")
    none = f"SELECT 0 AS place, {writer.reason_text('')} AS reason, {writer.dialect.number(0.0)} AS part"
    size = _size(writer, wanted, f"{writer.column(prediction)} = {labels[classes[0]]}" if decided else "")
    every = "\nUNION ALL ".join(lines or [none])
    ranked = (
        f"SELECT reason, part, ROW_NUMBER() OVER (ORDER BY {size} DESC, place) AS place\n"
        f"FROM (\n{every}\n) AS {ALL}_all"
    )
    picked = ",\n".join(
        f"MAX(CASE WHEN place = {i // 2 + 1} THEN {('reason', 'part')[i % 2]} END) AS {writer.dialect.identifier(name)}"
        for i, name in enumerate(asked.names)
    )
    row = writer.dialect.identifier(ROW)
    inner = f"SELECT {picked}\nFROM (\n{ranked}\nWHERE {size} > 0\n) AS {RANKED}"
    return f"SELECT {row}.*, {ALL}.*\nFROM (\n{query}\n) AS {row}\nCROSS JOIN LATERAL (\n{inner}\n) AS {ALL}"

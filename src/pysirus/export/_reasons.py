"""A model in, SQL that adds the reasons of each row to a query out: ``reason_1``, ``contribution_1``, and so on.

A join LATERAL lists what every term contributes to the row, ranks that, and takes the first. The numbers are those of
``RuleModel.reasons``, and equal ones are in the order of the model there and here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pysirus._terms.linear import Part
from pysirus._terms.rule import Condition
from pysirus._terms.term import HeldColumn
from pysirus._use.reasons import FROM, Reference, Wanted, columns_in, reference_of, wanted_of
from pysirus.export._addends import Branch, Line
from pysirus.export._conditions import ExportError, resolve
from pysirus.export._writer import Writer

ALL, ROW, RANKED = "reasons", "decided", "ranked"  # what tables are called inside the statement
ORDERS = {"for": ("part DESC", "part > 0"), "against": ("part", "part < 0"), "both": ("ABS(part) DESC", "part <> 0")}


@dataclass(frozen=True)
class ReasonColumns:
    """The reasons that are asked for, ready to be written."""

    wanted: Wanted
    reference: Reference

    @property
    def names(self) -> list[str]:
        """The columns that are added."""
        return [f"{word}_{i}" for i in range(1, self.wanted.k + 1) for word in ("reason", "contribution")]

    @property
    def comment(self) -> str:
        """What they are, in a line."""
        return f"reasons {self.wanted.direction} the score, measured from {FROM[self.reference.name]}"


def reason_columns(writer: Writer, k: int, direction: Any, outcome: Any, reference: Any, by: Any) -> ReasonColumns:
    """What is asked for, checked against the model and the engine."""
    model = writer.model
    if not writer.dialect.has_lateral:
        raise ExportError(
            "The option reasons needs LATERAL joins, and is tested on two engines: dialect='postgres' or 'duckdb'."
        )
    if not model.family.adds_up:
        raise ExportError("The option reasons is for rules that add up, and those of Node harvest share a mean.")
    wanted = wanted_of(model, k, direction, by, outcome)
    return ReasonColumns(wanted, reference_of(model, reference, wanted, _parts(writer)))


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

    def branch(self, conditions: Sequence[Condition], inside: Sequence[float], outside: Sequence[float]) -> None:
        """A rule: a number where it holds, another elsewhere."""
        tests = tuple(resolve(condition, self.writer.model) for condition in conditions)
        sides = ((side[0] - self.measured,) for side in (inside, outside))
        own = Branch(self.term, tests, *sides)
        self.value, self.when = self.writer.branch(own, 0), self.writer.when(own)

    def line(self, column: HeldColumn, slopes: Sequence[float]) -> None:
        """A column times a slope, less what it is at the reference."""
        limits = column.lower, column.upper, column.missing, column.centre
        line = self.writer.line(Line(self.term, column.feature, column.index, *limits, tuple(slopes)), 0)
        self.value = f"({line} - {self.writer.dialect.number(self.measured)})"


def _built(writer: Writer, term: Part, k: int, measured: float) -> _Part:
    """A term for class ``k``."""
    family, found = writer.model.family, _Part(writer, term, measured)
    inside, outside = (family.points_of(np.array(side), k) for side in term.added)
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
        own = [(b.value, len(term.columns)) for term, b in zip(parts, built) if index in term.columns]
        shares = [f"{value} / {writer.dialect.number(float(n))}" if n > 1 else value for value, n in own]
        zero = writer.dialect.number(0.0)
        found.append((writer.reason_text(model.features[index].name), "\n + ".join([zero, *shares])))
    return found


def _said(writer: Writer, term: Part, when: str) -> str:
    """What is told of a term: one text, or one where it holds and one elsewhere."""
    holds, other = (writer.reason_text(term.said(side)) for side in (True, False))
    return holds if holds == other or not when else f"CASE WHEN {when} THEN {holds} ELSE {other} END"


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
    order, kept = ORDERS[wanted.direction]
    every = "\nUNION ALL ".join(lines or [none])
    ranked = (
        f"SELECT reason, part, ROW_NUMBER() OVER (ORDER BY {order}, place) AS place FROM (\n{every}\n) AS {ALL}_all"
    )
    picked = ",\n".join(
        f"MAX(CASE WHEN place = {i // 2 + 1} THEN {('reason', 'part')[i % 2]} END) AS {writer.dialect.identifier(name)}"
        for i, name in enumerate(asked.names)
    )
    row = writer.dialect.identifier(ROW)
    inner = f"SELECT {picked}\nFROM (\n{ranked}\nWHERE {kept}\n) AS {RANKED}"
    return f"SELECT {row}.*, {ALL}.*\nFROM (\n{query}\n) AS {row}\nCROSS JOIN LATERAL (\n{inner}\n) AS {ALL}"

"""A model and a dialect in, the parts of a SQL statement out: sums, what they stand for, the class, and the reasons.

A sum is a CASE WHEN for each rule, added up in the order of the model. What it stands for (``Family.form``) is written
in terms of the sums, as expressions or as columns of an inner query.

Reasons are the columns ``reason_1``, ``contribution_1``, and so on. A join LATERAL lists what every term contributes to
the row, ranks that, and takes the first. The numbers are those of ``RuleModel.reasons``, and equal ones are in the
order of the model there and here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pysirus._data.recipe import Derived
from pysirus._data.written import WEEKDAYS
from pysirus._families.links import Form
from pysirus._model.model import Model
from pysirus._terms.linear import Part
from pysirus._terms.rule import Condition
from pysirus._terms.term import HeldColumn
from pysirus._use.reasons import FROM, Reference, Wanted, columns_in, reference_of, wanted_of
from pysirus.export._addends import Addend, Branch, Line, Listing, listing_of, pair_of
from pysirus.export._conditions import ExportError, Test, column_of, date_of, level_type, resolve
from pysirus.export._dialects import NAME_ONE, Dialect, smallest_factor

LARGEST_EXPONENT = 700.0  # some engines fail above 709, and below -708
TRUTH = {True: ("1", "1.0", "true"), False: ("0", "0.0", "false")}  # as numbers and as text
MODERATE = 300.0  # exponentials of such scores can be added and divided as they are


@dataclass(frozen=True)
class Writer:
    """A model in the words of a dialect; columns are those of ``source``, where it has a name.

    ``whole`` says that all parts of the sums are whole numbers, and writes them so.
    """

    model: Model
    dialect: Dialect
    source: str | None = None
    whole: bool = False

    def column(self, name: str) -> str:
        """A column. With its table in front it cannot be taken for a text, or for a column of another query."""
        column = self.dialect.identifier(name)
        return column if self.source is None else f"{self.dialect.identifier(self.source)}.{column}"

    def feature(self, index: int) -> str:
        """The column that a feature is made of."""
        return self.column(column_of(self.model, index))

    # ------------------------------------------------------------------------------------------------------- rules

    def _moment(self, own: Derived, column: str) -> str:
        """The moment of a column of dates, or the part of it that a feature is."""
        if self.dialect.clock is None:
            raise ExportError(
                f"The rules use '{own.feature}', a date, which engines read in different ways. {NAME_ONE}"
            )
        write = self.dialect.clock.read(column, own, self.dialect.name, self._level)
        return self.dialect.clock.part(write, own, self.dialect.name)

    def _known_date(self, test: Test, own: Derived, value: str) -> str:
        """What is asked of a date or of a part of it."""
        assert self.dialect.clock is not None
        if test.kind != "interval":
            levels = ", ".join(str(WEEKDAYS.index(level)) for level in test.levels)
            return f"{value} {'IN' if test.kind == 'in' else 'NOT IN'} ({levels})"
        clock, whole = self.dialect.clock, own.take in ("date", "days")
        ends = [(">=", test.lower), ("<", test.upper)]
        return " AND ".join(
            f"{value} {sign} {clock.compared(end, own) if whole else self.dialect.number(end)}"
            for sign, end in ends
            if end is not None
        )

    def _known(self, test: Test, column: str) -> str:
        """What is asked of known values; NULL, which is not true, for missing ones."""
        dialect = self.dialect
        if test.kind == "interval":
            value, ends = dialect.as_number(column), []
            if test.lower is not None:
                ends.append(f"{value} >= {dialect.number(test.lower)}")
            if test.upper is not None:
                ends.append(f"{value} < {dialect.number(test.upper)}")
            return " AND ".join(ends)
        value, kind = column, level_type(self.model, test.index, "SQL")
        levels = ", ".join(self._level(kind(level)) for level in test.levels)
        if kind is str:
            value = self._text(test, column)
        elif kind is bool and dialect.truth is not None:
            value = dialect.truth(column)
            levels = ", ".join(self._level(word) for level in test.levels for word in TRUTH[bool(level)])
        elif kind is float:  # others stay: whole numbers may have more digits than a double
            value = dialect.as_number(column)
        return f"{value} {'IN' if test.kind == 'in' else 'NOT IN'} ({levels})"

    def _text(self, test: Test, column: str) -> str:
        """The column as text that compares by its bytes."""
        if self.dialect.guesses is not None:
            levels = [str(level) for level in self.model.features[test.index].levels]
            column = self.dialect.guesses.as_text(column, test.feature, levels, self._level)
        return self.dialect.as_text(column)

    def passes(self, test: Test) -> str:
        """Where a test passes."""
        own = date_of(self.model, test.index)
        # a caller may have made other columns ready, and named them in the rules: Spark's transform does
        column = value = self.column(test.feature) if own is None else self.feature(test.index)
        if own is not None:
            value = self._moment(own, column)
        elif self.dialect.has_nan and (test.numeric or level_type(self.model, test.index, "SQL") is float):
            value = self.dialect.as_number(column)
        if test.kind == "never":
            return f"{value} IS NULL" if test.missing else "1 = 0"
        if test.kind == "known":
            return "1 = 1" if test.missing else f"{value} IS NOT NULL"
        known = self._known(test, column) if own is None else self._known_date(test, own, value)
        if not test.missing:
            return known
        return f"({column} IS NULL OR {known})" if value is column else f"COALESCE({known}, TRUE)"

    # ------------------------------------------------------------------------------------------------------- addends

    def when(self, branch: Branch) -> str:
        """Where a rule holds."""
        return " AND ".join(map(self.passes, branch.tests)) or "1 = 1"

    def branch(self, branch: Branch, k: int) -> str:
        """A rule: what it adds to sum ``k`` where it holds and elsewhere."""
        inside, outside = self._part(branch.inside[k]), self._part(branch.outside[k])
        return f"CASE WHEN {self.when(branch)} THEN {inside} ELSE {outside} END"

    def line(self, line: Line, k: int) -> str:
        """A linear term: the column within its limits, less its centre, times its slope."""
        slope, centre = line.slopes[k], line.centre
        least = smallest_factor(slope) if self.dialect.underflow_fails else 0.0  # smaller ones make no difference

        def number(value: float) -> str:
            return self.dialect.number(value - centre if abs(value - centre) >= least else 0.0)

        date, write = date_of(self.model, line.index), self.dialect.number
        column = self.column(line.feature) if date is None else self._moment(date, self.feature(line.index))
        value = self.dialect.as_number(column)
        own = f"({value} - {write(centre)})" if centre else value
        cases = [f"{value} IS NULL THEN {number(line.missing)}"]
        cases.append(f"{value} < {write(line.lower)} THEN {number(line.lower)}")
        cases.append(f"{value} > {write(line.upper)} THEN {number(line.upper)}")
        if least > 5e-324:
            cases.append(f"{own} > {write(-least)} AND {own} < {write(least)} THEN {write(0.0)}")
        return f"{write(slope)} * CASE {' '.join(f'WHEN {case}' for case in cases)} ELSE {own} END"

    def addend(self, addend: Addend, k: int = 0) -> str:
        """What an addend adds to sum ``k``."""
        return ADDENDS[type(addend)](self, addend, k)

    # ------------------------------------------------------------------------------------------------ text and sums

    def _level(self, value: Any) -> str:
        return (
            self._label(value)
            if not isinstance(value, str)
            else self.dialect.literal(value, self.dialect.level, "Level")
        )

    def reason_text(self, text: str) -> str:
        """What people are told, as a text."""
        return self.dialect.literal(text, self.dialect.text, "Reason")

    def _label(self, value: Any) -> str:
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, float):
            return self.dialect.number(value)
        return self.dialect.literal(value, self.dialect.text, "Label") if isinstance(value, str) else str(value)

    def _added(self, start: float, parts: list[str]) -> str:
        """The start and the parts added one after the other; in groups where they are more than the engine takes."""
        first, most = self.dialect.start or self.dialect.number, self.dialect.longest_sum - 1
        first = self._part if self.whole else first
        size = max(1, math.ceil(len(parts) / math.ceil(max(1, len(parts)) / most)))  # groups as equal as can be
        groups = [parts[i : i + size] for i in range(0, len(parts), size)] or [[]]
        sums = ["\n + ".join([first(0.0 if g else start), *group]) for g, group in enumerate(groups)]
        return sums[0] if len(sums) == 1 else "\n + ".join(f"({part})" for part in sums)

    def _part(self, value: float) -> str:
        return str(int(value)) if self.whole else self.dialect.number(value)

    @cached_property
    def listing(self) -> Listing:
        """What is added up."""
        return listing_of(self.model)

    def sum(self, k: int = 0) -> str:
        """A sum as an expression: the prediction or its score; that of class ``k`` for classes."""
        listing, number = self.listing, self.dialect.number
        start, addends = listing.start[k], [self.addend(own, k) for own in listing.addends]
        if listing.weights is None or not addends:
            return f"({self._added(start, addends)})"
        zero, branches = number(0.0), zip(listing.branches, listing.weights)
        weigh = [f"CASE WHEN {self.when(own)} THEN {number(w)} ELSE {zero} END" for own, w in branches]
        total, weight = self._added(0.0, addends), self._added(listing.root, weigh)
        mean = f"CASE WHEN ({weight}) > {zero} THEN ({total})\n / ({weight}) ELSE {zero} END"
        return f"({self._added(start, [mean])})"

    # -------------------------------------------------------------------------------------- what the sums stand for

    def names(self, word: str) -> list[str]:
        """A column for each class; numbered where the engine cannot keep the labels in their names."""
        labels = self.model.family.classes or ()
        if all(self.dialect.keeps(f"probability_{label}") for label in labels):
            return [f"{word}_{label}" for label in labels]
        return [f"{word}_{k}" for k in range(1, len(labels) + 1)]

    def sums(self, prediction: str) -> dict[str, str]:
        """The sums by the name of the column that holds each: the prediction itself, shares or scores."""
        family = self.model.family
        alone = prediction if family.form == "sum" else family.sum_word
        names = self.names(family.sum_word) if family.labels_of_sums else [alone]
        return {name: self.sum(k) for k, name in enumerate(names)}

    def answers(self, sums: list[str], prediction: str) -> dict[str, str]:
        """What follows from the sums, by the name of its column; ``sums`` are expressions or columns."""
        return ANSWERS[self.model.family.form](self, sums, prediction)

    @property
    def has_shares(self) -> bool:
        """Whether there are columns of probabilities."""
        return self.dialect.has_exp or not self.model.family.needs_exp

    def shares(self, probabilities: list[str]) -> dict[str, str]:
        """The columns of the probabilities, where the engine can work them out."""
        return dict(zip(self.names("probability"), probabilities)) if self.has_shares else {}

    @cached_property
    def is_moderate(self) -> bool:
        """Whether no row can have a score whose exponential some engine refuses: the sizes of all parts are known."""
        return self.listing.size <= MODERATE

    def exp(self, value: str) -> str:
        """The exponential of a value, which is a column or in brackets; within limits where it could leave them."""
        if self.is_moderate:
            return f"EXP({value})"
        low, high = map(self.dialect.number, (-LARGEST_EXPONENT, LARGEST_EXPONENT))
        return f"EXP(CASE WHEN {value} > {high} THEN {high} WHEN {value} < {low} THEN {low} ELSE {value} END)"

    def deciding(self, value: str, k: int) -> str:
        """A sum of class ``k`` as it is compared with the others."""
        if self.model.family.decides_by is None:
            return value
        factor, addend = map(self.dialect.number, self.model.family.deciding(k))
        return f"({factor} * {value} + {addend})"

    @property
    def labels(self) -> list[str]:
        """The classes, as the engine writes them."""
        return [self._label(label) for label in self.model.family.classes or ()]


# ---------------------------------------------------------------------------------- one function for each kind and form

ADDENDS: dict[type, Callable[[Writer, Any, int], str]] = {Branch: Writer.branch, Line: Writer.line}


def _nothing(writer: Writer, sums: list[str], prediction: str) -> dict[str, str]:
    return {}


def _exponential(writer: Writer, sums: list[str], prediction: str) -> dict[str, str]:
    return {prediction: writer.exp(sums[0])}


def _largest(writer: Writer, sums: list[str], prediction: str) -> dict[str, str]:
    """The class of the largest share or score, the first of those that are equal."""
    labels, cases = writer.labels, []
    sums = [writer.deciding(own, k) for k, own in enumerate(sums)]
    for k, share in enumerate(sums[:-1]):
        wins = " AND ".join(f"{share} >= {other}" for other in sums[k + 1 :])
        cases.append(f"WHEN {wins} THEN {labels[k]}")
    return {prediction: "\n".join(["CASE", *cases, f"ELSE {labels[-1]} END"]) if cases else labels[-1]}


def _softmax(writer: Writer, sums: list[str], prediction: str) -> dict[str, str]:
    """Probabilities and the class of the largest score."""
    one, found = writer.dialect.number(1.0), []
    if writer.is_moderate:
        parts = [writer.exp(score) for score in sums]
        found = [f"({part} / ({' + '.join(parts)}))" for part in parts]
    else:  # one over the odds of all classes against this one
        for k, own in enumerate(sums):
            odds = [writer.exp(f"({other} - {own})") for j, other in enumerate(sums) if j != k]
            found.append(f"({one} / ({' + '.join([one, *odds])}))")
    return {**writer.shares(found), **_largest(writer, sums, prediction)}


def _odds(writer: Writer, sums: list[str], prediction: str) -> dict[str, str]:
    """Probabilities and the class that the log-odds decide for."""
    (score,), pair, labels = sums, pair_of(writer.model.family), writer.labels
    one, cutoff = map(writer.dialect.number, (1.0, pair.cutoff))
    low, high = (f"({one} / ({one} + {writer.exp(value)}))" for value in (score, f"(-{score})"))
    found = [low, high] if pair.positive == 1 else [high, low]
    wins = f"CASE WHEN {score} {pair.sign} {cutoff} THEN {labels[pair.positive]} ELSE {labels[pair.other]} END"
    return {**writer.shares(found), prediction: wins}


ANSWERS: dict[Form, Callable[[Writer, list[str], str], dict[str, str]]] = {
    "sum": _nothing,
    "exp": _exponential,
    "shares": _largest,
    "softmax": _softmax,
    "odds": _odds,
}


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

"""A model and a dialect in, the parts of a SQL statement out: sums, what they stand for, and the class.

A sum is a CASE WHEN for each rule, added up in the order of the model. What it stands for (``Family.form``) is written
in terms of the sums, as expressions or as columns of an inner query.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pysirus._data.derived import Derived
from pysirus._data.written import WEEKDAYS
from pysirus._families.links import Form
from pysirus._model.model import Model
from pysirus.export._addends import Addend, Branch, Line, Listing, listing_of, pair_of
from pysirus.export._conditions import ExportError, Test, column_of, date_of, level_type
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

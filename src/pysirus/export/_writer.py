"""A model and a dialect in, the parts of a SQL statement out: sums, what they stand for, and the class.

A sum is a CASE WHEN for each rule, added up in the order of the model. What it stands for (``Model.link``) is written
in terms of the sums, as expressions or as columns of an inner query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pysirus._data.dates import WEEKDAYS
from pysirus._data.recipe import Derived
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.linear import LinearTerm
from pysirus.export._clock import column_of, date_of
from pysirus.export._conditions import ExportError, Sums, Test, all_sums, is_odds, level_type, pair_of, tests_of
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

    def _test(self, test: Test) -> str:
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

    def _when(self, rule: FittedTerm) -> str:
        return " AND ".join(self._test(test) for test in tests_of(rule, self.model)) or "1 = 1"

    def _term(self, term: LinearTerm) -> str:
        """A linear term: the column within its limits, times its weight."""
        least = smallest_factor(term.weight) if self.dialect.underflow_fails else 0.0  # smaller ones make no difference

        def number(value: float) -> str:
            return self.dialect.number(value if abs(value) >= least else 0.0)

        value, write = self.dialect.as_number(self.column(term.feature)), self.dialect.number
        cases = [f"{value} IS NULL THEN {number(term.missing)}"]
        cases.append(f"{value} < {write(term.lower)} THEN {number(term.lower)}")
        cases.append(f"{value} > {write(term.upper)} THEN {number(term.upper)}")
        if least > 5e-324:
            cases.append(f"{value} > {write(-least)} AND {value} < {write(least)} THEN {write(0.0)}")
        return f"{write(term.weight)} * CASE {' '.join(f'WHEN {case}' for case in cases)} ELSE {value} END"

    # ------------------------------------------------------------------------------------------------ text and sums

    def _level(self, value: Any) -> str:
        return (
            self._label(value)
            if not isinstance(value, str)
            else self.dialect.literal(value, self.dialect.level, "Level")
        )

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
    def _sums(self) -> list[Sums]:
        return all_sums(self.model)

    def sum(self, k: int = 0) -> str:
        """A sum as an expression: the prediction or its score; that of class ``k`` for classes."""
        number, sums = self.dialect.number, self._sums[k]
        whens = [self._when(rule) for rule in self.model.rules]
        cases = [
            f"CASE WHEN {when} THEN {self._part(inside)} ELSE {self._part(outside)} END"
            for when, (inside, outside) in zip(whens, sums.parts)
        ]
        if sums.weights is None:
            return f"({self._added(sums.base, [*cases, *map(self._term, self.model.terms)])})"
        if not cases:
            return f"({self._added(sums.base, [])})"
        zero = number(0.0)
        weigh = [f"CASE WHEN {when} THEN {number(w)} ELSE {zero} END" for when, w in zip(whens, sums.weights)]
        total, weight = self._added(0.0, cases), self._added(sums.root, weigh)
        mean = f"CASE WHEN ({weight}) > {zero} THEN ({total})\n / ({weight}) ELSE {zero} END"
        return f"({self._added(sums.base, [mean])})"

    # -------------------------------------------------------------------------------------- what the sums stand for

    def sums(self, prediction: str) -> dict[str, str]:
        """The sums by the name of the column that holds each: the prediction itself, shares or scores."""
        if not self.model.family.predicts_sum:
            names = score_names(self.model, self.dialect)
        else:
            names = [prediction] if self.model.classes is None else share_names(self.model, self.dialect)
        return {name: self.sum(k) for k, name in enumerate(names)}

    def answers(self, sums: list[str], prediction: str) -> dict[str, str]:
        """What follows from the sums, by the name of its column; ``sums`` are expressions or columns."""
        link = self.model.link
        if self.model.classes is None:
            return {prediction: self._exp(sums[0])} if link == "log" else {}
        found = {}
        if link == "softmax" and self.dialect.has_exp:
            found = dict(zip(share_names(self.model, self.dialect), self._probabilities(sums)))
        return {**found, prediction: self._label_of(sums)}

    @cached_property
    def _is_moderate(self) -> bool:
        """Whether no row can have a score whose exponential some engine refuses: the sizes of all parts are known."""
        terms = sum(abs(t.weight) * max(abs(t.lower), abs(t.upper), abs(t.missing)) for t in self.model.terms)
        sizes = [abs(each.base) + sum(max(map(abs, part)) for part in each.parts) for each in self._sums]
        return max(sizes) + terms <= MODERATE

    def _exp(self, value: str) -> str:
        """The exponential of a value, which is a column or in brackets; within limits where it could leave them."""
        if self._is_moderate:
            return f"EXP({value})"
        low, high = map(self.dialect.number, (-LARGEST_EXPONENT, LARGEST_EXPONENT))
        return f"EXP(CASE WHEN {value} > {high} THEN {high} WHEN {value} < {low} THEN {low} ELSE {value} END)"

    def _probabilities(self, scores: list[str]) -> list[str]:
        one = self.dialect.number(1.0)
        if is_odds(self.model):
            low, high = (f"({one} / ({one} + {self._exp(value)}))" for value in (scores[0], f"(-{scores[0]})"))
            return [low, high] if pair_of(self.model).positive == 1 else [high, low]
        if self._is_moderate:
            parts = [self._exp(score) for score in scores]
            return [f"({part} / ({' + '.join(parts)}))" for part in parts]
        found = []  # one over the odds of all classes against this one
        for k, own in enumerate(scores):
            odds = [self._exp(f"({other} - {own})") for j, other in enumerate(scores) if j != k]
            found.append(f"({one} / ({' + '.join([one, *odds])}))")
        return found

    def _label_of(self, sums: list[str]) -> str:
        """The class of the largest share or score, the first of those that are equal; of two the log-odds decide."""
        assert self.model.classes is not None
        labels = [self._label(label) for label in self.model.classes]
        if is_odds(self.model):
            pair, zero = pair_of(self.model), self.dialect.number(0.0)
            wins = f"{sums[0]} {pair.sign} {zero}"
            return f"CASE WHEN {wins} THEN {labels[pair.positive]} ELSE {labels[pair.other]} END"
        cases = []
        for k, share in enumerate(sums[:-1]):
            wins = " AND ".join(f"{share} >= {other}" for other in sums[k + 1 :])
            cases.append(f"WHEN {wins} THEN {labels[k]}")
        return "\n".join(["CASE", *cases, f"ELSE {labels[-1]} END"]) if cases else labels[-1]


def _names(word: str, model: Model, dialect: Dialect) -> list[str]:
    """A column for each class; numbered where the engine cannot keep the labels in their names."""
    assert model.classes is not None
    names = [f"{word}_{label}" for label in model.classes]
    if all(dialect.keeps(f"probability_{label}") for label in model.classes):
        return names
    return [f"{word}_{k}" for k in range(1, len(names) + 1)]


def share_names(model: Model, dialect: Dialect) -> list[str]:
    """The columns of the class probabilities."""
    return _names("probability", model, dialect)


def score_names(model: Model, dialect: Dialect) -> list[str]:
    """The columns that hold the scores of a model with a link."""
    return ["score"] if model.classes is None or is_odds(model) else _names("score", model, dialect)

"""A model in, a SQL expression out: CASE WHEN for each rule, added up.

NULL is the missing value; so is NaN where the dialect has one. Numbers are doubles and are added in the order of the
model, so the prediction is the model's bit for bit, up to the number of addends that an engine takes in a row
(``Dialect.longest_sum``). Longer lists are added in groups of as many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from pysirus._model.model import Model
from pysirus._plain import one_line
from pysirus._rules.rule import Rule
from pysirus._rules.term import LinearTerm
from pysirus.export._conditions import ExportError, Test, check_labels, level_type, sums_of, tests_of, used_features
from pysirus.export._dialects import (
    ANSI,
    NAME_BYTES,
    NAME_ONE,
    PIVOT,
    POSTGRES,
    Dialect,
    dialect_named,
    folded,
    smallest_factor,
)
from pysirus.export._sqlglot import check_dialect, folds, translate

SOURCE, SCORED = "input", "scored"  # what tables are called inside a statement
ANY = "some engines"


@dataclass(frozen=True)
class Writer:
    """A model in the words of a dialect; columns are those of ``source``, where it has a name."""

    model: Model
    dialect: Dialect
    source: str | None = None

    def column(self, name: str) -> str:
        """A column. With its table in front it cannot be taken for a text, or for a column of another query."""
        column = self.dialect.identifier(name)
        return column if self.source is None else f"{self.dialect.identifier(self.source)}.{column}"

    # ------------------------------------------------------------------------------------------------------- rules

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
        if kind is str:
            value = dialect.as_text(column)
        elif kind is float:  # others stay: whole numbers may have more digits than a double
            value = dialect.as_number(column)
        levels = ", ".join(self._level(kind(level)) for level in test.levels)
        return f"{value} {'IN' if test.kind == 'in' else 'NOT IN'} ({levels})"

    def _test(self, test: Test) -> str:
        column = value = self.column(test.feature)
        if self.dialect.has_nan and (test.numeric or level_type(self.model, test.index, "SQL") is float):
            value = self.dialect.as_number(column)
        if test.kind == "never":
            return f"{value} IS NULL" if test.missing else "1 = 0"
        if test.kind == "known":
            return "1 = 1" if test.missing else f"{value} IS NOT NULL"
        known = self._known(test, column)
        if not test.missing:
            return known
        return f"({column} IS NULL OR {known})" if value is column else f"COALESCE({known}, TRUE)"

    def _when(self, rule: Rule) -> str:
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
        size = max(1, math.ceil(len(parts) / math.ceil(max(1, len(parts)) / most)))  # groups as equal as can be
        groups = [parts[i : i + size] for i in range(0, len(parts), size)] or [[]]
        sums = ["\n + ".join([first(0.0 if g else start), *group]) for g, group in enumerate(groups)]
        return sums[0] if len(sums) == 1 else "\n + ".join(f"({part})" for part in sums)

    def sum(self, k: int = 0) -> str:
        """The prediction as an expression; that of class ``k`` for classes."""
        number, sums = self.dialect.number, sums_of(self.model, k)
        whens = [self._when(rule) for rule in self.model.rules]
        cases = [
            f"CASE WHEN {when} THEN {number(inside)} ELSE {number(outside)} END"
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

    # ----------------------------------------------------------------------------------------------------- classes

    def label(self, shares: list[str]) -> str:
        """The class of the largest share; the first of those that are equal."""
        assert self.model.classes is not None
        cases = []
        for k, share in enumerate(shares[:-1]):
            wins = " AND ".join(f"{share} >= {other}" for other in shares[k + 1 :])
            cases.append(f"WHEN {wins} THEN {self._label(self.model.classes[k])}")
        return "\n".join(["CASE", *cases, f"ELSE {self._label(self.model.classes[-1])} END"])

    def shares(self) -> dict[str, str]:
        """The probability of each class, by the name of its column."""
        names = share_names(self.model, self.dialect)
        return {name: self.sum(k) for k, name in enumerate(names)}


def share_names(model: Model, dialect: Dialect) -> list[str]:
    """The columns of the class probabilities; numbered where the engine cannot keep the labels in their names."""
    assert model.classes is not None
    names = [f"probability_{label}" for label in model.classes]
    if all(map(dialect.keeps, names)):
        return names
    return [f"probability_{k}" for k in range(1, len(names) + 1)]


# --------------------------------------------------------------------------------------------------- what is refused


def _check_added(model: Model, added: list[str]) -> None:
    """Reject to add a column twice, or one that the table has: databases would read the wrong one, or none."""
    taken = {feature.name.casefold(): feature.name for feature in model.features}  # many do not tell case apart
    for name in added:
        if (old := taken.get(name.casefold())) is not None:
            raise ExportError(
                f"Column '{name}' would be added, and there is '{old}' already. Rename that one, name the prediction "
                "by the option prediction, or export without table and name the columns yourself."
            )
        taken[name.casefold()] = name


def _check_inputs(model: Model, dialect: Dialect, engine: str) -> None:
    """Reject columns that are one to the engine: a table there cannot have both."""
    seen: dict[str, str] = {}
    for index in used_features(model):
        name = model.features[index].name
        if (old := seen.setdefault(dialect.fold(name), name)) != name:
            raise ExportError(f"Columns '{old}' and '{name}' may be one and the same in {engine}. Rename one of them.")


def _check_levels(model: Model, engine: str) -> None:
    """Reject levels that a collation may take for each other."""
    for index in {c.index for rule in model.rules for c in rule.conditions}:
        seen: dict[str, str] = {}
        for level in (level for level in model.features[index].levels if isinstance(level, str)):
            if (old := seen.setdefault(folded(level), level)) != level:
                name, wish = model.features[index].name, "" if engine != ANY else f" {NAME_ONE}"
                raise ExportError(
                    f"Column '{name}' has the levels {old!r} and {level!r}, which may be equal in {engine}. "
                    f"Rename one of them.{wish}"
                )


def _check(model: Model, dialect: Dialect, engine: str) -> None:
    """Reject what the engine, or with no dialect any engine, would read in another way."""
    _check_inputs(model, dialect, engine)
    if dialect is ANSI or (dialect is PIVOT and folds(engine)):
        _check_levels(model, engine)
    if dialect is ANSI and model.classes is not None:
        long = [name for name in share_names(model, dialect) if not POSTGRES.keeps(name)]
        if long:
            raise ExportError(
                f"Column {long[0]!r} would have a name of more than {NAME_BYTES} bytes, which some engines cut. "
                f"Fit with shorter labels. {NAME_ONE}"
            )


# ---------------------------------------------------------------------------------------------------------- statements


def shares_and_label(model: Model, dialect: Dialect) -> tuple[dict[str, str], str]:
    """The probability of each class by the name of its column, and the label in terms of these columns."""
    writer = Writer(model, dialect)
    shares = writer.shares()
    return shares, writer.label([writer.column(name) for name in shares])


def _expression(model: Model, dialect: Dialect, prediction: str) -> str:
    writer = Writer(model, dialect)
    if model.classes is None:
        return writer.sum()
    shares = writer.shares()
    columns = [f"{total} AS {dialect.identifier(name)}" for name, total in shares.items()]
    return ",\n".join([*columns, f"{writer.label(list(shares.values()))} AS {dialect.identifier(prediction)}"])


def _query(model: Model, dialect: Dialect, table: str, prediction: str) -> str:
    """A SELECT statement: every column of the table, and the predictions."""
    source, scored = dialect.identifier(SOURCE), dialect.identifier(SCORED)
    name = ".".join(dialect.identifier(part, "Table") for part in table.split("."))
    origin = f"FROM {name} AS {source}"
    writer = Writer(model, dialect, SOURCE)
    if model.classes is None:
        _check_added(model, [prediction])
        return f"SELECT {source}.*,\n{writer.sum()} AS {dialect.identifier(prediction)}\n{origin}"
    shares = writer.shares()
    _check_added(model, [*shares, prediction])
    columns = ",\n".join(f"{total} AS {dialect.identifier(name)}" for name, total in shares.items())
    outer = replace(writer, source=SCORED)
    label = f"{outer.label([outer.column(name) for name in shares])} AS {dialect.identifier(prediction)}"
    return f"SELECT {scored}.*,\n{label}\nFROM (\nSELECT {source}.*,\n{columns}\n{origin}\n) AS {scored}"


def _comments(model: Model, dialect: Dialect) -> str:
    lines = [f"{model.target}, by pysirus", *map(str, model.rules)]
    if model.classes is not None:
        names = zip(share_names(model, dialect), model.classes)
        lines += [f"{name}: {label}" for name, label in names if name != f"probability_{label}"]
    return "".join(f"-- {one_line(line)}\n" for line in lines)


def to_sql(
    model: Model, *, table: str | None = None, dialect: str | None = None, prediction: str = "prediction"
) -> str:
    """SQL that computes the prediction.

    Parameters
    ----------
    model : Model
        The model.
    table : str, optional
        The table to read, ``schema.table`` for one in a schema. Then a SELECT statement is written that adds the
        prediction (and for classes the probability of each) to the columns; the table must not have columns of these
        names. By default an expression, for classes the list of their columns, to paste into a SELECT.
    dialect : str, optional
        "postgres", "mysql", "mariadb", "sqlite", "duckdb", "spark", "databricks", or a dialect of sqlglot, such as
        "snowflake" or "tsql". By default ANSI; then names, levels and labels that engines read in different ways are
        refused.
    prediction : str, default="prediction"
        Name of the column that is added.

    Returns
    -------
    text : str
    """
    check_labels(model, "SQL")
    words = dialect_named(dialect)
    if words is PIVOT and dialect is not None:
        check_dialect(dialect)
    _check(model, words, dialect or ANY)
    if table is None:
        statement = _expression(model, words, prediction)
        if words is PIVOT and dialect is not None:
            statement = translate(f"SELECT {statement}", dialect).removeprefix("SELECT").strip()
    else:
        statement = _query(model, words, table, prediction)
        if words is PIVOT and dialect is not None:
            statement = translate(statement, dialect)
    return f"{_comments(model, words)}{statement}\n"

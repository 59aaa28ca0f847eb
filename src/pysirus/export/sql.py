"""A model in, a SQL expression out: CASE WHEN for each rule, added up.

NULL is the missing value. Numbers are written with an exponent, which makes them double precision rather than decimal,
and are added in the order of the model, so a database that computes in doubles gives the model's prediction to the last
bit.
"""

from __future__ import annotations

from typing import Any

from pysirus._model.model import Model
from pysirus._plain import one_line
from pysirus._rules.rule import Rule
from pysirus._rules.term import LinearTerm
from pysirus.export._conditions import ExportError, Test, check_labels, level_type, number, sums_of, tests_of


def identifier(name: str) -> str:
    """A delimited identifier."""
    if "\0" in name:
        raise ExportError(f"Column {name!r} holds a NUL character, which SQL cannot name. Rename the column.")
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return _number(value) if isinstance(value, float) else str(value)
    if "\0" in value:
        raise ExportError(f"Level {value!r} holds a NUL character, which SQL cannot hold. Rename the level.")
    return "'" + str(value).replace("'", "''") + "'"


def _number(value: float) -> str:
    text = number(value)
    return text if "e" in text else f"{text}e0"


def _known(test: Test, column: str, model: Model) -> str:
    """What is asked of known values; NULL, which is not true, for missing ones."""
    if test.kind == "interval":
        ends = []
        if test.lower is not None:
            ends.append(f"{column} >= {_number(test.lower)}")
        if test.upper is not None:
            ends.append(f"{column} < {_number(test.upper)}")
        return " AND ".join(ends)
    level_type(model, test.index, "SQL")
    listed = ", ".join(map(_literal, test.levels))
    return f"{column} {'IN' if test.kind == 'in' else 'NOT IN'} ({listed})"


def _test(test: Test, model: Model) -> str:
    column = identifier(test.feature)
    if test.kind == "never":
        return f"{column} IS NULL" if test.missing else "1 = 0"
    if test.kind == "known":
        return "1 = 1" if test.missing else f"{column} IS NOT NULL"
    known = _known(test, column, model)
    return f"({column} IS NULL OR {known})" if test.missing else known


def _when(rule: Rule, model: Model) -> str:
    return " AND ".join(_test(test, model) for test in tests_of(rule, model)) or "1 = 1"


def _term(term: LinearTerm) -> str:
    """A linear term: the column within its limits, times its weight."""
    column, lower, upper = identifier(term.feature), _number(term.lower), _number(term.upper)
    value = f"CASE WHEN {column} IS NULL THEN {_number(term.missing)} WHEN {column} < {lower} THEN {lower}"
    return f"{_number(term.weight)} * {value} WHEN {column} > {upper} THEN {upper} ELSE {column} END"


def _sum(model: Model, k: int = 0) -> str:
    """The prediction as an expression; that of class ``k`` for classes."""
    sums = sums_of(model, k)
    whens = [_when(rule, model) for rule in model.rules]
    cases = [
        f"CASE WHEN {when} THEN {_number(inside)} ELSE {_number(outside)} END"
        for when, (inside, outside) in zip(whens, sums.parts)
    ]
    base = _number(sums.base)
    if sums.weights is None:
        return "(" + "\n + ".join([base, *cases, *map(_term, model.terms)]) + ")"
    if not cases:
        return base
    weigh = [f"CASE WHEN {when} THEN {_number(w)} ELSE 0e0 END" for when, w in zip(whens, sums.weights)]
    total, weight = "\n + ".join(cases), "\n + ".join([_number(sums.root), *weigh])
    return f"({base} + CASE WHEN ({weight}) > 0e0 THEN ({total})\n / ({weight}) ELSE 0e0 END)"


def sum_as(model: Model, dialect: str) -> str:
    """The prediction of a number as an expression in another dialect."""
    return _translate(_sum(model), dialect, False)


def _label(model: Model, shares: list[str]) -> str:
    """The class of the largest share; the first of those that are equal."""
    assert model.classes is not None
    cases = []
    for k, share in enumerate(shares[:-1]):
        wins = " AND ".join(f"{share} >= {other}" for other in shares[k + 1 :])
        cases.append(f"WHEN {wins} THEN {_literal(model.classes[k])}")
    return "\n".join(["CASE", *cases, f"ELSE {_literal(model.classes[-1])} END"])


def share_name(label: Any) -> str:
    """The column that holds the share of a class."""
    return f"probability_{label}"


def shares_and_label(model: Model, dialect: str | None = None) -> tuple[dict[str, str], str]:
    """The share of each class by the name of its column, and the label in terms of these columns."""
    assert model.classes is not None
    shares = {share_name(label): _sum(model, k) for k, label in enumerate(model.classes)}
    label = _label(model, list(map(identifier, shares)))
    if dialect is None:
        return shares, label
    return {name: _translate(s, dialect, False) for name, s in shares.items()}, _translate(label, dialect, False)


def _check_columns(model: Model, prediction: str) -> None:
    """Refuse to add a column twice, or one that the table has: databases would read the wrong one, or none."""
    taken = {feature.name.casefold(): feature.name for feature in model.features}  # many do not tell case apart
    for name in [*map(share_name, model.classes or ()), prediction]:
        if (old := taken.get(name.casefold())) is not None:
            raise ExportError(
                f"Column '{name}' would be added, and there is '{old}' already. Rename that one, name the prediction "
                "by the option prediction, or export without table and name the columns yourself."
            )
        taken[name.casefold()] = name


def _statement(model: Model, table: str | None, prediction: str) -> str:
    source = None if table is None else ".".join(map(identifier, table.split(".")))
    if source is not None:
        _check_columns(model, prediction)
    if model.classes is None:
        expression = _sum(model)
        if source is None:
            return expression
        return f"SELECT *,\n{expression} AS {identifier(prediction)}\nFROM {source}"
    check_labels(model, "SQL")
    shares, label = shares_and_label(model)
    columns = ",\n".join(f"{total} AS {identifier(name)}" for name, total in shares.items())
    if source is None:
        return f"{columns},\n{_label(model, list(shares.values()))} AS {identifier(prediction)}"
    label = f"{label} AS {identifier(prediction)}"
    return f"SELECT *,\n{label}\nFROM (\nSELECT *,\n{columns}\nFROM {source}\n) AS {identifier('scored')}"


def _translate(statement: str, dialect: str, is_query: bool) -> str:
    """Another dialect's spelling, by sqlglot."""
    try:
        import sqlglot
        from sqlglot.dialects.dialect import Dialect
    except ImportError as error:
        raise ImportError("SQL dialects need sqlglot: pip install pysirus[sql].") from error
    try:
        Dialect.get_or_raise(dialect)
    except ValueError as error:
        raise ExportError(f"dialect {dialect!r} is not one that sqlglot knows: {error}") from error
    query = statement if is_query else f"SELECT {statement}"
    text: str = sqlglot.transpile(query, read="postgres", write=dialect, pretty=True)[0]
    return text if is_query else text.removeprefix("SELECT").strip()


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
        A dialect of sqlglot, such as "snowflake" or "tsql". By default ANSI.
    prediction : str, default="prediction"
        Name of the column that is added.

    Returns
    -------
    text : str
    """
    statement = _statement(model, table, prediction)
    if dialect is not None:
        statement = _translate(statement, dialect, table is not None)
    head = "".join(f"-- {one_line(line)}\n" for line in [f"{model.target}, by pysirus", *map(str, model.rules)])
    return f"{head}{statement}\n"

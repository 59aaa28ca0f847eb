"""A model in, a SQL query out that adds up a table as ``monitor`` does: a few sums of each period, no rows.

Its columns have names of their own, so that those of the table may be called anything. What ``monitor`` refuses is
counted, and refused where the sums are read (``_use/monitor.py``): SQL would take an unknown label for the other class.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from pysirus._data.column import DataError
from pysirus._model.model import Model
from pysirus._model.row_sums import Cells
from pysirus._text.format import one_line
from pysirus._use.monitor import DATES, NO_REFERENCE, ROWS_OF, SUMS, UNKNOWN, sums_mark
from pysirus.export._addends import terms_of
from pysirus.export._conditions import ExportError, Test, check_labels
from pysirus.export._dialects import PIVOT, Dialect, dialect_named
from pysirus.export._writer import TRUTH as YES_OR_NO
from pysirus.export._writer import Writer
from pysirus.export.sql import ANY, SOURCE, check_dialect, check_statement, translate, with_exp

SUMMED, ROWS = "summed", "watched"  # what the tables of rows are called inside the query
WEIGHT, TRUTH, LEFT, PERIOD, NO_TARGET, NO_WEIGHT = (
    f"w_{own}" for own in ("weight", "truth", "residual", "period", "no_target", "no_weight")
)
AS_TEXT = {
    "PostgreSQL": "(to_jsonb({}) #>> '{{}}')",  # which writes dates in one way, whatever the setting DateStyle
    "SQLite": "CAST({} AS TEXT)",
    "MySQL": "CONVERT({} USING utf8mb4)",
    "Spark": "CAST({} AS STRING)",
}
TEXT = "CAST({} AS VARCHAR)"


def to_monitor(
    model: Model,
    *,
    table: str = "new_rows",
    dialect: str | None = None,
    target: str | None = None,
    weights: str | None = None,
    time: str | None = None,
    math_functions: bool = False,
) -> str:
    """A query whose few sums ``pysirus monitor --sums`` compares with the training rows.

    Parameters
    ----------
    model : Model
        The model.
    table : str, default="new_rows"
        The table with the new rows, ``schema.table`` for one in a schema.
    dialect : str, optional
        The engine, as in the export to SQL.
    target : str, optional
        The column of the truth. With it outputs of rules and the error are compared, and rows without it are left out.
        For numbers, counts, amounts and two classes. Counts are divided by the model's exposure.
    weights : str, optional
        A column of sample weights.
    time : str, optional
        A column with the period of each row; each is compared. Dates and times are taken by month.
    math_functions : bool, default=False
        Whether this SQLite is built with math functions.

    Returns
    -------
    text : str
    """
    reference = model.reference
    if reference is None:
        raise ExportError(NO_REFERENCE)
    check_labels(model, "SQL")
    if target is not None and reference.n_outputs != 1:
        raise ExportError("The query adds up targets of regression, counts, amounts and two classes. Leave target out.")
    if target is not None and model.family.residual_power is None:
        raise ExportError("The query cannot add up times to an event. Leave target out.")
    own = with_exp(model, dialect_named(dialect), None if target is None else True, math_functions)
    writer = Writer(model, own, SOURCE)
    check_statement(writer, dialect or ANY)
    name = own.identifier
    columns, known = _columns(writer, reference.cells, target, weights, time)
    where = f"\nWHERE {' AND '.join(known)}" if known else ""
    source = ".".join(name(part, "Table") for part in table.split("."))
    summed = f"SELECT {_listed(columns, own)}\nFROM {source} AS {name(SOURCE)}{where}"
    rows = f"SELECT {name(SUMMED)}.*"
    if target is not None:
        rows += f",\n{_residual(replace(writer, source=SUMMED))} AS {name(LEFT)}"
    parts = _parts(
        writer, len(reference.cells), len(model.watched_terms), judged=target is not None, by_time=bool(time)
    )
    every = "\nUNION ALL\n".join(parts)
    tables = [(SUMMED, summed), (ROWS, f"{rows}\nFROM {name(SUMMED)}")]
    told = ", ".join(f"{name(own_name)} AS (\n{statement}\n)" for own_name, statement in tables)
    found = f"WITH {told}\n{every}"
    if dialect is not None and dialect_named(dialect) is PIVOT:
        check_dialect(dialect)
        found = translate(found, dialect)
    return f"-- what rows of {one_line(table)} add up to, for pysirus monitor\n{found}\n"


def _listed(columns: dict[str, str], dialect: Dialect) -> str:
    return ",\n".join(f"{value} AS {dialect.identifier(column)}" for column, value in columns.items())


def _columns(
    writer: Writer, cells: tuple[Cells, ...], target: str | None, weights: str | None, time: str | None
) -> tuple[dict[str, str], list[str]]:
    """What each row adds: its weight, truth and sums, its cell in each column, the values of the terms, and what
    cannot be used; and the rows that count."""
    dialect = writer.dialect
    exposure = None if target is None else writer.model.exposure
    given = [dialect.as_number(writer.column(own)) for own in (weights, exposure) if own is not None]
    known = [f"({own} IS NULL OR {own} <> {dialect.number(0.0)})" for own in given[: weights is not None]]
    found = {WEIGHT: " * ".join(given) or dialect.number(1.0)}
    usable = [
        _within(writer, own, 0.0, above=k == len(given) - 1 and exposure is not None) for k, own in enumerate(given)
    ]
    found[NO_WEIGHT] = _flag(writer, usable)
    if time is not None:
        found[PERIOD] = _period(writer, writer.column(time))
    if target is not None:
        truth, fine = _truth(writer, target, exposure)
        found |= {TRUTH: truth, NO_TARGET: _flag(writer, [fine])}
        found |= {f"w_sum_{k}": own for k, own in enumerate(writer.sums("prediction").values())}
        column = writer.column(target)
        known.append(f"{column if writer.model.family.shape else dialect.as_number(column)} IS NOT NULL")
    for i, own in enumerate(cells):
        found[f"w_cell_{i}"], found[f"w_beyond_{i}"] = _cell(writer, i, own), _beyond(writer, i, own)
    for t, addend in enumerate(terms_of(writer.model)):
        found[f"w_term_{t}"] = writer.addend(addend)
    return found, known


def _flag(writer: Writer, usable: list[str]) -> str:
    """1 where not all of this is true."""
    one, zero = map(writer.dialect.number, (1.0, 0.0))
    return f"CASE WHEN {' AND '.join(usable)} THEN {zero} ELSE {one} END" if usable else zero


def _within(writer: Writer, value: str, low: float, *, above: bool) -> str:
    """Whether a number is finite and not too low."""
    least, most = map(writer.dialect.number, (low, sys.float_info.max))
    return f"{value} {'>' if above else '>='} {least} AND {value} <= {most}"


def _truth(writer: Writer, target: str, exposure: str | None) -> tuple[str, str]:
    """What came true, and whether it can be used."""
    column, family, number = writer.column(target), writer.model.family, writer.dialect.number
    if family.shape:
        other, one = (_is_label(writer, column, label) for label in family.classes or ())
        return f"CASE WHEN {one} THEN {number(1.0)} ELSE {number(0.0)} END", f"({other} OR {one})"
    value = writer.dialect.as_number(column)
    lows = [low for low in (-1.0, 0.0) if not _takes(writer.model, low)]
    fine = _within(writer, value, 0.0 if lows else -sys.float_info.max, above=0.0 in lows)
    if writer.dialect.name == "SQLite":  # which reads any text as a number
        fine += f" AND typeof({column}) IN ('integer', 'real')"
    return value if exposure is None else f"{value} / {writer.dialect.as_number(writer.column(exposure))}", fine


def _takes(model: Model, value: float) -> bool:
    try:
        model.family.check(np.array([value]))
    except DataError:
        return False
    return True


def _is_label(writer: Writer, column: str, label: Any) -> str:
    """Whether a target is a class, compared as a category of a feature would be."""
    dialect = writer.dialect
    if isinstance(label, str):
        text = AS_TEXT.get(dialect.name, TEXT).format(column)
        return f"{dialect.as_text(text)} = {dialect.literal(label, dialect.level, 'Label')}"
    if isinstance(label, bool) and dialect.truth is not None:
        words = ", ".join(dialect.literal(word, dialect.level, "Label") for word in YES_OR_NO[label])
        return f"{dialect.truth(column)} IN ({words})"
    if isinstance(label, bool):
        return f"{column} = {'TRUE' if label else 'FALSE'}"
    return f"{dialect.as_number(column)} = {dialect.number(float(label))}"


def _period(writer: Writer, column: str) -> str:
    """The name of a period as ``monitor`` has it: the month of what looks like a date."""
    dialect = writer.dialect
    text = form = AS_TEXT.get(dialect.name, TEXT).format(column)
    for digit in "123456789":
        form = f"REPLACE({form}, '{digit}', '0')"
    dates = " OR ".join(f"{form} LIKE '{own}'" for own in DATES)
    unknown = dialect.literal(UNKNOWN, dialect.text, "Period")
    return f"CASE WHEN {column} IS NULL THEN {unknown} WHEN {dates} THEN SUBSTR({text}, 1, 7) ELSE {text} END"


def _residual(writer: Writer) -> str:
    """What a prediction leaves unexplained, from the truth and the sums."""
    family = writer.model.family
    truth, names = writer.column(TRUTH), list(writer.sums("prediction"))
    sums = [writer.column(f"w_sum_{k}") for k in range(len(names))]
    found = dict(zip(names, sums)) | writer.answers(sums, "prediction")
    if family.shape:
        return f"{truth} - {found[writer.names('probability')[1]]}"
    mean, power = found["prediction"], family.residual_power
    left = f"({truth} - {mean})"
    if power == 2:
        return f"{left} / {mean}"
    return left if power == 1 else f"{left} * EXP({writer.dialect.number(1 - float(power or 0.0))} * LN({mean}))"


def _test(writer: Writer, i: int, kind: str, *, missing: bool = False, **more: Any) -> str:
    feature = writer.model.features[i]
    return writer.passes(Test(feature.name, i, feature.kind == "numeric", kind, missing, **more))


def _cell(writer: Writer, i: int, cells: Cells) -> str:
    """The number of the cell of a row in a column."""
    cases = [f"WHEN {_test(writer, i, 'never', missing=True)} THEN {cells.n_cells - 1}"]
    if cells.levels is None:
        cases += [f"WHEN {_test(writer, i, 'interval', upper=edge)} THEN {b}" for b, edge in enumerate(cells.edges)]
    else:
        cases += [f"WHEN {_test(writer, i, 'in', levels=(level,))} THEN {b}" for b, level in enumerate(cells.levels)]
    return f"CASE {' '.join(cases)} ELSE {cells.n_known - 1} END"


def _beyond(writer: Writer, i: int, cells: Cells) -> str:
    """1 where a row is outside the range of the training rows, or of a category that these do not have."""
    known = writer.model.features[i]
    cases = [f"WHEN {_test(writer, i, 'never', missing=True)} THEN 0.0"]
    if cells.levels is not None:
        cases += [f"WHEN {_test(writer, i, 'in', levels=known.levels)} THEN 0.0"] if known.levels else []
    elif math.isfinite(cells.low):
        above = math.nextafter(cells.high, math.inf)
        cases.append(f"WHEN {_test(writer, i, 'interval', lower=cells.low, upper=above)} THEN 0.0")
    else:
        return "0.0"
    return f"CASE {' '.join(cases)} ELSE 1.0 END"


def _parts(writer: Writer, n_columns: int, n_terms: int, *, judged: bool, by_time: bool) -> list[str]:
    """A query for each column and term, and one for all rows."""
    column = replace(writer, source=ROWS).column
    w, y, r = column(WEIGHT), column(TRUTH), column(LEFT)
    left = [f"{w} * {r}", f"{w} * {r} * {r}"] if judged else [None, None]
    truth = [f"{w} * {y}", *left, f"{w} * {r} * {r} * {r} * {r}", column(NO_TARGET)] if judged else [None] * 5
    every = [w, f"{w} * {w}", *truth, column(NO_WEIGHT)]
    parts = [_grouped(writer, f"{ROWS_OF} {sums_mark(writer.model)}", 0, None, every, by_time)]
    for i in range(n_columns):
        sums = [w, f"{w} * {column(f'w_beyond_{i}')}", *left]
        parts.append(_grouped(writer, "column", i, column(f"w_cell_{i}"), sums, by_time))
    for t in range(n_terms):
        v = column(f"w_term_{t}")
        sums = [f"{w} * {' * '.join([v] * power)}" for power in (1, 2, 3, 4)]
        if judged:
            sums += [f"{w} * {own}" for own in (f"{y} * {v}", f"{r} * {v}", f"{r} * {v} * {v}")]
            sums += [f"{w} * {r} * {r} * {own}" for own in (v, f"{v} * {v}")]
        parts.append(_grouped(writer, "term", t, None, sums, by_time))
    return parts


def _grouped(writer: Writer, part: str, item: int, cell: str | None, sums: list[Any], by_time: bool) -> str:
    """The sums of one thing, for each period and cell."""
    name, rows = writer.dialect.identifier, writer.dialect.identifier(ROWS)
    period = replace(writer, source=ROWS).column(PERIOD) if by_time else "'all'"
    nothing = writer.dialect.as_number("NULL")
    filled = [nothing if own is None else f"SUM({own})" for own in [*sums, *([None] * (len(SUMS) - len(sums)))]]
    told = [period, f"'{part}'", str(item), cell or "0", "COUNT(*)", *filled]
    names = ["period", "part", "item", "cell", "n_rows", *SUMS]
    listed = ", ".join(f"{value} AS {name(own)}" for own, value in zip(names, told))
    groups = [own for own in (period if by_time else None, cell) if own is not None]
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {listed} FROM {rows}{by}"

"""A model in, a SQL query out that adds up a table as ``monitor`` does: a few sums of each period, no rows.

It is the query of the export to SQL, with the cells of the columns and the values of the terms beside the prediction,
and a GROUP BY for each. ``pysirus monitor MODEL sums.csv --sums`` reads what it finds (``_use/monitor.py``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from pysirus._model.model import Model
from pysirus._model.row_sums import Cells
from pysirus._text.format import one_line
from pysirus._use.monitor import NO_REFERENCE, SUMS
from pysirus.export._addends import terms_of
from pysirus.export._conditions import ExportError, Test, check_labels
from pysirus.export._dialects import PIVOT, dialect_named
from pysirus.export._writer import Writer
from pysirus.export.sql import ANY, SCORED, check_dialect, check_statement, query, translate, with_exp

ROWS = "watched"  # what the table of rows is called inside the query
WEIGHT, TRUTH, LEFT, PERIOD = "w_weight", "w_truth", "w_residual", "w_period"


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
        For numbers, counts, amounts and two classes.
    weights : str, optional
        A column of sample weights.
    time : str, optional
        A column with the period of each row, such as a month; each is compared.
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
    writer = replace(Writer(model, own), source=SCORED)
    check_statement(writer, dialect or ANY)
    columns = _columns(writer, reference.cells, target, weights, time)
    name = own.identifier
    listed = ",\n".join(f"{value} AS {name(column)}" for column, value in columns.items())
    known = "" if target is None else f"\nWHERE {writer.column(target)} IS NOT NULL"
    rows = f"SELECT {listed}\nFROM {name(SCORED)}{known}"
    scored = query({"prediction": Writer(model, own)}, table)
    parts = _parts(
        writer, len(reference.cells), len(model.watched_terms), judged=target is not None, by_time=bool(time)
    )
    every = "\nUNION ALL\n".join(parts)
    found = f"WITH {name(SCORED)} AS (\n{scored}\n), {name(ROWS)} AS (\n{rows}\n)\n{every}"
    if dialect is not None and dialect_named(dialect) is PIVOT:
        check_dialect(dialect)
        found = translate(found, dialect)
    return f"-- what rows of {one_line(table)} add up to, for pysirus monitor\n{found}\n"


def _columns(
    writer: Writer, cells: tuple[Cells, ...], target: str | None, weights: str | None, time: str | None
) -> dict[str, str]:
    """What each row adds: its weight, truth and residual, its cell in each column, and the values of the terms."""
    number = writer.dialect.number
    found = {WEIGHT: number(1.0) if weights is None else writer.dialect.as_number(writer.column(weights))}
    if time is not None:
        found[PERIOD] = writer.dialect.as_text(writer.column(time))
    if target is not None:
        found |= _truth(writer, target)
    for i, own in enumerate(cells):
        found[f"w_cell_{i}"], found[f"w_beyond_{i}"] = _cell(writer, i, own), _beyond(writer, i, own)
    for t, addend in enumerate(terms_of(writer.model)):
        found[f"w_term_{t}"] = writer.addend(addend)
    return found


def _truth(writer: Writer, target: str) -> dict[str, str]:
    """What came true, and the residual of the prediction."""
    family, column = writer.model.family, writer.column(target)
    if family.shape:
        truth = f"CASE WHEN {column} = {writer.labels[1]} THEN 1.0 ELSE 0.0 END"
        return {TRUTH: truth, LEFT: f"{truth} - {writer.column(writer.names('probability')[1])}"}
    truth, mean = writer.dialect.as_number(column), writer.column("prediction")
    power = family.residual_power
    left = f"({truth} - {mean})"
    if power == 2:
        left = f"{left} / {mean}"
    elif power != 1:
        left = f"{left} * EXP({writer.dialect.number(1 - float(power or 0.0))} * LN({mean}))"
    return {TRUTH: truth, LEFT: left}


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
    parts = [_grouped(writer, "rows", 0, None, [w, f"{w} * {w}", *([f"{w} * {y}", *left, f"{w} * {r} * {r} * {r} * {r}"]
             if judged else [])], by_time)]  # fmt: skip
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
    nothing = "CAST(NULL AS DOUBLE PRECISION)"
    filled = [nothing if own is None else f"SUM({own})" for own in [*sums, *([None] * (len(SUMS) - len(sums)))]]
    told = [period, f"'{part}'", str(item), cell or "0", "COUNT(*)", *filled]
    names = ["period", "part", "item", "cell", "n_rows", *SUMS]
    listed = ", ".join(f"{value} AS {name(own)}" for own, value in zip(names, told))
    groups = [own for own in (period if by_time else None, cell) if own is not None]
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {listed} FROM {rows}{by}"

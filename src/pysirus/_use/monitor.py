"""A model and later rows in, what has changed since it was learned out.

What is compared are sums (``_model/row_sums.py``): those that the model remembers of its training rows, and those of
the new rows, of each period and of all together. All tests of all periods count as one family: the chance of an alarm
where nothing has changed is at most ``alpha``, by Holm's method.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._data.frame import without_weightless
from pysirus._data.read import list_names
from pysirus._data.table import Table
from pysirus._families.read import check_weights
from pysirus._model.model import Model
from pysirus._model.reference import Reference, list_mark, reference_of
from pysirus._model.row_sums import N_MOMENTS, Judged, RowSums, finest_cells, judge_rows, quantile_edges, sum_rows
from pysirus._parameters import ParameterError
from pysirus._text.message import TARGET, WEIGHTS, InCommand, InPython, Parameter
from pysirus._use.drift import (
    Test,
    adjusted,
    beyond_test,
    cell_output_test,
    column_test,
    error_test,
    is_enough,
    level_test,
    output_test,
    share_test,
)
from pysirus._use.monitoring import Finding, Monitoring
from pysirus._use.score import Rows

ALPHA = 0.01
TOLERANCE = 0.02  # standard deviations; smaller changes raise no alarm however sure they are
Sums = dict[str | None, RowSums]  # by period; None: all rows

NO_REFERENCE = (
    "The model remembers nothing of its training rows to compare with: it was learned by an earlier version, or by "
    f"another method. Give it the training rows once{InPython(': model.with_reference(X, y)')}"
    f"{InCommand('training', 'TABLE')}."
)


def monitor(
    model: Model,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    time: Any = None,
    alpha: float = ALPHA,
    tolerance: float = TOLERANCE,
) -> Monitoring:
    """Compare new rows with the training rows; see ``RuleModel.monitor``."""
    return monitor_parts(model, [(Rows(X, y, sample_weight), time)], alpha=alpha, tolerance=tolerance)


def monitor_parts(
    model: Model, parts: Iterable[tuple[Rows, Any]], *, alpha: float = ALPHA, tolerance: float = TOLERANCE
) -> Monitoring:
    """Compare rows in parts, each with the times of its rows, with the training rows; only sums of a part are kept."""
    check_limits(alpha, tolerance)
    reference = reference_in(model)
    total: Sums = {}
    for rows, time in parts:
        for period, sums in sums_by_period(model, reference, rows, time).items():
            total[period] = total[period] + sums if period in total else sums
    if not total:
        raise DataError("There are no rows.")
    return compare(model, total, alpha=alpha, tolerance=tolerance)


def check_limits(alpha: float, tolerance: float) -> None:
    """Reject what is no probability, or no size."""
    if not 0 < alpha < 1:
        raise ParameterError(f"{Parameter('alpha')} must be above 0 and below 1, got {alpha!r}.")
    if not 0 <= tolerance < float("inf"):
        raise ParameterError(f"{Parameter('tolerance')} must be at least 0, got {tolerance!r}.")


def reference_in(model: Model) -> Reference:
    """What a model remembers of its training rows; an error where that is nothing."""
    found = model.reference
    if found is None:
        raise ParameterError(NO_REFERENCE)
    return found


# --------------------------------------------------------------------------------------------------------------- sums


def sums_by_period(model: Model, reference: Reference, rows: Rows, time: Any = None) -> Sums:
    """The sums of new rows by period and of all, in the cells that the model remembers."""
    with without_weightless(rows.X, rows.y, rows.weights) as (X, y, sample_weight):
        table = model.align(X, rules=model.watched_terms)
        n_rows = table.n_rows
        weights = np.ones(n_rows) if sample_weight is None else _weights_of(sample_weight, n_rows)
        judged = None
        if y is not None:
            truth = model.family.read_truth(y, n_rows, model.labels)
            judged = judge_rows(model.family, model.decision(table).reshape(n_rows, -1), truth)
        if time is not None and len(time) != n_rows and rows.weights is not None:
            time = np.asarray(time)[np.asarray(rows.weights) > 0]
        labels = [] if time is None else periods_of(time, n_rows)
        found: Sums = {None: sum_rows(table, model.watched_terms, reference.cells, weights, judged)}
        for period, own in labels:
            part = judged if judged is None else Judged(judged.truth[own], judged.residuals[own])
            found[period] = sum_rows(_rows_of(table, own), model.watched_terms, reference.cells, weights[own], part)
        return found


def _weights_of(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """The weights of rows that are added up: their squares must be numbers, and not all 0."""
    weights = check_weights(sample_weight, n_rows)
    low, high = LIMITS
    bad = weights[(weights > 0) & ((weights < low) | (weights > high))]
    if len(bad):
        raise DataError(
            f"{WEIGHTS} contains {bad[0]:g}: the squares of such weights overflow or vanish. Multiply all weights by a "
            f"number that brings them between {low:g} and {high:g}."
        )
    if not weights.any():
        raise DataError(f"{WEIGHTS} is zero for every row: there is nothing to compare.")
    return weights


def _rows_of(table: Table, rows: NDArray[np.bool_]) -> Table:
    """Some rows, with all levels that the model knows."""
    columns = tuple(replace(column, values=column.values[rows]) for column in table.columns)
    return replace(table, columns=columns, n_rows=int(rows.sum()))


def reference_from(model: Model, X: Any, y: Any, sample_weight: Any = None) -> Reference:
    """What a model would remember of rows as its training rows; see ``RuleModel.with_reference``."""
    with without_weightless(X, y, sample_weight) as (X, y, sample_weight):
        table = model.align(X, rules=model.watched_terms)
        if table.absent:
            name = model.features[min(table.absent)].name
            raise DataError(f"The table has no column '{name}', which the model was learned with.")
        cells = finest_cells(model.features, [quantile_edges(column) for column in table.columns])
        weights = None if sample_weight is None else check_weights(sample_weight, table.n_rows)
        truth = model.family.read_truth(y, table.n_rows, model.labels)
        judged = judge_rows(model.family, model.decision(table).reshape(table.n_rows, -1), truth)
        sums = sum_rows(table, model.watched_terms, cells, weights, judged)
    return reference_of(model, sums, cells, out_of_fold=False)


# -------------------------------------------------------------------------------------------------------------- tests


def compare(model: Model, now: Mapping[str | None, RowSums], *, alpha: float, tolerance: float) -> Monitoring:
    """Compare sums of new rows with those that a model remembers."""
    reference, every = reference_in(model), now[None]
    now = {None: every, **{period: now[period] for period in sorted(own for own in now if own is not None)}}
    same = reference.list == list_mark(model)
    judged = every.truth is not None and reference.n_outputs > 0 and same
    then = reference.sums([term.condition_text for term in model.watched_terms], judged=judged)
    if not judged:
        now = {period: replace(sums, truth=None, residuals=None, error=None) for period, sums in now.items()}
    p = 1 + len(model.watched_terms)  # parameters, as Akaike's final prediction error counts them
    n = max(then.effective, 2.0 * p)
    optimism = 1.0 if reference.out_of_fold else (n + p) / (n - p)
    parts = {period: sums for period, sums in now.items() if period is None or len(now) > 2}
    parts = {own: sums for own, sums in parts.items() if is_enough(then, sums)}
    tests = [
        (part, index, what, period, test)
        for period, sums in parts.items()
        for part, index, what, test in _tests(model, reference, then, sums, optimism if judged else 1.0)
    ]
    corrected = adjusted([test.log_p for *_, test in tests])
    findings = tuple(
        Finding(*own, float(p), bool(p <= alpha and own[-1].size >= tolerance)) for own, p in zip(tests, corrected)
    )
    missing = _not_compared(model, reference, every, judged=judged, same=same)
    return Monitoring(model, then, dict(now), findings, tuple(missing), optimism, alpha)


def _tests(
    model: Model, reference: Reference, then: RowSums, now: RowSums, optimism: float
) -> Iterable[tuple[str, int, str, Test]]:
    """All tests of some rows: what is tested ("column", "rule" or "rows"), its number, in which respect, the result."""
    judged = now.truth is not None
    for i, cells in enumerate(reference.cells):
        if len(now.cells[i]):
            yield "column", i, "moved", column_test(then, now, i)[0]
            yield "column", i, "beyond", beyond_test(then, now, i, cells)
            if judged:
                yield "column", i, "outputs", cell_output_test(then, now, i, optimism)
    for t in range(len(model.watched_terms)):
        yield "rule", t, "share", share_test(then, now, t)
        if judged:
            yield "rule", t, "outputs", output_test(then, now, t, optimism)
    if judged:
        yield "rows", 0, "level", level_test(then, now, optimism)
        yield "rows", 0, "error", error_test(then, now, optimism)


def _not_compared(model: Model, reference: Reference, now: RowSums, *, judged: bool, same: bool) -> list[str]:
    """What could not be compared, and why."""
    found = []
    if now.truth is None:
        found.append("outputs and error, as no targets were given")
    elif not same:
        found.append(
            "outputs and error, as the list was changed after the model was learned; with_reference(X, y) takes the "
            "training rows again"
        )
    known = {term.rule for term in reference.terms}
    unknown = [term for term in model.watched_terms if term.condition_text not in known]
    if unknown:
        found.append(f"{len(unknown)} rule{'s' if len(unknown) > 1 else ''} that came after the model was learned")
    absent = [feature.name for feature, cells in zip(model.features, now.cells) if not len(cells)]
    if absent:
        shown = ", ".join(f"'{name}'" for name in absent[:5]) + (", ..." if len(absent) > 5 else "")
        found.append(f"columns that the table does not have: {shown}")
    return found


# -------------------------------------------------------------------------------------------------------------- periods

LIMITS = (1e-140, 1e140)  # of weights
MOST_PERIODS = 120
UNKNOWN = "(no time)"
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}($|[ Tt])")
DATES = ("0000-00-00", "0000-00-00 %", "0000-00-00T%")  # the same to SQL, once digits are 0


def periods_of(time: Any, n_rows: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Each period by its name, in their order, and the rows in it."""
    names = _names(time)
    if len(names) != n_rows:
        raise DataError(f"time has {len(names):,} values, and there are {n_rows:,} rows. Give one for each row.")
    distinct, place = np.unique(names, return_inverse=True)
    _check_number(len(distinct))
    return [(str(name), place == k) for k, name in enumerate(distinct.tolist())]


def _check_number(n_periods: int) -> None:
    if n_periods > MOST_PERIODS:
        raise DataError(
            f"time has {n_periods:,} distinct values, and each would be a period: at most {MOST_PERIODS} are "
            "compared. Give dates, which are taken by month, or a column of periods."
        )


def _names(time: Any) -> NDArray[Any]:
    """The name of each row's period; names sort as the periods follow each other."""
    if isinstance(time, (pa.Array, pa.ChunkedArray)):
        series = nw.from_native(pa.chunked_array(time) if isinstance(time, pa.Array) else time, series_only=True)
    else:
        series = nw.from_native(time, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return _of_array(np.asarray(series))
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)  # the month on the clocks of that zone
    if isinstance(series.dtype, (nw.Date, nw.Datetime)):
        return _of_array(series.cast(nw.Datetime("us")).to_numpy())
    return _of_array(np.asarray(series.to_list(), dtype=object))


def _of_array(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "M":
        months = values.astype("datetime64[M]")
        return np.where(np.isnat(months), UNKNOWN, months.astype(str))
    values = np.array([math.nan if value is None else value for value in values.tolist()], dtype=object)
    known = [value for value in values.tolist() if value == value]
    if known and all(isinstance(value, (int, float)) for value in known):
        width = max(len(f"{value:.0f}") for value in known)
        whole = all(float(value).is_integer() for value in known)
        form = f"0{width}.0f" if whole else "g"
        return np.array([f"{value:{form}}" if value == value else UNKNOWN for value in values.tolist()])
    return np.array([_name(value) if value == value else UNKNOWN for value in values.tolist()])


def _name(value: Any) -> str:
    """The month of a date or of what looks like one, else the text."""
    text = str(value)
    return text[:7] if DATE.match(text) else text


# --------------------------------------------------------------------------------------------------- sums of a database

SUMS = tuple(f"sum_{k}" for k in range(1, 10))
COLUMNS = ("period", "part", "item", "cell", "n_rows", *SUMS)
ROWS_OF = "rows"  # followed by the mark of the model


def sums_mark(model: Model) -> str:
    """A fingerprint of what a query of sums depends on: the list, and the cells that the model remembers."""
    return blake2b(f"{list_mark(model)} {reference_in(model).cells!r}".encode(), digest_size=8).hexdigest()


def read_sums(table: pa.Table, model: Model, reference: Reference) -> dict[str | None, RowSums]:
    """The sums by period, and of all rows."""
    absent = [name for name in COLUMNS if name not in table.column_names]
    if absent:
        raise DataError(
            f"A table of sums has the columns {', '.join(COLUMNS)}; this one lacks {list_names(absent)}. Make it with "
            "the query that the format monitor of exports writes."
        )
    rows = table.select(list(COLUMNS)).to_pylist()
    _check_sums(rows, model)
    periods = sorted({str(row["period"]) for row in rows})
    found: dict[str | None, RowSums] = {}
    for period in periods:
        own = _sums_of([row for row in rows if str(row["period"]) == period], model, reference)
        found[period] = own
        found[None] = found[None] + own if None in found else own
    _check_number(len(periods))
    return found


def _check_sums(rows: list[dict[str, Any]], model: Model) -> None:
    """Reject sums of nothing, of another model, and of rows that ``monitor`` would refuse."""
    every = [row for row in rows if str(row["part"]).partition(" ")[0] == ROWS_OF]
    if not any(int(row["n_rows"]) for row in every):
        raise DataError("There are no rows.")
    for row in every:
        mark = str(row["part"]).partition(" ")[2]
        row["part"] = ROWS_OF
        if mark and mark != sums_mark(model):
            raise DataError(
                "The sums are of another model, or of this one before it was changed. Make them with the query "
                "that the format monitor of exports writes for this model."
            )
    known = model.family.classes
    wanted = f"other than {known[0]!r} and {known[-1]!r}" if known else "that is not finite, or out of range"
    refused = ((7, f"{TARGET} {wanted}"), (8, f"{WEIGHTS} (or an exposure) missing, infinite or negative"))
    for k, what in refused:
        n_bad = np.nansum([_number(row, k) for row in every])
        if n_bad:
            raise DataError(
                f"{n_bad:,.0f} of the rows that were added up have {what}. Correct or leave out these rows."
            )


def _number(row: dict[str, Any], k: int) -> float:
    value = row[SUMS[k - 1]]
    return float("nan") if value is None or value == "" else float(value)


def _sums_of(rows: list[dict[str, Any]], model: Model, reference: Reference) -> RowSums:
    """The sums of one period."""
    by_part: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        by_part.setdefault((str(row["part"]), int(row["item"])), []).append(row)
    n_terms = len(model.watched_terms)
    wanted = [
        ("rows", 0),
        *(("column", i) for i in range(len(reference.cells))),
        *(("term", t) for t in range(n_terms)),
    ]
    for part in wanted:
        if part not in by_part:
            raise DataError(
                f"The sums of {part[0]} {part[1]} are missing. They are of another model, or the query was cut short."
            )
    (every,) = by_part["rows", 0]
    judged = not np.isnan(_number(every, 4))
    cells, beyond = [], np.zeros(len(reference.cells))
    for i, own in enumerate(reference.cells):
        sums = np.zeros((own.n_cells, 3 if judged else 1))
        for row in by_part["column", i]:
            place = int(row["cell"])
            if not 0 <= place < own.n_cells:
                raise DataError(f"Column {i} has a cell {place}, and the model knows {own.n_cells}.")
            sums[place] += [_number(row, k) for k in ((1, 3, 4) if judged else (1,))]
            beyond[i] += _number(row, 2)
        cells.append(sums)
    terms = [by_part["term", t][0] for t in range(n_terms)]
    values = np.array([[_number(row, k) for k in range(1, 5)] for row in terms]).reshape(-1, N_MOMENTS)
    nothing = np.full(len(cells), np.nan)
    found = RowSums(
        int(every["n_rows"]), _number(every, 1), _number(every, 2), tuple(s[:, 0].astype(np.int64) for s in cells),
        tuple(cells), beyond, nothing, nothing, values,
    )  # fmt: skip
    return _with_truth(found, every, terms) if judged else found


def _with_truth(sums: RowSums, every: dict[str, Any], terms: list[dict[str, Any]]) -> RowSums:
    """The same with what came true."""
    truth = np.array([[_number(every, 3)], *([_number(row, 5)] for row in terms)])
    constant = [_number(every, 4)] * 2 + [_number(every, 5)] * 2
    left = np.array([constant, *([_number(row, k) for k in (6, 7, 8, 9)] for row in terms)])[:, :, None]
    return replace(sums, truth=truth, residuals=left, error=np.array([_number(every, 5), _number(every, 6)]))

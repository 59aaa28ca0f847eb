"""A model and later rows in, what has changed since it was learned out.

What is compared are sums (``_model/row_sums.py``): those that the model remembers of its training rows, and those of
the new rows, of each period and of all together. All tests of all periods count as one family: the chance of an alarm
where nothing has changed is at most ``alpha``, by Holm's method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._data.frame import without_weightless
from pysirus._data.table import Table
from pysirus._families.read import check_weights
from pysirus._model.model import Model
from pysirus._model.reference import Reference, list_mark, reference_of
from pysirus._model.row_sums import Judged, RowSums, finest_cells, judge_rows, quantile_edges, sum_rows
from pysirus._parameters import ParameterError
from pysirus._text.message import InCommand, InPython, Parameter
from pysirus._use.drift import (
    Test,
    adjusted,
    beyond_test,
    cell_output_test,
    column_test,
    error_test,
    level_test,
    output_test,
    share_test,
)
from pysirus._use.monitoring import Finding, Monitoring
from pysirus._use.periods import periods_of
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
    """The same for rows in parts, each with the times of its rows; of each part only its sums are kept."""
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
        weights = np.ones(n_rows) if sample_weight is None else check_weights(sample_weight, n_rows)
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
    """All tests of some rows."""
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

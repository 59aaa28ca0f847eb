"""A table of sums that a database found in, the sums of new rows by period out, as ``monitor`` would add them up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from pysirus._data.column import DataError
from pysirus._data.read import list_names
from pysirus._model.model import Model
from pysirus._model.reference import Reference
from pysirus._model.row_sums import N_MOMENTS, RowSums

SUMS = tuple(f"sum_{k}" for k in range(1, 10))
COLUMNS = ("period", "part", "item", "cell", "n_rows", *SUMS)


def read_sums(table: pa.Table, model: Model, reference: Reference) -> dict[str | None, RowSums]:
    """The sums by period, and of all rows."""
    absent = [name for name in COLUMNS if name not in table.column_names]
    if absent:
        raise DataError(
            f"A table of sums has the columns {', '.join(COLUMNS)}; this one lacks {list_names(absent)}. Make it with "
            "the query that the format monitor of exports writes."
        )
    rows = table.select(list(COLUMNS)).to_pylist()
    periods = sorted({str(row["period"]) for row in rows})
    found: dict[str | None, RowSums] = {}
    for period in periods:
        own = _sums_of([row for row in rows if str(row["period"]) == period], model, reference)
        found[period] = own
        found[None] = found[None] + own if None in found else own
    if None not in found:
        raise DataError("The table of sums has no rows.")
    return found


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

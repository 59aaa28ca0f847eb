"""Summaries of columns in, a warning out about those that are likely ids: rows in parts are taken as they are.

In memory a column that can only be an id is set aside where a table is prepared. Parts are not prepared, so it is said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysirus._data.ids import COUNTS, LEAST_ROWS, is_called_id, say_ids
from pysirus.engine.summary import ColumnSummary


def why_id(summary: ColumnSummary) -> str | None:
    """Why a column is likely an id; None if it is not."""
    values, n_rows = summary.tally.values, summary.known.rows
    if summary.kind != "numeric" or summary.missing.rows or not LEAST_ROWS <= len(values) <= n_rows:
        return None
    if (summary.tally.exact and len(values) < n_rows) or not (values == np.rint(values)).all():
        return None
    if int(values[-1]) - int(values[0]) == n_rows - 1:
        return COUNTS
    if not is_called_id(summary.name):
        return None
    return "has another number in every row" if summary.tally.exact else "has very many numbers"


def warn_of_ids(summaries: Sequence[ColumnSummary]) -> None:
    """Warn once of all columns that are likely ids."""
    say_ids([(own.name, why) for own in summaries if (why := why_id(own)) is not None])

"""Summaries of columns in, a warning out about those that are likely ids, the same as in memory.

In memory a column that can only be an id is set aside where a table is prepared. Parts are not prepared, so it is
said.
"""

from __future__ import annotations

from collections.abc import Sequence

from pysirus._data.ids import reason, say_ids
from pysirus.engine.summary import ColumnSummary


def why_id(summary: ColumnSummary) -> str | None:
    """Why a column is likely an id; None if it is not."""
    n_texts = len(summary.levels) if summary.kind != "numeric" and summary.free_text else None
    return reason(summary.name, summary.known.rows + summary.missing.rows, summary.numbering, n_texts)


def warn_of_ids(summaries: Sequence[ColumnSummary]) -> None:
    """Warn once of all columns that are likely ids."""
    say_ids([(own.name, why) for own in summaries if (why := why_id(own)) is not None])

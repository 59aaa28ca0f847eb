"""Columns in, a warning out about those that are likely ids: a rule on the number of a row says nothing of new rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from pysirus._data.column import Column
from pysirus._message import InCommand
from pysirus._plain import one_line
from pysirus._warn import warn_user

COUNTS = "numbers the rows"
LEAST_ROWS = 20  # below, numbers in a row and texts that all differ are no surprise
# rownames, row_id, index; id, customer_id, CustomerID, customerId
_NAME = re.compile(r"(?i:row[_ .-]?(names?|ids?|numbers?|no|nr)|index|idx|uuid|guid|(.*[_ .-])?ids?)|.*[a-z](ID|Id)")


def _numbers_rows(column: Column) -> bool:
    """Whether whole numbers count the rows, one by one."""
    values = column.values
    if values.dtype.kind not in "iu":
        return False
    first, second, last = int(values[0]), int(values[1]), int(values[-1])
    return second - first == 1 and last - first == len(values) - 1 and bool((np.diff(values) == 1).all())


def why_id(column: Column) -> str | None:
    """Why a column is likely an id; None if it is not."""
    n_rows = len(column.values)
    if n_rows < LEAST_ROWS:
        return None
    if not column.is_numeric:
        return "has another text in every row" if column.free_text and len(column.levels) == n_rows else None
    if _numbers_rows(column):
        return COUNTS
    named = column.values.dtype.kind in "iu" and _NAME.fullmatch(column.name) is not None
    return "has another number in every row" if named and len(np.unique(column.values)) == n_rows else None


def is_certain_id(column: Column) -> bool:
    """Whether a column can be nothing but an id: its text differs in every row, or it rises from row to row, and is
    called an id."""
    if why_id(column) is None:
        return False
    rising = column.is_numeric and bool((column.values[1:] > column.values[:-1]).all())  # some rows may be gone
    return not column.is_numeric or (rising and _NAME.fullmatch(column.name) is not None)


def is_called_id(name: str) -> bool:
    """Whether a column has the name of an id."""
    return _NAME.fullmatch(name) is not None


def warn_of_ids(columns: Iterable[Column]) -> None:
    """Warn once of all columns that are likely ids."""
    say_ids([(column.name, why) for column in columns if (why := why_id(column)) is not None])


def say_ids(found: Sequence[tuple[str, str]]) -> None:
    """Warn of columns that are likely ids, by name and why."""
    if not found:
        return
    found = [(one_line(name), why) for name, why in found]
    said = "; ".join(f"column '{name}' {why}" for name, why in found[:5])
    more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
    names = ",".join(name for name, _ in found[:5])
    what, them = ("Likely an id", "it") if len(found) == 1 else ("Likely ids", "them")
    warn_user(
        f"{what}: {said}{more}. A rule on an id says nothing of new rows. Leave {them} out"
        f"{InCommand('drop', names)}, unless the values mean something."
    )

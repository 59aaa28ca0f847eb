"""Columns in, what is wrong with a table out: one error that names every problem, and a warning about likely ids.

All problems are named at once, not one column at a time. A rule on the number of a row says nothing of new rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import Column, DataError
from pysirus._runtime.console import warn_user
from pysirus._text.format import one_line
from pysirus._text.message import InCommand, say, setting

SHOWN = 20
PREPARE = f"Or try {setting('prepare', True)}: it converts such columns where possible and ignores the rest."


class TableError(DataError):
    """Several things are wrong with a table; ``complaints`` has a sentence or two about each.

    ``remedy`` is what helps against all of them.
    """

    def __init__(self, head: str, messages: Sequence[str] = (), remedy: str = "") -> None:
        self.head, self.messages, self.remedy = head, tuple(messages), remedy
        super().__init__("\n- ".join([head, *self.messages]) + (f"\n{remedy}" if remedy else ""))

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong, one thing each, in the words of Python."""
        return tuple(map(say, self.messages))

    def reword(self, change: Callable[[str], str]) -> None:
        """Change the terms of the message."""
        self.messages = tuple(map(change, self.messages))
        super().reword(change)

    def __reduce__(self) -> tuple[type[TableError], tuple[str, tuple[str, ...], str]]:
        return type(self), (self.head, self.messages, self.remedy)  # it comes from workers, too


class Problems:
    """What is wrong with a table, found one thing after the other and said together."""

    def __init__(self) -> None:
        self._found: list[DataError] = []

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Go on after an error about the data; it is kept."""
        try:
            yield
        except DataError as error:
            if str(error) not in map(str, self._found):  # several features may be made of one column
                self._found.append(error)

    def check(self) -> None:
        """Raise what was found."""
        if self._found:
            raise self.as_one()

    def as_one(self) -> DataError:
        """What was found: one error as it is, several as one."""
        if len(self._found) == 1:
            return self._found[0]
        messages: list[str] = []
        for error in self._found:
            messages += error.messages if isinstance(error, TableError) else [" ".join(error.message.split("\n"))]
        rest = len(messages) - SHOWN
        shown = [*messages[:SHOWN], f"and {rest} more"] if rest > 0 else messages
        return TableError(f"{len(messages)} things are wrong with the table:", shown)


def merge_errors(error: DataError, read: Callable[[], object], *, prepared: bool) -> DataError:
    """An error about the columns, and with it what else is wrong, as reading the target shows.

    Where the table is not ``prepared``, that is named as a remedy.
    """
    problems = Problems()
    with problems.gather():
        raise error
    with suppress(TypeError, ValueError), problems.gather():
        read()
    found = problems.as_one()
    if prepared or not str(error).split("\n- ")[-1].startswith("Column '"):
        return found
    if isinstance(found, TableError):
        return TableError(found.head, found.messages, PREPARE)
    return DataError(f"{found.message} {PREPARE}") if type(found) is DataError else found


COUNTS = "numbers the rows"
SAMPLE = 1_024  # numbers that are compared
LEAST_ROWS = 20  # below, numbers in a row and texts that all differ are no surprise
# rownames, row_id, index; id, customer_id, CustomerID, customerId
_NAME = re.compile(r"(?i:row[_ .-]?(names?|ids?|numbers?|no|nr)|index|idx|uuid|guid|(.*[_ .-])?ids?)|.*[a-z](ID|Id)")


@dataclass(frozen=True, eq=False)
class Numbering:
    """What tells whether whole numbers are an id, of some rows of a column; ``a + b`` is that of both their rows.

    Whether they all differ is asked of a sample of the numbers, with every row that has one of them: it is the same
    sample in any order of the rows and in any parts. Up to ``SAMPLE`` rows it is all of them.
    """

    n_rows: int
    low: int
    high: int
    sample: NDArray[np.uint64]  # the smallest hashes of rows, rising

    def __add__(self, other: Numbering) -> Numbering:
        if not self.n_rows or not other.n_rows:
            return self if self.n_rows else other
        sample = np.sort(np.concatenate([self.sample, other.sample]))[:SAMPLE]
        return Numbering(self.n_rows + other.n_rows, min(self.low, other.low), max(self.high, other.high), sample)

    @property
    def differ(self) -> bool:
        """Whether no number of the sample is in two rows."""
        return bool((self.sample[1:] != self.sample[:-1]).all())


def numbering_of(values: NDArray[Any]) -> Numbering | None:
    """That of the numbers of some rows; None where they are not whole by their type, as where some are missing."""
    if not len(values):
        return Numbering(0, 0, 0, np.zeros(0, dtype=np.uint64))
    if values.dtype.kind not in "iu":
        return None
    # multiples of the golden ratio: neighbours are spread evenly
    hashes = values.astype(np.uint64, copy=False) * np.uint64(0x9E3779B97F4A7C15)
    if len(hashes) > 8 * SAMPLE:
        likely = hashes[hashes < np.uint64(4 * SAMPLE * 2**64 // len(hashes))]
        hashes = likely if len(likely) >= SAMPLE else np.partition(hashes, SAMPLE)[:SAMPLE]
    return Numbering(len(values), int(values.min()), int(values.max()), np.sort(hashes)[:SAMPLE])


def reason(name: str, n_rows: int, numbers: Numbering | None, n_texts: int | None) -> str | None:
    """Why a column is likely an id, by its whole numbers or by how many different texts it has; None if it is not."""
    if n_rows < LEAST_ROWS:
        return None
    if n_texts is not None:
        return "has another text in every row" if n_texts == n_rows else None
    if numbers is None or not numbers.differ:
        return None
    if numbers.high - numbers.low == n_rows - 1:
        return COUNTS
    if not is_called_id(name):
        return None
    return f"has another number in {'every' if n_rows <= SAMPLE else 'nearly every'} row"


def why_id(column: Column) -> str | None:
    """Why a column is likely an id; None if it is not."""
    if not column.is_numeric:
        return reason(column.name, len(column.values), None, len(column.levels) if column.free_text else None)
    return reason(column.name, len(column.values), numbering_of(column.values), None)


def is_certain_id(column: Column) -> bool:
    """Whether a column can be nothing but an id: its text differs in every row, or it rises from row to row, and is
    called an id."""
    if why_id(column) is None:
        return False
    rising = column.is_numeric and bool((column.values[1:] > column.values[:-1]).all())  # some rows may be gone
    return not column.is_numeric or (rising and is_called_id(column.name))


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

"""Complaints about a table in, one error out that says all of them: nobody wants to be told of one column at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from pysirus._data.column import DataError

SHOWN = 20


class TableError(DataError):
    """Several things are wrong with a table; ``complaints`` has a sentence or two about each."""

    def __init__(self, head: str, complaints: Sequence[str] = ()) -> None:
        self.head, self.complaints = head, tuple(complaints)
        super().__init__("\n- ".join([head, *self.complaints]))

    def __reduce__(self) -> tuple[type[TableError], tuple[str, tuple[str, ...]]]:
        return type(self), (self.head, self.complaints)  # it comes from workers, too


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
            self._found.append(error)

    def check(self) -> None:
        """Raise what was found."""
        if self._found:
            raise self.as_one()

    def as_one(self) -> DataError:
        """What was found: one error as it is, several as one."""
        if len(self._found) == 1:
            return self._found[0]
        complaints: list[str] = []
        for error in self._found:
            complaints += error.complaints if isinstance(error, TableError) else [" ".join(str(error).split("\n"))]
        rest = len(complaints) - SHOWN
        shown = [*complaints[:SHOWN], f"and {rest} more"] if rest > 0 else complaints
        return TableError(f"{len(complaints)} things are wrong with the table:", shown)


def together(error: DataError, read: Callable[[], object]) -> DataError:
    """An error about the columns, and with it what else is wrong, as reading the target shows."""
    problems = Problems()
    with problems.gather():
        raise error
    with suppress(TypeError, ValueError), problems.gather():
        read()
    return problems.as_one()

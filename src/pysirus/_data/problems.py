"""Complaints about a table in, one error out that says all of them: nobody wants to be told of one column at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from pysirus._data.column import DataError
from pysirus._message import say, setting

SHOWN = 20
PREPARE = (
    f"Or try {setting('prepare', True)}: what can be made of such columns is made of them, and the others are set "
    "aside."
)


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


def together(error: DataError, read: Callable[[], object], *, prepared: bool) -> DataError:
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

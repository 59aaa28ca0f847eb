"""A message with roles and parameters in, its words out: those of Python, or of another door such as the command line.

A role or a parameter stands in a message like any text, ``f"{TARGET} must be numbers, found {found!r}."``, and stays
what it is until somebody reads it: errors and warnings keep their ``message``, and each door words it. ``str(error)``
has the words of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pysirus._text.format import one_line

OPEN, BETWEEN, SHUT = "\x0e", "\x1f", "\x0f"  # which no text in a message has: control characters are written out
PYTHON_ROLES = {"target": "y", "weights": "sample_weight", "groups": "groups", "time": "time"}
ROLE_WORDS = {"weights": "sample weights"}


@dataclass(frozen=True)
class Term:
    """Something that each door calls by a name of its own; in a text it is a mark that holds it."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        return OPEN + BETWEEN.join(one_line(text) for text in (type(self).__name__, self.name, self.value)) + SHUT


class Role(Term):
    """What a column is for; ``value`` is the name of the column, where it is known."""


class Parameter(Term):
    """A parameter: ``n_rules`` in Python, ``--rules`` on the command line."""


class Setting(Term):
    """A parameter and a value: ``loss='gamma'`` in Python, ``--loss gamma`` on the command line."""


class Learner(Term):
    """An estimator: ``SirusClassifier`` in Python, ``--task classification`` on the command line."""


class Row(Term):
    """A row by its number from 0, as Python counts; the command line counts from 1. ``value`` is how it is written."""

    def counted(self, first: int) -> str:
        """Its number, where the first row has this one."""
        return format(int(self.name) + first, self.value)


class InPython(Term):
    """Words that are said in Python alone, such as `` or None``."""


class InCommand(Term):
    """An option that Python has no parameter for, and what would be typed: in parentheses, and not said in Python."""


TERMS: dict[str, type[Term]] = {
    own.__name__: own for own in (Role, Parameter, Setting, Learner, Row, InPython, InCommand)
}
Door = Callable[[Term], str]

TARGET, WEIGHTS, GROUPS, TIME = Role("target"), Role("weights"), Role("groups"), Role("time")
OR_NONE = InPython(" or None")
FEWER = f"{InPython(': model.with_rules(k)')}{InCommand('n_rules', 'N')}"  # rules


def setting(name: str, value: Any) -> Setting:
    """A parameter and a value as Python writes it."""
    return Setting(name, repr(value.item() if hasattr(value, "item") else value))


def row_named(row: int) -> str:
    """What a row is called in messages."""
    return f"row {Row(str(row))}"


def rows_named(first: int, n_rows: int, of: str) -> str:
    """What a part of the rows of something is called in messages."""
    return f"rows {Row(str(first), ',')} to {Row(str(first + n_rows - 1), ',')} of {of}"


def python(term: Term) -> str:
    """What a term is called in Python."""
    if isinstance(term, Row):
        return term.counted(0)
    if isinstance(term, Role):
        return role_words(term) if term.value else PYTHON_ROLES.get(term.name, role_words(term))
    if isinstance(term, Setting):
        return f"{term.name}={term.value}"
    return "" if isinstance(term, InCommand) else term.name


def role_words(role: Role) -> str:
    """What a role is called where columns have names."""
    words = f"the {ROLE_WORDS.get(role.name, role.name)}"
    return f"column '{role.value}', {words}" if role.value else words


def parts_of(message: str) -> Iterator[str | Term]:
    """The texts and the terms of a message, in their order."""
    first, *rest = message.split(OPEN)
    yield first
    for piece in rest:
        inside, shut, after = piece.partition(SHUT)
        kind, *fields = inside.split(BETWEEN)
        if shut and kind in TERMS and len(fields) == 2:
            yield TERMS[kind](*fields)
            yield after
        else:
            yield OPEN + piece  # a name that somebody gave a column


def say(message: str, door: Door = python) -> str:
    """The words of a message."""
    said, apposed = "", False
    for part in parts_of(message):
        words = part if isinstance(part, str) else door(part)
        if apposed and words and words[0] not in ".,;:)":
            said += ","  # column 'w', the sample weights, must be
        if isinstance(part, Role) and " " in words and (not said or said.endswith((". ", "\n", "- "))):
            words = words[0].upper() + words[1:]
        apposed = isinstance(part, Role) and "', the " in words
        said += words
    return said


def message_of(said: object) -> str:
    """The message of an error or a warning, with its terms; the text of anything else."""
    return str(getattr(said, "message", said))


class SafeTextError(Exception):
    """An error whose message a terminal can show: names of columns, levels and files in it may hold anything."""

    def __init__(self, message: object = "") -> None:
        parts = parts_of(str(message))
        self.message = "".join(str(part) if isinstance(part, Term) else _plain(part) for part in parts)
        super().__init__(say(self.message))

    def reword(self, change: Callable[[str], str]) -> None:
        """Change the terms of the message."""
        self.message = change(self.message)
        self.args = (say(self.message),)


def _plain(text: str) -> str:
    return "\n".join(map(one_line, text.split("\n")))


def with_columns(message: str, columns: dict[str, str | None]) -> str:
    """A message with the columns of its roles, where they are known."""

    def named(part: str | Term) -> str | Term:
        column = columns.get(part.name) if isinstance(part, Role) and not part.value else None
        return Role(part.name, column) if isinstance(part, Role) and column else part

    return "".join(str(named(part)) for part in parts_of(message))


def renumbered(message: str, number: Callable[[int], int]) -> str:
    """A message with other numbers of rows, such as those that they have in the whole table."""

    def changed(part: str | Term) -> str | Term:
        return Row(str(number(int(part.name))), part.value) if isinstance(part, Row) else part

    return "".join(str(changed(part)) for part in parts_of(message))


def about_part(name: str, message: str) -> str:
    """A message about a part of the rows, counted as its name counts them."""
    first = next((int(part.name) for part in parts_of(name) if isinstance(part, Row)), 0)
    return f"{name}: {renumbered(message, lambda row: first + row)}"


@contextmanager
def naming(**columns: str | None) -> Iterator[None]:
    """Errors say which columns have which roles."""
    try:
        yield
    except SafeTextError as error:
        error.reword(lambda message: with_columns(message, columns))
        raise

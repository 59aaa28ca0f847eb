"""Columns in, the texts by which rules may call them and their levels out, each with whether it is as they print.

Who reads several texts keeps one lexicon for all of them: the steps that reading takes are counted over all, so that
no list of texts takes for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from pysirus._format import SPOKEN, format_level
from pysirus._plain import apart, in_quotes, one_line
from pysirus._terms.words import text_in_set

MOST_STEPS = 500_000  # looks at a place of a text: some seconds
MORE_STEPS = 500  # for each text
_AT_ONCE = 256  # characters that are compared in a step

Meaning = TypeVar("Meaning")


class TooManySteps(Exception):
    """A text that takes too long to read."""


class TextColumn(Protocol):
    """What the parser must know of a column."""

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> tuple[Any, ...]: ...
    @property
    def is_date(self) -> bool: ...


def name_texts(name: str) -> tuple[str, ...]:
    """How a column may be called: as it prints, as it is, and in quotes."""
    return tuple(dict.fromkeys([apart(name), name, one_line(name), in_quotes(name), *_quoted(name)]))


def level_texts(level: Any) -> tuple[str, ...]:
    """How a level may be written: as it prints, in quotes, true and false in small letters, 1.0 for 1."""
    text = str(level)
    others = [one_line(repr(text)), one_line(f'"{text}"')]
    if isinstance(level, bool):
        others.append(text.lower())
    elif isinstance(level, float):
        others.append(text)
    elif isinstance(level, str):
        others += [in_quotes(text), *_quoted(text)]
        others += [text, one_line(text)] if text and text == text.strip() and not SPOKEN.fullmatch(text) else []
    return tuple(dict.fromkeys([format_level(level), *others]))


def _quoted(text: str) -> tuple[str, str]:
    return f"'{text}'", f'"{text}"'


@dataclass
class Index(Generic[Meaning]):
    """Texts and what each of them may mean, to be found at a place of a longer text."""

    found: dict[str, list[tuple[Meaning, bool]]] = field(default_factory=dict)

    def add(self, meaning: Meaning, texts: Iterable[str], printed: Iterable[str]) -> None:
        """Take in what may be said by these texts, and prints as some of them."""
        own = set(printed)
        for text in texts:
            if text:
                self.found.setdefault(text, []).append((meaning, text in own))

    @cached_property
    def lengths(self) -> list[int]:
        """Of texts, the longest first."""
        return sorted({len(text) for text in self.found}, reverse=True)


@dataclass
class Lexicon:
    """What texts of rules about some columns may be made of."""

    columns: Sequence[TextColumn]
    steps: int = MOST_STEPS  # that are left

    def spend(self, steps: int = 1) -> None:
        """Count steps; ``TooManySteps`` where none are left."""
        self.steps -= steps
        if self.steps < 0:
            raise TooManySteps

    def at(self, index: Index[Meaning], text: str, position: int) -> Iterator[tuple[Meaning, int, bool]]:
        """All that may stand at a place, the longest text first: what it means, its end, whether it prints so."""
        for length in index.lengths:
            self.spend(1 + length // _AT_ONCE)
            for meaning, printed in index.found.get(text[position : position + length], ()):
                yield meaning, position + length, printed

    @cached_property
    def names(self) -> Index[int]:
        """Columns by what they are called."""
        index: Index[int] = Index()
        for i, column in enumerate(self.columns):
            index.add(i, name_texts(column.name), (apart(column.name), in_quotes(column.name)))
        return index

    @cached_property
    def indented(self) -> Index[int]:
        """Columns whose names begin with a space, by these names."""
        index: Index[int] = Index()
        for i, column in enumerate(self.columns):
            if column.name[:1].isspace():
                index.add(i, {column.name, one_line(column.name)}, ())
        return index

    @cached_property
    def _levels(self) -> dict[int, Index[Any]]:
        return {}

    def levels(self, column: int) -> Index[Any]:
        """The levels of a column by how they may be written; they print as in a set."""
        if column not in self._levels:
            index: Index[Any] = Index()
            every = self.columns[column].levels
            for level in every:
                index.add(level, level_texts(level), (text_in_set(level, every), in_quotes(str(level))))
            self._levels[column] = index
        return self._levels[column]

"""Columns in, the texts by which rules may call them and their categories out, each with whether it is as they print.

Who reads several texts keeps one lexicon for all of them: the steps that reading takes are counted over all, so that
no list of texts takes for ever.

A text that cannot be read is an error that points at the place. ``Ways`` keeps the ways through a text, two at most to
each place, which is enough to know that it is ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from pysirus._terms.words import FOLDED, text_in_set
from pysirus._text.format import SPOKEN, apart, format_level, in_quotes, one_line
from pysirus._text.message import InCommand, InPython, SafeTextError, Term

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


SHOWN = 100  # characters of a rule in a message
LOOKED_AT = 200  # characters of a text that are taken apart for a message
LIKELY = 10_000  # names that are looked through for one that was meant


class RuleTextError(SafeTextError, ValueError):
    """The text of a rule cannot be read; ``position`` is the character, from 0.

    Examples
    --------
    >>> from pysirus import RuleTextError, SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> try:
    ...     SirusRegressor(required_rules=["temp > 66"]).fit(X, y)
    ... except RuleTextError as error:
    ...     print(error)
    required_rules: cannot read the rule at character 6: use '<' or '>=': rules do not have '>' and '<='.
        temp > 66
             ^
    """

    def __init__(self, text: str, position: int, problem: str, given_as: Term | None = None) -> None:
        self.text, self.position, self.problem, self.given_as = text, position, problem, given_as
        start = max(0, position - SHOWN // 2)
        before, after = one_line(text[start:position]), one_line(text[position : start + SHOWN])
        pointer = f"    {before}{after}\n    {' ' * len(before)}^"
        begin = "Cannot" if given_as is None else f"{given_as}: cannot"
        super().__init__(f"{begin} read the rule at character {position + 1}: {problem}.\n{pointer}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.position, self.problem, self.given_as)


def problem_at(text: str, at: int, wanted: Sequence[str], columns: Sequence[TextColumn]) -> str:
    """What was expected, and what is there."""
    if FOLDED.search(text):
        return (
            "the line is folded, to look at and not to be read back. Take the number of the rule, or its whole text"
            f"{InPython(': rules_.text(full=True) or rule.condition_text')}{InCommand('full')}"
        )
    if text[at : at + 1] == ">" or text[max(0, at - 1) : at + 1] == "<=":
        return "use '<' or '>=': rules do not have '>' and '<='"
    rest = text[at : at + LOOKED_AT]
    word = re.match(r"\w+|.", rest, re.DOTALL)
    if word is None:
        return f"the text ends, expected {_listed(wanted)}"
    phrase = re.split(r"\s*(?:[<>=&(){},]|\bin\b|\bis\b|\bor\b)", rest)[0].strip() or word[0]
    if "a column" in wanted:
        return f"no column is called '{phrase[:60]}'{_hint(phrase[:60], (column.name for column in columns))}"
    level = next((what for what in wanted if what.startswith("a category of ")), None)
    if level is not None:
        levels = (str(level) for column in columns for level in column.levels)
        return f"expected {level}; found '{phrase[:60]}'{_hint(phrase[:60], levels)}"
    return f"expected {_listed(wanted)}; found '{word[0][:60]}'"


def _listed(wanted: Sequence[str]) -> str:
    return wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"


def _hint(phrase: str, known: Iterable[str]) -> str:
    close = get_close_matches(phrase, list(islice(known, LIKELY)), n=1)
    if not close:
        return ""
    shown = apart(close[0])
    return f" (did you mean {shown}?)" if shown != close[0] else f" (did you mean '{shown}'?)"


Step = tuple[Any, bool, int, bool]  # what stands at a place, whether it prints so, where it ends, whether more follows
Kept = dict[int, bool]  # ways to a place, by number, and whether each prints as the text stands


class Ways:
    """Ways through a text; of those that lead to one place two that differ are enough to know that it is ambiguous."""

    def __init__(self, spend: Callable[[], None]) -> None:
        self._spend = spend  # called for each step
        self._numbers: dict[tuple[int, Any], int] = {}
        self._items: list[tuple[int, Any]] = [(0, None)]

    def longer(self, way: int, item: Any) -> int:
        """The number of a way that goes one step further."""
        number = self._numbers.setdefault((way, item), len(self._items))
        if number == len(self._items):
            self._items.append((way, item))
        return number

    def items(self, way: int) -> tuple[Any, ...]:
        """What a way passes."""
        found = []
        while way:
            way, item = self._items[way]
            found.append(item)
        return tuple(reversed(found))

    @staticmethod
    def keep(kept: Kept, way: int, printed: bool) -> None:
        """Keep a way, unless there are two like it."""
        if way in kept:
            kept[way] |= printed
        elif list(kept.values()).count(printed) < 2:
            kept[way] = printed

    def through(self, start: int, steps: Callable[[int], Iterable[Step]]) -> dict[int, Kept]:
        """The ways from a place, by where they end; each place on them is looked at once, the earliest first."""
        ways: dict[int, Kept] = {start: {0: True}}
        ends: dict[int, Kept] = {}
        open_ = [start]
        while open_:
            place = heappop(open_)
            for item, printed, end, goes_on in steps(place):
                if goes_on and end not in ways:
                    heappush(open_, end)
                self._spend()
                kept = (ways if goes_on else ends).setdefault(end, {})
                for way, own in ways[place].items():
                    self.keep(kept, self.longer(way, item), own and printed)
        return ends

"""The text of a rule in, what it asks of each column out; a message points at the character where it goes wrong.

    rule       [effect "if" | "if"] condition {"&" condition} ["then" ...]
    effect     "+" number | "-" number | "×" number, then ["for" class]
    condition  "(" condition ")"  |  ask ["or missing"]
    ask        name "<" number  |  name ">=" number  |  number "<=" name "<" number
               with a date such as 2024-06-01 or 2024-06-01 14:30 for the number where the column holds dates
               name "in" "{" ["all but"] level {"," level} "}"  |  name "=" level
               name "is missing"  |  name "is known"
               name  |  "not" name                      of a column of true and false

Names and levels stand as they print, without quotes, and may hold anything, these signs too. So the parser knows the
columns, tries every name that fits, the longest first, and goes back where it does not lead on. The name of a class is
all that stands between "for" and an "if" after which conditions can be read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Protocol

from pysirus._format import format_level, read_date
from pysirus._message import PlainError
from pysirus._plain import one_line
from pysirus._rules.effect import EFFECT, Effect, effect_of
from pysirus._rules.words import ALL_BUT, FOLDED, is_plain

NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
DATE = re.compile(r"-?\d{4,}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?(?![\d:])")
SPACE = re.compile(r"\s*")
SHOWN = 100  # characters of a rule in a message


class RuleTextError(PlainError, ValueError):
    """The text of a rule cannot be read; ``position`` is the character, from 0."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.text, self.position, self.problem = text, position, problem
        start = max(0, position - SHOWN // 2)
        before, after = one_line(text[start:position]), one_line(text[position : start + SHOWN])
        pointer = f"    {before}{after}\n    {' ' * len(before)}^"
        super().__init__(f"Cannot read the rule at character {position + 1}: {problem}.\n{pointer}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.position, self.problem)


class TextColumn(Protocol):
    """What the parser must know of a column."""

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> tuple[Any, ...]: ...
    @property
    def is_date(self) -> bool: ...


@dataclass(frozen=True)
class Ask:
    """What a text asks of one column, and where it says so."""

    column: int
    at: int
    lower: float | None = None
    upper: float | None = None
    levels: tuple[Any, ...] | None = None
    missing: bool = False
    only_missing: bool = False


def level_texts(level: Any) -> tuple[str, ...]:
    """How a level may be written: as it prints, in quotes, true and false in small letters, 1.0 for 1."""
    printed = one_line(format_level(level))
    others = [one_line(repr(str(level))), one_line(f'"{level}"')]
    if isinstance(level, bool):
        others.append(str(level).lower())
    elif isinstance(level, float):
        others.append(str(level))
    return tuple(dict.fromkeys([printed, *others]))


@dataclass
class _Reader:
    """A text, the columns it may name, and how far the reading came."""

    text: str
    columns: Sequence[TextColumn]
    furthest: int = 0
    wanted: list[str] = field(default_factory=list)

    def fail(self, position: int, what: str) -> None:
        """Remember what was expected at the furthest place."""
        if position > self.furthest:
            self.furthest, self.wanted = position, []
        if position == self.furthest and what not in self.wanted:
            self.wanted.append(what)

    def skip(self, position: int) -> int:
        """The next character that is no space."""
        match = SPACE.match(self.text, position)
        assert match is not None
        return match.end()

    def sign(self, position: int, *signs: str) -> Iterator[int]:
        """One of some signs, or words that end where they end."""
        position = self.skip(position)
        for sign in signs:
            end = position + len(sign)
            goes_on = sign[-1].isalpha() and self.text[end : end + 1].replace("_", "a").isalnum()
            if self.text.startswith(sign, position) and not goes_on:
                yield end
                return
        self.fail(position, " or ".join(f"'{sign}'" for sign in signs))

    def number(self, position: int) -> Iterator[tuple[float, int]]:
        """A number."""
        position = self.skip(position)
        match = NUMBER.match(self.text, position)
        value = float(match[0].replace(",", "")) if match else math.inf
        if match is None or math.isinf(value):  # 1e999 is read as infinity
            self.fail(position, "a number")
        else:
            yield value, match.end()

    def date(self, position: int) -> Iterator[tuple[float, int]]:
        """A date, in days from 1970."""
        position = self.skip(position)
        match = DATE.match(self.text, position)
        value = read_date(match[0]) if match else None
        if match is None or value is None:
            self.fail(position, "a date such as 2024-06-01")
        else:
            yield value, match.end()

    def limit(self, column: int, position: int) -> Iterator[tuple[float, int]]:
        """What a column is compared with."""
        return self.date(position) if self.columns[column].is_date else self.number(position)

    def name(self, position: int) -> Iterator[tuple[int, int]]:
        """Every column whose name stands here, the longest name first."""
        last = self.skip(position)
        for start in range(last, position - 1, -1):  # a name may begin with spaces
            found = [i for i, c in enumerate(self.columns) if self.text.startswith(one_line(c.name), start)]
            for i in sorted(found, key=lambda i: -len(one_line(self.columns[i].name))):
                yield i, start + len(one_line(self.columns[i].name))
        self.fail(last, "a column")

    def starts(self) -> Iterator[tuple[Effect | None, int]]:
        """Where conditions may begin, and the effect before them: at once, or after each "if"."""
        for after in self.sign(0, "if "):
            yield None, after
        yield None, 0
        found = EFFECT.match(self.text)
        if found is not None and (found[0].strip()[0] != "x" or re.match(r"\s*(if|for)\b", self.text[found.end() :])):
            for after in self.sign(found.end(), "if"):
                yield effect_of(found, None), after
            for after in self.sign(found.end(), "for "):
                self.fail(len(self.text), "'if'")
                for word in re.finditer(r"\bif\b", self.text[after:]):
                    if label := self.text[after : after + word.start()].strip():
                        yield effect_of(found, label), after + word.end()

    # --------------------------------------------------------------------------------------------------- conditions

    def ask(self, position: int) -> Iterator[tuple[Ask, int]]:
        """What is asked of one column."""
        start = self.skip(position)
        for column, end in self.name(position):
            yield from self._after_name(column, start, end)
        for read, is_date in ((self.number, False), (self.date, True)):
            yield from self._interval(read(position), start, is_date)
        for after in self.sign(position, "not "):
            for column, end in self.name(after):
                if self._is_binary(column):
                    yield Ask(column, start, levels=(False,)), end

    def _interval(self, lowers: Iterator[tuple[float, int]], start: int, is_date: bool) -> Iterator[tuple[Ask, int]]:
        """An interval of numbers or of dates."""
        for lower, after in lowers:
            for sign in self.sign(after, "<="):
                for column, end in self.name(sign):
                    if self.columns[column].is_date != is_date:
                        self.fail(end, f"{'a number' if is_date else 'a date such as 2024-06-01'} before '<='")
                        continue
                    for less in self.sign(end, "<"):
                        for upper, last in self.limit(column, less):
                            yield Ask(column, start, lower, upper), last

    def _is_binary(self, column: int) -> bool:
        levels = self.columns[column].levels
        return bool(levels) and all(isinstance(level, bool) for level in levels)

    def _after_name(self, column: int, start: int, end: int) -> Iterator[tuple[Ask, int]]:
        for after in self.sign(end, "is missing"):
            yield Ask(column, start, missing=True, only_missing=True), after
        for after in self.sign(end, "is known"):
            yield Ask(column, start), after
        if self.columns[column].levels:
            for after in self.sign(end, "in"):
                for opened in self.sign(after, "{"):
                    yield from self._set(column, start, opened)
            for after in self.sign(end, "="):
                # as it prints first: what holds signs of the grammar prints in braces
                for level, last in sorted(self.level(column, after), key=lambda found: not is_plain(found[0])):
                    yield Ask(column, start, levels=(level,)), last
            if self._is_binary(column):
                yield Ask(column, start, levels=(True,)), end
            return
        for after in self.sign(end, ">="):
            for value, last in self.limit(column, after):
                yield Ask(column, start, lower=value), last
        for after in self.sign(end, "<"):
            for value, last in self.limit(column, after):
                yield Ask(column, start, upper=value), last

    def _set(self, column: int, start: int, opened: int) -> Iterator[tuple[Ask, int]]:
        """Levels in braces, or all levels but these."""
        for after in self.sign(opened, ALL_BUT):
            for levels, last in self.level_set(column, after):
                named = set(levels)
                rest = tuple(level for level in self.columns[column].levels if level not in named)
                yield Ask(column, start, levels=rest), last
        for levels, last in self.level_set(column, opened):
            yield Ask(column, start, levels=levels), last

    def level(self, column: int, position: int) -> Iterator[tuple[Any, int]]:
        """Every level of a column that stands here, the longest first."""
        position = self.skip(position)
        texts = [(text, level) for level in self.columns[column].levels for text in level_texts(level)]
        for text, level in sorted(texts, key=lambda pair: -len(pair[0])):
            if self.text.startswith(text, position):
                yield level, position + len(text)
        self.fail(position, f"a level of '{self.columns[column].name}'")

    def level_set(self, column: int, position: int) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Levels up to the closing brace; many, so that it does not call itself."""
        open_: list[tuple[int, tuple[Any, ...]]] = [(position, ())]
        seen = set()
        while open_:
            start, levels = open_.pop()
            if start in seen:
                continue
            seen.add(start)
            found = list(self.level(column, start))
            for level, end in reversed(found):  # the longest is looked at first
                open_ += [(after, (*levels, level)) for after in self.sign(end, ",")]
            for level, end in found:
                for after in self.sign(end, "}"):
                    yield (*levels, level), after

    def condition(self, position: int) -> Iterator[tuple[Ask, int]]:
        """A condition, in parentheses or not."""
        for opened in self.sign(position, "("):
            for ask, end in self.plain_condition(opened):
                for closed in self.sign(end, ")"):
                    yield ask, closed
        yield from self.plain_condition(position)

    def plain_condition(self, position: int) -> Iterator[tuple[Ask, int]]:
        """A condition, with missing values or without."""
        for ask, end in self.ask(position):
            if not ask.only_missing:
                for after in self.sign(end, "or missing"):
                    yield Ask(ask.column, ask.at, ask.lower, ask.upper, ask.levels, missing=True), after
            yield ask, end

    def conditions(self, position: int) -> Iterator[tuple[tuple[Ask, ...], int]]:
        """Conditions to the end of the text, or to what the rule answers."""
        for ask, end in self.condition(position):
            after = self.skip(end)
            if after == len(self.text):
                yield (ask,), after
            for stop in self.sign(end, "then "):
                yield (ask,), stop
            for more in self.sign(end, "&"):
                for others, last in self.conditions(more):
                    yield (ask, *others), last
            if after < len(self.text):
                self.fail(after, "the end")


def parse_rule(text: str, columns: Sequence[TextColumn]) -> tuple[Effect | None, tuple[Ask, ...]]:
    """The effect that the text of a rule fixes, if it does, and what it asks of each column."""
    reader = _Reader(text, columns)
    for effect, start in reader.starts():
        for asks, _ in reader.conditions(start):
            return effect, asks
    raise RuleTextError(text, reader.furthest, _problem(reader))


def _problem(reader: _Reader) -> str:
    """What was expected, and what is there."""
    text, at = reader.text, reader.furthest
    if FOLDED.search(text):
        return (
            "the line is folded, to look at and not to be read back. Take the number of the rule, or its whole text: "
            "`pysirus show MODEL --full`, in Python rules_.text(full=True) or rule.condition_text"
        )
    if text[at : at + 1] == ">" or text[max(0, at - 1) : at + 1] == "<=":
        return "rules ask '<' or '>=', so that every value is on one side"
    word = re.match(r"\w+|.", text[at:], re.DOTALL)
    if word is None:
        return f"the text ends, expected {_listed(reader.wanted)}"
    phrase = re.split(r"\s*(?:[<>=&(){},]|\bin\b|\bis\b|\bor\b)", text[at:])[0].strip() or word[0]
    if "a column" in reader.wanted:
        return f"no column is called '{phrase[:60]}'{_hint(phrase, [column.name for column in reader.columns])}"
    level = next((wanted for wanted in reader.wanted if wanted.startswith("a level of ")), None)
    if level is not None:
        levels = [str(level) for column in reader.columns for level in column.levels]
        return f"expected {level}; found '{phrase[:60]}'{_hint(phrase, levels)}"
    return f"expected {_listed(reader.wanted)}; found '{word[0][:60]}'"


def _listed(wanted: Sequence[str]) -> str:
    return wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"


def _hint(phrase: str, known: Sequence[str]) -> str:
    close = get_close_matches(phrase, known, n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""

"""The text of a rule in, what it asks of each column out; a message points at the character where it goes wrong.

    rule       [effect "if" | "if"] condition {"&" condition} ["then" ...]
    slope      "slope of" name [", from" number "to" number]  |  effect "per unit of" name
    effect     "+" number | "-" number | "×" number, then ["for" class]
    condition  "(" condition ")"  |  ask ["or missing"]
    ask        name "<" number  |  name ">=" number  |  number "<=" name "<" number
               with a date such as 2024-06-01 or 2024-06-01 14:30 for the number where the column holds dates
               name "in" "{" ["all but"] level {"," level} "}"  |  name "=" level
               name "is missing"  |  name "is known"
               name  |  "not" name                      of a column of true and false

Names and levels stand as they print, or in quotes, and may hold anything, these signs too. So the parser knows the
columns and finds every reading of a text: each place of it is read once, and what follows a place is kept by the place.
Where readings differ, the one that prints as the text stands is meant; a text that has none such, or two, is refused.
The name of a class is all that stands between "for" and an "if" after which conditions can be read, or a "per unit of"
after which a column is named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pysirus._terms.fitted import EFFECT, Effect, effect_of
from pysirus._terms.lexicon import MORE_STEPS, MOST_STEPS, Lexicon, RuleTextError, Step, TooManySteps, Ways, problem_at
from pysirus._terms.words import ALL_BUT, is_plain
from pysirus._text.format import format_date, format_level, format_threshold, in_quotes, read_date

NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
DATE = re.compile(r"-?\d{4,5}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?(?![\d:])")
SPACE = re.compile(r"\s*")
IF = re.compile(r"\bif\b")
LEADS_ON = re.compile(r"\s*(?:if|for|per unit of)\b")
SLOPE = "slope of "
PER_UNIT_OF = re.compile(r"\bper unit of\b")
SHOWN_CONDITIONS, SHOWN_LEVELS = 6, 6  # in a message
MOST_CONDITIONS = 1_000  # of a rule; deep trees have fewer


@dataclass(frozen=True)
class Ask:
    """What a text asks of one column, where it says so, and whether it says it as it prints."""

    column: int
    at: int = field(compare=False)
    lower: float | None = None
    upper: float | None = None
    levels: tuple[Any, ...] | None = None
    missing: bool = False
    only_missing: bool = False
    is_slope: bool = False
    printed: bool = field(default=True, compare=False)


@dataclass
class _Reader:
    """A text, the columns it may name, and how far the reading came."""

    text: str
    lexicon: Lexicon
    furthest: int = 0
    wanted: list[str] = field(default_factory=list)
    ways: Ways = field(init=False)

    def __post_init__(self) -> None:
        self.ways = Ways(self.lexicon.spend)

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
        self.lexicon.spend(1 + (match.end() - position) // 64)
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
        self.lexicon.spend(1 if match is None else len(match[0]))
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
        return self.date(position) if self.lexicon.columns[column].is_date else self.number(position)

    def name(self, position: int) -> Iterator[tuple[int, int, bool]]:
        """Every column whose name stands here, the longest name first, and whether it prints so."""
        last = self.skip(position)
        yield from self.lexicon.at(self.lexicon.names, self.text, last)
        if self.lexicon.indented.found:
            for start in range(last - 1, position - 1, -1):
                yield from self.lexicon.at(self.lexicon.indented, self.text, start)
        self.fail(last, "a column")

    def starts(self) -> Iterator[tuple[re.Match[str] | None, slice | None, int]]:
        """Where conditions may begin, with the effect and the class before them: at once, or after each "if"."""
        for after in self.sign(0, "if "):
            yield None, None, after
        yield None, None, 0
        found = EFFECT.match(self.text)
        if found is not None and (found[0].strip()[0] != "x" or LEADS_ON.match(self.text, found.end())):
            for after in self.sign(found.end(), "if"):
                yield found, None, after
            for after in self.sign(found.end(), "for "):
                self.fail(len(self.text), "'if'")
                for word in IF.finditer(self.text, after):
                    if word.start() > self.skip(after):
                        yield found, slice(after, word.start()), word.end()

    def slopes(self) -> Iterator[tuple[Effect | None, Ask]]:
        """The slope that the text may be, with the effect before it."""
        if self.text.lstrip().startswith(SLOPE):
            for ask in self._slope(self.text.index(SLOPE) + len(SLOPE)):
                yield None, ask
        found = EFFECT.match(self.text)
        if found is None:
            return
        spoken = not found[0].strip().startswith(("x", "*"))  # ×2 prints so
        for word in PER_UNIT_OF.finditer(self.text, found.end()):
            label = self.text[found.end() : word.start()].strip()
            if not label or label.startswith("for "):
                for ask in self._slope(word.end()):
                    yield effect_of(found, label.removeprefix("for ").strip() or None), replace(ask, printed=spoken)

    def _slope(self, position: int) -> Iterator[Ask]:
        """A column, and its range as it prints, up to the end of the text."""
        for column, end, printed in self.name(position):
            ask = Ask(column, self.skip(position), is_slope=True, printed=printed)
            if self.skip(end) == len(self.text):
                yield ask
            for after in self.sign(end, ", from "):
                for _, upper in self.number(after):
                    for last in self.sign(upper, "to "):
                        for _, stop in self.number(last):
                            if self.skip(stop) == len(self.text):
                                yield ask
                            else:
                                self.fail(self.skip(stop), "the end")

    # --------------------------------------------------------------------------------------------------- conditions

    def ask(self, position: int) -> Iterator[tuple[Ask, int]]:
        """What is asked of one column."""
        start = self.skip(position)
        for column, end, printed in self.name(position):
            # a name and more than one space: the name may be meant to end with one
            yield from self._after_name(column, start, end, printed and self.skip(end) <= end + 1)
        for read, is_date in ((self.number, False), (self.date, True)):
            yield from self._interval(read(position), start, is_date)
        for after in self.sign(position, "not "):
            for column, end, _ in self.name(after):
                if self._is_binary(column):
                    yield Ask(column, start, levels=(False,), printed=False), end

    def _interval(self, lowers: Iterator[tuple[float, int]], start: int, is_date: bool) -> Iterator[tuple[Ask, int]]:
        """An interval of numbers or of dates."""
        for lower, after in lowers:
            for sign in self.sign(after, "<="):
                for column, end, printed in self.name(sign):
                    if self.lexicon.columns[column].is_date != is_date:
                        self.fail(end, f"{'a number' if is_date else 'a date such as 2024-06-01'} before '<='")
                        continue
                    one_space = printed and self.skip(end) <= end + 1
                    for less in self.sign(end, "<"):
                        for upper, last in self.limit(column, less):
                            yield Ask(column, start, lower, upper, printed=one_space), last

    def _is_binary(self, column: int) -> bool:
        levels = self.lexicon.columns[column].levels
        return bool(levels) and all(isinstance(level, bool) for level in levels)

    def _after_name(self, column: int, start: int, end: int, printed: bool) -> Iterator[tuple[Ask, int]]:
        for after in self.sign(end, "is missing"):
            yield Ask(column, start, missing=True, only_missing=True, printed=printed), after
        for after in self.sign(end, "is known"):
            yield Ask(column, start, printed=printed), after
        if self.lexicon.columns[column].levels:
            for after in self.sign(end, "in"):
                for opened in self.sign(after, "{"):
                    yield from self._set(column, start, opened, printed)
            for after in self.sign(end, "="):
                for level, last, _ in self.level(column, after):
                    # what holds signs of the grammar prints in braces
                    as_level = is_plain(level) and self.text.startswith(format_level(level), self.skip(after))
                    yield Ask(column, start, levels=(level,), printed=printed and as_level), last
            if self._is_binary(column):
                yield Ask(column, start, levels=(True,), printed=False), end
            return
        for after in self.sign(end, ">="):
            for value, last in self.limit(column, after):
                yield Ask(column, start, lower=value, printed=printed), last
        for after in self.sign(end, "<"):
            for value, last in self.limit(column, after):
                yield Ask(column, start, upper=value, printed=printed), last

    def _set(self, column: int, start: int, opened: int, printed: bool) -> Iterator[tuple[Ask, int]]:
        """Levels in braces, or all levels but these."""
        for after in self.sign(opened, ALL_BUT):
            for levels, last, as_levels in self.level_set(column, after):
                named = set(levels)
                rest = tuple(level for level in self.lexicon.columns[column].levels if level not in named)
                yield Ask(column, start, levels=rest, printed=printed and as_levels), last
        for levels, last, as_levels in self.level_set(column, opened):
            yield Ask(column, start, levels=levels, printed=printed and as_levels), last

    def level(self, column: int, position: int) -> Iterator[tuple[Any, int, bool]]:
        """Every level of a column that stands here, the longest first, and whether it prints so."""
        position = self.skip(position)
        yield from self.lexicon.at(self.lexicon.levels(column), self.text, position)
        self.fail(position, f"a category of '{self.lexicon.columns[column].name}'")

    def level_set(self, column: int, position: int) -> Iterator[tuple[tuple[Any, ...], int, bool]]:
        """Levels up to the closing brace."""

        def steps(place: int) -> Iterator[Step]:
            for level, end, printed in self.level(column, place):
                yield from ((level, printed, after, True) for after in self.sign(end, ","))
                yield from ((level, printed, after, False) for after in self.sign(end, "}"))

        for end, kept in self.ways.through(position, steps).items():
            for way, printed in kept.items():
                yield self.ways.items(way), end, printed

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
                    yield replace(ask, missing=True), after
            yield ask, end

    def one_more(self, position: int) -> Iterator[Step]:
        """A condition, and whether others follow: up to the end of the text, or to what the rule answers."""
        for ask, end in self.condition(position):
            after = self.skip(end)
            if after == len(self.text):
                yield ask, ask.printed, after, False
            yield from ((ask, ask.printed, stop, False) for stop in self.sign(end, "then "))
            yield from ((ask, ask.printed, more, True) for more in self.sign(end, "&"))
            if after < len(self.text):
                self.fail(after, "the end")

    def readings(self) -> dict[tuple[Effect | None, tuple[Ask, ...]], bool]:
        """What the text may say, and whether each prints as it stands."""
        found: dict[tuple[Effect | None, tuple[Ask, ...]], bool] = {}
        known: dict[int, list[Step]] = {}  # places are looked at once, wherever the conditions begin

        def steps(place: int) -> list[Step]:
            if place not in known:
                known[place] = list(self.one_more(place))
            return known[place]

        for effect, ask in self.slopes():
            found[effect, (ask,)] = found.get((effect, (ask,)), False) or ask.printed
        for said, label, start in self.starts():
            if label is not None and any(effect is not None and effect.label for effect, _ in found):
                break  # the shortest name of a class
            as_effect = said is None or not said[0].strip().startswith(("x", "*"))  # ×2 prints so
            for kept in self.ways.through(start, steps).values():
                for way, printed in kept.items():
                    name = None if label is None else self.text[label].strip()
                    key = (None if said is None else effect_of(said, name), self.ways.items(way))
                    found[key] = found.get(key, False) or (printed and as_effect)
        return found


def parse_rule(text: str, lexicon: Lexicon) -> tuple[Effect | None, tuple[Ask, ...]]:
    """The effect that the text of a rule fixes, if it does, and what it asks of each column."""
    reader = _Reader(text, lexicon)
    lexicon.steps += MORE_STEPS
    try:
        found = reader.readings()
    except TooManySteps:
        problem = f"it takes more than {MOST_STEPS:,} steps to read this text. Use fewer conditions and categories"
        raise RuleTextError(text, reader.furthest, problem) from None
    if not found:
        raise RuleTextError(text, reader.furthest, problem_at(text, reader.furthest, reader.wanted, lexicon.columns))
    printed = [key for key, as_printed in found.items() if as_printed]
    chosen = printed if len(printed) == 1 else list(found)
    if len(chosen) > 1:
        raise _ambiguous(text, chosen[:2], lexicon)
    if len(chosen[0][1]) > MOST_CONDITIONS:
        problem = f"it has {len(chosen[0][1]):,} conditions, and a rule has {MOST_CONDITIONS:,} at most"
        raise RuleTextError(text, 0, problem)
    return chosen[0]


def _ambiguous(text: str, ways: Sequence[tuple[Effect | None, tuple[Ask, ...]]], lexicon: Lexicon) -> RuleTextError:
    """The error of a text that can be read in two ways."""
    shown = []
    for effect, asks in ways:
        said = " & ".join(_said(ask, lexicon) for ask in asks[:SHOWN_CONDITIONS])
        said += " & ..." if len(asks) > SHOWN_CONDITIONS else ""
        joint = "per unit of" if asks[0].is_slope else "if"
        shown.append(said if effect is None else f"{effect} {joint} {said.removeprefix(SLOPE)}")
    at = next((a.at for a, b in zip(ways[0][1], ways[1][1]) if a != b), 0)
    problem = f"it can be read in two ways: {shown[0]}, or {shown[1]}. Write names in quotes, as here"
    return RuleTextError(text, at, problem)


def _said(ask: Ask, lexicon: Lexicon) -> str:
    """What is asked, with every name and level in quotes."""
    name, tail = in_quotes(lexicon.columns[ask.column].name), " or missing" if ask.missing else ""
    if ask.is_slope:
        return f"{SLOPE}{name}"
    if ask.only_missing:
        return f"{name} is missing"
    if ask.levels is not None:
        levels = ", ".join(in_quotes(v) if isinstance(v, str) else format_level(v) for v in ask.levels[:SHOWN_LEVELS])
        return f"{name} in {{{levels}{', ...' if len(ask.levels) > SHOWN_LEVELS else ''}}}{tail}"
    as_text = format_date if lexicon.columns[ask.column].is_date else format_threshold
    lower, upper = (None if end is None else as_text(end) for end in (ask.lower, ask.upper))
    if lower is None and upper is None:
        return f"{name} is known"
    if lower is not None and upper is not None:
        return f"{lower} <= {name} < {upper}{tail}"
    return f"{name} >= {lower}{tail}" if upper is None else f"{name} < {upper}{tail}"

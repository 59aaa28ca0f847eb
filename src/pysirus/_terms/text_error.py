"""A text, a place in it and what was expected there in, the error that points at it out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

from pysirus._message import InCommand, InPython, PlainError, Term
from pysirus._plain import apart, one_line
from pysirus._terms.lexicon import TextColumn
from pysirus._terms.words import FOLDED

SHOWN = 100  # characters of a rule in a message
LOOKED_AT = 200  # characters of a text that are taken apart for a message
LIKELY = 10_000  # names that are looked through for one that was meant


class RuleTextError(PlainError, ValueError):
    """The text of a rule cannot be read; ``position`` is the character, from 0."""

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
        return "rules ask '<' or '>=', so that every value is on one side"
    rest = text[at : at + LOOKED_AT]
    word = re.match(r"\w+|.", rest, re.DOTALL)
    if word is None:
        return f"the text ends, expected {_listed(wanted)}"
    phrase = re.split(r"\s*(?:[<>=&(){},]|\bin\b|\bis\b|\bor\b)", rest)[0].strip() or word[0]
    if "a column" in wanted:
        return f"no column is called '{phrase[:60]}'{_hint(phrase[:60], (column.name for column in columns))}"
    level = next((what for what in wanted if what.startswith("a level of ")), None)
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

"""A column of text in, SQL that reads it as the text it was out, whatever type the engine has guessed for it.

DuckDB and Spark guess types when they read a file. Yes and no become a BOOLEAN, whose text is true and false; 1.50
becomes a number, whose text is 1.5. A BOOLEAN is read back as the one level that can stand behind it. What
cannot be read back is an error of the query, in words: as an unseen category it would be predicted without one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WORDS = {"true": {"true", "t", "yes", "y", "on", "1"}, "false": {"false", "f", "no", "n", "off", "0"}}
LIKE_NUMBER = re.compile(r"\s*[+-]?(\.?\d|inf|nan)", re.IGNORECASE)  # numbers, dates and times


@dataclass(frozen=True)
class Guesses:
    """How an engine tells the type of a column and its text, and how a query fails."""

    boolean: str  # whether a column is a truth value
    text: str  # whether it is text
    cast: str  # its text
    fail: str  # an error, of a text

    def as_text(self, column: str, name: str, levels: Sequence[str], literal: Callable[[str], str]) -> str:
        """The text of a column that had these levels in training."""
        value, cases = self.cast.format(column), []
        behind = {text: [v for v in levels if v.strip().casefold() in words] for text, words in WORDS.items()}
        if any(behind.values()):
            sides = [f"WHEN {value} = '{text}' THEN {self._side(name, text, behind[text], literal)}" for text in WORDS]
            cases.append(f"WHEN {self.boolean.format(column)} THEN CASE {' '.join(sides)} END")
        if any(LIKE_NUMBER.match(level) for level in levels):
            cases.append(f"WHEN {self.text.format(column)} THEN {value}")
            wish = f"Column '{name}' was text when the model was trained, and is no text here. Read it as text."
            rest = self.fail.format(literal(wish))
        else:
            rest = value
        return f"CASE {' '.join(cases)} ELSE {rest} END" if cases else value

    def _side(self, name: str, text: str, levels: list[str], literal: Callable[[str], str]) -> str:
        """The level behind true or false; where there is none the text itself, which is no level."""
        if len(levels) < 2:
            return literal(levels[0] if levels else text)
        found = " and ".join(levels[:2])
        message = f"Column '{name}' is boolean here, and its levels {found} are both {text}. Read it as text."
        return self.fail.format(literal(message))


DUCKDB_GUESSES = Guesses(
    boolean="typeof({}) = 'BOOLEAN'",
    text="(typeof({0}) = 'VARCHAR' OR typeof({0}) LIKE 'ENUM%')",
    cast="CAST({} AS VARCHAR)",
    fail="error({})",
)
SPARK_GUESSES = Guesses(
    boolean="typeof({}) = 'boolean'",
    text="(typeof({0}) LIKE 'string%' OR typeof({0}) LIKE '%char%')",
    cast="CAST({} AS STRING)",
    fail="raise_error({})",
)

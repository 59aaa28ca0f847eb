"""The name of an engine in, how its SQL is written out: names, numbers and text, and how a column is read as a double.

What an engine reads in another way than the model is asked for explicitly here: a column becomes a double before it is
compared, text compares by its bytes, and a literal means the same in every mode of the engine. Each ``Dialect`` here is
tested on the engine itself; other dialects are left to sqlglot.

A column of text is read as the text it was, whatever type the engine has guessed for it. DuckDB and Spark guess types
when they read a file. Yes and no become a BOOLEAN, whose text is true and false; 1.50 becomes a number, whose text is
1.5. A BOOLEAN is read back as the one category that can stand behind it. What cannot be read back is an error of the
query, in words: as an unseen category it would be predicted without one.
"""

from __future__ import annotations

import math
import re
import struct
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pysirus.export._conditions import (
    DUCKDB_CLOCK,
    MYSQL_CLOCK,
    POSTGRES_CLOCK,
    SPARK_CLOCK,
    SQLITE_CLOCK,
    STANDARD_CLOCK,
    Clock,
    ExportError,
    number,
)

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
        message = f"Column '{name}' is boolean here, and its categories {found} are both {text}. Read it as text."
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


NAME_ONE = "Or name the engine that is to read it, such as dialect='postgres'."
NAME_BYTES = 63  # of a name in PostgreSQL, which cuts the rest off


def check_text(what: str, text: str) -> None:
    """Reject what no SQL text can hold."""
    if "\0" in text:
        raise ExportError(f"{what} {text!r} holds a NUL character, which SQL cannot hold. Rename it.")
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ExportError(f"{what} {text!r} holds half a character (a surrogate), which SQL cannot hold. Rename it.")


def folded(text: str) -> str:
    """What a collation may make of a text: without case, accents, invisible characters and spaces at the end."""
    plain = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in plain if unicodedata.category(c) not in ("Mn", "Me", "Cf", "Cc"))
    return kept.casefold().rstrip()


def _ascii_lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


def _cut(text: str) -> str:
    return text.encode()[:NAME_BYTES].decode(errors="ignore")


def smallest_factor(weight: float) -> float:
    """The smallest positive number whose product with a weight is not zero."""
    low, high = 0, struct.unpack("<q", struct.pack("<d", sys.float_info.max))[0]  # doubles in order, as whole numbers
    while high - low > 1:
        middle = (low + high) // 2
        if weight * struct.unpack("<d", struct.pack("<q", middle))[0] == 0:
            low = middle
        else:
            high = middle
    factor: float = struct.unpack("<d", struct.pack("<q", high))[0]
    return factor


# ------------------------------------------------------------------------------------------------- numbers and text


def with_exponent(value: float) -> str:
    """A number with an exponent, which makes it a double rather than a decimal."""
    text = number(value)
    return text if "e" in text else f"{text}e0"


def _postgres_number(value: float) -> str:
    return f"{with_exponent(value)}::double precision"


def _spark_number(value: float) -> str:
    return f"{with_exponent(value)}D"


def _sqlite_number(value: float) -> str:
    """SQLite rounds one in ten thousand numbers of up to 17 digits wrongly, and none of 19, but for the most extreme.

    Those are written as a whole number times powers of two, which it reads right.
    """
    text, size = with_exponent(value), abs(value)
    if value == 0 or (1e-7 <= size < 1e15 and sum(c.isdigit() for c in text.partition("e")[0]) <= 15):
        return text
    if 1e-200 < size < 1e200:
        return f"{value:.18e}"
    fraction, exponent = math.frexp(value)
    factors, left = [fraction * 2.0**53], exponent - 53
    while left:
        step = max(-500, min(500, left))
        factors.append(2.0**step)
        left -= step
    return "(" + " * ".join(map(with_exponent, factors)) + ")"


def _doubled(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _postgres_text(text: str) -> str:
    """Escaped explicitly where there is a backslash, which the setting standard_conforming_strings decides about."""
    return f"E{_doubled(text)}".replace("\\", "\\\\") if "\\" in text else _doubled(text)


def _is_plain(text: str) -> bool:
    """Whether every mode of MySQL and Spark reads the text as it stands."""
    return text.isprintable() and not set(text) & set("'\\")


def _hex(text: str) -> str:
    return f"X'{text.encode().hex().upper()}'"


def _mysql_level(text: str) -> str:
    """Bytes: text beyond ASCII would have those of the character set of the connection."""
    return f"'{text}'" if text.isascii() and _is_plain(text) else _hex(text)


def _mysql_text(text: str) -> str:
    return f"'{text}'" if text.isascii() and _is_plain(text) else f"CONVERT({_hex(text)} USING utf8mb4)"


def _spark_text(text: str) -> str:
    return f"'{text}'" if _is_plain(text) else f"CAST({_hex(text)} AS STRING)"


# --------------------------------------------------------------------------------------------------------- dialects


@dataclass(frozen=True)
class Dialect:
    """How an engine writes what a model says.

    ``as_number`` and ``as_text`` take a column and give what is compared; ``guesses`` reads a column of text whose type
    the engine may have guessed, and goes before ``as_text``; ``truth`` gives the text of true and false where a column
    may hold them as numbers or as text. ``has_nan`` says that ``as_number`` turns a NaN into NULL, so that it must be
    asked whether a value is missing. ``longest_sum`` is the number of addends that the engine takes in a row. ``keeps``
    says whether a column may bear a name, ``fold`` gives the same for names that are one to the engine.
    """

    name: str
    quote: str
    number: Callable[[float], str]
    text: Callable[[str], str]
    level: Callable[[str], str]
    as_number: Callable[[str], str]
    as_text: Callable[[str], str]
    longest_sum: int
    has_nan: bool = False
    underflow_fails: bool = False  # a product that is too small for a double is an error
    start: Callable[[float], str] | None = None  # what a sum starts with, where that decides about its type
    keeps: Callable[[str], bool] = lambda name: True
    fold: Callable[[str], str] = str.casefold
    portable: bool = False  # every engine must read it as it is meant
    has_exp: bool = True  # where not, the engine may lack exp()
    guesses: Guesses | None = None
    truth: Callable[[str], str] | None = None
    has_lateral: bool = False  # joins in which a row is ranked within itself; where the tests have tried them
    clock: Clock | None = None  # how it reads dates; None where engines differ too much

    def identifier(self, name: str, what: str = "Column") -> str:
        """A delimited name."""
        check_text(what, name)
        if self.portable:
            check_portable(what, name, self.quote)
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def literal(self, value: str, write: Callable[[str], str], what: str) -> str:
        """A text, by ``self.text`` or ``self.level``."""
        check_text(what, value)
        if self.portable:
            check_portable(what, value, "'")
        return write(value)


def check_portable(what: str, text: str, quote: str) -> None:
    """Reject text that an engine could take for its end: it would run what follows as SQL."""
    if "\\" in text:
        found = "holds a backslash, which some engines take for an escape"
    elif text.startswith(quote) or 2 * quote in text:
        found = "starts with a quote or holds two in a row, which some engines take for a longer quote"
    else:
        return
    raise ExportError(f"{what} {text!r} {found}. Rename it. {NAME_ONE}")


def _cast_start(value: float) -> str:
    return f"CAST({with_exponent(value)} AS DOUBLE PRECISION)"


ANSI = Dialect(
    name="ANSI",
    quote='"',
    number=with_exponent,
    text=_doubled,
    level=_doubled,
    as_number="CAST({} AS DOUBLE PRECISION)".format,
    as_text="{}".format,
    longest_sum=900,
    start=_cast_start,
    fold=folded,
    portable=True,
)
PIVOT = replace(
    ANSI, name="PIVOT", longest_sum=200, fold=str.casefold, portable=False, clock=STANDARD_CLOCK
)  # what sqlglot translates
POSTGRES = replace(
    PIVOT,
    name="PostgreSQL",
    clock=POSTGRES_CLOCK,
    longest_sum=2000,
    start=None,
    number=_postgres_number,
    text=_postgres_text,
    level=_postgres_text,
    as_number="NULLIF(CAST({} AS double precision), 'NaN')".format,
    as_text='{} COLLATE "C"'.format,
    has_nan=True,
    underflow_fails=True,
    keeps=lambda name: len(name.encode()) <= NAME_BYTES,
    fold=_cut,
    has_lateral=True,
)
DUCKDB = replace(
    PIVOT,
    name="DuckDB",
    clock=DUCKDB_CLOCK,
    longest_sum=900,
    start=None,
    as_number="NULLIF(CAST({} AS DOUBLE), CAST('NaN' AS DOUBLE))".format,
    as_text='({}) COLLATE "binary"'.format,
    guesses=DUCKDB_GUESSES,
    has_nan=True,
    fold=_ascii_lower,
    has_lateral=True,
)
SQLITE = replace(
    PIVOT,
    name="SQLite",
    clock=SQLITE_CLOCK,
    longest_sum=900,
    start=None,
    quote="`",  # SQLite reads a name in double quotes as text if it is not a column
    number=_sqlite_number,
    as_number="CAST({} AS REAL)".format,
    as_text="{} COLLATE BINARY".format,
    truth="LOWER(CAST({} AS TEXT))".format,
    fold=_ascii_lower,
    has_exp=False,
)
MYSQL = replace(
    PIVOT,
    name="MySQL",
    clock=MYSQL_CLOCK,
    longest_sum=500,
    start=None,
    quote="`",
    text=_mysql_text,
    level=_mysql_level,
    as_number="CAST({} AS DOUBLE)".format,
    as_text="CAST(CONVERT({} USING utf8mb4) AS BINARY)".format,
    truth="CAST(LOWER(CONVERT({} USING utf8mb4)) AS BINARY)".format,
    keeps=lambda name: len(name) <= 64 and max(map(ord, name), default=0) < 0x10000 and name == name.rstrip(),
    fold=folded,
)
SPARK = replace(
    PIVOT,
    name="Spark",
    clock=SPARK_CLOCK,
    longest_sum=400,
    start=None,
    quote="`",
    number=_spark_number,
    text=_spark_text,
    level=_spark_text,
    as_number="NULLIF(CAST({} AS DOUBLE), CAST('NaN' AS DOUBLE))".format,
    as_text="({})".format,
    guesses=SPARK_GUESSES,
    has_nan=True,
    fold=str.lower,
)

DIALECTS = {
    "postgres": POSTGRES,
    "postgresql": POSTGRES,
    "duckdb": DUCKDB,
    "sqlite": SQLITE,
    "mysql": MYSQL,
    "mariadb": MYSQL,
    "spark": SPARK,
    "spark2": SPARK,
    "databricks": SPARK,
}


def dialect_named(name: str | None) -> Dialect:
    """The dialect of an engine; ``PIVOT`` for one that sqlglot must write."""
    return ANSI if name is None else DIALECTS.get(name.strip().lower(), PIVOT)

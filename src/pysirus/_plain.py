"""Text in, text that a terminal can show out: names of columns, levels and files may hold anything."""

from __future__ import annotations

import re
import unicodedata

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4}|.)", re.DOTALL)
_BEFORE = 8  # characters with which a mark may make up another one


def _is_hidden(character: str) -> bool:
    """Whether a character shows nothing, or nothing but a blank, or turns the direction of a line."""
    return character != " " and unicodedata.category(character).startswith(("C", "Z"))


def one_line(text: str) -> str:
    """Text for one line of a table or a comment: line breaks, control and direction characters are written out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if _is_hidden(c) else c for c in text)


def in_quotes(text: str) -> str:
    """Text in quotes, as Python writes it; blanks in a row, and accents that print like others, are written out too."""
    mark = '"' if "'" in text and '"' not in text else "'"
    said: list[str] = []
    before = ""
    for c in text:
        if c in ("\\", mark):
            said.append(f"\\{c}")
            before = ""
        elif _is_hidden(c) or (c == before == " ") or not unicodedata.is_normalized("NFC", before + c):
            said.append(f"\\x{ord(c):02x}" if c == " " else c.encode("unicode_escape").decode())
            before = ""
        else:
            said.append(c)
            before = c if c == " " else (before + c)[-_BEFORE:]
    return f"{mark}{''.join(said)}{mark}"


def from_quotes(text: str) -> str | None:
    """What stands in quotes, back from ``in_quotes``; None where a text is not in quotes."""
    if _QUOTED.fullmatch(text) is None:
        return None
    named = {"n": "\n", "r": "\r", "t": "\t"}
    return _ESCAPED.sub(
        lambda found: chr(int(found[1][1:], 16)) if found[1][1:] else named.get(found[1], found[1]), text[1:-1]
    )


def apart(text: str) -> str:
    """A name as lists print it, so that two names never print alike: as it is, or in quotes where blanks or accents in
    it do not show."""
    plain = text.isprintable() and text == text.strip() and "  " not in text and not text.startswith(("'", '"'))
    return text if text and plain and unicodedata.is_normalized("NFC", text) else in_quotes(text)

"""Text in, text that a terminal can show out: names of columns, levels and files may hold anything."""

from __future__ import annotations

import unicodedata


def one_line(text: str) -> str:
    """Text for one line of a table or a comment: line breaks, control and direction characters are written out."""
    hidden = ("C", "Zl", "Zp")
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c).startswith(hidden) else c for c in text
    )

"""A text that names columns in, the columns out: one name, several with commas between them, or a name in quotes."""

from __future__ import annotations

from collections.abc import Collection

from pysirus._data.column import DataError
from pysirus._plain import from_quotes, in_quotes


def names_in(text: str, known: Collection[str], where: str) -> list[str]:
    """The names in a text; a part that is none of the columns comes back without the spaces around it.

    A text that fits two columns, or sets of them, is a ``DataError`` that shows both.
    """
    quoted = from_quotes(text.strip())
    if quoted is not None and quoted in known and text not in known:
        return [quoted]
    parts = [text] if "," not in text else [name_in(part, known, where) for part in text.split(",")]
    if text not in known:
        return [name_in(text, known, where)] if len(parts) == 1 else parts
    if len(parts) > 1 and all(part in known for part in parts):
        listed = ", ".join(map(in_quotes, parts))
        raise DataError(
            f"{where}: {text!r} may be the column {in_quotes(text)} or the columns {listed}. Write the first as "
            f'"{in_quotes(text)}", with these quotes, or give the others one by one.'
        )
    return [text]


def name_in(part: str, known: Collection[str], where: str, what: str = "column") -> str:
    """The column, or class, that a part between commas names; the part without spaces around it where there is none."""
    bare = part.strip()
    quoted = from_quotes(bare)
    found = dict.fromkeys(name for name in (part, bare, quoted) if name is not None and name in known)
    if len(found) > 1:
        shown = " or ".join(map(in_quotes, found))
        raise DataError(f"{where}: {part!r} may be the {what} {shown}. Write the one that is meant in quotes.")
    return next(iter(found), bare)

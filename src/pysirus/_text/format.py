"""Numbers, categories, names and tables in, text that a person reads and any terminal can show out.

Names of columns, categories and files may hold anything: line breaks, control and direction characters are written out.
"""

from __future__ import annotations

import html
import importlib.util
import math
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals as nw

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4}|.)", re.DOTALL)
# columns of a table that are read, not compared
WORDS = ("rule", "attribute", "reason", "column", "restriction", "group", "metric", "input")
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


MAX_SHOWN = 3  # classes named in an output
EXACT_DIGITS = 15  # a double with more is a number with rounding errors behind it
DAY = 86_400_000_000  # microseconds
LAST_DAY = 2_932_897  # days from 1970 to the year 10000
MILLION = 1e6  # from here on thousands are marked: 1,250,000
# what stands in a set for other levels, so that a level of this name is quoted
DATE = re.compile(r"(19|20),\d\d(0,[1-9]|1,[0-2])(0[1-9]|[12]\d|3[01])")  # of the form 20240131
SPOKEN = re.compile(r"all but .*|\d+ of \d+ categories", re.DOTALL)


def format_number(value: float, digits: int) -> str:
    """A number with this many significant digits, with an exponent if it is very large or small."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    size = math.floor(math.log10(abs(value)))
    if not -5 <= size < 12:
        return short_exponent(f"{value:.{digits}g}")
    mark = "," if abs(value) >= MILLION else ""
    return f"{value:{mark}.{max(0, digits - 1 - size)}f}"


def short_exponent(text: str) -> str:
    """A number with an exponent as people write it: ``1.5e-7``, ``2e12``."""
    return re.sub(r"e([+-])0*(\d)", lambda found: f"e{found[1].strip('+')}{found[2]}", text)


def format_threshold(value: float | None, *, rounded: bool = False) -> str:
    """A threshold with all its digits, no trailing zeros; with six where it has more than 15, or is ``rounded``."""
    if value is None:
        return ""
    digits = 6 if rounded else len(Decimal(repr(float(value))).normalize().as_tuple().digits)
    text = format_number(value, digits if 6 < digits <= EXACT_DIGITS else 6)
    if DATE.fullmatch(text):
        return text.replace(",", "")
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def format_date(days: float) -> str:
    """A moment, in days from 1970, as a date, with the time of day where it is not midnight: ``2024-06-01 14:30``.

    What is between two microseconds is a quantile and no moment of a row: it is rounded to the second.
    """
    import numpy as np  # here, so that the help of a command does not wait for it

    if not abs(days) < LAST_DAY:
        return format_threshold(days)
    micro = round(Fraction(days) * DAY)
    if micro / DAY != days:
        micro = round(Fraction(days) * 86_400) * 1_000_000
    day, _, time = str(np.datetime64(micro, "us")).partition("T")
    time = time.removesuffix(".000000").removesuffix(":00")
    time = time.rstrip("0") if "." in time else time
    return day if time == "00:00" else f"{day} {time}"


def read_date(text: str) -> float | None:
    """The days from 1970 that a date says, as ``format_date`` writes it; None if there is no such date."""
    import numpy as np  # here, so that the help of a command does not wait for it

    try:
        return int(np.datetime64(text.replace(" ", "T"), "us").astype(np.int64)) / DAY
    except ValueError:
        return None


def decimals_for(values: Sequence[float], gap: float) -> int:
    """Decimals that show the largest value with three digits and the gap with two."""
    largest = max((abs(v) for v in values), default=0.0)
    needed = 0
    for size, digits in ((largest, 3), (abs(gap), 2)):
        if size > 0 and math.isfinite(size):
            needed = max(needed, digits - 1 - math.floor(math.log10(size)))
    return min(max(needed, 0), 10)


def format_level(level: Any) -> str:
    """A level as a rule reads it: in quotes where it is empty, says something else, or does not show what it holds."""
    text = str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)
    return in_quotes(text) if SPOKEN.fullmatch(text) else apart(text)


def format_levels(levels: Sequence[Any]) -> str:
    """Levels as a set."""
    return f"{{{', '.join(map(format_level, levels))}}}"


def format_label(label: Any) -> str:
    """A class as it is read in a sentence: a number needs a word before it, or `1 90%` would be two numbers."""
    return f"class {label}" if isinstance(label, (int, float)) and not isinstance(label, bool) else str(label)


def format_shares(shares: Sequence[float], classes: Sequence[Any], decimals: int = 0) -> str:
    """Class shares, largest first: `setosa 92%, versicolor 8%`. Of many classes three, the rest together."""
    import numpy as np  # here, so that the help of a command does not wait for it

    least = 0.005 / 10**decimals  # what rounds to zero is not shown
    order = [i for i in np.argsort(-np.asarray(shares), kind="stable") if shares[i] >= least]
    shown = order if len(order) <= MAX_SHOWN + 1 else order[:MAX_SHOWN]
    parts = [f"{format_label(classes[i])} {100 * shares[i]:.{decimals}f}%" for i in shown]
    if len(shown) < len(order):
        parts.append(f"others {100 * sum(shares[i] for i in order[MAX_SHOWN:]):.{decimals}f}%")
    return ", ".join(parts)


def _only_mover(inside: Sequence[float], outside: Sequence[float]) -> int | None:
    """The class that moves, where the other classes keep their proportions to each other; None if several do."""
    import numpy as np  # here, so that the help of a command does not wait for it

    a, b = np.asarray(inside), np.asarray(outside)
    if len(a) == 2:
        return 1
    mover = int(np.abs(a - b).argmax())
    rest_a, rest_b = np.delete(a, mover), np.delete(b, mover)
    if min(rest_a.sum(), rest_b.sum()) < 0.01:
        return None
    return mover if np.abs(rest_a / rest_a.sum() - rest_b / rest_b.sum()).max() < 0.05 else None


def format_percents(inside: float, outside: float) -> tuple[str, str]:
    """Two shares in percent, with as many decimals, up to two, as it takes to tell them apart."""
    gap = abs(inside - outside)
    decimals = next((d for d in (0, 1) if 100 * gap >= 10**-d), 2)
    return f"{100 * inside:.{decimals}f}%", f"{100 * outside:.{decimals}f}%"


def percents_apart(share: float, cutoff: float) -> tuple[str, str]:
    """Two shares in percent, with at least one decimal, and as many as it takes to see which is larger."""
    for decimals in range(1, 12):
        first, second = (f"{100 * value:.{decimals}f}%" for value in (share, cutoff))
        if first != second or share == cutoff:
            break
    return first, second


def format_percent(share: float) -> str:
    """A share in percent, with two digits where it is small: 0.15%, 9.1%, 74%, and 99% of what is almost all."""
    if share in (0, 1):
        return f"{100 * share:.0f}%"
    return f"{100 * share:.2g}%" if share < 0.095 else f"{min(99, 100 * share):.0f}%"


def _format_class_outputs(inside: Sequence[float], outside: Sequence[float], classes: Sequence[Any]) -> tuple[str, str]:
    mover = _only_mover(inside, outside)
    if mover is not None:
        texts = format_percents(inside[mover], outside[mover])
        return f"{format_label(classes[mover])} {texts[0]}", texts[1]
    return format_shares(inside, classes), format_shares(outside, classes)


def format_outputs(
    inside: float | tuple[float, ...],
    outside: float | tuple[float, ...],
    classes: Sequence[Any] | None,
    signed: bool = False,
) -> tuple[str, str]:
    """The two outputs of a rule, with as many decimals as it takes to tell them apart; corrections have a sign."""
    if isinstance(inside, tuple) or isinstance(outside, tuple):
        assert isinstance(inside, tuple) and isinstance(outside, tuple) and classes is not None
        return _format_class_outputs(inside, outside, classes)
    first, second = format_pair(inside, outside, signed=signed)
    return first, second


def format_pair(inside: float, outside: float, *, signed: bool = False) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to tell them apart."""
    sign, largest, gap = "+" if signed else "", max(abs(inside), abs(outside)), abs(inside - outside)
    if largest >= 1e12 or 0 < largest < 1e-5:
        digits = 2 if gap == 0 else max(2, math.floor(math.log10(largest)) - math.floor(math.log10(gap)) + 1)
        form = f"{sign}.{min(digits, 10)}e"
    else:
        form = f"{sign}{',' if largest >= MILLION else ''}.{decimals_for([inside, outside], gap)}f"
    return short_exponent(f"{inside:{form}}"), short_exponent(f"{outside:{form}}")


# the words and signs before which a hyphen is one of a number, not of a name
NUMBER_AFTER = re.compile(r"(^|< |= |is |from |to |then |else |and |between |outputs |log-odds |\(|: |/ )-(?=[\d.])")


def true_minus(text: str) -> str:
    """The hyphens before numbers in a text as minus signs, for pages and figures; those in names stay."""
    return NUMBER_AFTER.sub("\\1−", text)


def html_lines(*lines: str) -> str:
    """A paragraph for a notebook; every line is escaped."""
    return f"<p>{'<br>'.join(html.escape(true_minus(line)) for line in lines)}</p>"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell; numbers to the right."""
    numeric = [name not in WORDS for name in header]
    header, rows = [one_line(name) for name in header], [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (c.rjust(w) if right else c.ljust(w) for c, w, right in zip(cells, widths, numeric))
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), *map(line, rows)])


def row_head(row: int) -> str:
    """The heading of one row among several; the first says how Python counts them."""
    return f"row {row}, counted from 0" if row == 0 else f"row {row}"


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same table for a notebook, in the lines and the blue of the report; every cell is escaped."""

    def cells(tag: str, row: Sequence[str]) -> str:
        line = "2px solid #1f5fa8" if tag == "th" else "1px solid rgba(128,128,128,.3)"
        look = f"padding:.25em .7em;border:0;border-bottom:{line};text-align"
        styles = [f' style="{look}:{"left" if name in WORDS else "right"}"' for name in header]
        return "".join(f"<{tag}{style}>{html.escape(true_minus(cell))}</{tag}>" for cell, style in zip(row, styles))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    look = "border-collapse:collapse;font-variant-numeric:tabular-nums"
    return f'<table style="{look}"><thead><tr>{cells("th", header)}</tr></thead><tbody>{body}</tbody></table>'


def make_frame(data: dict[str, list[Any]], backend: str | None) -> Any:
    """A data frame of the first library that is installed; pyarrow always is."""
    if backend is None:
        backend = next(name for name in ("pandas", "polars", "pyarrow") if importlib.util.find_spec(name))
    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"backend must be 'pandas', 'polars' or 'pyarrow', got {backend!r}.")
    return nw.from_dict(data, backend=backend).to_native()  # type: ignore[arg-type]


def signed(value: float, decimals: int) -> str:
    """A number with its sign; what rounds to zero has a plus."""
    return f"{round(value, decimals) + 0.0:+.{decimals}f}"

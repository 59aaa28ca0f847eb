"""A seed in, a CSV file out as people and their programs write it: marks, units, dates, words for nothing, quotes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

MISSING = ("", "NA", "unknown", "-", "?", "n/a", ".", "NaN", "k.A.")
NAMES = ("size", "Größe", "a b", "x, y", "p;q", 'the "best"', "UPPER", "days", "net.value", "k 1", "z")


@dataclass
class Style:
    """How a file is written."""

    rng: random.Random
    delimiter: str
    decimal: str
    thousands: str
    quotes: str  # where needed, everywhere, or now and then
    newline: str

    def number(self, value: float, places: int, parted: bool = False) -> str:
        """A number with the marks of the file."""
        text = f"{value:,.{places}f}" if parted else f"{value:.{places}f}"
        return text.replace(",", "_").replace(".", self.decimal).replace("_", self.thousands)

    def value(self, text: str) -> float:
        """The number that a text of the file writes, NaN for a word."""
        found = re.search(r"[-+]?\d[\d.,' ]*(?:e[-+]\d+)?", text)
        return float(found[0].replace(self.thousands, "").replace(self.decimal, ".")) if found else float("nan")

    def cell(self, text: str) -> str:
        """A value as it stands in the file."""
        needed = any(mark in text for mark in (self.delimiter, '"', "\n"))
        if needed or self.quotes == "all" or (self.quotes == "some" and self.rng.random() < 0.3):
            return '"' + text.replace('"', '""') + '"'
        return text


@dataclass
class CsvText:
    """The lines of a file, and what they are."""

    header: str
    rows: list[str]
    newline: str
    mark: bytes  # of the encoding
    categorical: list[str] = field(default_factory=list)
    numbers: dict[str, list[float]] = field(default_factory=dict)  # of columns whose marks leave no doubt
    is_classes: bool = False

    def content(self, rows: list[int] | None = None) -> bytes:
        """The file with some of its rows, or all."""
        lines = [self.header, *(self.rows if rows is None else [self.rows[i] for i in rows])]
        return self.mark + "".join(line + self.newline for line in lines).encode()


Make = Callable[[Style, int], "list[str]"]


def _values(style: Style, n: int, low: float = 0.0, high: float = 100.0) -> list[float]:
    return [style.rng.uniform(low, high) for _ in range(n)]


def _whole(style: Style, n: int) -> list[str]:
    high = style.rng.choice([9, 300, 20_000, 3_000_000])
    return [str(style.rng.randint(-high // 3, high)) for _ in range(n)]


def _decimals(style: Style, n: int) -> list[str]:
    places, high = style.rng.choice([1, 2, 3, 3, 4]), style.rng.choice([1, 10, 1000])
    return [style.number(v, places) for v in _values(style, n, -high / 4, high)]


def _ragged(style: Style, n: int) -> list[str]:
    """Numbers with as many decimals as they need, as spreadsheets write them."""
    texts = [style.number(v, style.rng.choice([0, 0, 1, 2, 3])) for v in _values(style, n, 0, 50)]
    return [f" {text}" if style.rng.random() < 0.1 else text for text in texts]


def _parted(style: Style, n: int) -> list[str]:
    places = style.rng.choice([0, 2, 2])
    return [style.number(v, places, parted=True) for v in _values(style, n, 10, 2_000_000)]


def _exponents(style: Style, n: int) -> list[str]:
    return [f"{v:.3g}".replace(".", style.decimal) for v in (10 ** style.rng.uniform(-9, 9) for _ in range(n))]


def _infinite(style: Style, n: int) -> list[str]:
    return ["inf" if style.rng.random() < 0.1 else text for text in _decimals(style, n)]


def _signed(style: Style, n: int) -> list[str]:
    return [f"{style.rng.choice('+-')}{style.number(v, 2)}" for v in _values(style, n)]


def _percent(style: Style, n: int) -> list[str]:
    space, places = style.rng.choice(["", " "]), style.rng.choice([0, 1, 3])
    return [f"{style.number(v, places)}{space}%" for v in _values(style, n)]


def _units(style: Style, n: int) -> list[str]:
    unit, places = style.rng.choice(["km", "kg", "GB", "°C"]), style.rng.choice([0, 1, 3])
    return [f"{style.number(v, places, parted=True)} {unit}" for v in _values(style, n, 0, 20_000)]


def _money(style: Style, n: int) -> list[str]:
    sign, before = style.rng.choice(["$", "€", "£"]), style.rng.random() < 0.5
    texts = [style.number(v, 2, parted=True) for v in _values(style, n, 1, 90_000)]
    return [f"{sign}{text}" if before else f"{text} {sign}" for text in texts]


def _moments(style: Style, n: int) -> list[datetime]:
    start = datetime(2019, 5, 3, 7, 12, 5)
    return [start + timedelta(seconds=style.rng.randint(0, 150_000_000)) for _ in range(n)]


def _dates(style: Style, n: int) -> list[str]:
    form = style.rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %b %Y", "%d.%m.%y", "%Y/%m/%d"])
    return [moment.strftime(form) for moment in _moments(style, n)]


def _clocks(style: Style, n: int) -> list[str]:
    form = style.rng.choice(
        ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H", "%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S.%f"]
    )
    return [moment.strftime(form) for moment in _moments(style, n)]


def _mixed_moments(style: Style, n: int) -> list[str]:
    """Days, some of them with a time of day."""
    return [m.strftime(style.rng.choice(["%Y-%m-%d", "%Y-%m-%d %H:%M:%S"])) for m in _moments(style, n)]


def _offsets(style: Style, n: int) -> list[str]:
    offsets = style.rng.choice([["Z"], ["+05:00"], ["-0330"], ["+01:00", "+02:00"], ["Z", "+09:00", "-05:00"]])
    space = style.rng.choice(["", ""])
    return [f"{m:%Y-%m-%dT%H:%M:%S}{space}{style.rng.choice(offsets)}" for m in _moments(style, n)]


def _times(style: Style, n: int) -> list[str]:
    form = style.rng.choice(["%H:%M", "%H:%M:%S", "%I:%M %p", "%H:%M:%S.5"])
    texts = [moment.strftime(form) for moment in _moments(style, n)]
    return [text.lstrip("0") if style.rng.random() < 0.3 and text[1] != ":" else text for text in texts]


def _words(style: Style, n: int) -> list[str]:
    words = style.rng.choice(
        [("red", "green", "blue"), ("yes", "no"), ("ä", "ö"), ("A 1", "B, 2", "C;3"), ("low", "0")]
    )
    return [style.rng.choice(words) for _ in range(n)]


def _codes(style: Style, n: int) -> list[str]:
    """Labels that look like numbers, or some of which do."""
    codes = style.rng.choice(
        [("007", "012", "100"), ("1a", "2", "3"), ("1", "2", style.number(3, 1)), ("12", "13", "B7", "4,5")]
    )
    return [style.rng.choice(codes) for _ in range(n)]


def _truth(style: Style, n: int) -> list[str]:
    words = style.rng.choice([("true", "false"), ("TRUE", "FALSE"), ("True", "0", "1"), ("0", "1")])
    return [style.rng.choice(words) for _ in range(n)]


def _hexadecimal(style: Style, n: int) -> list[str]:
    return [hex(style.rng.randint(0, 900)) for _ in range(n)]


def _names(style: Style, n: int) -> list[str]:
    """Many labels, of which the rare ones become one."""
    return [f"n{int(style.rng.paretovariate(0.7)) % 400}" for _ in range(n)]


NUMBERS = (_whole, _decimals, _ragged, _exponents, _signed)
WRITTEN = (_parted, _percent, _units, _money, _infinite, _hexadecimal)
OTHERS = (_dates, _clocks, _mixed_moments, _offsets, _times, _words, _codes, _truth, _names)


def _style(rng: random.Random) -> Style:
    delimiter = rng.choice([",", ";", ";", "\t"])
    decimal, thousands = rng.choice([(".", ""), (".", ","), (".", "'")])
    if rng.random() < (0.6 if delimiter == ";" else 0.1):
        decimal, thousands = rng.choice([(",", "."), (",", "."), (",", " ")])
    return Style(
        rng, delimiter, decimal, thousands, rng.choice(["needed", "needed", "some", "all"]), rng.choice(["\n", "\r\n"])
    )


def _with_missing(style: Style, texts: list[str]) -> list[str]:
    words = style.rng.choice([("",), ("", "NA"), MISSING])
    share = style.rng.choice([0, 0, 0.1, 0.5])
    return [style.rng.choice(words) if style.rng.random() < share else text for text in texts]


def make_file(seed: int, n_rows: int = 40) -> CsvText:
    """A file with a target ``y``, of one seed always the same."""
    rng = random.Random(seed)
    style = _style(rng)
    makes = [
        rng.choice(NUMBERS),
        *(rng.choice(rng.choice([NUMBERS, WRITTEN, OTHERS, OTHERS])) for _ in range(rng.randint(1, 6))),
    ]
    names = rng.sample(NAMES, len(makes))
    columns = {name: make(style, n_rows) for name, make in zip(names, makes)}
    categorical = [name for name, make in zip(names, makes) if make is _codes and rng.random() < 0.5]
    is_classes = rng.random() < 0.3
    columns = {name: _with_missing(style, texts) for name, texts in columns.items()}
    size = [len(text) + (text[-2:-1] > "4") for text in next(iter(columns.values()))]
    if is_classes:
        columns["y"] = [("high" if s + rng.random() > 4 else "low") for s in size]
        columns["y"][:2] = ["high", "low"]
    else:
        columns["y"] = [style.number(s + rng.random(), 1 if style.delimiter == ";" else 2) for s in size]
        if style.decimal == "," and style.delimiter != ";":  # which only text can have there
            columns["y"] = [str(s) for s in size]
    if rng.random() < 0.2:
        columns = {"": [str(i) for i in range(n_rows)], **columns}
    cells = list(zip(*columns.values()))
    # a comma before three digits may part thousands, where no other column shows that it does not
    certain = style.decimal == "." or (style.delimiter == ";" and not is_classes)
    written = [name for name, make in zip(names, makes) if certain and make in (*NUMBERS, *WRITTEN[:4])]
    return CsvText(
        header=style.delimiter.join(map(style.cell, columns)),
        rows=[style.delimiter.join(map(style.cell, row)) for row in cells],
        newline=style.newline,
        mark=b"\xef\xbb\xbf" if rng.random() < 0.2 else b"",
        categorical=categorical,
        numbers={name: [style.value(text) for text in columns[name]] for name in written},
        is_classes=is_classes,
    )

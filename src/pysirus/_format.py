"""Numbers and rows in, text out: how rules look in a terminal and a notebook."""

from __future__ import annotations

import html
import importlib.util
import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np


def format_number(value: float, digits: int) -> str:
    """A number with this many significant digits, without an exponent unless it is very large or small."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    size = math.floor(math.log10(abs(value)))
    if size < -6 or size >= 12:
        return f"{value:.{digits}g}"
    return f"{value:.{max(0, digits - 1 - size)}f}"


def format_threshold(value: float | None) -> str:
    """A threshold as short as it can be said: at most six significant digits, no trailing zeros."""
    if value is None:
        return ""
    text = format_number(value, 6)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def decimals_for(values: Sequence[float], gap: float) -> int:
    """Decimals that show the largest value with three digits and the gap with two."""
    largest = max((abs(v) for v in values), default=0.0)
    needed = 0
    for size, digits in ((largest, 3), (abs(gap), 2)):
        if size > 0 and math.isfinite(size):
            needed = max(needed, digits - 1 - math.floor(math.log10(size)))
    return min(max(needed, 0), 10)


def _shares(shares: Sequence[float], other: Sequence[float], classes: Sequence[Any]) -> str:
    """Class shares, largest first; of two classes the second alone, of many those above one percent."""
    if len(classes) == 2:
        return f"{classes[1]} {100 * shares[1]:.0f}%"
    shown = [i for i in np.argsort(-np.asarray(shares), kind="stable") if shares[i] >= 0.005]
    moved = [i for i in shown if abs(shares[i] - other[i]) >= 0.005] or shown
    return ", ".join(f"{classes[i]} {100 * shares[i]:.0f}%" for i in moved)


def format_outputs(
    inside: float | tuple[float, ...], outside: float | tuple[float, ...], classes: Sequence[Any] | None
) -> tuple[str, str]:
    """The two outputs of a rule, with as many decimals as it takes to tell them apart."""
    if isinstance(inside, tuple) or isinstance(outside, tuple):
        assert isinstance(inside, tuple) and isinstance(outside, tuple) and classes is not None
        return _shares(inside, outside, classes), _shares(outside, inside, classes)
    decimals = decimals_for([inside, outside], inside - outside)
    return f"{inside:.{decimals}f}", f"{outside:.{decimals}f}"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell; numbers to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    numeric = [name != "rule" for name in header]

    def line(cells: Sequence[str]) -> str:
        padded = (c.rjust(w) if right else c.ljust(w) for c, w, right in zip(cells, widths, numeric))
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), *map(line, rows)])


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same table for a notebook; every cell is escaped."""

    def cells(tag: str, row: Sequence[str]) -> str:
        styles = [f' style="text-align:{"left" if name == "rule" else "right"}"' for name in header]
        return "".join(f"<{tag}{style}>{html.escape(cell)}</{tag}>" for cell, style in zip(row, styles))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', header)}</tr></thead><tbody>{body}</tbody></table>"


def make_frame(data: dict[str, list[Any]], backend: str | None) -> Any:
    """A data frame of the first library that is installed; pyarrow always is."""
    if backend is None:
        backend = next(name for name in ("pandas", "polars", "pyarrow") if importlib.util.find_spec(name))
    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"backend must be 'pandas', 'polars' or 'pyarrow', got {backend!r}.")
    return nw.from_dict(data, backend=backend).to_native()  # type: ignore[arg-type]

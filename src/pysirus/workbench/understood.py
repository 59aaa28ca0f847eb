"""A table in, what was understood of it out, as plain data: the kind of each column, what is missing, small pictures.

What can be changed is whether numbers are categories, and whether a column is used at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pysirus._data.column import Column
from pysirus._data.derived import ColumnRecipe
from pysirus._data.frame import why_id
from pysirus._data.table import Table, read_table
from pysirus._parameters.table import PARAMETERS
from pysirus._text.format import format_date, format_level, format_number

BARS = 14  # of a small picture
SHOWN_LEVELS = 6
MOST_CLASSES = 20  # numbers with at most so many values may be classes
MOST_COUNTS = 1000


def read_columns(table: pa.Table, categorical: Sequence[str]) -> tuple[Table, list[str]]:
    """The features of a table, and what was said about them."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        own = [name for name in categorical if name in table.column_names]
        most: Any = PARAMETERS["max_levels"].default
        made = read_table(table, categorical=own or None, max_levels=most)
    return made, [str(each.message) for each in found]


def describe(table: pa.Table, categorical: Sequence[str], drop: Iterable[str]) -> dict[str, Any]:
    """The table and its columns."""
    made, said = read_columns(table, categorical)
    left_out = set(drop)
    return {
        "rows": table.num_rows,
        "columns": [
            {**_column(table[name], name, made, name in categorical), "used": name not in left_out}
            for name in table.column_names
        ],
        "said": said,
    }


def _column(values: pa.ChunkedArray, name: str, made: Table, forced: bool) -> dict[str, Any]:
    """One column of the file: its kind, its gaps, what is made of it."""
    recipe = made.recipe or ColumnRecipe(())
    own = [column for column in made.columns if recipe.column_of(column.name) == name]
    distinct = int(pc.count_distinct(values).as_py())
    told: dict[str, Any] = {"name": name, "missing": values.null_count, "distinct": distinct, "forced": forced}
    if not own:
        return {**told, "kind": "ignored", "why": recipe.aside.get(name, "it numbers the rows"), "picture": None}
    first = own[0]
    kind = "date" if first.is_date else "number" if first.is_numeric else "categories"
    if first.levels and all(isinstance(level, bool) for level in first.levels):
        kind = "yes or no"
    why = why_id(first) if not recipe.derived else None
    told |= {"kind": kind, "why": f"it {why}: an id?" if why else "", "can_be_categories": kind == "number" or forced}
    made_of = [column.name for column in own if column.name != name]
    return {**told, "becomes": made_of, "picture": picture(first), "options": _options(first)}


def picture(column: Column) -> dict[str, Any]:
    """What a small picture of a column shows: bars over a range, or the most frequent categories."""
    if column.is_numeric:
        known = np.asarray(column.values, dtype=np.float64)
        known = known[np.isfinite(known)]
        if not len(known):
            return {"bars": [], "from": "", "to": "", "middle": ""}
        ends = np.quantile(known, [0.01, 0.99]) if len(known) > 100 else (known.min(), known.max())
        low, high = (float(end) for end in ends)
        counts, _ = np.histogram(known.clip(low, high), bins=BARS, range=(low, high if high > low else low + 1))
        text = format_date if column.is_date else _short
        shown = {
            "from": text(float(known.min())),
            "to": text(float(known.max())),
            "middle": text(float(np.median(known))),
        }
        return {"bars": counts.tolist(), **shown}
    counts = np.bincount(column.values[column.values >= 0], minlength=len(column.levels))
    order = np.argsort(-counts, kind="stable")[:SHOWN_LEVELS]
    return {
        "levels": [[format_level(column.levels[i]), int(counts[i])] for i in order.tolist()],
        "of": len(column.levels),
    }


def _short(value: float) -> str:
    """A number as a small picture names it."""
    return f"{value:,.0f}" if value % 1 == 0 else format_number(value, 3)


def _options(column: Column) -> list[str]:
    """Values that a rule in words may ask for: quantiles of numbers, or categories."""
    if not column.is_numeric:
        return [format_level(level) for level in column.levels[:200]]
    known = np.asarray(column.values, dtype=np.float64)
    known = np.unique(np.quantile(known[np.isfinite(known)], np.linspace(0.1, 0.9, 9))) if len(known) else known
    return [format_date(value) if column.is_date else _short(value).replace(",", "") for value in known.tolist()]


def possible_kinds(values: pa.ChunkedArray) -> list[str]:
    """What a column can be as a target, the most likely first."""
    known = values.drop_null()
    n_values = int(pc.count_distinct(known).as_py())
    kind = values.type
    if pa.types.is_boolean(kind) or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return ["classes"] if 2 <= n_values <= MOST_CLASSES else []
    if n_values < 2:
        return []
    numbers = np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.float64)
    whole, low = bool((numbers == np.rint(numbers)).all()), float(numbers.min())
    found = ["number"]
    if whole and low >= 0 and numbers.max() <= MOST_COUNTS and n_values > 2:
        found.append("counts")
    if low > 0:
        found.append("amounts")
    elif low == 0 and not whole:
        found.append("zeros")
    if n_values <= MOST_CLASSES and whole:
        found.insert(0 if n_values == 2 else len(found), "classes")
    if low >= 0:
        found.append("survival")
    return found


def looks_like_event(values: pa.ChunkedArray) -> bool:
    """Whether a column may say that a time ended with an event: it has two or three values."""
    return 2 <= int(pc.count_distinct(values.drop_null()).as_py()) <= 3

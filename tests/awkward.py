"""Tables that are awkward in one way each: types, missing values, names, sizes, values that are refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

N = 240
DRAW = np.random.default_rng(0)
A, B = DRAW.normal(size=N).round(3), DRAW.integers(0, 40, N)
SIGNAL = 2.0 * (A > 0.3) + (B > 20)
TARGETS: dict[str, Any] = {
    "y": (SIGNAL + DRAW.normal(0, 0.2, N)).round(3),
    "count": DRAW.poisson(1 + SIGNAL),
    "label": np.where(SIGNAL + DRAW.normal(0, 0.5, N) > 1, "yes", "no"),
}
ROW = np.arange(N)


def holes(values: Any, every: int = 5) -> pa.Array:
    """Values of which some are missing, by null."""
    return pa.array([None if i % every == 1 else value for i, value in enumerate(values)])


def labels(*levels: str) -> list[str]:
    """Levels that take turns with the target."""
    return [levels[int(2 * b + s) % len(levels)] for b, s in zip(B, SIGNAL)]


def dictionary(ordered: bool) -> pa.Array:
    """Categories, with an order of their own or without one."""
    codes = pa.array((SIGNAL % 3).astype(np.int8))
    return pa.DictionaryArray.from_arrays(codes, pa.array(["small", "middle", "large"]), ordered=ordered)


def spoiled(value: float | None, **more: Any) -> Callable[[str], pa.Table]:
    """A table with one target that is no number."""

    def make(target: str) -> pa.Table:
        values = [value if i == 77 else float(own) for i, own in enumerate(TARGETS["y"])]
        return pa.table({"a": A, "b": B, **more, target: values})

    return make


MOMENTS = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=37 * i) for i in range(N)]
COLUMNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "missing values": {"c": holes(A[::-1]), "t": holes(labels("x", "yy", "z")), "f": holes((B % 2 == 0).tolist())},
    "NaN": {"c": np.where(ROW % 4 == 0, np.nan, A[::-1])},
    "constant": {"one": np.ones(N), "same": ["s"] * N},
    "all missing": {"none": pa.nulls(N), "number": pa.nulls(N, pa.float64()), "text": pa.nulls(N, pa.string())},
    "many levels": {"t": [f"level {int(b) + 40 * (i % 2)}" for i, b in enumerate(B)]},
    "another text in every row": {"t": [f"level {i}" for i in DRAW.permutation(N)]},
    "row numbers": {"row_id": DRAW.permutation(N)},
    "ordered categories": {"size": dictionary(True)},
    "categories": {"size": dictionary(False)},
    "booleans": {"f": SIGNAL > 1},
    "dates": {"d": pa.array([dt.date(2020, 1, 1) + dt.timedelta(days=3 * i) for i in range(N)])},
    "moments": {"d": pa.array(MOMENTS, pa.timestamp("us"))},
    "moments in UTC": {"d": pa.array(MOMENTS, pa.timestamp("us", "UTC"))},
    "moments of a zone": {"d": pa.array(MOMENTS, pa.timestamp("us", "Europe/Berlin"))},
    "written dates": {"d": [f"{1 + i % 28}.{1 + i % 12}.2024" for i in range(N)]},
    "times of day": {"t": pa.array([dt.time(i % 24, i % 60) for i in range(N)], pa.time32("s"))},
    "written times": {"t": [f"{i % 24:02}:{i % 60:02}" for i in range(N)]},
    "lengths of time": {"t": pa.array([dt.timedelta(minutes=i % 24) for i in range(N)])},
    "unicode": {
        "größe m²": A[::-1].round(2),
        "都市": labels("東京", "Zürich", "Kraków"),
        "a 'quoted' \"name\"": B % 9,
        "with, comma; and more": B % 7,
    },
    "beyond 2**53": {
        "k": 2**53 + 3 * DRAW.permutation(N),
        "u": pa.array([2**63 + i % 7 for i in range(N)], pa.uint64()),
    },
    "infinity": {"c": np.where(ROW == 77, np.inf, A[::-1])},
    "narrow numbers": {"c": A[::-1].astype(np.float32), "d": pa.array(B - 20, pa.int8())},
    "whole numbers, some missing": {"c": holes((B % 9).tolist())},
    "decimals": {"c": pa.array(B).cast(pa.decimal128(20, 0))},
    "numbers as text": {"t": [f"{value:.2f} €" for value in A]},
    "codes": {"t": [f"{int(b) % 9:03}" for b in B]},
    "empty text": {"t": ["" if i % 4 == 0 else own for i, own in enumerate(labels("x", "z"))]},
    "text that says missing": {"t": ["NA" if i % 4 == 0 else own for i, own in enumerate(labels("x", "z"))]},
    "spaces": {"t": labels(" x", "x", "x ")},
    "line breaks": {"t": labels("x\ny", 'x,"z"', "x;é", "'")},
    "lists": {"c": pa.array([[1, 2]] * N)},
    "bytes": {"c": pa.array([b"ab"] * N)},
}


def table_of(columns: dict[str, Any]) -> Callable[[str], pa.Table]:
    """A table with some columns beside those that say something of the target."""
    return lambda target: pa.table({"a": A, "b": B, **columns, target: TARGETS[target]})


TABLES: dict[str, Callable[[str], pa.Table]] = {name: table_of(columns) for name, columns in COLUMNS.items()} | {
    "two rows": lambda target: table_of({})(target).slice(0, 2),
    "one row": lambda target: table_of({})(target).slice(0, 1),
    "no rows": lambda target: table_of({})(target).slice(0, 0),
    "no features": lambda target: pa.table({target: TARGETS[target]}),
    "constant target": lambda target: pa.table({"a": A, target: [TARGETS[target][0]] * N}),
    "infinite target": spoiled(-np.inf),
    "missing target": spoiled(None),
}

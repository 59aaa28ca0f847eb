"""Rows of columns in, a number for each column out that depends on every value and on its place.

Numbers of parts add up: each row adds its value, scrambled with the number of the row, modulo 2**64. So rows in memory
and in files have the same, and an exchange of two rows is seen. It finds mistakes; it does not stop a forger, who can
choose rows that add up to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import Column

MASK = 2**64 - 1
BLOCK = 1 << 16  # rows that stay in the cache
STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))  # of the generator splitmix64
ODD = 0x9E3779B97F4A7C15


def number_of(label: Any) -> int:
    """A number for a label, the same in every process; 1 and 1.0 are one label."""
    text = repr(float(label)) if isinstance(label, (bool, int, float)) else repr(label)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _scrambled(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, factor in STEPS:
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits


def mark_of_numbers(values: NDArray[Any], first_row: int) -> int:
    """The mark of numbers, whatever their type; missing ones are all the same, and so are both zeros."""
    total = 0
    for start in range(0, len(values), BLOCK):
        block = np.ascontiguousarray(values[start : start + BLOCK], dtype=np.float64) + 0.0
        block[np.isnan(block)] = np.nan
        total += _sum(block.view(np.uint64), first_row + start)
    return total & MASK


def mark_of_labels(codes: NDArray[Any], labels: Sequence[Any], first_row: int) -> int:
    """The mark of codes of labels; those below 0 are missing."""
    numbers = np.array([*map(number_of, labels), number_of(None)], dtype=np.uint64)
    total = 0
    for start in range(0, len(codes), BLOCK):
        total += _sum(numbers[np.maximum(codes[start : start + BLOCK].astype(np.intp), -1)], first_row + start)
    return total & MASK


def _sum(bits: NDArray[np.uint64], first_row: int) -> int:
    rows = np.arange(first_row + 1, first_row + 1 + len(bits), dtype=np.uint64) * np.uint64(ODD)
    return int(_scrambled(bits ^ _scrambled(rows)).sum(dtype=np.uint64))


def mark_of_column(column: Column, first_row: int) -> int:
    """The mark of a column."""
    if column.is_numeric:
        return mark_of_numbers(column.values, first_row)
    return mark_of_labels(column.values, column.levels, first_row)

"""Rows of columns in, a number for each column out that depends on every value and on its place.

Numbers of parts add up: each row adds its value, scrambled with the number of the row, modulo 2**64
(``cpp/bins/remember.hpp``). So rows in memory and in files have the same, and an exchange of two rows is seen. It finds
mistakes; it does not stop a forger, who can choose rows that add up to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._data.column import Column, readable

MASK = 2**64 - 1


def number_of(label: Any) -> int:
    """A number for a label, the same in every process; 1 and 1.0 are one label."""
    text = repr(float(label)) if isinstance(label, (bool, int, float)) else repr(label)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class ColumnMark(NamedTuple):
    """The mark of a column; of numbers the least and the greatest, infinite where nothing is known."""

    mark: int
    low: float = np.inf
    high: float = -np.inf


def mark_of_column(column: Column, first_row: int) -> ColumnMark:
    """The mark of a column."""
    if column.is_numeric:
        return ColumnMark(*_core.mark_numbers(readable(column.values), first_row))
    return ColumnMark(mark_of_labels(column.values, column.levels, first_row))


def mark_of_numbers(values: NDArray[Any], first_row: int) -> int:
    """The mark of numbers, whatever their type; missing ones are all the same, and so are both zeros."""
    return _core.mark_numbers(np.ascontiguousarray(values, dtype=np.float64), first_row)[0]


def mark_of_labels(codes: NDArray[Any], labels: Sequence[Any], first_row: int) -> int:
    """The mark of codes of labels; those below 0 are missing."""
    numbers = np.array([*map(number_of, labels), number_of(None)], dtype=np.uint64)
    return _core.mark_labels(codes.astype(np.int32, copy=False), numbers, first_row)

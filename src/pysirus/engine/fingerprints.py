"""A part as it was read in, its fingerprint out: numbers that change if its rows change between two passes.

A fingerprint is a sum over rows of scrambled values, modulo 2**64. So it does not depend on the order of the rows,
which a shuffle in Dask or Spark may change from one computation to the next, and it costs little beside reading them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import MASK, Column, DataError, number_of
from pysirus._families.read import check_weights
from pysirus._families.responses import Response

if TYPE_CHECKING:
    from pysirus.engine.parts import Part

Answer = TypeVar("Answer")
ODD = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
BLOCK = 1 << 15  # rows that stay in the cache


@dataclass(frozen=True)
class Fingerprint:
    """What a part held when it was read."""

    number: int
    part: str  # its name
    n_rows: int
    target: int
    weights: int
    columns: tuple[int, ...] = ()  # of a part whose columns were read


Fingerprints = Mapping[int, Fingerprint]  # by number of the part


def sum_of_numbers(values: NDArray[Any]) -> int:
    """The fingerprint of some numbers."""
    total = 0
    for start in range(0, len(values), BLOCK):
        block = np.ascontiguousarray(values[start : start + BLOCK])
        if block.dtype.kind == "f":
            bits = block.view(np.dtype(f"u{block.dtype.itemsize}")).astype(np.uint64)
        else:
            bits = block.astype(np.uint64)  # a negative integer modulo 2**64
        bits *= ODD
        bits ^= bits >> HALF  # so that a sign does not cancel that of another row
        total += int(bits.sum(dtype=np.uint64))
    return total & MASK


def sum_of_labels(codes: NDArray[Any], labels: Sequence[Any]) -> int:
    """The fingerprint of codes of labels, -1 for missing."""
    counts = np.bincount(codes.astype(np.intp) + 1, minlength=len(labels) + 1).tolist()
    total: int = sum(n * number_of(label) for n, label in zip(counts, (None, *labels)))
    return total & MASK


def _fingerprint_of_column(column: Column) -> int:
    return sum_of_numbers(column.values) if column.is_numeric else sum_of_labels(column.values, column.levels)


def fingerprints_of(part: Part, response: Response, columns: Sequence[Column] = ()) -> Fingerprints:
    """The fingerprint of a part from its rows that weigh something; none without rows."""
    n_rows = response.n_rows
    if not n_rows:
        return {}
    if response.labels is None:
        target = sum_of_numbers(response.row_values)
    else:
        target = sum_of_labels(response.row_values, list(response.labels))
    weights = 0 if part.weights is None else sum_of_numbers(check_weights(part.weights, n_rows))
    fingerprints = tuple(map(_fingerprint_of_column, columns))
    return {part.number: Fingerprint(part.number, part.name, n_rows, target, weights, fingerprints)}


def total_of(fingerprints: Fingerprints) -> int:
    """One number for some fingerprints; those of parts add up."""
    return sum(number_of((m.number, m.n_rows, m.target, m.weights, m.columns)) for m in fingerprints.values()) & MASK


# ---------------------------------------------------------------------------------------------------------- comparing


@dataclass(frozen=True)
class Fingerprinted(Generic[Answer]):
    """The answer of some parts, and their fingerprints."""

    answer: Answer
    fingerprints: Fingerprints

    def __add__(self, other: Fingerprinted[Answer]) -> Fingerprinted[Answer]:
        both = {**self.fingerprints, **other.fingerprints}
        return Fingerprinted(self.answer + other.answer, both)  # type: ignore[operator]


class ChangeDetector:
    """Checks that each pass over the parts finds the rows of the passes before."""

    def __init__(self, advice: str) -> None:
        self.advice = advice
        self.names: Sequence[str] = ()  # of the columns
        self.fingerprints: Fingerprints | None = None

    def __call__(self, fingerprinted: Fingerprinted[Answer]) -> Answer:
        """The answer of a pass, once its fingerprints are those of the pass before."""
        if self.fingerprints is not None:
            check_unchanged(self.fingerprints, fingerprinted.fingerprints, self.names, self.advice)
        found = fingerprinted.fingerprints
        if self.fingerprints is None or any(own.columns for own in found.values()):  # or columns would be forgotten
            self.fingerprints = found
        return fingerprinted.answer


def check_unchanged(before: Fingerprints, now: Fingerprints, names: Sequence[str], advice: str) -> None:
    """Reject parts that are not what they were in the pass before."""
    for number in sorted({*before, *now}):
        found = _difference(before.get(number), now.get(number), names)
        if found is not None:
            raise changed(now.get(number, before.get(number)).part, found, advice)  # type: ignore[union-attr]


def changed(part: str, found: str, advice: str) -> DataError:
    """The complaint about a part that changed."""
    return DataError(f"{part} changed while the model was learned: {found}. {advice}".rstrip())


def _difference(before: Fingerprint | None, now: Fingerprint | None, names: Sequence[str]) -> str | None:
    if before is None or now is None:
        return "it had no rows in an earlier pass" if before is None else "it has no rows any more"
    if before.n_rows != now.n_rows:
        return f"it had {before.n_rows:,} rows in an earlier pass, now it has {now.n_rows:,}"
    if before.target != now.target:
        return "the target has other values than in an earlier pass"
    if before.weights != now.weights:
        return "the sample weights are others than in an earlier pass"
    for name, old, new in zip(names, before.columns, now.columns):
        if old != new:
            return f"column '{name}' has other values than in an earlier pass"
    return None

"""Terms and rows of a table in, the whole value of each term in each row out; and the same in fewer bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._terms.term import Term
from pysirus._weights.moments import places_of_slopes


def values_in(terms: Sequence[Term], table: Table) -> NDArray[Any]:
    """The whole value of each term in each row of a table, [row, term]: yes or no where all are rules."""
    values = np.empty((table.n_rows, len(terms)), dtype=np.int32 if places_of_slopes(terms) else bool)
    for i, term in enumerate(terms):
        values[:, i] = term.whole_values(table)
    return values


@dataclass(frozen=True)
class PackedValues:
    """Whole values of terms: of rules a bit each, of slopes a number."""

    n_terms: int
    slopes: tuple[int, ...]  # which of the terms are slopes
    bits: NDArray[np.uint8]  # [row, eight terms]
    numbers: NDArray[np.int32]  # [row, slope]

    @classmethod
    def of(cls, terms: Sequence[Term], values: NDArray[Any]) -> PackedValues:
        """Those of some terms, [row, term]."""
        slopes = places_of_slopes(terms)
        return cls(len(terms), slopes, np.packbits(values != 0, axis=1), values[:, list(slopes)].astype(np.int32))

    def __len__(self) -> int:
        return len(self.bits)

    def rows(self, rows: slice = slice(None)) -> NDArray[Any]:
        """The values in some rows, [row, term]."""
        holds = np.unpackbits(self.bits[rows], axis=1, count=self.n_terms).astype(bool)
        if not self.slopes:
            return holds
        values = holds.astype(np.int32)
        values[:, list(self.slopes)] = self.numbers[rows]
        return values

    @classmethod
    def joined(cls, pieces: Sequence[PackedValues]) -> PackedValues:
        """Several pieces of rows, one after the other."""
        first = pieces[0]
        bits, numbers = (np.concatenate([getattr(own, name) for own in pieces]) for name in ("bits", "numbers"))
        return cls(first.n_terms, first.slopes, bits, numbers)

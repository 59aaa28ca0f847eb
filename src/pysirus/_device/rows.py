"""Training rows in, some of them out as arrays for the GPU: from memory, or from wherever else they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._families.response.response import Response


class RowArrays(NamedTuple):
    """What the forest reads of some rows, the last axis: bins, and values or codes, with weights or without."""

    bins: NDArray[np.uint8]  # [feature, row]
    values: NDArray[np.int32] | None  # [column, row]
    codes: NDArray[np.uint8] | None
    weights: NDArray[np.int32] | None

    def between(self, first: int, end: int) -> RowArrays:
        """Some of these rows."""
        return RowArrays._make(None if array is None else array[..., first:end] for array in self)

    def padded(self, n_rows: int) -> RowArrays:
        """The same rows, and zeros after them."""
        return RowArrays._make(None if array is None else _pad(array, n_rows) for array in self)


@dataclass(frozen=True)
class RowSource:
    """Rows that are numbered from 0 on."""

    n_rows: int
    weighted: bool
    read: Callable[[int, int], RowArrays]  # from a row up to another


def arrays_of(bins: NDArray[np.uint8], response: Response) -> RowArrays:
    """What the forest reads of rows in bins."""
    values, codes = response.forest_arrays()
    return RowArrays(bins, None if values is None else np.atleast_2d(values), codes, response.forest_weights())


def in_memory(binned: Binned, response: Response) -> RowSource:
    """Rows in memory; bins that no cut of the table reads are left out."""
    arrays = arrays_of(binned.bins[: len(binned.cuts)], response)
    return RowSource(response.n_rows, response.weights is not None, arrays.between)


def _pad(array: NDArray[Any], n_rows: int) -> NDArray[Any]:
    if array.shape[-1] == n_rows:
        return array
    padded = np.zeros((*array.shape[:-1], n_rows), dtype=array.dtype)
    padded[..., : array.shape[-1]] = array
    return padded

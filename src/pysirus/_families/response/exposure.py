"""Counts and their exposure in, rates and weights out: counts per unit of exposure, weighted by it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import DataError

Floats = NDArray[np.float64]


def rate_name(target: str, exposure: str) -> str:
    """What counts per unit of exposure are called."""
    return f"{target} per {exposure}"


def rates_of(table: pa.Table, target: str, exposure: str, weights: str | None) -> tuple[Floats, Floats]:
    """Rates and weights of the rows of a table; rows of weight 0 need no exposure, and a missing count stays so."""
    mass = np.ones(table.num_rows) if weights is None else _numbers(table, weights, "the weights, must hold numbers")
    counts = _numbers(table, target, "the target, must hold counts, numbers of at least 0")
    weighs = ~(mass == 0)
    units = np.ones(table.num_rows)
    units[weighs] = exposures_of(table.filter(pa.array(weighs)), exposure)
    return counts / units, mass * units


def exposures_of(table: pa.Table, name: str) -> Floats:
    """The exposure of each row, once all can be used."""
    wanted = "the exposure, must hold numbers above 0 in every row"
    found = _numbers(table, name, wanted)
    if not (np.isfinite(found) & (found > 0)).all():
        raise DataError(f"Column '{name}', {wanted}. Drop rows without exposure: nothing could be counted there.")
    return found


def _numbers(table: pa.Table, name: str, wanted: str) -> Floats:
    """A column of numbers; NaN where they are missing."""
    kind = table.schema.field(name).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(f"Column '{name}', {wanted}; it holds {kind}.")
    return np.asarray(table[name].cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)

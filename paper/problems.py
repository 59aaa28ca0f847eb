"""A dataset's name in, its table and response out; parts of both for a fold, as each library wants them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pysirus import datasets
from pysirus._bins.cuts import bin_table
from pysirus._data.table import Feature, read_table, recode_table
from pysirus._families.responses import NumberResponse

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """A table and what it should explain."""

    name: str
    X: pd.DataFrame
    y: Array
    target: str = "y"

    def sparse(self, seed: int, n_copies: int = 3) -> Problem:
        """The paper's sparse setting: permuted copies of every column beside it."""
        rng = np.random.default_rng(seed)
        copies = {
            f"{name}_permuted{k + 1}": self.X[name].to_numpy()[rng.permutation(len(self.y))]
            for k in range(n_copies)
            for name in self.X.columns
        }
        return Problem(self.name, pd.concat([self.X, pd.DataFrame(copies)], axis=1), self.y)


def load(name: str) -> Problem:
    """One of the eight; missing values (six, in Mpg) become the median, as in the runs of the R package."""
    get = getattr(datasets, f"load_{name}", None) or getattr(datasets, f"fetch_{name}")
    X, y = get(return_X_y=True, as_frame=True)
    X = pd.DataFrame(X)
    numbers = X.select_dtypes("number").columns
    X[numbers] = X[numbers].fillna(X[numbers].median())
    return Problem(name, X, np.asarray(y, dtype=np.float64), str(getattr(y, "name", "y")))


def unavailable(name: str) -> str | None:
    """Why a dataset cannot be had; None when it can."""
    try:
        load(name)
    except (OSError, datasets.DownloadError) as error:
        return str(error).splitlines()[0]
    return None


def as_numbers(train: pd.DataFrame, test: pd.DataFrame, y: Array) -> tuple[Array, Array]:
    """Both tables as arrays, for scikit-learn: levels become their rank in mean response on the training rows."""
    train, test = train.copy(), test.copy()
    for name in train.columns:
        if not pd.api.types.is_numeric_dtype(train[name]):
            order = pd.Series(y).groupby(train[name].astype(str).to_numpy()).mean().sort_values().index
            rank = {level: i for i, level in enumerate(order)}
            train[name], test[name] = (part[name].astype(str).map(rank).fillna(0) for part in (train, test))
    return train.to_numpy(np.float64), test.to_numpy(np.float64)


def as_bins(train: pd.DataFrame, test: pd.DataFrame, y: Array) -> tuple[Any, Any]:
    """Both tables as numbers of bins between the ten-quantile cuts of the training rows."""
    table = read_table(train)
    binned = bin_table(table, NumberResponse(y), n_bins=10, discrete_limit=10)
    features = [Feature(c.column.name, c.column.kind, c.levels) for c in binned.cuts]
    held_out = recode_table(read_table(test, part=True), features)
    bins = np.empty((len(binned.cuts), held_out.n_rows), dtype=np.uint8)
    for cuts, column, out in zip(binned.cuts, held_out.columns, bins):
        cuts.encode(column, out)
    return binned.bins.T, bins.T

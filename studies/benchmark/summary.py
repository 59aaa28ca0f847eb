"""Cells in, what the page says out: errors, sizes, stability, ranks, wins and losses.

Means are over the folds of repetitions that are there whole. A difference of two methods on a table is over the folds
that both have, its standard error corrected for the training rows that folds share (Nadeau and Bengio 2003). Over
tables the tables are the sample: a mean difference with Student's interval, and Wilcoxon's signed-rank test, as the
differences have long tails. More than two methods are compared only on tables that all of them have (`comparable`);
ranks have Nemenyi's critical difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range, wilcoxon
from scipy.stats import t as student

from studies.benchmark.cells import Store
from studies.benchmark.measure import N_FOLDS, N_HALVES, N_REPETITIONS
from studies.benchmark.methods import METHODS
from studies.benchmark.tables import TABLES

LEVEL = 0.05
NEAR_SIZE, NEAR_ERROR = 1.5, 1.05  # factors within which lists have the same size, or models the same error
NEARLY_ALL = 0.8  # of the tables: a method with fewer is not compared with others together
Key = frozenset[Any]
Document = dict[str, Any]


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def keys_of(document: Document) -> frozenset[Key]:
    """The terms of a cell, comparable: sets of conditions."""
    return frozenset(frozenset(_frozen(own) for own in key) for key in document["terms"]["keys"])


def _near_cut(a: Any, b: Any) -> bool:
    return a == b or (isinstance(a, int) and isinstance(b, int) and abs(a - b) <= 1)


def is_near(one: Key, other: Key) -> bool:
    """Whether two terms ask the same of the same columns, with cuts at most one quantile away."""
    if one == other:
        return True
    first, second = ({c[0]: c for c in key if len(c) >= 3} for key in (one, other))
    if not first or len(first) < len(one) or first.keys() != second.keys() or len(second) < len(other):
        return False
    return all(
        (a[1] is None) == (b[1] is None) and _near_cut(a[1], b[1]) and _near_cut(a[2], b[2]) and a[3:] == b[3:]
        for a, b in ((first[name], second[name]) for name in first)
    )


def dice(one: frozenset[Any], other: frozenset[Any]) -> float:
    """The share of members that two lists have in common; 1 where both are empty."""
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 1.0


def near_dice(one: frozenset[Key], other: frozenset[Key]) -> float:
    """The same, counting neighbours."""
    total = len(one) + len(other)
    found = sum(any(is_near(a, b) for b in other) for a in one) + sum(any(is_near(a, b) for a in one) for b in other)
    return found / total if total else 1.0


def columns_of(keys: frozenset[Key]) -> frozenset[str]:
    """The columns that some terms read."""
    return frozenset(condition[0] for key in keys for condition in key)


def corrected(one: frozenset[Any], other: frozenset[Any], n_members: int) -> float | None:
    """The index of Nogueira, Sechidis and Brown (2018) of two lists; None where there is nothing to choose."""
    size = (len(one) + len(other)) / 2
    by_chance = size * (1 - size / n_members)
    return 1 - (size - len(one & other)) / by_chance if by_chance > 0 else None


def nadeau_bengio(gaps: Sequence[float]) -> tuple[float, float]:
    """A mean difference over folds, and half of its 95% interval."""
    error = np.sqrt(np.var(gaps, ddof=1) * (1 / len(gaps) + 1 / (N_FOLDS - 1)))
    return float(np.mean(gaps)), float(student.ppf(1 - LEVEL / 2, len(gaps) - 1) * error)


@dataclass(frozen=True)
class Gap:
    """A quantity of one method less that of another, over the tables where both are known."""

    gaps: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over tables."""
        return float(np.mean(self.gaps))

    @property
    def half(self) -> float:
        """Half of the mean's 95% interval, the tables being the sample."""
        n = len(self.gaps)
        return float(student.ppf(1 - LEVEL / 2, n - 1) * np.std(self.gaps, ddof=1) / np.sqrt(n)) if n > 1 else np.inf

    @property
    def p(self) -> float:
        """Of Wilcoxon's signed-rank test; 1 where nothing differs."""
        return float(wilcoxon(self.gaps).pvalue) if any(self.gaps) else 1.0

    def __str__(self) -> str:
        return self.said(3)

    def said(self, digits: int) -> str:
        """The mean and its interval."""
        low, high = self.mean - self.half, self.mean + self.half
        return f"{self.mean:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})".replace("-", "−")


def holm(ps: Mapping[str, float]) -> dict[str, float]:
    """P-values, corrected for how many there are (Holm 1979)."""
    found, largest = dict[str, float](), 0.0
    for k, name in enumerate(sorted(ps, key=lambda own: ps[own])):
        largest = max(largest, min(1.0, (len(ps) - k) * ps[name]))
        found[name] = largest
    return found


@dataclass(frozen=True)
class Run:
    """A method on a table: its cells, by sample."""

    table: str
    method: str
    cells: dict[str, Document]
    n_columns: int | None = None  # that a list of this table can read, where that is known

    @cached_property
    def good(self) -> dict[str, Document]:
        """Those that did not fail."""
        return {name: own for name, own in self.cells.items() if "failed" not in own}

    @cached_property
    def folds(self) -> list[str]:
        """The folds of whole repetitions."""
        whole = [[f"fold-{r}-{k}" for k in range(N_FOLDS)] for r in range(N_REPETITIONS)]
        return [name for own in whole if all(name in self.good for name in own) for name in own]

    @property
    def is_there(self) -> bool:
        """Whether one repetition is there whole."""
        return bool(self.folds)

    def mean(self, quantity: str) -> float | None:
        """Of a figure over folds; None where it is not known."""
        found = [self.good[name]["figures"].get(quantity) for name in self.folds]
        return float(np.mean(found)) if found and None not in found else None

    @property
    def error(self) -> float:
        """On the scale of its kind."""
        return self.mean("error") or 0.0

    @cached_property
    def size(self) -> float | None:
        """Lines that are read."""
        found = [self.good[name].get("terms") for name in self.folds]
        return float(np.mean([own["size"] for own in found])) if found and None not in found else None

    @cached_property
    def words(self) -> float | None:
        """Words that are read."""
        found = [self.good[name].get("terms") for name in self.folds]
        return float(np.mean([own["words"] for own in found])) if found and None not in found else None

    def _pairs(self, kind: str) -> list[tuple[Document, Document]]:
        if kind == "halves":
            names = [(f"half-{r}-0", f"half-{r}-1") for r in range(N_HALVES)]
        else:
            names = [
                (f"fold-{r}-{a}", f"fold-{r}-{b}")
                for r in range(N_REPETITIONS)
                if f"fold-{r}-0" in self.folds
                for a, b in combinations(range(N_FOLDS), 2)
            ]
        return [(self.good[a], self.good[b]) for a, b in names if a in self.good and b in self.good]

    @cached_property
    def _stabilities(self) -> dict[str, dict[str, float]]:
        return {kind: self._stability(kind) for kind in ("folds", "halves")}

    def stability(self, kind: str, measure: str) -> float | None:
        """Between folds or halves, by one of the measures; None where terms are not compared."""
        return self._stabilities[kind].get(measure) if METHODS[self.method].has_terms else None

    def _stability(self, kind: str) -> dict[str, float]:
        found: dict[str, list[float | None]] = {}
        for one, other in self._pairs(kind):
            a, b = keys_of(one), keys_of(other)
            by_column = columns_of(a), columns_of(b)
            values: dict[str, float | None] = {
                "dice": dice(a, b),
                "nearby": near_dice(a, b),
                "columns": dice(*by_column),
            }
            universes = [own["terms"]["universe"] for own in (one, other)]
            if None not in universes:
                values["corrected"] = corrected(a, b, float(np.mean([n_terms for n_terms, _ in universes])))
            if self.n_columns is not None:
                values["columns_corrected"] = corrected(*by_column, self.n_columns)
            for name, value in values.items():
                found.setdefault(name, []).append(value)
        known = {name: [v for v in values if v is not None] for name, values in found.items()}
        return {name: float(np.mean(values)) for name, values in known.items() if values}

    @property
    def kept(self) -> int | None:
        """Terms that all five lists of the first repetition have."""
        if not METHODS[self.method].has_terms or "fold-0-0" not in self.folds:
            return None
        return len(frozenset.intersection(*(keys_of(self.good[f"fold-0-{k}"]) for k in range(N_FOLDS))))

    def cost(self, quantity: str) -> float:
        """Mean of a cost over all cells."""
        found = [own["cost"][quantity] for own in self.good.values()]
        return float(np.mean(found)) if found else float("nan")


Quantity = Callable[[Run], float | None]


class Study:
    """All cells, by table and method."""

    def __init__(self, store: Store) -> None:
        read = {
            (table, method): store.read(f"{table}-{method}.jsonl")
            for table, own in TABLES.items()
            for method in METHODS
            if own.kind in METHODS[method].kinds
        }
        columns = dict[str, int]()  # a list of this library knows how many it can read
        for (table, _), cells in read.items():
            known = [own["terms"]["universe"] for own in cells.values() if own.get("terms", {}).get("universe")]
            columns[table] = max([columns.get(table, 0), *(n_columns for _, n_columns in known)])
        self.runs = {key: Run(*key, cells, columns[key[0]] or None) for key, cells in read.items()}

    def there(self, table: str, method: str) -> Run | None:
        """A run with a whole repetition."""
        found = self.runs.get((table, method))
        return found if found is not None and found.is_there else None

    def tables(self, kind: str | None = None) -> list[str]:
        """Of a kind, or all."""
        return [name for name, own in TABLES.items() if kind is None or own.kind == kind]

    def compare(self, table: str, one: str, other: str) -> tuple[float, float] | None:
        """Error of one less that of the other on the folds that both have, and half of the interval."""
        a, b = self.there(table, one), self.there(table, other)
        if a is None or b is None:
            return None
        common = [name for name in a.folds if name in b.folds]
        errors = [[own.good[name]["figures"]["error"] for name in common] for own in (a, b)]
        return nadeau_bengio(np.subtract(*errors).tolist()) if len(common) > 1 else None

    def gap(self, quantity: Quantity, one: str, other: str) -> Gap | None:
        """A quantity of one method less that of the other, where both are known."""
        pairs = [(self.there(table, one), self.there(table, other)) for table in TABLES]
        both = [(quantity(a), quantity(b)) for a, b in pairs if a is not None and b is not None]
        known = [a - b for a, b in both if a is not None and b is not None]
        return Gap(tuple(known)) if known else None

    def comparable(
        self, methods: Sequence[str], tables: Sequence[str], quantity: Quantity | None = None
    ) -> tuple[list[str], list[str]]:
        """The methods that have a quantity on nearly all of some tables, and the tables where all of these have it."""

        def has(table: str, method: str) -> bool:
            run = self.there(table, method)
            return run is not None and (quantity is None or quantity(run) is not None)

        kept = [m for m in methods if sum(has(t, m) for t in tables) >= NEARLY_ALL * len(tables)]
        return kept, [t for t in tables if all(has(t, m) for m in kept)] if kept else []

    def ranks(self, methods: Sequence[str], tables: Sequence[str]) -> tuple[dict[str, float], int, float]:
        """Mean ranks over tables that all methods have, how many those are, and the critical difference."""
        runs = [[self.there(table, method) for method in methods] for table in tables]
        errors = [[own.error for own in row if own is not None] for row in runs if None not in row]
        if not errors:
            return {}, 0, float("nan")
        k, n = len(methods), len(errors)
        ranks = np.mean([rankdata(row) for row in errors], axis=0)
        spread = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
        return dict(zip(methods, map(float, ranks))), n, float(spread * np.sqrt(k * (k + 1) / (6 * n)))

    def seconds(self) -> float:
        """Processor time of all cells that are there."""
        costs = [own["cost"] for run in self.runs.values() for own in run.good.values()]
        return float(sum(own["fit_seconds"] + own["predict_seconds"] for own in costs))

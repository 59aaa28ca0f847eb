"""What studies share: results on disk, figures with their standard errors, a Markdown table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._runtime.output import write_text

# The version of what the same data and seed give, and what each one changed: pages with older results say so.
RESULTS = 3
FINGERPRINT = "e058c594002032f2"  # of a few tuned lists: another one means another version (``python -m trust.stale``)
CHANGES = {
    2: "For these results, SIRUS was tuned on shuffled folds, as made by scikit-learn's `KFold`. Folds are now "
    "[stratified](method.md#tuning), with equal shares of every class and of events; we have not measured how much "
    "this changes the results. Corrections of stages could also rest on fewer than five rows, which is no longer "
    "possible.",
    3: "On tables with more than 5,000 rows, trees of tuned lists and of stages drew more rows than [they do "
    "now](rows.md).",
}
# Tables of more rows than these had further changes, which leave the results of others as they are.
LARGE_ROWS, LARGE = 10_000, 4
LARGE_CHANGES = {
    4: "On tables with more than 10,000 rows, trees of [stages](stages.md) drew 5,000 rows instead of 3,000, and "
    "stages had 2,000 trees in tuning instead of 1,000. Beyond 20,000 rows, penalties of likelihoods were chosen on "
    "all rows."
}

Result = dict[str, Any]  # of a repetition: a list with a figure a fold, or one figure for all folds together


@dataclass(frozen=True)
class Job:
    """One method on one table in one repetition of the folds."""

    table: str
    method: str
    repetition: int
    cost: float = field(default=0.0, compare=False)  # seconds, roughly: for the time left, not for results

    @property
    def name(self) -> str:
        """As it is shown."""
        return f"{self.table}-{self.method}-{self.repetition}"


class Store:
    """Results on disk. Those of another version, other settings or another table are not taken for the same."""

    def __init__(self, folder: Path, about: Callable[[Job], dict[str, Any]]) -> None:
        self.folder = folder
        self._depends = about
        folder.mkdir(parents=True, exist_ok=True)

    def _about(self, job: Job) -> dict[str, Any]:
        """What a job's result depends on: the results version where this code had a part in it."""
        about = self._depends(job)
        return {"results": RESULTS, **about} if "pysirus" in about else about

    def path(self, table: str, method: str) -> Path:
        """The file of a table and method."""
        return self.folder / f"{table}-{method}.json"

    def read(self, table: str, method: str) -> dict[str, Any] | None:
        """What the file says, whatever the version; None where there is none."""
        try:
            document: dict[str, Any] = json.loads(self.path(table, method).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return document

    def _current(self, job: Job) -> dict[str, Any] | None:
        document = self.read(job.table, job.method)
        return document if document is not None and document["about"] == self._about(job) else None

    def get(self, job: Job) -> Result | None:
        """A result that is there already."""
        document = self._current(job)
        found = None if document is None else document["repetitions"].get(str(job.repetition))
        return None if found is None else found["result"]

    def put(self, job: Job, result: Result, seconds: float) -> None:
        """Keep a result beside those of other repetitions."""
        document = self._current(job) or {"about": self._about(job), "repetitions": {}}
        kept = document["repetitions"] | {str(job.repetition): {"seconds": round(seconds, 1), "result": result}}
        lines = ",\n".join(f'  "{r}": {json.dumps(kept[r], separators=(",", ":"))}' for r in sorted(kept))
        about = json.dumps(document["about"], ensure_ascii=False)
        write_text(self.path(job.table, job.method), f'{{"about": {about},\n "repetitions": {{\n{lines}\n }}}}\n')

    def forget(self, tables: Sequence[str], methods: Sequence[str]) -> None:
        """Results go, as after a change to the code."""
        for table in tables:
            for method in methods:
                self.path(table, method).unlink(missing_ok=True)


@dataclass(frozen=True)
class Figures:
    """What a method reached on a table, over all repetitions that are there."""

    about: Mapping[str, Any]
    by_repetition: Mapping[str, Mapping[str, Any]]  # repetition -> quantity -> a figure a fold, or one for all folds

    def values(self, quantity: str) -> NDArray[np.float64]:
        """Every figure of a quantity, repetition after repetition; empty where the method has none."""
        found = [np.atleast_1d(r[quantity]) for _, r in sorted(self.by_repetition.items()) if quantity in r]
        return np.concatenate(found).astype(float) if found else np.empty(0)

    def mean(self, quantity: str) -> float | None:
        """Over folds, or over repetitions where a figure takes all folds together."""
        values = self.values(quantity)
        return float(values.mean()) if len(values) else None

    def error(self, quantity: str) -> float | None:
        """Standard error of the mean over folds, as if folds were independent; None for one figure alone."""
        return standard_error(self.values(quantity))

    @property
    def n_repetitions(self) -> int:
        """How often all folds were run."""
        return len(self.by_repetition)


Study = Mapping[tuple[str, str], Figures]  # (table, method)


def on_same_folds(*figures: Figures) -> list[Figures]:
    """The figures of some methods in the repetitions that all of them have."""
    common = sorted(set.intersection(*(set(own.by_repetition) for own in figures)))
    return [replace(own, by_repetition={r: own.by_repetition[r] for r in common}) for own in figures]


def standard_error(values: NDArray[np.float64]) -> float | None:
    """Of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def read(store: Store, tables: Sequence[str], methods: Sequence[str]) -> dict[tuple[str, str], Figures]:
    """All results that are there, whatever the versions: the page says which they are."""
    found = {}
    for table in tables:
        for method in methods:
            document = store.read(table, method)
            if document is not None:
                results = {r: kept["result"] for r, kept in document["repetitions"].items()}
                found[table, method] = Figures(document["about"], results)
    return found


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, figures to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def put(path: Path, name: str, text: str) -> None:
    """Write a part of a page between its marks, ``<!-- name -->`` and ``<!-- end -->``."""
    head, mark, rest = path.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, rest = rest.partition("<!-- end -->")
    if not mark or not end:
        raise SystemExit(f"{path.name} has no place for {name}")
    write_text(path, f"{head}{mark}{text}\n{end}{rest}")


def version_of(study: Study) -> int:
    """Of the oldest results that pysirus had a part in."""
    return min((f.about.get("results", 1) for f in study.values() if "pysirus" in f.about), default=RESULTS)


def say(version: int, newest: int = RESULTS) -> str:
    """The line of a page that says of which version its results are; ``python -m trust.stale`` reads it.

    ``newest`` is ``LARGE`` where tables are large.
    """
    if version == newest:
        return f"*Results version {version}.*"
    every = CHANGES if newest == RESULTS else CHANGES | LARGE_CHANGES
    changes = " ".join(text for number, text in every.items() if number > version)
    return f"*Results version {version}; the code is at {newest}.* {changes}"


def versions(study: Study, packages: Sequence[str]) -> str:
    """The versions that the results were computed with."""
    found = {p: sorted({f.about[p] for f in study.values() if p in f.about}) for p in packages}
    return ", ".join(f"{package} {' and '.join(numbers)}" for package, numbers in found.items() if numbers)

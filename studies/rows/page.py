"""Results in, docs/rows.md out. Every number comes from a result or from a setting of the study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pysirus import stability
from pysirus._learn.fit import FEW_STAGE_TREES, STAGE_SAMPLES
from pysirus._learn.grow import MOST_DRAWN, MOST_IN_STAGES
from pysirus._weights.likelihood import SAMPLED
from studies.results import LARGE, Figures, Store, markdown, read, say, version_of, versions
from studies.rows.cells import AFTER, LIMITS, METHODS, store_at
from studies.rows.measure import N_FOLDS, N_HALVES, N_TREES, NOW, SIZES, STAGE_TREES
from studies.rows.problems import MOST_ROWS, TABLES

FREE = "share"  # without a limit
RARE = "delays"
ELSEWHERE = "5000"  # computed on another machine than the others, except on the table of the rare class: no time
MOST_LOST = 0.01  # of the error, as a share of it
FOLDS = range(N_FOLDS)
PAIRS = [(i, i + 1) for i in range(N_FOLDS, N_FOLDS + 2 * N_HALVES, 2)]
KINDS = {"": "with stages", "plain_": "plain"}


@dataclass(frozen=True)
class Cell:
    """A limit on a table: figures of the samples that every limit has there."""

    figures: Figures
    samples: frozenset[int]
    kind: str  # what the names of its quantities begin with

    def _mean(self, quantity: str, samples: Iterable[int]) -> float:
        return float(np.mean([self.figures.by_repetition[str(i)][quantity] for i in samples]))

    def error(self, place: int, of_halves: bool = False) -> float:
        """Of rows held out, for one of the sizes."""
        own = [i for i in self.samples if (i >= N_FOLDS) == of_halves]
        every = [self.figures.by_repetition[str(i)][f"{self.kind}error"][place] for i in own]
        return float(np.mean(every))

    def _shared(self, size: int, pairs: Iterable[tuple[int, int]]) -> float:
        def rules(i: int) -> list[str]:
            return self.figures.by_repetition[str(i)][f"{self.kind}rules_{size}"].split()

        known = [pair for pair in pairs if self.samples.issuperset(pair)]
        return float(np.mean([stability(rules(a), rules(b)) for a, b in known]))

    def between_folds(self, size: int) -> float:
        """The mean Dice-Sorensen index over pairs of folds."""
        return self._shared(size, combinations(FOLDS, 2))

    def between_halves(self, size: int) -> float:
        """The same over pairs of disjoint halves."""
        return self._shared(size, PAIRS)

    @property
    def seconds(self) -> float:
        """Of one thread, for the list of a fold."""
        return self._mean(f"{self.kind}seconds", [i for i in self.samples if i < N_FOLDS])


Cells = dict[tuple[str, str], Cell]  # (table, limit)
Pair = tuple[Cell, Cell]


def cells_of(store: Store, kind: str) -> Cells:
    """What there is to show, of tables that have been tried without a limit too."""
    study = read(store, list(TABLES), list(LIMITS)) | read(store_at(AFTER), list(TABLES), [NOW])
    return {
        (table, limit): Cell(figures, frozenset(map(int, figures.by_repetition)), kind)
        for (table, limit), figures in study.items()
        if (table, FREE) in study
    }


def pairs_of(cells: Cells, limit: str) -> list[Pair]:
    """For each table what a limit gives, and what there is without one on the same samples."""
    found = []
    for (table, name), cell in cells.items():
        if name == limit:
            shared = cell.samples & cells[table, FREE].samples
            if len(shared.intersection(FOLDS)) > 1 and any(shared.issuperset(pair) for pair in PAIRS):
                found.append((replace(cell, samples=shared), replace(cells[table, FREE], samples=shared)))
    return found


def ratios(pairs: Sequence[Pair], place: int, of_halves: bool = False) -> NDArray[np.float64]:
    """Of each table the error with a limit as a multiple of that without."""
    return np.array([cell.error(place, of_halves) / free.error(place, of_halves) for cell, free in pairs])


def mean_ratio(pairs: Sequence[Pair], place: int, of_halves: bool = False) -> float:
    """Their geometric mean."""
    return float(np.exp(np.log(ratios(pairs, place, of_halves)).mean()))


def gain(pairs: Sequence[Pair], size: int, of_halves: bool) -> float:
    """How much more stable lists are with a limit, over tables."""
    name = "between_halves" if of_halves else "between_folds"
    return float(np.mean([getattr(cell, name)(size) - getattr(free, name)(size) for cell, free in pairs]))


def costs_nothing(pairs: Sequence[Pair]) -> bool:
    """Whether a limit costs at most a hundredth of the error, and no stability, at every size, in folds and halves."""
    return bool(pairs) and all(
        mean_ratio(pairs, place, of_halves) <= 1 + MOST_LOST and gain(pairs, size, of_halves) >= 0
        for place, size in enumerate(SIZES)
        for of_halves in (False, True)
    )


def _over_tables(cells: Cells) -> str:
    head = ["a tree draws at most", "tables", "error", "worst table", "between folds", "between halves", "time"]
    rows = []
    for name, limit in METHODS.items():
        pairs = pairs_of(cells, name)
        if name == FREE or not pairs:
            continue
        time = float(np.exp(np.mean([np.log(cell.seconds / free.seconds) for cell, free in pairs])))
        rows.append(
            [
                limit.title,
                str(len(pairs)),
                _three(f"{mean_ratio(pairs, i):.3f}" for i in range(len(SIZES))),
                _three(f"{ratios(pairs, i).max():.3f}" for i in range(len(SIZES))),
                _three(f"{gain(pairs, size, False):+.2f}" for size in SIZES),
                _three(f"{gain(pairs, size, True):+.2f}" for size in SIZES),
                "" if name in (ELSEWHERE, NOW) else f"{time:.2f}",
            ]
        )
    free = [cell for (_, name), cell in cells.items() if name == FREE]
    folds = _three(f"{np.mean([cell.between_folds(size) for cell in free]):.2f}" for size in SIZES)
    halves = _three(f"{np.mean([cell.between_halves(size) for cell in free]):.2f}" for size in SIZES)
    return markdown(head, [*rows, ["no limit", str(len(free)), "1", "1", folds, halves, "1"]])


def _three(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _table(name: str, every: dict[str, Cells]) -> str:
    source, about = TABLES[name], every[""][name, FREE].figures.about
    text = f"### {source.title}\n\n{about['rows']:,} rows, {about['columns']} columns. Source: {source.origin}."
    head = ["a tree draws at most", "error", "between folds", "between halves", "seconds"]
    rows = []
    for kind, title in KINDS.items():
        for limit in METHODS:
            cell = every[kind].get((name, limit))
            if cell is not None:
                errors = _three(f"{cell.error(i):.4f}" for i in range(len(SIZES)))
                folds = _three(f"{cell.between_folds(size):.2f}" for size in SIZES)
                halves = _three(f"{cell.between_halves(size):.2f}" for size in SIZES)
                rows.append([f"{METHODS[limit].title}, {title}", errors, folds, halves, f"{cell.seconds:.1f}"])
    return f"{text}\n\n{markdown(head, rows)}"


def _samples(cells: Cells) -> str:
    """Which samples there are, where there are fewer than all."""
    short: dict[str, set[str]] = {}
    for (table, limit), cell in cells.items():
        if len(cell.samples) < N_FOLDS + 2 * N_HALVES:
            n_folds = len(cell.samples.intersection(FOLDS))
            n_pairs = sum(cell.samples.issuperset(pair) for pair in PAIRS)
            if limit == NOW:
                continue
            where = TABLES[table].title if table == RARE else f"a limit of {LIMITS[limit].title} rows"
            short.setdefault(f"{n_folds} folds and {n_pairs} of the pairs", set()).add(where)
    texts = [f"{count} for {' and for '.join(sorted(own, reverse=True))}" for count, own in short.items()]
    return f"There are fewer samples, {'; '.join(texts)}; each is compared on its own." if texts else ""


def _passing(every: dict[str, Cells], without: str = "") -> str:
    """The limits that cost nothing, with stages and without."""
    names = []
    for name in LIMITS:
        own = [pairs_of({k: c for k, c in cells.items() if k[0] != without}, name) for cells in every.values()]
        if name != FREE and all(map(costs_nothing, own)):
            names.append(LIMITS[name].title)
    return ", ".join(names) or "none"


def _extremes(every: dict[str, Cells], limit: str) -> str:
    """The most that a limit costs, of all that the rule looks at."""
    errors, gains = [], []
    for cells in every.values():
        pairs = pairs_of(cells, limit)
        if not pairs:
            return "nothing yet"
        for place, size in enumerate(SIZES):
            errors += [mean_ratio(pairs, place, of_halves) for of_halves in (False, True)]
            gains += [gain(pairs, size, of_halves) for of_halves in (False, True)]
    return f"error from {min(errors):.3f} to {max(errors):.3f}, stability from {min(gains):+.2f} to {max(gains):+.2f}"


def _fails(every: dict[str, Cells], limit: str) -> list[str]:
    """Of the quantities that the rule looks at those that a limit costs, with standard errors over tables."""
    found = []
    for kind, cells in every.items():
        pairs = pairs_of(cells, limit)
        for place, size in enumerate(SIZES if pairs else ()):
            for of_halves, where in ((False, "folds"), (True, "halves")):
                what = f"of lists of {size} rules {KINDS[kind]}, {where}"
                if mean_ratio(pairs, place, of_halves) > 1 + MOST_LOST:
                    found.append(f"the error {what}: {mean_ratio(pairs, place, of_halves):.3f} times")
                if gain(pairs, size, of_halves) < 0:
                    name = "between_halves" if of_halves else "between_folds"
                    own = np.array([getattr(a, name)(size) - getattr(b, name)(size) for a, b in pairs])
                    error = own.std(ddof=1) / np.sqrt(len(own))
                    found.append(f"the stability {what}: {own.mean():+.3f}, with a standard error of {error:.3f}")
    return found


def _after(every: dict[str, Cells]) -> str:
    """What tuned models do, and whether the rule lets it pass."""
    pairs = pairs_of(every[""], NOW)
    if not pairs:
        return ""
    fails = _fails(every, NOW)
    passes = f"By the same rule it fails by {'; '.join(fails)}" if fails else "It passes by the same rule"
    return (
        f"*As tuned models do* is all of it together: {MOST_DRAWN:,} rows in the first forest, {MOST_IN_STAGES:,} in "
        f"stages, {FEW_STAGE_TREES:,} trees a stage where trees are held to a number of rows, and penalties of "
        f"likelihoods chosen on {SAMPLED:,} rows. {passes}; over sizes, folds and halves {_extremes(every, NOW)} "
        f"({len(pairs)} tables, results version {LARGE}). The limit that it replaces, 5,000 rows and {STAGE_TREES:,} "
        f"trees in stages, fails by {'; '.join(_fails(every, '5000')) or 'nothing'}, on fewer samples."
    )


def _head(store: Store, every: dict[str, Cells]) -> str:
    study = read(store, list(TABLES), list(LIMITS))
    sizes = f"{SIZES[0]}, {SIZES[1]} and {SIZES[2]}"
    parts = [
        "# How many rows a tree draws",
        f"In a [stage](stages.md) a tree draws three tenths of the rows, and no more than **{MOST_IN_STAGES:,}**. In a "
        f"[tuned](tuning.md) model trees of the first forest draw at most **{MOST_DRAWN:,}**. A plain fit is "
        "the paper's: a tree draws as many rows as there are. `max_samples` sets another share or number, "
        "without a limit: `max_samples=1.0` draws as many rows as there are, and three tenths of them in stages.",
        "Beyond some thousand rows a tree learns little from more of them: the most frequent paths are the same. "
        "What a limit buys is stability, since trees that draw few rows differ more and the order of paths depends "
        "less on the sample, and time, since a tree [costs what it draws](method.md#forest).",
        "## How the limit was chosen",
        f"The rule was written down first: the smallest limit that costs at most {MOST_LOST:.0%} of the error on "
        f"average, and no stability, for lists of {sizes} rules, with stages and plain, in folds and in halves. These "
        f"limits pass: {_passing(every)}. (Without {TABLES[RARE].title}, which was added to see how a rare class "
        f"fares: {_passing(every, RARE)}. Of that class 1,000 rows hold a dozen.) A limit below the 4,177 rows of the "
        f"paper's largest table would change the paper's results, so the limit of the first forest is {MOST_DRAWN:,}, "
        "a round number above them. It was tried afterwards, on fewer samples: over sizes, folds and halves "
        f"{_extremes(every, str(MOST_DRAWN))}. In stages {MOST_IN_STAGES:,} change nothing below "
        f"{round(MOST_IN_STAGES / STAGE_SAMPLES):,} rows. "
        "**Where a class has a hundredth of the rows or less, try a larger `max_samples`.**",
        f"Tables of R's packages with at least 45,000 rows, chosen by a rule that is written in "
        f"`studies/rows/problems.py` (fewer where the target is not always known; of larger ones {MOST_ROWS:,} rows "
        f"are sampled). {N_FOLDS} folds and {N_HALVES} pairs of disjoint halves; {N_TREES:,} trees in the first "
        f"forest, {STAGE_TREES:,} in a stage of one rule, as in tuning. {_samples(every[''])}",
        f"Three numbers in a cell are those of lists of {sizes} rules. The error is the unexplained variance or "
        "deviance of the rows held out. Stability is the mean Dice-Sorensen index over pairs of folds, and over pairs "
        "of halves. Here error and time are multiples of those without a limit, geometric means over tables, and "
        "stability is the difference to that without a limit, which the last row has. Time is that of one thread, "
        f"without reading and bins; that of {LIMITS[ELSEWHERE].title} rows is from another machine, and not compared. "
        f"Computed with {versions(study, ['pysirus'])}; to compute and write this page:\n\n"
        "    python -m studies.rows && python -m studies.rows --write",
        _after(every),
        f"With stages:\n\n{_over_tables(every[''])}",
        "Plain lists; without a limit trees of the first forest draw as many rows as there are:\n\n"
        f"{_over_tables(every['plain_'])}",
        "A limit above three tenths of the rows does not change stages. Trees that draw a number of rows take rows "
        "from all over the table, and cost several times as much a row as those that read them in order: a limit saves "
        "time where it is a small part of the rows.",
        say(version_of(study), LARGE),
    ]
    return "\n\n".join(part for part in parts if part)


def make_page(store: Store) -> str:
    """The whole page."""
    every = {kind: cells_of(store, kind) for kind in KINDS}
    parts = [_head(store, every), "## Table by table"]
    parts += [_table(name, every) for name in TABLES if any(table == name for table, _ in every[""])]
    return "\n\n".join(parts) + "\n"

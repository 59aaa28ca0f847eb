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
            short.setdefault(f"{n_folds} folds and {n_pairs} {'pair' if n_pairs == 1 else 'pairs'}", set()).add(where)
    texts = [f"{count} for {' and for '.join(sorted(own, reverse=True))}" for count, own in short.items()]
    return f"There are only {'; '.join(texts)}; these are compared on the samples that they have." if texts else ""


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
            return "there are no results yet"
        for place, size in enumerate(SIZES):
            errors += [mean_ratio(pairs, place, of_halves) for of_halves in (False, True)]
            gains += [gain(pairs, size, of_halves) for of_halves in (False, True)]
    return (
        f"the error is {min(errors):.3f} to {max(errors):.3f} times that without a limit, and the stability changes by "
        f"{min(gains):+.2f} to {max(gains):+.2f}"
    )


def _fails(every: dict[str, Cells], limit: str) -> list[str]:
    """Of the quantities that the rule looks at those that a limit costs, with standard errors over tables."""
    found = []
    for kind, cells in every.items():
        pairs = pairs_of(cells, limit)
        for place, size in enumerate(SIZES if pairs else ()):
            for of_halves, where in ((False, "folds"), (True, "halves")):
                what = f"of lists of {size} rules ({KINDS[kind]}, {where})"
                if mean_ratio(pairs, place, of_halves) > 1 + MOST_LOST:
                    found.append(f"the error {what} is {mean_ratio(pairs, place, of_halves):.3f} times as large")
                if gain(pairs, size, of_halves) < 0:
                    name = "between_halves" if of_halves else "between_folds"
                    own = np.array([getattr(a, name)(size) - getattr(b, name)(size) for a, b in pairs])
                    error = own.std(ddof=1) / np.sqrt(len(own))
                    found.append(
                        f"the stability {what} changes by {own.mean():+.3f}, with a standard error of {error:.3f}"
                    )
    return found


def _after(every: dict[str, Cells]) -> str:
    """What tuned models do, and whether the rule lets it pass."""
    pairs = pairs_of(every[""], NOW)
    if not pairs:
        return ""
    fails = _fails(every, NOW)
    passes = f"It does not pass the rule strictly: {'; '.join(fails)}" if fails else "It passes the rule"
    replaced = "; ".join(_fails(every, "5000"))
    return (
        f"The row *as tuned models do* combines {MOST_DRAWN:,} rows in the first forest, {MOST_IN_STAGES:,} rows in "
        f"stages, {FEW_STAGE_TREES:,} trees a stage if the number of rows is limited, and penalties of likelihoods "
        f"chosen on {SAMPLED:,} rows. {passes}. Over all sizes, folds and halves, {_extremes(every, NOW)} "
        f"({len(pairs)} tables, results version {LARGE}). It replaced a limit of 5,000 rows and {STAGE_TREES:,} trees "
        f"in stages, which {'did not pass strictly either, on fewer samples: ' + replaced if replaced else 'passed'}."
    )


def _head(store: Store, every: dict[str, Cells]) -> str:
    study = read(store, list(TABLES), list(LIMITS))
    sizes = f"{SIZES[0]}, {SIZES[1]} and {SIZES[2]}"
    parts = [
        "# How many rows a tree draws",
        f"In [stages](stages.md), a tree draws three tenths of the rows, but at most **{MOST_IN_STAGES:,}**. In "
        f"[tuned](tuning.md) models, a tree of the first forest draws at most **{MOST_DRAWN:,}** rows. In a plain fit, "
        "it draws as many rows as there are, as in the paper. If you set `max_samples` to a share or a number, these "
        "limits do not apply: with `max_samples=1.0`, trees draw as many rows as there are, or three tenths of them "
        "in stages.",
        "Beyond a few thousand rows, a tree learns little from further rows, and the most frequent paths hardly "
        "change. A limit has two advantages. Lists become more stable: trees that draw few rows differ more from each "
        "other, and the order of paths then depends less on the sample. And training is faster, because a tree [reads "
        "only the rows that it draws](method.md#forest).",
        "## How the limit was chosen",
        f"We fixed the rule before the results: take the smallest limit that increases the error by at most "
        f"{MOST_LOST:.0%} on average and does not reduce stability, for lists of {sizes} rules, with stages and plain, "
        f"in folds and in halves. These limits pass: {_passing(every)}. Without the table {TABLES[RARE].title}, which "
        f"we added to study a rare class (1,000 rows contain about a dozen of it), these pass: "
        f"{_passing(every, RARE)}. A limit below 4,177 rows, the size of the paper's largest table, would change the "
        f"paper's results, so we set the limit of the first forest to {MOST_DRAWN:,}, a round number above it. We "
        f"tried this limit afterwards, on fewer samples: over all sizes, folds and halves, "
        f"{_extremes(every, str(MOST_DRAWN))}. In stages, a limit of {MOST_IN_STAGES:,} changes nothing for tables "
        f"with fewer than {round(MOST_IN_STAGES / STAGE_SAMPLES):,} rows. "
        "**If a class has one hundredth of the rows or less, try a larger `max_samples`.**",
        f"We used tables from R packages with at least 45,000 rows, chosen by a rule in `studies/rows/problems.py`. "
        f"Some have fewer rows because the target is missing in others; from larger tables, {MOST_ROWS:,} rows are "
        f"sampled. There are {N_FOLDS} folds and {N_HALVES} pairs of disjoint halves, with {N_TREES:,} trees in the "
        f"first forest and {STAGE_TREES:,} in each stage of one rule. {_samples(every[''])}",
        f"Each cell has three numbers, for lists of {sizes} rules. The error is the unexplained variance or deviance "
        "of held-out rows. Stability is the mean Dice-Sorensen index over pairs of folds or over pairs of halves. In "
        "the first two tables, error and time are given relative to no limit (geometric means over tables), and "
        "stability as the difference from no limit; the last row shows the stability itself. Time is for one thread, "
        f"without reading and binning; {LIMITS[ELSEWHERE].title} rows ran on another machine, so their time is not "
        f"comparable and left out. The results were computed with {versions(study, ['pysirus'])}. These commands "
        "compute them and write this page:\n\n"
        "    python -m studies.rows && python -m studies.rows --write",
        _after(every),
        f"With stages:\n\n{_over_tables(every[''])}",
        "Plain lists, for which trees without a limit draw as many rows as there are:\n\n"
        f"{_over_tables(every['plain_'])}",
        "A limit above three tenths of the rows does not change stages. Trees that draw a fixed number of rows read "
        "them from all over the table, which takes several times as long per row as reading rows in order. A limit "
        "therefore saves time only if it is a small share of the rows.",
        say(version_of(study), LARGE),
    ]
    return "\n\n".join(part for part in parts if part)


def make_page(store: Store) -> str:
    """The whole page."""
    every = {kind: cells_of(store, kind) for kind in KINDS}
    parts = [_head(store, every), "## Table by table"]
    parts += [_table(name, every) for name in TABLES if any(table == name for table, _ in every[""])]
    return "\n\n".join(parts) + "\n"

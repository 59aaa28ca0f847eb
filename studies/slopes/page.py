"""Results in, docs/slopes-study.md out: every figure on the page comes from a result file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.results import Figures, Store, Study, markdown, read, say, version_of, versions
from studies.slopes.measure import N_FOLDS
from studies.slopes.methods import METHODS, N_INNER, N_TERMS
from studies.slopes.problems import FRESH, NAMED, PAPER, TABLES

NAMED_TABLES = ("carseats", "concrete", "machine", "housing", "wage1", "biomass", "mpg", "ozone")
HOUSING = "Housing is the Boston table, of which [one column should not be used](paper.md#housing)."
OTHERS = ("linear", "forest", "ebm")
QUANTITIES = {
    "folds": "folds, by term",
    "folds_columns": "folds, by column",
    "halves": "halves, by term",
    "halves_columns": "halves, by column",
}

INTRO = f"""# Slopes beside rules: a study

[Slopes](slopes.md) were sketched on eight tables that are named below. The other 24 were drawn by a rule
that was written down before the first result (`studies/slopes/problems.py`), from tables that the project had not
used. Every list has {N_TERMS} terms in {N_TERMS} stages, all else by default; the linear model, the forest and the
EBM stand beside them with their defaults (`studies/slopes/methods.py`).

Errors are squared errors of held-out rows over those of the training mean, in {N_FOLDS} folds: 0 is perfect, 1 is
the mean. Stability is the share of terms, or of columns, that two lists have in common (Dice-Sorensen): between
folds, which share three quarters of their training rows, and between two disjoint halves of the rows. Terms count
as the same where they cut the same columns at the same quantiles, or are slopes of the same column. A column has
one slope and nine cuts, so slopes are the more stable partly by definition; measures by column are free of that.

The interval of a difference is that of its folds, corrected for training rows that folds share (Nadeau and Bengio
2003).
"""


@dataclass(frozen=True)
class Pair:
    """A table with and without slopes, over the repetitions that both have."""

    table: str
    rules: Figures
    slopes: Figures

    @property
    def repetitions(self) -> list[str]:
        """Those that both have."""
        return sorted(set(self.rules.by_repetition) & set(self.slopes.by_repetition), key=int)

    def values(self, which: Figures, quantity: str) -> NDArray[np.float64]:
        """Figures of these repetitions, [repetition, fold or one]."""
        return np.array([np.atleast_1d(which.by_repetition[r][quantity]) for r in self.repetitions], dtype=float)

    def means(self, quantity: str) -> tuple[float, float]:
        """Without slopes and with them."""
        return float(self.values(self.rules, quantity).mean()), float(self.values(self.slopes, quantity).mean())

    @property
    def ratio(self) -> float:
        """The error with slopes, as a multiple of that without."""
        without, with_slopes = self.means("error")
        return with_slopes / without

    @property
    def difference(self) -> tuple[float, float]:
        """Error with slopes less error without, and its standard error, corrected for shared rows."""
        gaps = (self.values(self.slopes, "error") - self.values(self.rules, "error")).ravel()
        spread = gaps.var(ddof=1) * (1 / len(gaps) + 1 / (N_FOLDS - 1))
        return float(gaps.mean()), float(np.sqrt(spread))

    def stability_gap(self, quantity: str) -> tuple[float, float | None]:
        """Stability with slopes less that without, and its standard error over repetitions."""
        gaps = (self.values(self.slopes, quantity) - self.values(self.rules, quantity)).mean(axis=1)
        return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else None


def pairs_of(study: Study, tables: Sequence[str], methods: tuple[str, str] = ("rules", "slopes")) -> list[Pair]:
    """The tables that have both results."""
    both = [t for t in tables if all((t, method) in study for method in methods)]
    found = [Pair(table, *(study[table, method] for method in methods)) for table in both]
    return [pair for pair in found if pair.repetitions]


def _errors(study: Study, pairs: Sequence[Pair]) -> str:
    rows = []
    for pair in pairs:
        without, with_slopes = pair.means("error")
        gap, error = pair.difference
        others = [study[pair.table, m].mean("error") if (pair.table, m) in study else None for m in OTHERS]
        rows.append(
            [
                TABLES[pair.table],
                str(len(pair.repetitions)),
                f"{without:.3f}",
                f"{with_slopes:.3f}",
                f"{gap:+.3f} ± {2 * error:.3f}",
                *("" if value is None else f"{value:.3f}" for value in others),
            ]
        )
    head = ["table", "repetitions", "rules", "rules and slopes", "difference", "linear", "forest", "EBM"]
    return f"{markdown(head, rows)}\n\n{_repetitions(study, pairs)}"


def _repetitions(study: Study, pairs: Sequence[Pair]) -> str:
    """How often the others were run; they are not compared fold by fold."""
    told = []
    for method in OTHERS:
        counts = [study[p.table, method].n_repetitions if (p.table, method) in study else 0 for p in pairs]
        least, most, absent = min((n for n in counts if n), default=0), max(counts), counts.count(0)
        said = ("none" if not most else str(most)) if least == most else f"{least} to {most}"
        lacking = f" (not run on {absent} table{'s' if absent > 1 else ''})" if absent and most else ""
        told.append(f"{METHODS[method].title}: {said}{lacking}")
    return f"Repetitions of the others: {'; '.join(told)}."


def _stabilities(pairs: Sequence[Pair]) -> str:
    rows = []
    for pair in pairs:
        cells = ["{:.2f}, {:.2f}".format(*pair.means(quantity)) for quantity in QUANTITIES]
        slopes = pair.values(pair.slopes, "slopes").mean()
        rows.append([TABLES[pair.table], f"{slopes:.1f}", *cells, "{:.3f}, {:.3f}".format(*pair.means("half_error"))])
    return markdown(["table", "slopes in a list", *QUANTITIES.values(), "error of halves"], rows)


def _summary(pairs: Sequence[Pair], what: str) -> str:
    ratios = np.array([pair.ratio for pair in pairs])
    mean = _geometric([pair.ratio for pair in pairs])
    n_worse = sum(gap > 2 * error for gap, error in (pair.difference for pair in pairs))
    n_better = sum(gap < -2 * error for gap, error in (pair.difference for pair in pairs))
    parts = [
        f"On {len(pairs)} {what} tables the error with slopes is {mean:.2f} times that of rules alone (geometric "
        f"mean), smaller on {int((ratios < 1).sum())}; beyond two corrected standard errors it is smaller on "
        f"{n_better} and larger on {n_worse}."
    ]
    for quantity, name in QUANTITIES.items():
        before, after = np.mean([pair.means(quantity) for pair in pairs], axis=0)
        parts.append(f"Stability between {name}: {before:.2f} with rules, {after:.2f} with slopes too.")
    return "\n".join(parts)


def _named_verdict(pairs: Sequence[Pair]) -> str:
    good = 0
    for pair in pairs:
        gaps = [pair.stability_gap(quantity) for quantity in ("folds", "halves")]
        steady = all(gap >= -(error or 0.0) for gap, error in gaps)
        good += pair.ratio < 1 and steady
    return (
        f"Better in error, and in stability by term not worse by more than one standard error over repetitions between "
        f"folds nor between halves: {good} of {len(pairs)}."
    )


def _losses(pairs: Sequence[Pair]) -> str:
    worst = sorted((pair for pair in pairs if pair.ratio > 1), key=lambda pair: -pair.ratio)[:5]
    if not worst:
        return "No table of the two sets has a larger mean error with slopes."
    listed = "; ".join("{} ({:.3f} to {:.3f})".format(TABLES[p.table], *p.means("error")) for p in worst)
    return f"The mean error is larger with slopes on {sum(p.ratio > 1 for p in pairs)} tables, most on: {listed}."


def _tuned(study: Study, tables: Sequence[str]) -> str:
    """Tuned lists, and "auto" beside the better of the two, which nobody knows beforehand."""
    kinds = ("tuned-rules", "tuned-slopes", "auto")
    rows, gaps = [], []
    for table in tables:
        if not all((table, kind) in study for kind in kinds):
            continue
        rules, slopes, auto = (study[table, kind] for kind in kinds)
        better = min((rules, slopes), key=lambda own: own.mean("error") or 0.0)
        gap = Pair(table, better, auto)
        gaps.append(gap)
        cells = [f"{own.mean('error'):.3f} ({own.mean('size'):.1f})" for own in (rules, slopes, auto)]
        rows.append([TABLES[table], *cells, "{:+.3f} ± {:.3f}".format(*(np.array([1, 2]) * gap.difference))])
    if not rows:
        return "Tuned lists have not been computed yet."
    beyond = sum(gap.difference[0] > 2 * gap.difference[1] for gap in gaps if gap.ratio > 1)
    worst = max(gaps, key=lambda gap: gap.ratio)
    over = _geometric([_over(study, gap.table) for gap in gaps])
    lost = _geometric([gap.ratio for gap in gaps])
    said = (
        f"Tuned lists choose everything inside the training rows: 10 folds, {N_INNER} repetitions. With slopes their "
        f"error is {over:.2f} times that of rules (geometric mean of {len(gaps)} tables).\n"
        '`slopes="auto"` chooses between both on the folds of tuning, by error and stability. Its error is '
        f"{lost:.3f} times that of the better of the two, which nobody knows beforehand; at worst {worst.ratio:.3f} "
        f"times ({TABLES[worst.table]}). Beyond two corrected standard errors it is larger on {beyond} tables."
    )
    head = ["table", "rules: error (size)", "rules and slopes", '`slopes="auto"`', '"auto" less the better']
    return said + "\n\n" + markdown(head, rows)


def _geometric(ratios: Sequence[float]) -> float:
    return float(np.exp(np.log(ratios).mean()))


def _over(study: Study, table: str) -> float:
    """The error of a tuned list with slopes, as a multiple of that without."""
    return Pair(table, study[table, "tuned-rules"], study[table, "tuned-slopes"]).ratio


def make_page(store: Store) -> str:
    """The page."""
    tables = [*NAMED_TABLES, *FRESH]
    study = read(store, tables, list(METHODS))
    named, fresh = pairs_of(study, NAMED_TABLES), pairs_of(study, list(FRESH))
    assert set(NAMED_TABLES) == {*NAMED, *PAPER}
    parts = [INTRO]
    parts.append(say(version_of(study)) + "\n")
    for title, pairs, what in (("Fresh tables", fresh, "fresh"), ("Tables of the sketch", named, "named")):
        if not pairs:
            continue
        parts += [f"## {title}\n", _summary(pairs, what) + "\n"]
        if what == "named":
            parts.append(f"{HOUSING}\n")
        parts.append(_errors(study, pairs) + "\n")
        parts += ["Stability: rules first, then rules and slopes.\n", _stabilities(pairs) + "\n"]
        if pairs is named:
            parts.append(_named_verdict(pairs) + "\n")
    parts += ["## Where slopes lose\n", _losses([*named, *fresh]) + "\n"]
    parts += ["## Tuned lists\n", _tuned(study, tables) + "\n"]
    packages = ("pysirus", "scikit-learn", "interpret-core")
    parts.append(f"Computed with {versions(study, packages)}: `python -m studies.slopes`, `--write` for this page.")
    return "\n".join(parts) + "\n"

"""Results in, docs/slopes-study.md out: every figure on the page comes from a result file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.results import Figures, Store, Study, markdown, read, say, version_of, versions
from studies.slopes.measure import N_FOLDS
from studies.slopes.methods import METHODS, N_INNER, N_TERMS
from studies.slopes.problems import BLIND, FRESH, NAMED, PAPER, TABLES

NAMED_TABLES = ("carseats", "concrete", "machine", "housing", "wage1", "biomass", "mpg", "ozone")
HOUSING = "Housing is the Boston table, of which [one column should not be used](paper.md#housing)."
OTHERS = {"linear": "linear", "forest": "forest", "ebm": "EBM"}
QUANTITIES = {
    "folds": "folds, by term",
    "folds_columns": "folds, by column",
    "halves": "halves, by term",
    "halves_columns": "halves, by column",
}

INTRO = f"""# Slopes beside rules: a study

[Slopes](slopes.md) were sketched on eight tables that are named below. The 24 *fresh* tables were drawn by a rule
that was written down before the first result (`studies/slopes/problems.py`), from tables that the project had not
used. The twelve *blind* tables were drawn later, by a rule that leaves nothing to a person: hashes choose tables and
targets (`studies/slopes/draw.py`). Every list has {N_TERMS} terms in {N_TERMS} stages, all else by default; the
linear model, the forest and the EBM stand beside them with their defaults (`studies/slopes/methods.py`).

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
    head = ["table", "repetitions", "rules", "rules and slopes", "difference"]
    theirs = {m: {p.table: study[p.table, m] for p in pairs if (p.table, m) in study} for m in OTHERS}
    theirs = {method: own for method, own in theirs.items() if own}
    same = {m: len({own.n_repetitions for own in found.values()}) == 1 for m, found in theirs.items()}
    head += [OTHERS[m] if same[m] else f"{OTHERS[m]} (repetitions)" for m in theirs]
    rows = []
    for pair in pairs:
        without, with_slopes = pair.means("error")
        gap, error = pair.difference
        row = [TABLES[pair.table], str(len(pair.repetitions)), f"{without:.3f}", f"{with_slopes:.3f}"]
        row.append(f"{gap:+.3f} ± {2 * error:.3f}")
        for method, found in theirs.items():
            own = found.get(pair.table)
            count = "" if own is None or same[method] else f" ({own.n_repetitions})"
            row.append("" if own is None else f"{own.mean('error'):.3f}{count}")
        rows.append(row)
    beside = _beside(study, pairs)
    return markdown(head, rows) + (f"\n\n{beside}" if beside else "")


def _beside(study: Study, pairs: Sequence[Pair]) -> str:
    """Errors of lists as multiples of those of the others, on the repetitions that both have."""
    rows = []
    for method in OTHERS:
        theirs = {p.table: study[p.table, method] for p in pairs if (p.table, method) in study}
        both = [p for p in pairs if p.table in theirs and Pair(p.table, theirs[p.table], p.slopes).repetitions]
        if not both:
            continue
        rules = [Pair(p.table, theirs[p.table], p.rules).ratio for p in both]
        slopes = [Pair(p.table, theirs[p.table], p.slopes).ratio for p in both]
        counts = {theirs[p.table].n_repetitions for p in both}
        repetitions = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
        means = (f"{_geometric(own):.2f}" for own in (rules, slopes))
        rows.append([METHODS[method].title, str(len(both)), repetitions, *means, str(sum(r < 1 for r in slopes))])
    if not rows:
        return ""
    head = ["error, as a multiple of that of", "tables", "repetitions", "rules", "rules and slopes", "below it on"]
    return f"{markdown(head, rows)}\n\nMultiples are geometric means over tables, on the repetitions that both have."


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
    told = []
    for what, quantities in (("term", ("folds", "halves")), ("column", ("folds_columns", "halves_columns"))):
        failing = [(pair, _worse(pair, quantities)) for pair in pairs]
        listed = "; ".join(f"{TABLES[pair.table]}: {', '.join(why)}" for pair, why in failing if why)
        good = sum(not why for _, why in failing)
        told.append(
            f"- Better in error, and in stability by {what} not worse by more than one standard error over repetitions "
            f"(between folds and between halves): {good} of {len(pairs)}" + (f". Not: {listed}." if listed else ".")
        )
    return "\n".join(told)


def _worse(pair: Pair, quantities: Sequence[str]) -> list[str]:
    """In what slopes do not hold their own on a table."""
    found = ["a larger error"] if pair.ratio >= 1 else []
    for quantity in quantities:
        gap, error = pair.stability_gap(quantity)
        if gap < -(error or 0.0):
            found.append(f"{QUANTITIES[quantity].split(',')[0]} {gap:+.3f} ± {error or 0.0:.3f}")
    return found


def _losses(pairs: Sequence[Pair]) -> str:
    worst = sorted((pair for pair in pairs if pair.ratio > 1), key=lambda pair: -pair.ratio)[:5]
    if not worst:
        return "No table has a larger mean error with slopes."
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
    tables = [*NAMED_TABLES, *FRESH, *BLIND]
    study = read(store, tables, list(METHODS))
    named, fresh, blind = (pairs_of(study, list(own)) for own in (NAMED_TABLES, FRESH, BLIND))
    assert set(NAMED_TABLES) == {*NAMED, *PAPER}
    parts = [INTRO]
    parts.append(say(version_of(study)) + "\n")
    groups = (
        ("Fresh tables", fresh, "fresh"),
        ("Blind tables", blind, "blind"),
        ("Tables of the sketch", named, "named"),
    )
    for title, pairs, what in groups:
        if not pairs:
            continue
        parts += [f"## {title}\n", _summary(pairs, what) + "\n"]
        if what == "named":
            parts.append(f"{HOUSING}\n")
        parts.append(_errors(study, pairs) + "\n")
        parts += ["Stability: rules first, then rules and slopes.\n", _stabilities(pairs) + "\n"]
        if pairs is named:
            parts.append(_named_verdict(pairs) + "\n")
    parts += ["## Where slopes lose\n", _losses([*named, *fresh, *blind]) + "\n"]
    parts += ["## Tuned lists\n", _tuned(study, tables) + "\n"]
    packages = ("pysirus", "scikit-learn", "interpret-core")
    parts.append(f"Computed with {versions(study, packages)}: `python -m studies.slopes`, `--write` for this page.")
    return "\n".join(parts) + "\n"

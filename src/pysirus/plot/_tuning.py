"""A tuned model in, its tuning path as a figure out: the paper's figures for Diabetes, Machine and Ozone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._model.tuning import IDEAL, Tuning, TuningPath
from pysirus._parameters import ParameterError
from pysirus.plot._axes import GREY, INSIDE, UP, bare, pyplot


def _tuning(model: Any) -> tuple[Tuning, str]:
    """The tuning of a model, and the name of its error."""
    model = model._as_model()
    if model.tuning is None or not len(model.tuning.path):
        raise ParameterError("The model was not tuned: fit SirusRegressorCV or SirusClassifierCV, or `pysirus tune`.")
    return model.tuning, model.error_name


def _by_size(path: TuningPath) -> NDArray[np.intp]:
    """One entry of the path for each whole number of rules: the one whose mean number is nearest."""
    sizes = np.arange(1, int(np.floor(path.n_rules.max())) + 1)
    return np.unique([int(np.abs(path.n_rules - size).argmin()) for size in sizes])


def tuning_path(model: Any, axes: Any = None) -> Any:
    """Draw error and stability against the number of rules, with error bars; the choice is marked.

    Parameters
    ----------
    model : Model or fitted estimator
        A tuned model.
    axes : pair of matplotlib Axes, optional
        Where to draw the error and the stability; by default a new figure with one above the other.

    Returns
    -------
    axes : ndarray of two matplotlib Axes
    """
    tuning, error_name = _tuning(model)
    path = tuning.path
    if axes is None:
        _, axes = pyplot().subplots(2, 1, figsize=(5.2, 5.6), sharex=True, layout="constrained")
    points = _by_size(path)
    chosen = tuning.step
    curves = ((path.error, path.error_se, error_name), (path.stability, path.stability_se, "stability"))
    for ax, (values, errors, name) in zip(axes, curves):
        ax.errorbar(
            path.n_rules[points],
            values[points],
            yerr=2 * errors[points],
            color=INSIDE,
            ecolor=GREY,
            elinewidth=0.8,
            capsize=2,
            marker="o",
            markersize=3.5,
            linewidth=1.1,
        )
        ax.axvline(path.n_rules[chosen], color=UP, linewidth=1, linestyle="--", zorder=0)
        ax.plot(path.n_rules[chosen], values[chosen], marker="D", markersize=8, color=UP, zorder=3)
        ax.set_ylabel(name)
        ax.grid(axis="y", color="0.92")
        ax.set_axisbelow(True)
        bare(ax, "left", "bottom")
    top = axes[0]
    top.annotate(
        f"chosen: {path.n_rules[chosen]:.1f} rules, p0 = {tuning.p0:.3f}",
        (path.n_rules[chosen], 1),
        xycoords=("data", "axes fraction"),
        xytext=(6 if path.n_rules[chosen] < 0.6 * path.n_rules.max() else -6, -2),
        textcoords="offset points",
        ha="left" if path.n_rules[chosen] < 0.6 * path.n_rules.max() else "right",
        va="top",
        color=UP,
        fontsize=9,
    )
    axes[-1].set_xlabel("number of rules (mean over folds; bars: two standard errors)")
    axes[-1].set_xlim(left=0)
    return np.asarray(axes)


def pareto(model: Any, ax: Any = None) -> Any:
    """Draw stability against error: one point per list size, the ideal point, and the choice in green.

    Parameters
    ----------
    model : Model or fitted estimator
        A tuned model.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
    """
    tuning, error_name = _tuning(model)
    path = tuning.path
    if ax is None:
        _, ax = pyplot().subplots(figsize=(5.2, 4.6), layout="constrained")
    points = _by_size(path)
    chosen = tuning.step
    error, stability = path.error[points], path.stability[points]
    ax.plot(error, stability, color="0.8", linewidth=0.8, zorder=1)
    ax.scatter(error, stability, s=26, color=INSIDE, zorder=2, label="lists of 1, 2, 3, ... rules")
    ax.plot(
        [IDEAL[0], path.error[chosen]],
        [IDEAL[1], path.stability[chosen]],
        color=UP,
        linewidth=0.9,
        linestyle="--",
        zorder=1,
    )
    choice = f"chosen: {path.n_rules[chosen]:.1f} rules"
    ax.scatter(path.error[chosen], path.stability[chosen], s=90, marker="D", color=UP, zorder=3, label=choice)
    ideal = "ideal: no error, stability 0.9"
    ax.scatter(*IDEAL, s=120, marker="*", color="black", zorder=3, clip_on=False, label=ideal)
    _number_points(ax, path, points)
    ax.set_xlabel(error_name)
    ax.set_ylabel("stability")
    ax.set_xlim(left=0)
    ax.set_ylim(top=min(1.02, max(0.95, stability.max() + 0.03)))
    ax.grid(color="0.94")
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=9, loc="best")
    bare(ax, "left", "bottom")
    return ax


def _number_points(ax: Any, path: TuningPath, points: NDArray[np.intp]) -> None:
    """Write the number of rules beside a few points that are far enough from each other."""
    last: tuple[float, float] | None = None
    for i in points:
        place = (float(path.error[i]), float(path.stability[i]))
        if last is not None and abs(place[0] - last[0]) < 0.03 and abs(place[1] - last[1]) < 0.06:
            continue
        last = place
        ax.annotate(f"{path.n_rules[i]:.0f}", place, xytext=(6, 4), textcoords="offset points", fontsize=8, color=GREY)

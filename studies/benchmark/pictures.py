"""The study in, its pictures out: error against size, error against stability, terms that are kept against R²."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.benchmark.findings import FEW, halves
from studies.benchmark.methods import METHODS, OWN
from studies.benchmark.summary import Quantity, Run, Study
from studies.benchmark.tables import COUNTS, NUMBERS, SEVERAL, SURVIVAL, TWO

PANELS = {NUMBERS: "regression", TWO: "two classes", COUNTS: "counts", SURVIVAL: "survival"}
BLUE, ORANGE, GREY = "#1f5fa8", "#c8650a", "#555555"
WITHOUT_LINES = ("ebm", "lightgbm", "forest", "boosting")  # nothing to read: a line at their error
WORST = 1.1  # an error above this is written at the edge
APART = 0.042  # of a panel's height: the least distance between two names
assert SEVERAL not in PANELS  # few methods have lists there
Place = tuple[float, float, str]  # x, y, method


def _runs(study: Study, kind: str, methods: Sequence[str], quantity: Quantity | None = None) -> dict[str, list[Run]]:
    """The runs of methods that have nearly all tables of a kind, over the tables that all of these have."""
    own = [m for m in methods if kind in METHODS[m].kinds]
    kept, tables = study.comparable(own, study.tables(kind), quantity)
    if len(tables) < FEW:
        return {}
    return {m: [run for t in tables if (run := study.there(t, m)) is not None] for m in kept}


def _draw(axes: Any, places: Sequence[Place]) -> None:
    """Points with their names beside them, moved apart where they would lie on each other."""
    for x, y, method in places:
        own = method in OWN
        axes.plot(x, y, "o" if own else "s", color=BLUE if own else ORANGE, markersize=6 if own else 5)
    axes.margins(x=0.18, y=0.1)
    low, high = axes.get_ylim()
    taken: list[tuple[float, float]] = []
    to_axes = axes.transData + axes.transAxes.inverted()
    for x, y, method in sorted(places, key=lambda own: own[1]):
        left, height = to_axes.transform((x, y))
        while any(abs(left - a) < 0.3 and abs(height - b) < APART for a, b in taken):
            height += APART / 4
        taken.append((left, height))
        color = BLUE if method in OWN else "#333333"
        where = (left + 0.015, height)
        axes.annotate(METHODS[method].title, where, xycoords="axes fraction", fontsize=7, va="center", color=color)
    axes.set_ylim(low, high)


def _spread(axes: Any, lines: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Heights of the names of lines, in shares of the panel, apart from each other."""
    low, high = axes.get_ylim()
    found: list[tuple[float, str]] = []
    for error, method in sorted(lines):
        height = (error - low) / (high - low)
        found.append((max(height, found[-1][0] + 0.03) if found else height, method))
    return found


def _logarithmic(axes: Any) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 50, 100, 200]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")


def _finish(axes: Any, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _panels(study: Study, path: Path, x_of: Quantity, x_name: str, without: Sequence[str] = ()) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 2, figsize=(9.5, 8.0), layout="constrained")
    for axes, kind in zip(grid.flat, PANELS):
        lists = [m for m in METHODS if m != "constant" and any(_known(study, t, m, x_of) for t in study.tables(kind))]
        kept = _runs(study, kind, lists, x_of)
        runs = _runs(study, kind, [*kept, *without]) if without else kept
        if len(kept) < 2:
            axes.text(0.5, 0.5, "too few tables are run yet", transform=axes.transAxes, ha="center", fontsize=8)
            axes.set(xticks=[], yticks=[])
            axes.set_title(PANELS[kind], fontsize=10, loc="left")
            continue
        errors = {m: float(np.mean([run.error for run in own])) for m, own in runs.items()}
        places = [(_mean(runs[m], x_of), errors[m], m) for m in kept if errors[m] <= WORST]
        for m in without:
            if m in errors:
                axes.axhline(errors[m], color=GREY, linewidth=0.8, linestyle=":")
        if without:
            _logarithmic(axes)
        _draw(axes, places)
        above = [f"{METHODS[m].title} {errors[m]:.2f} at {_mean(runs[m], x_of):.2g}" for m in kept if errors[m] > WORST]
        if above:
            axes.text(
                0.99, 0.99, "above: " + ", ".join(above), transform=axes.transAxes, ha="right", va="top", fontsize=7
            )
        for height, m in _spread(axes, [(errors[m], m) for m in without if m in errors]):
            axes.annotate(
                METHODS[m].title, (0.01, height), xycoords="axes fraction", va="bottom", fontsize=6, color=GREY
            )
        n_tables = len(next(iter(runs.values())))
        axes.set_title(f"{PANELS[kind]}, {n_tables} of {len(study.tables(kind))} tables", fontsize=10, loc="left")
        _finish(axes, x_name, "error (1: without features)")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _known(study: Study, table: str, method: str, quantity: Quantity) -> bool:
    run = study.there(table, method)
    return run is not None and quantity(run) is not None


def _mean(runs: Sequence[Run], quantity: Quantity) -> float:
    return float(np.mean([quantity(run) or 0.0 for run in runs]))


def _kept(study: Study, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 4.6), layout="constrained")
    runs = _runs(study, NUMBERS, [m for m, own in METHODS.items() if own.has_terms])
    _draw(
        axes, [(_mean(own, lambda run: run.kept), 1 - _mean(own, lambda run: run.error), m) for m, own in runs.items()]
    )
    if runs:
        n_tables = len(next(iter(runs.values())))
        axes.set_title(f"regression, {n_tables} of {len(study.tables(NUMBERS))} tables", fontsize=10, loc="left")
    _finish(axes, "terms in the lists of all five folds", "R² of held-out rows")
    figure.savefig(path, dpi=130)
    plt.close(figure)


SAME = "Means over the tables that all methods of a panel have. Methods that lack more than a fifth are left out."
PICTURES = [  # titles, files and what they show
    ("Error against size", "benchmark-size.png", f"Error and number of lines to read. {SAME}"),
    (
        "Error against stability between halves",
        "benchmark-stability.png",
        f"Error and share of terms that two halves have in common. {SAME}",
    ),
    (
        "R² and terms in all five lists",
        "benchmark-kept.png",
        f"R² and number of terms that occur in the lists of all five folds. {SAME}",
    ),
]


def draw_pictures(study: Study, folder: Path) -> None:
    """All of them, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _panels(study, folder / PICTURES[0][1], lambda run: run.size, "lines to read", WITHOUT_LINES)
    _panels(study, folder / PICTURES[1][1], halves("dice"), "terms shared by disjoint halves")
    _kept(study, folder / PICTURES[2][1])

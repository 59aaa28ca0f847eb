"""The study in, its pictures out: error against size, error against stability, terms that are kept against R²."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.benchmark.methods import METHODS, OWN
from studies.benchmark.summary import Run, Study
from studies.benchmark.tables import COUNTS, NUMBERS, SEVERAL, SURVIVAL, TWO

PANELS = {NUMBERS: "numbers", TWO: "two classes", COUNTS: "counts", SURVIVAL: "survival"}
BLUE, ORANGE, GREY = "#1f5fa8", "#c8650a", "#555555"
assert SEVERAL not in PANELS  # few methods have lists there


def _runs(study: Study, kind: str, method: str) -> list[Run]:
    """Those of all tables of a kind, or none."""
    tables = study.tables(kind)
    found = [own for t in tables if (own := study.there(t, method)) is not None]
    return found if len(found) == len(tables) else []


def _point(axes: Any, x: float, y: float, method: str) -> None:
    own = method in OWN
    axes.plot(x, y, "o" if own else "s", color=BLUE if own else ORANGE, markersize=6)
    axes.annotate(METHODS[method].title, (x, y), xytext=(5, 3), textcoords="offset points", fontsize=7)


def _panels(study: Study, kind_of: str, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 2, figsize=(9.5, 7.5), layout="constrained")
    for axes, kind in zip(grid.flat, PANELS):
        for method, own in METHODS.items():
            runs = _runs(study, kind, method) if kind in own.kinds and method != "constant" else []
            if not runs:
                continue
            error = float(np.mean([r.error for r in runs]))
            x = [r.size if kind_of == "size" else r.stability("halves", "dice") for r in runs]
            if None not in x:
                _point(axes, float(np.mean([v for v in x if v is not None])), error, method)
            elif kind_of == "size" and method in ("ebm", "lightgbm", "forest"):
                axes.axhline(error, color=GREY, linewidth=0.8, linestyle=":")
                where = (0.995, error)
                axes.annotate(own.title, where, xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7)
        axes.set_title(PANELS[kind], fontsize=10, loc="left")
        if not axes.lines:
            axes.text(0.5, 0.5, "not all tables are run yet", transform=axes.transAxes, ha="center", fontsize=8)
            axes.set(xticks=[], yticks=[])
            continue
        axes.set_ylabel("error (1: without features)", fontsize=8)
        axes.set_xlabel("lines to read" if kind_of == "size" else "terms shared by disjoint halves", fontsize=8)
        axes.set_xscale("log" if kind_of == "size" else "linear")
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.15)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _kept(study: Study, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 4.6), layout="constrained")
    for method, own in METHODS.items():
        runs = _runs(study, NUMBERS, method) if own.has_terms and NUMBERS in own.kinds else []
        if runs and all(r.kept is not None for r in runs):
            _point(
                axes, float(np.mean([r.kept or 0 for r in runs])), float(np.mean([1 - r.error for r in runs])), method
            )
    axes.set_xlabel("terms that the lists of all five splits have", fontsize=8)
    axes.set_ylabel("R² of held-out rows", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.15)
    figure.savefig(path, dpi=130)
    plt.close(figure)


WHOLE = "Means over the tables of a kind; a method is drawn once it has them all."
PICTURES = [  # titles, files and what they show
    ("Error against size", "benchmark-size.png", f"Error against the lines to read. {WHOLE}"),
    ("Error against stability", "benchmark-stability.png", f"Error against the terms that halves share. {WHOLE}"),
    ("R² against terms that stay", "benchmark-kept.png", f"R² against the terms that all five splits keep. {WHOLE}"),
]


def draw_pictures(study: Study, folder: Path) -> None:
    """All of them, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _panels(study, "size", folder / PICTURES[0][1])
    _panels(study, "stability", folder / PICTURES[1][1])
    _kept(study, folder / PICTURES[2][1])

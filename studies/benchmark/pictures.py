"""The study in, its pictures out: error against size, error against stability, terms that are kept against R²."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from studies.benchmark.findings import FEW, halves
from studies.benchmark.labels import Box, Pair, along, around, place
from studies.benchmark.methods import METHODS, OWN
from studies.benchmark.summary import Quantity, Run, Study
from studies.benchmark.tables import COUNTS, NUMBERS, SEVERAL, SURVIVAL, TWO

PANELS = {NUMBERS: "Regression", TWO: "Two classes", COUNTS: "Counts", SURVIVAL: "Survival"}
WITHOUT_LINES = ("ebm", "lightgbm", "forest", "boosting")  # nothing to read: a dotted line at their error
WORST = 1.0  # a larger error, worse than without features, is a triangle at the upper edge
WIDTH, DPI = 7.2, 200  # inches; a page shows it 700 to 900 pixels wide
RADIUS, GAP = 5, 1  # points from the middle of a mark to its name, and around a name
OWN_COLOR, PEER_COLOR, INK, DARK = "#1f5fa8", "#98a1ac", "#4b5563", "#1c2430"
OWN_TEXT = {"fontsize": 8, "color": OWN_COLOR, "fontweight": "bold"}
PEER_TEXT = {"fontsize": 8, "color": INK}
RULER_TEXT = {"fontsize": 7, "color": "#6b7280", "fontstyle": "italic"}
assert SEVERAL not in PANELS  # few methods have lists there


class Place(NamedTuple):
    """A method in a panel."""

    x: float
    y: float
    method: str

    @property
    def is_off(self) -> bool:
        """Whether it would lie above the panel."""
        return self.y > WORST

    @property
    def text(self) -> str:
        """What stands beside it."""
        title = METHODS[self.method].title
        return f"{title}: {self.y:.2f}" if self.is_off else title

    @property
    def style(self) -> dict[str, Any]:
        """Of this text."""
        return OWN_TEXT if self.method in OWN else PEER_TEXT


def _runs(study: Study, kind: str, methods: Sequence[str], quantity: Quantity | None = None) -> dict[str, list[Run]]:
    """The runs of methods that have nearly all tables of a kind, over the tables that all of these have."""
    own = [m for m in methods if kind in METHODS[m].kinds]
    kept, tables = study.comparable(own, study.tables(kind), quantity)
    if len(tables) < FEW:
        return {}
    return {m: [run for t in tables if (run := study.there(t, m)) is not None] for m in kept}


def _draw(axes: Any, places: Sequence[Place], rulers: Mapping[str, float], right: float | None) -> list[Pair]:
    """Marks, and dotted lines; where the marks are. Names follow when the panel has its place."""
    from matplotlib.ticker import MaxNLocator

    for error in rulers.values():
        axes.axhline(error, color=PEER_COLOR, linewidth=0.9, linestyle=":", zorder=1)
    heights = [own.y for own in places if not own.is_off] + list(rulers.values())
    low, high = min(heights), max(heights)
    step = 0.07 * (high - low)  # between marks that are off, the largest error on top
    off = sorted((own for own in places if own.is_off), key=lambda own: own.y)
    points = [(own.x, high + (2 + off.index(own)) * step if own.is_off else own.y) for own in places]
    for own, point in zip(places, points):
        mark, size = ("^", 6.0) if own.is_off else ("o", 7.0) if own.method in OWN else ("s", 5.5)
        color = OWN_COLOR if own.method in OWN else PEER_COLOR
        axes.plot(*point, mark, color=color, markersize=size, markeredgecolor="white", markeredgewidth=0.7)
    axes.margins(x=0.14)
    axes.set_ylim(low - 1.5 * step, high + (1.5 + len(off)) * step)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    if right is None:
        _logarithmic(axes)
    else:
        axes.set_xlim(-0.05 * right, 1.08 * right)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PEER_COLOR)
    axes.tick_params(labelsize=8, color=PEER_COLOR, labelcolor=INK)
    return points


def _size(axes: Any, text: str, style: Mapping[str, Any]) -> tuple[float, float]:
    """Of a text with what must be free beside it, in pixels."""
    drawn = axes.text(0, 0, text, **style)
    found = drawn.get_window_extent()
    drawn.remove()
    return found.width + 2 * GAP * DPI / 72, found.height


def _write(axes: Any, box: Box, text: str, style: Mapping[str, Any]) -> None:
    """A text in its box, with a white edge where it lies on a line."""
    from matplotlib.patheffects import withStroke

    left, bottom = axes.transAxes.inverted().transform((box.left + GAP * DPI / 72, box.bottom))
    edge = [withStroke(linewidth=2, foreground="white")]
    axes.text(left, bottom, text, transform=axes.transAxes, va="bottom", path_effects=edge, **style)


def _name(axes: Any, places: Sequence[Place], at: Sequence[Pair], rulers: Mapping[str, float]) -> None:
    """The names of marks and of dotted lines, in a panel that has its place."""
    inside, to_axes = Box(*axes.get_window_extent().extents), axes.transAxes.inverted()
    radius = RADIUS * DPI / 72
    points = [tuple(axes.transData.transform(own)) for own in at]
    heights = [axes.transData.transform((1, error))[1] for error in rulers.values()]
    lines = [Box(inside.left, height - 1, inside.right, height + 1) for height in heights]
    labels = place(points, [_size(axes, own.text, own.style) for own in places], radius, inside, lines)
    for own, point, label in zip(places, points, labels):
        if label.line:
            ends = to_axes.transform([point, label.box.nearest(point)])
            axes.plot(*ends.T, color=own.style["color"], linewidth=0.6, transform=axes.transAxes, zorder=1.5)
        _write(axes, label.box, own.text, own.style)
    taken = [around(point, 0.7 * radius) for point in points]
    taken += [own for label in labels for own in (label.box, *label.line)]
    for k, method in enumerate(rulers):
        title = METHODS[method].title
        box = along(heights[k], _size(axes, title, RULER_TEXT), inside, [*taken, *lines[:k], *lines[k + 1 :]])
        _write(axes, box, title, RULER_TEXT)
        taken.append(box)


Panel = tuple[Sequence[Place], Mapping[str, float], str]  # marks, dotted lines, title


def _picture(path: Path, panels: Sequence[Panel], n_columns: int, names: tuple[str, str], logarithmic: bool) -> None:
    """Panels side by side, with the names of their axes once."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    n_rows = len(panels) // n_columns
    size = (WIDTH, 0.5 + (3.6 if n_columns > 1 else 4.0) * n_rows)
    figure, grid = plt.subplots(n_rows, n_columns, figsize=size, dpi=DPI, layout="constrained", squeeze=False)
    figure.get_layout_engine().set(hspace=0.06, w_pad=0.06)
    right = None if logarithmic else max((own.x for places, _, _ in panels for own in places), default=1)
    drawn = []
    for axes, (places, rulers, title) in zip(grid.flat, panels):
        kind, _, n_tables = title.partition(", ")
        axes.set_title(kind, fontsize=10, loc="left", color=DARK, fontweight="bold")
        axes.set_title(n_tables, fontsize=8, loc="right", color=INK)
        if places:
            drawn.append((axes, places, _draw(axes, places, rulers, right), rulers))
        else:
            axes.text(0.5, 0.5, "too few tables are run yet", transform=axes.transAxes, ha="center", **PEER_TEXT)
            axes.set(xticks=[], yticks=[])
    figure.supxlabel(names[0], fontsize=9, color=DARK)
    figure.supylabel(names[1], fontsize=9, color=DARK)
    figure.draw_without_rendering()  # panels have their places from here on
    figure.set_layout_engine("none")
    for named in drawn:
        _name(*named)
    figure.savefig(path)
    plt.close(figure)


def _logarithmic(axes: Any) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")


def _title(study: Study, kind: str, runs: Mapping[str, list[Run]]) -> str:
    n_tables = len(next(iter(runs.values()))) if runs else 0
    return f"{PANELS[kind]}, {n_tables} of {len(study.tables(kind))} tables"


def _panel(study: Study, kind: str, x_of: Quantity, without: Sequence[str]) -> Panel:
    """The mean error of methods against a quantity of their lists; lines at the errors of methods without."""
    lists = [m for m in METHODS if m != "constant" and any(_known(study, t, m, x_of) for t in study.tables(kind))]
    kept = _runs(study, kind, lists, x_of)
    if len(kept) < 2:
        return [], {}, PANELS[kind]
    runs = _runs(study, kind, [*kept, *without]) if without else kept
    errors = {m: float(np.mean([run.error for run in own])) for m, own in runs.items()}
    places = [Place(_mean(runs[m], x_of), errors[m], m) for m in kept]
    return places, {m: errors[m] for m in without if m in errors}, _title(study, kind, runs)


def _known(study: Study, table: str, method: str, quantity: Quantity) -> bool:
    run = study.there(table, method)
    return run is not None and quantity(run) is not None


def _mean(runs: Sequence[Run], quantity: Quantity) -> float:
    return float(np.mean([quantity(run) or 0.0 for run in runs]))


def _kept(study: Study) -> Panel:
    """R² against the terms that all five folds have."""
    runs = _runs(study, NUMBERS, [m for m, own in METHODS.items() if own.has_terms])
    places = [
        Place(_mean(own, lambda run: run.kept), 1 - _mean(own, lambda run: run.error), m) for m, own in runs.items()
    ]
    return places, {}, _title(study, NUMBERS, runs)


ERROR = "error (1: without features); lower is better"
SAME = "Means over the tables that all methods of a panel have. Methods that lack more than a fifth are left out."
OFF = "A triangle at the upper edge is a method whose error, beside its name, exceeds 1."
PICTURES = [  # titles, files and what they show
    (
        "Error against size",
        "benchmark-size.png",
        f"Error and number of lines to read. Dotted lines are methods without lines to read. {OFF} {SAME}",
    ),
    (
        "Error against stability between halves",
        "benchmark-stability.png",
        f"Error and share of terms that two halves have in common. {OFF} {SAME}",
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
    size, stability, kept = (folder / file for _, file, _ in PICTURES)
    by_size = [_panel(study, kind, lambda run: run.size, WITHOUT_LINES) for kind in PANELS]
    _picture(size, by_size, 2, ("lines to read (logarithmic); fewer is better", ERROR), True)
    by_stability = [_panel(study, kind, halves("dice"), ()) for kind in PANELS]
    _picture(stability, by_stability, 2, ("terms that disjoint halves share; more is better", ERROR), False)
    names = ("terms in the lists of all five folds; more is better", "R² of held-out rows; higher is better")
    _picture(kept, [_kept(study)], 1, names, False)
